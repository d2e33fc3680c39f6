/*
 * hash.h: xxHash for tables and identity inside one study, SHA-256 for names that go into files.
 */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <evocc/evocc.h>

typedef struct hash128 {
    uint64_t high, low;
} hash128;

uint64_t hash64(const void *data, size_t length, uint64_t seed);
hash128 hash128_of(const void *data, size_t length, uint64_t seed);
bool hash128_equal(hash128 a, hash128 b);

#define HASH_SHA256_TEXT 65 /* 64 hexadecimal digits and the NUL */

/* Lower-case hexadecimal SHA-256 (FIPS 180-4). */
void hash_sha256(char out[HASH_SHA256_TEXT], const void *data, size_t length);

/* The same over pieces: init, add..., end. */
typedef struct hash_sha256_state {
    uint64_t opaque[28]; /* room for the library's own state; checked when compiled */
} hash_sha256_state;
void hash_sha256_init(hash_sha256_state *state);
void hash_sha256_add(hash_sha256_state *state, const void *data, size_t length);
void hash_sha256_end(hash_sha256_state *state, char out[HASH_SHA256_TEXT]);

#endif
