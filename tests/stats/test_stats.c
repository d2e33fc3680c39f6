/* Statistics against known answers; what the intervals promise is measured by bench_stats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/stats.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) {
        fail_msg("%.15g is not within %g of %.15g", value, tolerance, wanted);
    }
}

static void medians_and_quantiles(void **state)
{
    (void)state;
    double odd[] = {5, 1, 3};
    double even[] = {4, 1, 3, 2};
    double one[] = {7};
    assert_near(stats_median(odd, 3), 3, 0);
    assert_near(stats_median(even, 4), 2.5, 0);
    assert_near(stats_median(one, 1), 7, 0);
    const double sorted[] = {1, 2, 3, 4, 5};
    assert_near(stats_quantile(sorted, 5, 0), 1, 0);
    assert_near(stats_quantile(sorted, 5, 1), 5, 0);
    assert_near(stats_quantile(sorted, 5, 0.1), 1.4, 1e-15);
    assert_near(stats_quantile(sorted, 5, 0.75), 4, 1e-15);
}

/* R: mad(c(1,1,2,2,4,6,9)) is 1.4826. */
static void spread_ignores_outliers(void **state)
{
    (void)state;
    double values[] = {1, 1, 2, 2, 4, 6, 9};
    assert_near(stats_spread(values, 7, 2), 1.4826, 1e-12);
    double wild[] = {1, 1, 2, 2, 4, 6, 9e9};
    assert_near(stats_spread(wild, 7, 2), 1.4826, 1e-12);
    double equal[] = {3, 3, 3};
    assert_near(stats_spread(equal, 3, 3), 0, 0);
}

static void log_ratios_refuse_what_is_no_time(void **state)
{
    (void)state;
    const double baseline[] = {2, 1, 4};
    double tuned[] = {1, 1, 8};
    double ratios[3];
    evocc_error error;
    assert_int_equal(stats_log_ratios(ratios, baseline, tuned, 3, &error), EVOCC_OK);
    assert_near(ratios[0], log(2), 1e-15);
    assert_near(ratios[1], 0, 0);
    assert_near(ratios[2], -log(2), 1e-15);
    const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 4; i++) {
        tuned[1] = bad[i];
        assert_int_equal(stats_log_ratios(ratios, baseline, tuned, 3, &error),
                         EVOCC_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "pair 2"));
    }
}

static const double sample[] = {0.010, 0.012, 0.008, 0.011, 0.009, 0.013, 0.007, 0.010,
                                0.012, 0.011, 0.009, 0.010, 0.014, 0.006, 0.010, 0.011};
enum { SAMPLES = sizeof sample / sizeof *sample };

/* The bootstrap distribution of a median is known: P(median* <= x(k)) follows the binomial law. For
   these 16 values 200,000 resamples elsewhere put the tails of 2.15 % at 0.009 and 0.0115. */
static void comparison_of_known_values(void **state)
{
    (void)state;
    stats_comparison c;
    const stats_options options = {.seed = 7, .resamples = 20000};
    assert_int_equal(stats_compare(&c, sample, SAMPLES, &options, NULL), EVOCC_OK);
    assert_int_equal(c.pairs, SAMPLES);
    assert_near(log(c.speedup), 0.010, 1e-15);
    assert_near(log(c.low), 0.009, 3e-4);
    assert_near(log(c.high), 0.0115, 3e-4);
    assert_near(c.noise_floor, 0.5 * (log(c.high) - log(c.low)), 1e-12);
    assert_near(c.spread, 1.4826 * 0.001, 1e-9);
    assert_int_equal(stats_judge(&c, 0), STATS_GAIN);
    assert_int_equal(stats_judge(&c, 0.02), STATS_NO_DIFFERENCE);
}

