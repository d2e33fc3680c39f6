/* Every allocation fails once, in turn: the call reports it, nothing leaks, nothing is half done.
 */
#include "helpers.h"

static const char yaml[] =
    "evocc-space: 1\nstage: define\ncontrols:\n"
    "  mode: {type: choice, values: [p, q, \"7\"], default: p, help: The mode., group: g}\n"
    "  a: {type: int, range: [1, 40], default: 1, when: {mode: [p, q]}}\n"
    "  b: {type: int, range: [1, 40], default: 1}\n"
    "  c: {type: float, range: [1, 8], points: 4, default: 1}\n"
    "  d: {type: float, range: [1, 8], points: 4, default: 1, parent: c}\n"
    "forbid:\n"
    "  - {mode: q, c: 2}\n"
    "constraints:\n"
    "  - mode == 'p' or a * b == 36\n"
    "  - a < b\n";

/* Runs `work` with the nth allocation failing, for n = 0, 1, 2 ..., until it succeeds. Expects at
   least `least` failures on the way. */
static void fail_each(evocc_status (*work)(void *context, evocc_error *error), void *context,
                      int least)
{
    int failures = 0;
    for (;; failures++) {
        evocc_error error = {0};
        assert_true(failures < 5000);
        mem_fail_after(failures);
        evocc_status status = work(context, &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            break;
        }
        if (status != EVOCC_NO_MEMORY) {
            fail_msg("allocation %d: %d %s", failures, (int)status, error.message);
        }
        assert_int_equal(error.status, EVOCC_NO_MEMORY);
    }
    assert_true(failures >= least);
}

static evocc_status parse(void *context, evocc_error *error)
{
    (void)context;
    evocc_space *space;
    evocc_status status = evocc_space_parse(&space, yaml, strlen(yaml), "test", error);
    assert_int_equal(space == NULL, status != EVOCC_OK);
    space_free(space);
    return status;
}

static void test_parse(void **state)
{
    (void)state;
    fail_each(parse, NULL, 50);
}

