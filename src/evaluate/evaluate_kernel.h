/*
 * evaluate_kernel.h: the half of a kernel's evaluation that begins where the compiler ends: machine
 * code is looked up by its hash, checked and measured on one GPU. It runs beside whatever compiles
 * the candidates to come: offers queue up here while the GPU is busy.
 *
 * Candidates of equal code and equal launch are one measurement: the second is answered with what
 * the first was, whether that is known, under way or still queued (design: effective form).
 */
#ifndef EVALUATE_EVALUATE_KERNEL_H
#define EVALUATE_EVALUATE_KERNEL_H

#include "gpu/gpu.h"

typedef struct kernel_stage kernel_stage;

typedef struct kernel_stage_options {
    gpu *gpu;           /* loaded with the job; borrowed, as is the job */
    const gpu_job *job; /* as given to gpu_load */
    bool energy;        /* measure it for candidates that are not clearly slow */
} kernel_stage_options;

typedef struct kernel_finding {
    uint64_t id; /* as offered */
    evocc_outcome outcome;
    double runtime_s;         /* NAN: not measured */
    double energy_j, power_w; /* NAN: not asked for, or clearly slow */
    double energy_resolution_j;
    bool early;  /* clearly slow: the pilot run is all there is */
    bool shared; /* another candidate's measurement */
    gpu_conditions conditions;
    char *detail;  /* what a person can act on; owned */
    double wall_s; /* on the GPU; 0 when shared */
} kernel_finding;
void kernel_finding_dispose(kernel_finding *finding);

evocc_status kernel_stage_new(kernel_stage **out, const kernel_stage_options *options,
                              evocc_error *error);
void kernel_stage_free(kernel_stage *stage); /* what is under way is left to the GPU's owner */

/* Queues one candidate. `code` is taken over (mem_free) whatever comes back; `launches`, one a
   shape, are copied, and NULL is the job's own. */
evocc_status kernel_stage_offer(kernel_stage *stage, uint64_t id, const char *code_hash, char *code,
                                size_t length, const gpu_launch *launches, evocc_error *error);

/* The next finding, in no order that may be relied on. EVOCC_NOT_FOUND when nothing was offered;
   EVOCC_TIMEOUT, EVOCC_INTERRUPTED and EVOCC_PROCESS as gpu_wait. After EVOCC_PROCESS the study
   stops. */
evocc_status kernel_stage_wait(kernel_stage *stage, double timeout_s, int wake_fd,
                               kernel_finding *finding, evocc_error *error);

/* Readable when kernel_stage_wait has something to do, besides what kernel_stage_ready tells. */
int kernel_stage_descriptor(const kernel_stage *stage);
bool kernel_stage_ready(const kernel_stage *stage);

typedef struct kernel_statistics {
    size_t offered, measured, shared, waiting;
    double busy_s; /* of the GPU, at candidates */
    double best_s; /* the fastest right one so far; NAN */
} kernel_statistics;
void kernel_stage_statistics(kernel_statistics *out, const kernel_stage *stage);

#endif
