/* search.h by its promises: what is asked, in which order, and that nothing depends on more than
   the seed and the answers. */
#include "support.h"

#include "search/seen.h"

#include <math.h>
#include <stdlib.h>

/* A smooth bowl with its bottom at 7 in every gene. */
static double bowl(const int32_t *genes, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = gene_value(genes, i) - 7;
        sum += d * d;
    }
    return sum;
}

#define GOLDEN_TRACE UINT64_C(0x71ac60c3daf28ba3)
#define GOLDEN_FINGERPRINT UINT64_C(0x78236b169270c688)

static evocc_status ask(search_candidate *out, evocc_search *search)
{
    evocc_error error;
    evocc_status status = search_ask(out, search, &error);
    if (status != EVOCC_OK) {
        assert_int_equal(status, error.status);
        assert_true(error.message[0] != '\0');
    }
    return status;
}

static void tell(evocc_search *search, uint64_t id, double value)
{
    evocc_error error;
    assert_status(search_tell(search, id, EVOCC_OUTCOME_OK, &value, &error), EVOCC_OK, &error);
}

/* Asks and tells one by one until asking fails; the hash of everything asked. */
static uint64_t trace(evocc_search *search, size_t count, evocc_status *end)
{
    uint64_t hash = 0;
    search_candidate c;
    while ((*end = ask(&c, search)) == EVOCC_OK) {
        hash = hash64(c.genes, count * sizeof *c.genes, hash);
        tell(search, c.id, bowl(c.genes, count));
    }
    return hash;
}

static void test_defaults_make_488_trials(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *search = search_over(space, 1, 1, 0);
    evocc_status end;
    trace(search, 6, &end);
    assert_int_equal(end, EVOCC_DONE);
    search_progress progress;
    search_get_progress(&progress, search);
    assert_int_equal(progress.asked, 488);
    assert_int_equal(progress.told, 488);
    assert_int_equal(progress.valid, 488);
    assert_int_equal(progress.budget, 488);
    assert_int_equal(progress.generation, 19);
    search_free(search);
    space_free(space);
}

static void test_baseline_comes_first_and_ids_count_up(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *search = search_over(space, 1, 1, 0);
    search_candidate c;
    for (uint64_t id = 0; id < 32; id++) {
        assert_int_equal(ask(&c, search), EVOCC_OK);
        assert_int_equal(c.id, id);
        assert_int_equal(c.generation, 0);
        for (size_t i = 0; id == 0 && i < 6; i++) {
            assert_int_equal(c.genes[i], SPACE_ABSENT);
        }
    }
    assert_int_equal(ask(&c, search), EVOCC_WAIT);
    search_free(search);
    space_free(space);
}

static void test_same_seed_same_questions(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    uint64_t traces[3];
    for (int i = 0; i < 3; i++) {
        evocc_search *search = search_over(space, 1, i == 2 ? 5 : 4, 0);
        evocc_status end;
        traces[i] = trace(search, 6, &end);
        search_free(search);
    }
    assert_int_equal(traces[0], traces[1]);
    assert_int_not_equal(traces[0], traces[2]);
    space_free(space);
}

/* The very trace: the same with every compiler, optimisation level and machine. A change of the
   engine or of the sampling of spaces changes it on purpose; then, and only then, the numbers here
   follow. */
static void test_trace_is_the_same_everywhere(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *one = search_over(space, 1, 4, 0);
    evocc_status end;
    uint64_t hash = trace(one, 6, &end);
    search_free(one);
    evocc_search *three = search_over(space, 3, 4, 0);
    search_candidate c;
    evocc_error error;
    while (ask(&c, three) == EVOCC_OK) {
        double values[] = {bowl(c.genes, 6), bowl(c.genes, 2) * -0.1, bowl(c.genes, 4) / 7};
        assert_status(search_tell(three, c.id, EVOCC_OUTCOME_OK, values, &error), EVOCC_OK, &error);
    }
    uint64_t print = search_fingerprint(three);
    search_free(three);
    space_free(space);
    assert_int_equal(hash, GOLDEN_TRACE);
    assert_int_equal(print, GOLDEN_FINGERPRINT);
}

