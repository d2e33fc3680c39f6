/*
 * program_parts.h: what the files of a program's evaluation share. Internal to them.
 *
 *   evaluate_program.c  candidates, builds, equal code
 *   program_measure.c   runs: whether they are right, and how long they take
 */
#ifndef EVALUATE_PROGRAM_PARTS_H
#define EVALUATE_PROGRAM_PARTS_H

#include "evaluate/evaluate_program.h"
#include "util/map.h"

typedef enum slot_state { FREE, WAITING, BUILDING, BUILT, READY } slot_state;

typedef struct slot {
    slot_state state;
    uint64_t id;
    char *folder;
    size_t step;            /* of BUILDING */
    compiler_command tuned; /* words of the candidate */
    bool baseline;
    evocc_outcome outcome;
    double metrics[EVALUATE_METRIC_COUNT];
    evaluate_sample *samples;
    size_t sample_count;
    double build_cpu_s, wall_s;
    char code_hash[HASH_SHA256_TEXT];
    char detail[EVOCC_ERROR_SIZE];
} slot;

/* One output of the baseline. */
typedef struct output {
    char *data;
    size_t length;
} output;

/* What was found about some code. */
typedef struct known_code {
    const char *hash;
    evocc_outcome outcome;
    double runtime_s, score;
    const char *detail;
} known_code;

typedef struct program_evaluator {
    evaluator base;
    evaluate_program_options o;
    slot *slots;
    slot reference; /* the baseline as it was built; its folder stays */
    bool has_reference;
    double reference_s; /* its median runtime */
    double run_deadline_s;
    int reference_exit;
    output *expected; /* stdout, then the files */
    map codes;
    known_code *known;
    size_t known_count, known_capacity;
    arena texts;
} program_evaluator;

/* The program a word names, as a path: in the candidate's folder, or on PATH. Replaces *word. */
evocc_status program_resolve(char **word, const slot *s, evocc_error *error);

/* The first candidate: it is run until its outputs and its runtime are known, and what was built
   stays as the reference. s->outcome and s->detail say what came of it; an error is the machine's,
   or EVOCC_INTERRUPTED. */
evocc_status program_measure_baseline(program_evaluator *self, slot *s, int wake_fd,
                                      evocc_error *error);

/* Any other, in the same way. */
evocc_status program_measure_candidate(program_evaluator *self, slot *s, int wake_fd,
                                       evocc_error *error);

/* The baseline and the candidate, the one first that was second in the pair before. */
evocc_status program_run_pair(program_evaluator *self, slot *s, size_t number, double *baseline_s,
                              double *tuned_s, int wake_fd, evocc_error *error);

#endif
