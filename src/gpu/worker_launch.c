#define _GNU_SOURCE /* POLLRDHUP */
#include "gpu/worker.h"

#include "util/clock.h"
#include "util/error.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- What a CUDA error means ----------------------------------------------------------------- */

typedef struct meaning {
    cu_result result;
    evocc_outcome outcome;
    bool machine, fatal;
} meaning;

/* Errors that are not listed: a refusal of what was asked for, which is the candidate's fault. */
static const meaning meanings[] = {
    {CU_OUT_OF_MEMORY, EVOCC_OUTCOME_OUT_OF_MEMORY, false, false},
    {CU_ILLEGAL_ADDRESS, EVOCC_OUTCOME_GPU_FAULT, false, true},
    {CU_LAUNCH_TIMEOUT, EVOCC_OUTCOME_RUN_TIMEOUT, false, true},
    {CU_ASSERT, EVOCC_OUTCOME_GPU_FAULT, false, true},
    {CU_ECC_UNCORRECTABLE, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_NVLINK_UNCORRECTABLE, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_CONTAINED, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_DEVICE_UNAVAILABLE, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_NO_DEVICE, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_SYSTEM_NOT_READY, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_SYSTEM_DRIVER_MISMATCH, EVOCC_OUTCOME_GPU_FAULT, true, true},
    {CU_UNKNOWN, EVOCC_OUTCOME_GPU_FAULT, true, true},
};

bool worker_ok(worker *w, cu_result result, const char *doing, failure *f)
{
    if (result == CU_SUCCESS) {
        return true;
    }
    *f = (failure){.outcome = EVOCC_OUTCOME_LAUNCH_FAILED};
    /* 714 to 721: stack, instruction, alignment, address space, program counter, launch failure. */
    if (result >= CU_HARDWARE_STACK_ERROR && result <= CU_TENSOR_MEMORY_LEAK && result != 720) {
        f->outcome = EVOCC_OUTCOME_GPU_FAULT;
        f->fatal = true;
    }
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].result == result) {
            f->outcome = meanings[i].outcome;
            f->machine = meanings[i].machine;
            f->fatal = meanings[i].fatal;
        }
    }
    char text[256];
    driver_describe(text, sizeof text, &w->cuda, result);
    /* A fault shows at whatever call comes next. */
    snprintf(f->text, sizeof f->text, "%s: %s", f->fatal ? "running the kernel" : doing, text);
    return false;
}

bool worker_no_memory(failure *f)
{
    *f = (failure){.outcome = EVOCC_OUTCOME_GPU_FAULT, .machine = true, .fatal = true};
    snprintf(f->text, sizeof f->text, "out of memory on the host");
    return false;
}

/* ---- Modules and memory ---------------------------------------------------------------------- */

bool worker_load_kernel(worker *w, kernel *k, const void *image, failure *f)
{
    *k = (kernel){0};
    if (!worker_ok(w, w->cuda.module_load(&k->module, image), "loading the machine code", f)) {
        k->module = NULL;
        return false;
    }
    cu_result result = w->cuda.module_function(&k->function, k->module, w->job.kernel);
    if (result == CU_NOT_FOUND) {
        *f = (failure){.outcome = EVOCC_OUTCOME_LAUNCH_FAILED};
        snprintf(f->text, sizeof f->text, "the machine code holds no kernel '%s'", w->job.kernel);
    }
    if (result == CU_NOT_FOUND || !worker_ok(w, result, "finding the kernel", f)) {
        worker_unload_kernel(w, k);
        return false;
    }
    return true;
}

void worker_unload_kernel(worker *w, kernel *k)
{
    if (k->module != NULL) {
        w->cuda.module_unload(k->module);
    }
    *k = (kernel){0};
}

bool worker_allocate(worker *w, region *out, size_t data_bytes, const char *what, failure *f)
{
    out->bytes = (data_bytes + 255) / 256 * 256 + 2 * GUARD_BYTES;
    cu_result result = w->cuda.allocate(&out->base, out->bytes);
    if (result == CU_OUT_OF_MEMORY) {
        size_t available = 0;
        size_t total = 0;
        w->cuda.memory_info(&available, &total);
        *f = (failure){.outcome = EVOCC_OUTCOME_OUT_OF_MEMORY};
        snprintf(f->text, sizeof f->text,
                 "no memory on the GPU for %s: %.3g GB are needed, %.3g GB of %.3g are free; use "
                 "fewer input seeds or smaller shapes",
                 what, (double)out->bytes / 1e9, (double)available / 1e9, (double)total / 1e9);
        out->base = 0;
        return false;
    }
    if (!worker_ok(w, result, "allocating memory", f)) {
        out->base = 0;
        return false;
    }
    return true;
}

void worker_release(worker *w, region *r)
{
    if (r->base != 0) {
        w->cuda.release(r->base);
    }
    *r = (region){0};
}

