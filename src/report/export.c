/* export.c: every trial of a study for programs: spreadsheets, notebooks, other tools. */
#include "report/internal.h"

#include "util/error.h"

#include <math.h>
#include <string.h>

enum { METRICS_MAX = 128 }; /* of all trials together; a trial has STORE_METRICS_MAX at most */

typedef struct exporter {
    strbuf *out;
    arena texts;
    const char *metrics[METRICS_MAX]; /* names, in the order in which they were met */
    size_t metric_count;
    objective_list objectives;
    double baseline[OBJECTIVE_COUNT_MAX];
    bool has_baseline;
    bool first; /* no element of the array at hand was written yet */
} exporter;

static evocc_status note_metrics(const store_trial *trial, void *context, evocc_error *error)
{
    exporter *e = context;
    for (size_t i = 0; i < trial->metric_count; i++) {
        size_t at = 0;
        while (at < e->metric_count && strcmp(e->metrics[at], trial->metric_names[i]) != 0) {
            at++;
        }
        if (at < e->metric_count) {
            continue;
        }
        if (e->metric_count == METRICS_MAX) {
            return error_set(error, EVOCC_UNSUPPORTED, "the study has more than %d metrics",
                             METRICS_MAX);
        }
        e->metrics[at] = arena_strdup(&e->texts, trial->metric_names[i]);
        if (e->metrics[at] == NULL) {
            return error_no_memory(error);
        }
        e->metric_count++;
    }
    return EVOCC_OK;
}

static double metric_of(const store_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->metric_count; i++) {
        if (strcmp(trial->metric_names[i], name) == 0) {
            return trial->metrics[i];
        }
    }
    return (double)NAN;
}

/* NAN unless the trial is valid and has all objectives. The first that has is what the others are
   compared to, as in summary.c: the baseline, where there is one. */
