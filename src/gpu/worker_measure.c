/*
 * worker_measure.c: how long does a launch take?
 *
 * A sample is a batch of launches between two events, its number chosen by a pilot run so that the
 * batch is long against the resolution of events (0.5 us) and the gaps around it. One launch before
 * the first event warms the instruction cache, so that taking turns costs neither side. Where the
 * L2 is flushed or buffers are restored before each launch, each launch has its own two events, and
 * a sample is the mean over the batch. Clocks, temperature and power are read while a batch runs.
 */
#include "gpu/worker.h"

#include "stats/stats.h"
#include "util/rng.h"

#include <math.h>
#include <stdio.h>

/* One side of a comparison on one shape. */
typedef struct subject {
    const kernel *kernel;
    const shape_state *shape;
    const gpu_launch *launch;
    uint32_t batch;
    double launch_s; /* estimate */
} subject;

enum { BATCH_MAX = 1000, PARTED_MAX = 64 };

double worker_weighted_mean(const worker *w, const double *values)
{
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i < w->job.shape_count; i++) {
        sum += w->job.shapes[i].weight * log(values[i]);
        weights += w->job.shapes[i].weight;
    }
    return exp(sum / weights);
}

static bool is_parted(const worker *w)
{
    return w->job.measure.flush_l2 || w->job.measure.restore;
}

static bool record(worker *w, size_t event, failure *f)
{
    return worker_ok(w, w->cuda.event_record(w->events[event], w->stream), "recording an event", f);
}

static bool elapsed(worker *w, double *out, size_t first, size_t second, failure *f)
{
    float ms;
    if (!worker_ok(w, w->cuda.event_elapsed(&ms, w->events[first], w->events[second]),
                   "reading an event", f)) {
        return false;
    }
    *out = (double)ms * 1e-3;
    return true;
}

/* Long enough for anything but a hang. */
static double patience_s(const worker *w, const subject *s, uint32_t launches)
{
    return w->job.measure.deadline_s + 4 * s->launch_s * launches;
}

/* ---- One sample ------------------------------------------------------------------------------ */

static bool queue_launches(worker *w, const subject *s, uint32_t count, failure *f)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!worker_launch(w, s->kernel, s->shape, s->launch, f)) {
            return false;
        }
    }
    return true;
}

/* The batch as one graph: what the host does between launches is not in it. */
static bool capture(worker *w, const subject *s, cu_graph_exec *out, failure *f)
{
    cu_graph graph = NULL;
    if (!worker_ok(w, w->cuda.capture_begin(w->stream, CU_CAPTURE_THREAD_LOCAL),
                   "capturing a graph", f)) {
        return false;
    }
    bool queued = queue_launches(w, s, s->batch, f);
    cu_result ended = w->cuda.capture_end(w->stream, &graph);
    bool ok = queued && worker_ok(w, ended, "capturing a graph", f) &&
              worker_ok(w, w->cuda.graph_instantiate(out, graph, 0), "making a graph", f);
    if (graph != NULL) {
        w->cuda.graph_destroy(graph);
    }
    return ok;
}

static bool queue_batch(worker *w, const subject *s, failure *f)
{
    /* The untimed launch costs little beside the batch, and nothing is gained by it when one launch
       is a batch by itself. */
    uint32_t warm = s->launch_s < w->job.measure.batch_s ? 1 : 0;
    if (!w->job.measure.graph) {
        return queue_launches(w, s, warm, f) && record(w, 0, f) &&
               queue_launches(w, s, s->batch, f) && record(w, 1, f);
    }
    cu_graph_exec graph = NULL;
    bool ok = capture(w, s, &graph, f) && queue_launches(w, s, warm, f) && record(w, 0, f) &&
              worker_ok(w, w->cuda.graph_launch(graph, w->stream), "launching a graph", f) &&
              record(w, 1, f);
    if (graph != NULL) {
        w->cuda.graph_exec_destroy(graph); /* the driver keeps it until it has run */
    }
    return ok;
}

