/*
 * worker_prepare.c: a workload's memory, contents and references, and the baseline against itself.
 */
#include "gpu/worker.h"

#include "gpu/compare_ptx.h"
#include "gpu/fill.h"
#include "gpu/npy.h"
#include "util/error.h"
#include "util/hash.h"

#include <stdio.h>
#include <string.h>

/* A region's contents, made on the host: poison around the data. */
static evocc_status make_contents(char **out, const region *r, const gpu_argument *a,
                                  evocc_error *error)
{
    *out = mem_alloc(r->bytes, 1);
    if (*out == NULL) {
        return error_no_memory(error);
    }
    uint32_t poison = worker_poison(a->type, 0);
    size_t tail = (GUARD_BYTES + worker_data_bytes(a)) / sizeof poison * sizeof poison;
    for (size_t i = 0; i < r->bytes; i += sizeof poison) {
        i = i == GUARD_BYTES ? tail : i; /* the data itself is written by the caller */
        memcpy(*out + i, &poison, sizeof poison);
    }
    return EVOCC_OK;
}

static bool upload_new(worker *w, cu_pointer *out, const region *r, const char *contents,
                       const gpu_argument *a, failure *f)
{
    region copy;
    char what[100];
    snprintf(what, sizeof what, "a copy of '%s'", a->name);
    if (!worker_allocate(w, &copy, r->bytes - (size_t)2 * GUARD_BYTES, what, f)) {
        return false;
    }
    *out = copy.base;
    return contents == NULL ||
           worker_ok(w, w->cuda.upload(copy.base, contents, r->bytes), "filling a buffer", f);
}

/* Pristine contents of one input for one seed, and the reference of an output from a file. */
static evocc_status fill_argument(worker *w, shape_state *s, size_t shape, size_t i, uint32_t seed,
                                  failure *f, evocc_error *error)
{
    const gpu_argument *a = &s->plan->arguments[i];
    const region *r = &s->work[i];
    size_t at = seed * s->plan->count + i;
    char *contents = NULL;
    evocc_status status = EVOCC_OK;
    bool ok = true;
    if (a->access != GPU_OUT) {
        status = make_contents(&contents, r, a, error);
        if (status == EVOCC_OK) {
            uint64_t stream = (shape * 64 + i) * 1024 + seed;
            status = fill_buffer(contents + GUARD_BYTES, a, w->job.check.seed, stream, error);
        }
        ok = status == EVOCC_OK && upload_new(w, &s->pristine[at], r, contents, a, f);
        mem_free(contents);
        contents = NULL;
    }
    if (status == EVOCC_OK && ok && worker_is_output(a)) {
        void *data = NULL;
        if (a->reference != NULL) {
            status = npy_read(&data, a->reference, a->type, a->elements, error);
            if (status == EVOCC_OK) {
                status = make_contents(&contents, r, a, error);
            }
            if (status == EVOCC_OK) {
                memcpy(contents + GUARD_BYTES, data, worker_data_bytes(a));
            }
        }
        ok = status == EVOCC_OK && upload_new(w, &s->expected[at], r, contents, a, f);
        mem_free(data);
        mem_free(contents);
    }
    (void)ok; /* *f tells */
    return status;
}

static evocc_status make_arrays(worker *w, shape_state *s, evocc_error *error)
{
    size_t count = s->plan->count;
    size_t copies = count * w->job.check.seeds;
    arena *memory = &w->job.memory;
    s->work = arena_alloc(memory, count, sizeof *s->work);
    s->pristine = arena_alloc(memory, copies, sizeof *s->pristine);
    s->expected = arena_alloc(memory, copies, sizeof *s->expected);
    s->pointers = arena_alloc(memory, count, sizeof *s->pointers);
    s->parameters = arena_alloc(memory, count + 1, sizeof *s->parameters);
    return s->work != NULL && s->pristine != NULL && s->expected != NULL && s->pointers != NULL &&
                   s->parameters != NULL
               ? EVOCC_OK
               : error_no_memory(error);
}

