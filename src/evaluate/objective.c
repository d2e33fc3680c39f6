#include "evaluate/objective.h"

#include "evaluate/evaluate.h"
#include "util/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static evocc_status unknown_metric(const char *name, evocc_error *error)
{
    strbuf known = {0};
    size_t count;
    const evaluate_metric_info *metrics = evaluate_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(&known, "%s%s", i == 0 ? "" : ", ", metrics[i].name);
    }
    evocc_status status =
        error_set(error, EVOCC_INVALID_ARGUMENT, "no metric is called '%s'; there are: %s", name,
                  strbuf_text(&known));
    strbuf_dispose(&known);
    return status;
}

static evocc_status add_one(objective_list *list, const char *metric, bool maximize, double weight,
                            evocc_error *error)
{
    if (!(weight > 0) || !isfinite(weight)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "the weight of objective %s must be a number above 0", metric);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].metric, metric) == 0) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "objective %s is named twice", metric);
        }
    }
    if (list->count == OBJECTIVE_COUNT_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "at most %d objectives",
                         OBJECTIVE_COUNT_MAX);
    }
    objective *o = &list->items[list->count++];
    snprintf(o->metric, sizeof o->metric, "%s", metric);
    o->maximize = maximize;
    o->weight = weight;
    return EVOCC_OK;
}

/* One "name" or "name:weight" of `length` bytes. */
static evocc_status add_word(objective_list *list, const char *word, size_t length, bool maximize,
                             evocc_error *error)
{
    char text[OBJECTIVE_NAME_SIZE + 32];
    if (length == 0 || length >= sizeof text) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "'%.*s' is not a metric", (int)length,
                         word);
    }
    memcpy(text, word, length);
    text[length] = '\0';
    double weight = 1;
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        char *end;
        *colon = '\0';
        weight = strtod(colon + 1, &end);
        if (end == colon + 1 || *end != '\0') {
            weight = (double)NAN;
        }
    }
    return evaluate_metric_find(text) == NULL ? unknown_metric(text, error)
                                              : add_one(list, text, maximize, weight, error);
}

evocc_status objective_list_add(objective_list *list, const char *text, bool maximize,
                                evocc_error *error)
{
    objective_list grown = *list;
    for (;;) {
        size_t length = strcspn(text, ",");
        evocc_status status = add_word(&grown, text, length, maximize, error);
        if (status != EVOCC_OK) {
            return status;
        }
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
    *list = grown;
    return EVOCC_OK;
}

void objective_list_text(strbuf *out, const objective_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const objective *o = &list->items[i];
        strbuf_printf(out, "%s%s %s ", i == 0 ? "" : ", ", o->maximize ? "max" : "min", o->metric);
        strbuf_number(out, o->weight);
    }
}

evocc_status objective_list_parse(objective_list *out, const char *text, evocc_error *error)
{
    objective_list list = {0};
    while (*text != '\0') {
        char direction[4];
        char metric[OBJECTIVE_NAME_SIZE];
        double weight;
        int used = 0;
        if (sscanf(text, "%3s %47s %lf%n", direction, metric, &weight, &used) != 3 ||
            (strcmp(direction, "min") != 0 && strcmp(direction, "max") != 0)) {
            return error_set(error, EVOCC_PARSE, "'%s' is not a list of objectives", text);
        }
        evocc_status status = add_one(&list, metric, strcmp(direction, "max") == 0, weight, error);
        if (status != EVOCC_OK) {
            return status;
        }
        text += used;
        text += strspn(text, ", ");
    }
    *out = list;
    return EVOCC_OK;
}

double objective_gain(const objective *o, double baseline, double tuned)
{
    if (isnan(baseline) || isnan(tuned)) {
        return (double)NAN;
    }
    const evaluate_metric_info *metric = evaluate_metric_find(o->metric);
    bool counted = metric != NULL && !metric->measured;
    if (counted && (baseline < 1 || tuned < 1)) {
        baseline += 1;
        tuned += 1;
    }
    if (baseline > 0 && tuned > 0) {
        return o->maximize ? tuned / baseline : baseline / tuned;
    }
    double largest = fmax(fabs(baseline), fabs(tuned));
    double won = o->maximize ? tuned - baseline : baseline - tuned;
    return largest == 0 ? 1 : exp(won / largest);
}

double objective_list_gain(const objective_list *list, const double *baseline, const double *tuned)
{
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i < list->count; i++) {
        const objective *o = &list->items[i];
        sum += o->weight * log(objective_gain(o, baseline[i], tuned[i]));
        weights += o->weight;
    }
    return exp(sum / weights);
}

bool objective_list_dominates(const objective_list *list, const double *a, const double *b)
{
    bool better = false;
    for (size_t i = 0; i < list->count; i++) {
        double sign = list->items[i].maximize ? -1 : 1;
        if (sign * a[i] > sign * b[i]) {
            return false;
        }
        better = better || sign * a[i] < sign * b[i];
    }
    return better;
}
