/* The parts of the engine against oracles that are too slow or too simple to ship. */
#include "support.h"

#include "search/archive.h"
#include "search/directions.h"
#include "search/exactmath.h"
#include "search/marginal.h"
#include "search/ranking.h"
#include "search/seen.h"
#include "search/walk.h"

#include <math.h>
#include <stdlib.h>

enum { CROWD = 120 };

typedef struct crowd {
    individual items[CROWD];
    double values[CROWD][4];
    int32_t genes[CROWD][1];
    individual *order[CROWD];
} crowd;

/* Random individuals on a coarse grid, so that ties are common; some outside the limits. */
static void make_crowd(crowd *c, size_t count, size_t objectives, uint64_t grid, rng *r)
{
    for (size_t i = 0; i < count; i++) {
        c->items[i] = (individual){.id = i,
                                   .repeat_of = INDIVIDUAL_NONE,
                                   .genes = c->genes[i],
                                   .values = c->values[i],
                                   .controls = (uint32_t)rng_below(r, 3),
                                   .state = INDIVIDUAL_VALID};
        for (size_t m = 0; m < objectives; m++) {
            c->values[i][m] = (double)rng_below(r, grid);
        }
        c->items[i].violation = rng_chance(r, 0.2) ? (double)rng_below(r, 3) : 0;
        c->order[i] = &c->items[i];
    }
    size_t shuffled[CROWD];
    for (size_t i = 0; i < count; i++) {
        shuffled[i] = i;
    }
    rng_shuffle(r, shuffled, count);
    for (size_t i = 0; i < count; i++) {
        c->order[i] = &c->items[shuffled[i]];
    }
}

/* Domination from its definition, on its own. */
static bool oracle_dominates(const individual *a, const individual *b, size_t objectives)
{
    if (a->violation != b->violation) {
        return a->violation < b->violation;
    }
    size_t less = 0;
    size_t more = 0;
    for (size_t m = 0; m < objectives; m++) {
        less += a->values[m] < b->values[m] ? 1 : 0;
        more += a->values[m] > b->values[m] ? 1 : 0;
    }
    if (less == 0 && more == 0) {
        return a->controls != b->controls ? a->controls < b->controls : a->id < b->id;
    }
    return more == 0;
}

/* Peels front after front. */
static void oracle_fronts(const crowd *c, size_t count, size_t objectives, uint32_t *fronts)
{
    memset(fronts, 0xff, count * sizeof *fronts);
    size_t left = count;
    for (uint32_t front = 0; left > 0; front++) {
        bool peeled[CROWD] = {false};
        for (size_t i = 0; i < count; i++) {
            peeled[i] = fronts[i] == UINT32_MAX;
            for (size_t j = 0; j < count && peeled[i]; j++) {
                peeled[i] = i == j || fronts[j] != UINT32_MAX ||
                            !oracle_dominates(&c->items[j], &c->items[i], objectives);
            }
        }
        for (size_t i = 0; i < count; i++) {
            fronts[i] = peeled[i] ? front : fronts[i];
            left -= peeled[i] ? 1 : 0;
        }
    }
}

static void test_sorting_equals_peeling(void **state)
{
    (void)state;
    static crowd c;
    rng r;
    rng_seed(&r, 1);
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + (size_t)rng_below(&r, CROWD);
        size_t objectives = 1 + (size_t)rng_below(&r, 4);
        make_crowd(&c, count, objectives, round % 2 ? 4 : 1000, &r);
        uint32_t fronts[CROWD];
        oracle_fronts(&c, count, objectives, fronts);
        individual *scratch[CROWD];
        non_dominated_sort(c.order, count, objectives, scratch);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(c.order[i]->front, fronts[c.order[i]->id]);
            assert_true(i == 0 || c.order[i - 1]->front <= c.order[i]->front);
        }
    }
}

