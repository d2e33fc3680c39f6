/*
 * seen: which candidates were proposed already, by their 128-bit hash. Two different candidates
 * share a hash with probability below 2^-94 at 100,000 trials: a hash stands for its candidate.
 */
#ifndef SEARCH_SEEN_H
#define SEARCH_SEEN_H

#include "util/hash.h"

/* Zero-initialised is empty. */
typedef struct seen {
    hash128 *slots; /* {0, 0} is a free slot; a hash of zero is stored as {0, 1} */
    size_t count, capacity;
} seen;

/* Room for one more; false: out of memory. After it, seen_add cannot fail. */
bool seen_reserve(seen *s);
bool seen_has(const seen *s, hash128 hash);
void seen_add(seen *s, hash128 hash);
void seen_dispose(seen *s);

#endif
