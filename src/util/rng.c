#include "util/rng.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed(rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        r->state[i] = splitmix64(&seed);
    }
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(rng *r, uint64_t bound)
{
    /* Numbers under 2^64 mod bound would make the low remainders likelier: drop them. */
    uint64_t threshold = (0 - bound) % bound;
    uint64_t x;
    do {
        x = rng_next(r);
    } while (x < threshold);
    return x % bound;
}

double rng_unit(rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

bool rng_chance(rng *r, double probability)
{
    return rng_unit(r) < probability;
}

void rng_shuffle(rng *r, size_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)rng_below(r, i);
        size_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
