/*
 * worker_check.c: is what a candidate computes right?
 *
 * Before each checked run every buffer is restored: inputs from their pristine copies, outputs to a
 * poison that is a NaN where the type has one. After it every buffer is compared, guards included:
 * outputs with the reference, inputs with their pristine copies. References come from a run of the
 * baseline under the same poison, so an element that the baseline leaves alone must be left alone
 * by the candidate, too; a second poison tells such elements from those that the baseline does
 * write.
 */
#include "gpu/worker.h"

#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Comparison ------------------------------------------------------------------------------ */

/* Queues the comparison of argument i with `wanted`. */
static bool queue_compare(worker *w, const shape_state *s, size_t i, cu_pointer wanted, failure *f)
{
    const region *r = &s->work[i];
    uint64_t left = r->base;
    uint64_t right = wanted;
    uint64_t chunks = r->bytes / 16;
    uint64_t verdict = w->verdicts + 16 * i;
    void *parameters[] = {&left, &right, &chunks, &verdict};
    uint64_t blocks = (chunks + 255) / 256;
    unsigned int most =
        8U * (unsigned int)(w->info.multiprocessors > 0 ? w->info.multiprocessors : 1);
    const cu_launch_config config = {
        .grid = {blocks < most ? (unsigned int)blocks : most, 1, 1},
        .block = {256, 1, 1},
        .stream = w->stream,
    };
    return worker_ok(w, w->cuda.launch(&config, w->compare, parameters, NULL), "comparing outputs",
                     f);
}

/* Both sides on the host. EVOCC_NO_MEMORY counts as the machine's fault. */
typedef struct both {
    char *found, *wanted;
} both;

static void both_dispose(both *b)
{
    mem_free(b->found);
    mem_free(b->wanted);
}

static bool both_download(both *b, worker *w, const region *r, cu_pointer wanted, failure *f)
{
    b->found = mem_alloc(r->bytes, 1);
    b->wanted = mem_alloc(r->bytes, 1);
    if (b->found == NULL || b->wanted == NULL) {
        return worker_no_memory(f);
    }
    return worker_ok(w, w->cuda.download(b->found, r->base, r->bytes), "reading outputs", f) &&
           worker_ok(w, w->cuda.download(b->wanted, wanted, r->bytes), "reading outputs", f);
}

/* "0.25 (0x3e800000)" */
static void element_text(char *out, size_t size, dtype type, const void *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, dtype_bytes(type));
    double value = dtype_read(type, element);
    snprintf(out, size, "%.9g (0x%0*llx)", isnan(value) ? (double)NAN : value,
             (int)dtype_bytes(type) * 2, (unsigned long long)bits);
}

static void describe_element(failure *f, const shape_state *s, const gpu_argument *a, uint64_t at,
                             const both *b, uint64_t wrong_count)
{
    char found[64];
    char wanted[64];
    size_t offset = GUARD_BYTES + (size_t)at * dtype_bytes(a->type);
    element_text(found, sizeof found, a->type, b->found + offset);
    element_text(wanted, sizeof wanted, a->type, b->wanted + offset);
    uint32_t poison = worker_poison(a->type, 0);
    bool unwritten = memcmp(b->found + offset, &poison,
                            dtype_bytes(a->type) < 4 ? dtype_bytes(a->type) : 4) == 0;
    const char *what = a->access == GPU_IN ? "input" : "output";
    snprintf(f->text, sizeof f->text,
             "shape '%s', %s '%s': element %llu is %s%s, not %s; %llu of %llu are wrong",
             s->plan->name, what, a->name, (unsigned long long)at, found,
             unwritten ? ", never written" : "", wanted, (unsigned long long)wrong_count,
             (unsigned long long)a->elements);
}

