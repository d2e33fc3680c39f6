/* The public functions of include/evocc/evocc.h, section "Spaces". */
#include "space/internal.h"

#include "util/error.h"
#include "util/files.h"
#include "util/text.h"

#include <string.h>

enum { FILE_LIMIT_BYTES = 64 << 20 };

evocc_status evocc_space_parse(evocc_space **out, const char *text, size_t length, const char *name,
                               evocc_error *error)
{
    evocc_space *space;
    *out = NULL;
    evocc_status status = space_parse(&space, text, length, name, error);
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
        if (status == EVOCC_OK) {
            *out = space;
        } else {
            error_prefix(error, "%s", name);
            space_free(space);
        }
    }
    return status;
}

evocc_status evocc_space_load(evocc_space **out, const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    *out = NULL;
    evocc_status status = file_read(&text, &length, path, FILE_LIMIT_BYTES, error);
    if (status == EVOCC_OK) {
        status = evocc_space_parse(out, text, length, path, error);
    }
    mem_free(text);
    return status;
}

evocc_status evocc_space_join(evocc_space **out, const evocc_space *const *parts, size_t count,
                              evocc_error *error)
{
    evocc_space *space = NULL;
    *out = NULL;
    evocc_status status = space_new(&space, error);
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = space_add_all(space, parts[i], NULL, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
    }
    if (status != EVOCC_OK) {
        space_free(space);
        return status;
    }
    *out = space;
    return EVOCC_OK;
}

void evocc_space_free(evocc_space *space)
{
    space_free(space);
}

size_t evocc_space_count(const evocc_space *space)
{
    return space->count;
}

size_t evocc_space_find(const evocc_space *space, const char *name)
{
    int32_t index;
    return rule_find(&index, space, name, NULL) == EVOCC_OK ? (size_t)index : (size_t)-1;
}

const char *evocc_space_name(const evocc_space *space, size_t control)
{
    return control < space->count ? space->controls[control].full_name : NULL;
}

const char *evocc_space_help(const evocc_space *space, size_t control)
{
    if (control >= space->count) {
        return NULL;
    }
    const char *help = space->controls[control].help;
    return help == NULL ? "" : help;
}

size_t evocc_space_value_count(const evocc_space *space, size_t control)
{
    return control < space->count ? (size_t)space->controls[control].size : 0;
}

/* As snprintf. */
static size_t hand_over(char *out, size_t size, strbuf *text)
{
    size_t length = text->failed ? (size_t)-1 : text->length;
    if (size > 0) {
        size_t copied = text->failed ? 0 : length < size ? length : size - 1;
        memcpy(out, strbuf_text(text), copied);
        out[copied] = '\0';
    }
    strbuf_dispose(text);
    return length;
}

size_t evocc_space_value_text(char *out, size_t size, const evocc_space *space, size_t control,
                              int32_t value)
{
    strbuf text = {0};
    if (control < space->count) {
        space_value_text(&text, &space->controls[control], value);
    }
    return hand_over(out, size, &text);
}

double evocc_space_value_number(const evocc_space *space, size_t control, int32_t value)
{
    return control < space->count ? space_value_number(&space->controls[control], value)
                                  : (double)NAN;
}

static evocc_status find_value(int32_t *control, int32_t *value, const evocc_space *space,
                               const int32_t *genes, const char *name, evocc_error *error)
{
    evocc_status status = rule_find(control, space, name, error);
    if (status == EVOCC_OK) {
        *value = effective(space->nodes, genes, *control);
    }
    return status;
}

evocc_status evocc_candidate_number(double *out, const evocc_space *space, const int32_t *genes,
                                    const char *name, evocc_error *error)
{
    int32_t control, value;
    evocc_status status = find_value(&control, &value, space, genes, name, error);
    if (status != EVOCC_OK) {
        return status;
    }
    double number = space_value_number(&space->controls[control], value);
    if (isnan(number)) {
        return error_set(error, EVOCC_UNSUPPORTED, "control %s has no number here: %s",
                         space->controls[control].full_name,
                         value == SPACE_ABSENT ? "it is absent and has no default"
                                               : "its value is a word");
    }
    *out = number;
    return EVOCC_OK;
}

evocc_status evocc_candidate_value(char *out, size_t size, const evocc_space *space,
                                   const int32_t *genes, const char *name, evocc_error *error)
{
    int32_t control, value;
    strbuf text = {0};
    evocc_status status = find_value(&control, &value, space, genes, name, error);
    if (status != EVOCC_OK) {
        return status;
    }
    space_value_text(&text, &space->controls[control], value);
    size_t length = hand_over(out, size, &text);
    if (length == (size_t)-1) {
        return error_no_memory(error);
    }
    return length < size
               ? EVOCC_OK
               : error_set(error, EVOCC_INVALID_ARGUMENT, "control %s: its value needs %zu bytes",
                           space->controls[control].full_name, length + 1);
}

size_t evocc_candidate_text(char *out, size_t size, const evocc_space *space, const int32_t *genes)
{
    strbuf text = {0};
    space_candidate_text(&text, space, genes);
    return hand_over(out, size, &text);
}

evocc_status evocc_candidate_parse(int32_t *genes, const evocc_space *space, const char *text,
                                   evocc_error *error)
{
    evocc_status status = space_candidate_parse(genes, space, text, error);
    if (status == EVOCC_OK) {
        space_canonicalise(space, genes);
    }
    return status;
}

evocc_status evocc_candidate_check(const evocc_space *space, const int32_t *genes,
                                   evocc_error *error)
{
    return space_check(space, genes, error);
}
