#include "report/internal.h"

#include <math.h>
#include <string.h>

static bool is_compared(const report_point *point, const char *metric)
{
    for (size_t i = 0; i < point->comparison_count; i++) {
        if (strcmp(point->comparisons[i].metric, metric) == 0) {
            return true;
        }
    }
    return false;
}

static void metric_row(strbuf *out, const report_summary *summary, size_t metric,
                       const report_point *best)
{
    const char *name = summary->metric_names[metric];
    double from = summary->baseline_metrics[metric];
    double to = best->metrics[metric];
    char baseline[REPORT_CELL];
    char tuned[REPORT_CELL];
    char change[REPORT_CELL];
    report_value_text(baseline, name, from);
    report_value_text(tuned, name, to);
    report_change_text(change, from, to);
    const objective *o = report_objective_of(summary, name);
    const char *role = o == NULL ? "" : o->maximize ? "  maximized" : "  minimized";
    bool noisy = report_is_noisy(name);
    if (noisy && isnan(from) && isnan(to)) {
        return; /* nobody asked for it */
    }
    strbuf_printf(out, "  %-14s %14s %14s %10s%s%s\n", name, baseline, tuned, change, role,
                  !noisy                              ? ""
                  : is_compared(best, name)           ? "  as the search saw it; in pairs: below"
                  : strcmp(name, "compile_time") == 0 ? "  one sample each: noise of some per cent"
                                                      : "");
}

/* Objectives first, then what else is known. */
static void metric_rows(strbuf *out, const report_summary *summary, const report_point *best)
{
    strbuf_printf(out, "  %-14s %14s %14s %10s\n", "metric", "baseline", "best", "change");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < summary->metric_count; i++) {
            bool is_objective = report_objective_of(summary, summary->metric_names[i]) != NULL;
            if (is_objective == (pass == 0)) {
                metric_row(out, summary, i, best);
            }
        }
    }
}

static void candidate_lines(strbuf *out, const char *candidate)
{
    while (*candidate != '\0') {
        size_t length = strcspn(candidate, " ");
        strbuf_printf(out, "    %.*s\n", (int)length, candidate);
        candidate += length;
        candidate += strspn(candidate, " ");
    }
}

static void front_rows(strbuf *out, const report_summary *summary)
{
    strbuf_printf(out, "\nPareto set, %zu points\n  %8s", summary->front_count, "trial");
    for (size_t i = 0; i < summary->objectives.count; i++) {
        strbuf_printf(out, " %14s", summary->objectives.items[i].metric);
    }
    strbuf_printf(out, " %8s %9s\n", "gain", "controls");
    for (size_t p = 0; p < summary->front_count; p++) {
        const report_point *point = &summary->front[p];
        strbuf_printf(out, "  %8llu", (unsigned long long)point->id);
        for (size_t i = 0; i < summary->objectives.count; i++) {
            char text[REPORT_CELL];
            report_value_text(text, summary->objectives.items[i].metric, point->values[i]);
            strbuf_printf(out, " %14s", text);
        }
        strbuf_printf(out, " %7.3fx %9zu%s\n", point->gain, point->control_count,
                      p == summary->best && summary->improved ? "  best" : "");
    }
}

static void heading(strbuf *out, const report_summary *summary)
{
    size_t valid = summary->outcome_counts[EVOCC_OUTCOME_OK];
    strbuf_printf(out, "%s%s%s", summary->input, *summary->kernel == '\0' ? "" : ": ",
                  summary->kernel);
    if (*summary->compiler != '\0') {
        strbuf_printf(out, ", %s, %s %s", summary->arch, summary->compiler,
                      summary->compiler_version);
    }
    strbuf_putc(out, '\n');
    size_t searched = summary->trial_count - summary->trim_count;
    if (summary->exhausted) {
        strbuf_printf(out, "all %zu candidates of the space", searched);
    } else {
        strbuf_printf(out, "%zu of %llu trials", searched, (unsigned long long)summary->budget);
    }
    if (summary->trim_count > 0) {
        strbuf_printf(out, " and %zu to leave controls out", summary->trim_count);
    }
    double share = summary->trial_count == 0 ? 0 : (double)valid / (double)summary->trial_count;
    strbuf_printf(out, ", %.1f %% valid, %zu different codes, seed %llu, %.1f s\n", 100 * share,
                  summary->distinct_code_count, (unsigned long long)summary->seed,
                  summary->elapsed_s);
    for (int i = 1; i < EVOCC_OUTCOME_COUNT; i++) {
        if (summary->outcome_counts[i] > 0) {
            strbuf_printf(out, "  %zu %s\n", summary->outcome_counts[i],
                          evocc_outcome_name((evocc_outcome)i));
        }
    }
}

void report_table(strbuf *out, const report_summary *summary)
{
    heading(out, summary);
    if (summary->front_count == 0) {
        strbuf_puts(out, "\nNo valid trial yet.\n");
        return;
    }
    const report_point *best = &summary->front[summary->best];
    strbuf_puts(out, "\n");
    metric_rows(out, summary, best);
    if (summary->objectives.count > 1) {
        front_rows(out, summary);
    }
    report_comparisons(out, summary);
    if (summary->improved) {
        strbuf_puts(out, "\nbest: ");
        report_where(out, best);
        strbuf_printf(out, ", %zu %s\n", best->control_count,
                      best->control_count == 1 ? "control" : "controls");
        candidate_lines(out, best->candidate);
    } else {
        strbuf_puts(
            out,
            summary->compared && summary->front_count > 0 && summary->front[summary->best].id != 0
                ? "\nNo significant gain: the best candidates are not told apart from the "
                  "baseline.\n"
            : summary->ideal ? "\nThe baseline is as good as can be: nothing to search for. "
                               "Another objective may have\nmore to gain.\n"
                             : "\nNo candidate was better than the baseline.\n");
    }
}