static void test_archive_keeps_exactly_the_front(void **state)
{
    (void)state;
    static crowd c;
    rng r;
    rng_seed(&r, 2);
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + (size_t)rng_below(&r, CROWD);
        size_t objectives = 1 + (size_t)rng_below(&r, 4);
        make_crowd(&c, count, objectives, round % 2 ? 4 : 1000, &r);
        archive a = {.gene_count = 1, .objective_count = objectives, .ranked_count = objectives};
        evocc_error error;
        for (size_t i = 0; i < count; i++) {
            assert_status(archive_offer(&a, c.order[i], &error), EVOCC_OK, &error);
        }
        size_t next = 0;
        for (size_t i = 0; i < count; i++) {
            bool wanted = !(c.items[i].violation > 0);
            for (size_t j = 0; j < count && wanted; j++) {
                wanted = i == j || !oracle_dominates(&c.items[j], &c.items[i], objectives);
            }
            assert_int_equal(archive_find(&a, i) != NULL, wanted);
            if (wanted) {
                assert_int_equal(a.ids[next++], i);
            }
        }
        assert_int_equal(next, a.count);
        archive_dispose(&a);
    }
}

/* Survivors of several objectives are never worse than those left out: whole fronts first. */
static void test_nsga3_keeps_the_better_fronts(void **state)
{
    (void)state;
    static crowd c;
    rng r;
    rng_seed(&r, 3);
    for (int round = 0; round < 200; round++) {
        size_t objectives = 2 + (size_t)rng_below(&r, 3);
        make_crowd(&c, 56, objectives, round % 2 ? 4 : 1000, &r);
        double weights[4] = {1, 2, 1, 1};
        ranking_setup setup = {
            .objective_count = objectives, .weights = weights, .survivors = 32, .candidates = 56};
        void *ranking_state;
        evocc_error error;
        assert_status(ranking_nsga3.create(&ranking_state, &setup, &error), EVOCC_OK, &error);
        uint32_t fronts[CROWD];
        oracle_fronts(&c, 56, objectives, fronts);
        ranking_nsga3.survive(ranking_state, c.order, 56, 32, &r);
        uint32_t worst_kept = 0;
        uint32_t best_lost = UINT32_MAX;
        for (size_t i = 0; i < 56; i++) {
            uint32_t front = fronts[c.order[i]->id];
            if (i < 32) {
                worst_kept = front > worst_kept ? front : worst_kept;
            } else {
                best_lost = front < best_lost ? front : best_lost;
            }
        }
        assert_true(worst_kept <= best_lost);
        ranking_nsga3.destroy(ranking_state);
    }
}

static void test_directions(void **state)
{
    (void)state;
    static const struct {
        size_t dimensions, wanted, count;
    } cases[] = {{1, 32, 1},  {2, 32, 32},  {3, 32, 28}, {4, 32, 30},
                 {5, 32, 30}, {16, 32, 32}, {16, 2, 16}, {3, 92, 91}};
    double weights[16];
    for (size_t i = 0; i < 16; i++) {
        weights[i] = 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *directions;
        size_t count;
        evocc_error error;
        size_t n = cases[i].dimensions;
        assert_status(directions_new(&directions, &count, n, cases[i].wanted, weights, &error),
                      EVOCC_OK, &error);
        assert_int_equal(count, cases[i].count);
        for (size_t a = 0; a < count; a++) {
            double square = 0;
            for (size_t k = 0; k < n; k++) {
                assert_true(directions[a * n + k] >= 0);
                square += directions[a * n + k] * directions[a * n + k];
            }
            assert_true(fabs(square - 1) < 1e-12);
            for (size_t b = 0; b < a; b++) {
                assert_memory_not_equal(directions + a * n, directions + b * n, n * sizeof(double));
            }
        }
        mem_free(directions);
    }
}

static void test_weights_draw_directions(void **state)
{
    (void)state;
    double weights[] = {4, 1};
    double *directions;
    size_t count;
    evocc_error error;
    assert_status(directions_new(&directions, &count, 2, 32, weights, &error), EVOCC_OK, &error);
    size_t favoured = 0;
    for (size_t i = 0; i < count; i++) {
        favoured += directions[2 * i] < directions[2 * i + 1] ? 1 : 0;
    }
    assert_in_range(favoured, 24, 27); /* without weights 16 of 32 */
    mem_free(directions);
}

