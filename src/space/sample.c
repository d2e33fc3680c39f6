/*
 * sample.c: candidates at random. Controls in no knot are drawn one by one. A knot is drawn, in
 * this order, by
 *   1. rejection: controls one by one, given up at the first rule that is decided and broken.
 * Exact, and cheap while a fair share of the knot is allowed;
 *   2. its table: all allowed assignments, listed once by depth-first search that prunes at each
 *      decided rule, and drawn by weight. Exact as well, and proof when nothing is allowed;
 *   3. depth-first search in random order, where the table would be too large. Reaches every
 * allowed assignment, but favours those with few relatives.
 */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

enum {
    REJECTION_TRIES = 32,
    TABLE_NODES = 1 << 19,   /* steps of listing: a tenth of a second with constraints in Lua */
    TABLE_NUMBERS = 1 << 20, /* genes in a table: 4 MiB */
    DESCENT_NODES = 1 << 16,
    DESCENT_TRIES = 4
};

struct space_table {
    size_t count;
    int32_t *genes;     /* count rows of knot->count, in the knot's order */
    double *cumulative; /* weights added up */
};

void sample_table_free(struct space_table *table)
{
    if (table != NULL) {
        mem_free(table->genes);
        mem_free(table->cumulative);
        mem_free(table);
    }
}

/* ---- One control ----------------------------------------------------------------------------- */

static void draw(const evocc_space *space, rng *r, int32_t *genes, int32_t i)
{
    const space_node *node = &space->nodes[i];
    genes[i] = SPACE_ABSENT;
    if (!is_active(space, genes, i) || (node->knockout > 0 && rng_chance(r, node->knockout))) {
        return;
    }
    uint64_t bound = (uint64_t)node->size + (node->base == SPACE_ABSENT);
    int32_t value = (int32_t)rng_below(r, bound);
    if (value < node->size && value != inherited(space->nodes, genes, i)) {
        genes[i] = value;
    }
}

/* The probability with which draw() makes an active control absent, or gives it one other value. */
static void probabilities(double *absent, double *value, const evocc_space *space,
                          const int32_t *genes, int32_t i)
{
    const space_node *node = &space->nodes[i];
    double each = (1 - node->knockout) / ((double)node->size + (node->base == SPACE_ABSENT));
    int merged = (inherited(space->nodes, genes, i) != SPACE_ABSENT) + (node->base == SPACE_ABSENT);
    *absent = node->knockout + merged * each;
    *value = each;
}

/* The rules that are decided once order[position] is assigned. */
static evocc_status check_position(const space_rule **broken, const evocc_space *space,
                                   const space_knot *knot, int32_t position, const int32_t *genes)
{
    for (int32_t k = knot->first_rule[position]; k < knot->first_rule[position + 1]; k++) {
        *broken = &space->rules[knot->rules[k]];
        evocc_status status = rule_check(space, *broken, genes, NULL);
        if (status != EVOCC_OK) {
            space->refusal_counts[knot->rules[k]]++;
            return status;
        }
    }
    return EVOCC_OK;
}

/* ---- Rejection ------------------------------------------------------------------------------- */

static evocc_status sample_by_rejection(const evocc_space *space, rng *r, const space_knot *knot,
                                        int32_t *genes)
{
    evocc_status status = EVOCC_REFUSED;
    for (int t = 0; t < REJECTION_TRIES && status == EVOCC_REFUSED; t++) {
        status = EVOCC_OK;
        for (int32_t i = 0; i < knot->count && status == EVOCC_OK; i++) {
            draw(space, r, genes, knot->order[i]);
            const space_rule *broken;
            status = check_position(&broken, space, knot, i, genes);
        }
    }
    return status;
}

/* ---- Table ----------------------------------------------------------------------------------- */

typedef struct listing {
    struct space_table *table;
    size_t gene_capacity, weight_capacity;
    int32_t *options; /* the option last taken at each position; size: none is left */
    double *weights;  /* of positions 0 .. i-1 together */
    size_t nodes;
} listing;

