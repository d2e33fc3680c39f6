/*
 * worker_energy.c: how much energy does a launch take?
 *
 * NVML's total energy counter moves in steps (every 100 ms on an H200), each telling what was used
 * since the last one. Launches follow each other without a gap for a window of many steps; the
 * window begins and ends at a step, which the host sees within a poll. Then power = (energy at the
 * end - energy at the start) / (time between the two steps) energy of a launch = power * (time from
 * one launch to the next) The cache is warm and buffers are not restored: anything between launches
 * would be counted.
 */
#include "gpu/worker.h"

#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { IN_FLIGHT = 3 }; /* batches queued ahead, so that the GPU never waits for the host */
static const double BATCH_S = 5e-3, STEP_LIMIT_S = 3;

typedef struct stream_of_launches {
    worker *w;
    const kernel *kernel;
    const shape_state *shape;
    const gpu_launch *launch;
    uint32_t batch;
    uint64_t queued, done;  /* batches */
    double first_s, last_s; /* host time at the end of the first and last finished batch */
    uint64_t first_done;
} stream_of_launches;

/* Keeps the queue full and notes what has ended. */
static bool pump(stream_of_launches *l, failure *f)
{
    worker *w = l->w;
    while (l->queued - l->done < IN_FLIGHT) {
        for (uint32_t i = 0; i < l->batch; i++) {
            if (!worker_launch(w, l->kernel, l->shape, l->launch, f)) {
                return false;
            }
        }
        if (!worker_ok(w, w->cuda.event_record(w->events[l->queued % IN_FLIGHT], w->stream),
                       "recording an event", f)) {
            return false;
        }
        l->queued++;
    }
    cu_result result = w->cuda.event_query(w->events[l->done % IN_FLIGHT]);
    if (result == CU_NOT_READY) {
        return true;
    }
    if (!worker_ok(w, result, "running the kernel", f)) {
        return false;
    }
    l->last_s = clock_now_s();
    l->done++;
    if (l->first_done == 0) {
        l->first_done = l->done;
        l->first_s = l->last_s;
    }
    return true;
}

typedef struct step {
    double energy_j, at_s, gap_s; /* gap: from the poll before */
} step;

/* The counter's next step, not before `after_s`. */
static bool next_step(stream_of_launches *l, double after_s, step *out, failure *f)
{
    const struct timespec nap = {.tv_nsec = 100000};
    double limit_s = (after_s > clock_now_s() ? after_s : clock_now_s()) + STEP_LIMIT_S;
    double before_j = nvml_energy_j(l->w->nvml);
    double polled_s = clock_now_s();
    for (;;) {
        if (!pump(l, f)) {
            return false;
        }
        double now_j = nvml_energy_j(l->w->nvml);
        double now_s = clock_now_s();
        if (now_j > before_j) {
            if (now_s >= after_s) {
                *out = (step){now_j, now_s, now_s - polled_s};
                return true;
            }
            before_j = now_j;
        } else if (!(now_s < limit_s)) {
            *f = (failure){.outcome = EVOCC_OUTCOME_UNSTABLE};
            snprintf(f->text, sizeof f->text,
                     "the GPU's energy counter did not move for %g s under load; energy cannot be "
                     "measured here",
                     STEP_LIMIT_S);
            return false;
        }
        polled_s = now_s;
        nanosleep(&nap, NULL);
    }
}

static bool measure_shape(stream_of_launches *l, double *energy_j, double *resolution_j,
                          gpu_energy *total, failure *f)
{
    step begin;
    step end;
    if (!next_step(l, 0, &begin, f)) { /* what ran before this step is not ours */
        return false;
    }
    l->first_done = 0;
    if (!next_step(l, begin.at_s + l->w->job.measure.energy_s, &end, f)) {
        return false;
    }
    if (!worker_wait(l->w, l->w->job.measure.deadline_s + 10 * IN_FLIGHT * BATCH_S, f)) {
        return false;
    }
    double window_s = end.at_s - begin.at_s;
    double power_w = (end.energy_j - begin.energy_j) / window_s;
    double launches = (double)(l->done - l->first_done) * l->batch;
    if (!(launches > 0)) {
        *f = (failure){.outcome = EVOCC_OUTCOME_UNSTABLE};
        snprintf(f->text, sizeof f->text,
                 "a launch is longer than the energy window of %g s; make the window longer",
                 l->w->job.measure.energy_s);
        return false;
    }
    double period_s = (l->last_s - l->first_s) / launches;
    *energy_j = power_w * period_s;
    *resolution_j = *energy_j * (begin.gap_s + end.gap_s) / window_s + 1e-3 * period_s / window_s;
    total->power_w += power_w * window_s;
    total->window_s += window_s;
    l->w->busy_s += window_s;
    return true;
}

bool worker_measure_energy(worker *w, const kernel *k, const gpu_request *request,
                           const double *seconds, gpu_result *result, failure *f)
{
    size_t count = w->job.shape_count;
    double *energies = mem_alloc(count, sizeof *energies);
    double resolution = 0;
    bool ok = energies != NULL;
    if (!ok) {
        worker_no_memory(f);
    }
    gpu_energy total = {0};
    for (size_t i = 0; ok && i < count; i++) {
        double launches = BATCH_S / seconds[i];
        double resolution_j;
        stream_of_launches l = {
            .w = w,
            .kernel = k,
            .shape = &w->shapes[i],
            .launch =
                request->launches != NULL ? &request->launches[i] : &w->shapes[i].plan->launch,
            .batch = launches < 1       ? 1
                     : launches > 10000 ? 10000
                                        : (uint32_t)launches,
        };
        ok = worker_restore(w, l.shape, 0, 0, f) && worker_allow(w, k, l.launch, f) &&
             measure_shape(&l, &energies[i], &resolution_j, &total, f);
        if (ok && resolution_j / energies[i] > resolution) {
            resolution = resolution_j / energies[i];
        }
    }
    if (ok) {
        total.power_w /= total.window_s;
        total.per_launch_j = worker_weighted_mean(w, energies);
        total.resolution_j = resolution * total.per_launch_j;
        result->energy = total;
    }
    mem_free(energies);
    return ok;
}
