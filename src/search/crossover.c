/*
 * crossover.c: uniform crossover that keeps what belongs together at times.
 * Source: G. Syswerda, "Uniform crossover in genetic algorithms", ICGA 1989.
 *
 * Every gene comes from either parent with equal chance. In half of the crossings the genes of one
 * group come from the same parent, so that combinations which work only together survive.
 */
#include "search/variation.h"

bool variation_cross(const variation *v, rng *r, int32_t *child, const int32_t *a, const int32_t *b)
{
    bool linked = v->group_count > 0 && rng_chance(r, 0.5);
    uint64_t salt = rng_next(r);
    uint64_t bits = 0;
    int32_t other_than_a = 0;
    int32_t other_than_b = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (i % 64 == 0) {
            bits = rng_next(r);
        }
        bool first = bits & 1;
        bits >>= 1;
        uint32_t group = v->domains[i].group;
        if (linked && group != 0) { /* the same answer for every gene of the group */
            first = (salt ^ group * UINT64_C(0x9e3779b97f4a7c15)) >> 63;
        }
        child[i] = first ? a[i] : b[i];
        other_than_a |= child[i] ^ a[i];
        other_than_b |= child[i] ^ b[i];
    }
    return other_than_a != 0 && other_than_b != 0;
}