static bool listing_append(listing *l, const space_knot *knot, const int32_t *genes)
{
    struct space_table *table = l->table;
    size_t width = (size_t)knot->count;
    if (!mem_grow(&table->genes, &l->gene_capacity, (table->count + 1) * width,
                  sizeof *table->genes) ||
        !mem_grow(&table->cumulative, &l->weight_capacity, table->count + 1,
                  sizeof *table->cumulative)) {
        return false;
    }
    for (size_t i = 0; i < width; i++) {
        table->genes[table->count * width + i] = genes[knot->order[i]];
    }
    double before = table->count == 0 ? 0 : table->cumulative[table->count - 1];
    table->cumulative[table->count++] = before + l->weights[knot->count];
    return true;
}

/* Moves position i to its next option of weight above 0; false when there is none. Options of an
   active control are absent (-1) and then all values but the inherited one. */
static bool next_option(listing *l, const evocc_space *space, const space_knot *knot, int32_t i,
                        int32_t *genes)
{
    int32_t control = knot->order[i], size = space->nodes[control].size;
    double absent = 1, value = 0;
    genes[control] = SPACE_ABSENT;
    if (is_active(space, genes, control)) {
        probabilities(&absent, &value, space, genes, control);
    }
    int32_t same = inherited(space->nodes, genes, control);
    int32_t option = l->options[i] + 1;
    if (option == SPACE_ABSENT && absent <= 0) {
        option++;
    }
    if (option != SPACE_ABSENT && option == same) {
        option++;
    }
    if (option >= size || (option >= 0 && value <= 0)) {
        return false;
    }
    l->options[i] = option;
    l->weights[i + 1] = l->weights[i] * (option == SPACE_ABSENT ? absent : value);
    genes[control] = option;
    return true;
}

/* EVOCC_UNSUPPORTED: too large. */
static evocc_status list_all(listing *l, const evocc_space *space, const space_knot *knot,
                             int32_t *genes)
{
    enum { BEFORE_FIRST = SPACE_ABSENT - 1 };
    int32_t i = 0;
    l->options[0] = BEFORE_FIRST;
    l->weights[0] = 1;
    while (i >= 0) {
        if (!next_option(l, space, knot, i, genes)) {
            genes[knot->order[i]] = SPACE_ABSENT;
            i--;
            continue;
        }
        if (++l->nodes > TABLE_NODES ||
            (l->table->count + 1) * (size_t)knot->count > TABLE_NUMBERS) {
            return EVOCC_UNSUPPORTED;
        }
        const space_rule *broken;
        evocc_status status = check_position(&broken, space, knot, i, genes);
        if (status == EVOCC_NO_MEMORY) {
            return status;
        }
        if (status != EVOCC_OK) {
            continue;
        }
        if (i + 1 < knot->count) {
            l->options[++i] = BEFORE_FIRST;
        } else if (!listing_append(l, knot, genes)) {
            return EVOCC_NO_MEMORY;
        }
    }
    return EVOCC_OK;
}

static evocc_status make_table(const evocc_space *space, space_knot *knot, int32_t *genes)
{
    listing l = {.table = mem_alloc(1, sizeof *l.table),
                 .options = space->scratch,
                 .weights = mem_alloc((size_t)knot->count + 1, sizeof *l.weights)};
    evocc_status status = EVOCC_NO_MEMORY;
    if (l.table != NULL && l.weights != NULL) {
        status = list_all(&l, space, knot, genes);
    }
    if (status == EVOCC_OK) {
        knot->table = l.table;
    } else {
        sample_table_free(l.table);
        knot->listing_failed = status == EVOCC_UNSUPPORTED;
    }
    mem_free(l.weights);
    return status;
}

