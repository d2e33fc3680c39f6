/*
 * evaluate: what a candidate is worth. Compile, look up equal code, (verify, measure). One file for
 * each kind of objective, each a vtable. May use util, space, ptx, acf, compiler.
 */
#ifndef EVALUATE_EVALUATE_H
#define EVALUATE_EVALUATE_H

#include "compiler/compiler.h"
#include "ptx/ptx.h"

/* A measured number with a unit. */
typedef struct evaluate_metric_info {
    const char *name; /* "spill_bytes" */
    const char *unit; /* "bytes", "s", "" for counts */
    const char *help;
    bool maximize; /* the usual direction */
    bool measured; /* differs from one measurement to the next */
} evaluate_metric_info;

/* The metrics there are, as indexes of evaluate_metrics and of results: first what a static
   evaluation gives, then what a GPU does, then what a program says of itself. */
enum {
    EVALUATE_REGISTERS,
    EVALUATE_SPILL_BYTES,
    EVALUATE_STACK_BYTES,
    EVALUATE_CODE_BYTES,
    EVALUATE_SHARED_BYTES,
    EVALUATE_COMPILE_TIME,
    EVALUATE_RUNTIME,
    EVALUATE_ENERGY,
    EVALUATE_POWER,
    EVALUATE_SCORE
};
#define EVALUATE_STATIC_COUNT 6
#define EVALUATE_METRIC_COUNT 10
/* An evaluator may have more of its own: "runtime@tall", that of one shape. */
#define EVALUATE_METRICS_MAX 32
const evaluate_metric_info *evaluate_metrics(size_t *count);
/* By name; of "runtime@tall" the row of "runtime". */
const evaluate_metric_info *evaluate_metric_find(const char *name);

/* A measurement behind a metric. */
typedef struct evaluate_sample {
    uint32_t metric; /* index among the evaluator's */
    double value;
} evaluate_sample;

typedef struct evaluate_result {
    uint64_t id; /* as submitted */
    evocc_outcome outcome;
    double metrics[EVALUATE_METRICS_MAX]; /* in the order of the evaluator's; NAN: unknown */
    char code_hash[HASH_SHA256_TEXT];     /* "" unless compiled */
    char *detail;                         /* what a person can act on; "" when all is well; owned */
    char *command;                        /* that reproduces it, as typed into a shell; owned */
    char *code; /* the machine code, from evaluators that keep it; owned; NULL: not kept, or as
                   that of an earlier result with this hash */
    size_t code_length;
    evaluate_sample *samples; /* owned; NULL: none */
    size_t sample_count;
    double wall_s;
} evaluate_result;
void evaluate_result_dispose(evaluate_result *result);

/* How a measuring evaluator fares. */
typedef struct evaluate_statistics {
    size_t measured;     /* candidates on the machine that measures */
    size_t waiting;      /* for it */
    size_t replacements; /* of workers that a candidate took down */
    double busy_s;       /* of that machine, at candidates */
    /* The baseline, measured beside the candidates: the least and the most. NAN: not measured. */
    double baseline_low_s, baseline_high_s;
} evaluate_statistics;

/* An evaluator works on several candidates at a time, by itself. */
typedef struct evaluator evaluator;

typedef struct evaluator_class {
    evocc_status (*submit)(evaluator *e, uint64_t id, const int32_t *genes, evocc_error *error);
    /* As launcher_wait. An error is the machine's fault (disk full, launcher lost) and ends the
       study; a bad candidate is a result. */
    evocc_status (*wait)(evaluator *e, double timeout_s, int wake_fd, evaluate_result *result,
                         evocc_error *error);
    void (*free)(evaluator *e);
    /* The rest may be NULL. What an earlier run found about a candidate, so that equal code is not
       measured again; only while nothing is in flight. */
    evocc_status (*know)(evaluator *e, const int32_t *genes, const evaluate_result *result,
                         evocc_error *error);
    void (*statistics)(evaluate_statistics *out, const evaluator *e);
} evaluator_class;

struct evaluator {
    const evaluator_class *class;
    const evaluate_metric_info *metrics; /* what its results hold */
    size_t metric_count;
    size_t capacity; /* submit accepts this many before wait must be called */
    size_t in_flight;
    double deadline_s; /* wall seconds for one candidate; may be set while nothing is in flight */
};

typedef struct evaluate_static_options {
    const ptx_module *module; /* borrowed, like all that follows */
    const char *module_path;  /* for commands that a person can type */
    const char *entry;        /* whose statistics count; NULL: summed over all entries */
    const char *arch;
    const compiler_identity *ptxas;
    char *const *base; /* the user's own options, as given */
    size_t base_count;
    const evocc_space *space;
    launcher *launcher;
    size_t workers;              /* compilations at a time: a limit of the launcher from now on */
    size_t ahead;                /* candidates that may be made ready beyond those */
    double deadline_s;           /* of one compilation; 0: 10 minutes */
    uint64_t memory_limit_bytes; /* of one compiler's address space; 0: the memory of the machine */
    bool keep_code;              /* results have the machine code with them */
    /* The words of a command that compiles the same, up to the candidate: "evocc compile x.yaml";
       NULL: made of the fields above. */
    const char *reproduce;
    /* The module of candidates whose application parameters are not all at their defaults; NULL:
       there are no parameters, or they do not reach the PTX. Called by submit. */
    evocc_status (*module_of)(const ptx_module **out, void *context, const int32_t *genes,
                              evocc_error *error);
    void *context;
} evaluate_static_options;

/*
 * Compiles a candidate and reads what the compiler and the machine code tell; no GPU. A candidate
 * whose rewritten PTX and options equal those of an earlier one is not compiled again. spill_bytes
 * is unknown when spills may have gone to shared memory, which no ptxas counts. Once the baseline
 * (all genes absent) was compiled, a candidate that would break a launch the baseline allows is
 * rejected (launch.h).
 */
evocc_status evaluate_static_new(evaluator **out, const evaluate_static_options *options,
                                 evocc_error *error);

/* The machine code of one candidate, compiled again: for artifacts and for the wrapper's tests.
   Only while nothing is in flight. EVOCC_PROCESS with the compiler's message when it does not
   compile. mem_free. */
evocc_status evaluate_static_cubin(char **out, size_t *length, evaluator *e, const int32_t *genes,
                                   evocc_error *error);

/*
 * The canary: candidates that must change the machine code (another optimisation level, another
 * order), until one does. EVOCC_OK then; EVOCC_PROCESS when none did: the controls do not reach the
 * compiler, and a study of them would be noise. EVOCC_OK for a space without controls. Only while
 * nothing is in flight; `baseline_hash` is the code hash of the baseline.
 */
evocc_status evaluate_canary(evaluator *e, const evocc_space *space, const char *baseline_hash,
                             evocc_error *error);

#endif
