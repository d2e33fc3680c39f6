/* Sampling: what is drawn, how often, and how fast where nearly everything is forbidden. */
#include "helpers.h"

#include "util/clock.h"

#include <stdio.h>

#define HEAD "evocc-space: 1\nstage: define\ncontrols:\n"

static void draw(int32_t *genes, const evocc_space *space, rng *r)
{
    evocc_error error;
    if (space_sample(space, r, genes, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
}

/* Draws `draws` candidates of a space whose allowed ones number `expected`, all equally likely by
   design of the space; asserts that each comes up and that chi-square is within what chance gives
   (5 standard deviations of the normal approximation, degrees of freedom = expected - 1). */
static void assert_uniform(const evocc_space *space, size_t expected, size_t draws)
{
    enum { MAX_DISTINCT = 4096 };
    static hash128 seen[MAX_DISTINCT];
    static double counts[MAX_DISTINCT];
    size_t distinct = 0;
    rng r;
    rng_seed(&r, 31);
    for (size_t d = 0; d < draws; d++) {
        int32_t genes[MAX_GENES], canonical[MAX_GENES];
        draw(genes, space, &r);
        assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
        memcpy(canonical, genes, sizeof genes);
        space_canonicalise(space, canonical);
        assert_memory_equal(genes, canonical, space_count(space) * sizeof *genes);
        hash128 hash = space_hash(space, genes);
        size_t i = 0;
        while (i < distinct && !hash128_equal(seen[i], hash)) {
            i++;
        }
        if (i == distinct) {
            assert_true(distinct < MAX_DISTINCT);
            seen[distinct] = hash;
            counts[distinct++] = 0;
        }
        counts[i]++;
    }
    assert_int_equal(distinct, expected);
    double each = (double)draws / (double)expected, chi = 0, freedom = (double)expected - 1;
    for (size_t i = 0; i < distinct; i++) {
        chi += (counts[i] - each) * (counts[i] - each) / each;
    }
    double deviation = 1;
    while (deviation * deviation < 2 * freedom) {
        deviation++;
    }
    if (chi > freedom + 5 * deviation) {
        fail_msg("chi-square %g with %g degrees of freedom", chi, freedom);
    }
}

static void test_unconstrained(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 5], default: 2}\n"
                                       "  b: {type: choice, values: [x, y]}\n"
                                       "  c: {type: flag}\n");
    assert_uniform(space, 5 * 3 * 2, 30000);
    space_free(space);
}

/* Half is allowed: rejection. */
static void test_light_constraint(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 12], default: 2}\n"
                                       "  b: {type: int, range: [1, 12], default: 2}\n"
                                       "  c: {type: int, range: [1, 3], default: 2}\n"
                                       "constraints: [a <= b]\n");
    assert_uniform(space, 78 * 3, 60000);
    space_free(space);
}

/* One in hundreds: the table. */
static void test_heavy_constraint(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 60], default: 1}\n"
                                       "  b: {type: int, range: [1, 60], default: 1}\n"
                                       "  c: {type: int, range: [1, 60], default: 1}\n"
                                       "constraints: [a * b * c == 60]\n");
    assert_uniform(space, 54, 20000);
    space_free(space);
}

/* The same with controls that have no default, so that absent is one more value. */
static void test_heavy_without_defaults(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 30]}\n"
                                       "  b: {type: int, range: [1, 30]}\n"
                                       "  c: {type: int, range: [1, 30], default: 1}\n"
                                       "  d: {type: flag}\n"
                                       "constraints:\n"
                                       "  - (a or 30) * (b or 30) * c == 900\n"
                                       "  - not d or a == nil\n");
    size_t expected = 0;
    for (int a = 1; a <= 31; a++) {
        for (int b = 1; b <= 31; b++) {
            for (int c = 1; c <= 30; c++) {
                if ((a == 31 ? 30 : a) * (b == 31 ? 30 : b) * c == 900) {
                    expected += a == 31 ? 2 : 1;
                }
            }
        }
    }
    assert_true(expected > 30);
    assert_uniform(space, expected, 30000);
    space_free(space);
}

/* Conditions inside a knot: a dormant control counts once, whatever it would have been. The draw is
   mode 1/2, then what the mode has: allowed are mode=p with a=b (3 of 9) and mode=q (1). */
