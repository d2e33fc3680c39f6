#include "space/derived.h"

#include "space/arithmetic.h"
#include "space/internal.h"
#include "util/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { METRICS_MAX = 64 };

/* Letters, digits and '_', as expressions can name it. */
static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return strchr(letters, *text) == NULL || *text == '\0'
               ? 0
               : strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

static bool is_taken(const derived_list *list, const char *name, const char *const *metrics,
                     size_t metric_count)
{
    for (size_t i = 0; i < metric_count; i++) {
        if (strcmp(metrics[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static evocc_status split(derived_metric *out, const char *definition, evocc_error *error)
{
    definition += strspn(definition, " ");
    size_t length = name_length(definition);
    const char *rest = definition + length + strspn(definition + length, " ");
    if (length == 0 || length >= DERIVED_NAME_SIZE || *rest != '=') {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a derived metric is NAME = EXPRESSION, the name of letters, digits and "
                         "'_', at most %d: not '%.80s'",
                         DERIVED_NAME_SIZE - 1, definition);
    }
    rest += 1 + strspn(rest + 1, " ");
    if (strlen(rest) >= DERIVED_TEXT_SIZE) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "derived metric '%.*s': the expression is longer than %d bytes",
                         (int)length, definition, DERIVED_TEXT_SIZE - 1);
    }
    memcpy(out->name, definition, length);
    out->name[length] = '\0';
    memcpy(out->text, rest, strlen(rest) + 1);
    return EVOCC_OK;
}

/* Whether a number that the expression uses is unknown. The scan cannot fail: it passed before. */
static bool lacks_one(const char *text, const arithmetic_name *names, size_t count)
{
    expression_names used;
    expression_place place;
    if (expression_scan(&used, text, &place, NULL) != EVOCC_OK) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; isnan(names[i].value) && k < used.count; k++) {
            if (strlen(names[i].name) == used.items[k].length &&
                memcmp(names[i].name, used.items[k].text, used.items[k].length) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* It must give a number for some numbers; 1 / (registers - 1) does so only for others than 1. */
static evocc_status try_out(const derived_metric *one, const derived_list *list,
                            const char *const *metrics, size_t metric_count, evocc_error *error)
{
    static const double trials[] = {1, 2, 7.5};
    arithmetic_name names[METRICS_MAX + DERIVED_COUNT_MAX];
    evocc_error reason = {0};
    evocc_status status = EVOCC_PARSE;
    for (size_t t = 0; t < sizeof trials / sizeof *trials && status != EVOCC_OK; t++) {
        size_t count = 0;
        for (size_t i = 0; i < metric_count; i++) {
            names[count++] = (arithmetic_name){metrics[i], trials[t]};
        }
        for (size_t i = 0; i < list->count; i++) {
            names[count++] = (arithmetic_name){list->items[i].name, trials[t]};
        }
        double value;
        status = arithmetic_value(&value, one->text, names, count, &reason);
        if (status == EVOCC_NO_MEMORY) {
            return error_no_memory(error);
        }
    }
    return status == EVOCC_OK ? EVOCC_OK
                              : error_set(error, EVOCC_PARSE, "derived metric '%s': %s", one->name,
                                          reason.message);
}

evocc_status derived_list_add(derived_list *list, const char *definition,
                              const char *const *metrics, size_t metric_count, evocc_error *error)
{
    derived_metric one;
    evocc_status status = split(&one, definition, error);
    if (status != EVOCC_OK) {
        return status;
    }
    if (list->count == DERIVED_COUNT_MAX || metric_count > METRICS_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "more than %d derived metrics",
                         DERIVED_COUNT_MAX);
    }
    if (is_taken(list, one.name, metrics, metric_count)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "there is a metric '%s' already", one.name);
    }
    status = try_out(&one, list, metrics, metric_count, error);
    if (status != EVOCC_OK) {
        return status;
    }
    list->items[list->count++] = one;
    return EVOCC_OK;
}

evocc_status derived_list_values(double *out, const derived_list *list, const char *const *metrics,
                                 const double *values, size_t metric_count, evocc_error *error)
{
    arithmetic_name names[METRICS_MAX + DERIVED_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < metric_count && i < METRICS_MAX; i++) {
        names[count++] = (arithmetic_name){metrics[i], values[i]};
    }
    for (size_t i = 0; i < list->count; i++) {
        out[i] = (double)NAN;
        if (!lacks_one(list->items[i].text, names, count)) {
            evocc_status status =
                arithmetic_value(&out[i], list->items[i].text, names, count, NULL);
            if (status == EVOCC_NO_MEMORY) {
                return error_no_memory(error);
            }
        }
        names[count++] = (arithmetic_name){list->items[i].name, out[i]};
    }
    return EVOCC_OK;
}
