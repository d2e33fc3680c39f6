/*
 * compile_outcome.h: what the end of a compiler's run means: a result of the candidate, or a fault
 * of the machine, for which no candidate is to blame.
 */
#ifndef EVALUATE_COMPILE_OUTCOME_H
#define EVALUATE_COMPILE_OUTCOME_H

#include "compiler/compiler.h"

typedef struct compile_outcome {
    evocc_outcome outcome;
    char detail[EVOCC_ERROR_SIZE]; /* what a person can act on; "" for EVOCC_OUTCOME_OK */
} compile_outcome;

/* EVOCC_OK with an outcome, or an error: the machine's fault. `folder` is where the compiler wrote;
   `deadline_s` is what it was given. EVOCC_OUTCOME_OK means that it ended well, not yet that it
   wrote anything. */
evocc_status compile_outcome_of(compile_outcome *out, const process_result *result,
                                const char *path, const char *folder, double deadline_s,
                                evocc_error *error);

/* The compiler ended well, but what it wrote is missing or damaged. ptxas does not notice when it
   fills a disk (13.0.88: exit 0, the file cut short), so this looks for that first. */
evocc_status compile_outcome_of_damage(compile_outcome *out, const char *what, const char *path,
                                       const char *folder, evocc_error *error);

#endif
