/* What a search can be asked for beyond the defaults: a lag, repetitions, stop rules, limits,
   another survival, the prescreen; and what it tells about controls. */
#include "support.h"

#include "search/hypervolume.h"
#include "search/internal.h"

#include <math.h>

static double distance_to(const int32_t *genes, size_t first, size_t count, double goal)
{
    double sum = 0;
    for (size_t i = first; i < first + count; i++) {
        double d = gene_value(genes, i) - goal;
        sum += d * d;
    }
    return sum;
}

static evocc_search *search_with(const evocc_space *space, const search_options *options)
{
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, options, &error), EVOCC_OK, &error);
    return search;
}

static void tell(evocc_search *search, uint64_t id, const double *values)
{
    evocc_error error;
    assert_status(search_tell(search, id, EVOCC_OUTCOME_OK, values, &error), EVOCC_OK, &error);
}

static const search_objective plain[16];

/* Keeps up to `workers` questions open, and answers the oldest, the newest or one between. */
static uint64_t trace_with_workers(const evocc_space *space, size_t lag, size_t workers, int order)
{
    search_options options = {
        .seed = 3, .lag = lag, .generations = 12, .objectives = plain, .objective_count = 2};
    evocc_search *search = search_with(space, &options);
    uint64_t hash = 0;
    uint64_t ids[64];
    double values[64][2];
    size_t open = 0;
    size_t asked = 0;
    for (;;) {
        search_candidate c;
        evocc_error error;
        evocc_status status = open < workers ? search_ask(&c, search, &error) : EVOCC_WAIT;
        if (status == EVOCC_OK) {
            hash = hash64(c.genes, 6 * sizeof *c.genes, hash);
            ids[open] = c.id;
            values[open][0] = distance_to(c.genes, 0, 6, 7);
            values[open++][1] = distance_to(c.genes, 0, 3, 2);
            asked++;
            continue;
        }
        if (open == 0) {
            assert_int_equal(status, EVOCC_DONE);
            break;
        }
        size_t k = order == 0 ? 0 : order == 1 ? open - 1 : (size_t)(hash % open);
        tell(search, ids[k], values[k]);
        ids[k] = ids[--open];
        values[k][0] = values[open][0];
        values[k][1] = values[open][1];
    }
    assert_int_equal(asked, 32 + 11 * 24);
    hash ^= search_fingerprint(search);
    search_free(search);
    return hash;
}

static void test_lag_makes_questions_independent_of_workers(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    static const size_t lags[] = {1, 5, 32, 50};
    uint64_t traces[4];
    for (size_t i = 0; i < 4; i++) {
        traces[i] = trace_with_workers(space, lags[i], 1, 0);
        for (size_t workers = 1; workers <= lags[i]; workers += 6) {
            for (int order = 0; order < 3; order++) {
                assert_int_equal(trace_with_workers(space, lags[i], workers, order), traces[i]);
            }
        }
    }
    assert_int_not_equal(traces[0], traces[1]);
    assert_int_not_equal(traces[1], traces[2]);
    space_free(space);
}