static evocc_status copy(void *context, evocc_error *error)
{
    evocc_space *space;
    evocc_status status = space_new(&space, error);
    if (status == EVOCC_OK) {
        status = space_add_all(space, context, NULL, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
    }
    space_free(space);
    return status;
}

static void test_copy(void **state)
{
    (void)state;
    evocc_space *space = space_of(yaml);
    fail_each(copy, space, 20);
    space_free(space);
}

/* A failed call leaves the space as it was: each goes again until it works. */
static evocc_status retry_constraint(void *context, evocc_error *error)
{
    return space_add_constraint(context, "word ~= 'x' or n > 2", error);
}

static evocc_status retry_forbidden(void *context, evocc_error *error)
{
    static const char *const values[] = {"y"};
    space_term term = {"word", values, 1};
    return space_add_forbidden(context, &term, 1, error);
}

static evocc_status retry_condition(void *context, evocc_error *error)
{
    static const char *const values[] = {"3"};
    space_term term = {"n", values, 1};
    return space_add_condition(context, "word", &term, error);
}

static evocc_status retry_control(void *context, evocc_error *error)
{
    static const char *const words[] = {"x", "y"};
    space_control c = {.name = "more",
                       .kind = SPACE_CHOICE,
                       .choices = words,
                       .size = 2,
                       .help = "help",
                       .group = "group",
                       .default_index = SPACE_ABSENT,
                       .parent = SPACE_ABSENT};
    return space_add(context, &c, error);
}

static evocc_status retry_finish(void *context, evocc_error *error)
{
    return space_finish(context, error);
}

static void test_retry(void **state)
{
    (void)state;
    static const char two[] = "evocc-space: 1\nstage: define\ncontrols:\n"
                              "  word: {type: choice, values: [x, y], default: x}\n"
                              "  n: {type: int, range: [1, 3], default: 3}\n";
    evocc_space *space;
    assert_int_equal(space_parse(&space, two, strlen(two), "test", NULL), EVOCC_OK);
    fail_each(retry_condition, space, 1);
    fail_each(retry_forbidden, space, 1);
    fail_each(retry_constraint, space, 5);
    fail_each(retry_control, space, 1);
    fail_each(retry_finish, space, 0);
    assert_int_equal(space_count(space), 3);
    int32_t genes[3];
    rng r;
    rng_seed(&r, 5);
    assert_int_equal(space_sample(space, &r, genes, NULL), EVOCC_OK);
    evocc_error error;
    genes_of(genes, space, "word=y");
    assert_int_equal(space_check(space, genes, &error), EVOCC_REFUSED);
    assert_string_equal(error.message, "forbidden combination: define/word=y");
    space_free(space);
}

typedef struct drawing {
    evocc_space *space;
    int32_t genes[MAX_GENES];
    uint64_t seed;
} drawing;

/* A new space each time, so that its table is made each time. */
static evocc_status sample(void *context, evocc_error *error)
{
    static const char tight[] = "evocc-space: 1\nstage: define\ncontrols:\n"
                                "  a: {type: int, range: [1, 90], default: 1}\n"
                                "  b: {type: int, range: [1, 90], default: 1}\n"
                                "constraints: [a * b == 8010]\n";
    (void)context;
    int32_t genes[2];
    rng r;
    rng_seed(&r, 7);
    evocc_space *space;
    evocc_status status = evocc_space_parse(&space, tight, strlen(tight), "test", error);
    if (status == EVOCC_OK) {
        status = space_sample(space, &r, genes, error);
        /* A failure is no answer: the next call gives one. */
        if (status != EVOCC_OK) {
            mem_fail_after(-1);
            assert_int_equal(space_sample(space, &r, genes, NULL), EVOCC_OK);
        }
        assert_int_equal(space_check(space, genes, NULL), EVOCC_OK);
    }
    space_free(space);
    return status;
}

static void test_sample(void **state)
{
    (void)state;
    fail_each(sample, NULL, 30);
}

static evocc_status text(void *context, evocc_error *error)
{
    drawing *d = context;
    return space_candidate_parse(d->genes, d->space, "define/b=7 define/mode=q", error);
}

static void test_text(void **state)
{
    (void)state;
    drawing d = {.space = space_of(yaml)};
    fail_each(text, &d, 2);
    assert_int_equal(d.genes[2], 6);
    /* No status to report: the digest is empty. */
    char digest[HASH_SHA256_TEXT];
    mem_fail_after(0);
    space_digest(digest, d.space);
    mem_fail_after(-1);
    assert_string_equal(digest, "");
    space_free(d.space);
}

/* Repair has no status either: without memory it says that it could not, and leaves the genes. Five
   changes are needed, so the knot is drawn anew, from its table: that takes memory. */
static void test_repair(void **state)
{
    (void)state;
    static const char far[] = "evocc-space: 1\nstage: define\ncontrols:\n"
                              "  a: {type: int, range: [1, 9], default: 1}\n"
                              "  b: {type: int, range: [1, 9], default: 1}\n"
                              "  c: {type: int, range: [1, 9], default: 1}\n"
                              "  d: {type: int, range: [1, 9], default: 1}\n"
                              "constraints: [a > 8 and b > 8 and c > 8 and d > 8]\n";
    bool repaired = false;
    int failures = 0;
    for (; !repaired; failures++) {
        int32_t genes[4] = {1, 2, 3, 4};
        rng r;
        rng_seed(&r, 3);
        evocc_space *space = space_of(far);
        mem_fail_after(failures);
        repaired = space_repair(space, &r, genes);
        mem_fail_after(-1);
        assert_string_equal(text_of(space, genes),
                            repaired ? "a=9 b=9 c=9 d=9" : "a=2 b=3 c=4 d=5");
        assert_true(failures < 100);
        space_free(space);
    }
    assert_true(failures > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),  cmocka_unit_test(test_copy), cmocka_unit_test(test_retry),
        cmocka_unit_test(test_sample), cmocka_unit_test(test_text), cmocka_unit_test(test_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
