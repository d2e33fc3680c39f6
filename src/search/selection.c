/*
 * selection.c: binary tournament with replacement.
 * Source: D. Goldberg, K. Deb, "A comparative analysis of selection schemes used in genetic
 * algorithms", FOGA 1991.
 */
#include "search/variation.h"

const individual *select_parent(individual *const *members, size_t count, individual_better *better,
                                rng *r)
{
    const individual *a = members[rng_below(r, count)];
    const individual *b = members[rng_below(r, count)];
    return better(b, a, r) ? b : a;
}
