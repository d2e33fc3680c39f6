/*
 * objective.h: what a study is to make small or large: a metric with a direction and a weight.
 */
#ifndef EVALUATE_OBJECTIVE_H
#define EVALUATE_OBJECTIVE_H

#include "util/strbuf.h"

#define OBJECTIVE_NAME_SIZE 48
#define OBJECTIVE_COUNT_MAX 8

typedef struct objective {
    char metric[OBJECTIVE_NAME_SIZE];
    bool maximize;
    double weight; /* > 0 */
} objective;

typedef struct objective_list {
    objective items[OBJECTIVE_COUNT_MAX];
    size_t count;
} objective_list;

/* Adds "spill_bytes", "spill_bytes,code_bytes" or "spill_bytes:2" (a weight). The names are those
   of evaluate_metrics; unknown, repeated and too many are refused by name. */
evocc_status objective_list_add(objective_list *list, const char *text, bool maximize,
                                evocc_error *error);

/* "min spill_bytes 1, max occupancy 2", as study files keep it; and back: names may then be others
   than those of evaluate_metrics, for a study may have objectives of its caller's own. */
void objective_list_text(strbuf *out, const objective_list *list);
evocc_status objective_list_parse(objective_list *out, const char *text, evocc_error *error);

/*
 * How many times better `tuned` is than `baseline`: above 1 is a gain. Counts and bytes may be
 * zero, where a ratio has no meaning: one unit is added to both sides when either is under one, so
 * that 16 bytes to none is 17 and 0 to 0 is 1. Numbers of other kinds may be negative: then e to
 * the power of the difference, taken in units of the larger magnitude. NAN when either is unknown.
 */
double objective_gain(const objective *o, double baseline, double tuned);

/* Weighted geometric mean of the gains. */
double objective_list_gain(const objective_list *list, const double *baseline, const double *tuned);

/* True when a is nowhere worse than b and somewhere better. Values in the metrics' own direction.
 */
bool objective_list_dominates(const objective_list *list, const double *a, const double *b);

#endif
