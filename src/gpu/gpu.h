/*
 * gpu: running kernels on a GPU: the workload a user writes, the worker process that holds the CUDA
 * driver, the study's side of it. May use util, stats, space, ptx, acf, compiler.
 *
 *   workload.h   the workload file, resolved to jobs
 *   job.h        what is sent to the worker and what it answers
 *   gpu.h        the study's side: start, load, run, replace
 *   worker.h     the worker from the inside; driver.h: CUDA and NVML
 *
 * gpu.h: one GPU as a study uses it. The GPU is locked from gpu_open to gpu_close. The worker is a
 * process of its own, which a faulty kernel takes down without harm: it is then replaced, and the
 * baseline must run and compute in the new one what it did in the first. Never changes clocks,
 * modes or limits of the GPU.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "gpu/job.h"

typedef struct gpu gpu;

/* `device`: NULL for the first that the driver shows, "1", or (the beginning of) a UUID.
   EVOCC_BUSY: another study has it; EVOCC_UNSUPPORTED: no driver, no GPU; EVOCC_NOT_FOUND: not this
   one. */
evocc_status gpu_open(gpu **out, const char *device, evocc_error *error);
void gpu_close(gpu *g);
const gpu_info *gpu_get_info(const gpu *g); /* borrowed */

/* The workload and its baseline's machine code; the job is copied. EVOCC_INVALID_ARGUMENT: the
   baseline itself does not do (does not launch, faults, hangs, differs from run to run without a
   tolerance, contradicts a reference file): the message says which. */
evocc_status gpu_load(gpu *g, const gpu_job *job, const void *baseline, size_t length,
                      evocc_error *error);

/* Sends one request; nothing else may be in flight. The request is not needed any more afterwards.
 */
evocc_status gpu_submit(gpu *g, const gpu_request *request, evocc_error *error);

/* Its result. EVOCC_TIMEOUT, EVOCC_INTERRUPTED: as launcher_wait, the request goes on.
   EVOCC_PROCESS: the machine's fault (driver lost, uncorrectable memory error, the baseline does
   not run any more), seen twice in a row: the study should stop. A result is the caller's,
   gpu_result_dispose. */
evocc_status gpu_wait(gpu *g, double timeout_s, int wake_fd, gpu_result *result,
                      evocc_error *error);

/* Both in one. */
evocc_status gpu_run(gpu *g, const gpu_request *request, gpu_result *result, evocc_error *error);

/* A fresh process, loaded as the one before. `quick`: with one input seed and no runs of the
   baseline against itself, for measuring what has been checked already. */
evocc_status gpu_restart(gpu *g, bool quick, evocc_error *error);

/* Readable when gpu_wait has something to do; changes when the worker is replaced. */
int gpu_descriptor(const gpu *g);

/* Workers that had to be replaced so far. */
size_t gpu_replacements(const gpu *g);

#endif
