/*
 * evocc: evolutionary search over the decisions of a compiler.
 *
 * The only installed header. Everything here is C17 with no dependency beyond the C library.
 *
 * Conventions
 *   Functions that can fail return an evocc_status and take an optional evocc_error last; NULL is
 *   allowed there. A failed call leaves its objects as they were. `T **out` belongs to the caller,
 *   who releases it with the matching _free; a returned `const T *` is borrowed. _free takes NULL.
 *   Objects may be used from one thread at a time; different objects are independent.
 */
#ifndef EVOCC_EVOCC_H
#define EVOCC_EVOCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EVOCC_API __attribute__((visibility("default")))
#define EVOCC_PRINTF(string, first) __attribute__((__format__(__printf__, string, first)))
#else
#define EVOCC_API
#define EVOCC_PRINTF(string, first)
#endif

#define EVOCC_VERSION_MAJOR 0
#define EVOCC_VERSION_MINOR 1
#define EVOCC_VERSION_PATCH 0

/* "0.1.0": the version of the library at run time. */
EVOCC_API const char *evocc_version(void);

/* ---- Errors ------------------------------------------------------------------------------ */

/* Results of calls. The values are part of the ABI and never change their meaning. */
typedef enum evocc_status {
    EVOCC_OK = 0,
    EVOCC_INVALID_ARGUMENT = -1, /* the caller asked for something that cannot be */
    EVOCC_NO_MEMORY = -2,
    EVOCC_IO = -3,        /* a system call failed; os_errno says how */
    EVOCC_PARSE = -4,     /* a text is not what it should be; message has line and column */
    EVOCC_NOT_FOUND = -5, /* no such file, program, entry, control */
    EVOCC_MISMATCH = -6,  /* an ACF or a study belongs to something else; message names the field */
    EVOCC_BUSY = -7,      /* locked by another process */
    EVOCC_DAMAGED = -8,   /* a file's contents contradict themselves */
    EVOCC_UNSUPPORTED = -9, /* understood, but not possible here */
    EVOCC_PROCESS = -10,    /* a program could not be started or failed */
    EVOCC_TIMEOUT = -11,
    EVOCC_INTERRUPTED = -12, /* stopped by a signal or by the caller */
    EVOCC_EXHAUSTED = -13,   /* the space holds no further candidate */
    EVOCC_WAIT = -14,        /* answers to earlier candidates are needed first */
    EVOCC_DONE = -15,        /* the search has spent its budget */
    EVOCC_REFUSED = -16      /* forbidden by a rule of safety; message names the rule */
} evocc_status;

/* "no_memory" for EVOCC_NO_MEMORY; never NULL. Lives forever. */
EVOCC_API const char *evocc_status_name(evocc_status status);

#define EVOCC_ERROR_SIZE 1024

/* Why a call failed: one line that names the object. Needs no initialisation and no release. */
typedef struct evocc_error {
    evocc_status status;
    int os_errno; /* 0 unless status is EVOCC_IO or EVOCC_PROCESS */
    char message[EVOCC_ERROR_SIZE];
} evocc_error;

/* ---- Outcomes of trials -------------------------------------------------------------------- */

/* What became of one candidate. Only EVOCC_OUTCOME_OK has metrics that count. */
typedef enum evocc_outcome {
    EVOCC_OUTCOME_OK = 0,
    EVOCC_OUTCOME_REJECTED = 1, /* a constraint or a rule forbids it */
    EVOCC_OUTCOME_COMPILE_FAILED = 2,
    EVOCC_OUTCOME_COMPILE_TIMEOUT = 3,
    EVOCC_OUTCOME_COMPILER_CRASHED = 4,
    EVOCC_OUTCOME_OUT_OF_MEMORY = 5,
    EVOCC_OUTCOME_LAUNCH_FAILED = 6,
    EVOCC_OUTCOME_RUN_TIMEOUT = 7,
    EVOCC_OUTCOME_GPU_FAULT = 8,
    EVOCC_OUTCOME_WRONG_OUTPUT = 9,
    EVOCC_OUTCOME_UNSTABLE = 10,
    EVOCC_OUTCOME_CANCELLED = 11
} evocc_outcome;
#define EVOCC_OUTCOME_COUNT 12

