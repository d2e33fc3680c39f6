/*
 * worker.h: the worker process from the inside: one GPU, one context, one workload, one thread.
 *
 *   worker_serve.c    the conversation with the study
 *   worker_launch.c   memory, modules, launches, waiting under a deadline; what a CUDA error means
 *   worker_prepare.c  memory, contents, references
 *   worker_check.c    poisoned runs, comparison
 *   worker_measure.c  timing
 *   worker_energy.c   energy
 *
 * Faults of a kernel poison the context for good, and a kernel that hangs cannot be stopped: after
 * either the worker answers and ends, and the study starts another.
 */
#ifndef GPU_WORKER_H
#define GPU_WORKER_H

#include "gpu/driver.h"
#include "gpu/job.h"

/* Why something went wrong. `machine`: the GPU's or the driver's fault, not the kernel's. `fatal`:
   this process is of no more use. */
typedef struct failure {
    evocc_outcome outcome;
    bool machine, fatal;
    char text[400];
} failure;

/* One buffer's memory: a guard, the data padded to 256 bytes, a guard. Outputs are compared with
   the guards, so that a write beside a buffer is a wrong output. */
enum { GUARD_BYTES = 4096 };
typedef struct region {
    cu_pointer base;
    size_t bytes; /* whole, a multiple of 256 */
} region;

typedef struct shape_state {
    const gpu_shape *plan;
    region *work;            /* one an argument; .base 0: a scalar */
    cu_pointer *pristine;    /* [seed * count + argument]: contents at the start; 0: only poison */
    cu_pointer *expected;    /* [seed * count + argument]: of outputs, after a right run */
    uint64_t *pointers;      /* of the work regions' data, for the launch */
    void **parameters;       /* one an argument, for cuLaunchKernelEx */
    uint32_t baseline_batch; /* of the baseline's pilot run; 0: not yet made */
    double baseline_s;
} shape_state;

typedef struct kernel {
    cu_module module;
    cu_function function;
} kernel;

typedef struct worker {
    driver cuda;
    nvml *nvml;
    gpu_info info;
    cu_stream stream;
    cu_event *events; /* EVENTS of them */
    cu_module tools;  /* our own kernel, for comparing */
    cu_function compare;
    cu_pointer verdicts; /* of comparisons: {count, ~first} each */
    size_t verdict_count;
    region flush;
    gpu_job job;
    shape_state *shapes;
    kernel baseline;
    int connection; /* to the study, whose end is ours */
    double busy_s;  /* of the current request */
} worker;
enum { EVENTS = 256 };

/* ---- worker_launch.c ------------------------------------------------------------------------- */

/* Fills in *f when result is an error; true when it is none. `doing`: "launching the kernel". */
bool worker_ok(worker *w, cu_result result, const char *doing, failure *f);

bool worker_load_kernel(worker *w, kernel *k, const void *image, failure *f);
void worker_unload_kernel(worker *w, kernel *k);

bool worker_allocate(worker *w, region *out, size_t data_bytes, const char *what, failure *f);
void worker_release(worker *w, region *r);

/* What a kernel needs before its first launch of a shape: dynamic shared memory, large clusters. */
bool worker_allow(worker *w, const kernel *k, const gpu_launch *launch, failure *f);

/* Queues one launch. */
bool worker_launch(worker *w, const kernel *k, const shape_state *s, const gpu_launch *launch,
                   failure *f);

/* Waits until all that was queued is done; a kernel that is not after deadline_s hangs. */
bool worker_wait(worker *w, double deadline_s, failure *f);

/* Queues the contents of every buffer as the seed says; outputs get poison 0 or 1. */
bool worker_restore(worker *w, const shape_state *s, uint32_t seed, int poison, failure *f);
/* Only what kernels write and read again. */
bool worker_restore_inout(worker *w, const shape_state *s, uint32_t seed, failure *f);
/* The 32 bits that an element type is poisoned with. */
uint32_t worker_poison(dtype type, int which);

/* ---- worker_prepare.c ------------------------------------------------------------------------ */

/* Takes the job: allocates, fills, makes references from the baseline or from files, checks the
   baseline against itself. *hash: of the references' first megabytes. EVOCC_OK with f->outcome OK:
   all is well; an error is about the host (a file, memory). */
evocc_status worker_prepare(worker *w, const void *baseline_image, uint64_t *hash, failure *f,
                            evocc_error *error);
void worker_forget(worker *w);

static inline bool worker_is_output(const gpu_argument *a)
{
    return a->is_buffer && a->access != GPU_IN;
}

static inline size_t worker_data_bytes(const gpu_argument *a)
{
    return (size_t)a->elements * dtype_bytes(a->type);
}

/* The host's memory is out, which is the machine's fault. Returns false. */
bool worker_no_memory(failure *f);

/* ---- worker_check.c -------------------------------------------------------------------------- */

/* One run from restored buffers, all of them compared. */
bool worker_run_and_compare(worker *w, const kernel *k, const shape_state *s,
                            const gpu_launch *launch, uint32_t seed, int poison, failure *f);

/* Compares every buffer of the shape as it is now; `poison` as it was restored with. */
bool worker_compare(worker *w, const shape_state *s, uint32_t seed, int poison, failure *f);

/* Runs the candidate on every shape and input seed, several times. False: *f says why. The first
   run is timed: one that takes longer than limit_s (0: no limit) is all there is, and *slow_s tells
   its time; else *slow_s is 0. */
bool worker_check(worker *w, const kernel *k, const gpu_launch *launches, double limit_s,
                  double *slow_s, failure *f);

/* ---- worker_measure.c, worker_energy.c ------------------------------------------------------- */

/* False: *f says why; the result then holds what was measured before. */
bool worker_measure(worker *w, const kernel *k, const gpu_request *request, gpu_result *result,
                    failure *f);
/* seconds[i]: of one launch of shape i. */
bool worker_measure_energy(worker *w, const kernel *k, const gpu_request *request,
                           const double *seconds, gpu_result *result, failure *f);

/* exp of the weighted mean of logs: the mean whose ratio is the weighted mean of the ratios. */
double worker_weighted_mean(const worker *w, const double *values);

#endif