/* Tells each generation in another order; the questions must not notice. */
static uint64_t trace_in_order(const evocc_space *space, size_t objectives, int order)
{
    evocc_search *search = search_over(space, objectives, 9, 0);
    uint64_t hash = 0;
    static double values[64][2];
    uint64_t ids[64];
    size_t waiting = 0;
    search_candidate c;
    evocc_error error;
    evocc_status status;
    while ((status = ask(&c, search)) == EVOCC_OK || status == EVOCC_WAIT) {
        if (status == EVOCC_OK) {
            hash = hash64(c.genes, 6 * sizeof *c.genes, hash);
            values[waiting][0] = bowl(c.genes, 6);
            values[waiting][1] = 100 - bowl(c.genes, 3);
            ids[waiting++] = c.id;
            continue;
        }
        for (size_t i = 0; i < waiting; i++) {
            size_t k = order == 0 ? i : order == 1 ? waiting - 1 - i : (i * 5 + 3) % waiting;
            assert_status(search_tell(search, ids[k], EVOCC_OUTCOME_OK, values[k], &error),
                          EVOCC_OK, &error);
        }
        waiting = 0;
    }
    hash ^= search_fingerprint(search);
    search_free(search);
    return hash;
}

static void test_order_of_tells_does_not_matter(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    for (size_t objectives = 1; objectives <= 2; objectives++) {
        uint64_t forward = trace_in_order(space, objectives, 0);
        assert_int_equal(forward, trace_in_order(space, objectives, 1));
        assert_int_equal(forward, trace_in_order(space, objectives, 2));
    }
    space_free(space);
}

static void test_no_candidate_twice(void **state)
{
    (void)state;
    evocc_space *space = integer_space(5, 12);
    evocc_search *search = search_over(space, 1, 3, 420);
    seen asked = {0};
    search_candidate c;
    evocc_error error;
    size_t count = 0;
    for (; ask(&c, search) == EVOCC_OK; count++) {
        hash128 hash = hash128_of(c.genes, 5 * sizeof *c.genes, 0);
        assert_false(seen_has(&asked, hash));
        assert_true(seen_reserve(&asked));
        seen_add(&asked, hash);
        assert_status(space_check(space, c.genes, &error), EVOCC_OK, &error);
        tell(search, c.id, bowl(c.genes, 5));
    }
    assert_true(count > 10000);
    seen_dispose(&asked);
    search_free(search);
    space_free(space);
}

/* 30 points, one of them the baseline: every one is asked, then nothing. */
static void test_small_space_is_asked_completely(void **state)
{
    (void)state;
    evocc_error error;
    evocc_space *space;
    assert_status(space_new(&space, &error), EVOCC_OK, &error);
    int64_t sizes[] = {2, 3, 5};
    for (size_t i = 0; i < 3; i++) {
        char name[] = {(char)('a' + (int)i), '\0'};
        space_control c = {.stage = SPACE_STAGE_DEFINE,
                           .name = name,
                           .kind = SPACE_INT,
                           .high = sizes[i] - 1,
                           .step = 1,
                           .default_index = 1,
                           .parent = SPACE_ABSENT};
        assert_status(space_add(space, &c, &error), EVOCC_OK, &error);
    }
    assert_status(space_finish(space, &error), EVOCC_OK, &error);
    for (uint64_t seed = 0; seed < 50; seed++) {
        evocc_search *search = search_over(space, 1, seed, 0);
        bool asked[30] = {false};
        evocc_status end;
        size_t count = 0;
        search_candidate c;
        for (; (end = ask(&c, search)) == EVOCC_OK; count++) {
            int64_t code = 0;
            for (size_t i = 0; i < 3; i++) {
                code = code * sizes[i] + (c.genes[i] == SPACE_ABSENT ? 1 : c.genes[i]);
            }
            assert_false(asked[code]);
            asked[code] = true;
            tell(search, c.id, (double)code);
        }
        assert_int_equal(end, EVOCC_EXHAUSTED);
        assert_int_equal(count, 30);
        assert_int_equal(ask(&c, search), EVOCC_EXHAUSTED);
        size_t front_count;
        const uint64_t *front = search_front(search, &front_count);
        assert_int_equal(front_count, 1);
        const int32_t *best = search_front_genes(search, front[0]);
        assert_int_equal(best[0],
                         0); /* code 0: all genes at the value 0, which is not the default */
        search_free(search);
    }
    space_free(space);
}