/* Root mean square of the finite elements. */
static double rms_of(const gpu_argument *a, const char *data)
{
    double squares = 0;
    double count = 0;
    for (uint64_t i = 0; i < a->elements; i++) {
        double value = dtype_read(a->type, data + i * dtype_bytes(a->type));
        if (isfinite(value)) {
            squares += value * value;
            count++;
        }
    }
    return count > 0 ? sqrt(squares / count) : 0;
}

static bool close_enough(const gpu_argument *a, double found, double wanted, double rms)
{
    if (isnan(wanted)) {
        return isnan(found);
    }
    if (!isfinite(wanted) || !isfinite(found)) {
        return found == wanted;
    }
    const gpu_tolerance *t = &a->tolerance;
    return fabs(found - wanted) <= t->absolute + t->relative * fabs(wanted) + t->rms * rms;
}

/* False: some element is wrong, and *f tells the first and how many. `other`: unless NULL, the same
   run under the other poison; what is poison in both was not written and is right. */
static bool compare_elements(const shape_state *s, const gpu_argument *a, const both *b,
                             bool second_poison, failure *f)
{
    size_t size = dtype_bytes(a->type);
    bool exact = a->access == GPU_IN || gpu_tolerance_is_exact(&a->tolerance);
    double rms = exact ? 0 : rms_of(a, b->wanted + GUARD_BYTES);
    uint32_t poison[2] = {worker_poison(a->type, 0), worker_poison(a->type, 1)};
    uint64_t poison8[2] = {poison[0] | (uint64_t)poison[0] << 32,
                           poison[1] | (uint64_t)poison[1] << 32};
    uint64_t first = UINT64_MAX;
    uint64_t count = 0;
    for (uint64_t i = 0; i < a->elements; i++) {
        const char *found = b->found + GUARD_BYTES + i * size;
        const char *wanted = b->wanted + GUARD_BYTES + i * size;
        if (memcmp(found, wanted, size) == 0) {
            continue;
        }
        bool unwritten = second_poison && memcmp(found, &poison8[1], size) == 0 &&
                         memcmp(wanted, &poison8[0], size) == 0;
        if (!unwritten && (exact || !close_enough(a, dtype_read(a->type, found),
                                                  dtype_read(a->type, wanted), rms))) {
            first = count++ == 0 ? i : first;
        }
    }
    if (count > 0) {
        *f = (failure){.outcome = EVOCC_OUTCOME_WRONG_OUTPUT};
        describe_element(f, s, a, first, b, count);
    }
    return count == 0;
}

/* The guards and the padding behind the data. Under the second poison they hold that one. */
static bool guards_are_whole(const shape_state *s, size_t i, const both *b, bool second_poison,
                             failure *f)
{
    const gpu_argument *a = &s->plan->arguments[i];
    const region *r = &s->work[i];
    size_t end = GUARD_BYTES + worker_data_bytes(a);
    uint32_t poison = worker_poison(a->type, second_poison ? 1 : 0);
    for (size_t at = 0; at < r->bytes; at++) {
        if (at == GUARD_BYTES) {
            at = end;
        }
        unsigned char wanted = second_poison ? (unsigned char)(poison >> (8 * (at % 4)))
                                             : (unsigned char)b->wanted[at];
        if ((unsigned char)b->found[at] != wanted) {
            *f = (failure){.outcome = EVOCC_OUTCOME_WRONG_OUTPUT};
            snprintf(f->text, sizeof f->text,
                     "shape '%s': written outside of '%s', %zu bytes %s its data", s->plan->name,
                     a->name, at < end ? GUARD_BYTES - at : at - end,
                     at < end ? "before" : "behind");
            return false;
        }
    }
    return true;
}

/* On the host, for what the GPU found to differ bit for bit. */
static bool compare_closely(worker *w, const shape_state *s, size_t i, cu_pointer wanted,
                            bool second_poison, failure *f)
{
    both b = {0};
    bool right =
        both_download(&b, w, &s->work[i], wanted, f) &&
        compare_elements(s, &s->plan->arguments[i], &b, second_poison, f) &&
        guards_are_whole(s, i, &b, second_poison && s->plan->arguments[i].access == GPU_OUT, f);
    both_dispose(&b);
    return right;
}