static evocc_status prepare_shape(worker *w, shape_state *s, size_t shape, failure *f,
                                  evocc_error *error)
{
    evocc_status status = make_arrays(w, s, error);
    for (size_t i = 0; status == EVOCC_OK && i < s->plan->count; i++) {
        gpu_argument *a = &s->plan->arguments[i];
        s->parameters[i] = a->scalar;
        if (!a->is_buffer) {
            continue;
        }
        char what[100];
        snprintf(what, sizeof what, "argument '%s'", a->name);
        if (!worker_allocate(w, &s->work[i], worker_data_bytes(a), what, f)) {
            return EVOCC_OK;
        }
        s->pointers[i] = s->work[i].base + GUARD_BYTES;
        s->parameters[i] = &s->pointers[i];
        for (uint32_t seed = 0; status == EVOCC_OK && seed < w->job.check.seeds; seed++) {
            status = fill_argument(w, s, shape, i, seed, f, error);
            if (f->outcome != EVOCC_OUTCOME_OK) {
                return EVOCC_OK;
            }
        }
    }
    return status;
}

/* The baseline's outputs become the reference, but for those that have a file. */
static bool keep_outputs(worker *w, const shape_state *s, uint32_t seed, failure *f)
{
    for (size_t i = 0; i < s->plan->count; i++) {
        const gpu_argument *a = &s->plan->arguments[i];
        if (worker_is_output(a) && a->reference == NULL &&
            !worker_ok(w,
                       w->cuda.copy_async(s->expected[seed * s->plan->count + i], s->work[i].base,
                                          s->work[i].bytes, w->stream),
                       "keeping the baseline's outputs", f)) {
            return false;
        }
    }
    return worker_wait(w, w->job.measure.deadline_s, f);
}

static void blame_baseline(failure *f, uint32_t run)
{
    if (f->outcome != EVOCC_OUTCOME_WRONG_OUTPUT) {
        return;
    }
    char text[sizeof f->text];
    memcpy(text, f->text, sizeof text);
    f->outcome = EVOCC_OUTCOME_UNSTABLE;
    snprintf(
        f->text, sizeof f->text,
        "the baseline does not agree with its reference in run %u: %.230s; state a tolerance, or "
        "mend the kernel",
        run, text);
}

static bool prepare_seed(worker *w, const shape_state *s, uint32_t seed, failure *f)
{
    const gpu_launch *launch = &s->plan->launch;
    if (!worker_restore(w, s, seed, 0, f) || !worker_launch(w, &w->baseline, s, launch, f) ||
        !worker_wait(w, w->job.measure.deadline_s, f) || !keep_outputs(w, s, seed, f)) {
        return false;
    }
    uint32_t runs = w->job.check.self_runs;
    runs = seed == 0 || runs < 2 ? runs : 2;
    for (uint32_t run = 1; run <= runs; run++) {
        if (!worker_run_and_compare(w, &w->baseline, s, launch, seed, run == 1, f)) {
            blame_baseline(f, run);
            return false;
        }
    }
    return true;
}

/* Of the first part of each reference; enough to see that another process computes the same. */
static bool hash_expected(worker *w, uint64_t *hash, failure *f)
{
    enum { PART = 4 << 20 };
    char *part = mem_alloc(PART, 1);
    if (part == NULL) {
        return worker_no_memory(f);
    }
    bool ok = true;
    *hash = 0;
    for (size_t k = 0; k < w->job.shape_count; k++) {
        const shape_state *s = &w->shapes[k];
        for (size_t i = 0; ok && i < s->plan->count; i++) {
            const gpu_argument *a = &s->plan->arguments[i];
            size_t bytes = worker_data_bytes(a) < PART ? worker_data_bytes(a) : PART;
            if (worker_is_output(a) && gpu_tolerance_is_exact(&a->tolerance)) {
                ok = worker_ok(w, w->cuda.download(part, s->expected[i] + GUARD_BYTES, bytes),
                               "reading the baseline's outputs", f);
                *hash = hash64(part, bytes, *hash);
            }
        }
    }
    mem_free(part);
    return ok;
}

/* Room for one verdict an argument, and the kernel that gives them. */
static bool prepare_tools(worker *w, failure *f)
{
    size_t most = 1;
    for (size_t k = 0; k < w->job.shape_count; k++) {
        most = w->job.shapes[k].count > most ? w->job.shapes[k].count : most;
    }
    if (w->tools == NULL &&
        (!worker_ok(w, w->cuda.module_load(&w->tools, compare_ptx), "compiling the comparison",
                    f) ||
         !worker_ok(w, w->cuda.module_function(&w->compare, w->tools, "evocc_compare"),
                    "compiling the comparison", f))) {
        return false;
    }
    w->verdict_count = most;
    return worker_ok(w, w->cuda.allocate(&w->verdicts, 16 * most), "allocating memory", f);
}

