#include "acf/acf.h"

#include "acf/object.h"
#include "acf/rules.h"
#include "util/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void acf_free(acf *file)
{
    if (file != NULL) {
        acf_object *object = (acf_object *)file;
        arena_dispose(&object->memory);
        mem_free(object);
    }
}

bool acf_is_ours(const char *text, size_t length)
{
    return length >= ACF_MAGIC_LENGTH && memcmp(text, ACF_MAGIC, ACF_MAGIC_LENGTH) == 0;
}

/* ---- Copying, each text checked on its way --------------------------------------------------- */

static evocc_status copy_text(const char **out, acf_object *object, acf_rule rule, const char *text,
                              evocc_error *error)
{
    const char *broken = text == NULL ? "given" : acf_rule_broken(rule, text);
    if (broken != NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a controls file cannot hold the %s '%.200s': it must be %s",
                         acf_rule_what(rule), text == NULL ? "" : text, broken);
    }
    *out = arena_strdup(&object->memory, text);
    return *out == NULL ? error_no_memory(error) : EVOCC_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static evocc_status check_count(size_t count, const char *what, evocc_error *error)
{
    return count <= ACF_LIST_LIMIT ? EVOCC_OK
                                   : error_set(error, EVOCC_INVALID_ARGUMENT,
                                               "a controls file cannot hold %zu %s: at most %d",
                                               count, what, ACF_LIST_LIMIT);
}

static evocc_status copy_base(acf_object *object, const acf_target *from, evocc_error *error)
{
    evocc_status status = check_count(from->base_count, "base options", error);
    if (status != EVOCC_OK) {
        return status;
    }
    const char **base = arena_alloc(&object->memory, from->base_count, sizeof *base);
    if (base == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < from->base_count; i++) {
        status = copy_text(&base[i], object, ACF_RULE_BASE, from->base[i], error);
    }
    if (status == EVOCC_OK) {
        qsort(base, from->base_count, sizeof *base, compare_texts);
        object->file.target.base = base;
        object->file.target.base_count = from->base_count;
    }
    return status;
}

static evocc_status copy_target(acf_object *object, const acf_target *from, evocc_error *error)
{
    acf_target *to = &object->file.target;
    const struct {
        const char **to;
        acf_rule rule;
        const char *from;
    } fields[] = {
        {&to->compiler, ACF_RULE_COMPILER, from->compiler},
        {&to->version, ACF_RULE_VERSION, from->version},
        {&to->arch, ACF_RULE_ARCH, from->arch},
        {&to->kernel, ACF_RULE_KERNEL, from->kernel},
        {&to->ptx, ACF_RULE_PTX, from->ptx},
    };
    evocc_status status = EVOCC_OK;
    bool host = from->compiler != NULL && acf_is_for_host(from->compiler);
    size_t count = sizeof fields / sizeof fields[0] - (host ? 1 : 0); /* ptx is the last */
    to->ptx = "";
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = copy_text(fields[i].to, object, fields[i].rule, fields[i].from, error);
    }
    if (status == EVOCC_OK && host && from->ptx != NULL && from->ptx[0] != '\0') {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "a controls file for %s cannot name a PTX", from->compiler);
    }
    return status == EVOCC_OK ? copy_base(object, from, error) : status;
}

static int compare_controls(const void *a, const void *b)
{
    return strcmp(((const acf_control *)a)->full_name, ((const acf_control *)b)->full_name);
}

static evocc_status copy_controls(acf_object *object, const acf *from, evocc_error *error)
{
    size_t count = from->control_count;
    if (count == 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a controls file without controls would change nothing");
    }
    acf_control *controls = arena_alloc(&object->memory, count, sizeof *controls);
    if (controls == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        controls[i] = from->controls[i];
        status = copy_text(&controls[i].full_name, object, ACF_RULE_CONTROL,
                           from->controls[i].full_name, error);
        if (status == EVOCC_OK) {
            status = copy_text(&controls[i].value, object, ACF_RULE_VALUE, from->controls[i].value,
                               error);
        }
    }
    if (status != EVOCC_OK) {
        return status;
    }
    qsort(controls, count, sizeof *controls, compare_controls);
    for (size_t i = 1; i < count; i++) {
        if (compare_controls(&controls[i - 1], &controls[i]) == 0) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "control '%.200s' is given twice",
                             controls[i].full_name);
        }
    }
    object->file.controls = controls;
    object->file.control_count = count;
    return EVOCC_OK;
}

/* The keys of `found`, metrics first: no two may be equal, or the file could not be read back. */
static evocc_status check_found_key(const acf_object *object, const char *key, size_t metric_count,
                                    size_t extra_count, evocc_error *error)
{
    bool twice = false;
    for (size_t i = 0; i < metric_count; i++) {
        twice = twice || strcmp(object->file.metrics[i].name, key) == 0;
    }
    for (size_t i = 0; i < extra_count; i++) {
        twice = twice || strcmp(object->extras[i].key, key) == 0;
    }
    return twice ? error_set(error, EVOCC_INVALID_ARGUMENT,
                             "'%.200s' is given twice among metrics and findings", key)
                 : EVOCC_OK;
}

static bool is_finite(const acf_metric *metric)
{
    return isfinite(metric->baseline) && isfinite(metric->tuned) && isfinite(metric->speedup) &&
           isfinite(metric->low) && isfinite(metric->high) && metric->pairs >= 0;
}