/* "compile_failed" and back. The name is NULL for no outcome; parsing fails with EVOCC_PARSE. */
EVOCC_API const char *evocc_outcome_name(evocc_outcome outcome);
EVOCC_API evocc_status evocc_outcome_parse(evocc_outcome *out, const char *name,
                                           evocc_error *error);

/* ---- Spaces ---------------------------------------------------------------------------------- */

/*
 * A space: named controls, each with a finite, indexed set of values, and rules over them. It is
 * written as YAML; docs/spaces.md has the format.
 *
 * A candidate is an array of evocc_space_count() genes: gene i is the index of a value of control
 * i, or EVOCC_ABSENT where the control is at its default. The value that then counts is the
 * default; the functions below look it up.
 *
 * Names may be full ("define/tile") or, where only one control has it, without the stage ("tile").
 * A space is constant; several threads may read it at once, except through evocc_candidate_check
 * and searches over it, which need it for themselves.
 */
typedef struct evocc_space evocc_space;

#define EVOCC_ABSENT (-1)

/* `name` is what messages call the text: "NAME:12:3: ...". EVOCC_PARSE: line, column and reason. */
EVOCC_API evocc_status evocc_space_parse(evocc_space **out, const char *text, size_t length,
                                         const char *name, evocc_error *error);
EVOCC_API evocc_status evocc_space_load(evocc_space **out, const char *path, evocc_error *error);
EVOCC_API void evocc_space_free(evocc_space *space);

/* One space of several: their controls one part after the other, and so are a candidate's genes;
   rules stay within their part. EVOCC_INVALID_ARGUMENT: two controls have one full name. */
EVOCC_API evocc_status evocc_space_join(evocc_space **out, const evocc_space *const *parts,
                                        size_t count, evocc_error *error);

/* The options of an installed compiler ("ptxas") that it accepts for `arch` and that leave results
   as they are. `path` NULL: EVOCC_REAL_PTXAS, CUDA_HOME/bin, PATH; `arch` NULL: what the compiler
   compiles for when it is not told. EVOCC_NOT_FOUND says where it was looked for. */
EVOCC_API evocc_status evocc_space_probe(evocc_space **out, const char *compiler, const char *path,
                                         const char *arch, evocc_error *error);

EVOCC_API size_t evocc_space_count(const evocc_space *space);
/* Index of a control; (size_t)-1 when there is none of that name, or more than one. */
EVOCC_API size_t evocc_space_find(const evocc_space *space, const char *name);
/* Full name, and help ("" when the file has none); NULL beyond the last. Live as long as the space.
 */
EVOCC_API const char *evocc_space_name(const evocc_space *space, size_t control);
EVOCC_API const char *evocc_space_help(const evocc_space *space, size_t control);
EVOCC_API size_t evocc_space_value_count(const evocc_space *space, size_t control);

/* The text of a value ("absent" for EVOCC_ABSENT), cut off after size - 1 bytes and always ended by
   a NUL unless size is 0. Returns the whole length; (size_t)-1 when out of memory. */
EVOCC_API size_t evocc_space_value_text(char *out, size_t size, const evocc_space *space,
                                        size_t control, int32_t value);
/* Numbers as they are, booleans and flags as 0 and 1; NaN for words and for EVOCC_ABSENT. */
EVOCC_API double evocc_space_value_number(const evocc_space *space, size_t control, int32_t value);

/* The value a control has in a candidate, defaults included. EVOCC_NOT_FOUND: no such control;
   EVOCC_UNSUPPORTED: a word, or absent without a default; EVOCC_INVALID_ARGUMENT: size too small.
 */
