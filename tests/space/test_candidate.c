/* Canonical form, hash and text, as properties over random spaces. */
#include "helpers.h"

#include <stdio.h>

/* What a candidate means: the effective value of every active control. */
static void meaning(int32_t *out, const evocc_space *space, const int32_t *genes)
{
    for (size_t i = 0; i < space_count(space); i++) {
        out[i] = space_effective(space, genes, i);
    }
}

static void test_canonical_properties(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 21);
    size_t changed = 0;
    for (int round = 0; round < 100; round++) {
        evocc_space *space = random_space(&r);
        size_t count = space_count(space);
        for (int k = 0; k < 100; k++) {
            int32_t genes[MAX_GENES], again[MAX_GENES], spelt[MAX_GENES];
            int32_t before[MAX_GENES], after[MAX_GENES];
            random_genes(genes, space, &r);
            space_canonicalise(space, genes);
            /* Once is enough. */
            memcpy(again, genes, sizeof genes);
            space_canonicalise(space, again);
            assert_memory_equal(genes, again, count * sizeof *genes);
            /* Dormant controls are absent, and no gene says what is so anyway. */
            for (size_t i = 0; i < count; i++) {
                assert_true(genes[i] == SPACE_ABSENT || space_is_active(space, genes, i));
                if (genes[i] != SPACE_ABSENT) {
                    int32_t own = genes[i];
                    genes[i] = SPACE_ABSENT;
                    assert_int_not_equal(space_effective(space, genes, i), own);
                    genes[i] = own;
                }
            }
            /* The same meaning spelt out, active controls only, comes back to the same genes. */
            meaning(before, space, genes);
            for (size_t i = 0; i < count; i++) {
                bool dormant = !space_is_active(space, genes, i);
                spelt[i] = dormant ? (int32_t)rng_below(&r, 3) - 1 : before[i];
                changed += spelt[i] != genes[i];
            }
            space_canonicalise(space, spelt);
            assert_memory_equal(genes, spelt, count * sizeof *genes);
            assert_true(hash128_equal(space_hash(space, genes), space_hash(space, spelt)));
            meaning(after, space, spelt);
            assert_memory_equal(before, after, count * sizeof *before);
        }
        space_free(space);
    }
    assert_true(changed > 10000); /* the spelt-out form does differ from the canonical one */
}

static void test_text_round_trip(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 22);
    strbuf text = {0};
    for (int round = 0; round < 100; round++) {
        evocc_space *space = random_space(&r);
        size_t count = space_count(space);
        for (int k = 0; k < 100; k++) {
            int32_t genes[MAX_GENES], back[MAX_GENES];
            random_genes(genes, space, &r);
            space_canonicalise(space, genes);
            strbuf_clear(&text);
            space_candidate_text(&text, space, genes);
            evocc_error error;
            if (space_candidate_parse(back, space, strbuf_text(&text), &error) != EVOCC_OK) {
                fail_msg("%s", error.message);
            }
            assert_memory_equal(genes, back, count * sizeof *genes);
        }
        space_free(space);
    }
    strbuf_dispose(&text);
}

static const char two[] = "evocc-space: 1\nstage: ptxas\ncontrols:\n"
                          "  a: {type: int, range: [1, 9], default: 2}\n"
                          "  b: {type: choice, values: [x, y=z]}\n";

