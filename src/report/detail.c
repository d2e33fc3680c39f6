#include "report/internal.h"

#include "util/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The detail and what is needed while trials stream by. */
typedef struct loader {
    report_detail detail; /* first: freed through it */
    arena texts;
    report_summary *summary;
    report_trial *trials;
    report_generation *generations;
    report_reason *reasons;
    report_step *steps;
    report_setting *settings;
    size_t trial_capacity, generation_capacity, reason_capacity, step_capacity, setting_capacity;
    double best_gain;
    uint64_t search_generations; /* trials of this one and later ones leave controls out */
} loader;

/* Different words of failure that are told apart; what comes beyond them counts as the last. */
enum { REASON_LIMIT = 200 };

static evocc_status take_setting(const char *name, const char *value, void *context,
                                 evocc_error *error)
{
    loader *l = context;
    report_detail *d = &l->detail;
    report_setting setting = {arena_strdup(&l->texts, name), arena_strdup(&l->texts, value)};
    if (setting.name == NULL || setting.value == NULL ||
        !mem_grow(&l->settings, &l->setting_capacity, d->setting_count + 1, sizeof setting)) {
        return error_no_memory(error);
    }
    l->settings[d->setting_count++] = setting;
    d->settings = l->settings;
    if (strcmp(name, "generations") == 0) {
        l->search_generations = strtoull(value, NULL, 10);
    }
    return EVOCC_OK;
}

/* Generations come in rising order but for trials of an asynchronous search, which overlap by one
   or two: the search from the end is short. */
static report_generation *generation_of(loader *l, uint32_t generation)
{
    report_detail *d = &l->detail;
    size_t at = d->generation_count;
    while (at > 0 && l->generations[at - 1].generation > generation) {
        at--;
    }
    if (at > 0 && l->generations[at - 1].generation == generation) {
        return &l->generations[at - 1];
    }
    if (!mem_grow(&l->generations, &l->generation_capacity, d->generation_count + 1,
                  sizeof *l->generations)) {
        return NULL;
    }
    memmove(&l->generations[at + 1], &l->generations[at],
            (d->generation_count - at) * sizeof *l->generations);
    l->generations[at] = (report_generation){.generation = generation,
                                             .trimming = generation >= l->search_generations};
    d->generation_count++;
    d->generations = l->generations;
    return &l->generations[at];
}

/* Equal but for their numbers: "line 12" and "line 340" are one reason. `b` ends where it ends. */
static bool same_words(const char *a, const char *b, size_t b_length)
{
    const char *end = b + b_length;
    while (*a != '\0' && b < end) {
        size_t digits_a = strspn(a, "0123456789");
        size_t digits_b = strspn(b, "0123456789");
        if ((digits_a > 0) != (digits_b > 0) || (digits_a == 0 && *a != *b)) {
            return false;
        }
        a += digits_a > 0 ? digits_a : 1;
        b += digits_b > 0 ? digits_b : 1;
    }
    return *a == '\0' && b >= end;
}

static evocc_status take_reason(loader *l, const store_trial *trial, evocc_error *error)
{
    report_detail *d = &l->detail;
    size_t length = strcspn(trial->detail, "\n");
    for (size_t i = 0; i < d->reason_count; i++) {
        report_reason *reason = &l->reasons[i];
        bool same =
            reason->outcome == trial->outcome && same_words(reason->detail, trial->detail, length);
        if (same || i + 1 == REASON_LIMIT) {
            reason->count++;
            return EVOCC_OK;
        }
    }
    report_reason reason = {
        .outcome = trial->outcome,
        .detail = d->reason_count + 1 == REASON_LIMIT
                      ? "other reasons"
                      : arena_strndup(&l->texts, trial->detail, length),
        .count = 1,
        .first_trial = trial->id,
        .command = arena_strdup(&l->texts, trial->command),
    };
    if (reason.detail == NULL || reason.command == NULL ||
        !mem_grow(&l->reasons, &l->reason_capacity, d->reason_count + 1, sizeof reason)) {
        return error_no_memory(error);
    }
    l->reasons[d->reason_count++] = reason;
    d->reasons = l->reasons;
    return EVOCC_OK;
}

/* The objectives' values when the trial has all of them; *out NULL otherwise. */
static evocc_status take_values(const double **out, loader *l, const store_trial *trial,
                                evocc_error *error)
{
    const objective_list *objectives = &l->summary->objectives;
    *out = NULL;
    if (trial->outcome != EVOCC_OUTCOME_OK) {
        return EVOCC_OK;
    }
    double *values = arena_alloc(&l->texts, objectives->count + 1, sizeof *values);
    if (values == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < objectives->count; i++) {
        values[i] = (double)NAN;
        for (size_t m = 0; m < trial->metric_count; m++) {
            if (strcmp(trial->metric_names[m], objectives->items[i].metric) == 0) {
                values[i] = trial->metrics[m];
            }
        }
        if (isnan(values[i])) {
            return EVOCC_OK;
        }
    }
    *out = values;
    return EVOCC_OK;
}

static evocc_status take_step(loader *l, size_t index, double gain, evocc_error *error)
{
    report_detail *d = &l->detail;
    if (isnan(gain) || (d->step_count > 0 && gain <= l->best_gain)) {
        return EVOCC_OK;
    }
    if (!mem_grow(&l->steps, &l->step_capacity, d->step_count + 1, sizeof *l->steps)) {
        return error_no_memory(error);
    }
    l->best_gain = gain;
    l->steps[d->step_count++] = (report_step){index, gain};
    d->steps = l->steps;
    return EVOCC_OK;
}