/* ---- Contents -------------------------------------------------------------------------------- */

uint32_t worker_poison(dtype type, int which)
{
    if (!dtype_is_float(type)) {
        return which == 0 ? 0xa5a5a5a5U : 0x5a5a5a5aU;
    }
    switch (dtype_bytes(type)) { /* NaNs of the type */
    case 1:
        return which == 0 ? 0xffffffffU : 0x7f7f7f7fU;
    case 2:
        return which == 0 ? 0xffa5ffa5U : 0x7fd27fd2U;
    default:
        return which == 0 ? 0xffa5a5a5U : 0x7fd25a5aU;
    }
}

static bool restore_one(worker *w, const shape_state *s, size_t i, uint32_t seed, int poison,
                        failure *f)
{
    const region *r = &s->work[i];
    cu_pointer pristine = s->pristine[seed * s->plan->count + i];
    cu_result result =
        pristine != 0
            ? w->cuda.copy_async(r->base, pristine, r->bytes, w->stream)
            : w->cuda.fill_async(r->base, worker_poison(s->plan->arguments[i].type, poison),
                                 r->bytes / 4, w->stream);
    return worker_ok(w, result, "restoring a buffer", f);
}

bool worker_restore(worker *w, const shape_state *s, uint32_t seed, int poison, failure *f)
{
    for (size_t i = 0; i < s->plan->count; i++) {
        if (s->work[i].base != 0 && !restore_one(w, s, i, seed, poison, f)) {
            return false;
        }
    }
    return true;
}

bool worker_restore_inout(worker *w, const shape_state *s, uint32_t seed, failure *f)
{
    for (size_t i = 0; i < s->plan->count; i++) {
        const gpu_argument *a = &s->plan->arguments[i];
        if (a->is_buffer && a->access == GPU_INOUT && !restore_one(w, s, i, seed, 0, f)) {
            return false;
        }
    }
    return true;
}

/* ---- Launching ------------------------------------------------------------------------------- */

bool worker_allow(worker *w, const kernel *k, const gpu_launch *launch, failure *f)
{
    uint32_t cluster = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    if (cluster > 8 &&
        !worker_ok(w, w->cuda.function_set(k->function, CU_FUNCTION_NON_PORTABLE_CLUSTER, 1),
                   "allowing a cluster of more than 8 blocks", f)) {
        return false;
    }
    char doing[100];
    snprintf(doing, sizeof doing, "asking for %u bytes of dynamic shared memory",
             launch->shared_bytes);
    return launch->shared_bytes == 0 ||
           worker_ok(w,
                     w->cuda.function_set(k->function, CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES,
                                          (int)launch->shared_bytes),
                     doing, f);
}

bool worker_launch(worker *w, const kernel *k, const shape_state *s, const gpu_launch *launch,
                   failure *f)
{
    cu_launch_attribute cluster = {.id = CU_ATTRIBUTE_CLUSTER};
    memcpy(cluster.value.cluster, launch->cluster, sizeof cluster.value.cluster);
    cu_launch_config config = {
        .shared_bytes = launch->shared_bytes,
        .stream = w->stream,
        .attributes = launch->cluster[0] > 0 ? &cluster : NULL,
        .attribute_count = launch->cluster[0] > 0 ? 1 : 0,
    };
    memcpy(config.grid, launch->grid, sizeof config.grid);
    memcpy(config.block, launch->block, sizeof config.block);
    return worker_ok(w, w->cuda.launch(&config, k->function, s->parameters, NULL),
                     "launching the kernel", f);
}

/* A study that was killed is no reason to keep its GPU locked until its last request is done. */
static bool study_is_gone(const worker *w)
{
    struct pollfd polled = {.fd = w->connection, .events = POLLRDHUP};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool worker_wait(worker *w, double deadline_s, failure *f)
{
    static const double SPIN_S = 2e-3; /* longer waits need not keep a core busy */
    const struct timespec nap = {.tv_nsec = 50000};
    double begin_s = clock_now_s();
    for (;;) {
        cu_result result = w->cuda.stream_query(w->stream);
        double waited_s = clock_now_s() - begin_s;
        if (result != CU_NOT_READY) {
            return worker_ok(w, result, "running the kernel", f);
        }
        if (study_is_gone(w)) {
            *f = (failure){.outcome = EVOCC_OUTCOME_CANCELLED, .fatal = true};
            snprintf(f->text, sizeof f->text, "the study has ended");
            return false;
        }
        if (waited_s > deadline_s) {
            *f = (failure){.outcome = EVOCC_OUTCOME_RUN_TIMEOUT, .fatal = true};
            snprintf(f->text, sizeof f->text, "the kernel did not end within %g s", deadline_s);
            return false;
        }
        if (waited_s > SPIN_S) {
            nanosleep(&nap, NULL);
        }
    }
}
