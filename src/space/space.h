/*
 * space: controls, their domains, conditions and constraints; sampling; canonical form; YAML.
 * May use util. Knows no compiler, no search, no file layout of ours but the space file.
 *
 * A control is one named decision with a finite, indexed domain. A candidate is one gene per
 * control, in the order of the space: the index of a value, or SPACE_ABSENT where the control is at
 * its default, knocked out or dormant. Everything downstream (search, store, ACF) works on genes
 * and on the text "stage/name=value"; only compilers and ptx know what a value means.
 */
#ifndef SPACE_SPACE_H
#define SPACE_SPACE_H

#include "util/hash.h"
#include "util/rng.h"
#include "util/strbuf.h"

#define SPACE_ABSENT EVOCC_ABSENT

/* Who consumes a control. */
typedef enum space_stage {
    SPACE_STAGE_DEFINE, /* application parameters */
    SPACE_STAGE_NVCC,
    SPACE_STAGE_PTX,
    SPACE_STAGE_PTXAS,
    SPACE_STAGE_GCC,
    SPACE_STAGE_CLANG
} space_stage;
const char *space_stage_name(space_stage stage); /* "ptxas" */
bool space_stage_parse(space_stage *out, const char *name);

typedef enum space_kind {
    SPACE_FLAG,   /* one value, "on": given or absent */
    SPACE_BOOL,   /* "false", "true" */
    SPACE_CHOICE, /* unordered words */
    SPACE_INT,    /* low, low+step, ... <= high */
    SPACE_POW2,   /* low, 2*low, ... <= high */
    SPACE_FLOAT   /* low + i*step, or count points evenly spaced in the logarithm */
} space_kind;

/* What a control may do to the results of the compiled program. */
typedef enum space_numerics { SPACE_EXACT, SPACE_ROUNDING, SPACE_APPROXIMATE } space_numerics;

typedef struct space_control {
    space_stage stage;
    const char *name;      /* without stage: "register-usage-level", "order@fa.b4" */
    const char *full_name; /* "ptxas/register-usage-level"; filled in by space_add */
    const char *help;      /* one or more sentences */
    const char *source;    /* where the meaning is documented */
    const char *option;    /* how a compiler is told: a template with at most one "{}" */
    space_kind kind;
    space_numerics numerics;
    int64_t low, high, step;                  /* SPACE_INT, SPACE_POW2 */
    double float_low, float_high, float_step; /* SPACE_FLOAT; float_step 0: logarithmic */
    const char *const *choices;               /* SPACE_CHOICE */
    int32_t size;          /* number of values, at least 1; filled in except for SPACE_CHOICE and
                              logarithmic SPACE_FLOAT, where the caller states it */
    int32_t default_index; /* SPACE_ABSENT: the default has no value (a flag that is not given) */
    double knockout;       /* probability that a sampled candidate leaves the control absent */
    int32_t parent;    /* the wide form that this control is an exception to; SPACE_ABSENT: none */
    const char *group; /* controls moved together at times; NULL: none */
    const char *since, *until; /* first and last compiler version that has it ("12.8"); NULL: any */
    const char *arch;          /* targets that have it: ">= sm_100", "== sm_90a"; NULL: any */
    const char *off_because;   /* listed, but searched only when asked for; why. NULL: on */
} space_control;

/* A control and some of its values; the word "absent" stands for SPACE_ABSENT, which is the default
   where there is one. Part of a condition or of a forbidden combination. */
typedef struct space_term {
    const char *control; /* full name, or the name without stage where only one control has it */
    const char *const *values;
    size_t value_count;
} space_term;

/* ---- Building: new, add..., finish; after finish the space is constant. ---------------------- */

evocc_status space_new(evocc_space **out, evocc_error *error);
/* Copies the control with all its texts. Duplicate names, empty domains and more than 2^31-2 values
   are refused. A parent must have been added before, with the same values and default. */
evocc_status space_add(evocc_space *space, const space_control *control, evocc_error *error);
/* `control` is dormant unless the term holds; several calls for one control must all hold. Both
   controls have been added before. A condition that leads back to its own control is refused. */
evocc_status space_add_condition(evocc_space *space, const char *control, const space_term *term,
                                 evocc_error *error);
/* A candidate in which all terms hold at once is not allowed. */
evocc_status space_add_forbidden(evocc_space *space, const space_term *terms, size_t count,
                                 evocc_error *error);
/* A Lua expression that must be true: arithmetic, bits, comparison, and, or, not, parentheses; no
   calls, fields, tables or globals. Controls are named with every byte that is not a letter, a
   digit or '_' replaced by '_': unroll_factor, or ptxas_register_usage_level with the stage before
   it. Numbers are numbers, also as words of a choice; other words are strings; bool and flag are
   booleans; absent without a default is nil. A candidate for which the expression fails (nil * 2)
   or is neither true nor false is not allowed; when that happens at the defaults, with no nil
   involved, the expression is refused here. EVOCC_PARSE: "constraint 'a +': line 1, column 4: ...".
 */