EVOCC_API evocc_status evocc_candidate_number(double *out, const evocc_space *space,
                                              const int32_t *genes, const char *name,
                                              evocc_error *error);
EVOCC_API evocc_status evocc_candidate_value(char *out, size_t size, const evocc_space *space,
                                             const int32_t *genes, const char *name,
                                             evocc_error *error);

/* "define/tile=32 define/unroll=4": what differs from the defaults; sizes as
   evocc_space_value_text. And back: genes come out in canonical form. */
EVOCC_API size_t evocc_candidate_text(char *out, size_t size, const evocc_space *space,
                                      const int32_t *genes);
EVOCC_API evocc_status evocc_candidate_parse(int32_t *genes, const evocc_space *space,
                                             const char *text, evocc_error *error);

/* What a candidate adds to the command line of a compiler ("ptxas"): one word a line, each ended by
   a newline. Sizes as evocc_space_value_text; (size_t)-1 also when there is no such compiler. */
EVOCC_API size_t evocc_candidate_arguments(char *out, size_t size, const evocc_space *space,
                                           const int32_t *genes, const char *compiler);

/* EVOCC_OK, or EVOCC_REFUSED naming the rule of the space that forbids the candidate. */
EVOCC_API evocc_status evocc_candidate_check(const evocc_space *space, const int32_t *genes,
                                             evocc_error *error);

/* ---- Search ---------------------------------------------------------------------------------- */

/*
 * A search proposes candidates of a space (ask) and is told what became of them (tell); measuring
 * is the caller's. It does nothing by itself: no files, no clock, no threads. The same seed and the
 * same answers give the same questions on every machine.
 *
 *     evocc_search_options options = EVOCC_SEARCH_OPTIONS;
 *     evocc_objective runtime = {.name = "runtime"};
 *     options.objectives = &runtime;
 *     options.objective_count = 1;
 *     if (evocc_search_new(&search, space, &options, &error) != EVOCC_OK) ...
 *     evocc_trial trial;
 *     while ((status = evocc_search_ask(&trial, search, &error)) == EVOCC_OK) {
 *         double seconds = measure(trial.genes);
 *         evocc_search_tell(search, trial.id, EVOCC_OUTCOME_OK, &seconds, &error);
 *     }
 *
 * Trial 0 is the baseline: every control at its default. A generation has pool_size trials at
 * first, then cull_size; all its trials may be measured at once, and their answers come in any
 * order, but ask says EVOCC_WAIT until all are there. With a `lag`, question k waits only for the
 * answers to the questions up to k - lag. A search cut short is resumed by asking a new one with
 * the same options and telling it the old answers.
 */
typedef struct evocc_search evocc_search;

typedef struct evocc_objective {
    const char *name; /* for the caller and for messages; may be NULL */
    bool maximize;
    bool limited;    /* trials beyond `limit` rank behind all others and are not in the front */
    bool limit_only; /* not to be improved, only to be kept within its limit */
    bool has_target; /* the search ends when one trial reaches the targets of all that have one */
    double weight;   /* how much it matters beside the others; 0: 1 */
    double limit;    /* in the metric's own unit and direction: at most, or at least */
    double target;
} evocc_objective;

typedef enum evocc_survival {
    EVOCC_SURVIVAL_NSGA3 = 0,      /* U-NSGA-III (Seada and Deb 2015) */
    EVOCC_SURVIVAL_HYPERVOLUME = 1 /* SMS-EMOA (Beume et al. 2007); for 2 to 4 objectives */
} evocc_survival;

/* Begin with EVOCC_SEARCH_OPTIONS. All pointers may go once evocc_search_new has returned, but for
   allowed_context. */
