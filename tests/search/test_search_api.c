/* The public functions of evocc.h, section "Search": they add nothing but checks, so that what is
   tested is the mapping: each option reaches the engine, each fact comes back in the caller's
   terms. */
#include "support.h"

#include <stdlib.h>

typedef struct log {
    const evocc_space *space;
    uint64_t hash;
    size_t calls, cancel_at;
} log_book;

static evocc_outcome evaluate(void *context, double *values, const evocc_trial *trial)
{
    log_book *book = context;
    book->calls++;
    if (book->cancel_at > 0 && book->calls == book->cancel_at) {
        return EVOCC_OUTCOME_CANCELLED;
    }
    book->hash = hash64(trial->genes, 4 * sizeof *trial->genes, book->hash);
    values[0] = 0;
    for (size_t i = 0; i < 4; i++) {
        values[0] -= abs(gene_value(trial->genes, i) - 5);
    }
    values[1] = gene_value(trial->genes, 0);
    return gene_value(trial->genes, 3) == 0 && trial->id > 0 ? EVOCC_OUTCOME_RUN_TIMEOUT
                                                             : EVOCC_OUTCOME_OK;
}

static const evocc_objective objectives[] = {{.name = "score", .maximize = true}, {.name = "size"}};

static evocc_search *new_search(const evocc_space *space, evocc_search_options *options)
{
    options->objectives = objectives;
    options->objective_count = 2;
    evocc_search *search;
    evocc_error error;
    assert_status(evocc_search_new(&search, space, options, &error), EVOCC_OK, &error);
    return search;
}

static void test_run_and_read(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 11);
    evocc_search_options options = EVOCC_SEARCH_OPTIONS;
    evocc_search *search = new_search(space, &options);
    log_book book = {.space = space};
    evocc_error error;
    assert_status(evocc_search_run(search, evaluate, &book, &error), EVOCC_OK, &error);
    assert_int_equal(book.calls, 488);
    evocc_progress progress;
    evocc_search_get_progress(&progress, search);
    assert_int_equal(progress.told, 488);
    assert_int_equal(progress.budget, 488);
    assert_true(progress.valid < 488 && progress.valid > 244);
    size_t count;
    const uint64_t *front = evocc_search_front(search, &count);
    assert_in_range(count, 2, 6); /* at most one per size 0 .. 5 */
    for (size_t i = 0; i < count; i++) {
        double values[2];
        assert_status(evocc_search_front_values(values, search, front[i], &error), EVOCC_OK,
                      &error);
        const int32_t *genes = evocc_search_front_genes(search, front[i]);
        double again[2];
        evocc_trial trial = {.id = front[i], .genes = genes};
        evaluate(&book, again, &trial);
        assert_memory_equal(values, again, sizeof values);
    }
    double values[2];
    assert_int_equal(evocc_search_front_values(values, search, 9999, &error), EVOCC_NOT_FOUND);
    double importance[4];
    assert_status(evocc_search_importance(importance, search, 1, &error), EVOCC_OK, &error);
    assert_true(importance[0] > 0.9); /* the size is the first control */
    assert_int_equal(evocc_search_importance(importance, search, 2, &error),
                     EVOCC_INVALID_ARGUMENT);
    evocc_search_free(search);
    evocc_space_free(space);
}

static void test_cancelled_run_goes_on_where_it_was(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 11);
    uint64_t hashes[2];
    for (size_t i = 0; i < 2; i++) {
        evocc_search_options options = EVOCC_SEARCH_OPTIONS;
        evocc_search *search = new_search(space, &options);
        log_book book = {.space = space, .cancel_at = i == 0 ? 0 : 100};
        evocc_error error;
        evocc_status status = evocc_search_run(search, evaluate, &book, &error);
        if (i == 1) {
            assert_int_equal(status, EVOCC_INTERRUPTED);
            status = evocc_search_run(search, evaluate, &book, &error);
        }
        assert_status(status, EVOCC_OK, &error);
        hashes[i] = book.hash;
        evocc_search_free(search);
    }
    assert_int_equal(hashes[0], hashes[1]);
    evocc_space_free(space);
}

static bool small(void *context, const int32_t *genes)
{
    (void)context;
    return gene_value(genes, 0) < 4;
}

static void test_options_reach_the_engine(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 11);
    int32_t row[] = {3, 1, 1, 1};
    const int32_t *seeds[] = {row};
    evocc_search_options options = EVOCC_SEARCH_OPTIONS;
    options.pool_size = 8;
    options.cull_size = 4;
    options.generations = 3;
    options.seed = 5;
    options.seeds = seeds;
    options.seed_count = 1;
    options.allowed = small;
    options.repeat_share = 0.5;
    evocc_search *search = new_search(space, &options);
    evocc_progress progress;
    evocc_search_get_progress(&progress, search);
    assert_int_equal(progress.budget, 16);
    evocc_trial trial;
    evocc_error error;
    size_t repeats = 0;
    while (evocc_search_ask(&trial, search, &error) == EVOCC_OK) {
        assert_true(small(NULL, trial.genes));
        if (trial.id == 1) {
            assert_memory_equal(trial.genes, row, sizeof row);
        }
        repeats += trial.repeat_of != EVOCC_NO_TRIAL ? 1 : 0;
        double values[] = {(double)trial.id, 1};
        assert_status(evocc_search_tell(search, trial.id, EVOCC_OUTCOME_OK, values, &error),
                      EVOCC_OK, &error);
    }
    assert_true(repeats > 0);
    evocc_search_free(search);
    options.lag = 2;
    options.max_trials = 11;
    search = new_search(space, &options);
    for (size_t i = 0; i < 8; i++) {
        assert_status(evocc_search_ask(&trial, search, &error), EVOCC_OK, &error);
    }
    assert_int_equal(evocc_search_ask(&trial, search, &error), EVOCC_WAIT);
    log_book book = {.space = space};
    assert_status(evocc_search_run(search, evaluate, &book, &error), EVOCC_OK, &error);
    assert_int_equal(book.calls, 11);
    evocc_search_free(search);
    evocc_space_free(space);
}

/* What a program compiled against another version of the header passes. */
static void test_shorter_and_longer_options(void **state)
{
    (void)state;
    evocc_space *space = integer_space(4, 11);
    struct {
        evocc_search_options options;
        uint64_t future;
    } newer = {.options = EVOCC_SEARCH_OPTIONS};
    evocc_search *search;
    evocc_error error;
    newer.options.objectives = objectives;
    newer.options.objective_count = 2;
    newer.options.struct_size = sizeof newer;
    assert_status(evocc_search_new(&search, space, &newer.options, &error), EVOCC_OK, &error);
    evocc_search_free(search);
    newer.future = 1;
    assert_int_equal(evocc_search_new(&search, space, &newer.options, &error), EVOCC_UNSUPPORTED);
    assert_null(search);
    evocc_search_options older = newer.options;
    older.struct_size = offsetof(evocc_search_options, seed);
    older.generations = 2;
    older.max_trials = 7; /* beyond its size: not there */
    assert_status(evocc_search_new(&search, space, &older, &error), EVOCC_OK, &error);
    evocc_progress progress;
    evocc_search_get_progress(&progress, search);
    assert_int_equal(progress.budget, 56);
    evocc_search_free(search);
    older.struct_size = 0;
    assert_int_equal(evocc_search_new(&search, space, &older, &error), EVOCC_INVALID_ARGUMENT);
    evocc_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_and_read),
        cmocka_unit_test(test_cancelled_run_goes_on_where_it_was),
        cmocka_unit_test(test_options_reach_the_engine),
        cmocka_unit_test(test_shorter_and_longer_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
