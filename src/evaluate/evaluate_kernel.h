/*
 * evaluate_kernel.h: the half of a kernel's evaluation that begins where the compiler ends: machine
 * code is looked up by its hash, checked and measured on a GPU. It runs beside whatever compiles
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
    gpu *const *gpus;   /* of one model, each loaded with the job; borrowed, as is the job */
    size_t gpu_count;   /* 1 .. KERNEL_GPUS_MAX */
    const gpu_job *job; /* as given to gpu_load */
    bool energy;        /* measure it for candidates that are not clearly slow */
} kernel_stage_options;
#define KERNEL_GPUS_MAX 16

typedef struct kernel_finding {
    uint64_t id; /* as offered */
    evocc_outcome outcome;
    double runtime_s;         /* NAN: not measured */
    double energy_j, power_w; /* NAN: not asked for, or clearly slow */
    double energy_resolution_j, energy_window_s;
    bool early;  /* clearly slow: the pilot run is all there is */
    bool shared; /* another candidate's measurement */
    gpu_conditions conditions;
    char *detail;        /* what a person can act on; "" when all is well; owned */
    gpu_timing *timings; /* one a shape; owned; NULL: not measured, or shared */
    size_t timing_count;
    double *shapes_s; /* runtime of each of the job's shapes; owned; NULL: not measured */
    double wall_s;    /* on the GPU; 0 when shared */
} kernel_finding;
void kernel_finding_dispose(kernel_finding *finding);

evocc_status kernel_stage_new(kernel_stage **out, const kernel_stage_options *options,
                              evocc_error *error);
void kernel_stage_free(kernel_stage *stage); /* what is under way is left to the GPU's owner */

/* Queues one candidate. `code` is taken over (mem_free) whatever comes back; NULL will do for code
   that was offered before, else it is EVOCC_INVALID_ARGUMENT. `launches`, one a shape, are copied,
   and NULL is the job's own. */
evocc_status kernel_stage_offer(kernel_stage *stage, uint64_t id, const char *code_hash, char *code,
                                size_t length, const gpu_launch *launches, evocc_error *error);

/* The next finding, in no order that may be relied on. EVOCC_NOT_FOUND when nothing was offered;
   EVOCC_TIMEOUT, EVOCC_INTERRUPTED and EVOCC_PROCESS as gpu_wait. After EVOCC_PROCESS the study
   stops. */
evocc_status kernel_stage_wait(kernel_stage *stage, double timeout_s, int wake_fd,
                               kernel_finding *finding, evocc_error *error);

/* What an earlier run found about a code: offers of it are answered with that. The finding is
   copied, without its timings. Nothing happens when the code is known already. */
evocc_status kernel_stage_know(kernel_stage *stage, const char *code_hash,
                               const gpu_launch *launches, const kernel_finding *finding,
                               evocc_error *error);

/* Descriptors that become readable when kernel_stage_wait has something to do, besides what
   kernel_stage_ready tells: at most KERNEL_GPUS_MAX, the number is returned. They change when a
   worker is replaced. */
size_t kernel_stage_descriptors(int *out, const kernel_stage *stage);
bool kernel_stage_ready(const kernel_stage *stage);

typedef struct kernel_statistics {
    size_t offered, measured, shared, waiting;
    size_t replacements; /* of workers that a candidate took down */
    double busy_s;       /* of all GPUs, at candidates */
    double best_s;       /* the fastest right one so far; NAN */
    /* Of the baseline, which is measured beside every candidate: the least and the most. NAN. */
    double baseline_low_s, baseline_high_s;
    gpu_conditions conditions; /* last seen; throttle reasons of all */
} kernel_statistics;
void kernel_stage_statistics(kernel_statistics *out, const kernel_stage *stage);

#endif
