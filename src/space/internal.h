/*
 * internal.h: what the files of this room share. A space is built as lists of controls, conditions
 * and rules; space_finish turns them into the compact arrays that candidates are worked on with.
 */
#ifndef SPACE_INTERNAL_H
#define SPACE_INTERNAL_H

#include "space/space.h"
#include "util/map.h"
#include "util/mem.h"

#include <math.h>

/* "The effective value of this control is one of these." */
typedef struct space_match {
    int32_t control;
    int32_t value_count;
    const int32_t *values;
} space_match;

typedef struct space_condition {
    int32_t control; /* the dependent one */
    space_match match;
} space_condition;

/* What candidates are refused by: a forbidden combination (all matches hold) or an expression that
   is not true. */
typedef struct space_rule {
    int32_t control_count;
    const int32_t *controls;    /* each once */
    const space_match *matches; /* one a control; NULL: an expression */
    const char *text;           /* of the expression, as written */
    int expression;             /* handle of space_lua */
    int32_t suspect_count;      /* from space_finish on: the controls, and all they depend on */
    const int32_t *suspects;
} space_rule;

/* One control as the work on candidates sees it; 32 bytes, so that 600 stay in the L1 cache. */
typedef struct space_node {
    int32_t size, base, parent; /* base: the default index */
    int32_t first_match, match_count;
    double knockout;
} space_node;

/* Controls tied together by rules, with all that decides over their activity. Knots are independent
   of each other; a control in no knot depends on knots at most through conditions and parents. */
typedef struct space_knot {
    int32_t count;
    const int32_t *order; /* controls, everything that one depends on before it */
    int32_t rule_count;
    const int32_t *rules;      /* those of this knot, in the order they can be decided in */
    const int32_t *first_rule; /* count + 1 numbers: rules decided once order[i] is assigned */
    struct space_table *table; /* all allowed assignments, once listed; else NULL */
    bool listing_failed;       /* too many: sampled by backtracking */
} space_knot;

struct space_lua;

enum { SPACE_SCRATCH = 8 };

struct evocc_space {
    arena memory;
    space_control *controls;
    size_t count, capacity;
    map names;
    space_condition *conditions;
    size_t condition_count, condition_capacity;
    space_rule *rules;
    size_t rule_count, rule_capacity;
    struct space_lua *lua; /* NULL while there is no expression */

    /* From space_finish on. */
    bool finished;
    space_node *nodes;
    space_match *matches; /* conditions, those of one control together */
    int32_t *order;       /* all controls, dependencies first */
    space_knot *knots;
    size_t knot_count;
    int32_t *loose; /* controls in no knot, in the order of `order` */
    size_t loose_count;
    int32_t *scratch;         /* SPACE_SCRATCH * count */
    uint64_t *refusal_counts; /* one a rule; of the current space_sample */
};

static inline bool match_holds(const space_match *match, int32_t value)
{
    for (int32_t i = 0; i < match->value_count; i++) {
        if (match->values[i] == value) {
            return true;
        }
    }
    return false;
}

static inline int32_t effective(const space_node *nodes, const int32_t *genes, int32_t i)
{
    while (genes[i] == SPACE_ABSENT) {
        if (nodes[i].parent == SPACE_ABSENT) {
            return nodes[i].base;
        }
        i = nodes[i].parent;
    }
    return genes[i];
}

/* What the control is when its own gene is absent. */
static inline int32_t inherited(const space_node *nodes, const int32_t *genes, int32_t i)
{
    return nodes[i].parent == SPACE_ABSENT ? nodes[i].base
                                           : effective(nodes, genes, nodes[i].parent);
}

static inline bool is_active(const evocc_space *space, const int32_t *genes, int32_t i)
{
    const space_match *match = space->matches + space->nodes[i].first_match;
    for (int32_t k = space->nodes[i].match_count; k > 0; k--, match++) {
        if (!match_holds(match, effective(space->nodes, genes, match->control))) {
            return false;
        }
    }
    return true;
}

/* Canonical form of one gene, given that of all it depends on. */
static inline void settle(const evocc_space *space, int32_t *genes, int32_t i)
{
    int32_t gene = genes[i];
    if (gene == SPACE_ABSENT) {
        return;
    }
    if ((uint32_t)gene >= (uint32_t)space->nodes[i].size ||
        gene == inherited(space->nodes, genes, i) || !is_active(space, genes, i)) {
        genes[i] = SPACE_ABSENT;
    }
}