static void test_empty_space_has_the_baseline_only(void **state)
{
    (void)state;
    evocc_space *space = integer_space(0, 1);
    evocc_search *search = search_over(space, 1, 1, 0);
    search_candidate c;
    assert_int_equal(ask(&c, search), EVOCC_OK);
    assert_int_equal(ask(&c, search), EVOCC_EXHAUSTED);
    search_free(search);
    space_free(space);
}

static bool even_sum(void *context, const int32_t *genes)
{
    (void)context;
    return (gene_value(genes, 0) + gene_value(genes, 1)) % 2 == 0;
}

static void test_filter_is_obeyed_to_the_end(void **state)
{
    (void)state;
    evocc_space *space = integer_space(2, 8);
    search_objective objective = {0};
    search_options options = {
        .seed = 2, .objectives = &objective, .objective_count = 1, .filter = even_sum};
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    search_candidate c;
    size_t count = 0;
    evocc_status end;
    for (; (end = ask(&c, search)) == EVOCC_OK; count++) {
        assert_true(even_sum(NULL, c.genes));
        tell(search, c.id, bowl(c.genes, 2));
    }
    assert_int_equal(end, EVOCC_EXHAUSTED);
    assert_int_equal(count, 32);
    search_free(search);
    space_free(space);
}

static void test_seeds_follow_the_baseline(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 9);
    int32_t rows[][4] = {{1, 2, 3, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}, {8, 8, 8, 8}};
    const int32_t *seeds[] = {rows[0], rows[1], rows[2], rows[3]};
    search_objective objective = {0};
    search_options options = {
        .objectives = &objective, .objective_count = 1, .seeds = seeds, .seed_count = 4};
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    search_candidate c;
    assert_int_equal(ask(&c, search), EVOCC_OK);
    assert_int_equal(ask(&c, search), EVOCC_OK);
    assert_memory_equal(c.genes, rows[0], sizeof rows[0]);
    /* The second is the baseline again, the third a repetition. */
    assert_int_equal(ask(&c, search), EVOCC_OK);
    assert_memory_equal(c.genes, rows[3], sizeof rows[3]);
    search_free(search);
    space_free(space);
}

