/*
 * compare.h: is a candidate faster than the baseline? Pairs, each measured in a fresh process of
 * its own and in random order, until the interval is narrow enough or the budget is spent
 * (stats.h).
 */
#ifndef GPU_COMPARE_H
#define GPU_COMPARE_H

#include "gpu/gpu.h"
#include "stats/stats.h"

typedef struct gpu_comparison {
    stats_comparison statistics;
    bool narrow;                    /* the width that was asked for has been reached */
    double baseline_s, candidate_s; /* medians over the pairs; weighted over the shapes */
    gpu_conditions conditions;      /* of the last pair; throttle reasons of all */
    double wall_s;
} gpu_comparison;

/* The GPU must have been loaded, and the candidate checked: pairs check nothing.
   EVOCC_INVALID_ARGUMENT when the candidate fails in one (the message has its outcome);
   EVOCC_INTERRUPTED by `wake_fd`. */
evocc_status gpu_compare(gpu_comparison *out, gpu *g, const gpu_job *job,
                         const gpu_request *candidate, const stats_plan *plan, int wake_fd,
                         evocc_error *error);

/* Of at most 256 samples, which is as many as a series has; NAN of none. */
double gpu_samples_median(const double *samples, uint32_t count);

/* What one pair, or one alternating series, says about both sides: each shape's medians, weighted.
 */
void gpu_result_sides(double *baseline_s, double *candidate_s, const gpu_result *result,
                      const gpu_job *job);

#endif