static void test_lag_waits_exactly_when_it_must(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_options options = {.lag = 4, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    for (size_t i = 0; i < 32; i++) { /* the first pool depends on nothing */
        assert_status(search_ask(&c, search, &error), EVOCC_OK, &error);
    }
    double value = 1;
    for (uint64_t id = 0; id <= 28; id++) {
        assert_int_equal(search_ask(&c, search, &error), EVOCC_WAIT);
        tell(search, id, &value);
    }
    assert_status(search_ask(&c, search, &error), EVOCC_OK, &error);
    assert_int_equal(c.id, 32);
    assert_int_equal(search_ask(&c, search, &error), EVOCC_WAIT); /* 33 needs 29 */
    tell(search, 30, &value);
    assert_int_equal(search_ask(&c, search, &error), EVOCC_WAIT);
    tell(search, 29, &value);
    assert_status(search_ask(&c, search, &error), EVOCC_OK, &error);
    search_free(search);
    space_free(space);
}

/* A metric with a spread of 30 %: with repetitions the value of the best comes near to its mean. */
static double best_estimate(double repeat_share, uint64_t seed, size_t *repeats)
{
    evocc_space *space = integer_space(4, 8);
    search_options options = {
        .seed = seed, .repeat_share = repeat_share, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    rng noise;
    rng_seed(&noise, seed + 100);
    search_candidate c;
    evocc_error error;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = (100 + distance_to(c.genes, 0, 4, 5)) * exp(rng_unit(&noise) - 0.5);
        if (c.repeat_of != SEARCH_NONE) {
            assert_true(c.repeat_of < c.id);
            (*repeats)++;
        }
        tell(search, c.id, &value);
    }
    double best = search->archive.entries[0]->as.values[0];
    /* The front follows the means, not the luckiest answers. */
    const individual *member = search->pool.members.items[0];
    assert_true(best <= member->values[0]);
    assert_true(member->id != search->archive.entries[0]->as.id || best >= member->values[0]);
    search_free(search);
    space_free(space);
    return best;
}

static void test_repetitions_average_noise_away(void **state)
{
    (void)state;
    double single = 0;
    double averaged = 0;
    size_t none = 0;
    size_t repeats = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        single += best_estimate(0, seed, &none) / 5;
        averaged += best_estimate(0.3, seed, &repeats) / 5;
    }
    assert_int_equal(none, 0);
    assert_in_range(repeats, 5 * 60, 5 * 180);
    /* 100 is the mean of the best; single answers end with the luckiest draw of hundreds, repeated
       ones with the luckiest of the last generation, which nothing has repeated yet. */
    assert_true(single < 66);
    assert_true(averaged > single + 3);
}

static void test_repetitions_are_deterministic(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    uint64_t prints[2];
    for (int round = 0; round < 2; round++) {
        search_options options = {
            .seed = 5, .repeat_share = 0.2, .objectives = plain, .objective_count = 2};
        evocc_search *search = search_with(space, &options);
        double values[64][2];
        uint64_t ids[64];
        size_t open = 0;
        search_candidate c;
        evocc_error error;
        evocc_status status;
        while ((status = search_ask(&c, search, &error)) == EVOCC_OK || status == EVOCC_WAIT) {
            if (status == EVOCC_OK) {
                values[open][0] = 1 + distance_to(c.genes, 0, 6, 7) + (double)(c.id % 7);
                values[open][1] = 1 + distance_to(c.genes, 0, 3, 2) + (double)(c.id % 5);
                ids[open++] = c.id;
            }
            while (status == EVOCC_WAIT && open > 0) {
                size_t k = round == 0 ? open - 1 : 0;
                tell(search, ids[k], values[k]);
                open--;
                for (size_t i = k; i < open && round == 1; i++) {
                    ids[i] = ids[i + 1];
                    memcpy(values[i], values[i + 1], sizeof values[i]);
                }
            }
        }
        prints[round] = search_fingerprint(search);
        /* The archive still holds exactly the non-dominated of what it holds. */
        size_t count;
        search_front(search, &count);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++) {
                assert_true(i == j || !individual_dominates(&search->archive.entries[i]->as,
                                                            &search->archive.entries[j]->as, 2));
            }
        }
        search_free(search);
    }
    assert_int_equal(prints[0], prints[1]);
    space_free(space);
}

static uint64_t run_until_done(const evocc_space *space, const search_options *options,
                               const char *why)
{
    evocc_search *search = search_with(space, options);
    search_candidate c;
    evocc_error error;
    evocc_status status;
    while ((status = search_ask(&c, search, &error)) == EVOCC_OK) {
        double value = distance_to(c.genes, 0, 6, 7);
        tell(search, c.id, &value);
    }
    assert_int_equal(status, EVOCC_DONE);
    assert_non_null(strstr(error.message, why));
    assert_int_equal(search_ask(&c, search, &error), EVOCC_DONE); /* and stays so */
    search_progress progress;
    search_get_progress(&progress, search);
    search_free(search);
    return progress.asked;
}