static void test_exact_log_and_exp(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 4);
    for (int i = 0; i < 100000; i++) {
        double x = exp((rng_unit(&r) - 0.5) * 1400);
        assert_true(fabs(exact_log(x) - log(x)) <= 2e-15 * (fabs(log(x)) + 1));
        double y = (rng_unit(&r) - 0.5) * 1400;
        assert_true(fabs(exact_exp(y) / exp(y) - 1) <= 1e-14 * 10);
    }
    assert_true(exact_log(1) == 0 && exact_exp(0) == 1);
    assert_true(fabs(exact_log(0x1.0p-1060) - log(0x1.0p-1060)) < 1e-12);
    assert_true(isfinite(exact_exp(1e300)) && exact_exp(-1e300) > 0);
}

static void test_seen(void **state)
{
    (void)state;
    seen s = {0};
    rng r;
    rng_seed(&r, 5);
    assert_false(seen_has(&s, (hash128){0, 0}));
    for (uint64_t i = 0; i < 20000; i++) {
        /* Low bits collide on purpose. */
        hash128 hash = {i, i % 7};
        assert_false(seen_has(&s, hash) && !(i == 0));
        assert_true(seen_reserve(&s));
        seen_add(&s, hash);
        assert_true(seen_has(&s, hash));
        assert_true(seen_has(&s, (hash128){i / 2, i / 2 % 7}));
        if (i == 2000) {
            break;
        }
    }
    seen_dispose(&s);
}

static void test_walk_visits_everything_once(void **state)
{
    (void)state;
    evocc_space *space = integer_space(3, 7);
    for (uint64_t seed = 0; seed < 20; seed++) {
        walk w;
        walk_init(&w, space, seed * 1000003);
        bool visited[343] = {false};
        int32_t genes[3];
        size_t count = 0;
        while (walk_next(&w, space, genes)) {
            int32_t code = (genes[0] * 7 + genes[1]) * 7 + genes[2];
            assert_false(visited[code]);
            visited[code] = true;
            count++;
        }
        assert_int_equal(count, 343);
    }
    space_free(space);
    space = integer_space(40, 7);
    walk w;
    walk_init(&w, space, 0);
    assert_int_equal(w.size, 0);
    space_free(space);
}

/* A space with one control of each kind, a wide form with two sites, and a group. */
static evocc_space *mixed_space(void)
{
    static const char *const words[] = {"red", "green", "blue", "black"};
    static const char *const numbers[] = {"1", "2", "4", "8", "16"};
    static const space_control controls[] = {
        {.name = "flag", .kind = SPACE_FLAG, .default_index = SPACE_ABSENT, .parent = SPACE_ABSENT},
        {.name = "bool", .kind = SPACE_BOOL, .default_index = 1, .parent = SPACE_ABSENT},
        {.name = "word",
         .kind = SPACE_CHOICE,
         .choices = words,
         .size = 4,
         .default_index = SPACE_ABSENT,
         .parent = SPACE_ABSENT,
         .knockout = 0.5},
        {.name = "number",
         .kind = SPACE_CHOICE,
         .choices = numbers,
         .size = 5,
         .default_index = 2,
         .parent = SPACE_ABSENT,
         .group = "pair"},
        {.name = "power",
         .kind = SPACE_POW2,
         .low = 1,
         .high = 1024,
         .default_index = 3,
         .parent = SPACE_ABSENT,
         .group = "pair"},
        {.name = "wide",
         .kind = SPACE_CHOICE,
         .choices = words,
         .size = 4,
         .default_index = 0,
         .parent = SPACE_ABSENT},
        {.name = "wide.1",
         .kind = SPACE_CHOICE,
         .choices = words,
         .size = 4,
         .default_index = 0,
         .parent = 5},
        {.name = "wide.2",
         .kind = SPACE_CHOICE,
         .choices = words,
         .size = 4,
         .default_index = 0,
         .parent = 5},
    };
    evocc_space *space;
    evocc_error error;
    assert_status(space_new(&space, &error), EVOCC_OK, &error);
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        assert_status(space_add(space, &controls[i], &error), EVOCC_OK, &error);
    }
    assert_status(space_finish(space, &error), EVOCC_OK, &error);
    return space;
}

