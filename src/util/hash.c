#include "util/hash.h"

#include <sha2.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(SHA2_CTX) <= sizeof(hash_sha256_state), "the state of libmd must fit");
_Static_assert(_Alignof(SHA2_CTX) <= _Alignof(hash_sha256_state), "and be aligned");

uint64_t hash64(const void *data, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, length, seed);
}

hash128 hash128_of(const void *data, size_t length, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, length, seed);
    return (hash128){hash.high64, hash.low64};
}

bool hash128_equal(hash128 a, hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

/* The caller's bytes are the library's state: copying it to and fro would cost more than hashing a
   short piece. Only the library looks inside, so that no two types meet in one translation unit. */
static SHA2_CTX *context_of(hash_sha256_state *state)
{
    return (SHA2_CTX *)(void *)state;
}

void hash_sha256_init(hash_sha256_state *state)
{
    SHA256Init(context_of(state));
}

void hash_sha256_add(hash_sha256_state *state, const void *data, size_t length)
{
    SHA256Update(context_of(state), data, length);
}

void hash_sha256_end(hash_sha256_state *state, char out[HASH_SHA256_TEXT])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, context_of(state));
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[HASH_SHA256_TEXT - 1] = '\0';
}

void hash_sha256(char out[HASH_SHA256_TEXT], const void *data, size_t length)
{
    hash_sha256_state state;
    hash_sha256_init(&state);
    hash_sha256_add(&state, data, length);
    hash_sha256_end(&state, out);
}