static evocc_status copy_metrics(acf_object *object, const acf *from, evocc_error *error)
{
    evocc_status status = check_count(from->metric_count, "metrics", error);
    if (status != EVOCC_OK) {
        return status;
    }
    acf_metric *metrics = arena_alloc(&object->memory, from->metric_count, sizeof *metrics);
    if (metrics == NULL) {
        return error_no_memory(error);
    }
    object->file.metrics = metrics;
    for (size_t i = 0; status == EVOCC_OK && i < from->metric_count; i++) {
        metrics[i] = from->metrics[i];
        status =
            copy_text(&metrics[i].name, object, ACF_RULE_FOUND_KEY, from->metrics[i].name, error);
        if (status == EVOCC_OK && !is_finite(&metrics[i])) {
            status = error_set(error, EVOCC_INVALID_ARGUMENT,
                               "metric '%s' has a number that is not finite", metrics[i].name);
        }
        if (status == EVOCC_OK) {
            status = check_found_key(object, metrics[i].name, i, 0, error);
        }
    }
    object->file.metric_count = from->metric_count;
    return status;
}

static evocc_status copy_extra(acf_object *object, acf_extra *to, const char *line, size_t length,
                               evocc_error *error)
{
    char *key = arena_strndup(&object->memory, line, length);
    if (key == NULL) {
        return error_no_memory(error);
    }
    char *colon = strstr(key, ": ");
    if (colon == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "'%.200s' is not of the form 'key: value'",
                         key);
    }
    *colon = '\0';
    evocc_status status = copy_text(&to->key, object, ACF_RULE_FOUND_KEY, key, error);
    if (status == EVOCC_OK) {
        status = copy_text(&to->value, object, ACF_RULE_FOUND_TEXT, colon + 2, error);
    }
    return status == EVOCC_OK ? check_found_key(object, to->key, object->file.metric_count,
                                                object->extra_count, error)
                              : status;
}

static evocc_status copy_extras(acf_object *object, const char *text, evocc_error *error)
{
    text = text == NULL ? "" : text;
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        lines += *c == '\n' || c[1] == '\0';
    }
    evocc_status status = check_count(lines, "findings", error);
    if (status != EVOCC_OK) {
        return status;
    }
    acf_extra *extras = arena_alloc(&object->memory, lines, sizeof *extras);
    object->file.found_extra = arena_strdup(&object->memory, text);
    if (extras == NULL || object->file.found_extra == NULL) {
        return error_no_memory(error);
    }
    object->extras = extras;
    while (status == EVOCC_OK && *text != '\0') {
        size_t length = strcspn(text, "\n");
        status = copy_extra(object, &extras[object->extra_count], text, length, error);
        object->extra_count++;
        text += length + (text[length] == '\n');
    }
    return status;
}

/* ---- The object ------------------------------------------------------------------------------ */

evocc_status acf_object_new(acf_object **out, const acf *from, evocc_error *error)
{
    acf_object *object = mem_alloc(1, sizeof *object);
    if (object == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = copy_target(object, &from->target, error);
    if (status == EVOCC_OK) {
        status = copy_controls(object, from, error);
    }
    if (status == EVOCC_OK) {
        status = copy_metrics(object, from, error);
    }
    if (status == EVOCC_OK) {
        status = copy_extras(object, from->found_extra, error);
    }
    if (status == EVOCC_OK && from->name != NULL) {
        object->file.name = arena_strdup(&object->memory, from->name);
        status = object->file.name == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    if (status != EVOCC_OK) {
        acf_free(&object->file);
        return status;
    }
    acf_digest(object->file.digest, &object->file);
    *out = object;
    return EVOCC_OK;
}

evocc_status acf_new(acf **out, const acf *from, evocc_error *error)
{
    acf_object *object = NULL;
    evocc_status status = acf_object_new(&object, from, error);
    if (status == EVOCC_OK) {
        *out = &object->file;
    }
    return status;
}

/* ---- The digest ------------------------------------------------------------------------------ */

static void add_line(hash_sha256_state *state, const char *key, const char *middle, const char *end)
{
    const char *const pieces[] = {key, " ", middle, end == NULL ? "" : " ", end == NULL ? "" : end,
                                  "\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        hash_sha256_add(state, pieces[i], strlen(pieces[i]));
    }
}

/* One line a field. No text holds a line end and no control's name a space, so that two different
   files never serialise alike. */
void acf_digest(char out[HASH_SHA256_TEXT + 8], const acf *file)
{
    hash_sha256_state state;
    hash_sha256_init(&state);
    add_line(&state, "evocc-acf", "1", NULL);
    add_line(&state, "compiler", file->target.compiler, NULL);
    add_line(&state, "version", file->target.version, NULL);
    add_line(&state, "arch", file->target.arch, NULL);
    add_line(&state, "kernel", file->target.kernel, NULL);
    for (size_t i = 0; i < file->target.base_count; i++) {
        add_line(&state, "base", file->target.base[i], NULL);
    }
    add_line(&state, "ptx", file->target.ptx, NULL);
    for (size_t i = 0; i < file->control_count; i++) {
        add_line(&state, "control", file->controls[i].full_name, file->controls[i].value);
    }
    static const char prefix[] = "sha256:";
    memcpy(out, prefix, sizeof prefix - 1);
    hash_sha256_end(&state, out + sizeof prefix - 1);
}
