/* The whole report for a terminal: what the page shows, as tables. Plain ASCII. */
#include "report/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BAR = 20,           /* characters of a full bar */
    CONTROL_LIMIT = 12, /* rows of the longer tables; the page has more */
    REASON_LINES = 8,
    STEP_LINES = 16
};

static void put_heading(strbuf *out, const char *heading)
{
    strbuf_printf(out, "\n%s\n", heading);
}

static void put_bar(strbuf *out, double share)
{
    int filled = (int)lround(BAR * share);
    for (int i = 0; i < BAR; i++) {
        strbuf_putc(out, i < filled ? '#' : '.');
    }
}

/* Where the number of lines is limited: the first ones and the last ones. */
static bool is_shown(size_t line, size_t count, size_t limit)
{
    return count <= limit || line < limit / 2 || line >= count - limit / 2;
}

static void put_convergence(strbuf *out, const report_detail *d)
{
    const objective_list *objectives = &d->summary->objectives;
    put_heading(out, "Convergence: each trial that was better than all before it");
    strbuf_printf(out, "  %8s %10s %9s", "trial", "generation", "gain");
    for (size_t k = 0; k < objectives->count; k++) {
        strbuf_printf(out, " %14s", objectives->items[k].metric);
    }
    strbuf_putc(out, '\n');
    for (size_t i = 0; i < d->step_count; i++) {
        const report_trial *trial = &d->trials[d->steps[i].trial];
        if (!is_shown(i, d->step_count, STEP_LINES)) {
            continue;
        }
        strbuf_printf(out, "  %8llu %10u %8.3fx", (unsigned long long)trial->id, trial->generation,
                      trial->gain);
        for (size_t k = 0; k < objectives->count; k++) {
            char text[REPORT_CELL];
            report_value_text(text, objectives->items[k].metric, trial->values[k]);
            strbuf_printf(out, " %14s", text);
        }
        strbuf_putc(out, '\n');
    }
}

static void put_generations(strbuf *out, const report_detail *d)
{
    put_heading(out, "Valid trials by generation");
    for (size_t i = 0; i < d->generation_count; i++) {
        const report_generation *g = &d->generations[i];
        double valid = (double)g->outcome_counts[EVOCC_OUTCOME_OK] / (double)g->trials;
        strbuf_printf(out, "  %8u ", g->generation);
        put_bar(out, valid);
        strbuf_printf(out, " %5.1f %% of %zu%s", 100 * valid, g->trials,
                      g->trimming ? ", leaving controls out" : "");
        for (int k = 1; k < EVOCC_OUTCOME_COUNT; k++) {
            if (g->outcome_counts[k] > 0) {
                strbuf_printf(out, "; %zu %s", g->outcome_counts[k],
                              evocc_outcome_name((evocc_outcome)k));
            }
        }
        strbuf_putc(out, '\n');
    }
}

static void put_reasons(strbuf *out, const report_detail *d)
{
    if (d->reason_count == 0) {
        return;
    }
    put_heading(out, "Why trials failed");
    for (size_t i = 0; i < d->reason_count && i < REASON_LINES; i++) {
        const report_reason *r = &d->reasons[i];
        strbuf_printf(out, "  %5zu %s, first in trial %llu: %s\n", r->count,
                      evocc_outcome_name(r->outcome), (unsigned long long)r->first_trial,
                      *r->detail == '\0' ? "no words" : r->detail);
    }
    if (d->reason_count > REASON_LINES) {
        strbuf_printf(out, "  and %zu further reasons\n", d->reason_count - REASON_LINES);
    }
}

static void put_importance(strbuf *out, const report_detail *d)
{
    const objective_list *objectives = &d->summary->objectives;
    put_heading(out, "Controls that matter: share of the variance that each explains by itself");
    for (size_t k = 0; objectives->count > 1 && k < objectives->count; k++) {
        strbuf_printf(out, "%s%14s", k == 0 ? "  " : " ", objectives->items[k].metric);
    }
    strbuf_puts(out, objectives->count > 1 ? "\n" : "");
    size_t shown = 0;
    for (size_t i = 0; i < d->control_count && shown < CONTROL_LIMIT; i++) {
        const report_control *c = &d->controls[i];
        double greatest = 0;
        for (size_t k = 0; k < objectives->count; k++) {
            greatest = fmax(greatest, c->importance[k]);
        }
        if (greatest < 0.005) {
            break;
        }
        strbuf_puts(out, "  ");
        if (objectives->count == 1) {
            put_bar(out, greatest);
            strbuf_printf(out, " %5.3f", greatest);
        }
        for (size_t k = 0; objectives->count > 1 && k < objectives->count; k++) {
            strbuf_printf(out, "%s%14.3f", k == 0 ? "" : " ", c->importance[k]);
        }
        strbuf_printf(out, "  %s\n", c->name);
        shown++;
    }
    strbuf_puts(out, shown == 0 ? "  none explains anything by itself\n" : "");
}

