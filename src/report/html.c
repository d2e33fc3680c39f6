/*
 * The page: one file, inline style and drawings, no script, nothing fetched (a policy in its head
 * says so to the browser), every text escaped. Well-formed as XML, so that it can be checked.
 */
#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void html_section(strbuf *out, const char *id, const char *title, const char *hint)
{
    strbuf_printf(out, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
    if (*hint != '\0') {
        strbuf_printf(out, "<p class=\"hint\">%s</p>\n", hint);
    }
}

void html_bar_cell(strbuf *out, double share, const char *number)
{
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    strbuf_printf(
        out,
        "<td class=\"n\"><svg class=\"bar\" viewBox=\"0 0 130 10\" aria-hidden=\"true\"><rect "
        "class=\"rest\" width=\"130\" height=\"10\" rx=\"3\"/><rect width=\"%.1f\" "
        "height=\"10\" rx=\"3\"/></svg> %s</td>",
        130 * share, number);
}

static void percent_cell(strbuf *out, double share, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*f %%", digits, 100 * share);
    html_bar_cell(out, share, text);
}

static void put_code(strbuf *out, const char *text, size_t length)
{
    strbuf_puts(out, "<code>");
    html_slice(out, text, length);
    strbuf_puts(out, "</code>");
}

/* ---- Head ------------------------------------------------------------------------------------ */

static void put_title(strbuf *out, const report_summary *s)
{
    strbuf_puts(out, "evocc: ");
    html_text(out, *s->kernel == '\0' ? s->input : s->kernel);
}

static void put_head(strbuf *out, const report_detail *d)
{
    const report_summary *s = d->summary;
    strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                     "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                     "<link rel=\"icon\" href=\"data:,\"/>\n<title>");
    put_title(out, s);
    strbuf_printf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<h1>", html_style);
    put_title(out, s);
    strbuf_puts(out, "</h1>\n<p class=\"sub\">");
    html_text(out, s->input);
    strbuf_puts(out, " for ");
    html_text(out, s->arch);
    strbuf_puts(out, ", ");
    html_text(out, s->compiler);
    strbuf_putc(out, ' ');
    html_text(out, s->compiler_version);
    strbuf_puts(out, ", begun ");
    html_text(out, report_detail_setting(d, "started_utc"));
    strbuf_puts(out, "</p>\n");
}

static void put_tile(strbuf *out, const char *class, const char *number, const char *words)
{
    strbuf_printf(out, "<div class=\"tile\"><b class=\"%s\">", class);
    html_text(out, number);
    strbuf_puts(out, "</b><span>");
    html_text(out, words);
    strbuf_puts(out, "</span></div>\n");
}

static void objective_tile(strbuf *out, const report_summary *s, size_t k)
{
    const objective *o = &s->objectives.items[k];
    const report_point *best = &s->front[s->best];
    char from[REPORT_CELL];
    char to[REPORT_CELL];
    char change[REPORT_CELL];
    char number[2 * REPORT_CELL + 8];
    char words[160];
    report_value_text(from, o->metric, s->baseline_values[k]);
    report_value_text(to, o->metric, best->values[k]);
    report_change_text(change, s->baseline_values[k], best->values[k]);
    snprintf(number, sizeof number, "%s \xe2\x86\x92 %s", from, to);
    snprintf(words, sizeof words, "%s (%s)", o->metric, change);
    bool better = objective_gain(o, s->baseline_values[k], best->values[k]) > 1;
    put_tile(out, better ? "good" : "", number, words);
}

static void put_tiles(strbuf *out, const report_detail *d)
{
    const report_summary *s = d->summary;
    char number[64];
    char words[120];
    char elapsed[REPORT_CELL];
    strbuf_puts(out, "<div class=\"tiles\">\n");
    for (size_t k = 0; s->improved && k < s->objectives.count; k++) {
        objective_tile(out, s, k);
    }
    if (!s->improved) {
        put_tile(out, "", s->front_count == 0 ? "no valid trial" : "no gain",
                 s->front_count == 0 ? "yet" : "no candidate was better than the baseline");
    }
    snprintf(number, sizeof number, "%zu", s->trial_count);
    snprintf(words, sizeof words, "trials%s, %.1f %% valid, %zu different codes",
             s->finished ? "" : " so far",
             s->trial_count == 0
                 ? 0
                 : 100 * (double)s->outcome_counts[EVOCC_OUTCOME_OK] / (double)s->trial_count,
             s->distinct_code_count);
    put_tile(out, "", number, words);
    report_duration_text(elapsed, s->elapsed_s);
    put_tile(out, "", elapsed,
             s->finished ? "from start to end" : "so far; the study has not ended");
    strbuf_puts(out, "</div>\n");
}