static void test_text_refusals(void **state)
{
    (void)state;
    evocc_space *space = space_of(two);
    evocc_error error;
    static const struct {
        const char *text, *message;
        evocc_status status;
    } cases[] = {
        {"ptxas/c=1", "there is no control 'ptxas/c'", EVOCC_NOT_FOUND},
        {"a=1", "there is no control 'a'", EVOCC_NOT_FOUND},
        {"ptxas/a", "'ptxas/a' is not stage/name=value", EVOCC_PARSE},
        {"ptxas/a=1 ptxas/a=3", "control ptxas/a is there twice", EVOCC_PARSE},
        {"ptxas/a=10", "control ptxas/a: value '10' is not 1, 2, ... 9", EVOCC_INVALID_ARGUMENT},
        {"ptxas/a=1 ptxas/b=y", "control ptxas/b: value 'y' is not one of x y=z",
         EVOCC_INVALID_ARGUMENT},
        {"ptxas/a=absent", "control ptxas/a: value 'absent' is not 1, 2, ... 9",
         EVOCC_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t genes[2] = {7, 7};
        assert_int_equal(space_candidate_parse(genes, space, cases[i].text, &error),
                         cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(genes[0], 7); /* untouched */
        assert_int_equal(genes[1], 7);
    }
    int32_t genes[2];
    assert_int_equal(space_candidate_parse(genes, space, "  ptxas/b=y=z   ptxas/a=2 ", NULL),
                     EVOCC_OK);
    assert_int_equal(genes[0], 1); /* as written; canonical form is another step */
    assert_int_equal(genes[1], 1);
    assert_int_equal(space_candidate_parse(genes, space, "", NULL), EVOCC_OK);
    assert_int_equal(genes[0], SPACE_ABSENT);
    space_free(space);
}

/* Hashes name trials inside a study that may be resumed by another build: they must stay. */
static void test_hash_is_stable(void **state)
{
    (void)state;
    evocc_space *space = space_of(two);
    int32_t genes[2] = {4, SPACE_ABSENT};
    hash128 hash = space_hash(space, genes);
    char text[64];
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)hash.high,
             (unsigned long long)hash.low);
    assert_string_equal(text, "9e0f361548c53e5ad8fc6f922f181d32");
    genes[1] = 0;
    assert_false(hash128_equal(hash, space_hash(space, genes)));
    space_free(space);
}

static void test_empty_space(void **state)
{
    (void)state;
    evocc_space *space;
    rng r;
    rng_seed(&r, 1);
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    int32_t none = 5;
    space_canonicalise(space, &none);
    assert_int_equal(space_check(space, &none, NULL), EVOCC_OK);
    assert_int_equal(space_sample(space, &r, &none, NULL), EVOCC_OK);
    assert_true(space_repair(space, &r, &none));
    assert_int_equal(space_candidate_parse(&none, space, "", NULL), EVOCC_OK);
    assert_string_equal(text_of(space, &none), "");
    assert_true(space_cardinality(space) == 1);
    space_hash(space, &none);
    assert_int_equal(none, 5);
    space_free(space);
}

static void test_cardinality(void **state)
{
    (void)state;
    evocc_space *space = space_of(two);
    assert_true(space_cardinality(space) == 27); /* b may also be absent */
    space_free(space);
}

/* As from an earlier study of another compiler: same names, other domains. */
static void test_adapted_by_name_and_clamped(void **state)
{
    (void)state;
    evocc_space *space =
        space_of("evocc-space: 1\nstage: define\ncontrols:\n"
                 "  TILE: {type: pow2, range: [8, 64], default: 16}\n"
                 "  UNROLL: {type: int, range: [2, 10], step: 4, default: 2}\n"
                 "  MODE: {type: choice, values: [naive, blocked], default: naive}\n");
    int32_t genes[3];
    strbuf notes = {0};
    evocc_error error = {0};
    assert_int_equal(space_candidate_adapt(genes, &notes, space,
                                           "define/TILE=512 define/UNROLL=7 define/MODE=fast "
                                           "define/GONE=1",
                                           &error),
                     EVOCC_OK);
    assert_string_equal(text_of(space, genes), "TILE=64 UNROLL=6");
    assert_string_equal(strbuf_text(&notes),
                        "define/TILE=512: taken as 64, the nearest value here\n"
                        "define/UNROLL=7: taken as 6, the nearest value here\n"
                        "define/MODE=fast: there is no such value here, left out\n"
                        "define/GONE=1: there is no such control here\n");
    strbuf_clear(&notes);
    assert_int_equal(
        space_candidate_adapt(genes, &notes, space, "define/TILE=32 define/UNROLL=2", &error),
        EVOCC_OK);
    assert_string_equal(text_of(space, genes), "TILE=32");
    assert_string_equal(strbuf_text(&notes), "");
    assert_int_equal(space_candidate_adapt(genes, &notes, space, "TILE", &error), EVOCC_PARSE);
    for (long n = 0;; n++) {
        mem_fail_after(n);
        evocc_status status =
            space_candidate_adapt(genes, &notes, space, "define/UNROLL=7", &error);
        mem_fail_after(-1);
        strbuf_dispose(&notes);
        if (status == EVOCC_OK) {
            assert_true(n > 0);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_properties),
        cmocka_unit_test(test_text_round_trip),
        cmocka_unit_test(test_text_refusals),
        cmocka_unit_test(test_hash_is_stable),
        cmocka_unit_test(test_empty_space),
        cmocka_unit_test(test_cardinality),
        cmocka_unit_test(test_adapted_by_name_and_clamped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
