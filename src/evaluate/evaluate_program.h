/*
 * evaluate_program.h: a program of the host, built with the candidate's options, run and compared.
 *
 * Building and measuring take turns: candidates are built side by side, and only when no build is
 * under way is one of them run, alone. A candidate is run once to see that it is right; one that is
 * not clearly slow is then run in turns with the baseline, and its runtime is the baseline's first
 * one times the median ratio of these pairs, so that what drifts on the machine cancels.
 * Candidates of equal code are one measurement.
 */
#ifndef EVALUATE_EVALUATE_PROGRAM_H
#define EVALUATE_EVALUATE_PROGRAM_H

#include "evaluate/evaluate.h"
#include "evaluate/program.h"
#include "stats/stats.h"

typedef struct evaluate_program_options {
    const program *program; /* borrowed, like all that follows */
    const compiler *compiler;
    const compiler_identity *identity;
    const evocc_space *space;
    launcher *launcher;
    size_t workers; /* builds at a time */
    bool time;      /* measure; else each distinct program runs once, to see that it is right */
} evaluate_program_options;

/* The first candidate must be the baseline (all genes absent): it is run ten times, and must agree
   with itself. The evaluator's deadline_s is that of one build command. */
evocc_status evaluate_program_new(evaluator **out, const evaluate_program_options *options,
                                  evocc_error *error);

/* The first of the code files, built again. As evaluate_static_cubin. */
evocc_status evaluate_program_code(char **out, size_t *length, evaluator *e, const int32_t *genes,
                                   evocc_error *error);

/* One pair, for whoever counts them. */
typedef evocc_status evaluate_program_pair(void *context, double baseline_s, double tuned_s,
                                           evocc_error *error);

/*
 * The candidate built again and run in turns with the baseline, until the plan is satisfied; every
 * output is checked. *outcome is not OK when it failed this time: the reason is in `detail`. Only
 * while nothing is in flight; EVOCC_INTERRUPTED as launcher_wait.
 */
evocc_status evaluate_program_compare(evocc_outcome *outcome, char detail[EVOCC_ERROR_SIZE],
                                      evaluator *e, const int32_t *genes, const stats_plan *plan,
                                      int wake_fd, evaluate_program_pair *each, void *context,
                                      evocc_error *error);

#endif
