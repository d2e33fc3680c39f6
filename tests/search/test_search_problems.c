/* Known problems with known fronts, as a sanity check of several objectives: ZDT1-3 (Zitzler, Deb,
   Thiele 2000), DTLZ2 and DTLZ7 (Deb et al. 2002), each gene one of 64 points of [0, 1]; and a
   mixed space of 200 controls, most of them dormant or sites. Bounds are loose enough for any
   decent engine and far above what random search reaches (both asserted). */
#include "support.h"

#include "search/hypervolume.h"
#include "search/internal.h"

#include <math.h>

enum { POINTS = 64, GENES = 12, GENERATIONS = 60 };

typedef void problem(const double *x, double *f);

static double unit(const int32_t *genes, size_t i)
{
    return gene_value(genes, i) / (POINTS - 1.0);
}

static double zdt_g(const double *x)
{
    double sum = 0;
    for (size_t i = 1; i < GENES; i++) {
        sum += x[i];
    }
    return 1 + 9 * sum / (GENES - 1);
}

static void zdt1(const double *x, double *f)
{
    f[0] = x[0];
    f[1] = zdt_g(x) * (1 - sqrt(x[0] / zdt_g(x)));
}

static void zdt2(const double *x, double *f)
{
    double g = zdt_g(x);
    f[0] = x[0];
    f[1] = g * (1 - x[0] / g * x[0] / g);
}

static void zdt3(const double *x, double *f)
{
    double g = zdt_g(x);
    f[0] = x[0];
    f[1] = g * (1 - sqrt(x[0] / g) - x[0] / g * sin(10 * acos(-1) * x[0]));
}

static void dtlz2(const double *x, double *f)
{
    double g = 0;
    for (size_t i = 2; i < GENES; i++) {
        g += (x[i] - 0.5) * (x[i] - 0.5);
    }
    double half = acos(0);
    f[0] = (1 + g) * cos(x[0] * half) * cos(x[1] * half);
    f[1] = (1 + g) * cos(x[0] * half) * sin(x[1] * half);
    f[2] = (1 + g) * sin(x[0] * half);
}

static void dtlz7(const double *x, double *f)
{
    double g = 0;
    for (size_t i = 2; i < GENES; i++) {
        g += x[i];
    }
    g = 1 + 9 * g / (GENES - 2);
    f[0] = x[0];
    f[1] = x[1];
    double h = 3;
    for (size_t i = 0; i < 2; i++) {
        h -= f[i] / (1 + g) * (1 + sin(3 * acos(-1) * f[i]));
    }
    f[2] = (1 + g) * h;
}

static void evaluate(problem *p, const int32_t *genes, double *f)
{
    double x[GENES];
    for (size_t i = 0; i < GENES; i++) {
        x[i] = unit(genes, i);
    }
    p(x, f);
}

static double searched_volume(problem *p, size_t objectives, search_survival survival,
                              const double *reference)
{
    static const search_objective plain[3];
    evocc_space *space = integer_space(GENES, POINTS);
    search_options options = {.seed = 1,
                              .generations = GENERATIONS,
                              .survival = survival,
                              .objectives = plain,
                              .objective_count = objectives};
    evocc_search *search;
    evocc_error error;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    search_candidate c;
    while (search_ask(&c, search, &error) == EVOCC_OK) {
        double f[3];
        evaluate(p, c.genes, f);
        assert_status(search_tell(search, c.id, EVOCC_OUTCOME_OK, f, &error), EVOCC_OK, &error);
    }
    double volume;
    assert_status(search_front_hypervolume(&volume, search, reference, &error), EVOCC_OK, &error);
    search_free(search);
    space_free(space);
    return volume;
}

/* As many uniform samples as the search had trials. */
static double random_volume(problem *p, size_t objectives, const double *reference)
{
    evocc_space *space = integer_space(GENES, POINTS);
    archive a = {.gene_count = GENES, .objective_count = objectives, .ranked_count = objectives};
    rng r;
    rng_seed(&r, 1);
    evocc_error error;
    for (uint64_t id = 0; id < 32 + 24 * (GENERATIONS - 1); id++) {
        int32_t genes[GENES];
        double f[3];
        assert_status(space_sample(space, &r, genes, &error), EVOCC_OK, &error);
        evaluate(p, genes, f);
        individual one = {.id = id, .genes = genes, .values = f};
        assert_status(archive_offer(&a, &one, &error), EVOCC_OK, &error);
    }
    double *points = mem_alloc(a.count, objectives * sizeof *points);
    size_t *scratch = mem_alloc(hypervolume_scratch(a.count, objectives), sizeof *scratch);
    for (size_t i = 0; i < a.count; i++) {
        memcpy(points + i * objectives, a.entries[i]->as.values, objectives * sizeof *points);
    }
    double volume = hypervolume(points, a.count, objectives, reference, scratch);
    mem_free(points);
    mem_free(scratch);
    archive_dispose(&a);
    space_free(space);
    return volume;
}

/* The exact volumes: ZDT1 3 + 2/3 up to (1, 4): 4 - integral of 1 - sqrt = 4 - 1/3; and so on. */
static const struct {
    const char *name;
    problem *p;
    size_t objectives;
    double reference[3];
    double exact; /* 0: not known, the bound is against random alone */
} problems[] = {
    {
        "ZDT1",
        zdt1,
        2,
        {1, 4},
        4 - 1.0 / 3,
    },
    {
        "ZDT2",
        zdt2,
        2,
        {1, 4},
        4 - 2.0 / 3,
    },
    {"ZDT3", zdt3, 2, {1, 4}, 0},
    {"DTLZ2", dtlz2, 3, {1.5, 1.5, 1.5}, 3.375 - 0.5236},
    {"DTLZ7", dtlz7, 3, {1, 1, 15}, 0},
};

