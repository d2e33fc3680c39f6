/*
 * study: the loop that ties search, evaluate and store together; owns the clock. May use everything
 * but cli. One object is one study with its file; it never writes to the terminal.
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "evaluate/evaluate.h"
#include "evaluate/objective.h"
#include "gpu/job.h"
#include "report/report.h"
#include "search/search.h"

typedef struct study_options {
    const char *input_path; /* PTX, or a workload (.yaml): then kernel, arch and base are its own */
    const char *arch;       /* NULL: the module's own target */
    const char *kernel;     /* NULL: the only entry */
    bool whole_module;      /* count all entries; lets options that reach all of them be tuned */
    const char *const *base; /* the user's own ptxas options, as typed */
    size_t base_count;
    objective_list objectives;                /* at least one */
    size_t pool_size, cull_size, generations; /* 0: the defaults of search.h */
    double mutate_rate;                       /* 0: its default */
    uint64_t seed;
    size_t workers;    /* compilations at a time; 0: one per core */
    double deadline_s; /* of one compilation; 0: ten times the baseline's, at least a minute */
    const char *output_path; /* NULL: <input name>.acf, or .front, in the current folder */
    const char *study_path;  /* NULL: <input name>.db in the current folder */
    const char *ptxas;       /* NULL: found as compiler_find does */
    bool allow_numerics;     /* also search controls that may change rounding */
    bool keep_parameters;    /* of a workload: they stay at their defaults, so that the controls of
                                that    PTX are searched throughout */
    /* How it searches and when it ends, besides its generations. */
    uint64_t max_trials;        /* 0: what the generations make */
    double max_time_s;          /* of all runs together, 0: no end; what is in flight is awaited */
    uint32_t stale_generations; /* 0: never */
    double target;              /* of the first objective; 0: none */
    bool lag_given;             /* else `lag` is 24 for a workload, 0 for all others */
    size_t lag;                 /* as search_options */
    search_survival survival;
    bool prescreen;
    /* What it begins with, at most a quarter of the pool: candidates of controls files, whatever
       these are for, and the fronts of other studies. Matched by the names of controls. */
    const char *const *seed_acfs;
    size_t seed_acf_count;
    const char *const *seed_studies;
    size_t seed_study_count;
    const char *gpu; /* of a workload: index or UUID; NULL: the first that the driver shows */
} study_options;

typedef struct study study;

/* Checks everything that can be checked before the first trial, then creates the study file. The
   baseline is not compiled yet. */
evocc_status study_create(study **out, const study_options *options, evocc_error *error);

/* The same without a study file and without a GPU: for study_space and study_compile, not for
   study_run. */
evocc_status study_preview(study **out, const study_options *options, evocc_error *error);

/* Opens a study file to go on with it. EVOCC_MISMATCH names the first of input, compiler, space,
   GPU and driver that is not what it was. `workers` as in study_options; `ptxas`, `device` (as
   `gpu` there) and `output_path` NULL: those that the study began with. */
evocc_status study_resume(study **out, const char *study_path, const char *ptxas,
                          const char *device, const char *output_path, size_t workers,
                          evocc_error *error);
void study_free(study *s);

typedef struct study_progress {
    const char *phase;                /* "search", then "choice" and "estimate" */
    uint32_t generation, generations; /* generation from 0 */
    uint64_t trials, budget, valid, shared;
    double gain; /* of the best trial so far, objective_list_gain; 1 while none is better */
    double baseline, best;    /* of the first objective; NAN while unknown */
    const char *metric;       /* the first objective */
    double trials_per_s;      /* of this run */
    double left_s;            /* estimate; NAN while unknown */
    double elapsed_s;         /* of this run */
    double busy;              /* share of the search's time that the GPU was at work; NAN: no GPU */
    size_t measured;          /* candidates on the GPU, in this run */
    size_t pairs, pairs_most; /* of the phases after the search */
} study_progress;

/* Called after every trial that this run evaluated, on the caller's thread. */
typedef void (*study_progress_function)(const study_progress *progress, void *context);

/*
 * Runs to the end of the budget. EVOCC_INTERRUPTED when wake_fd became readable (negative: never):
 * children are stopped, finished trials are kept. A baseline that does not compile, or that lacks
 * an objective, is EVOCC_PROCESS or EVOCC_UNSUPPORTED with the compiler's own words; controls that
 * do not reach the compiler (the canary) are EVOCC_PROCESS. The study file of a baseline that
 * failed in this run is removed: nothing is in it.
 */
evocc_status study_run(study *s, study_progress_function progress, void *context, int wake_fd,
                       evocc_error *error);

const char *study_path(const study *s);
/* What of the seeds could not be taken as it was, one line each; "" when nothing. Borrowed. */
const char *study_seed_notes(const study *s);
size_t study_control_count(const study *s);
size_t study_worker_count(const study *s);
const char *study_compiler_path(const study *s);
const evocc_space *study_space(const study *s);               /* borrowed */
const char *const *study_base(const study *s, size_t *count); /* the user's own options; borrowed */
bool study_allows_numerics(const study *s);

/* One candidate, given as its text, evaluated outside any study file. */
evocc_status study_evaluate(evaluate_result *out, study *s, const char *candidate,
                            evocc_error *error);

/* The candidate that an ACF holds, as text; mem_free. EVOCC_MISMATCH names the field in which the
   file is for something else than what this study would tune. */
evocc_status study_candidate_of(char **out, const study *s, const char *acf_path,
                                evocc_error *error);

/* Names and units of a result's metrics; borrowed. */
const evaluate_metric_info *study_metrics(const study *s, size_t *count);

/* Of a workload, the launches of one candidate: one a shape, mem_free; NULL: the job's own. */
evocc_status study_launches(gpu_launch **out, study *s, const char *candidate, evocc_error *error);

/* NULL unless the study measures on one; borrowed. */
const gpu_info *study_gpu(const study *s);

/* Machine code of one candidate, given as its text. mem_free. */
evocc_status study_compile(char **out, size_t *length, study *s, const char *candidate,
                           evocc_error *error);

/* What the study file says now; report_summary_free. */
evocc_status study_summary(report_summary **out, study *s, evocc_error *error);

/* Where the result goes: an ACF, or with several objectives a folder. Borrowed. */
const char *study_output(const study *s);

/* Writes the result: the best point as one ACF; with several objectives one ACF a point of the
   front, index.json and best.acf into a folder (made when absent; the points of an earlier result
   there make room). EVOCC_NOT_FOUND when nothing was better than the baseline. */
evocc_status study_write(study *s, const report_summary *summary, evocc_error *error);

#endif