typedef struct evocc_search_options {
    size_t struct_size; /* of this struct, as the caller was compiled with it */
    const evocc_objective *objectives;
    size_t objective_count; /* 1 to 16 */
    size_t pool_size;       /* 0: 32 */
    size_t cull_size;       /* 0: 24 */
    size_t generations;     /* 0: 20 */
    double mutate_rate;     /* 0: 0.1 */
    uint64_t seed;
    const int32_t *const *seeds; /* candidates to begin with; a quarter of the pool at most */
    size_t seed_count;
    /* A rule beyond those of the space: whether a candidate may be proposed. It must always say the
       same of the same genes. Refused candidates cost no trial. NULL: none. */
    bool (*allowed)(void *context, const int32_t *genes);
    void *allowed_context;
    size_t lag;                 /* 0: generations; else up to 4096 */
    uint64_t max_trials;        /* 0: as many as the generations make */
    uint32_t stale_generations; /* ends after so many without progress; 0: never */
    evocc_survival survival;    /* of several objectives */
    double repeat_share;        /* of the trials: measure one of the best few again; 0 to 0.5 */
    bool prescreen; /* let a model learned from the trials choose among several children */
} evocc_search_options;
#define EVOCC_SEARCH_OPTIONS                        \
    {                                               \
        .struct_size = sizeof(evocc_search_options) \
    }

typedef struct evocc_trial {
    uint64_t id; /* 0, 1, 2, ... */
    uint64_t
        repeat_of; /* the trial that this one measures again; EVOCC_NO_TRIAL: a new candidate */
    const int32_t *genes; /* canonical; valid until the next call on this search */
    uint32_t generation;  /* from 0 */
} evocc_trial;
#define EVOCC_NO_TRIAL UINT64_MAX

/* The space is borrowed and must outlive the search. EVOCC_INVALID_ARGUMENT names what is wrong. */
EVOCC_API evocc_status evocc_search_new(evocc_search **out, const evocc_space *space,
                                        const evocc_search_options *options, evocc_error *error);
EVOCC_API void evocc_search_free(evocc_search *search);

/* EVOCC_WAIT: tell first. EVOCC_DONE: a stop rule holds, the message says which. EVOCC_EXHAUSTED:
   the space holds no further candidate. */
EVOCC_API evocc_status evocc_search_ask(evocc_trial *out, evocc_search *search, evocc_error *error);

/* `values`: one number per objective, in the metric's own direction; not looked at unless the
   outcome is EVOCC_OUTCOME_OK. NaN and infinity make the trial invalid. Each trial is told once. */
EVOCC_API evocc_status evocc_search_tell(evocc_search *search, uint64_t id, evocc_outcome outcome,
                                         const double *values, evocc_error *error);

/* The loop above. `evaluate` fills in one value per objective and returns the outcome;
   EVOCC_OUTCOME_CANCELLED ends the loop with EVOCC_INTERRUPTED (call again to go on). EVOCC_OK when
   the search is done or the space exhausted. */
typedef evocc_outcome evocc_evaluate(void *context, double *values, const evocc_trial *trial);
EVOCC_API evocc_status evocc_search_run(evocc_search *search, evocc_evaluate *evaluate,
                                        void *context, evocc_error *error);

/* Ids of all non-dominated valid trials within the limits, ascending; with one objective the best.
   Valid until the next call of ask or tell, and so are the genes. */
EVOCC_API const uint64_t *evocc_search_front(const evocc_search *search, size_t *count);
/* NULL when the trial is not in the front. */
EVOCC_API const int32_t *evocc_search_front_genes(const evocc_search *search, uint64_t id);
/* One value per objective (means of repeated trials); EVOCC_NOT_FOUND: not in the front. */
EVOCC_API evocc_status evocc_search_front_values(double *out, const evocc_search *search,
                                                 uint64_t id, evocc_error *error);

