#include "report/comparison.h"

#include "util/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pairs of one trial and metric, while they stream by in order. */
typedef struct pair_group {
    comparison_list *list;
    uint64_t trial;
    const char *metric; /* in the list's texts; NULL: none yet */
    double *baseline, *tuned;
    size_t count, baseline_capacity, tuned_capacity;
} pair_group;

/* Fewer pairs than an interval needs are none. */
static evocc_status end_group(pair_group *g, evocc_error *error)
{
    comparison_list *list = g->list;
    if (g->count < STATS_PAIRS_MIN) {
        return EVOCC_OK;
    }
    double *ratios = mem_alloc(g->count, sizeof *ratios);
    if (ratios == NULL ||
        !mem_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        mem_free(ratios);
        return error_no_memory(error);
    }
    const stats_options options = {.seed = 1};
    report_comparison c = {.trial = g->trial, .metric = g->metric};
    evocc_status status = stats_log_ratios(ratios, g->baseline, g->tuned, g->count, error);
    if (status == EVOCC_OK) {
        status = stats_compare(&c.statistics, ratios, g->count, &options, error);
    }
    if (status == EVOCC_OK) {
        c.baseline = stats_median(g->baseline, g->count);
        c.tuned = stats_median(g->tuned, g->count);
        list->items[list->count++] = c;
    }
    mem_free(ratios);
    return status;
}

static evocc_status add_sample(const store_sample *sample, void *context, evocc_error *error)
{
    pair_group *g = context;
    if (sample->purpose != STORE_FOR_ESTIMATE) {
        return EVOCC_OK;
    }
    if (g->metric == NULL || g->trial != sample->trial || strcmp(g->metric, sample->metric) != 0) {
        evocc_status status = end_group(g, error);
        if (status != EVOCC_OK) {
            return status;
        }
        g->count = 0;
        g->trial = sample->trial;
        g->metric = arena_strdup(&g->list->texts, sample->metric);
    }
    if (g->metric == NULL ||
        !mem_grow(&g->baseline, &g->baseline_capacity, g->count + 1, sizeof *g->baseline) ||
        !mem_grow(&g->tuned, &g->tuned_capacity, g->count + 1, sizeof *g->tuned)) {
        return error_no_memory(error);
    }
    g->baseline[g->count] = sample->baseline;
    g->tuned[g->count++] = sample->value;
    return EVOCC_OK;
}

evocc_status comparison_load(comparison_list *list, store *s, evocc_error *error)
{
    pair_group g = {.list = list};
    evocc_status status = store_each_sample(s, add_sample, &g, error);
    if (status == EVOCC_OK) {
        status = end_group(&g, error);
    }
    mem_free(g.baseline);
    mem_free(g.tuned);
    return status;
}

void comparison_dispose(comparison_list *list)
{
    mem_free(list->items);
    arena_dispose(&list->texts);
    *list = (comparison_list){0};
}

const report_comparison *comparison_find(const comparison_list *list, uint64_t trial)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].trial == trial) {
            return &list->items[i];
        }
    }
    return NULL;
}

const report_comparison *comparison_of(size_t *count, const comparison_list *list, uint64_t trial)
{
    const report_comparison *first = comparison_find(list, trial);
    *count = 0;
    while (first != NULL && first + *count < list->items + list->count &&
           first[*count].trial == trial) {
        (*count)++;
    }
    return first;
}

bool comparison_lists(const char *ids, uint64_t id)
{
    while (*ids != '\0') {
        char *end;
        unsigned long long number = strtoull(ids, &end, 10);
        if (end == ids) {
            return false;
        }
        if (number == id) {
            return true;
        }
        ids = end + strspn(end, " ");
    }
    return false;
}

/* ---- For people ------------------------------------------------------------------------------ */

static void line(strbuf *out, const report_comparison *c)
{
    const stats_comparison *s = &c->statistics;
    stats_verdict verdict = stats_judge(s, 0);
    strbuf_printf(out,
                  "  %-14s %.6g s -> %.6g s: speed-up %.4f, 95 %% interval %.4f to %.4f, %zu pairs "
                  "in fresh processes: %s\n",
                  c->metric, c->baseline, c->tuned, s->speedup, s->low, s->high, s->pairs,
                  verdict == STATS_NO_DIFFERENCE ? "no significant difference"
                                                 : stats_verdict_name(verdict));
    strbuf_printf(out, "  %-14s %.2f %% a pair, floor %.2f %%%s\n", "noise", 100 * s->spread,
                  100 * s->noise_floor,
                  s->noise_floor >= fabs(log(s->speedup))
                      ? "; warning: larger than the difference itself"
                      : "");
}

void report_comparisons(strbuf *out, const report_summary *summary)
{
    for (size_t i = 0; i < summary->front_count; i++) {
        const report_point *point = &summary->front[i];
        if (point->comparison_count > 0) {
            strbuf_printf(
                out, "%strial %llu against the baseline%s\n", "\n", (unsigned long long)point->id,
                summary->objectives.count > 1 && !point->apart ? ": not told apart from it" : "");
        }
        for (size_t k = 0; k < point->comparison_count; k++) {
            line(out, &point->comparisons[k]);
        }
    }
    for (const char *text = summary->failed_again; *text != '\0';) {
        size_t length = strcspn(text, "\n");
        strbuf_printf(out, "failed when it was looked at again: %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
    if (*summary->device != '\0') {
        strbuf_printf(out, "\n%s, driver %s\n", summary->device, summary->driver);
    }
    if (*summary->conditions != '\0') {
        strbuf_printf(out, "%s\n", summary->conditions);
    }
    if (*summary->searched != '\0') {
        strbuf_printf(out, "%s\n", summary->searched);
    }
}
