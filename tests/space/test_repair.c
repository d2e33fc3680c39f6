/* Repair: allowed, canonical, and as few changes as a search of all changes finds. */
#include "helpers.h"

#define HEAD "evocc-space: 1\nstage: define\ncontrols:\n"

static int distance(const int32_t *a, const int32_t *b, size_t count)
{
    int changes = 0;
    for (size_t i = 0; i < count; i++) {
        changes += a[i] != b[i];
    }
    return changes;
}

/* The fewest genes whose change makes an allowed candidate, by trying all candidates. Spaces
   without conditions, so that one change of a gene is one change of the canonical form. */
static int fewest_changes(const evocc_space *space, const int32_t *from)
{
    size_t count = space_count(space);
    int32_t genes[MAX_GENES];
    int best = MAX_GENES;
    for (size_t i = 0; i < count; i++) {
        genes[i] = 0;
    }
    for (;;) {
        int32_t canonical[MAX_GENES];
        memcpy(canonical, genes, count * sizeof *genes);
        space_canonicalise(space, canonical);
        int changes = distance(from, canonical, count);
        if (changes < best && space_check(space, canonical, NULL) == EVOCC_OK) {
            best = changes;
        }
        size_t i = 0;
        while (i < count && ++genes[i] == space_get(space, i)->size) {
            genes[i++] = 0;
        }
        if (i == count) {
            return best;
        }
    }
}

static void test_fewest_changes(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 6], default: 1}\n"
                                       "  b: {type: pow2, range: [1, 32], default: 1}\n"
                                       "  c: {type: int, range: [1, 6], default: 1}\n"
                                       "  d: {type: choice, values: [x, y, z], default: x}\n"
                                       "constraints:\n"
                                       "  - a * b <= 24 and a * b >= 6\n"
                                       "  - d == 'x' or c > a\n"
                                       "  - (a + c) % 2 == 0\n"
                                       "forbid:\n"
                                       "  - {d: z, b: [4, 8]}\n");
    rng r;
    rng_seed(&r, 41);
    int distances[MAX_GENES] = {0};
    for (int i = 0; i < 400; i++) {
        int32_t genes[MAX_GENES], before[MAX_GENES];
        random_genes(genes, space, &r);
        space_canonicalise(space, genes);
        memcpy(before, genes, sizeof genes);
        assert_true(space_repair(space, &r, genes));
        assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
        int changes = distance(before, genes, space_count(space));
        assert_int_equal(changes, fewest_changes(space, before));
        distances[changes]++;
    }
    assert_true(distances[0] > 10 && distances[1] > 10 && distances[2] > 10); /* all were met */
    space_free(space);
}

static void test_random_spaces(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 42);
    int repaired = 0;
    for (int round = 0; round < 200; round++) {
        evocc_space *space = random_space(&r);
        size_t count = space_count(space);
        for (int k = 0; k < 20; k++) {
            int32_t genes[MAX_GENES], canonical[MAX_GENES];
            random_genes(genes, space, &r);
            memcpy(canonical, genes, sizeof genes);
            space_canonicalise(space, canonical);
            bool allowed = space_check(space, canonical, NULL) == EVOCC_OK;
            if (!space_repair(space, &r, genes)) {
                /* Only where nothing is allowed at all. */
                assert_int_equal(space_sample(space, &r, genes, NULL), EVOCC_EXHAUSTED);
                continue;
            }
            assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
            if (allowed) {
                assert_memory_equal(genes, canonical, count * sizeof *genes);
            }
            memcpy(canonical, genes, sizeof genes);
            space_canonicalise(space, canonical);
            assert_memory_equal(genes, canonical, count * sizeof *genes);
            repaired += !allowed;
        }
        space_free(space);
    }
    assert_true(repaired > 100);
}

/* The nearest value is taken where values have an order, and both directions come up. */
static void test_nearest(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [0, 1000], default: 0}\n"
                                       "constraints: [a % 10 == 0]\n");
    rng r;
    rng_seed(&r, 43);
    for (int32_t value = 1; value < 1000; value++) {
        int32_t genes[1] = {value};
        assert_true(space_repair(space, &r, genes));
        int32_t now = space_effective(space, genes, 0);
        int32_t down = value / 10 * 10, up = (value + 9) / 10 * 10;
        int32_t nearest = value - down < up - value ? down : up;
        assert_true(now == nearest || value - down == up - value);
    }
    space_free(space);
}

/* A change of what decides over activity can be the only way, or the shortest. */
static void test_through_condition(void **state)
{
    (void)state;
    evocc_space *space =
        space_of(HEAD "  mode: {type: choice, values: [p, q], default: p}\n"
                      "  a: {type: int, range: [1, 3], default: 3, when: {mode: q}}\n"
                      "constraints: [a == 3]\n"
                      "forbid: [{mode: q, a: 3}]\n");
    rng r;
    rng_seed(&r, 44);
    int32_t genes[2] = {1, 0};
    assert_true(space_repair(space, &r, genes));
    assert_string_equal(text_of(space, genes), "");
    space_free(space);
}

static void test_far(void **state)
{
    (void)state;
    /* Five changes are needed: beyond the tree, so the knot is drawn anew; what is outside stays.
     */
    evocc_space *space = space_of(HEAD "  a: {type: bool, default: \"false\"}\n"
                                       "  b: {type: bool, default: \"false\"}\n"
                                       "  c: {type: bool, default: \"false\"}\n"
                                       "  d: {type: bool, default: \"false\"}\n"
                                       "  e: {type: bool, default: \"false\"}\n"
                                       "  out: {type: int, range: [1, 99], default: 1}\n"
                                       "constraints: [a and b and c and d and e]\n");
    rng r;
    rng_seed(&r, 45);
    int32_t genes[6] = {-1, -1, -1, -1, -1, 41};
    assert_true(space_repair(space, &r, genes));
    assert_string_equal(text_of(space, genes), "a=true b=true c=true d=true e=true out=42");
    space_free(space);
    space = space_of(HEAD "  a: {type: bool, default: \"false\"}\nconstraints: [a and not a]\n");
    genes[0] = 1;
    assert_false(space_repair(space, &r, genes));
    space_free(space);
}

static void test_deterministic(void **state)
{
    (void)state;
    rng source, r[2];
    rng_seed(&source, 46);
    for (int round = 0; round < 30; round++) {
        evocc_space *space = random_space(&source);
        for (int k = 0; k < 20; k++) {
            int32_t genes[2][MAX_GENES];
            random_genes(genes[0], space, &source);
            memcpy(genes[1], genes[0], sizeof genes[0]);
            rng_seed(&r[0], (uint64_t)k);
            rng_seed(&r[1], (uint64_t)k);
            assert_int_equal(space_repair(space, &r[0], genes[0]),
                             space_repair(space, &r[1], genes[1]));
            assert_memory_equal(genes[0], genes[1], space_count(space) * sizeof(int32_t));
        }
        space_free(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewest_changes),
        cmocka_unit_test(test_random_spaces),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_through_condition),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
