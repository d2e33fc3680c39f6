/*
 * internal.h: what the files of this room share.
 *
 *   setup.c   from a configuration to a study that can run: input, kernel, compiler, space
 *   workload.c  the same where a workload is tuned: its module, its GPU, its parameters
 *   program.c  the same where a program of the host is tuned
 *   file.c    the study file: new studies and resumed ones
 *   run.c     the loop
 *   trim.c    after the search: controls that do nothing are left out
 *   final.c   after the search: the best few against the baseline, in pairs
 *   output.c  ACFs out of the front
 */
#ifndef STUDY_INTERNAL_H
#define STUDY_INTERNAL_H

#include "compiler/compiler.h"
#include "evaluate/evaluate.h"
#include "evaluate/program.h"
#include "gpu/gpu.h"
#include "gpu/workload.h"
#include "ptx/ptx.h"
#include "search/search.h"
#include "stats/stats.h"
#include "study/study.h"
#include "util/map.h"
#include "util/mem.h"

/* A trial that the study file already held when this run began. */
typedef struct study_known {
    bool present;
    evocc_outcome outcome;
    hash128 candidate; /* of its text */
    double values[OBJECTIVE_COUNT_MAX];
} study_known;

/* A module as the front end makes it of other values of the application parameters. */
typedef struct study_variant {
    int64_t *values;
    ptx_module *module; /* NULL: it does not compile, `why` */
    char *text, *why;
} study_variant;

/* What a study of a workload has besides. */
typedef struct study_kernel {
    workload *workload;
    char digest[HASH_SHA256_TEXT]; /* of the workload file and the files that it names */
    const char *reproduce;         /* "evocc compile x.yaml" */
    const char *front_end;         /* who made the PTX; "" for a .ptx module */
    gpu_job job;
    const char *device; /* as asked for; "": the first */
    gpu *gpus[1];
    size_t gpu_count;
    bool keep_parameters;
    size_t parameter_count; /* that are searched */
    launcher *front;        /* of the front end; NULL until it is needed */
    study_variant *variants;
    size_t variant_count, variant_capacity;
} study_kernel;

struct study {
    /* configuration; texts in `texts` */
    arena texts;
    const char *path, *input_path, *arch, *kernel; /* kernel "": all entries */
    const char *input_file; /* input_path, resolved: what is read, from whatever folder */
    const char *output;
    bool whole_module, allow_numerics;
    char **base; /* as typed */
    size_t base_count;
    const char **canonical_base;
    size_t canonical_base_count;
    objective_list objectives;
    search_options search_options;
    double max_time_s, target;      /* as study_options */
    const char *seeds, *seed_notes; /* texts of candidates, a line each; what was changed of them */
    size_t time_up_at; /* trials asked when an earlier run found the time to be up; 0: not */
    size_t workers;
    double deadline_s;

    /* what it works with */
    char *input;
    size_t input_length;
    ptx_module *module;
    bool levels_exact; /* optimisation levels leave the results of this module as they are */
    launcher *launcher;
    compiler_identity compiler;
    evocc_space *space;
    store *store;
    evaluator *compiling; /* what the compiler tells of a candidate */
    evaluator *evaluator; /* what the study asks: the same, or one that runs candidates, too */
    evaluate_metric_info metric_rows[EVALUATE_METRICS_MAX];
    size_t metric_count; /* what trials of this study have */
    evocc_search *search;

    study_kernel kernel_run; /* of a workload; .workload NULL: a module alone */
    bool is_program;         /* a program of the host: then, from study_prepare on, */
    program *program;        /* its file, */
    const compiler *host;    /* and its compiler */

    /* state of the loop */
    study_known *known;
    size_t known_count; /* entries of `known`, gaps included */
    map codes;          /* code hash -> first trial; keys in texts */
    uint64_t trials, valid, shared;
    double baseline_values[OBJECTIVE_COUNT_MAX];
    double best_values[OBJECTIVE_COUNT_MAX];
    double best_gain;
    double elapsed_before_s; /* of earlier runs */
    uint32_t generation;     /* last one whose fingerprint was checked */
    bool worthless;          /* the file was made by this run and its baseline failed */
};

/* The values of the objectives among the metrics of evaluate_metrics(). */
void study_objective_values(double *values, const study *s, const double *metrics);

/* A copy that lives as long as the study; NULL when out of memory; "" for NULL. */
const char *study_keep(study *s, const char *text);

/* Whether the result may go where it is to go: known before the search, not after it. */
evocc_status study_check_output(const study *s, evocc_error *error);

