/*
 * compare.h: are candidates faster than the baseline? Pairs, each measured in a fresh process and
 * in random order, until the interval is narrow enough or the budget is spent (stats.h).
 */
#ifndef GPU_COMPARE_H
#define GPU_COMPARE_H

#include "gpu/gpu.h"
#include "stats/stats.h"

typedef struct gpu_comparison {
    stats_comparison statistics;    /* of no pairs when `outcome` is not OK */
    bool narrow;                    /* the width that was asked for has been reached */
    double baseline_s, candidate_s; /* medians over the pairs; weighted over the shapes */
    gpu_conditions conditions;      /* of the last pair; throttle reasons of all */
    double wall_s;                  /* of all candidates together */
    evocc_outcome outcome;          /* not OK: the candidate failed in a pair, and got no more */
    char detail[200];               /* why */
} gpu_comparison;

typedef struct gpu_contest {
    const gpu_request *candidates; /* borrowed, with all that they name */
    size_t count;
    const stats_plan *plan; /* for each of them */
    int wake_fd;            /* readable: EVOCC_INTERRUPTED; -1: none */
    /* Called after each pair with what the process said; NULL: nobody wants to know. Anything but
       EVOCC_OK ends the contest and is returned. */
    evocc_status (*each)(void *context, size_t candidate, const gpu_result *result,
                         evocc_error *error);
    void *context;
} gpu_contest;

/* Every candidate against the baseline: a pair of each in every fresh process, in random order,
   until each is known narrowly enough or its budget is spent; out[i] of candidates[i]. The GPU must
   have been loaded, and the candidates checked: pairs check nothing. */
evocc_status gpu_compare_all(gpu_comparison *out, gpu *g, const gpu_job *job,
                             const gpu_contest *contest, evocc_error *error);

/* Of one candidate. EVOCC_INVALID_ARGUMENT when it fails in a pair (the message has its outcome);
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