static cu_pointer wanted_of(const shape_state *s, size_t i, uint32_t seed)
{
    size_t at = seed * s->plan->count + i;
    return worker_is_output(&s->plan->arguments[i]) ? s->expected[at] : s->pristine[at];
}

bool worker_compare(worker *w, const shape_state *s, uint32_t seed, int poison, failure *f)
{
    uint64_t verdicts[2 * 64];
    size_t count = s->plan->count;
    if (!worker_ok(w, w->cuda.fill_async(w->verdicts, 0, 4 * w->verdict_count, w->stream),
                   "comparing outputs", f)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (s->work[i].base != 0 && !queue_compare(w, s, i, wanted_of(s, i, seed), f)) {
            return false;
        }
    }
    if (!worker_wait(w, w->job.measure.deadline_s, f) ||
        !worker_ok(w, w->cuda.download(verdicts, w->verdicts, 16 * count), "comparing outputs",
                   f)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (s->work[i].base != 0 && verdicts[2 * i] != 0 &&
            !compare_closely(w, s, i, wanted_of(s, i, seed), poison != 0, f)) {
            return false;
        }
    }
    return true;
}

bool worker_run_and_compare(worker *w, const kernel *k, const shape_state *s,
                            const gpu_launch *launch, uint32_t seed, int poison, failure *f)
{
    double begin_s = clock_now_s();
    bool right = worker_restore(w, s, seed, poison, f) && worker_launch(w, k, s, launch, f) &&
                 worker_compare(w, s, seed, poison, f);
    w->busy_s += clock_now_s() - begin_s; /* the host only waits in between */
    return right;
}

/* The very first run, with its time. */
static bool first_run(worker *w, const kernel *k, const shape_state *s, const gpu_launch *launch,
                      double *seconds, failure *f)
{
    float ms;
    if (!worker_restore(w, s, 0, 0, f) ||
        !worker_ok(w, w->cuda.event_record(w->events[0], w->stream), "recording an event", f) ||
        !worker_launch(w, k, s, launch, f) ||
        !worker_ok(w, w->cuda.event_record(w->events[1], w->stream), "recording an event", f) ||
        !worker_compare(w, s, 0, 0, f) ||
        !worker_ok(w, w->cuda.event_elapsed(&ms, w->events[0], w->events[1]), "reading an event",
                   f)) {
        return false;
    }
    *seconds = (double)ms * 1e-3;
    w->busy_s += *seconds;
    return true;
}

static bool check_shape(worker *w, const kernel *k, const shape_state *s, const gpu_launch *launch,
                        uint32_t done, failure *f)
{
    for (uint32_t seed = 0; seed < w->job.check.seeds; seed++) {
        for (uint32_t run = seed == 0 ? done : 0; run < w->job.check.repeats; run++) {
            if (!worker_run_and_compare(w, k, s, launch, seed, 0, f)) {
                return false;
            }
        }
    }
    return true;
}

bool worker_check(worker *w, const kernel *k, const gpu_launch *launches, double limit_s,
                  double *slow_s, failure *f)
{
    *slow_s = 0;
    for (size_t i = 0; i < w->job.shape_count; i++) {
        const shape_state *s = &w->shapes[i];
        const gpu_launch *launch = launches != NULL ? &launches[i] : &s->plan->launch;
        double seconds = 0;
        bool timed = i == 0 && limit_s > 0;
        if (!worker_allow(w, k, launch, f) || (timed && !first_run(w, k, s, launch, &seconds, f))) {
            return false;
        }
        if (timed && seconds > limit_s) {
            *slow_s = seconds;
            return true;
        }
        if (!check_shape(w, k, s, launch, timed ? 1 : 0, f)) {
            return false;
        }
    }
    return true;
}