static void comparison_is_symmetric_and_reproducible(void **state)
{
    (void)state;
    double reversed[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        reversed[i] = -sample[SAMPLES - 1 - i];
    }
    const stats_options options = {.seed = 3};
    stats_comparison a;
    stats_comparison b;
    stats_comparison turned;
    assert_int_equal(stats_compare(&a, sample, SAMPLES, &options, NULL), EVOCC_OK);
    assert_int_equal(stats_compare(&b, sample, SAMPLES, &options, NULL), EVOCC_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(stats_compare(&turned, reversed, SAMPLES, &options, NULL), EVOCC_OK);
    assert_near(turned.speedup, 1 / a.speedup, 1e-12);
    assert_near(log(turned.high), -log(a.low), 5e-4);
    assert_int_equal(stats_judge(&turned, 0), STATS_LOSS);
    assert_string_equal(stats_verdict_name(STATS_LOSS), "loss");
}

static void levels_widen_the_interval(void **state)
{
    (void)state;
    stats_comparison narrow;
    stats_comparison wide;
    assert_int_equal(stats_compare(&narrow, sample, SAMPLES, &(stats_options){.level = 0.5}, NULL),
                     EVOCC_OK);
    assert_int_equal(stats_compare(&wide, sample, SAMPLES, &(stats_options){.level = 0.999}, NULL),
                     EVOCC_OK);
    assert_true(wide.noise_floor > 2 * narrow.noise_floor);
}

static void comparison_refuses(void **state)
{
    (void)state;
    evocc_error error;
    stats_comparison c = {.pairs = 99};
    assert_int_equal(stats_compare(&c, sample, 5, &(stats_options){0}, &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "5 pairs are too few"));
    const double odd[] = {0, 0, 0, (double)NAN, 0, 0};
    assert_int_equal(stats_compare(&c, odd, 6, &(stats_options){0}, &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "pair 4"));
    for (long n = 0; n < 3; n++) {
        mem_fail_after(n);
        assert_int_equal(stats_compare(&c, sample, SAMPLES, &(stats_options){0}, &error),
                         EVOCC_NO_MEMORY);
    }
    mem_fail_after(-1);
    assert_int_equal(c.pairs, 99);
}

/* Equal values: no width, and the verdict is by the value alone. */
static void no_noise(void **state)
{
    (void)state;
    const double equal[] = {0, 0, 0, 0, 0, 0};
    stats_comparison c;
    assert_int_equal(stats_compare(&c, equal, 6, &(stats_options){0}, NULL), EVOCC_OK);
    assert_near(c.low, 1, 0);
    assert_near(c.high, 1, 0);
    assert_int_equal(stats_judge(&c, 0), STATS_NO_DIFFERENCE);
}

static void sequence_stops_when_narrow(void **state)
{
    (void)state;
    stats_sequence *s;
    const stats_plan plan = {.min_pairs = 10, .max_pairs = 30, .step = 5, .width = 0.001};
    assert_int_equal(stats_sequence_new(&s, &plan, NULL), EVOCC_OK);
    size_t pairs = 0;
    while (stats_sequence_next(s) == STATS_MORE) {
        assert_int_equal(stats_sequence_add(s, 1.02 + 1e-5 * (double)(pairs % 3), 1, NULL),
                         EVOCC_OK);
        pairs++;
    }
    assert_int_equal(pairs, 10);
    assert_int_equal(stats_sequence_next(s), STATS_NARROW);
    stats_comparison c;
    assert_int_equal(stats_sequence_result(&c, s, NULL), EVOCC_OK);
    assert_near(c.speedup, 1.02, 1e-4);
    stats_sequence_free(s);
}

static void sequence_spends_its_budget(void **state)
{
    (void)state;
    stats_sequence *s;
    const stats_plan plan = {.min_pairs = 10, .max_pairs = 32, .step = 5, .width = 1e-6};
    assert_int_equal(stats_sequence_new(&s, &plan, NULL), EVOCC_OK);
    rng r;
    rng_seed(&r, 5);
    size_t pairs = 0;
    while (stats_sequence_next(s) == STATS_MORE) {
        assert_int_equal(stats_sequence_add(s, 1 + 0.1 * rng_unit(&r), 1, NULL), EVOCC_OK);
        pairs++;
    }
    assert_int_equal(pairs, 32);
    assert_int_equal(stats_sequence_next(s), STATS_SPENT);
    stats_sequence_free(s);
}

static void sequence_refuses(void **state)
{
    (void)state;
    stats_sequence *s = NULL;
    evocc_error error;
    assert_int_equal(stats_sequence_new(&s, &(stats_plan){.min_pairs = 5}, &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_int_equal(stats_sequence_new(&s, &(stats_plan){.max_pairs = 10}, &error),
                     EVOCC_INVALID_ARGUMENT);
    mem_fail_after(0);
    assert_int_equal(stats_sequence_new(&s, &(stats_plan){0}, &error), EVOCC_NO_MEMORY);
    mem_fail_after(-1);
    assert_int_equal(stats_sequence_new(&s, &(stats_plan){.min_pairs = 6}, &error), EVOCC_OK);
    assert_int_equal(stats_sequence_add(s, 0, 1, &error), EVOCC_INVALID_ARGUMENT);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(stats_sequence_add(s, 1, 1, &error), EVOCC_OK);
    }
    mem_fail_after(0); /* the look at the sixth pair: the pair is not counted */
    assert_int_equal(stats_sequence_add(s, 1, 1, &error), EVOCC_NO_MEMORY);
    mem_fail_after(-1);
    assert_int_equal(stats_sequence_next(s), STATS_MORE);
    assert_int_equal(stats_sequence_add(s, 1, 1, &error), EVOCC_OK);
    assert_int_equal(stats_sequence_next(s), STATS_NARROW);
    stats_sequence_free(s);
    stats_sequence_free(NULL);
}

/* The order statistics of the sign test: n = 10 takes the 2nd and the 9th value, n = 6 the ends. */
static void relative_width(void **state)
{
    (void)state;
    double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_near(stats_relative_width(ten, 10), 0.5 * (9 - 2) / 5.5, 1e-12);
    double six[] = {9, 10, 11, 10, 9, 11};
    assert_near(stats_relative_width(six, 6), 0.1, 1e-12);
    assert_true(isinf(stats_relative_width(six, 5)));
    static double many[2000];
    for (size_t i = 0; i < 2000; i++) {
        many[i] = 1 + (double)i;
    }
    double width = stats_relative_width(many, 2000);
    assert_near(width, 0.98 * sqrt(2000) / 1000.5, 2e-3);
}

/* Whatever the distribution, about 95 % of such intervals hold the median: 1000 samples of 15
   skewed values; exact coverage is 96.5 %, three standard errors are 1.7 %. */
static void relative_width_covers(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 11);
    size_t covered = 0;
    for (size_t study = 0; study < 1000; study++) {
        double values[15];
        for (size_t i = 0; i < 15; i++) {
            values[i] = 1 - log(1 - rng_unit(&r)); /* median 1 + log 2 */
        }
        (void)stats_relative_width(values, 15);
        covered += values[3] <= 1 + log(2) && 1 + log(2) <= values[11];
    }
    assert_in_range(covered, 948, 982);
}

/* Two groups of equal values explain all; groups that say nothing explain next to nothing. */
static void groups_explain(void **state)
{
    (void)state;
    const double apart[] = {3 * 1.0, 3 * 5.0};
    const size_t threes[] = {3, 3};
    assert_near(stats_explained(apart, threes, 2, 3 * 1.0 + 3 * 25.0), 1, 1e-12);
    /* 1, 2, 3 in either group: less than nothing after the correction, so 0. */
    const double alike[] = {6, 6};
    assert_true(stats_explained(alike, threes, 2, 28) == 0);
    /* 0, 2 and 2, 4: between 4, within 4, total 8; 1 - (1 - 1/2) * 3 / 2 = 1/4. */
    const double some[] = {2, 6};
    const size_t twos[] = {2, 2};
    assert_near(stats_explained(some, twos, 2, 0 + 4 + 4 + 16), 0.25, 1e-12);
    const size_t one_group[] = {6, 0};
    const double one_sum[] = {12, 0};
    assert_true(stats_explained(one_sum, one_group, 2, 40) == 0);
    const double equal[] = {3 * 0.1, 3 * 0.1};
    assert_true(stats_explained(equal, threes, 2, 6 * 0.01) == 0); /* rounding explains nothing */
    assert_true(stats_explained(NULL, NULL, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_quantiles),
        cmocka_unit_test(spread_ignores_outliers),
        cmocka_unit_test(log_ratios_refuse_what_is_no_time),
        cmocka_unit_test(comparison_of_known_values),
        cmocka_unit_test(comparison_is_symmetric_and_reproducible),
        cmocka_unit_test(levels_widen_the_interval),
        cmocka_unit_test(comparison_refuses),
        cmocka_unit_test(no_noise),
        cmocka_unit_test(sequence_stops_when_narrow),
        cmocka_unit_test(sequence_spends_its_budget),
        cmocka_unit_test(sequence_refuses),
        cmocka_unit_test(groups_explain),
        cmocka_unit_test(relative_width),
        cmocka_unit_test(relative_width_covers),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