static void test_stop_rules(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_objective target = {.has_target = true, .target = 20};
    search_options trials = {.max_trials = 45, .objectives = plain, .objective_count = 1};
    search_options reached = {.objectives = &target, .objective_count = 1};
    search_options stale = {
        .stale_generations = 3, .generations = 1000, .objectives = plain, .objective_count = 1};
    search_options reached_async = reached;
    reached_async.lag = 1;
    assert_int_equal(run_until_done(space, &trials, "45 trials"), 45);
    uint64_t asked = run_until_done(space, &reached, "target");
    assert_true(asked < 488 && (asked - 32) % 24 == 0);
    assert_true(run_until_done(space, &reached_async, "target") < 488);
    assert_in_range(run_until_done(space, &stale, "3 generations"), 32 + 3 * 24, 5000);
    space_free(space);
}

/* A metric that only must stay below a limit takes no part in the ranking. */
static void test_limit_only(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_objective objectives[] = {{.limited = true, .limit_only = true, .limit = 40},
                                     {.maximize = false}};
    search_options options = {.seed = 2, .objectives = objectives, .objective_count = 2};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    double best = 1e9;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double values[] = {distance_to(c.genes, 0, 6, 3), distance_to(c.genes, 0, 6, 7)};
        if (values[0] <= 40 && values[1] < best) {
            best = values[1];
        }
        tell(search, c.id, values);
    }
    size_t count;
    const uint64_t *front = search_front(search, &count);
    assert_int_equal(count, 1);
    const int32_t *genes = search_front_genes(search, front[0]);
    assert_true(distance_to(genes, 0, 6, 3) <= 40);
    assert_true(distance_to(genes, 0, 6, 7) <= best);
    assert_true(best < 30); /* within the limit 18 is possible; the corner without it is 0 */
    search_free(search);
    space_free(space);
}

static void test_sixteen_objectives(void **state)
{
    (void)state;
    evocc_space *space = integer_space(16, 8);
    search_options options = {.seed = 2, .objectives = plain, .objective_count = 16};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    size_t asked = 0;
    for (; search_ask(&c, search, &error) == EVOCC_OK; asked++) {
        double values[16];
        for (size_t i = 0; i < 16; i++) {
            values[i] = gene_value(c.genes, i) + 0.1 * distance_to(c.genes, 0, 16, 3);
        }
        tell(search, c.id, values);
    }
    assert_int_equal(asked, 488);
    size_t count;
    search_front(search, &count);
    assert_true(count > 20);
    search_free(search);
    options.survival = SEARCH_HYPERVOLUME;
    assert_int_equal(search_new(&search, space, &options, &error), EVOCC_UNSUPPORTED);
    space_free(space);
}

/* The volume by counting cells of a grid whose coordinates are integers. */
static void test_hypervolume_equals_counting(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 9);
    for (int round = 0; round < 400; round++) {
        size_t m = 2 + (size_t)rng_below(&r, 3);
        size_t count = (size_t)rng_below(&r, 20);
        double points[20 * 4];
        for (size_t i = 0; i < count * m; i++) {
            points[i] = (double)rng_below(&r, 9); /* 7 and 8 lie beyond the reference */
        }
        double reference[4] = {7, 7, 7, 7};
        size_t cells = 1;
        for (size_t k = 0; k < m; k++) {
            cells *= 7;
        }
        size_t inside = 0;
        for (size_t cell = 0; cell < cells; cell++) {
            bool covered = false;
            for (size_t i = 0; i < count && !covered; i++) {
                size_t code = cell;
                covered = true;
                for (size_t k = 0; k < m; k++) {
                    covered = covered && points[i * m + k] <= (double)(code % 7);
                    code /= 7;
                }
            }
            inside += covered ? 1 : 0;
        }
        size_t scratch[20 * 5];
        assert_true(hypervolume_scratch(count, m) <= sizeof scratch / sizeof *scratch);
        assert_true(fabs(hypervolume(points, count, m, reference, scratch) - (double)inside) <
                    1e-9);
    }
}