static void test_conditions_inside(void **state)
{
    (void)state;
    evocc_space *space =
        space_of(HEAD "  mode: {type: choice, values: [p, q], default: p}\n"
                      "  a: {type: int, range: [0, 2], default: 0, when: {mode: p}}\n"
                      "  b: {type: int, range: [0, 2], default: 0, when: {mode: p}}\n"
                      "constraints: [a == b]\n");
    rng r;
    rng_seed(&r, 32);
    size_t dormant = 0;
    enum { DRAWS = 40000 };
    for (size_t d = 0; d < DRAWS; d++) {
        int32_t genes[3];
        draw(genes, space, &r);
        dormant += genes[0] == 1;
    }
    double share = (double)dormant / DRAWS; /* (1/2) / (1/2 + 1/2 * 3/9) */
    assert_true(share > 0.74 && share < 0.76);
    space_free(space);
}

static void test_knockout(void **state)
{
    (void)state;
    evocc_space *space =
        space_of(HEAD "  a: {type: int, range: [1, 4], default: 1, knockout: 0.6}\n"
                      "  b: {type: int, range: [1, 4], knockout: 1}\n"
                      "  c: {type: flag, knockout: 0.5}\n");
    rng r;
    rng_seed(&r, 33);
    size_t absent[3] = {0};
    enum { DRAWS = 40000 };
    for (size_t d = 0; d < DRAWS; d++) {
        int32_t genes[3];
        draw(genes, space, &r);
        for (size_t i = 0; i < 3; i++) {
            absent[i] += genes[i] == SPACE_ABSENT;
        }
    }
    double share = (double)absent[0] / DRAWS; /* 0.6 + 0.4 / 4: its default is absent too */
    assert_true(share > 0.69 && share < 0.71);
    assert_int_equal(absent[1], DRAWS);
    share = (double)absent[2] / DRAWS; /* 0.5 + 0.5 / 2 */
    assert_true(share > 0.74 && share < 0.76);
    space_free(space);
}

/* A matrix multiplication's parameters: 3e8 raw points, fewer than 1 in 1e5 allowed. */
static const char tiles[] = HEAD "  mwg: {type: int, range: [8, 256], step: 2, default: 8}\n"
                                 "  nwg: {type: int, range: [8, 256], step: 2, default: 8}\n"
                                 "  kwg: {type: int, range: [8, 64], step: 8, default: 8}\n"
                                 "  mdim: {type: int, range: [3, 64], default: 8}\n"
                                 "  ndim: {type: int, range: [4, 64], default: 8}\n"
                                 "  vwm: {type: pow2, range: [1, 8], default: 1}\n"
                                 "  vwn: {type: pow2, range: [1, 8], default: 1}\n"
                                 "  mdima: {type: int, range: [3, 64], default: 8}\n"
                                 "  sa: {type: bool, default: \"false\"}\n"
                                 "constraints:\n"
                                 "  - mwg % (mdim * vwm) == 0\n"
                                 "  - nwg % (ndim * vwn) == 0\n"
                                 "  - mwg % (mdima * vwm) == 0\n"
                                 "  - (mdim * ndim) % mdima == 0\n"
                                 "  - kwg % ((mdim * ndim) // mdima) == 0\n"
                                 "  - mdim * ndim >= 32 and mdim * ndim <= 1024\n"
                                 "  - not sa or mwg * kwg * 4 <= 49152\n";

static void test_one_in_many(void **state)
{
    (void)state;
    evocc_space *space = space_of(tiles);
    rng r;
    rng_seed(&r, 34);
    size_t allowed = 0;
    int32_t genes[MAX_GENES];
    for (int i = 0; i < 200000; i++) {
        random_genes(genes, space, &r);
        allowed += space_check(space, genes, NULL) == EVOCC_OK;
    }
    print_message("%zu of 200,000 raw points are allowed\n", allowed);
    assert_true(allowed <= 6); /* about 1 in 1e5 */
    double start_s = clock_now_s();
    for (int i = 0; i < 1000; i++) {
        draw(genes, space, &r);
    }
    double wall_s = clock_now_s() - start_s;
    for (int i = 0; i < 1000; i++) {
        draw(genes, space, &r);
        assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
    }
    print_message("1,000 candidates in %.3f s\n", wall_s);
    assert_true(wall_s < 5); /* 0.1 s; a sanitizer makes it ten times that, rejection a thousand */
    space_free(space);
}

