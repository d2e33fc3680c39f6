/*
 * bench/differential: does every candidate compute, on a real GPU, what the baseline does, bit for
 * bit; and how far does each kind of control move the run time? docs/bench-differential.md has the
 * commands and the numbers. Uses the rooms util, space, ptx, compiler and gpu; nothing uses it.
 *
 *   compile.c      a workload with its controls; many candidates compiled side by side
 *   candidates.c   which candidates are tried
 *   check.c        machine code against the baseline's outputs; the smallest set that still differs
 *   ranges.c       run time over the baseline's, by kind of control
 *   differential.c options and tables
 */
#ifndef BENCH_DIFFERENTIAL_H
#define BENCH_DIFFERENTIAL_H

#include "compiler/compiler.h"
#include "gpu/gpu.h"
#include "gpu/workload.h"
#include "ptx/ptx.h"
#include "util/files.h"

#include <stdio.h>

/* Controls that do the same at different places: "order", or one ptxas option. */
typedef struct kind {
    char name[64];
    size_t *controls;
    size_t count, capacity;
} kind;

typedef struct subject {
    char name[64];
    workload *workload;
    gpu_job job;
    ptx_module *module;
    evocc_space *space;
    kind *kinds;
    size_t kind_count, kind_capacity;
} subject;

typedef enum trial_state {
    TRIAL_NOT_RUN, /* time was up */
    TRIAL_CODE,
    TRIAL_REFUSED, /* no rewriting */
    TRIAL_FAILED   /* the compiler did not take it */
} trial_state;

typedef struct trial {
    int32_t *genes;
    size_t kind; /* of all its controls; MIXED: several */
    trial_state state;
    char *detail; /* why there is no code, or why it is bad; NULL: all is well */
    char *code;
    size_t length;
    char hash[HASH_SHA256_TEXT];
    evocc_outcome outcome; /* of the GPU */
    double ratio;          /* run time over the baseline's; NAN: not measured */
} trial;
#define MIXED ((size_t)-1)

typedef struct trial_list {
    trial *items;
    size_t count, capacity;
} trial_list;
void trials_dispose(trial_list *list);

typedef struct slot {
    char *folder, *input, *output;
    size_t trial; /* SIZE_MAX: free */
} slot;

typedef struct bench {
    const char *ptx_folder, *ptxas_path;
    size_t candidates, workers, sites, pairs;
    uint64_t seed;
    double seconds, reduce_seconds, total_seconds;
    bool use_gpu, ranges;
    FILE *log;
    launcher *launcher;
    compiler_identity ptxas;
    slot *slots;
    gpu *gpu;
} bench;

/* ---- compile.c ------------------------------------------------------------------------------- */

evocc_status subject_open(subject *s, const bench *b, const char *path, evocc_error *error);
void subject_dispose(subject *s);
evocc_status bench_open(bench *b, evocc_error *error);
void bench_close(bench *b);

/* The rewritten text; EVOCC_... as ptx_rewrite. */
evocc_status subject_rewrite(strbuf *out, const subject *s, const int32_t *genes,
                             evocc_error *error);

/* Until all are compiled or the clock says end_s. */
evocc_status compile_trials(bench *b, const subject *s, trial *trials, size_t count, double end_s,
                            evocc_error *error);

/* ---- candidates.c ---------------------------------------------------------------------------- */

/* A candidate that differs from all in the list is added, canonical; false: it does not. */
evocc_status trials_add(trial_list *list, const subject *s, const int32_t *genes, size_t of_kind,
                        bool *added, evocc_error *error);
/* Each value of each wide form and of each ptxas option, alone. */
evocc_status trials_add_wide(trial_list *list, const subject *s, evocc_error *error);
/* `count` random ones: of one control, of a few, as a search samples, of many. */
evocc_status trials_add_random(trial_list *list, const subject *s, rng *r, size_t count,
                               evocc_error *error);
/* Of each kind, `count` random values at random sites and a few times values at many sites. */
evocc_status trials_add_sites(trial_list *list, const subject *s, rng *r, size_t count,
                              evocc_error *error);

/* ---- check.c --------------------------------------------------------------------------------- */

/* Compiled, but not what the baseline computes, or not at all. */
bool trial_is_bad(const trial *t);

/* The baseline goes to the GPU. EVOCC_INVALID_ARGUMENT: it does not do. */
evocc_status load_baseline(bench *b, const subject *s, const trial *baseline, evocc_error *error);

/* Runs every code that differs from those before it; equal code shares the outcome. `measure`: run
   times, too. Returns the number of different codes. */
evocc_status run_trials(bench *b, trial_list *list, bool measure, size_t *different,
                        evocc_error *error);

/* Every bad candidate and every one without code, reduced to the controls that matter; printed.
   Returns the number of different reasons. */
evocc_status explain_bad(bench *b, const subject *s, const trial_list *list, size_t *reasons,
                         evocc_error *error);

/* ---- ranges.c -------------------------------------------------------------------------------- */

typedef struct range {
    char kind[64];
    size_t candidates, codes;
    double low, high; /* NAN: nothing measured */
} range;

typedef struct range_column {
    char kernel[64];
    double baseline_s, noise; /* largest |ratio - 1| of the baseline against itself */
    range *ranges;
    size_t count;
} range_column;

evocc_status measure_ranges(bench *b, const subject *s, range_column *out, evocc_error *error);
void print_ranges(const range_column *columns, size_t count);

#endif