static void note_shape(failure *f, const gpu_shape *shape)
{
    if (strncmp(f->text, "shape '", 7) != 0 && strstr(f->text, ": shape '") == NULL) {
        char text[sizeof f->text];
        memcpy(text, f->text, sizeof text);
        snprintf(f->text, sizeof f->text, "shape '%.60s': %.320s", shape->name, text);
    }
}

/* The driver reads as many arguments as the kernel has parameters, each as large as the kernel
   says: fewer or smaller ones would be read beyond their end. Where the driver tells no sizes
   (before 12.4), nothing can be compared. */
static bool check_parameters(worker *w, const gpu_shape *shape, failure *f)
{
    size_t offset;
    size_t size;
    size_t count = 0;
    if (w->cuda.parameter_info == NULL) {
        return true;
    }
    for (; w->cuda.parameter_info(w->baseline.function, count, &offset, &size) == CU_SUCCESS;
         count++) {
        if (count > shape->count + 64) {
            return true; /* a driver that tells nothing sensible */
        }
        const gpu_argument *a = count < shape->count ? &shape->arguments[count] : NULL;
        size_t ours = a == NULL ? size : a->is_buffer ? sizeof(uint64_t) : dtype_bytes(a->type);
        if (ours != size) {
            *f = (failure){.outcome = EVOCC_OUTCOME_LAUNCH_FAILED};
            snprintf(f->text, sizeof f->text,
                     "parameter %zu of '%s' has %zu bytes, argument '%s' has %zu", count + 1,
                     w->job.kernel, size, a->name, ours);
            return false;
        }
    }
    if (count != shape->count && count > 0) {
        *f = (failure){.outcome = EVOCC_OUTCOME_LAUNCH_FAILED};
        snprintf(f->text, sizeof f->text, "'%s' has %zu parameters, the workload %zu arguments",
                 w->job.kernel, count, shape->count);
    }
    return count == shape->count || count == 0;
}

evocc_status worker_prepare(worker *w, const void *baseline_image, uint64_t *hash, failure *f,
                            evocc_error *error)
{
    *f = (failure){0};
    for (size_t i = 0; i < w->job.shape_count; i++) {
        if (w->job.shapes[i].count > 64) {
            return error_set(error, EVOCC_UNSUPPORTED, "a kernel has at most 64 arguments here");
        }
    }
    w->shapes = arena_alloc(&w->job.memory, w->job.shape_count, sizeof *w->shapes);
    if (w->shapes == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < w->job.shape_count; i++) {
        w->shapes[i].plan = &w->job.shapes[i];
    }
    if (!prepare_tools(w, f) || !worker_load_kernel(w, &w->baseline, baseline_image, f) ||
        !check_parameters(w, &w->job.shapes[0], f)) {
        return EVOCC_OK;
    }
    for (size_t i = 0; i < w->job.shape_count; i++) {
        shape_state *s = &w->shapes[i];
        evocc_status status = prepare_shape(w, s, i, f, error);
        if (status != EVOCC_OK) {
            return status;
        }
        bool ok =
            f->outcome == EVOCC_OUTCOME_OK && worker_allow(w, &w->baseline, &s->plan->launch, f);
        for (uint32_t seed = 0; ok && seed < w->job.check.seeds; seed++) {
            ok = prepare_seed(w, s, seed, f);
        }
        if (!ok) {
            note_shape(f, s->plan);
            return EVOCC_OK;
        }
    }
    hash_expected(w, hash, f);
    return EVOCC_OK;
}

void worker_forget(worker *w)
{
    for (size_t k = 0; w->shapes != NULL && k < w->job.shape_count; k++) {
        shape_state *s = &w->shapes[k];
        for (size_t i = 0; s->work != NULL && i < s->plan->count; i++) {
            worker_release(w, &s->work[i]);
            for (uint32_t seed = 0; s->expected != NULL && seed < w->job.check.seeds; seed++) {
                size_t at = seed * s->plan->count + i;
                if (s->pristine[at] != 0) {
                    w->cuda.release(s->pristine[at]);
                }
                if (s->expected[at] != 0) {
                    w->cuda.release(s->expected[at]);
                }
            }
        }
    }
    worker_unload_kernel(w, &w->baseline);
    if (w->verdicts != 0) {
        w->cuda.release(w->verdicts);
        w->verdicts = 0;
    }
    w->shapes = NULL;
    gpu_job_dispose(&w->job);
}