static void put_links(strbuf *out, const report_detail *d)
{
    static const struct {
        const char *id, *words;
    } links[] = {{"result", "Result"},
                 {"front", "Pareto set"},
                 {"use", "How to apply it"},
                 {"search", "Convergence"},
                 {"valid", "Outcomes"},
                 {"controls", "Controls"},
                 {"common", "What the best share"},
                 {"time", "Time"},
                 {"environment", "Environment"}};
    strbuf_puts(out, "<nav>");
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (strcmp(links[i].id, "front") != 0 || d->summary->objectives.count > 1) {
            strbuf_printf(out, "<a href=\"#%s\">%s</a>\n", links[i].id, links[i].words);
        }
    }
    strbuf_puts(out, "</nav>\n");
}

/* ---- Result ---------------------------------------------------------------------------------- */

static const report_comparison *comparison_on(const report_point *point, const char *metric)
{
    for (size_t i = 0; i < point->comparison_count; i++) {
        if (strcmp(point->comparisons[i].metric, metric) == 0) {
            return &point->comparisons[i];
        }
    }
    return NULL;
}

static void put_interval(strbuf *out, const report_comparison *c)
{
    strbuf_printf(
        out, "%.4f&#215;, 95 %% interval %.4f to %.4f (%zu pairs, noise floor %.2f %%): %s",
        c->statistics.speedup, c->statistics.low, c->statistics.high, c->statistics.pairs,
        100 * c->statistics.noise_floor, stats_verdict_name(stats_judge(&c->statistics, 0)));
}

static void put_certainty(strbuf *out, const report_point *best, const char *metric)
{
    const report_comparison *c = comparison_on(best, metric);
    if (c != NULL) {
        put_interval(out, c);
    } else {
        strbuf_puts(out,
                    report_is_noisy(metric) ? "one sample each: noise of some per cent" : "exact");
    }
}

static void put_metric_row(strbuf *out, const report_summary *s, size_t i, const report_point *best)
{
    const char *metric = s->metric_names[i];
    const objective *o = report_objective_of(s, metric);
    if (o == NULL && isnan(s->baseline_metrics[i]) && isnan(best->metrics[i])) {
        return; /* nobody asked for it */
    }
    char from[REPORT_CELL];
    char to[REPORT_CELL];
    char change[REPORT_CELL];
    report_value_text(from, metric, s->baseline_metrics[i]);
    report_value_text(to, metric, best->metrics[i]);
    report_change_text(change, s->baseline_metrics[i], best->metrics[i]);
    double gain = o == NULL ? 1 : objective_gain(o, s->baseline_metrics[i], best->metrics[i]);
    strbuf_printf(out, "<tr%s><td>", o == NULL ? "" : " class=\"best\"");
    html_text(out, metric);
    strbuf_printf(out,
                  "</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n "
                  "%s\">%s</td><td>",
                  report_unit(metric), from, to,
                  gain > 1   ? "good"
                  : gain < 1 ? "bad"
                             : "",
                  change);
    put_certainty(out, best, metric);
    strbuf_printf(out, "</td><td>%s</td></tr>\n",
                  o == NULL     ? ""
                  : o->maximize ? "maximized"
                                : "minimized");
}

static void put_line(strbuf *out, const char *words, const char *text)
{
    if (*text != '\0') {
        strbuf_printf(out, "<p class=\"hint\">%s", words);
        html_text(out, text);
        strbuf_puts(out, "</p>\n");
    }
}