static double front_volume(search_survival survival, double *diversity)
{
    evocc_space *space = integer_space(8, 16);
    search_options options = {
        .seed = 2, .survival = survival, .objectives = plain, .objective_count = 2};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double values[] = {distance_to(c.genes, 0, 8, 2), distance_to(c.genes, 0, 8, 13)};
        tell(search, c.id, values);
    }
    double reference[] = {1000, 1000};
    double volume;
    assert_status(search_front_hypervolume(&volume, search, reference, &error), EVOCC_OK, &error);
    search_progress progress;
    search_get_progress(&progress, search);
    *diversity = progress.diversity;
    search_free(search);
    space_free(space);
    return volume;
}

static void test_both_survivals_approach_the_front(void **state)
{
    (void)state;
    /* Each gene adds (x-2)^2 and (x-13)^2: from (0, 968) to (968, 0); the continuous front
       dominates about 840,000 of the million. */
    for (search_survival s = SEARCH_NSGA3; s <= SEARCH_HYPERVOLUME; s++) {
        double diversity;
        double volume = front_volume(s, &diversity);
        assert_true(volume > 600000 && volume < 850000);
        assert_true(diversity > 0.05 && diversity < 1);
    }
}

/* The first gene does almost everything, the second something, the others nothing. */
static void test_importance(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 8);
    search_options options = {.seed = 2, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    double importance[6];
    search_importance(importance, search, 0);
    for (size_t i = 0; i < 6; i++) {
        assert_true(importance[i] >= 0 && importance[i] <= 0);
    }
    search_candidate c;
    evocc_error error;
    rng noise;
    rng_seed(&noise, 1);
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = 10 + 5 * gene_value(c.genes, 0) + gene_value(c.genes, 1) + rng_unit(&noise);
        tell(search, c.id, &value);
    }
    search_importance(importance, search, 0);
    assert_true(importance[0] > 0.6);
    assert_true(importance[1] < importance[0]);
    for (size_t i = 2; i < 6; i++) {
        assert_true(importance[i] < importance[0] / 2);
    }
    search_free(search);
    space_free(space);
}

/* Only 5 % of the space is valid: the first pool goes on until a fifth of it is, and the search
   still finds what is good there. */
static void test_mostly_invalid_space(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 20);
    search_options options = {.seed = 4, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    double best = 1e9;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = distance_to(c.genes, 0, 6, 9);
        bool ok = gene_value(c.genes, 0) == 9;
        best = ok && value < best ? value : best;
        assert_status(search_tell(search, c.id,
                                  ok ? EVOCC_OUTCOME_OK : EVOCC_OUTCOME_COMPILE_FAILED, &value,
                                  &error),
                      EVOCC_OK, &error);
    }
    search_progress progress;
    search_get_progress(&progress, search);
    assert_true(progress.valid > 150); /* 24 of 488 at random */
    assert_true(best < 20);
    search_free(search);
    space_free(space);
}

static void test_all_invalid_ends_like_any_other(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 20);
    search_options options = {.seed = 4, .objectives = plain, .objective_count = 2};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    size_t asked = 0;
    for (; search_ask(&c, search, &error) == EVOCC_OK; asked++) {
        assert_status(search_tell(search, c.id, EVOCC_OUTCOME_GPU_FAULT, NULL, &error), EVOCC_OK,
                      &error);
    }
    assert_int_equal(error.status, EVOCC_DONE);
    assert_int_equal(asked, 488);
    size_t count;
    search_front(search, &count);
    assert_int_equal(count, 0);
    search_free(search);
    space_free(space);
}

/* A broad slope ends at 100; a narrow one, entered only with four genes at 15, at 0. */
static double trap(const int32_t *genes)
{
    bool inside = true;
    for (size_t i = 0; i < 3; i++) {
        inside = inside && gene_value(genes, i) == 15;
    }
    return inside ? distance_to(genes, 3, 3, 4) : 100 + distance_to(genes, 0, 6, 2);
}

