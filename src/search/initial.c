/*
 * initial.c: the part of the first pool that stays close to the default.
 *
 * A compiler's default is a good candidate, and most controls do little: a few changes from it
 * teach what single controls do, while the uniform part of the pool teaches what is possible at
 * all.
 */
#include "search/variation.h"

void variation_near_default(const variation *v, rng *r, int32_t *genes)
{
    for (size_t i = 0; i < v->count; i++) {
        genes[i] = SPACE_ABSENT;
    }
    size_t changes = 1 + (size_t)rng_below(r, 3);
    for (size_t i = 0; i < changes && v->count > 0; i++) {
        size_t gene = variation_pick(v, r);
        genes[gene] = (int32_t)rng_below(r, (uint64_t)v->domains[gene].size);
    }
}