static void test_fronts_are_approached(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        double exact = problems[i].exact;
        double chance = random_volume(problems[i].p, problems[i].objectives, problems[i].reference);
        for (search_survival s = SEARCH_NSGA3; s <= SEARCH_HYPERVOLUME; s++) {
            if (s == SEARCH_HYPERVOLUME && problems[i].objectives > 2) {
                continue; /* takes seconds */
            }
            double found =
                searched_volume(problems[i].p, problems[i].objectives, s, problems[i].reference);
            print_message("%s survival %d: %.4f, at random %.4f, exact %.4f\n", problems[i].name,
                          (int)s, found, chance, exact);
            assert_true(found > chance * 1.05);
            assert_true(exact <= 0 || (found > 0.9 * exact && found <= exact + 1e-9));
        }
    }
}

/* 200 controls: 10 wide forms with 15 sites each, 40 others of which 30 are dormant unless a switch
   is on. The value: wide forms matter, single sites a little, dormant ones only when awake. */
static evocc_space *toy_space(void)
{
    static const char *const words[] = {"original", "late", "early", "pressure"};
    evocc_space *space;
    evocc_error error;
    assert_status(space_new(&space, &error), EVOCC_OK, &error);
    for (size_t w = 0; w < 10; w++) {
        for (size_t site = 0; site <= 15; site++) {
            char name[32];
            snprintf(name, sizeof name, site == 0 ? "w%zu" : "w%zu.s%zu", w, site);
            space_control c = {.stage = SPACE_STAGE_PTX,
                               .name = name,
                               .kind = SPACE_CHOICE,
                               .choices = words,
                               .size = 4,
                               .default_index = 0,
                               .parent = site == 0 ? SPACE_ABSENT : (int32_t)(16 * w)};
            assert_status(space_add(space, &c, &error), EVOCC_OK, &error);
        }
    }
    static const char *const on[] = {"true"};
    space_term awake = {"ptx/o0", on, 1};
    for (size_t i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "o%zu", i);
        space_control c = {.stage = SPACE_STAGE_PTX,
                           .name = name,
                           .kind = i == 0 ? SPACE_BOOL : SPACE_INT,
                           .high = 9,
                           .step = 1,
                           .default_index = 0,
                           .parent = SPACE_ABSENT};
        assert_status(space_add(space, &c, &error), EVOCC_OK, &error);
        if (i >= 10) {
            char full[40];
            snprintf(full, sizeof full, "ptx/o%zu", i);
            assert_status(space_add_condition(space, full, &awake, &error), EVOCC_OK, &error);
        }
    }
    assert_status(space_finish(space, &error), EVOCC_OK, &error);
    return space;
}

static double toy_value(const evocc_space *space, const int32_t *genes)
{
    double value = 100;
    for (size_t w = 0; w < 10; w++) {
        value -= space_effective(space, genes, 16 * w) == (int32_t)(w % 4) ? 3 : 0;
        for (size_t site = 1; site <= 15; site++) {
            int32_t x = space_effective(space, genes, 16 * w + site);
            value -= x == (int32_t)((w + (site == 7 ? 1 : 0)) % 4) ? 0.2 : 0;
        }
    }
    for (size_t i = 1; i < 40; i++) {
        if (space_is_active(space, genes, 160 + i)) {
            int32_t x = space_effective(space, genes, 160 + i);
            value -= x == (int32_t)(i % 10) ? 0.5 : 0;
        }
    }
    return value;
}

/* Half of the way from the baseline to the optimum within 488 trials, random search a third at
 * most. */
static void test_mixed_toy_of_200_controls(void **state)
{
    (void)state;
    evocc_space *space = toy_space();
    assert_int_equal(space_count(space), 200);
    int32_t genes[200];
    memset(genes, 0xff, sizeof genes);
    double baseline = toy_value(space, genes);
    double optimum = 100 - 30 - 150 * 0.2 - 39 * 0.5;
    double best_sum = 0;
    double random_sum = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        evocc_search *search = search_over(space, 1, seed, 0);
        search_candidate c;
        evocc_error error;
        double best = baseline;
        double random_best = baseline;
        rng r;
        rng_seed(&r, seed);
        while (search_ask(&c, search, &error) == EVOCC_OK) {
            double value = toy_value(space, c.genes);
            best = value < best ? value : best;
            assert_status(search_tell(search, c.id, EVOCC_OUTCOME_OK, &value, &error), EVOCC_OK,
                          &error);
            assert_status(space_sample(space, &r, genes, &error), EVOCC_OK, &error);
            value = toy_value(space, genes);
            random_best = value < random_best ? value : random_best;
        }
        best_sum += (baseline - best) / (baseline - optimum) / 4;
        random_sum += (baseline - random_best) / (baseline - optimum) / 4;
        search_free(search);
    }
    print_message("of the way to the optimum: %.3f, at random %.3f\n", best_sum, random_sum);
    assert_true(best_sum > 0.5);
    assert_true(random_sum < 0.34);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fronts_are_approached),
        cmocka_unit_test(test_mixed_toy_of_200_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