typedef struct evocc_progress {
    uint64_t asked, told, valid;
    uint64_t budget; /* trials, if nothing ends the search earlier */
    uint32_t generation, generations;
    uint32_t stale;   /* generations since the front last changed */
    double diversity; /* share of the genes in which members of the pool differ, on average */
} evocc_progress;
EVOCC_API void evocc_search_get_progress(evocc_progress *out, const evocc_search *search);

/* How much each control matters by itself for one objective: evocc_space_count() numbers, 0 to 1.
   They come from the trials of the search, which favour good candidates: read them as a hint. */
EVOCC_API evocc_status evocc_search_importance(double *out, const evocc_search *search,
                                               size_t objective, evocc_error *error);

/* ---- Studies --------------------------------------------------------------------------------- */

/*
 * A study is a search that remembers. Every answer is on disk before its number is used: however
 * the process ends, no more is lost than the trials in flight, and opened again the study asks for
 * exactly the trials that it would have asked for unbroken. The file is the one that `evocc tune`
 * writes, so `evocc report` reads it, while the study runs, too.
 *
 *     evocc_study_options file = EVOCC_STUDY_OPTIONS;
 *     file.path = "matmul.db";
 *     if (evocc_study_open(&study, space, &options, &file, &error) != EVOCC_OK) ...
 *     status = evocc_study_run(study, evaluate, context, &error);
 *     evocc_study_free(study);
 *
 * Or, where several trials are measured at once, ask and tell as with a search. One process at a
 * time may write a study. Objectives are stored as metrics under their names ("score", or
 * "score_1", "score_2", ... where there is no name): letters, digits, '_', '-' and '.'.
 */
typedef struct evocc_study evocc_study;

#define EVOCC_STUDY_OBJECTIVES_MAX 8

typedef enum evocc_study_mode {
    EVOCC_STUDY_OPEN = 0,   /* goes on with the file if there is one, else begins it */
    EVOCC_STUDY_CREATE = 1, /* EVOCC_REFUSED when there is a file */
    EVOCC_STUDY_RESUME = 2  /* EVOCC_NOT_FOUND when there is none */
} evocc_study_mode;

/* Begin with EVOCC_STUDY_OPTIONS. All texts may go once evocc_study_open has returned. */
typedef struct evocc_study_options {
    size_t struct_size;
    const char *path; /* NULL: in memory, gone with the study */
    evocc_study_mode mode;
    const char *title; /* what is tuned, for reports; NULL: "function" */
    /* What else the answers depend on: machine, versions, input. A study goes on only under the
       text that it began with. NULL: "". */
    const char *environment;
} evocc_study_options;
#define EVOCC_STUDY_OPTIONS                        \
    {                                              \
        .struct_size = sizeof(evocc_study_options) \
    }

/*
 * The space is borrowed and must outlive the study. `options` may be NULL: in memory. When a file
 * is gone on with, EVOCC_MISMATCH names the first of space, objectives, search options, environment
 * that is not what it was (`allowed` cannot be compared: it must be the same rule). EVOCC_BUSY:
 * another process is writing the study. EVOCC_DAMAGED: no study file; it is left as it is.
 */
EVOCC_API evocc_status evocc_study_open(evocc_study **out, const evocc_space *space,
                                        const evocc_search_options *search,
                                        const evocc_study_options *options, evocc_error *error);

/* A study file for reading only, beside its writer; those of `evocc tune`, too. Its trials, notes
   and report are all there is: ask, tell and run are EVOCC_UNSUPPORTED. */
EVOCC_API evocc_status evocc_study_read(evocc_study **out, const char *path, evocc_error *error);
EVOCC_API void evocc_study_free(evocc_study *study);

/* As evocc_search_ask, for trials that have no answer in the file yet. The genes stay valid until
   the trial is told. */
EVOCC_API evocc_status evocc_study_ask(evocc_trial *out, evocc_study *study, evocc_error *error);

/* Trials that were asked and not told, by rising id; EVOCC_NOT_FOUND from their count on. For
   callers who dropped them (an interrupted loop): ask does not give them again. */