/* Every point of the front that ran beside the baseline in pairs. */
static void put_pairs(strbuf *out, const report_summary *s)
{
    if (!s->compared) {
        return;
    }
    strbuf_puts(out,
                "<h3>In pairs with the baseline</h3><p class=\"hint\">In fresh processes and "
                "random order, on pairs that took no part in choosing.</p><div class=\"scroll\">"
                "<table><thead><tr><th class=\"n\">trial</th><th>metric</th><th>gain</th>"
                "</tr></thead><tbody>\n");
    for (size_t i = 0; i < s->front_count; i++) {
        const report_point *point = &s->front[i];
        for (size_t k = 0; k < point->comparison_count; k++) {
            strbuf_printf(out, "<tr><td class=\"n\">%llu</td><td>", (unsigned long long)point->id);
            html_text(out, point->comparisons[k].metric);
            strbuf_puts(out, "</td><td>");
            put_interval(out, &point->comparisons[k]);
            strbuf_puts(out, "</td></tr>\n");
        }
    }
    strbuf_puts(out, "</tbody></table></div>\n");
    put_line(out, "Conditions: ", s->conditions);
    put_line(out, "During the search: ", s->searched);
    put_line(out, "Failed when looked at again: ", s->failed_again);
}

static void put_candidate(strbuf *out, const report_point *point)
{
    const char *text = point->candidate;
    report_word word;
    strbuf_puts(out, "<pre>");
    while (report_next_word(&word, &text)) {
        html_slice(out, word.name, (size_t)(text - word.name));
        strbuf_putc(out, '\n');
    }
    strbuf_puts(out, "</pre>\n");
}

static void put_result(strbuf *out, const report_detail *d)
{
    const report_summary *s = d->summary;
    html_section(out, "result", "Result", "");
    if (s->front_count == 0) {
        strbuf_puts(out, "<p>No valid trial yet.</p></section>\n");
        return;
    }
    const report_point *best = &s->front[s->best];
    strbuf_puts(out, "<div class=\"scroll\"><table><thead><tr><th>metric</th><th>unit</th><th "
                     "class=\"n\">baseline</th><th class=\"n\">best</th><th class=\"n\">change</th>"
                     "<th>how sure</th><th>objective</th></tr></thead><tbody>\n");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->metric_count; i++) {
            if ((report_objective_of(s, s->metric_names[i]) != NULL) == (pass == 0)) {
                put_metric_row(out, s, i, best);
            }
        }
    }
    strbuf_puts(out, "</tbody></table></div>\n");
    put_pairs(out, s);
    if (s->improved) {
        strbuf_puts(out, "<h3>Best: ");
        report_where(out, best);
        strbuf_printf(out, ", %zu control%s</h3>\n", best->control_count,
                      best->control_count == 1 ? "" : "s");
        put_candidate(out, best);
    } else {
        strbuf_puts(out, s->ideal
                             ? "<p>The baseline is as good as can be: nothing to search for.</p>\n"
                             : "<p>No candidate was better than the baseline.</p>\n");
    }
    strbuf_puts(out, "</section>\n");
}

static void put_front(strbuf *out, const report_detail *d)
{
    const report_summary *s = d->summary;
    if (s->objectives.count < 2 || s->front_count == 0) {
        return;
    }
    html_section(out, "front", "Pareto set",
                 "Trials that no other one beats in all objectives at once.");
    html_fronts(out, d);
    strbuf_puts(out, "<div class=\"scroll\"><table><thead><tr><th class=\"n\">trial</th>");
    for (size_t k = 0; k < s->objectives.count; k++) {
        strbuf_puts(out, "<th class=\"n\">");
        html_text(out, s->objectives.items[k].metric);
        strbuf_puts(out, "</th>");
    }
    strbuf_puts(
        out, "<th class=\"n\">mean gain</th><th class=\"n\">controls</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < s->front_count; i++) {
        const report_point *point = &s->front[i];
        strbuf_printf(out, "<tr%s><td class=\"n\">%llu%s</td>",
                      i == s->best && s->improved ? " class=\"best\"" : "",
                      (unsigned long long)point->id, point->id == 0 ? " (baseline)" : "");
        for (size_t k = 0; k < s->objectives.count; k++) {
            char text[REPORT_CELL];
            report_value_text(text, s->objectives.items[k].metric, point->values[k]);
            strbuf_printf(out, "<td class=\"n\">%s</td>", text);
        }
        strbuf_printf(out, "<td class=\"n\">%.3f&#215;</td><td class=\"n\">%zu</td></tr>\n",
                      point->gain, point->control_count);
    }
    strbuf_puts(out, "</tbody></table></div></section>\n");
}

