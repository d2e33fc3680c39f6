/*
 * internal.h: what the files of this room share.
 *
 *   setup.c   from a configuration to a study that can run: input, kernel, compiler, space
 *   file.c    the study file: new studies and resumed ones
 *   run.c     the loop
 *   trim.c    after the search: controls that do nothing are left out
 *   output.c  ACFs out of the front
 */
#ifndef STUDY_INTERNAL_H
#define STUDY_INTERNAL_H

#include "compiler/compiler.h"
#include "evaluate/evaluate.h"
#include "ptx/ptx.h"
#include "search/search.h"
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
    evaluator *evaluator;
    evocc_search *search;

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

/* Everything between a configuration and a study that can run, the store aside. */
evocc_status study_prepare(study *s, const char *ptxas, evocc_error *error);

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
    double saved_s;     /* when the elapsed time was last written */
    uint64_t evaluated; /* trials that this run compiled */
    /* "budget", "target", "exhausted": nothing is left to ask, "ideal": nothing to gain */
    const char *ended;
    struct flight *flights; /* by slot */
} run;

/* Writes one finished trial into the study file. */
evocc_status study_put_trial(run *r, const struct flight *flight, const evaluate_result *result,
                             evocc_error *error);

/* Leaves out, one by one, the controls of the best candidate that change nothing for the better.
   Where the objectives are exact; further trials, behind those of the search. */
evocc_status study_trim(run *r, evocc_error *error);

#endif
