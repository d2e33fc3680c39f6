/*
 * minimize.h: the fewest controls that keep a candidate's gain. Knows no compiler: what a candidate
 * is worth comes from the caller, who may compile it or measure it in pairs.
 *
 * Whole groups of controls (those of one kind of rewriting) are left out first, then ever smaller
 * parts of what is left, down to single ones, until no single one can be left out: delta debugging
 * (Zeller and Hildebrandt 2002, "Simplifying and Isolating Failure-Inducing Input") without its
 * test of the parts alone, which for controls that add up seldom passes.
 */
#ifndef STUDY_MINIMIZE_H
#define STUDY_MINIMIZE_H

#include "evaluate/objective.h"

/* One value per objective. *valid false: the candidate is forbidden or failed, which is no error.
 */
typedef evocc_status minimize_evaluate(void *context, double *values, bool *valid,
                                       const char *candidate, evocc_error *error);

typedef struct minimize_options {
    const objective_list *objectives;
    double margin; /* how much worse an objective may become for a control less: 0.01 is 1 % */
    minimize_evaluate *evaluate;
    void *context;
} minimize_options;

typedef struct minimize_control {
    char *text;   /* "ptx/order@fa=pressure" */
    double share; /* of the logarithm of the mean gain that is lost without it, and it alone. They
                     need not add up to 1: controls help or hinder each other. NAN: without it the
                     candidate is not valid */
} minimize_control;

typedef struct minimize_result {
    char *candidate;
    minimize_control *controls;
    size_t control_count, first_count;
    size_t evaluations;
    double baseline[OBJECTIVE_COUNT_MAX], first[OBJECTIVE_COUNT_MAX], last[OBJECTIVE_COUNT_MAX];
} minimize_result;

/* `candidate`: "a=1 b=2". EVOCC_NOT_FOUND: it is no better than the baseline, so there is no gain
   to keep; EVOCC_PROCESS: it, or the baseline, is not valid. What the caller's function returns as
   an error ends it. On failure nothing has to be released. */
evocc_status study_minimize(minimize_result *out, const char *candidate,
                            const minimize_options *options, evocc_error *error);
void minimize_result_dispose(minimize_result *result);

#endif