static double gain_of(exporter *e, const store_trial *trial)
{
    double values[OBJECTIVE_COUNT_MAX];
    bool known = trial->outcome == EVOCC_OUTCOME_OK;
    for (size_t k = 0; k < e->objectives.count; k++) {
        values[k] = metric_of(trial, e->objectives.items[k].metric);
        known = known && !isnan(values[k]);
    }
    if (known && !e->has_baseline) {
        memcpy(e->baseline, values, sizeof values);
        e->has_baseline = true;
    }
    return known && e->has_baseline ? objective_list_gain(&e->objectives, e->baseline, values)
                                    : (double)NAN;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Quoted where a reader would take it for more than one field. */
static void csv_text(strbuf *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        strbuf_puts(out, text);
        return;
    }
    strbuf_putc(out, '"');
    for (; *text != '\0'; text++) {
        strbuf_puts(out, *text == '"' ? "\"" : "");
        strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}

static void csv_number(strbuf *out, double value)
{
    if (isfinite(value)) { /* unknown: an empty field */
        strbuf_number(out, value);
    }
    strbuf_putc(out, ',');
}

static void csv_head(exporter *e)
{
    strbuf_puts(e->out, "trial,generation,outcome,shared,wall_s,gain,");
    for (size_t i = 0; i < e->metric_count; i++) {
        strbuf name = {0};
        report_column_name(&name, e->metrics[i]);
        csv_text(e->out, strbuf_text(&name));
        strbuf_putc(e->out, ',');
        e->out->failed = e->out->failed || name.failed;
        strbuf_dispose(&name);
    }
    strbuf_puts(e->out, "code_hash,controls,detail,command\n");
}

static evocc_status csv_trial(const store_trial *trial, void *context, evocc_error *error)
{
    exporter *e = context;
    strbuf_printf(e->out, "%llu,%u,%s,%d,", (unsigned long long)trial->id, trial->generation,
                  evocc_outcome_name(trial->outcome), trial->shared);
    csv_number(e->out, trial->wall_s);
    csv_number(e->out, gain_of(e, trial));
    for (size_t i = 0; i < e->metric_count; i++) {
        csv_number(e->out, metric_of(trial, e->metrics[i]));
    }
    const char *const texts[] = {trial->code_hash, trial->candidate, trial->detail, trial->command};
    for (size_t i = 0; i < 4; i++) {
        csv_text(e->out, texts[i]);
        strbuf_putc(e->out, i < 3 ? ',' : '\n');
    }
    return e->out->failed ? error_no_memory(error) : EVOCC_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(strbuf *out, const char *name, const char *value)
{
    strbuf_printf(out, ",\"%s\":", name);
    strbuf_json_string(out, value);
}

static void next(exporter *e)
{
    strbuf_puts(e->out, e->first ? "\n" : ",\n");
    e->first = false;
}

static void json_named_number(exporter *e, const char *metric, double value, bool first)
{
    strbuf name = {0};
    report_column_name(&name, metric);
    strbuf_puts(e->out, first ? "" : ",");
    strbuf_json_string(e->out, strbuf_text(&name));
    strbuf_putc(e->out, ':');
    strbuf_number(e->out, value);
    e->out->failed = e->out->failed || name.failed;
    strbuf_dispose(&name);
}

static void json_controls(strbuf *out, const char *candidate)
{
    report_word word;
    strbuf_puts(out, ",\"controls\":{");
    for (bool first = true; report_next_word(&word, &candidate); first = false) {
        strbuf text = {0};
        strbuf_append(&text, word.name, word.name_length);
        strbuf_puts(out, first ? "" : ",");
        strbuf_json_string(out, strbuf_text(&text));
        strbuf_putc(out, ':');
        strbuf_clear(&text);
        strbuf_append(&text, word.value, word.value_length);
        strbuf_json_string(out, strbuf_text(&text));
        out->failed = out->failed || text.failed;
        strbuf_dispose(&text);
    }
    strbuf_putc(out, '}');
}

static evocc_status json_trial(const store_trial *trial, void *context, evocc_error *error)
{
    exporter *e = context;
    next(e);
    strbuf_printf(e->out, "{\"trial\":%llu,\"generation\":%u,\"outcome\":\"%s\",\"shared\":%s,",
                  (unsigned long long)trial->id, trial->generation,
                  evocc_outcome_name(trial->outcome), trial->shared ? "true" : "false");
    strbuf_puts(e->out, "\"wall_s\":");
    strbuf_number(e->out, trial->wall_s);
    strbuf_puts(e->out, ",\"gain\":");
    strbuf_number(e->out, gain_of(e, trial));
    strbuf_puts(e->out, ",\"metrics\":{");
    for (size_t i = 0; i < trial->metric_count; i++) {
        json_named_number(e, trial->metric_names[i], trial->metrics[i], i == 0);
    }
    strbuf_putc(e->out, '}');
    json_controls(e->out, trial->candidate);
    json_text(e->out, "code_hash", trial->code_hash);
    json_text(e->out, "detail", trial->detail);
    json_text(e->out, "command", trial->command);
    strbuf_putc(e->out, '}');
    return e->out->failed ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status json_sample(const store_sample *sample, void *context, evocc_error *error)
{
    exporter *e = context;
    next(e);
    strbuf_printf(e->out, "{\"trial\":%llu,\"purpose\":\"%s\",\"position\":%zu",
                  (unsigned long long)sample->trial, store_purpose_name(sample->purpose),
                  sample->position);
    json_text(e->out, "metric", sample->metric);
    strbuf_puts(e->out, ",\"baseline\":");
    strbuf_number(e->out, sample->baseline);
    strbuf_puts(e->out, ",\"value\":");
    strbuf_number(e->out, sample->value);
    strbuf_putc(e->out, '}');
    return e->out->failed ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status json_setting(const char *name, const char *value, void *context,
                                 evocc_error *error)
{
    exporter *e = context;
    next(e);
    strbuf_json_string(e->out, name);
    strbuf_putc(e->out, ':');
    strbuf_json_string(e->out, value);
    return e->out->failed ? error_no_memory(error) : EVOCC_OK;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static evocc_status begin(exporter *e, store *s, evocc_error *error)
{
    char *objectives = NULL;
    evocc_status status = store_get(&objectives, s, "objectives", error);
    if (status == EVOCC_OK) {
        status = objective_list_parse(&e->objectives, objectives, error);
    }
    mem_free(objectives);
    return status == EVOCC_OK ? store_each_trial(s, note_metrics, e, error) : status;
}

evocc_status report_export_csv(strbuf *out, store *s, const char *path, evocc_error *error)
{
    (void)path;
    exporter e = {.out = out};
    evocc_status status = begin(&e, s, error);
    if (status == EVOCC_OK) {
        csv_head(&e);
        status = store_each_trial(s, csv_trial, &e, error);
    }
    arena_dispose(&e.texts);
    return status;
}

evocc_status report_export_json(strbuf *out, store *s, const char *path, evocc_error *error)
{
    exporter e = {.out = out};
    evocc_status status = begin(&e, s, error);
    if (status == EVOCC_OK) {
        strbuf_puts(out, "{\"study\":");
        strbuf_json_string(out, path);
        strbuf_puts(out, ",\"settings\":{");
        e.first = true;
        status = store_each_setting(s, json_setting, &e, error);
    }
    if (status == EVOCC_OK) {
        strbuf_puts(out, "\n},\"trials\":[");
        e.first = true;
        status = store_each_trial(s, json_trial, &e, error);
    }
    if (status == EVOCC_OK) {
        strbuf_puts(out, "\n],\"samples\":[");
        e.first = true;
        status = store_each_sample(s, json_sample, &e, error);
        strbuf_puts(out, "\n]}\n");
    }
    arena_dispose(&e.texts);
    return status;
}
