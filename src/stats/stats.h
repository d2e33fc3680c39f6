/*
 * stats: what a handful of noisy measurements entitle one to say. Pure functions: no clock, no I/O,
 * all randomness from a seed. May use util.
 *
 * Speed-ups are compared in the log domain, where halving and doubling are opposite and equal:
 *     speed-up = exp(median over pairs of log(baseline / tuned)).
 * The two members of a pair are measured side by side, so that what drifts (clocks, temperature)
 * acts on both and cancels; pairs are measured in fresh processes, so that what a process fixes for
 * its life (placement of buffers and code) is sampled anew with each pair.
 *
 * Nothing here may see the measurements by which a candidate was chosen: the best of many noisy
 * numbers is better than it is. Choose on some pairs, estimate on others.
 */
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include <evocc/evocc.h>

/* ---- Order statistics. Values are finite; count >= 1 ----------------------------------------- */

void stats_sort(double *values, size_t count); /* ascending */

/* Of sorted values, linear between neighbours (Hyndman and Fan 1996, definition 7); 0 <= p <= 1. */
double stats_quantile(const double *sorted, size_t count, double p);

double stats_median(double *values, size_t count); /* sorts them */

/* Median absolute deviation from `centre`, times 1.4826: for normal values their standard
   deviation, for others unmoved by outliers (Rousseeuw and Croux 1993). Overwrites the values. */
double stats_spread(double *values, size_t count, double centre);

/* ---- Comparison of two in pairs -------------------------------------------------------------- */

/* log(baseline[i] / tuned[i]): above 0, `tuned` is the smaller. EVOCC_INVALID_ARGUMENT names the
   pair that holds something else than two finite numbers above 0. */
evocc_status stats_log_ratios(double *out, const double *baseline, const double *tuned,
                              size_t count, evocc_error *error);

/* Fewer pairs cannot bound a median at 95 %: that of 5 lies outside all of them with 1/16. */
enum { STATS_PAIRS_MIN = 6 };

typedef struct stats_options {
    double level;     /* of the interval; 0: 0.95 */
    size_t resamples; /* of the bootstrap; 0: 2000 */
    uint64_t seed;
} stats_options;

typedef struct stats_comparison {
    size_t pairs;
    double speedup, low, high; /* 1.05: baseline / tuned; two-sided interval */
    double spread;             /* of one pair's log ratio, robust: 0.01 is about 1 % */
    /* Half of the interval's width, in the log domain: gains below it drown in these pairs. */
    double noise_floor;
} stats_comparison;

/* From log ratios in any order. The interval is the bootstrap's percentile interval of the median
   (Efron and Tibshirani 1993, chapter 13), expanded as bootstrap.c says, so that few pairs are
   covered, too. EVOCC_INVALID_ARGUMENT: fewer than STATS_PAIRS_MIN pairs, or not finite;
   EVOCC_NO_MEMORY. */
evocc_status stats_compare(stats_comparison *out, const double *log_ratios, size_t count,
                           const stats_options *options, evocc_error *error);

typedef enum stats_verdict {
    STATS_NO_DIFFERENCE, /* 1, or what is within the margin of it, lies in the interval */
    STATS_GAIN,
    STATS_LOSS
} stats_verdict;

/* A gain is claimed when the whole interval lies above 1 + margin, a loss when it lies below
   1 / (1 + margin). At level 0.95 and margin 0 each is claimed of equals in 2.5 %, nominally. */
stats_verdict stats_judge(const stats_comparison *comparison, double margin);
const char *stats_verdict_name(stats_verdict verdict); /* "gain", "loss", "no difference" */

/* ---- How many pairs -------------------------------------------------------------------------- */

/*
 * Pairs are added until the interval is narrow enough or the budget is spent. The rule looks at the
 * spread alone, never at where the values lie: to stop because a gain just became significant would
 * make false gains likely (optional stopping), while the spread says little about the error of the
 * median (Chow and Robbins 1965: coverage is kept in the limit; bench_stats measures it here).
 */
typedef struct stats_plan {
    size_t min_pairs; /* before the first look; 0: 20 */
    size_t max_pairs; /* the budget; 0: 60 */
    size_t step;      /* pairs between two looks; 0: 10 */
    double width;     /* wanted noise floor, log domain; 0: 0.001 */
    stats_options interval;
} stats_plan;

typedef struct stats_sequence stats_sequence;

evocc_status stats_sequence_new(stats_sequence **out, const stats_plan *plan, evocc_error *error);
void stats_sequence_free(stats_sequence *sequence);

/* Adds one pair of numbers; EVOCC_INVALID_ARGUMENT as stats_log_ratios, nothing is added then. */
evocc_status stats_sequence_add(stats_sequence *sequence, double baseline, double tuned,
                                evocc_error *error);

typedef enum stats_next {
    STATS_MORE,   /* measure another pair */
    STATS_NARROW, /* the interval is narrow enough */
    STATS_SPENT   /* it is not, but the budget is spent */
} stats_next;

stats_next stats_sequence_next(const stats_sequence *sequence);

/* Of all pairs so far. */
evocc_status stats_sequence_result(stats_comparison *out, const stats_sequence *sequence,
                                   evocc_error *error);

/* ---- One quantity, sampled until it is known well enough ------------------------------------- */

/* Relative half width of the 95 % interval of the median of positive samples, from order statistics
   of the binomial law (no resampling: cheap enough to ask after each sample). INFINITY below 6
   samples. Sorts `values`. */
double stats_relative_width(double *values, size_t count);

/* ---- What a grouping explains ---------------------------------------------------------------- */

/* Share of the variance of some values that the groups they fall into explain, 0 to 1, corrected
   for the number of groups (epsilon squared: T. L. Kelley, "An Unbiased Correlation Ratio Measure",
   PNAS 21, 1935). `sums` and `counts` of the values in each group, `squares`: the sum of all
   squared values. 0 for fewer than two groups that hold anything. */
double stats_explained(const double *sums, const size_t *counts, size_t group_count,
                       double squares);

#endif