EVOCC_API evocc_status evocc_study_pending(evocc_trial *out, const evocc_study *study, size_t index,
                                           evocc_error *error);

typedef struct evocc_metric {
    const char *name; /* as for objectives */
    double value;     /* NaN: unknown */
} evocc_metric;

/* Begin with EVOCC_ANSWER. Everything is copied. */
typedef struct evocc_answer {
    size_t struct_size;
    evocc_outcome outcome;
    const double *values;        /* one per objective; not looked at unless the outcome is OK */
    const evocc_metric *metrics; /* further ones, for the record: at most 24 */
    size_t metric_count;
    const char *detail;    /* why it failed, for people; NULL: "" */
    const char *command;   /* that reproduces it, as typed into a shell; NULL: "" */
    const char *code_hash; /* trials with equal machine code are reported as such; NULL: "" */
    double wall_s;         /* 0: from ask to tell */
} evocc_answer;
#define EVOCC_ANSWER                        \
    {                                       \
        .struct_size = sizeof(evocc_answer) \
    }

/* On disk when it returns, and only then known to the search. Values that are not finite make the
   trial invalid and are stored as unknown. After EVOCC_IO or EVOCC_NO_MEMORY the trial is still
   pending: tell it again. */
EVOCC_API evocc_status evocc_study_tell(evocc_study *study, uint64_t id, const evocc_answer *answer,
                                        evocc_error *error);

/* As evocc_search_run; pending trials come first. */
EVOCC_API evocc_status evocc_study_run(evocc_study *study, evocc_evaluate *evaluate, void *context,
                                       evocc_error *error);

/* For progress, front and importance; borrowed. NULL for a study opened by evocc_study_read. */
EVOCC_API const evocc_search *evocc_study_search(const evocc_study *study);

/* One told trial, as the file has it. Texts and arrays are borrowed for the call. */
typedef struct evocc_record {
    uint64_t id;
    uint32_t generation;
    evocc_outcome outcome;
    bool shared;           /* its machine code is that of an earlier trial */
    const char *candidate; /* as evocc_candidate_text */
    const char *code_hash, *detail, *command;
    double wall_s;
    const evocc_metric *metrics; /* objectives first; none unless the outcome is OK */
    size_t metric_count;
} evocc_record;

/* All told trials by rising id; `visit` returns false to stop. */
typedef bool evocc_visit(void *context, const evocc_record *record);
EVOCC_API evocc_status evocc_study_each(evocc_study *study, evocc_visit *visit, void *context,
                                        evocc_error *error);

typedef enum evocc_report_form {
    EVOCC_REPORT_TABLE = 0, /* what `evocc report` prints */
    EVOCC_REPORT_JSON = 1,  /* and with --json */
    EVOCC_REPORT_HTML = 2   /* and with --html: one page with its drawings inside */
} evocc_report_form;
/* Release *out, which ends with a NUL that *length does not count, with evocc_free. */
EVOCC_API evocc_status evocc_study_report(char **out, size_t *length, evocc_study *study,
                                          evocc_report_form form, evocc_error *error);

/* The caller's own data, kept in the study file under a name; a second value replaces the first.
   EVOCC_NOT_FOUND: no note of that name. Release *out, as above, with evocc_free. */
EVOCC_API evocc_status evocc_study_set_note(evocc_study *study, const char *name, const void *data,
                                            size_t length, evocc_error *error);
EVOCC_API evocc_status evocc_study_get_note(char **out, size_t *length, evocc_study *study,
                                            const char *name, evocc_error *error);

/* Releases what a function above says it releases. */
EVOCC_API void evocc_free(void *data);

/* ---- Kernels --------------------------------------------------------------------------------- */

