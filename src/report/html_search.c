/* How the search went: fronts, convergence, valid trials by generation. */
#include "report/html.h"

#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DOT_LIMIT = 3000, /* trials drawn in one plot: beyond it every nth */
    BAR_LIMIT = 48,   /* generations drawn: beyond it neighbours are joined */
    STEP_ROWS = 16
};

/* The unit, unless the name says it: "runtime [s]", "spill_bytes". */
static void axis_label(char *out, size_t size, const objective *o)
{
    const char *unit = report_unit(o->metric);
    bool shown = *unit != '\0' && strstr(o->metric, unit) == NULL;
    snprintf(out, size, "%s%s%s%s, %s is better", o->metric, shown ? " [" : "", shown ? unit : "",
             shown ? "]" : "", o->maximize ? "more" : "less");
}

/* The frame of one objective: the front and the baseline, and the better three quarters of the
   valid trials. The worst are often ten times worse, and would press all else into a corner. */
static void frame_of(double *low, double *high, const report_detail *d, size_t k)
{
    const report_summary *s = d->summary;
    *low = *high = s->baseline_values[k];
    for (size_t i = 0; i < s->front_count; i++) {
        *low = fmin(*low, s->front[i].values[k]);
        *high = fmax(*high, s->front[i].values[k]);
    }
    double *values = mem_alloc(d->trial_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values != NULL && i < d->trial_count; i++) {
        if (!isnan(d->trials[i].gain) && isfinite(d->trials[i].values[k])) {
            values[count++] = d->trials[i].values[k];
        }
    }
    if (count > 0) {
        stats_sort(values, count);
        bool maximize = s->objectives.items[k].maximize;
        *low = fmin(*low, stats_quantile(values, count, maximize ? 0.25 : 0));
        *high = fmax(*high, stats_quantile(values, count, maximize ? 1 : 0.75));
    }
    mem_free(values);
    double margin = 0.04 * (*high - *low);
    *low -= margin;
    *high += margin;
}

static void note_of(char *out, size_t size, const report_summary *s, uint64_t id,
                    const double *values)
{
    size_t used =
        (size_t)snprintf(out, size, id == 0 ? "baseline" : "trial %llu", (unsigned long long)id);
    for (size_t k = 0; k < s->objectives.count && used < size; k++) {
        char text[REPORT_CELL];
        report_value_text(text, s->objectives.items[k].metric, values[k]);
        used += (size_t)snprintf(out + used, size - used, ", %s %s", s->objectives.items[k].metric,
                                 text);
    }
}

