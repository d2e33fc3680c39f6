#include "gpu/compare.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/rng.h"

#include <math.h>
#include <stdio.h>
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

/* One candidate's part in a contest. */
typedef struct contender {
    stats_sequence *pairs;
    double *baseline, *candidate; /* s, pair by pair */
    size_t count, baseline_capacity, candidate_capacity;
    bool done;
} contender;

static evocc_status add_pair(contender *c, gpu_comparison *out, const gpu_result *result,
                             const gpu_job *job, evocc_error *error)
{
    double baseline_s;
    double candidate_s;
    gpu_result_sides(&baseline_s, &candidate_s, result, job);
    if (!mem_grow(&c->baseline, &c->baseline_capacity, c->count + 1, sizeof *c->baseline) ||
        !mem_grow(&c->candidate, &c->candidate_capacity, c->count + 1, sizeof *c->candidate)) {
        return error_no_memory(error);
    }
    c->baseline[c->count] = baseline_s;
    c->candidate[c->count] = candidate_s;
    c->count++;
    uint64_t throttle = out->conditions.throttle_reasons | result->conditions.throttle_reasons;
    out->conditions = result->conditions;
    out->conditions.throttle_reasons = throttle;
    evocc_status status = stats_sequence_add(c->pairs, baseline_s, candidate_s, error);
    c->done = status != EVOCC_OK || stats_sequence_next(c->pairs) != STATS_MORE;
    return status;
}

/* One pair in the process that is there. A candidate that fails is out. */
static evocc_status measure_pair(gpu *g, const gpu_contest *contest, size_t index, contender *c,
                                 gpu_comparison *out, const gpu_job *job, uint64_t seed,
                                 evocc_error *error)
{
    gpu_result result;
    gpu_request request = contest->candidates[index];
    request.check = false;
    request.measure = true;
    request.energy = false;
    request.pairs = TURNS;
    request.pair_seed = seed;
    evocc_status status = gpu_submit(g, &request, error);
    if (status == EVOCC_OK) {
        status = gpu_wait(g, -1, contest->wake_fd, &result, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (result.outcome != EVOCC_OUTCOME_OK) {
        out->outcome = result.outcome;
        snprintf(out->detail, sizeof out->detail, "%s", result.detail);
        c->done = true;
    } else {
        status = add_pair(c, out, &result, job, error);
        if (status == EVOCC_OK && contest->each != NULL) {
            status = contest->each(contest->context, index, &result, error);
        }
    }
    gpu_result_dispose(&result);
    return status;
}

/* The order of this round, of those that need more. */
static size_t draw_order(size_t *order, const contender *all, size_t count, rng *r)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].done) {
            order[left++] = i;
        }
    }
    for (size_t i = left; i > 1; i--) {
        size_t other = (size_t)rng_below(r, i);
        size_t swapped = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swapped;
    }
    return left;
}

static evocc_status run_rounds(gpu *g, const gpu_contest *contest, contender *all, size_t *order,
                               gpu_comparison *out, const gpu_job *job, evocc_error *error)
{
    rng r;
    rng_seed(&r, contest->plan->interval.seed);
    for (size_t left; (left = draw_order(order, all, contest->count, &r)) > 0;) {
        evocc_status status = gpu_restart(g, true, error);
        for (size_t i = 0; status == EVOCC_OK && i < left; i++) {
            size_t index = order[i];
            status =
                measure_pair(g, contest, index, &all[index], &out[index], job, rng_next(&r), error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

static evocc_status conclude(gpu_comparison *out, contender *c, evocc_error *error)
{
    if (out->outcome != EVOCC_OUTCOME_OK) {
        return EVOCC_OK;
    }
    out->narrow = stats_sequence_next(c->pairs) == STATS_NARROW;
    out->baseline_s = stats_median(c->baseline, c->count);
    out->candidate_s = stats_median(c->candidate, c->count);
    return stats_sequence_result(&out->statistics, c->pairs, error);
}

evocc_status gpu_compare_all(gpu_comparison *out, gpu *g, const gpu_job *job,
                             const gpu_contest *contest, evocc_error *error)
{
    double begin_s = clock_now_s();
    contender *all = mem_alloc(contest->count, sizeof *all);
    size_t *order = mem_alloc(contest->count, sizeof *order);
    evocc_status status = all != NULL && order != NULL ? EVOCC_OK : error_no_memory(error);
    for (size_t i = 0; i < contest->count && status == EVOCC_OK; i++) {
        out[i] = (gpu_comparison){.outcome = EVOCC_OUTCOME_OK};
        status = stats_sequence_new(&all[i].pairs, contest->plan, error);
    }
    if (status == EVOCC_OK) {
        status = run_rounds(g, contest, all, order, out, job, error);
    }
    for (size_t i = 0; i < contest->count && status == EVOCC_OK; i++) {
        status = conclude(&out[i], &all[i], error);
        out[i].wall_s = clock_now_s() - begin_s;
    }
    for (size_t i = 0; all != NULL && i < contest->count; i++) {
        stats_sequence_free(all[i].pairs);
        mem_free(all[i].baseline);
        mem_free(all[i].candidate);
    }
    mem_free(all);
    mem_free(order);
    return status;
}

evocc_status gpu_compare(gpu_comparison *out, gpu *g, const gpu_job *job,
                         const gpu_request *candidate, const stats_plan *plan, int wake_fd,
                         evocc_error *error)
{
    const gpu_contest contest = {
        .candidates = candidate, .count = 1, .plan = plan, .wake_fd = wake_fd};
    evocc_status status = gpu_compare_all(out, g, job, &contest, error);
    return status == EVOCC_OK && out->outcome != EVOCC_OUTCOME_OK
               ? error_set(error, EVOCC_INVALID_ARGUMENT, "%s: %s",
                           evocc_outcome_name(out->outcome), out->detail)
               : status;
}
