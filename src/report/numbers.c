/* Numbers, names and words as people read them; the same in the terminal and on the page. */
#include "report/internal.h"

#include "evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *report_unit(const char *metric)
{
    const evaluate_metric_info *info = evaluate_metric_find(metric);
    return info == NULL ? "" : info->unit;
}

bool report_is_noisy(const char *metric)
{
    const evaluate_metric_info *info = evaluate_metric_find(metric);
    return info != NULL && info->measured;
}

/* Three digits before the point at most: 0.0018159 s are 1.816 ms. */
static void scaled_text(char out[REPORT_CELL], double value, const char *unit)
{
    static const struct {
        double size;
        const char *prefix;
    } scales[] = {{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
    size_t i = 0;
    while (i + 1 < sizeof scales / sizeof scales[0] && fabs(value) < scales[i].size) {
        i++;
    }
    if (value == 0) {
        i = 0;
    }
    snprintf(out, REPORT_CELL, "%.4g %s%s", value / scales[i].size, scales[i].prefix, unit);
}

void report_value_text(char out[REPORT_CELL], const char *metric, double value)
{
    if (isnan(value)) {
        snprintf(out, REPORT_CELL, "unknown");
    } else if (report_is_noisy(metric)) {
        scaled_text(out, value, report_unit(metric));
    } else {
        snprintf(out, REPORT_CELL, "%.10g", value);
    }
}

void report_change_text(char out[REPORT_CELL], double baseline, double tuned)
{
    if (isnan(baseline) || isnan(tuned)) {
        snprintf(out, REPORT_CELL, "-");
    } else if (baseline == tuned) {
        snprintf(out, REPORT_CELL, "same");
    } else if (baseline == 0) {
        snprintf(out, REPORT_CELL, "%+.10g", tuned);
    } else {
        snprintf(out, REPORT_CELL, "%+.1f %%", 100 * (tuned - baseline) / baseline);
    }
}

void report_duration_text(char out[REPORT_CELL], double seconds)
{
    if (!(seconds < 1e12)) { /* beyond any clock, or no number */
        snprintf(out, REPORT_CELL, "unknown");
    } else if (seconds < 1) {
        snprintf(out, REPORT_CELL, "%.0f ms", 1e3 * seconds);
    } else if (seconds < 100) {
        snprintf(out, REPORT_CELL, "%.1f s", seconds);
    } else if (seconds < 6000) {
        snprintf(out, REPORT_CELL, "%.0f min %02d s", floor(seconds / 60), (int)fmod(seconds, 60));
    } else {
        snprintf(out, REPORT_CELL, "%.0f h %02d min", floor(seconds / 3600),
                 (int)(fmod(seconds, 3600) / 60));
    }
}

void report_where(strbuf *out, const report_point *point)
{
    strbuf_printf(out, "trial %llu", (unsigned long long)point->id);
    if (point->behind_search) {
        strbuf_puts(out, ", which leaves controls out");
    } else {
        strbuf_printf(out, " of generation %u", point->generation);
    }
}

void report_column_name(strbuf *out, const char *metric)
{
    const char *unit = report_is_noisy(metric) ? report_unit(metric) : "";
    strbuf_printf(out, "%s%s", metric,
                  strcmp(unit, "s") == 0   ? "_s"
                  : strcmp(unit, "J") == 0 ? "_j"
                  : strcmp(unit, "W") == 0 ? "_w"
                                           : "");
}

const objective *report_objective_of(const report_summary *summary, const char *metric)
{
    for (size_t i = 0; i < summary->objectives.count; i++) {
        if (strcmp(summary->objectives.items[i].metric, metric) == 0) {
            return &summary->objectives.items[i];
        }
    }
    return NULL;
}

/* Settings that are there for resuming alone have no words. */
static const struct {
    const char *name, *words;
} setting_words[] = {
    {"allow_numerics", "controls that change rounding"},
    {"apart", NULL},
    {"arch", "target"},
    {"base", "options of the user"},
    {"budget", "trials asked for"},
    {"complete", NULL},
    {"compiler", "compiler"},
    {"compiler_file", "compiler's file"},
    {"compiler_path", "compiler's path"},
    {"compiler_version", "compiler's version"},
    {"cull_size", "new candidates a generation"},
    {"deadline_s", "deadline of a compilation, s (0: by the baseline)"},
    {"elapsed_s", NULL},
    {"ended", "ended by"},
    {"evocc_version", "evocc"},
    {"failed_again", "finalists that failed when looked at again"},
    {"generations", "generations"},
    {"gpu_conditions", "GPU at the end"},
    {"gpu_driver", "driver"},
    {"gpu_name", "GPU"},
    {"gpu_search", "GPU during the search"},
    {"gpu_uuid", "GPU's UUID"},
    {"input_file", NULL},
    {"input_path", "input"},
    {"input_sha256", "input, SHA-256"},
    {"keep_parameters", NULL},
    {"kernel", "kernel"},
    {"lag", "questions ahead of the answers (0: generations)"},
    {"mutate_rate", "mutation rate"},
    {"objectives", "objectives"},
    {"output", NULL},
    {"pool_size", "candidates that survive"},
    {"seed", "seed"},
    {"space_sha256", "search space, SHA-256"},
    {"started_utc", "started"},
    {"whole_module", "all entries count"},
};

const char *report_setting_words(const char *name)
{
    for (size_t i = 0; i < sizeof setting_words / sizeof setting_words[0]; i++) {
        if (strcmp(setting_words[i].name, name) == 0) {
            return setting_words[i].words;
        }
    }
    return strncmp(name, "generation_", 11) == 0 ? NULL : name;
}

bool report_next_word(report_word *out, const char **candidate)
{
    const char *text = *candidate + strspn(*candidate, " ");
    size_t length = strcspn(text, " ");
    if (length == 0) {
        return false;
    }
    const char *equals = memchr(text, '=', length);
    size_t name = equals == NULL ? length : (size_t)(equals - text);
    *out = (report_word){
        .name = text,
        .value = equals == NULL ? text + length : equals + 1,
        .name_length = name,
        .value_length = equals == NULL ? 0 : length - name - 1,
    };
    *candidate = text + length;
    return true;
}

size_t report_word_count(const char *candidate)
{
    report_word word;
    size_t count = 0;
    while (report_next_word(&word, &candidate)) {
        count++;
    }
    return count;
}