/* A knot too large for a table, and too tight for rejection: eight equal triples. */
static void test_descent(void **state)
{
    (void)state;
    strbuf yaml = {0};
    strbuf_puts(&yaml, HEAD);
    for (int i = 0; i < 24; i++) {
        strbuf_printf(&yaml, "  c%d: {type: int, range: [1, 30], default: 1}\n", i);
    }
    strbuf_puts(&yaml, "constraints:\n");
    for (int i = 0; i + 2 < 24; i += 3) {
        strbuf_printf(&yaml, "  - c%d + c%d == c%d\n", i, i + 1, i + 2);
    }
    for (int i = 0; i + 3 < 24; i += 3) {
        strbuf_printf(&yaml, "  - c%d <= c%d + 25\n", i, i + 3); /* ties the triples together */
    }
    evocc_space *space = space_of(strbuf_text(&yaml));
    strbuf_dispose(&yaml);
    rng r;
    rng_seed(&r, 35);
    int32_t genes[MAX_GENES];
    uint32_t values[24] = {0};
    double start_s = clock_now_s();
    for (int i = 0; i < 1000; i++) {
        draw(genes, space, &r);
        assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
        for (int k = 0; k < 24; k++) {
            values[k] |= 1u << (genes[k] == SPACE_ABSENT ? 0 : genes[k] + 1);
        }
    }
    double wall_s = clock_now_s() - start_s;
    print_message("1,000 candidates by search in %.3f s\n", wall_s);
    for (int k = 0; k < 24; k++) {
        /* Value v is bit v, the default, 1, is bit 0. A sum is never 1, a summand never 30. */
        uint32_t never = k % 3 == 2 ? 1u : 1u << 30;
        assert_int_equal(values[k] & never, 0);
        assert_int_equal(values[k] & 0x01ffff00u, 0x01ffff00u); /* rare ones may be missing */
    }
    space_free(space);
}

static void test_exhaustion(void **state)
{
    (void)state;
    rng r;
    evocc_error error;
    int32_t genes[MAX_GENES];
    rng_seed(&r, 36);
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 9], default: 1}\n"
                                       "  b: {type: int, range: [1, 9], default: 1}\n"
                                       "constraints: [a < 10, a + b > 18]\n");
    assert_int_equal(space_sample(space, &r, genes, &error), EVOCC_EXHAUSTED);
    assert_string_equal(error.message,
                        "no candidate is allowed; refused most by the constraint 'a + b > 18'");
    space_free(space);
    space = space_of(HEAD "  a: {type: flag}\nforbid: [{a: absent}, {a: \"on\"}]\n");
    assert_int_equal(space_sample(space, &r, genes, &error), EVOCC_EXHAUSTED);
    assert_string_equal(error.message, "no candidate is allowed; refused most by the forbidden "
                                       "combination that begins with define/a");
    space_free(space);
    /* Too large to prove, and hopeless: gives up within bounds. */
    space = space_of(HEAD "  a: {type: int, range: [0, 99999], default: 0}\n"
                          "  b: {type: int, range: [0, 99999], default: 0}\n"
                          "constraints: [a * b == 99999 * 99999 + 1]\n");
    assert_int_equal(space_sample(space, &r, genes, &error), EVOCC_EXHAUSTED);
    assert_string_equal(error.message, "no candidate was found; refused most by the constraint 'a "
                                       "* b == 99999 * 99999 + 1'");
    space_free(space);
}

/* Same seed, same candidates, whatever happened before on the same space. */
static void test_deterministic(void **state)
{
    (void)state;
    const char *const spaces[] = {tiles, HEAD "  a: {type: int, range: [1, 60], default: 1}\n"
                                              "  b: {type: int, range: [1, 60], default: 1}\n"
                                              "constraints: [a < b]\n"};
    for (size_t s = 0; s < 2; s++) {
        evocc_space *fresh = space_of(spaces[s]);
        rng r[2];
        rng_seed(&r[0], 37);
        rng_seed(&r[1], 37);
        evocc_space *other = space_of(spaces[s]);
        for (int i = 0; i < 300; i++) {
            int32_t genes[2][MAX_GENES];
            rng aside = r[1]; /* the second space is also drawn from in between */
            draw(genes[1], other, &aside);
            draw(genes[0], fresh, &r[0]);
            draw(genes[1], other, &r[1]);
            assert_memory_equal(genes[0], genes[1], space_count(fresh) * sizeof(int32_t));
        }
        space_free(fresh);
        space_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unconstrained),     cmocka_unit_test(test_light_constraint),
        cmocka_unit_test(test_heavy_constraint),  cmocka_unit_test(test_heavy_without_defaults),
        cmocka_unit_test(test_conditions_inside), cmocka_unit_test(test_knockout),
        cmocka_unit_test(test_one_in_many),       cmocka_unit_test(test_descent),
        cmocka_unit_test(test_exhaustion),        cmocka_unit_test(test_deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