/* Every value of every control, absent included, is reached by moves, and nothing outside. */
static void test_moves_reach_every_value(void **state)
{
    (void)state;
    evocc_space *space = mixed_space();
    size_t count = space_count(space);
    variation v;
    evocc_error error;
    assert_status(variation_init(&v, space, &search_tuning_default, 0.1, &error), EVOCC_OK, &error);
    assert_true(v.domains[3].ordered && v.domains[4].ordered);
    assert_false(v.domains[2].ordered || v.domains[1].ordered);
    rng r;
    rng_seed(&r, 6);
    for (size_t i = 0; i < count; i++) {
        bool reached[16] = {false};
        int32_t genes[8];
        memset(genes, 0xff, sizeof genes);
        for (int k = 0; k < 2000; k++) {
            int32_t before = variation_effective(&v, genes, i);
            int32_t raw = genes[i];
            variation_move(&v, &r, genes, i);
            assert_true(genes[i] != raw);
            assert_true(genes[i] == SPACE_ABSENT || genes[i] != before);
            assert_in_range(genes[i] + 1, 0, space_get(space, i)->size);
            reached[genes[i] + 1] = true;
            space_canonicalise(space, genes);
            reached[genes[i] + 1] = true;
        }
        for (int32_t k = 0; k <= space_get(space, i)->size; k++) {
            assert_true(reached[k]);
        }
    }
    variation_dispose(&v);
    space_free(space);
}

static void test_wide_forms_move_more_often(void **state)
{
    (void)state;
    evocc_space *space = mixed_space();
    variation v;
    evocc_error error;
    assert_status(variation_init(&v, space, &search_tuning_default, 0.1, &error), EVOCC_OK, &error);
    rng r;
    rng_seed(&r, 7);
    size_t picked[8] = {0};
    for (int i = 0; i < 100000; i++) {
        picked[variation_pick(&v, &r)]++;
    }
    /* Weights: six of 1, two of 1/sqrt(2). */
    for (size_t i = 0; i < 8; i++) {
        double wanted = (i >= 6 ? sqrt(0.5) : 1) / (6 + 2 * sqrt(0.5)) * 100000;
        assert_true(fabs((double)picked[i] - wanted) < 600);
    }
    variation_dispose(&v);
    space_free(space);
}

static void test_groups_cross_together_half_of_the_time(void **state)
{
    (void)state;
    evocc_space *space = mixed_space();
    variation v;
    evocc_error error;
    assert_status(variation_init(&v, space, &search_tuning_default, 0.1, &error), EVOCC_OK, &error);
    rng r;
    rng_seed(&r, 8);
    int32_t a[8];
    int32_t b[8];
    memset(a, 0, sizeof a);
    memset(b, 0xff, sizeof b);
    size_t together = 0;
    size_t apart = 0; /* two genes of no group, for comparison */
    size_t from_a = 0;
    for (int i = 0; i < 100000; i++) {
        int32_t child[8];
        bool differs = variation_cross(&v, &r, child, a, b);
        assert_true(differs ==
                    (memcmp(child, a, sizeof a) != 0 && memcmp(child, b, sizeof b) != 0));
        together += child[3] == child[4] ? 1 : 0;
        apart += child[0] == child[1] ? 1 : 0;
        from_a += child[3] == a[3] ? 1 : 0;
    }
    assert_in_range(together, 74000, 76000);
    assert_in_range(apart, 49000, 51000);
    assert_in_range(from_a, 49000, 51000);
    assert_false(variation_cross(&v, &r, b, a, a));
    variation_dispose(&v);
    space_free(space);
}

/* Two controls of ten values would both change in one mutation of one gene only by moving together.
 */
static void test_groups_move_together_at_times(void **state)
{
    (void)state;
    evocc_space *space = mixed_space();
    search_tuning tuning = search_tuning_default;
    tuning.mutation_rate = tuning.mutation_power = 0; /* always one gene */
    variation v;
    evocc_error error;
    assert_status(variation_init(&v, space, &tuning, 0.1, &error), EVOCC_OK, &error);
    rng r;
    rng_seed(&r, 10);
    size_t one = 0;
    size_t both = 0;
    for (int i = 0; i < 20000; i++) {
        int32_t genes[8];
        memset(genes, 0xff, sizeof genes);
        variation_mutate(&v, &r, genes);
        size_t changed = genes[3] != SPACE_ABSENT ? 1 : 0;
        changed += genes[4] != SPACE_ABSENT ? 1 : 0;
        one += changed == 1 ? 1 : 0;
        both += changed == 2 ? 1 : 0;
    }
    double share = (double)both / (double)(one + both);
    assert_true(share > 0.17 && share < 0.23);
    variation_dispose(&v);
    space_free(space);
}