/* The baseline is the best there is: a second pool improves on itself for a while, which is nothing
   better and must not put off the rule about stale searches. Nearly all children are known by then;
   new ones must still be found. */
static void test_stale_goes_on_through_a_second_pool(void **state)
{
    (void)state;
    evocc_space *space = integer_space(12, 6);
    evocc_search *search = search_over(space, 1, 3, 60);
    search_candidate c;
    search_progress progress = {0};
    evocc_error error;
    bool restarted = false;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = 0;
        for (size_t i = 0; i < 12; i++) {
            value += gene_value(c.genes, i);
        }
        assert_status(search_tell(search, c.id, EVOCC_OUTCOME_OK, &value, &error), EVOCC_OK,
                      &error);
        search_get_progress(&progress, search);
        restarted = restarted || progress.restarted;
        assert_true(progress.generation < 2 || progress.stale >= progress.generation - 1);
    }
    assert_true(restarted);
    assert_int_equal(progress.told, 32 + 59 * 24);
    search_free(search);
    space_free(space);
}

static void test_stale_pool_gets_a_second_one(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_options options = {
        .seed = 1, .generations = 80, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    bool restarted = false;
    bool joined = false;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = trap(c.genes);
        tell(search, c.id, &value);
        search_progress progress;
        search_get_progress(&progress, search);
        joined = joined || (restarted && !progress.restarted);
        restarted = restarted || progress.restarted;
    }
    assert_true(restarted && joined);
    search_free(search);
    space_free(space);
}

/* With the prescreen the same budget gets nearer to the optimum of a rough, additive landscape. */
static double with_prescreen(bool prescreen, uint64_t seed)
{
    evocc_space *space = integer_space(12, 12);
    search_options options = {.seed = seed,
                              .generations = 12,
                              .prescreen = prescreen,
                              .objectives = plain,
                              .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    double best = 1e9;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double value = 0;
        for (size_t i = 0; i < 12; i++) {
            uint64_t key[] = {i, (uint64_t)gene_value(c.genes, i)};
            value += (double)(hash64(key, sizeof key, 1) % 1000) * (double)(i + 1);
        }
        best = value < best ? value : best;
        tell(search, c.id, &value);
    }
    search_free(search);
    space_free(space);
    return best;
}

static void test_prescreen_helps_where_it_can(void **state)
{
    (void)state;
    double with = 0;
    double without = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        with += with_prescreen(true, seed);
        without += with_prescreen(false, seed);
    }
    assert_true(with < without);
    assert_true(with_prescreen(true, 3) <= with_prescreen(true, 3)); /* and twice the same */
}

static void test_prescreen_retires_when_it_fails(void **state)
{
    (void)state;
    evocc_space *space = integer_space(6, 16);
    search_options options = {.prescreen = true, .objectives = plain, .objective_count = 1};
    evocc_search *search = search_with(space, &options);
    search_candidate c;
    evocc_error error;
    for (size_t i = 0; i < 80; i++) {
        assert_status(search_ask(&c, search, &error), EVOCC_OK, &error);
        double value = distance_to(c.genes, 0, 6, 7);
        tell(search, c.id, &value);
    }
    assert_true(screening_pays(search));
    search->screened_trials = 100;
    search->screened_hits = 10;
    search->unscreened_trials = 30;
    search->unscreened_hits = 4;
    assert_false(screening_pays(search));
    search_free(search);
    space_free(space);
}

/* Any combination of options over any small space, with answers of every kind in any order: never
   the same candidate twice, always an allowed one, the front exact, and an end. */
