/*
 * derived.h: metrics that are computed from others: "cost = runtime * (registers + 1)". In the
 * language of arithmetic.h; later ones may use earlier ones.
 */
#ifndef SPACE_DERIVED_H
#define SPACE_DERIVED_H

#include <evocc/evocc.h>

#define DERIVED_NAME_SIZE 48
#define DERIVED_TEXT_SIZE 256
#define DERIVED_COUNT_MAX 8

typedef struct derived_metric {
    char name[DERIVED_NAME_SIZE];
    char text[DERIVED_TEXT_SIZE]; /* the expression */
} derived_metric;

/* Zero-initialised is empty; copied by assignment. */
typedef struct derived_list {
    derived_metric items[DERIVED_COUNT_MAX];
    size_t count;
} derived_list;

/* Adds "NAME = EXPRESSION" over `metrics` and the derived ones before it. Everything that can be
   known without numbers is checked here: EVOCC_INVALID_ARGUMENT: no name, a name that is taken, too
   many or too long; EVOCC_PARSE: the expression, a name in it that is no metric, or no number comes
   of it whatever its metrics are (a comparison). */
evocc_status derived_list_add(derived_list *list, const char *definition,
                              const char *const *metrics, size_t metric_count, evocc_error *error);

/*
 * Computes all of them: `metrics` as they were given to derived_list_add, `values` theirs; `out`
 * has room for list->count numbers. NAN where a metric that the expression uses is unknown (NAN)
 * and where it gives no finite number (a division by zero): such a trial lacks the objective, it is
 * no error. EVOCC_NO_MEMORY alone is one.
 */
evocc_status derived_list_values(double *out, const derived_list *list, const char *const *metrics,
                                 const double *values, size_t metric_count, evocc_error *error);

#endif
