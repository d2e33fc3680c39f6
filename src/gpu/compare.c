#include "gpu/compare.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

/* Within one process: enough turns that the median of either side is better known than processes
   differ from each other. */
enum { TURNS = 5 };

double gpu_samples_median(const double *samples, uint32_t count)
{
    double sorted[256];
    count = count < 256 ? count : 256;
    memcpy(sorted, samples, count * sizeof *sorted);
    return count > 0 ? stats_median(sorted, count) : (double)NAN;
}

void gpu_result_sides(double *baseline_s, double *candidate_s, const gpu_result *result,
                      const gpu_job *job)
{
    double baseline = 0;
    double candidate = 0;
    double weights = 0;
    for (size_t i = 0; i < result->timing_count && i < job->shape_count; i++) {
        const gpu_timing *t = &result->timings[i];
        double weight = job->shapes[i].weight;
        baseline += weight * log(gpu_samples_median(t->baseline, t->baseline_count));
        candidate += weight * log(gpu_samples_median(t->samples, t->sample_count));
        weights += weight;
    }
    *baseline_s = exp(baseline / weights);
    *candidate_s = exp(candidate / weights);
}

/* One pair. EVOCC_OK with a failed candidate is none. */
static evocc_status measure_pair(gpu *g, gpu_request request, int wake_fd, gpu_result *result,
                                 evocc_error *error)
{
    request.check = false;
    request.measure = true;
    request.energy = false;
    request.pairs = TURNS;
    evocc_status status = gpu_restart(g, true, error);
    if (status == EVOCC_OK) {
        status = gpu_submit(g, &request, error);
    }
    if (status == EVOCC_OK) {
        status = gpu_wait(g, -1, wake_fd, result, error);
    }
    if (status == EVOCC_OK && result->outcome != EVOCC_OUTCOME_OK) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "%s: %s",
                           evocc_outcome_name(result->outcome), result->detail);
        gpu_result_dispose(result);
    }
    return status;
}

typedef struct sides {
    double *baseline, *candidate;
    size_t count, baseline_capacity, candidate_capacity;
} sides;

static evocc_status add_pair(gpu_comparison *out, sides *s, stats_sequence *pairs,
                             const gpu_result *result, const gpu_job *job, evocc_error *error)
{
    double baseline_s;
    double candidate_s;
    gpu_result_sides(&baseline_s, &candidate_s, result, job);
    if (!mem_grow(&s->baseline, &s->baseline_capacity, s->count + 1, sizeof *s->baseline) ||
        !mem_grow(&s->candidate, &s->candidate_capacity, s->count + 1, sizeof *s->candidate)) {
        return error_no_memory(error);
    }
    s->baseline[s->count] = baseline_s;
    s->candidate[s->count] = candidate_s;
    s->count++;
    uint64_t throttle = out->conditions.throttle_reasons | result->conditions.throttle_reasons;
    out->conditions = result->conditions;
    out->conditions.throttle_reasons = throttle;
    return stats_sequence_add(pairs, baseline_s, candidate_s, error);
}

evocc_status gpu_compare(gpu_comparison *out, gpu *g, const gpu_job *job,
                         const gpu_request *candidate, const stats_plan *plan, int wake_fd,
                         evocc_error *error)
{
    stats_sequence *pairs = NULL;
    sides s = {0};
    rng r;
    gpu_request request = *candidate;
    double begin_s = clock_now_s();
    *out = (gpu_comparison){0};
    rng_seed(&r, plan->interval.seed);
    evocc_status status = stats_sequence_new(&pairs, plan, error);
    while (status == EVOCC_OK && stats_sequence_next(pairs) == STATS_MORE) {
        gpu_result result;
        request.pair_seed = rng_next(&r);
        status = measure_pair(g, request, wake_fd, &result, error);
        if (status == EVOCC_OK) {
            status = add_pair(out, &s, pairs, &result, job, error);
            gpu_result_dispose(&result);
        }
    }
    if (status == EVOCC_OK) {
        status = stats_sequence_result(&out->statistics, pairs, error);
    }
    if (status == EVOCC_OK) {
        out->narrow = stats_sequence_next(pairs) == STATS_NARROW;
        out->baseline_s = stats_median(s.baseline, s.count);
        out->candidate_s = stats_median(s.candidate, s.count);
        out->wall_s = clock_now_s() - begin_s;
    }
    stats_sequence_free(pairs);
    mem_free(s.baseline);
    mem_free(s.candidate);
    return status;
}