static void put_traits(strbuf *out, const report_detail *d)
{
    if (d->best_count == 0) {
        return;
    }
    char heading[120];
    snprintf(heading, sizeof heading,
             "What the best %zu have in common, beside all %zu valid trials", d->best_count,
             d->valid_count);
    put_heading(out, heading);
    for (size_t i = 0; i < d->trait_count && i < CONTROL_LIMIT; i++) {
        const report_trait *t = &d->traits[i];
        strbuf_printf(out, "  %5.1f %% of the best, %5.1f %% of all  %s=%s\n",
                      100 * (double)t->best_count / (double)d->best_count,
                      100 * (double)t->valid_count / (double)d->valid_count, t->control, t->value);
    }
    strbuf_puts(out, d->trait_count == 0 ? "  nothing that sets them apart\n" : "");
}

static void put_time(strbuf *out, const report_detail *d)
{
    char elapsed[REPORT_CELL];
    char sum[REPORT_CELL];
    double by_outcome[EVOCC_OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < d->trial_count; i++) {
        by_outcome[d->trials[i].outcome] += d->trials[i].wall_s;
    }
    report_duration_text(elapsed, d->summary->elapsed_s);
    report_duration_text(sum, d->wall_s);
    put_heading(out, "Where the time went");
    strbuf_printf(out, "  %s from start to end; %s of trials, several at a time\n", elapsed, sum);
    for (int k = 0; k < EVOCC_OUTCOME_COUNT; k++) {
        if (by_outcome[k] > 0) {
            report_duration_text(sum, by_outcome[k]);
            strbuf_printf(out, "  %12s  %5.1f %%  %s\n", sum, 100 * by_outcome[k] / d->wall_s,
                          evocc_outcome_name((evocc_outcome)k));
        }
    }
    strbuf_printf(out, "  %zu trials shared the machine code of an earlier one\n",
                  d->summary->shared_count);
}

/* Values of several lines (options, one a line) on one. */
static void put_one_line(strbuf *out, const char *value)
{
    for (size_t length = strlen(value); length > 0; length--) {
        char c = *value++;
        if (c == '\n') {
            c = length > 1 ? ' ' : '\0';
        }
        if (c != '\0') {
            strbuf_putc(out, (unsigned char)c < 0x20 || c == 0x7f ? '?' : c);
        }
    }
}

static void put_environment(strbuf *out, const report_detail *d)
{
    put_heading(out, "Environment");
    for (size_t i = 0; i < d->setting_count; i++) {
        const char *words = report_setting_words(d->settings[i].name);
        if (words == NULL || *d->settings[i].value == '\0') {
            continue;
        }
        strbuf_printf(out, "  %-32s ", words);
        put_one_line(out, d->settings[i].value);
        strbuf_putc(out, '\n');
    }
}

static void put_use(strbuf *out, const report_detail *d)
{
    put_heading(out, "How to use it");
    if (!d->summary->finished) {
        strbuf_puts(out, "  the study has not ended; go on with:  evocc tune --resume ");
        strbuf_shell_word(out, d->summary->study_path);
        strbuf_putc(out, '\n');
    } else if (d->summary->improved && *d->summary->compiler == '\0') {
        strbuf_puts(out, "  with the values above\n");
    } else if (d->summary->improved) {
        strbuf_puts(out, "  ");
        report_apply_command(out, d);
        strbuf_puts(out, "\n  evocc show ");
        strbuf path = {0};
        report_result_path(&path, d);
        strbuf_shell_word(out, strbuf_text(&path));
        out->failed = out->failed || path.failed;
        strbuf_dispose(&path);
        strbuf_putc(out, '\n');
    } else {
        strbuf_puts(out, "  no ACF was written\n");
    }
}

void report_text(strbuf *out, const report_detail *detail)
{
    report_table(out, detail->summary);
    if (detail->trial_count == 0) {
        return;
    }
    if (detail->step_count > 0) {
        put_convergence(out, detail);
    }
    put_generations(out, detail);
    put_reasons(out, detail);
    if (detail->step_count > 0) {
        put_importance(out, detail);
        put_traits(out, detail);
    }
    put_time(out, detail);
    put_environment(out, detail);
    put_use(out, detail);
}
