/*
 * evaluate_workload.h: the whole evaluation of a kernel under its workload, as an evaluator:
 *
 *     submit -> waits for a core -> compiled (evaluate_static) -> waits for the GPU -> checked and
 *     measured (evaluate_kernel.h) -> wait
 *
 * Compilers work on all cores on the candidates to come while a GPU measures. The first candidate
 * must be the baseline: its code is what the GPU is loaded with and everything is compared with.
 *
 * Its metrics: those of evaluate_metrics(), then runtime@NAME of each shape where there are
 * several. energy and power are known only where they were asked for.
 */
#ifndef EVALUATE_EVALUATE_WORKLOAD_H
#define EVALUATE_EVALUATE_WORKLOAD_H

#include "evaluate/evaluate.h"
#include "gpu/gpu.h"

typedef struct evaluate_workload_options {
    evaluator *compiling; /* made by evaluate_static_new with keep_code; borrowed, like all here */
    const launcher *launcher; /* that it uses */
    const evocc_space *space;
    const gpu_job *job;
    gpu *const *gpus; /* of one model; loaded by the evaluator */
    size_t gpu_count;
    size_t ahead; /* candidates that may be under way at once: the lag of the search */
    bool energy;  /* measure energy and power of candidates that are not clearly slow */
    /* The launches, one a shape, of candidates whose parameters are not all at their defaults:
       *out is NULL where they are the job's own, else mem_freed by the evaluator. An error is the
       candidate's fault. NULL: there are no parameters. */
    evocc_status (*launches_of)(gpu_launch **out, void *context, const int32_t *genes,
                                evocc_error *error);
    void *context;
} evaluate_workload_options;

/* A baseline that the GPU refuses or that does not agree with itself is EVOCC_INVALID_ARGUMENT from
   wait: the message is the user's to act on. */
evocc_status evaluate_workload_new(evaluator **out, const evaluate_workload_options *options,
                                   evocc_error *error);

/* What an objective may name for this job: fills in `out`, of EVALUATE_METRICS_MAX rows, whose
   names live in `texts`; *count of them. EVOCC_UNSUPPORTED: more shapes than there is room for. */
evocc_status evaluate_workload_metrics(evaluate_metric_info *out, size_t *count, const gpu_job *job,
                                       arena *texts, evocc_error *error);

/* Conditions that the GPU was seen in; NAN before the first measurement. */
gpu_conditions evaluate_workload_conditions(const evaluator *e);

#endif