/*
 * A kernel is PTX on its way through ptxas: its space holds the options of this ptxas and the
 * rewritings of this PTX, as `evocc spaces show` lists them; its candidates can be compiled and
 * saved as files for `--apply-controls`. What they are worth is for the caller to say, or for the
 * compiler, whose numbers come with every compilation.
 */
typedef struct evocc_kernel evocc_kernel;

/* Begin with EVOCC_KERNEL_OPTIONS. Everything is copied. */
typedef struct evocc_kernel_options {
    size_t struct_size;
    const char *path;             /* of the PTX file */
    const char *arch;             /* "sm_90a"; NULL: the file's own .target */
    const char *entry;            /* NULL: the only one */
    const char *const *arguments; /* the user's own options of ptxas */
    size_t argument_count;
    const char *ptxas;   /* NULL: EVOCC_REAL_PTXAS, CUDA_HOME/bin, PATH */
    bool whole_module;   /* count all entries: lets options that reach all of them be tuned */
    bool allow_numerics; /* also controls that may change rounding */
    double timeout_s;    /* of one compilation; 0: 10 minutes */
} evocc_kernel_options;
#define EVOCC_KERNEL_OPTIONS                        \
    {                                               \
        .struct_size = sizeof(evocc_kernel_options) \
    }

/* EVOCC_NOT_FOUND: no such file, no ptxas (the message says where it was looked for).
   EVOCC_INVALID_ARGUMENT names an unknown arch or entry, EVOCC_PARSE the place in the PTX. */
EVOCC_API evocc_status evocc_kernel_open(evocc_kernel **out, const evocc_kernel_options *options,
                                         evocc_error *error);
EVOCC_API void evocc_kernel_free(evocc_kernel *kernel);

/* Lives as long as the kernel. */
EVOCC_API const evocc_space *evocc_kernel_space(const evocc_kernel *kernel);

/* One line a fact (PTX, ptxas, arch, entry, options): for evocc_study_options.environment. Lives as
   long as the kernel. */
EVOCC_API const char *evocc_kernel_environment(const evocc_kernel *kernel);

/* Begin with EVOCC_COMPILATION. Pointers are borrowed until the next call on the kernel. */
typedef struct evocc_compilation {
    size_t struct_size;
    evocc_outcome outcome;
    const evocc_metric *metrics; /* registers, spill_bytes, ...; NaN: the compiler did not say */
    size_t metric_count;
    const char *detail, *command; /* as in evocc_answer */
    const char *code_hash;        /* of all that is loaded of the machine code; "" without any */
    double wall_s;
    const void *code; /* the cubin; NULL unless it was asked for and the outcome is OK */
    size_t code_length;
} evocc_compilation;
#define EVOCC_COMPILATION                        \
    {                                            \
        .struct_size = sizeof(evocc_compilation) \
    }

/* Compiles one candidate; without `with_code` nothing is compiled twice. A candidate that does not
   compile is an outcome. EVOCC_REFUSED: forbidden by a rule of the space. EVOCC_IO, EVOCC_PROCESS:
   the machine's fault. */
EVOCC_API evocc_status evocc_kernel_compile(evocc_compilation *out, evocc_kernel *kernel,
                                            const int32_t *genes, bool with_code,
                                            evocc_error *error);

/* The candidate as an advanced controls file, replacing what was at `path`, with what the compiler
   tells of it and of the baseline. EVOCC_INVALID_ARGUMENT: it is the baseline, or `path` is a file
   of another kind. EVOCC_PROCESS: it does not compile. */
EVOCC_API evocc_status evocc_kernel_save(evocc_kernel *kernel, const int32_t *genes,
                                         const char *path, evocc_error *error);

/* The candidate that such a file holds. EVOCC_MISMATCH names the field in which the file is for
   another kernel, compiler or command. */
EVOCC_API evocc_status evocc_kernel_load(int32_t *genes, const evocc_kernel *kernel,
                                         const char *path, evocc_error *error);

#ifdef __cplusplus
}
#endif
#endif
