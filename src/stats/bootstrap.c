/*
 * bootstrap.c: the interval of a median of paired log ratios.
 *
 * Percentile bootstrap: resample the pairs with replacement, take the median of each resample, read
 * the interval off the sorted medians. (BCa brings nothing here: its acceleration comes from the
 * jackknife, which fails for the median; Efron and Tibshirani 1993, sections 10.6 and 14.3.) Taken
 * plainly it is too narrow for few pairs, as if a standard error with n below the line were used
 * with normal quantiles; so it is expanded to the level Phi(sqrt(n / (n - 1)) * t), t the quantile
 * of Student's distribution with n - 1 degrees of freedom (Hesterberg 2015, "What Teachers Should
 * Know About the Bootstrap", The American Statistician 69(4), section 4.5).
 */
#include "stats/stats.h"

#include "util/error.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>

/* The normal distribution function and, by Newton's steps on it, its inverse; 1e-12 is far below
   what 2000 resamples can tell apart. */
static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

static double normal_quantile(double p)
{
    const double sqrt_2pi = 2.5066282746310002;
    double z = 0;
    for (int i = 0; i < 60; i++) {
        double step = (normal_below(z) - p) * sqrt_2pi * exp(0.5 * z * z);
        step = step > 1 ? 1 : step < -1 ? -1 : step;
        z -= step;
        if (fabs(step) < 1e-12) {
            break;
        }
    }
    return z;
}

/* Student's quantile from the normal one: Cornish and Fisher's expansion (Abramowitz and Stegun
   1964, 26.7.5); within 0.3 % from 5 degrees of freedom on at the levels used here. */
static double student_quantile(double z, double freedom)
{
    double z2 = z * z;
    double term1 = z * (z2 + 1) / 4;
    double term2 = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
    double term3 = z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / 384;
    return z + (term1 + (term2 + term3 / freedom) / freedom) / freedom;
}

/* The tail to cut off on either side for a two-sided level of n pairs. */
static double tail_of(double level, size_t n)
{
    double freedom = (double)(n - 1);
    double t = student_quantile(normal_quantile(0.5 * (1 - level)), freedom);
    return normal_below(t * sqrt((double)n / freedom));
}

/* The median of a resample with replacement: how often each of the sorted values was drawn tells
   where the middle is, without sorting anything. */
static double resample_median(const double *sorted, uint32_t *drawn, size_t n, rng *r)
{
    for (size_t i = 0; i < n; i++) {
        drawn[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        drawn[rng_below(r, n)]++;
    }
    size_t lower = (n - 1) / 2;
    size_t upper = n / 2;
    size_t seen = 0;
    size_t at = 0;
    while (seen + drawn[at] <= lower) {
        seen += drawn[at++];
    }
    double middle = sorted[at];
    while (seen + drawn[at] <= upper) {
        seen += drawn[at++];
    }
    return 0.5 * (middle + sorted[at]);
}

static evocc_status check(const double *log_ratios, size_t count, evocc_error *error)
{
    if (count < STATS_PAIRS_MIN) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%zu pairs are too few for an interval; at least %d are needed", count,
                         STATS_PAIRS_MIN);
    }
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(log_ratios[i])) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "the ratio of pair %zu is not finite",
                             i + 1);
        }
    }
    return EVOCC_OK;
}

evocc_status stats_compare(stats_comparison *out, const double *log_ratios, size_t count,
                           const stats_options *options, evocc_error *error)
{
    evocc_status status = check(log_ratios, count, error);
    if (status != EVOCC_OK) {
        return status;
    }
    size_t resamples = options->resamples > 0 ? options->resamples : 2000;
    double level = options->level > 0 ? options->level : 0.95;
    double *sorted = mem_alloc(count, sizeof *sorted);
    double *medians = mem_alloc(resamples, sizeof *medians);
    uint32_t *drawn = mem_alloc(count, sizeof *drawn);
    if (sorted == NULL || medians == NULL || drawn == NULL) {
        status = error_no_memory(error);
        goto cleanup;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = log_ratios[i];
    }
    double median = stats_median(sorted, count);
    rng r;
    rng_seed(&r, options->seed);
    for (size_t i = 0; i < resamples; i++) {
        medians[i] = resample_median(sorted, drawn, count, &r);
    }
    stats_sort(medians, resamples);
    double tail = tail_of(level, count);
    double low = stats_quantile(medians, resamples, tail);
    double high = stats_quantile(medians, resamples, 1 - tail);
    *out = (stats_comparison){
        .pairs = count,
        .speedup = exp(median),
        .low = exp(low),
        .high = exp(high),
        .spread = stats_spread(sorted, count, median),
        .noise_floor = 0.5 * (high - low),
    };
cleanup:
    mem_free(sorted);
    mem_free(medians);
    mem_free(drawn);
    return status;
}

stats_verdict stats_judge(const stats_comparison *comparison, double margin)
{
    return comparison->low > 1 + margin          ? STATS_GAIN
           : comparison->high < 1 / (1 + margin) ? STATS_LOSS
                                                 : STATS_NO_DIFFERENCE;
}

const char *stats_verdict_name(stats_verdict verdict)
{
    static const char *const names[] = {
        [STATS_NO_DIFFERENCE] = "no difference", [STATS_GAIN] = "gain", [STATS_LOSS] = "loss"};
    return names[verdict];
}