static evocc_status sample_by_table(rng *r, const space_knot *knot, int32_t *genes)
{
    const struct space_table *table = knot->table;
    if (table->count == 0) {
        return EVOCC_EXHAUSTED;
    }
    double point = rng_unit(r) * table->cumulative[table->count - 1];
    size_t low = 0, high = table->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->cumulative[middle] <= point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int32_t i = 0; i < knot->count; i++) {
        genes[knot->order[i]] = table->genes[low * (size_t)knot->count + (size_t)i];
    }
    return EVOCC_OK;
}

/* ---- Search in random order ------------------------------------------------------------------ */

static int32_t greatest_common_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

sample_walk sample_walk_begin(rng *r, int32_t count)
{
    sample_walk walk = {count, (int32_t)rng_below(r, (uint64_t)count), 1};
    while (count > 2) {
        walk.stride = 1 + (int32_t)rng_below(r, (uint64_t)count - 1);
        if (greatest_common_divisor(count, walk.stride) == 1) {
            break;
        }
    }
    return walk;
}

int32_t sample_walk_at(const sample_walk *walk, int32_t k)
{
    uint64_t at = (uint64_t)walk->start + (uint64_t)k * (uint64_t)walk->stride;
    return (int32_t)(at % (uint64_t)walk->count);
}

typedef struct level {
    sample_walk walk; /* over all values and, last, absent */
    int32_t tried;    /* 0: the first is drawn by its probabilities */
} level;

/* The next thing to try for a control; false when all has been tried. */
static bool descend_option(const evocc_space *space, rng *r, level *l, int32_t control,
                           int32_t *genes)
{
    if (l->tried == 0) {
        l->tried = 1;
        l->walk.count = 0;
        draw(space, r, genes, control);
        return true;
    }
    genes[control] = SPACE_ABSENT;
    if (!is_active(space, genes, control) || space->nodes[control].knockout >= 1) {
        return false;
    }
    if (l->walk.count == 0) {
        l->walk = sample_walk_begin(r, space->nodes[control].size + 1);
    }
    int32_t same = inherited(space->nodes, genes, control);
    while (l->tried <= l->walk.count) {
        int32_t option = sample_walk_at(&l->walk, l->tried++ - 1);
        if (option != same) {
            genes[control] = option == space->nodes[control].size ? SPACE_ABSENT : option;
            return true;
        }
    }
    return false;
}

/* The state of a descent. conflicts[i * count + j]: what was tried at position i failed because of
   position j, among others. */
typedef struct descent {
    level *levels;
    bool *conflicts;
    int32_t *positions; /* of controls */
} descent;

static void add_conflicts(descent *d, const space_knot *knot, int32_t i, const space_rule *rule)
{
    for (int32_t k = 0; k < rule->control_count; k++) {
        d->conflicts[i * knot->count + d->positions[rule->controls[k]]] = true;
    }
}

/* All has been tried at position i: the latest position that can change that, or -1. It inherits
   the other causes. What decides over activity at i is a cause as well. */
static int32_t jump_back(descent *d, const evocc_space *space, const space_knot *knot, int32_t i)
{
    bool *causes = d->conflicts + (size_t)i * (size_t)knot->count;
    const space_node *node = &space->nodes[knot->order[i]];
    if (node->parent != SPACE_ABSENT) {
        causes[d->positions[node->parent]] = true;
    }
    for (int32_t k = 0; k < node->match_count; k++) {
        causes[d->positions[space->matches[node->first_match + k].control]] = true;
    }
    int32_t back = i - 1;
    while (back >= 0 && !causes[back]) {
        back--;
    }
    for (int32_t k = 0; k < back; k++) {
        d->conflicts[back * knot->count + k] |= causes[k];
    }
    return back;
}

static void enter(descent *d, const space_knot *knot, int32_t i)
{
    d->levels[i].tried = 0;
    memset(d->conflicts + (size_t)i * (size_t)knot->count, 0, (size_t)knot->count);
}