static bool queue_parted(worker *w, const subject *s, failure *f)
{
    for (uint32_t i = 0; i < s->batch; i++) {
        if (w->job.measure.restore && !worker_restore_inout(w, s->shape, 0, f)) {
            return false;
        }
        if (w->job.measure.flush_l2 &&
            !worker_ok(w, w->cuda.fill_async(w->flush.base, i, w->flush.bytes / 4, w->stream),
                       "flushing the L2", f)) {
            return false;
        }
        if (!record(w, (size_t)2 * i, f) || !queue_launches(w, s, 1, f) ||
            !record(w, (size_t)2 * i + 1, f)) {
            return false;
        }
    }
    return true;
}

/* Seconds of one launch, mean over the batch. `seen`: what NVML says meanwhile, unless NULL. */
static bool sample(worker *w, const subject *s, double *out, nvml_state *seen, failure *f)
{
    bool parted = is_parted(w);
    if (!(parted ? queue_parted(w, s, f) : queue_batch(w, s, f))) {
        return false;
    }
    if (seen != NULL) {
        nvml_read(seen, w->nvml);
    }
    if (!worker_wait(w, patience_s(w, s, s->batch + 1), f)) {
        return false;
    }
    double total_s = 0;
    for (uint32_t i = 0; i < (parted ? s->batch : 1); i++) {
        double part_s;
        if (!elapsed(w, &part_s, (size_t)2 * i, (size_t)2 * i + 1, f)) {
            return false;
        }
        total_s += part_s;
    }
    *out = total_s / s->batch;
    w->busy_s += total_s;
    return true;
}

/* The first launch loads the code; the second tells about how long one takes; a small batch tells
   better. Sets launch_s and batch. */
static bool pilot(worker *w, subject *s, failure *f)
{
    const gpu_measure_plan *m = &w->job.measure;
    double wanted;
    s->launch_s = m->batch_s; /* no warm-up launch inside yet */
    s->batch = 1;
    for (int round = 0; round < 3; round++) {
        if (!sample(w, s, &s->launch_s, NULL, f)) {
            return false;
        }
        s->launch_s = s->launch_s > 1e-7 ? s->launch_s : 1e-7;
        wanted = (round == 2 ? 1 : round == 1 ? 0.2 : 0) * m->batch_s / s->launch_s;
        uint32_t most = is_parted(w) ? PARTED_MAX : BATCH_MAX;
        s->batch = wanted <= 1 ? 1 : wanted >= most ? most : (uint32_t)ceil(wanted);
        if (round > 0 && wanted <= 1) {
            break;
        }
    }
    return true;
}

/* The baseline's, once for all candidates. */
static bool pilot_baseline(worker *w, subject *s, shape_state *shape, failure *f)
{
    if (shape->baseline_batch == 0) {
        if (!pilot(w, s, f)) {
            return false;
        }
        shape->baseline_batch = s->batch;
        shape->baseline_s = s->launch_s;
    }
    s->batch = shape->baseline_batch;
    s->launch_s = shape->baseline_s;
    return true;
}

/* ---- Series of samples ----------------------------------------------------------------------- */

static bool make_room(gpu_timing *t, uint32_t samples, uint32_t baseline, failure *f)
{
    t->samples = mem_alloc(samples, sizeof *t->samples);
    t->baseline = mem_alloc(baseline, sizeof *t->baseline);
    return (t->samples != NULL && t->baseline != NULL) || worker_no_memory(f);
}

static bool is_known(const gpu_timing *t, double width)
{
    double sorted[256];
    uint32_t count = t->sample_count < 256 ? t->sample_count : 256;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = t->samples[i];
    }
    return stats_relative_width(sorted, count) <= width;
}

static void note_conditions(gpu_conditions *c, const nvml_state *seen)
{
    c->sm_clock_hz = seen->sm_clock_hz;
    c->memory_clock_hz = seen->memory_clock_hz;
    c->temperature_c = seen->temperature_c;
    c->power_w = seen->power_w;
    c->throttle_reasons |= seen->throttle_reasons;
}

