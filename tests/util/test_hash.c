#include "unit.h"

#include "util/hash.h"
#include "util/rng.h"

#include <stdlib.h>
#include <string.h>

/* FIPS 180-4 examples, and the empty text. */
static void known_sha256(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char text[HASH_SHA256_TEXT];
    for (size_t i = 0; i < COUNT(known); i++) {
        hash_sha256(text, known[i][0], strlen(known[i][0]));
        assert_string_equal(text, known[i][1]);
    }
    hash_sha256_state million;
    hash_sha256_init(&million);
    for (int i = 0; i < 1000; i++) {
        char block[1000];
        memset(block, 'a', sizeof block);
        hash_sha256_add(&million, block, sizeof block);
    }
    hash_sha256_end(&million, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    unsigned char data[1000];
    rng r;
    rng_seed(&r, 7);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)rng_next(&r);
    }
    for (int round = 0; round < 200; round++) {
        size_t length = (size_t)rng_below(&r, sizeof data + 1);
        char whole[HASH_SHA256_TEXT];
        char pieces[HASH_SHA256_TEXT];
        hash_sha256(whole, data, length);
        hash_sha256_state state_of;
        hash_sha256_init(&state_of);
        for (size_t at = 0; at < length;) {
            size_t step = 1 + (size_t)rng_below(&r, length - at);
            hash_sha256_add(&state_of, data + at, step);
            at += step;
        }
        hash_sha256_end(&state_of, pieces);
        assert_string_equal(whole, pieces);
    }
}

/* Values of the reference implementation (xxHash 0.8): they are in study files, so they must stay.
 */
static void known_xxhash(void **state)
{
    (void)state;
    assert_int_equal(hash64("", 0, 0), UINT64_C(0x2d06800538d394c2));
    assert_int_equal(hash64("abc", 3, 0), UINT64_C(0x78af5f94892f3950));
    hash128 h = hash128_of("", 0, 0);
    assert_int_equal(h.high, UINT64_C(0x99aa06d3014798d8));
    assert_int_equal(h.low, UINT64_C(0x6001c324468d497f));
    assert_true(hash128_equal(h, hash128_of("x", 0, 0)));
    assert_false(hash128_equal(h, hash128_of("", 0, 1)));
    assert_false(hash128_equal((hash128){1, 2}, (hash128){1, 3}));
    assert_false(hash128_equal((hash128){1, 2}, (hash128){0, 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sha256),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(known_xxhash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