/* ---- domain.c -------------------------------------------------------------------------------- */

/* Checks a control's domain and fills in its size. */
evocc_status domain_complete(space_control *control, evocc_error *error);
bool domain_equal(const space_control *a, const space_control *b);
int64_t domain_int(const space_control *control, int32_t index);
double domain_float(const space_control *control, int32_t index);
/* True when the text is a decimal integer as we write them. */
bool domain_is_integer(const char *text, int64_t *value);

/* ---- admits.c -------------------------------------------------------------------------------- */

/* Whether the text is a condition on targets, as in space_control.arch. */
bool admits_is_valid(const char *condition);

/* ---- rules.c --------------------------------------------------------------------------------- */

/* EVOCC_OK, EVOCC_REFUSED or EVOCC_NO_MEMORY; a message is written only when error is not NULL. */
evocc_status rule_check(const evocc_space *space, const space_rule *rule, const int32_t *genes,
                        evocc_error *error);
/* Index of a control by full name or by an unambiguous short one. */
evocc_status rule_find(int32_t *out, const evocc_space *space, const char *name,
                       evocc_error *error);
/* Take over what the arena of `space` holds. */
evocc_status rule_append(evocc_space *space, const space_rule *rule, evocc_error *error);
evocc_status condition_append(evocc_space *space, const space_condition *condition,
                              evocc_error *error);
/* Adds a constraint of another space; indices[i] is what its control i is here. */
evocc_status rule_copy_constraint(evocc_space *space, const space_rule *rule,
                                  const int32_t *indices, evocc_error *error);

/* ---- expression.c ---------------------------------------------------------------------------- */

enum { EXPRESSION_MAX_NAMES = 100, EXPRESSION_MAX_LENGTH = 8192 };

/* Where in an expression something is, lines and columns from 1; line 0: nowhere in particular. */
typedef struct expression_place {
    int line, column;
} expression_place;

/* A name used by an expression, before anyone knows what it is. */
typedef struct expression_name {
    const char *text; /* points into the expression */
    size_t length;
    expression_place place;
} expression_name;

typedef struct expression_names {
    expression_name items[EXPRESSION_MAX_NAMES];
    size_t count;
} expression_names;

/* Checks the grammar and lists the names, each once. The only thing Lua ever compiles has passed
   here: operands and operators in turn, parentheses, nothing that could call, index or assign.
   EVOCC_PARSE: *place is where. */
evocc_status expression_scan(expression_names *out, const char *text, expression_place *place,
                             evocc_error *error);

evocc_status space_lua_new(struct space_lua **out, evocc_error *error);
void space_lua_free(struct space_lua *lua);
/* Makes the words of a choice known, for space_lua_evaluate. */
evocc_status space_lua_add_words(struct space_lua *lua, const space_control *control,
                                 evocc_error *error);
/* Compiles `text` as a function of `names`; the handle evaluates it. */
evocc_status space_lua_compile(int *handle, struct space_lua *lua, const char *text,
                               const expression_names *names, evocc_error *error);
/* EVOCC_OK when true, EVOCC_REFUSED when false, EVOCC_UNSUPPORTED when it fails or gives something
   else, EVOCC_NO_MEMORY. controls and values in the order of the names. */
evocc_status space_lua_evaluate(struct space_lua *lua, int handle, const evocc_space *space,
                                const int32_t *controls, const int32_t *values, int32_t count,
                                evocc_error *error);

/* As space_add_constraint; *place says where in the expression the fault is. */
evocc_status rule_add_constraint(evocc_space *space, const char *expression,
                                 expression_place *place, evocc_error *error);

/* ---- structure.c ----------------------------------------------------------------------------- */

/* Builds everything below `finished`. */
evocc_status structure_build(evocc_space *space, evocc_error *error);

/* ---- sample.c -------------------------------------------------------------------------------- */

void sample_table_free(struct space_table *table);
/* Draws the genes of one knot anew. EVOCC_EXHAUSTED, EVOCC_NO_MEMORY: they are left anyhow. */
evocc_status sample_knot(const evocc_space *space, rng *r, space_knot *knot, int32_t *genes);
/* A walk through 0 .. count-1 in an order that looks random: (start + k * stride) mod count. */
typedef struct sample_walk {
    int32_t count, start, stride;
} sample_walk;
sample_walk sample_walk_begin(rng *r, int32_t count);
int32_t sample_walk_at(const sample_walk *walk, int32_t k);

#endif