/* What many launches in a row leave behind must be right, too: a race that is rare, or needs a busy
   GPU, shows here. Not where launches build upon each other. */
static bool check_timed(worker *w, const shape_state *s, uint32_t launches, failure *f)
{
    for (size_t i = 0; i < s->plan->count; i++) {
        const gpu_argument *a = &s->plan->arguments[i];
        if (a->is_buffer && a->access == GPU_INOUT && !w->job.measure.restore) {
            return true;
        }
    }
    if (worker_compare(w, s, 0, 0, f)) {
        return true;
    }
    char text[sizeof f->text];
    snprintf(text, sizeof text, "after %u launches in a row: %.340s", launches, f->text);
    snprintf(f->text, sizeof f->text, "%s", text);
    return false;
}

/* The candidate until it is known well enough, the baseline before and behind. */
static bool sample_alone(worker *w, const subject *candidate, const subject *baseline,
                         gpu_timing *t, gpu_conditions *conditions, failure *f)
{
    const gpu_measure_plan *m = &w->job.measure;
    nvml_state seen;
    if (!make_room(t, m->max_samples, 2, f) || !sample(w, baseline, &t->baseline[0], NULL, f)) {
        return false;
    }
    t->baseline_count = 1;
    while (t->sample_count < m->max_samples) {
        if (!sample(w, candidate, &t->samples[t->sample_count], NULL, f)) {
            return false;
        }
        t->sample_count++;
        if (t->sample_count >= m->min_samples && is_known(t, m->width)) {
            break;
        }
    }
    if (!check_timed(w, candidate->shape, t->sample_count * t->batch, f) ||
        !sample(w, baseline, &t->baseline[1], &seen, f)) {
        return false;
    }
    t->baseline_count = 2;
    note_conditions(conditions, &seen);
    return true;
}

static bool sample_pairs(worker *w, const subject *candidate, const subject *baseline,
                         const gpu_request *request, gpu_timing *t, gpu_conditions *conditions,
                         failure *f)
{
    rng r;
    nvml_state seen;
    rng_seed(&r, request->pair_seed);
    if (!make_room(t, request->pairs, request->pairs, f)) {
        return false;
    }
    for (uint32_t i = 0; i < request->pairs; i++) {
        bool baseline_first = rng_below(&r, 2) == 0;
        for (int turn = 0; turn < 2; turn++) {
            bool is_baseline = (turn == 0) == baseline_first;
            double *out = is_baseline ? &t->baseline[i] : &t->samples[i];
            bool last = i + 1 == request->pairs && turn == 1;
            if (!sample(w, is_baseline ? baseline : candidate, out, last ? &seen : NULL, f)) {
                return false;
            }
        }
        t->sample_count = t->baseline_count = i + 1;
    }
    note_conditions(conditions, &seen);
    return true;
}

/* ---- A request ------------------------------------------------------------------------------- */

static bool prepare_flush(worker *w, failure *f)
{
    if (!w->job.measure.flush_l2 || w->flush.base != 0) {
        return true;
    }
    size_t bytes = w->info.l2_bytes > 0 ? (size_t)(2 * w->info.l2_bytes) : (size_t)256 << 20;
    return worker_allocate(w, &w->flush, bytes, "flushing the L2", f);
}

/* Both sides of one shape, with working data as a launch finds it. */
static bool prepare_subjects(worker *w, size_t shape, const kernel *k, const gpu_request *request,
                             subject *candidate, subject *baseline, failure *f)
{
    const shape_state *s = &w->shapes[shape];
    *baseline = (subject){.kernel = &w->baseline, .shape = s, .launch = &s->plan->launch};
    *candidate = (subject){.kernel = k,
                           .shape = s,
                           .launch = request->launches != NULL ? &request->launches[shape]
                                                               : &s->plan->launch};
    return worker_restore(w, s, 0, 0, f) &&
           worker_allow(w, baseline->kernel, baseline->launch, f) &&
           worker_allow(w, k, candidate->launch, f);
}

