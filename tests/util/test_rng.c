#include "unit.h"

#include "util/rng.h"

#include <math.h>

/* From the authors' reference code, splitmix64.c and xoshiro256starstar.c (prng.di.unimi.it). */
static void reference_sequence(void **state)
{
    (void)state;
    rng r = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(rng_next(&r), expected[i]);
    }
}

static void reference_seeding(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 1234567);
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317),
        UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431),
    };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r.state[i], expected[i]);
    }
}

static void below_is_uniform(void **state)
{
    (void)state;
    enum { BOUND = 7, DRAWS = 70000 };
    rng r;
    rng_seed(&r, 3);
    int counts[BOUND] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = rng_below(&r, BOUND);
        assert_true(x < BOUND);
        counts[x]++;
    }
    for (int i = 0; i < BOUND; i++) {
        /* Five standard deviations of the binomial distribution. */
        assert_true(fabs(counts[i] - DRAWS / 7.0) < 5 * sqrt(DRAWS * (1 / 7.0) * (6 / 7.0)));
    }
    assert_int_equal(rng_below(&r, 1), 0);
    /* Of 2^64 numbers a quarter must be dropped here, or the lowest third comes up half of the
     * time. */
    uint64_t bound = UINT64_C(3) << 62;
    int low = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t x = rng_below(&r, bound);
        assert_true(x < bound);
        low += x < bound / 3;
    }
    assert_true(low > 870 && low < 1130);
}

static void unit_and_chance(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 4);
    double sum = 0;
    int hits = 0;
    for (int i = 0; i < 10000; i++) {
        double x = rng_unit(&r);
        assert_true(x >= 0 && x < 1);
        sum += x;
        hits += rng_chance(&r, 0.25);
        assert_false(rng_chance(&r, 0));
        assert_true(rng_chance(&r, 1));
    }
    assert_true(fabs(sum / 10000 - 0.5) < 0.015);
    assert_true(hits > 2280 && hits < 2720);
}

static void shuffles_are_permutations(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 5);
    int orders[24] = {0};
    for (int round = 0; round < 24000; round++) {
        size_t items[4] = {0, 1, 2, 3};
        rng_shuffle(&r, items, 4);
        size_t seen = 0;
        for (int i = 0; i < 4; i++) {
            seen |= (size_t)1 << items[i];
        }
        assert_int_equal(seen, 15);
        /* The rank of the permutation, by its Lehmer code. */
        size_t rank = 0;
        for (size_t i = 0; i < 4; i++) {
            size_t smaller = 0;
            for (size_t j = i + 1; j < 4; j++) {
                smaller += items[j] < items[i];
            }
            rank = rank * (4 - i) + smaller;
        }
        orders[rank]++;
    }
    for (int i = 0; i < 24; i++) {
        assert_true(orders[i] > 840 && orders[i] < 1160);
    }
    rng_shuffle(&r, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_sequence),        cmocka_unit_test(reference_seeding),
        cmocka_unit_test(below_is_uniform),          cmocka_unit_test(unit_and_chance),
        cmocka_unit_test(shuffles_are_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