static void put_command(strbuf *out, const char *words, const strbuf *command)
{
    strbuf_printf(out, "<h3>%s</h3><pre>", words);
    html_text(out, strbuf_text(command));
    strbuf_puts(out, "</pre>\n");
    out->failed = out->failed || command->failed;
}

static void put_use(strbuf *out, const report_detail *d)
{
    html_section(out, "use", "How to apply it", "");
    strbuf command = {0};
    if (!d->summary->finished) {
        strbuf_puts(&command, "evocc tune --resume ");
        strbuf_shell_word(&command, d->summary->study_path);
        put_command(out, "The study has not ended; go on with", &command);
    } else if (d->summary->improved && *d->summary->compiler == '\0') {
        strbuf_puts(out, "<p>With the values above.</p>\n");
    } else if (d->summary->improved) {
        report_apply_command(&command, d);
        put_command(out,
                    *report_detail_setting(d, "workload_sha256") == '\0'
                        ? "Compile under the result"
                        : "Check and measure it again",
                    &command);
        strbuf_clear(&command);
        strbuf_puts(&command, "evocc show ");
        report_result_path(&command, d);
        put_command(out, "What is in it, control by control", &command);
    } else {
        strbuf_puts(out, "<p>No ACF was written.</p>\n");
    }
    strbuf_dispose(&command);
    strbuf_puts(out, "</section>\n");
}

/* ---- Controls -------------------------------------------------------------------------------- */