/* What is removed can come back, and so can what it had displaced. */
static void test_archive_forgets_what_is_removed(void **state)
{
    (void)state;
    double values[3][2] = {{1, 5}, {5, 1}, {4, 4}};
    int32_t gene = 0;
    archive a = {.gene_count = 1, .objective_count = 2, .ranked_count = 2};
    evocc_error error;
    for (uint64_t id = 0; id < 3; id++) {
        individual one = {.id = 10 - id, .genes = &gene, .values = values[id]};
        assert_status(archive_offer(&a, &one, &error), EVOCC_OK, &error);
    }
    assert_int_equal(a.count, 3);
    assert_true(a.ids[0] == 8 && a.ids[1] == 9 && a.ids[2] == 10);
    archive_remove(&a, 9);
    archive_remove(&a, 7); /* was never there */
    assert_int_equal(a.count, 2);
    assert_null(archive_find(&a, 9));
    double between[] = {5, 2}; /* 9 would have dominated it */
    individual one = {.id = 11, .genes = &gene, .values = between};
    assert_status(archive_offer(&a, &one, &error), EVOCC_OK, &error);
    assert_non_null(archive_find(&a, 11));
    double best[] = {0, 0};
    individual winner = {.id = 3, .genes = &gene, .values = best};
    assert_status(archive_offer(&a, &winner, &error), EVOCC_OK, &error);
    assert_true(a.count == 1 && a.ids[0] == 3);
    archive_dispose(&a);
}

/* The slots of marginal hold the best of each value, by brute force; rows never run out. */
static void test_marginal_keeps_the_best_of_every_value(void **state)
{
    (void)state;
    evocc_space *space = integer_space(3, 5);
    variation v;
    evocc_error error;
    assert_status(variation_init(&v, space, &search_tuning_default, 0.1, &error), EVOCC_OK, &error);
    marginal m;
    assert_status(marginal_init(&m, &v, 1, 1, &error), EVOCC_OK, &error);
    double best[3][5];
    for (size_t i = 0; i < 15; i++) {
        best[i / 5][i % 5] = 1e9;
    }
    rng r;
    rng_seed(&r, 11);
    for (uint64_t id = 0; id < 3000; id++) {
        int32_t genes[3];
        double value = (double)rng_below(&r, 1000000) / (double)(id + 1);
        individual one = {.id = id, .genes = genes, .values = &value, .state = INDIVIDUAL_VALID};
        for (size_t g = 0; g < 3; g++) {
            genes[g] = (int32_t)rng_below(&r, 5);
            best[g][genes[g]] = value < best[g][genes[g]] ? value : best[g][genes[g]];
        }
        space_canonicalise(space, genes);
        marginal_add(&m, &one, &r);
    }
    for (size_t g = 0; g < 3; g++) {
        for (size_t x = 0; x < 5; x++) {
            const individual *held = m.slots[m.first_slots[g] + 1 + x].best;
            assert_true(held->values[0] >= best[g][x] && held->values[0] <= best[g][x]);
            assert_int_equal(gene_value(held->genes, g), x);
        }
    }
    assert_true(marginal_pick(&m, &r) != NULL);
    marginal_dispose(&m);
    variation_dispose(&v);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorting_equals_peeling),
        cmocka_unit_test(test_archive_keeps_exactly_the_front),
        cmocka_unit_test(test_nsga3_keeps_the_better_fronts),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_weights_draw_directions),
        cmocka_unit_test(test_exact_log_and_exp),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_walk_visits_everything_once),
        cmocka_unit_test(test_moves_reach_every_value),
        cmocka_unit_test(test_wide_forms_move_more_often),
        cmocka_unit_test(test_groups_cross_together_half_of_the_time),
        cmocka_unit_test(test_groups_move_together_at_times),
        cmocka_unit_test(test_archive_forgets_what_is_removed),
        cmocka_unit_test(test_marginal_keeps_the_best_of_every_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