static evocc_status take_trial(const store_trial *trial, void *context, evocc_error *error)
{
    loader *l = context;
    report_detail *d = &l->detail;
    report_generation *generation = generation_of(l, trial->generation);
    report_trial kept = {
        .id = trial->id,
        .generation = trial->generation,
        .outcome = trial->outcome,
        .shared = trial->shared,
        .wall_s = trial->wall_s,
        .gain = (double)NAN,
        .candidate = arena_strdup(&l->texts, trial->candidate),
        .code_hash = arena_strdup(&l->texts, trial->code_hash),
    };
    if (generation == NULL || kept.candidate == NULL || kept.code_hash == NULL ||
        !mem_grow(&l->trials, &l->trial_capacity, d->trial_count + 1, sizeof kept)) {
        return error_no_memory(error);
    }
    generation->trials++;
    generation->outcome_counts[trial->outcome]++;
    generation->wall_s += trial->wall_s;
    d->wall_s += trial->wall_s;
    evocc_status status = take_values(&kept.values, l, trial, error);
    if (status == EVOCC_OK && trial->outcome != EVOCC_OUTCOME_OK) {
        status = take_reason(l, trial, error);
    }
    if (status == EVOCC_OK && kept.values != NULL && l->summary->baseline_values != NULL) {
        kept.gain =
            objective_list_gain(&l->summary->objectives, l->summary->baseline_values, kept.values);
        d->valid_count++;
    }
    if (status == EVOCC_OK) {
        status = take_step(l, d->trial_count, kept.gain, error);
    }
    if (status == EVOCC_OK) {
        l->trials[d->trial_count++] = kept;
        d->trials = l->trials;
    }
    return status;
}

static int by_count(const void *a, const void *b)
{
    const report_reason *x = a;
    const report_reason *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->first_trial < y->first_trial ? -1 : x->first_trial > y->first_trial;
}

evocc_status report_detail_load(report_detail **out, store *s, const char *path, evocc_error *error)
{
    loader *l = mem_alloc(1, sizeof *l);
    if (l == NULL) {
        return error_no_memory(error);
    }
    l->search_generations = UINT64_MAX;
    evocc_status status = report_summary_load(&l->summary, s, path, UINT64_MAX, error);
    if (status == EVOCC_OK) {
        l->detail.summary = l->summary;
        l->detail.file_bytes = store_bytes(s);
        status = store_each_setting(s, take_setting, l, error);
    }
    if (status == EVOCC_OK) {
        status = store_each_trial(s, take_trial, l, error);
    }
    if (status == EVOCC_OK) {
        status = report_analyse(&l->detail, &l->texts, error);
    }
    if (status != EVOCC_OK) {
        report_detail_free(&l->detail);
        return status;
    }
    if (l->detail.reason_count > 0) {
        qsort(l->reasons, l->detail.reason_count, sizeof *l->reasons, by_count);
    }
    *out = &l->detail;
    return EVOCC_OK;
}

void report_detail_free(report_detail *detail)
{
    if (detail == NULL) {
        return;
    }
    loader *l = (loader *)detail;
    report_summary_free(l->summary);
    mem_free(l->trials);
    mem_free(l->generations);
    mem_free(l->reasons);
    mem_free(l->steps);
    mem_free(l->settings);
    arena_dispose(&l->texts);
    mem_free(l);
}

const char *report_detail_setting(const report_detail *detail, const char *name)
{
    for (size_t i = 0; i < detail->setting_count; i++) {
        if (strcmp(detail->settings[i].name, name) == 0) {
            return detail->settings[i].value;
        }
    }
    return "";
}

/* ---- How to use the result ------------------------------------------------------------------- */

void report_result_path(strbuf *out, const report_detail *detail)
{
    const char *output = report_detail_setting(detail, "output");
    bool several = detail->summary->objectives.count > 1;
    strbuf_printf(out, "%s%s", *output == '\0' ? "best" : output,
                  several           ? "/best.acf"
                  : *output == '\0' ? ".acf"
                                    : "");
}

void report_apply_command(strbuf *out, const report_detail *detail)
{
    const report_summary *summary = detail->summary;
    if (!summary->improved || *summary->compiler == '\0') {
        return; /* a function that the caller evaluated has no command */
    }
    bool workload = *report_detail_setting(detail, "workload_sha256") != '\0';
    strbuf path = {0};
    report_result_path(&path, detail);
    strbuf_printf(out, "evocc %s ", workload ? "run" : summary->compiler);
    if (workload) {
        strbuf_shell_word(out, summary->input);
        strbuf_putc(out, ' ');
    }
    strbuf_puts(out, "--apply-controls=");
    strbuf_shell_word(out, strbuf_text(&path));
    out->failed = out->failed || path.failed;
    strbuf_dispose(&path);
    if (workload) {
        return; /* it says all the rest itself */
    }
    if (strcmp(report_detail_setting(detail, "allow_numerics"), "yes") == 0) {
        strbuf_puts(out, " --allow-numerics");
    }
    const char *base = report_detail_setting(detail, "base"); /* one word a line */
    while (*base != '\0') {
        size_t length = strcspn(base, "\n");
        char *word = mem_strndup(base, length);
        strbuf_putc(out, ' ');
        strbuf_shell_word(out, word == NULL ? "" : word);
        out->failed = out->failed || word == NULL;
        mem_free(word);
        base += length + (base[length] == '\n');
    }
    if (strcmp(summary->compiler, "ptxas") != 0) {
        strbuf_puts(out, " -c FILE.c");
        return;
    }
    strbuf_printf(out, " -arch=%s ", summary->arch);
    strbuf_shell_word(out, summary->input);
    strbuf_puts(out, " -o kernel.cubin");
}