/* Pilot runs of all shapes come first: they tell who is too slow to be worth more. */
static bool run_pilots(worker *w, const kernel *k, const gpu_request *request, subject *candidates,
                       subject *baselines, double *estimate, failure *f)
{
    double logs = 0;
    double weights = 0;
    for (size_t i = 0; i < w->job.shape_count; i++) {
        if (!prepare_subjects(w, i, k, request, &candidates[i], &baselines[i], f) ||
            !pilot_baseline(w, &baselines[i], &w->shapes[i], f) || !pilot(w, &candidates[i], f)) {
            return false;
        }
        logs += w->job.shapes[i].weight * log(candidates[i].launch_s);
        weights += w->job.shapes[i].weight;
    }
    *estimate = exp(logs / weights);
    return true;
}

static bool keep_pilots(gpu_result *result, const subject *candidates, failure *f)
{
    for (size_t i = 0; i < result->timing_count; i++) {
        if (!make_room(&result->timings[i], 1, 0, f)) {
            return false;
        }
        result->timings[i].samples[0] = candidates[i].launch_s;
        result->timings[i].sample_count = 1;
        result->timings[i].batch = candidates[i].batch;
    }
    result->early = true;
    return true;
}

static bool measure_shapes(worker *w, const gpu_request *request, const subject *candidates,
                           const subject *baselines, gpu_result *result, failure *f)
{
    for (size_t i = 0; i < w->job.shape_count; i++) {
        gpu_timing *t = &result->timings[i];
        t->batch = candidates[i].batch;
        if (!worker_restore(w, &w->shapes[i], 0, 0, f)) {
            return false;
        }
        bool ok =
            request->pairs > 0
                ? sample_pairs(w, &candidates[i], &baselines[i], request, t, &result->conditions, f)
                : sample_alone(w, &candidates[i], &baselines[i], t, &result->conditions, f);
        if (!ok) {
            return false;
        }
    }
    return true;
}

static double median_of(const double *values, uint32_t count)
{
    double sorted[1024];
    count = count < 1024 ? count : 1024;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = values[i];
    }
    return stats_median(sorted, count);
}

static bool measure(worker *w, const kernel *k, const gpu_request *request, subject *candidates,
                    double *medians, gpu_result *result, failure *f)
{
    const gpu_measure_plan *m = &w->job.measure;
    subject *baselines = candidates + w->job.shape_count;
    double estimate;
    if (!prepare_flush(w, f) || !run_pilots(w, k, request, candidates, baselines, &estimate, f)) {
        return false;
    }
    bool slow = request->pairs == 0 && request->bound_s > 0 && m->slow > 0 &&
                estimate > m->slow * request->bound_s;
    if (!(slow ? keep_pilots(result, candidates, f)
               : measure_shapes(w, request, candidates, baselines, result, f))) {
        return false;
    }
    for (size_t i = 0; i < w->job.shape_count; i++) {
        medians[i] = median_of(result->timings[i].samples, result->timings[i].sample_count);
    }
    result->runtime_s = worker_weighted_mean(w, medians);
    return !request->energy || slow || worker_measure_energy(w, k, request, medians, result, f);
}

bool worker_measure(worker *w, const kernel *k, const gpu_request *request, gpu_result *result,
                    failure *f)
{
    size_t count = w->job.shape_count;
    subject *subjects = mem_alloc(2 * count, sizeof *subjects);
    double *medians = mem_alloc(count, sizeof *medians);
    result->timings = mem_alloc(count, sizeof *result->timings);
    result->timing_count = result->timings != NULL ? count : 0;
    const double unknown = (double)NAN;
    result->conditions = (gpu_conditions){unknown, unknown, unknown, unknown, 0};
    bool ok = subjects != NULL && medians != NULL && result->timings != NULL
                  ? measure(w, k, request, subjects, medians, result, f)
                  : worker_no_memory(f);
    mem_free(subjects);
    mem_free(medians);
    return ok;
}
