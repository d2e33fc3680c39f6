/*
 * internal.h: what the files of this room share.
 *
 *   summary.c      the result, from the trials and pairs of a study file
 *   detail.c       all the rest of a study file
 *   analysis.c     which controls matter, and what the best have in common
 *   comparison.c   what pairs say: intervals
 *   terminal.c     the table that a run ends with
 *   text.c         the whole report for a terminal
 *   html*.c        the same as a page; plot.c its drawings
 *   json.c         the result for programs
 *   export.c       every trial for programs
 */
#ifndef REPORT_INTERNAL_H
#define REPORT_INTERNAL_H

#include "report/detail.h"
#include "util/mem.h"

/* Fills in controls, best and traits from the trials. Everything it makes lives in `texts`. */
evocc_status report_analyse(report_detail *detail, arena *texts, evocc_error *error);

/* Number of the words in a candidate's text. */
size_t report_word_count(const char *candidate);

/* The next word of a candidate's text: name and value as slices; false at the end. */
typedef struct report_word {
    const char *name, *value;
    size_t name_length, value_length;
} report_word;
bool report_next_word(report_word *out, const char **candidate);

/* ---- Numbers for people ---------------------------------------------------------------------- */

enum { REPORT_CELL = 32 };

/* "28544", "1.816 ms", "unknown". */
void report_value_text(char out[REPORT_CELL], const char *metric, double value);

/* "-100.0 %", "+2.1 %", "same"; from none to some has no percentage: "+12". */
void report_change_text(char out[REPORT_CELL], double baseline, double tuned);

/* "1 min 40 s", "12.3 s", "430 ms". */
void report_duration_text(char out[REPORT_CELL], double seconds);

/* "trial 131 of generation 5", "trial 493, which leaves controls out". */
void report_where(strbuf *out, const report_point *point);

/* Whether numbers of this metric differ from one measurement to the next. */
bool report_is_noisy(const char *metric);

/* "s", "bytes", "" for counts and what is not known. */
const char *report_unit(const char *metric);

/* "code_bytes", "compile_time_s": the unit is in the name unless the name says it. */
void report_column_name(strbuf *out, const char *metric);

const objective *report_objective_of(const report_summary *summary, const char *metric);

/* The setting's name in words, or NULL for one that is of no interest to people. */
const char *report_setting_words(const char *name);

#endif