static void run_random_case(uint64_t seed)
{
    rng r;
    rng_seed(&r, seed);
    size_t genes = 1 + (size_t)rng_below(&r, 7);
    evocc_space *space = integer_space(genes, 1 + (int64_t)rng_below(&r, 9));
    search_objective objectives[5];
    size_t count = 1 + (size_t)rng_below(&r, 5);
    for (size_t i = 0; i < count; i++) {
        objectives[i] = (search_objective){.maximize = rng_chance(&r, 0.5),
                                           .weight = 1 + (double)rng_below(&r, 3),
                                           .limited = rng_chance(&r, 0.3),
                                           .limit = (double)rng_below(&r, 40)};
        objectives[i].limit_only = i > 0 && objectives[i].limited && rng_chance(&r, 0.3);
    }
    search_options options = {.pool_size = 2 + (size_t)rng_below(&r, 40),
                              .cull_size = 1 + (size_t)rng_below(&r, 50),
                              .generations = 1 + (size_t)rng_below(&r, 30),
                              .seed = seed,
                              .lag = rng_chance(&r, 0.5) ? (size_t)rng_below(&r, 60) : 0,
                              .repeat_share = rng_chance(&r, 0.5) ? 0.3 : 0,
                              .prescreen = rng_chance(&r, 0.5),
                              .survival = rng_chance(&r, 0.2) && count < 5 ? SEARCH_HYPERVOLUME
                                                                           : SEARCH_NSGA3,
                              .objectives = objectives,
                              .objective_count = count};
    evocc_search *search = search_with(space, &options);
    double failing = (double)rng_below(&r, 4) / 3;
    seen asked = {0};
    uint64_t open[4200];
    size_t open_count = 0;
    evocc_error error;
    evocc_status status;
    search_candidate c;
    for (;;) {
        status = search_ask(&c, search, &error);
        if (status == EVOCC_OK) {
            hash128 hash = hash128_of(c.genes, genes * sizeof *c.genes, 0);
            assert_int_equal(seen_has(&asked, hash), c.repeat_of != SEARCH_NONE);
            assert_true(seen_reserve(&asked));
            seen_add(&asked, hash);
            open[open_count++] = c.id;
        } else if (open_count == 0) {
            break;
        }
        while (open_count > 0 && (status != EVOCC_OK || rng_chance(&r, 0.3))) {
            size_t k = (size_t)rng_below(&r, open_count);
            double values[5];
            for (size_t i = 0; i < 5; i++) {
                values[i] = (double)rng_below(&r, 50);
            }
            bool fails = rng_chance(&r, failing);
            assert_status(search_tell(search, open[k],
                                      fails ? EVOCC_OUTCOME_UNSTABLE : EVOCC_OUTCOME_OK, values,
                                      &error),
                          EVOCC_OK, &error);
            open[k] = open[--open_count];
        }
    }
    assert_true(status == EVOCC_DONE || status == EVOCC_EXHAUSTED);
    size_t front;
    const uint64_t *ids = search_front(search, &front);
    for (size_t i = 1; i < front; i++) {
        assert_true(ids[i - 1] < ids[i]);
    }
    for (size_t i = 0; i < front * front; i++) {
        const individual *a = &search->archive.entries[i / front]->as;
        const individual *b = &search->archive.entries[i % front]->as;
        assert_true(a == b || !individual_dominates(a, b, search->ranked_count));
    }
    seen_dispose(&asked);
    search_free(search);
    space_free(space);
}

static void test_random_cases(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        run_random_case(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lag_makes_questions_independent_of_workers),
        cmocka_unit_test(test_lag_waits_exactly_when_it_must),
        cmocka_unit_test(test_repetitions_average_noise_away),
        cmocka_unit_test(test_repetitions_are_deterministic),
        cmocka_unit_test(test_stop_rules),
        cmocka_unit_test(test_limit_only),
        cmocka_unit_test(test_sixteen_objectives),
        cmocka_unit_test(test_hypervolume_equals_counting),
        cmocka_unit_test(test_both_survivals_approach_the_front),
        cmocka_unit_test(test_importance),
        cmocka_unit_test(test_mostly_invalid_space),
        cmocka_unit_test(test_all_invalid_ends_like_any_other),
        cmocka_unit_test(test_stale_pool_gets_a_second_one),
        cmocka_unit_test(test_stale_goes_on_through_a_second_pool),
        cmocka_unit_test(test_prescreen_helps_where_it_can),
        cmocka_unit_test(test_prescreen_retires_when_it_fails),
        cmocka_unit_test(test_random_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
