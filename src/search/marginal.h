/*
 * marginal: for every value of every control, the best trial that had it, and the mean of all that
 * had it. The former are parents at times: they keep the best context of each decision alive when
 * the pool has agreed on another one. The latter say which controls matter.
 * Source: J.-B. Mouret, J. Clune, "Illuminating search spaces by mapping elites", arXiv:1504.04909,
 * 2015, with one one-dimensional map a control.
 */
#ifndef SEARCH_MARGINAL_H
#define SEARCH_MARGINAL_H

#include "search/variation.h"

typedef struct marginal_slot {
    individual *best; /* one of the rows; NULL: no valid trial had this value */
    uint64_t count;   /* of valid trials */
} marginal_slot;

typedef struct marginal {
    const variation *vary; /* borrowed */
    size_t objective_count, ranked_count;
    size_t *first_slots; /* gene_count + 1 numbers */
    marginal_slot *slots;
    double *sums;     /* of scores: objective_count numbers a slot */
    individual *rows; /* one more than slots; shared between slots by reference count */
    uint32_t *references;
    individual **spare;
    size_t spare_count;
    int32_t *genes; /* of the rows */
    double *values;
    double *scales;  /* magnitude of the first valid trial */
    double *totals;  /* sums of all scores */
    double *squares; /* and of their squares */
    uint64_t count;
} marginal;

/* The first `ranked_count` of the objectives decide what is better. */
evocc_status marginal_init(marginal *m, const variation *vary, size_t objective_count,
                           size_t ranked_count, evocc_error *error);
void marginal_dispose(marginal *m);

/* Takes a valid trial in. Cannot fail. */
void marginal_add(marginal *m, const individual *one, rng *r);

/* The best with some value of some control; NULL when none was found quickly. */
const individual *marginal_pick(const marginal *m, rng *r);

/* Share of the variance of one objective's (signed) logarithm that each control explains on its
   own: eta squared, corrected for the number of values. 0 .. 1; controls that only act together get
   less than their due. */
void marginal_importance(const marginal *m, size_t objective, double *out);

#endif