static void test_wrong_tells_are_refused(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 9);
    evocc_search *search = search_over(space, 1, 1, 0);
    search_candidate c;
    assert_int_equal(ask(&c, search), EVOCC_OK);
    double value = 1;
    evocc_error error;
    assert_int_equal(search_tell(search, 1, EVOCC_OUTCOME_OK, &value, &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_int_equal(search_tell(search, 0, EVOCC_OUTCOME_OK, NULL, &error),
                     EVOCC_INVALID_ARGUMENT);
    tell(search, 0, 1);
    assert_int_equal(search_tell(search, 0, EVOCC_OUTCOME_OK, &value, &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "told before"));
    search_free(search);
    space_free(space);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 9);
    search_objective good = {0};
    search_objective negative = {.weight = -1};
    search_options wrong[] = {
        {.objectives = &good, .objective_count = 0},
        {.objectives = &good, .objective_count = 17},
        {.objectives = &good, .objective_count = 1, .mutate_rate = -0.5},
        {.objectives = &good, .objective_count = 1, .mutate_rate = (double)NAN},
        {.objectives = &good, .objective_count = 1, .pool_size = 1},
        {.objectives = &negative, .objective_count = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        evocc_search *search = NULL;
        evocc_error error;
        assert_int_equal(search_new(&search, space, &wrong[i], &error), EVOCC_INVALID_ARGUMENT);
        assert_null(search);
    }
    space_free(space);
}

/* Half of the space fails or answers with something that is no number. */
static void test_invalid_trials_never_breed_nor_win(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *search = search_over(space, 1, 8, 0);
    search_candidate c;
    evocc_error error;
    size_t bad_late = 0;
    while (ask(&c, search) == EVOCC_OK) {
        double value = bowl(c.genes, 6);
        evocc_outcome outcome = EVOCC_OUTCOME_OK;
        if (gene_value(c.genes, 0) >= 8) {
            double strange[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -1000};
            value = strange[c.id % 4];
            outcome = c.id % 4 == 3 ? EVOCC_OUTCOME_WRONG_OUTPUT : EVOCC_OUTCOME_OK;
            bad_late += c.generation >= 10 ? 1 : 0;
        }
        assert_status(search_tell(search, c.id, outcome, &value, &error), EVOCC_OK, &error);
    }
    size_t count;
    const uint64_t *front = search_front(search, &count);
    assert_int_equal(count, 1);
    assert_true(gene_value(search_front_genes(search, front[0]), 0) < 8);
    assert_null(search_front_genes(search, front[0] + 1));
    /* If they bred, about half of the 240 late trials would be bad; mutation alone makes fewer. */
    assert_in_range(bad_late, 0, 80);
    search_free(search);
    space_free(space);
}

/* A study that was cut off at any trial and asked again from the start ends where it would have. */
static void test_resume_by_replay(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *unbroken = search_over(space, 2, 11, 6);
    double answers[200][2];
    search_candidate c;
    evocc_error error;
    while (ask(&c, unbroken) == EVOCC_OK) {
        answers[c.id][0] = bowl(c.genes, 6);
        answers[c.id][1] = -bowl(c.genes, 2);
        assert_status(search_tell(unbroken, c.id, EVOCC_OUTCOME_OK, answers[c.id], &error),
                      EVOCC_OK, &error);
    }
    evocc_search *resumed = search_over(space, 2, 11, 6);
    uint64_t last = 0;
    while (ask(&c, resumed) == EVOCC_OK) {
        last = c.id;
        assert_status(search_tell(resumed, c.id, EVOCC_OUTCOME_OK, answers[c.id], &error), EVOCC_OK,
                      &error);
    }
    assert_int_equal(last, 32 + 24 * 5 - 1);
    assert_int_equal(search_fingerprint(unbroken), search_fingerprint(resumed));
    search_free(unbroken);
    search_free(resumed);
    space_free(space);
}

static void test_maximizing_is_minimizing_the_negative(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_objective up = {.maximize = true};
    search_options options = {.seed = 4, .objectives = &up, .objective_count = 1};
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    uint64_t hash = 0;
    search_candidate c;
    while (ask(&c, search) == EVOCC_OK) {
        hash = hash64(c.genes, 6 * sizeof *c.genes, hash);
        tell(search, c.id, -bowl(c.genes, 6));
    }
    search_free(search);
    evocc_search *down = search_over(space, 1, 4, 0);
    evocc_status end;
    assert_int_equal(hash, trace(down, 6, &end));
    search_free(down);
    space_free(space);
}

/* The best may be at most 50 in the second metric: the unconstrained best is not. */
static void test_limits_hold(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 16);
    search_objective objectives[] = {{0}, {.maximize = true, .limited = true, .limit = -50}};
    search_options options = {.seed = 4, .objectives = objectives, .objective_count = 2};
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    double seconds[600];
    search_candidate c;
    while (ask(&c, search) == EVOCC_OK) {
        seconds[c.id] = 0;
        for (size_t i = 0; i < 4; i++) {
            double d = gene_value(c.genes, i) - 15;
            seconds[c.id] -= d * d;
        }
        double values[] = {bowl(c.genes, 4), seconds[c.id]};
        assert_status(search_tell(search, c.id, EVOCC_OUTCOME_OK, values, &error), EVOCC_OK,
                      &error);
    }
    size_t count;
    const uint64_t *front = search_front(search, &count);
    assert_true(count >= 3);
    for (size_t i = 0; i < count; i++) {
        assert_true(seconds[front[i]] >= -50);
        assert_true(i == 0 || front[i - 1] < front[i]);
    }
    search_free(search);
    space_free(space);
}

