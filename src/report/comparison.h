/* comparison.h: what the pairs in a study file say. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "report/report.h"
#include "util/mem.h"

/* By trial, then by metric. Zero-initialised: empty. */
typedef struct comparison_list {
    report_comparison *items;
    size_t count, capacity;
    arena texts;
} comparison_list;

evocc_status comparison_load(comparison_list *list, store *s, evocc_error *error);
void comparison_dispose(comparison_list *list);

/* The first of a trial; NULL: it has none. */
const report_comparison *comparison_find(const comparison_list *list, uint64_t trial);
/* All of a trial. */
const report_comparison *comparison_of(size_t *count, const comparison_list *list, uint64_t trial);

/* Whether `ids`, numbers with blanks between, has this one. */
bool comparison_lists(const char *ids, uint64_t id);

#endif