static evocc_status descend(descent *d, const evocc_space *space, rng *r, const space_knot *knot,
                            int32_t *genes)
{
    int32_t i = 0;
    enter(d, knot, 0);
    for (int nodes = 0; i >= 0 && nodes < DESCENT_NODES; nodes++) {
        if (!descend_option(space, r, &d->levels[i], knot->order[i], genes)) {
            i = jump_back(d, space, knot, i);
            continue;
        }
        const space_rule *broken;
        evocc_status status = check_position(&broken, space, knot, i, genes);
        if (status == EVOCC_NO_MEMORY) {
            return status;
        }
        if (status != EVOCC_OK) {
            add_conflicts(d, knot, i, broken);
        } else if (++i == knot->count) {
            return EVOCC_OK;
        } else {
            enter(d, knot, i);
        }
    }
    return EVOCC_EXHAUSTED;
}

static evocc_status sample_by_descent(const evocc_space *space, rng *r, const space_knot *knot,
                                      int32_t *genes)
{
    size_t count = (size_t)knot->count;
    descent d = {.levels = mem_alloc(count, sizeof *d.levels),
                 .conflicts = mem_alloc(count * count, sizeof *d.conflicts),
                 .positions = space->scratch};
    evocc_status status =
        d.levels == NULL || d.conflicts == NULL ? EVOCC_NO_MEMORY : EVOCC_EXHAUSTED;
    for (int32_t i = 0; i < knot->count; i++) {
        d.positions[knot->order[i]] = i;
    }
    for (int t = 0; t < DESCENT_TRIES && status == EVOCC_EXHAUSTED; t++) {
        status = descend(&d, space, r, knot, genes);
    }
    mem_free(d.levels);
    mem_free(d.conflicts);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

evocc_status sample_knot(const evocc_space *space, rng *r, space_knot *knot, int32_t *genes)
{
    evocc_status status = sample_by_rejection(space, r, knot, genes);
    if (status != EVOCC_REFUSED) {
        return status;
    }
    if (knot->table == NULL && !knot->listing_failed) {
        status = make_table(space, knot, genes);
        if (status == EVOCC_NO_MEMORY) {
            return status;
        }
    }
    return knot->table != NULL ? sample_by_table(r, knot, genes)
                               : sample_by_descent(space, r, knot, genes);
}

/* Names the rule that has refused most. */
static evocc_status report_exhausted(const evocc_space *space, const space_knot *knot,
                                     evocc_error *error)
{
    const space_rule *worst = NULL;
    uint64_t most = 0;
    for (int32_t k = 0; k < knot->rule_count; k++) {
        if (space->refusal_counts[knot->rules[k]] >= most) {
            most = space->refusal_counts[knot->rules[k]];
            worst = &space->rules[knot->rules[k]];
        }
    }
    const char *found = knot->table != NULL ? "no candidate is allowed" : "no candidate was found";
    if (worst->matches == NULL) {
        return error_set(error, EVOCC_EXHAUSTED, "%s; refused most by the constraint '%s'", found,
                         worst->text);
    }
    return error_set(error, EVOCC_EXHAUSTED,
                     "%s; refused most by the forbidden combination that begins with %s", found,
                     space->controls[worst->controls[0]].full_name);
}

evocc_status space_sample(const evocc_space *space, rng *r, int32_t *genes, evocc_error *error)
{
    if (space->rule_count > 0) {
        memset(space->refusal_counts, 0, space->rule_count * sizeof *space->refusal_counts);
    }
    for (size_t k = 0; k < space->knot_count; k++) {
        evocc_status status = sample_knot(space, r, &space->knots[k], genes);
        if (status == EVOCC_EXHAUSTED) {
            return report_exhausted(space, &space->knots[k], error);
        }
        if (status != EVOCC_OK) {
            return error_no_memory(error);
        }
    }
    for (size_t i = 0; i < space->loose_count; i++) {
        draw(space, r, genes, space->loose[i]);
    }
    return EVOCC_OK;
}
