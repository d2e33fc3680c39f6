/*
 * rng.h: the one random generator, xoshiro256** 1.0 seeded through SplitMix64.
 * Source: D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4),
 * 2021. Integer arithmetic only: the same numbers on every machine.
 */
#ifndef UTIL_RNG_H
#define UTIL_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

void rng_seed(rng *r, uint64_t seed);
uint64_t rng_next(rng *r);
uint64_t rng_below(rng *r, uint64_t bound); /* uniform over 0 .. bound-1, unbiased; bound >= 1 */
double rng_unit(rng *r);                    /* uniform over [0, 1), 53 bits */
bool rng_chance(rng *r, double probability);
void rng_shuffle(rng *r, size_t *items, size_t count); /* Fisher-Yates */

#endif