/* The nth allocation fails, for every n: the call says so, changes nothing, and works when
 * repeated. */
static void test_allocation_failures(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    evocc_search *reference = search_over(space, 2, 6, 4);
    search_candidate c;
    evocc_error error;
    while (ask(&c, reference) == EVOCC_OK) {
        double values[] = {bowl(c.genes, 6), -bowl(c.genes, 3)};
        assert_status(search_tell(reference, c.id, EVOCC_OUTCOME_OK, values, &error), EVOCC_OK,
                      &error);
    }
    static const search_objective objectives[2];
    search_options options = {
        .seed = 6, .generations = 4, .objectives = objectives, .objective_count = 2};
    size_t failures = 0;
    evocc_search *search = NULL;
    for (long n = 0; search == NULL; n++) {
        mem_fail_after(n);
        evocc_status status = search_new(&search, space, &options, &error);
        mem_fail_after(-1);
        assert_true(status == EVOCC_OK ? search != NULL : status == EVOCC_NO_MEMORY);
        failures += status == EVOCC_OK ? 0 : 1;
    }
    assert_in_range(failures, 10, 100);
    for (;;) {
        mem_fail_after(0);
        evocc_status status = search_ask(&c, search, &error);
        mem_fail_after(-1);
        if (status == EVOCC_NO_MEMORY) {
            failures++;
            status = search_ask(&c, search, &error);
        }
        if (status != EVOCC_OK) {
            assert_int_equal(status, EVOCC_DONE);
            break;
        }
        double values[] = {bowl(c.genes, 6), -bowl(c.genes, 3)};
        for (long n = 0;; n++) {
            mem_fail_after(n);
            status = search_tell(search, c.id, EVOCC_OUTCOME_OK, values, &error);
            mem_fail_after(-1);
            if (status == EVOCC_OK) {
                break;
            }
            assert_int_equal(status, EVOCC_NO_MEMORY);
            failures++;
        }
    }
    assert_true(failures > 40);
    assert_int_equal(search_fingerprint(search), search_fingerprint(reference));
    search_free(search);
    search_free(reference);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_make_488_trials),
        cmocka_unit_test(test_baseline_comes_first_and_ids_count_up),
        cmocka_unit_test(test_same_seed_same_questions),
        cmocka_unit_test(test_trace_is_the_same_everywhere),
        cmocka_unit_test(test_order_of_tells_does_not_matter),
        cmocka_unit_test(test_no_candidate_twice),
        cmocka_unit_test(test_small_space_is_asked_completely),
        cmocka_unit_test(test_empty_space_has_the_baseline_only),
        cmocka_unit_test(test_filter_is_obeyed_to_the_end),
        cmocka_unit_test(test_seeds_follow_the_baseline),
        cmocka_unit_test(test_wrong_tells_are_refused),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_invalid_trials_never_breed_nor_win),
        cmocka_unit_test(test_resume_by_replay),
        cmocka_unit_test(test_maximizing_is_minimizing_the_negative),
        cmocka_unit_test(test_limits_hold),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