/* Points of the front that no other one beats in these two objectives make the line. */
static void front_line(plot *p, const report_summary *s, size_t x, size_t y)
{
    size_t *order = mem_alloc(s->front_count + 1, sizeof *order);
    double sign_x = s->objectives.items[x].maximize ? -1 : 1;
    double sign_y = s->objectives.items[y].maximize ? -1 : 1;
    size_t count = 0;
    for (size_t i = 0; order != NULL && i < s->front_count; i++) {
        size_t at = count++;
        while (at > 0 &&
               sign_x * s->front[order[at - 1]].values[x] > sign_x * s->front[i].values[x]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    double *points = mem_alloc(2 * count + 2, sizeof *points);
    size_t kept = 0;
    double least = (double)INFINITY;
    for (size_t i = 0; points != NULL && i < count; i++) {
        const double *values = s->front[order[i]].values;
        if (sign_y * values[y] < least && plot_holds(p, values[x], values[y])) {
            least = sign_y * values[y];
            points[kept] = values[x];
            points[count + 1 + kept++] = values[y];
        }
    }
    if (points != NULL && kept > 1) {
        plot_steps(p, points, points + count + 1, kept, points[kept - 1], "frontline");
    }
    mem_free(order);
    mem_free(points);
}

static void front_plot(strbuf *out, const report_detail *d, size_t x, size_t y)
{
    const report_summary *s = d->summary;
    plot p = {.width = 520, .height = 340, .left = 70, .bottom = 48};
    char x_label[120];
    char y_label[120];
    char title[160];
    char text[400];
    frame_of(&p.x_low, &p.x_high, d, x);
    frame_of(&p.y_low, &p.y_high, d, y);
    axis_label(x_label, sizeof x_label, &s->objectives.items[x]);
    axis_label(y_label, sizeof y_label, &s->objectives.items[y]);
    snprintf(title, sizeof title, "%s against %s", s->objectives.items[y].metric,
             s->objectives.items[x].metric);
    plot_begin(
        &p, out, title,
        "Every valid trial as a dot, the Pareto set emphasised, and the baseline; the Pareto "
        "set is in the table.",
        x_label, y_label);
    size_t outside = 0;
    size_t every = d->trial_count / DOT_LIMIT + 1;
    for (size_t i = 0; i < d->trial_count; i++) {
        const report_trial *t = &d->trials[i];
        if (isnan(t->gain)) {
            continue;
        }
        bool inside = plot_holds(&p, t->values[x], t->values[y]);
        outside += !inside;
        if (inside && i % every == 0) {
            plot_dot(&p, t->values[x], t->values[y], 3, "trial", NULL);
        }
    }
    front_line(&p, s, x, y);
    for (size_t i = 0; i < s->front_count; i++) {
        const report_point *point = &s->front[i];
        note_of(text, sizeof text, s, point->id, point->values);
        if (point->id != 0) {
            plot_dot(&p, point->values[x], point->values[y], 5, "front", text);
        }
    }
    if (s->improved) {
        const double *best = s->front[s->best].values;
        plot_dot(&p, best[x], best[y], 9, "chosen", NULL);
    }
    note_of(text, sizeof text, s, 0, s->baseline_values);
    plot_dot(&p, s->baseline_values[x], s->baseline_values[y], 5.5, "baseline", text);
    plot_end(&p);
    if (outside > 0) {
        strbuf_printf(out, "<p class=\"hint\">%zu worse trials lie outside the frame.</p>\n",
                      outside);
    }
}

void html_fronts(strbuf *out, const report_detail *d)
{
    size_t count = d->summary->objectives.count;
    strbuf_puts(out,
                "<div class=\"key\"><span><svg viewBox=\"0 0 12 12\"><circle class=\"front\" "
                "cx=\"6\" cy=\"6\" r=\"5\"/></svg>Pareto set</span><span><svg viewBox=\"0 0 12 "
                "12\"><circle class=\"chosen\" cx=\"6\" cy=\"6\" r=\"4.5\"/></svg>best mean gain"
                "</span><span><svg viewBox=\"0 0 12 12\"><circle class=\"baseline\" cx=\"6\" "
                "cy=\"6\" r=\"5\"/></svg>baseline</span><span><svg viewBox=\"0 0 12 12\"><circle "
                "class=\"trial\" cx=\"6\" cy=\"6\" r=\"4\"/></svg>other valid trials</span></div>\n"
                "<div class=\"plots\">");
    for (size_t x = 0; x < count; x++) {
        for (size_t y = x + 1; y < count; y++) {
            strbuf_puts(out, "<div>");
            front_plot(out, d, x, y);
            strbuf_puts(out, "</div>");
        }
    }
    strbuf_puts(out, "</div>\n");
}

/* ---- Convergence ----------------------------------------------------------------------------- */

/* From the best to the baseline, and somewhat beyond it: where the line runs. */
static void line_frame(double *low, double *high, const report_detail *d, size_t k)
{
    const report_summary *s = d->summary;
    bool maximize = s->objectives.items[k].maximize;
    *low = *high = s->baseline_values[k];
    for (size_t i = 0; i < s->front_count; i++) {
        double value = s->front[i].values[k];
        *low = maximize ? *low : fmin(*low, value);
        *high = maximize ? fmax(*high, value) : *high;
    }
    double span = *high - *low;
    if (span == 0) {
        frame_of(low, high, d, k);
        return;
    }
    *low -= (maximize ? 0.6 : 0.05) * span;
    *high += (maximize ? 0.05 : 0.6) * span;
}

/* Best so far of one objective, or of the mean gain (k beyond the last). */
static void convergence_plot(strbuf *out, const report_detail *d, size_t k)
{
    const report_summary *s = d->summary;
    bool gain = k == s->objectives.count;
    double sign = gain || s->objectives.items[k].maximize ? -1 : 1;
    char label[120] = "mean gain over the baseline";
    char title[160];
    plot p = {.width = 520, .height = 260, .left = 70, .bottom = 48};
    p.x_low = 0;
    p.x_high = (double)d->trials[d->trial_count - 1].id;
    if (gain) {
        p.y_low = 1;
        p.y_high = d->steps[d->step_count - 1].gain;
        for (size_t i = 0; i < d->trial_count; i++) {
            p.y_low = d->trials[i].gain < p.y_low ? d->trials[i].gain : p.y_low;
        }
        double margin = 0.06 * (p.y_high - p.y_low);
        p.y_low -= margin;
        p.y_high += margin;
    } else {
        line_frame(&p.y_low, &p.y_high, d, k);
        axis_label(label, sizeof label, &s->objectives.items[k]);
    }
    snprintf(title, sizeof title, "Best %s so far, by trial",
             gain ? "mean gain" : s->objectives.items[k].metric);
    plot_begin(&p, out, title, "A falling or rising line of the best value so far over all trials.",
               "trial", label);
    double *x = mem_alloc(2 * d->trial_count + 1, sizeof *x);
    double *y = x == NULL ? NULL : x + d->trial_count;
    size_t count = 0;
    size_t every = d->trial_count / DOT_LIMIT + 1;
    for (size_t i = 0; y != NULL && i < d->trial_count; i++) {
        const report_trial *t = &d->trials[i];
        if (isnan(t->gain)) {
            continue;
        }
        double value = gain ? t->gain : t->values[k];
        if (i % every == 0 && plot_holds(&p, (double)t->id, value)) {
            plot_dot(&p, (double)t->id, value, 2.5, "trial", NULL);
        }
        if (count == 0 || sign * value < sign * y[count - 1]) {
            x[count] = (double)t->id;
            y[count++] = value;
        }
    }
    plot_steps(&p, x, y, count, p.x_high, "sofar");
    plot_level(&p, gain ? 1 : s->baseline_values[k], "baseline-level", "baseline");
    plot_end(&p);
    mem_free(x);
}

static void step_table(strbuf *out, const report_detail *d)
{
    const objective_list *objectives = &d->summary->objectives;
    strbuf_puts(out, "<div class=\"scroll\"><table><thead><tr><th class=\"n\">trial</th>"
                     "<th class=\"n\">generation</th><th class=\"n\">mean gain</th>");
    for (size_t k = 0; k < objectives->count; k++) {
        strbuf_puts(out, "<th class=\"n\">");
        html_text(out, objectives->items[k].metric);
        strbuf_puts(out, "</th>");
    }
    strbuf_puts(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < d->step_count; i++) {
        if (d->step_count > STEP_ROWS && i >= STEP_ROWS / 2 && i < d->step_count - STEP_ROWS / 2) {
            continue;
        }
        const report_trial *t = &d->trials[d->steps[i].trial];
        strbuf_printf(out,
                      "<tr><td class=\"n\">%llu</td><td class=\"n\">%u</td><td class=\"n\">%.4g"
                      "&#215;</td>",
                      (unsigned long long)t->id, t->generation, t->gain);
        for (size_t k = 0; k < objectives->count; k++) {
            char text[REPORT_CELL];
            report_value_text(text, objectives->items[k].metric, t->values[k]);
            strbuf_printf(out, "<td class=\"n\">%s</td>", text);
        }
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div>\n");
}

void html_convergence(strbuf *out, const report_detail *d)
{
    size_t count = d->summary->objectives.count;
    strbuf_puts(out, "<div class=\"plots\">");
    for (size_t k = 0; k < count; k++) {
        strbuf_puts(out, "<div>");
        convergence_plot(out, d, k);
        strbuf_puts(out, "</div>");
    }
    if (count > 1) {
        strbuf_puts(out, "<div>");
        convergence_plot(out, d, count);
        strbuf_puts(out, "</div>");
    }
    strbuf_puts(out, "</div>\n<h3>Trials that were better than all before them</h3>\n");
    step_table(out, d);
}

/* ---- Generations ----------------------------------------------------------------------------- */

static void outcome_key(strbuf *out, const report_detail *d)
{
    strbuf_puts(out, "<div class=\"key\">");
    for (int k = 0; k < EVOCC_OUTCOME_COUNT; k++) {
        size_t count = d->summary->outcome_counts[k];
        if (count > 0) {
            strbuf_printf(out,
                          "<span><svg viewBox=\"0 0 11 11\"><rect class=\"o%d\" width=\"11\" "
                          "height=\"11\" rx=\"2\"/></svg>%s %zu (%.1f %%)</span>",
                          k, evocc_outcome_name((evocc_outcome)k), count,
                          100 * (double)count / (double)d->summary->trial_count);
        }
    }
    strbuf_puts(out, "</div>\n");
}

static void put_stack(plot *p, const size_t *counts, size_t total, size_t column, size_t columns)
{
    double room = (p->width - p->left - 12) / (double)columns;
    double height = p->height - p->bottom - 12;
    double left = p->left + room * (double)column;
    double done = 0;
    for (int k = 0; k < EVOCC_OUTCOME_COUNT; k++) {
        double part = (double)counts[k] / (double)total;
        if (counts[k] == 0) {
            continue;
        }
        /* A gap of 1.5 between segments, taken from the part above. */
        double y = 12 + height * (1 - done - part);
        double tall = height * part - (done > 0 ? 1.5 : 0);
        strbuf_printf(p->out,
                      "<rect class=\"o%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                      "<title>%s: %zu of %zu</title></rect>",
                      k, left + 0.1 * room, y, fmax(0.8 * room, 1), fmax(tall, 0.5),
                      evocc_outcome_name((evocc_outcome)k), counts[k], total);
        done += part;
    }
}

static void generation_plot(strbuf *out, const report_detail *d)
{
    size_t joined = (d->generation_count + BAR_LIMIT - 1) / BAR_LIMIT;
    size_t columns = (d->generation_count + joined - 1) / joined;
    plot p = {.width = 1040, .height = 240, .left = 70, .bottom = 48};
    p.x_low = (double)d->generations[0].generation - 0.5;
    p.x_high = p.x_low + (double)(columns * joined);
    p.y_low = 0;
    p.y_high = 100;
    plot_begin(&p, out, "Outcomes by generation",
               "For each generation the share of valid trials and of each kind of failure; the "
               "table beside it has the numbers.",
               "generation", "share of trials [%]");
    for (size_t c = 0; c < columns; c++) {
        size_t counts[EVOCC_OUTCOME_COUNT] = {0};
        size_t total = 0;
        for (size_t g = c * joined; g < (c + 1) * joined && g < d->generation_count; g++) {
            total += d->generations[g].trials;
            for (int k = 0; k < EVOCC_OUTCOME_COUNT; k++) {
                counts[k] += d->generations[g].outcome_counts[k];
            }
        }
        put_stack(&p, counts, total, c, columns);
    }
    plot_end(&p);
}

static void reason_table(strbuf *out, const report_detail *d)
{
    enum { ROWS = 12 };
    if (d->reason_count == 0) {
        strbuf_puts(out, "<p>No trial failed.</p>\n");
        return;
    }
    strbuf_puts(out,
                "<h3>Why trials failed</h3>\n<div class=\"scroll\"><table><thead><tr><th "
                "class=\"n\">trials</th><th>outcome</th><th>in the words of</th><th>reason</th>"
                "</tr></thead><tbody>\n");
    for (size_t i = 0; i < d->reason_count && i < ROWS; i++) {
        const report_reason *r = &d->reasons[i];
        strbuf_printf(out,
                      "<tr><td class=\"n\">%zu</td><td>%s</td><td>trial %llu</td><td class=\"w\">",
                      r->count, evocc_outcome_name(r->outcome), (unsigned long long)r->first_trial);
        html_text(out, r->detail);
        strbuf_puts(out, "</td></tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div>\n");
    if (d->reason_count > ROWS) {
        strbuf_printf(out, "<p class=\"hint\">And %zu further reasons.</p>\n",
                      d->reason_count - ROWS);
    }
}

static void generation_table(strbuf *out, const report_detail *d)
{
    strbuf_puts(out,
                "<h3>By generation</h3><div class=\"scroll\"><table><thead><tr><th "
                "class=\"n\">generation</th><th class=\"n\">trials</th><th class=\"n\">valid</th>"
                "<th>failed</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < d->generation_count; i++) {
        const report_generation *g = &d->generations[i];
        strbuf_printf(out,
                      "<tr><td class=\"n\">%u</td><td class=\"n\">%zu</td><td class=\"n\">%.1f %%"
                      "</td><td>",
                      g->generation, g->trials,
                      100 * (double)g->outcome_counts[EVOCC_OUTCOME_OK] / (double)g->trials);
        for (int k = 1, any = 0; k < EVOCC_OUTCOME_COUNT; k++) {
            if (g->outcome_counts[k] > 0) {
                strbuf_printf(out, "%s%zu %s", any++ > 0 ? ", " : "", g->outcome_counts[k],
                              evocc_outcome_name((evocc_outcome)k));
            }
        }
        strbuf_puts(out, g->trimming ? " (leaving controls out)</td></tr>\n" : "</td></tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div>\n");
}

void html_generations(strbuf *out, const report_detail *d)
{
    outcome_key(out, d);
    generation_plot(out, d);
    reason_table(out, d);
    if (d->generation_count <= BAR_LIMIT) {
        generation_table(out, d);
    }
}