static void put_controls(strbuf *out, const report_detail *d)
{
    enum { ROWS = 15 };
    const objective_list *objectives = &d->summary->objectives;
    html_section(
        out, "controls", "Controls that matter",
        "The share of an objective's variance that each control explains by itself, over all "
        "valid trials. A search favours good trials, so read it as a hint; controls that act "
        "only together get less than their due.");
    strbuf_puts(out, "<div class=\"scroll\"><table><thead><tr><th>control</th>");
    for (size_t k = 0; k < objectives->count; k++) {
        strbuf_puts(out, "<th class=\"n\">");
        html_text(out, objectives->items[k].metric);
        strbuf_puts(out, "</th>");
    }
    strbuf_puts(out, "<th>what it does</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < d->control_count && i < ROWS; i++) {
        const report_control *c = &d->controls[i];
        strbuf_puts(out, "<tr><td class=\"c\">");
        put_code(out, c->name, strlen(c->name));
        strbuf_puts(out, "</td>");
        for (size_t k = 0; k < objectives->count; k++) {
            char number[16];
            snprintf(number, sizeof number, "%.2f", c->importance[k]);
            html_bar_cell(out, c->importance[k], number);
        }
        strbuf_puts(out, "<td class=\"w soft\">");
        html_text(out, c->help);
        strbuf_puts(out, "</td></tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div>\n");
    if (d->control_count > ROWS) {
        strbuf_printf(out,
                      "<p class=\"hint\">The first %d of %zu controls that some trial used.</p>\n",
                      ROWS, d->control_count);
    }
    strbuf_puts(out, "</section>\n");
}

static void put_common(strbuf *out, const report_detail *d)
{
    enum { ROWS = 15 };
    html_section(
        out, "common", "What the best share",
        "Values that at least half of the best trials have, and a fifth more often than all "
        "valid ones. The best: better than the baseline, each machine code once.");
    if (d->trait_count == 0) {
        strbuf_printf(out, "<p>%s</p></section>\n",
                      d->best_count == 0 ? "No trial was better than the baseline."
                                         : "Nothing sets the best apart.");
        return;
    }
    strbuf_printf(
        out,
        "<div class=\"scroll\"><table><thead><tr><th>control and value</th><th class=\"n\">of "
        "the best %zu</th><th class=\"n\">of all %zu valid</th></tr></thead><tbody>\n",
        d->best_count, d->valid_count);
    for (size_t i = 0; i < d->trait_count && i < ROWS; i++) {
        const report_trait *t = &d->traits[i];
        double best = (double)t->best_count / (double)d->best_count;
        double all = (double)t->valid_count / (double)d->valid_count;
        strbuf_puts(out, "<tr><td><code>");
        html_text(out, t->control);
        strbuf_putc(out, '=');
        html_text(out, t->value);
        strbuf_puts(out, "</code></td>");
        percent_cell(out, best, 0);
        percent_cell(out, all, 0);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div></section>\n");
}

/* ---- Time and environment -------------------------------------------------------------------- */

static void put_time(strbuf *out, const report_detail *d)
{
    double by_outcome[EVOCC_OUTCOME_COUNT] = {0};
    size_t counts[EVOCC_OUTCOME_COUNT] = {0};
    char text[REPORT_CELL];
    for (size_t i = 0; i < d->trial_count; i++) {
        by_outcome[d->trials[i].outcome] += d->trials[i].wall_s;
        counts[d->trials[i].outcome]++;
    }
    html_section(out, "time", "Where the time went", "");
    report_duration_text(text, d->summary->elapsed_s);
    strbuf_printf(out,
                  "<p>%s from start to end; trials that ran side by side count one by one below. "
                  "%zu trials gave the machine code of an earlier one.</p>\n",
                  text, d->summary->shared_count);
    strbuf_puts(
        out, "<div class=\"scroll\"><table><thead><tr><th>outcome</th><th class=\"n\">trials</th>"
             "<th class=\"n\">time</th><th class=\"n\">a trial</th><th class=\"n\">share</th>"
             "</tr></thead><tbody>\n");
    for (int k = 0; k < EVOCC_OUTCOME_COUNT; k++) {
        if (counts[k] == 0) {
            continue;
        }
        report_duration_text(text, by_outcome[k]);
        strbuf_printf(out, "<tr><td>%s</td><td class=\"n\">%zu</td><td class=\"n\">%s</td>",
                      evocc_outcome_name((evocc_outcome)k), counts[k], text);
        report_duration_text(text, by_outcome[k] / (double)counts[k]);
        strbuf_printf(out, "<td class=\"n\">%s</td>", text);
        double share = d->wall_s > 0 ? by_outcome[k] / d->wall_s : 0;
        percent_cell(out, share, 1);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div></section>\n");
}

static void put_environment(strbuf *out, const report_detail *d)
{
    html_section(out, "environment", "Environment", "");
    strbuf_puts(out, "<div class=\"scroll\"><table><tbody>\n");
    for (size_t i = 0; i < d->setting_count; i++) {
        const char *words = report_setting_words(d->settings[i].name);
        if (words == NULL || *d->settings[i].value == '\0') {
            continue;
        }
        strbuf_puts(out, "<tr><th>");
        html_text(out, words);
        strbuf_puts(out, "</th><td class=\"w\">");
        html_text(out, d->settings[i].value);
        strbuf_puts(out, "</td></tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div></section>\n");
}

void report_html(strbuf *out, const report_detail *detail)
{
    put_head(out, detail);
    put_tiles(out, detail);
    put_links(out, detail);
    put_result(out, detail);
    put_front(out, detail);
    put_use(out, detail);
    html_section(out, "search", "Convergence", "");
    if (detail->step_count > 0) {
        html_convergence(out, detail);
    } else {
        strbuf_puts(out, "<p>No valid trial yet.</p>\n");
    }
    strbuf_puts(out, "</section>\n");
    html_section(out, "valid", "Outcomes", "");
    if (detail->generation_count > 0) {
        html_generations(out, detail);
    }
    strbuf_puts(out, "</section>\n");
    put_controls(out, detail);
    put_common(out, detail);
    put_time(out, detail);
    put_environment(out, detail);
    strbuf_printf(out, "<footer>evocc %s; study file ", evocc_version());
    html_text(out, detail->summary->study_path);
    strbuf_printf(out, ", %.1f MB</footer>\n</main></body></html>\n",
                  (double)detail->file_bytes / 1e6);
}