evocc_status space_add_constraint(evocc_space *space, const char *expression, evocc_error *error);
/* Copies all controls, conditions, combinations and constraints of `from` for which keep() is true
   (NULL: all). A control left out is taken as absent for ever: conditions and combinations that
   name it are decided by that (a control that could then never be active is left out too),
   constraints that name it are dropped. On failure `space` is fit only for space_free. */
evocc_status space_add_all(evocc_space *space, const evocc_space *from,
                           bool (*keep)(const space_control *control, void *context), void *context,
                           evocc_error *error);
/* After a failure it may be called again. */
evocc_status space_finish(evocc_space *space, evocc_error *error);
void space_free(evocc_space *space);

/* A space file; the error has line and column. Not finished yet: the caller may add to it. */
evocc_status space_parse(evocc_space **out, const char *text, size_t length, const char *name,
                         evocc_error *error);

/* ---- Reading --------------------------------------------------------------------------------- */

size_t space_count(const evocc_space *space);
const space_control *space_get(const evocc_space *space, size_t index);
/* Index by full name; MAP_NONE ((size_t)-1) when there is none. */
size_t space_find(const evocc_space *space, const char *full_name);
/* Number of different assignments before conditions and constraints; inf when beyond a double. */
double space_cardinality(const evocc_space *space);

/* Text of a value, appended; and back: EVOCC_INVALID_ARGUMENT names the control, the value and what
   is allowed. Numbers must be written as space_value_text writes them. */
void space_value_text(strbuf *out, const space_control *control, int32_t index);
evocc_status space_value_parse(int32_t *out, const space_control *control, const char *text,
                               evocc_error *error);
/* A value as a number: booleans and flags 1 and 0, words of a choice when they are numbers. NAN for
   other words and for SPACE_ABSENT (a flag: 0). */
double space_value_number(const space_control *control, int32_t index);
/* Whether since, until and arch admit this compiler and target. NULL: not known, which admits. */
bool space_control_admits(const space_control *control, const char *version, const char *arch);

/* ---- Candidates: arrays of space_count() genes ----------------------------------------------- */

/* Default values, dormant controls, exceptions equal to their wide form and genes outside their
   domain become SPACE_ABSENT. Two candidates with the same effect have the same canonical genes. */
void space_canonicalise(const evocc_space *space, int32_t *genes);

/* Of canonical genes. */
hash128 space_hash(const evocc_space *space, const int32_t *genes);

/* EVOCC_OK, or EVOCC_REFUSED naming the rule that forbids the candidate. */
evocc_status space_check(const evocc_space *space, const int32_t *genes, evocc_error *error);

/* Canonical and allowed. Every control on its own is absent with its knock-out probability and else
   uniform over its values (absent being one more value where there is no default); rules then cut
   away what they forbid, leaving the rest in proportion wherever that can be had within the bounded
   effort (see sample.c). EVOCC_EXHAUSTED when no allowed candidate was found. */
evocc_status space_sample(const evocc_space *space, rng *r, int32_t *genes, evocc_error *error);

/* Makes a candidate allowed by changing as few genes as it can, then canonical; false when it could
   not: then what could not be mended stays as it was. Prefers to leave `genes` near what they were.
 */
bool space_repair(const evocc_space *space, rng *r, int32_t *genes);

/* Whether the conditions of a control hold under canonical genes. */
bool space_is_active(const evocc_space *space, const int32_t *genes, size_t index);

/* The value that a control has under these genes: SPACE_ABSENT only without gene, wide form and
   default. */
int32_t space_effective(const evocc_space *space, const int32_t *genes, size_t index);

/* "ptxas/a=1 ptx/order@fa=late", sorted as the space is; "" for the baseline. And back; unknown
   names and values outside their domains are errors. */
void space_candidate_text(strbuf *out, const evocc_space *space, const int32_t *genes);
evocc_status space_candidate_parse(int32_t *genes, const evocc_space *space, const char *text,
                                   evocc_error *error);

/* A candidate of another space, by the full names of its controls, canonical but perhaps forbidden:
   numbers outside a domain become the nearest value, unknown controls and words are left out. Each
   such change is one line of `notes`. EVOCC_PARSE: the text is no candidate. */
evocc_status space_candidate_adapt(int32_t *genes, strbuf *notes, const evocc_space *space,
                                   const char *text, evocc_error *error);

/* SHA-256 over names, domains, options and rules: changes when the space does. "" without memory.
 */
void space_digest(char out[HASH_SHA256_TEXT], const evocc_space *space);

/* ---- Built-in spaces (spaces/NAME.yaml, compiled in) ----------------------------------------- */

typedef struct space_builtin {
    const char *name; /* "ptxas" */
    const char *text;
    size_t length;
} space_builtin;
const space_builtin *space_builtins(size_t *count);
evocc_status space_builtin_load(evocc_space **out, const char *name, evocc_error *error);

#endif