/* seeds.c: reads what the options name; how many there are; their genes, one row after the other.
 */
evocc_status study_read_seeds(study *s, const study_options *options, evocc_error *error);
size_t study_seed_count(const study *s);
evocc_status study_adapt_seeds(int32_t *genes, study *s, evocc_error *error);

/* Everything between a configuration and a study that can run, the store aside. */
evocc_status study_prepare(study *s, const char *ptxas, evocc_error *error);

/* ---- workload.c ------------------------------------------------------------------------------ */

bool study_is_workload(const char *path);

/* Kernel, architecture, options and job, from the file. */
evocc_status study_read_workload(study *s, evocc_error *error);
/* s->input and s->module: the PTX itself, or what the front end makes of it. */
evocc_status study_read_module(study *s, evocc_error *error);
/* Application parameters as controls, before all others. */
evocc_status study_add_parameters(study *s, evocc_error *error);
/* Controls of the PTX, those from `first` on, are for the PTX that they were listed from: dormant
   under other parameters. */
evocc_status study_bind_ptx_controls(study *s, size_t first, evocc_error *error);
/* For evaluate_static_options; the context is the study. */
evocc_status study_module_of(const ptx_module **out, void *context, const int32_t *genes,
                             evocc_error *error);
/* Makes all modules that the parameters allow, on all cores, where they are few: a search would
   wait for the front end again and again. */
evocc_status study_make_variants(study *s, int wake_fd, evocc_error *error);
/* The launches of a candidate, one a shape; NULL: the job's own. mem_free. */
evocc_status study_launches_of(gpu_launch **out, void *context, const int32_t *genes,
                               evocc_error *error);
/* Opens the GPU and makes the evaluator that runs candidates on it. */
evocc_status study_open_gpu(study *s, evocc_error *error);
void study_kernel_dispose(study_kernel *k);

/* ---- program.c ------------------------------------------------------------------------------- */

bool study_is_program(const char *path);

/* As study_prepare, without the search. `given`: the compiler's path; NULL: as the file says. */
evocc_status study_prepare_program(study *s, const char *given, evocc_error *error);

/* One pair of runs, in seconds. */
typedef evocc_status study_program_pair(void *context, double baseline_s, double tuned_s,
                                        evocc_error *error);
/* As evaluate_program_compare. */
evocc_status study_compare_program(bool *failed, char detail[EVOCC_ERROR_SIZE], study *s,
                                   const char *candidate, const stats_plan *plan, int wake_fd,
                                   study_program_pair *each, void *context, evocc_error *error);

/* The compiler whose controls are searched. */
const compiler *study_compiler(const study *s);

/* The machine code of a candidate, built again. */
evocc_status study_build_code(char **out, size_t *length, study *s, const int32_t *genes,
                              evocc_error *error);

/* A candidate that is being evaluated. */
struct flight {
    bool used;
    uint64_t id;
    uint32_t generation;
    char *candidate; /* its text */
};

/* The loop's own view of one run. */
typedef struct run {
    study *study;
    study_progress_function progress;
    void *context;
    int wake_fd;
    double started_s;
    double search_s;    /* when the search began, the baseline behind it */
    double searched_s;  /* when the search came to its end; 0: it has not */
    double saved_s;     /* when the elapsed time was last written */
    uint64_t evaluated; /* trials that this run compiled */
    const char *phase;  /* as study_progress has it */
    size_t pairs, pairs_most;
    /* "budget", "stale", "time", "target", "exhausted": nothing is left to ask, "ideal": nothing to
     * gain */
    const char *ended;
    struct flight *flights; /* by slot */
} run;

/* Writes one finished trial into the study file. */
evocc_status study_put_trial(run *r, const struct flight *flight, const evaluate_result *result,
                             evocc_error *error);

void study_report_progress(const run *r);

/* Measures the best few again, in pairs with the baseline, in fresh processes, and writes down
   whose gain is real: the setting "apart". Nothing where no objective is a runtime, or where an
   earlier run has done it. */
evocc_status study_compare_best(run *r, evocc_error *error);

/* seeds.c: EVOCC_OK while any candidate worked, or too few are known. Else what became of most,
   with the command of one of them: EVOCC_PROCESS. */
evocc_status study_check_first_pool(study *s, evocc_error *error);

/* Leaves out, one by one, the controls of the best candidate that change nothing for the better.
   Where the objectives are exact; further trials, behind those of the search. */
evocc_status study_trim(run *r, evocc_error *error);

#endif
