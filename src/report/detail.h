/*
 * detail.h: everything of a study that is shown beyond its result: each trial, what became of each
 * generation, why trials failed, which controls matter, what the best have in common, settings.
 * The page (html.c) and the terminal (text.c) draw the same numbers from here.
 */
#ifndef REPORT_DETAIL_H
#define REPORT_DETAIL_H

#include "report/report.h"

typedef struct report_trial {
    uint64_t id;
    uint32_t generation;
    evocc_outcome outcome;
    bool shared;
    double wall_s;
    double gain; /* objective_list_gain over the baseline; NAN: not valid, or no baseline */
    const double *values; /* one per objective; NULL unless all of them are known */
    const char *candidate;
    const char *code_hash;
} report_trial;

/* A generation; the last one of a finished study may be that of the trials that leave controls out,
   which the search did not ask. */
typedef struct report_generation {
    uint32_t generation;
    size_t trials;
    size_t outcome_counts[EVOCC_OUTCOME_COUNT];
    double wall_s; /* of its trials, added up */
    bool trimming;
} report_generation;

/* Trials that failed in the same words, numbers aside. */
typedef struct report_reason {
    evocc_outcome outcome;
    const char *detail; /* first line */
    size_t count;
    uint64_t first_trial;
    const char *command; /* of the first one */
} report_reason;

/* One control that some valid trial had away from its default. */
typedef struct report_control {
    const char *name;         /* "ptx/order@fa.b4" */
    const char *help;         /* of its kind or option; "" when it is not known here */
    size_t trials;            /* valid ones that had it */
    const double *importance; /* one per objective, 0 to 1: analysis.c */
} report_control;

/* A value of a control that is more frequent among the best than among all. */
typedef struct report_trait {
    const char *control, *value;
    size_t best_count;  /* of the best that have it */
    size_t valid_count; /* of all valid trials that have it */
} report_trait;

typedef struct report_setting {
    const char *name, *value;
} report_setting;

/* A trial that was better than all before it, by the objectives' mean gain. */
typedef struct report_step {
    size_t trial; /* index */
    double gain;
} report_step;

typedef struct report_detail {
    const report_summary *summary;
    size_t trial_count;
    const report_trial *trials; /* by rising id */
    size_t generation_count;
    const report_generation *generations;
    size_t reason_count;
    const report_reason *reasons; /* the most frequent first */
    size_t control_count;
    const report_control *controls; /* the most important first, by the greatest of their numbers */
    size_t best_count;              /* trials that count as the best */
    size_t valid_count;
    size_t trait_count;
    const report_trait *traits; /* the most telling first */
    size_t step_count;
    const report_step *steps;
    size_t setting_count;
    const report_setting *settings; /* by name */
    double wall_s;                  /* of all trials, added up */
    uint64_t file_bytes;
} report_detail;

/* `path` as in report_summary_load. Does not close the store. */
evocc_status report_detail_load(report_detail **out, store *s, const char *path,
                                evocc_error *error);
void report_detail_free(report_detail *detail);

/* Help texts of controls by full name: of a built-in space, or of the kind of a rewriting.
   Zero-initialised: ready. The text is borrowed until the next call; "" when there is none. */
typedef struct report_help {
    evocc_space *space;
    char stage[16];
} report_help;
const char *report_help_of(report_help *help, const char *name);
void report_help_dispose(report_help *help);

/* "" when the study file has no such setting. */
const char *report_detail_setting(const report_detail *detail, const char *name);

/* The command that compiles, or of a workload measures, under the result, as it has to be typed;
   nothing when no candidate was better than the baseline, or there is no compiler. */
void report_apply_command(strbuf *out, const report_detail *detail);

/* The file that a study with this outcome writes: the ACF, or best.acf in its folder. */
void report_result_path(strbuf *out, const report_detail *detail);

/* For the terminal: report_table, then everything above. */
void report_text(strbuf *out, const report_detail *detail);

/* Every trial, one line each after a line of names (RFC 4180, lines end in LF), or one JSON object.
   `evocc export --help` has the columns. */
evocc_status report_export_csv(strbuf *out, store *s, const char *path, evocc_error *error);
evocc_status report_export_json(strbuf *out, store *s, const char *path, evocc_error *error);

/* One self-contained page: no script, nothing fetched, ASCII, well-formed as XML. */
void report_html(strbuf *out, const report_detail *detail);

#endif
