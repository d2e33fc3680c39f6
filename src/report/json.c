#include "report/internal.h"

#include <string.h>

static void metric_name(strbuf *out, const char *metric)
{
    strbuf name = {0};
    report_column_name(&name, metric);
    strbuf_json_string(out, strbuf_text(&name));
    strbuf_putc(out, ':');
    out->failed = out->failed || name.failed;
    strbuf_dispose(&name);
}

static void text_field(strbuf *out, const char *name, const char *value)
{
    strbuf_printf(out, "\"%s\":", name);
    strbuf_json_string(out, value);
    strbuf_putc(out, ',');
}

static void metrics_object(strbuf *out, const report_summary *summary, const double *metrics)
{
    strbuf_putc(out, '{');
    for (size_t i = 0; i < summary->metric_count; i++) {
        if (i > 0) {
            strbuf_putc(out, ',');
        }
        metric_name(out, summary->metric_names[i]);
        strbuf_number(out, metrics[i]);
    }
    strbuf_putc(out, '}');
}

/* {"ptxas/opt-level":"1",...}: a word of the candidate is name=value. */
static void controls_object(strbuf *out, const char *candidate)
{
    strbuf_putc(out, '{');
    for (bool first = true; *candidate != '\0'; first = false) {
        size_t length = strcspn(candidate, " ");
        const char *equals = memchr(candidate, '=', length);
        size_t name = equals == NULL ? length : (size_t)(equals - candidate);
        const char *value = equals == NULL ? candidate + length : equals + 1;
        strbuf_printf(out, "%s\"%.*s\":\"%.*s\"", first ? "" : ",", (int)name, candidate,
                      (int)(candidate + length - value), value);
        candidate += length;
        candidate += strspn(candidate, " ");
    }
    strbuf_putc(out, '}');
}

static void number(strbuf *out, const char *name, double value)
{
    strbuf_printf(out, ",\"%s\":", name);
    strbuf_number(out, value);
}

static void comparisons_array(strbuf *out, const report_point *point)
{
    strbuf_puts(out, ",\"comparisons\":[");
    for (size_t i = 0; i < point->comparison_count; i++) {
        const report_comparison *c = &point->comparisons[i];
        strbuf_printf(out, "%s{\"metric\":\"%s\",\"pairs\":%zu", i == 0 ? "" : ",", c->metric,
                      c->statistics.pairs);
        number(out, "baseline_s", c->baseline);
        number(out, "tuned_s", c->tuned);
        number(out, "speedup", c->statistics.speedup);
        number(out, "low", c->statistics.low);
        number(out, "high", c->statistics.high);
        number(out, "spread", c->statistics.spread);
        number(out, "noise_floor", c->statistics.noise_floor);
        strbuf_printf(out, ",\"verdict\":\"%s\"}",
                      stats_verdict_name(stats_judge(&c->statistics, 0)));
    }
    strbuf_printf(out, "],\"apart\":%s", point->apart ? "true" : "false");
}

static void point_object(strbuf *out, const report_summary *summary, const report_point *point)
{
    strbuf_printf(out, "{\"trial\":%llu,\"generation\":%u,\"gain\":", (unsigned long long)point->id,
                  point->generation);
    strbuf_number(out, point->gain);
    strbuf_puts(out, ",\"metrics\":");
    metrics_object(out, summary, point->metrics);
    strbuf_puts(out, ",\"controls\":");
    controls_object(out, point->candidate);
    strbuf_puts(out, ",\"code_hash\":");
    strbuf_json_string(out, point->code_hash);
    if (summary->compared) {
        comparisons_array(out, point);
    }
    strbuf_puts(out, "}");
}

static void objectives_array(strbuf *out, const report_summary *summary)
{
    strbuf_puts(out, "\"objectives\":[");
    for (size_t i = 0; i < summary->objectives.count; i++) {
        const objective *o = &summary->objectives.items[i];
        strbuf_printf(out,
                      "%s{\"metric\":\"%s\",\"direction\":\"%s\",\"weight\":", i == 0 ? "" : ",",
                      o->metric, o->maximize ? "max" : "min");
        strbuf_number(out, o->weight);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "],");
}

static void counts(strbuf *out, const report_summary *summary)
{
    strbuf_printf(out,
                  "\"seed\":%llu,\"budget\":%llu,\"finished\":%s,\"exhausted\":%s,\"trials\":%zu,"
                  "\"trials_to_leave_controls_out\":%zu,\"trials_shared\":%zu,\"distinct_codes\":%"
                  "zu,\"outcomes\":{",
                  (unsigned long long)summary->seed, (unsigned long long)summary->budget,
                  summary->finished ? "true" : "false", summary->exhausted ? "true" : "false",
                  summary->trial_count, summary->trim_count, summary->shared_count,
                  summary->distinct_code_count);
    bool first = true;
    for (int i = 0; i < EVOCC_OUTCOME_COUNT; i++) {
        if (summary->outcome_counts[i] > 0) {
            strbuf_printf(out, "%s\"%s\":%zu", first ? "" : ",",
                          evocc_outcome_name((evocc_outcome)i), summary->outcome_counts[i]);
            first = false;
        }
    }
    strbuf_puts(out, "},\"elapsed_s\":");
    strbuf_number(out, summary->elapsed_s);
    strbuf_putc(out, ',');
}

void report_json(strbuf *out, const report_summary *summary)
{
    strbuf_putc(out, '{');
    text_field(out, "study", summary->study_path);
    text_field(out, "input", summary->input);
    text_field(out, "kernel", summary->kernel);
    text_field(out, "arch", summary->arch);
    text_field(out, "compiler", summary->compiler);
    text_field(out, "compiler_version", summary->compiler_version);
    if (*summary->device != '\0') {
        text_field(out, "device", summary->device);
        text_field(out, "driver", summary->driver);
        text_field(out, "conditions", summary->conditions);
        text_field(out, "search", summary->searched);
    }
    objectives_array(out, summary);
    counts(out, summary);
    strbuf_puts(out, "\"baseline\":");
    if (summary->baseline_metrics == NULL) {
        strbuf_puts(out, "null");
    } else {
        metrics_object(out, summary, summary->baseline_metrics);
    }
    strbuf_printf(out, ",\"improved\":%s,\"best\":", summary->improved ? "true" : "false");
    if (summary->front_count == 0) {
        strbuf_puts(out, "null");
    } else {
        point_object(out, summary, &summary->front[summary->best]);
    }
    strbuf_puts(out, ",\"front\":[");
    for (size_t i = 0; i < summary->front_count; i++) {
        if (i > 0) {
            strbuf_putc(out, ',');
        }
        point_object(out, summary, &summary->front[i]);
    }
    strbuf_puts(out, "]}\n");
}
