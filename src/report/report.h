/*
 * report: what a study file says, for people and for programs. Reads the store only, so that the
 * end of a run and a look at the file a year later show the same. May use everything above but
 * compiler processes; never writes.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "evaluate/objective.h"
#include "stats/stats.h"
#include "store/store.h"

/* A trial against the baseline in pairs that took no part in choosing it. */
typedef struct report_comparison {
    uint64_t trial;
    const char *metric;
    double baseline, tuned; /* medians over the pairs */
    stats_comparison statistics;
} report_comparison;

/* One trial of the front. */
typedef struct report_point {
    uint64_t id;
    uint32_t generation;
    bool behind_search;   /* one of the trials that leave controls out of the best */
    size_t control_count; /* words of the candidate */
    const char *candidate;
    const char *code_hash;
    double gain;                          /* objective_list_gain over the baseline */
    const double *values;                 /* one per objective */
    const double *metrics;                /* one per metric of the summary */
    const report_comparison *comparisons; /* by metric; none unless the study made pairs */
    size_t comparison_count;
    bool apart; /* its gain is sure; true where nothing had to be made sure of */
} report_point;

/* Texts and arrays live in the summary. */
typedef struct report_summary {
    const char *study_path;
    const char *input, *kernel, *arch, *compiler, *compiler_version;
    uint64_t seed;
    uint64_t budget; /* trials asked for */
    double elapsed_s;
    objective_list objectives;
    size_t trial_count;
    size_t outcome_counts[EVOCC_OUTCOME_COUNT];
    size_t shared_count;        /* trials that shared the code of an earlier one */
    size_t distinct_code_count; /* different machine codes seen */
    bool finished;              /* the search ended by itself */
    size_t trim_count;          /* trials behind the search's, which left controls out */
    bool ideal;                 /* the baseline left nothing to gain */
    bool exhausted;             /* ... because every candidate of the space was tried */
    size_t metric_count;
    const char *const *metric_names;
    const double *baseline_metrics; /* NAN: unknown; NULL while there is no valid trial */
    const double *baseline_values;  /* one per objective */
    size_t front_count;
    const report_point *front; /* the non-dominated valid trials by rising id; equal values appear
                                  once, as the one with fewest controls, then the earliest */
    size_t best;               /* index into front: greatest gain of those apart */
    bool improved;             /* front[best] is better than the baseline somewhere */
    /* The best were compared with the baseline in pairs: of one objective the front is then the one
       that was chosen so, and `improved` means that some gain is sure. */
    bool compared;
    const char *device, *driver, *conditions; /* "" without a GPU */
    const char *searched; /* how the GPU fared: candidates, time at work, baseline; "" without */
    const char *failed_again; /* finalists that failed when they were looked at again; "" */
} report_summary;

/* `path` is what messages call the study. Trials with ids from `below` on are left out (UINT64_MAX:
   none). Does not close the store. */
evocc_status report_summary_load(report_summary **out, store *s, const char *path, uint64_t below,
                                 evocc_error *error);
void report_summary_free(report_summary *summary);

/* The final table of a terminal: baseline, best and gain per objective, the other metrics beneath;
   the Pareto set when there are several objectives. Plain ASCII, ends with a newline. */
void report_table(strbuf *out, const report_summary *summary);

/* Speed-ups with their intervals, the noise beside them; nothing where there are no pairs. Part of
   report_table. */
void report_comparisons(strbuf *out, const report_summary *summary);

/* The same as one JSON object. Units are in the names. */
void report_json(strbuf *out, const report_summary *summary);

#endif
