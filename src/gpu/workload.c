/*
 * workload.c: reading a workload file. The YAML document is kept: expressions are evaluated from
 * its nodes when the job is resolved, so that every error can name its place.
 */
#include "gpu/workload.h"

#include "gpu/workload_internal.h"
#include "util/error.h"
#include "util/files.h"

#include <stdio.h>
#include <string.h>

enum { WORKLOAD_BYTES_MAX = 1 << 20 };

static const char *const root_keys[] = {
    "evocc-workload", "module", "kernel",    "arch",  "options", "parameters", "constraints",
    "shapes",         "launch", "arguments", "check", "measure", NULL};

static evocc_status no_memory(evocc_error *error)
{
    return error_no_memory(error);
}

evocc_status workload_expect(const workload *w, const yaml_node *node, yaml_kind kind,
                             const char *what, evocc_error *error)
{
    return node->kind == kind ? EVOCC_OK
                              : yaml_error(w->document, node, error, "%s is expected here", what);
}

evocc_status workload_need(const yaml_node **out, const workload *w, const yaml_node *mapping,
                           const char *key, evocc_error *error)
{
    *out = yaml_get(mapping, key);
    return *out != NULL ? EVOCC_OK
                        : yaml_error(w->document, mapping, error, "'%s' is missing", key);
}

/* A C identifier: it becomes a -D, and a name in expressions. */
static bool is_identifier(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && length < 64 && text[length] == '\0' && (text[0] < '0' || text[0] > '9');
}

evocc_status workload_check_name(const workload *w, const yaml_node *node, evocc_error *error)
{
    return node->kind == YAML_SCALAR && is_identifier(node->text)
               ? EVOCC_OK
               : yaml_error(w->document, node, error,
                            "a name of letters, digits and '_' is expected here");
}

/* ---- The module ------------------------------------------------------------------------------ */

static evocc_status read_words(const char *const **out, workload *w, const yaml_node *node,
                               evocc_error *error)
{
    size_t count = node != NULL ? node->count : 0;
    evocc_status status = node != NULL
                              ? workload_expect(w, node, YAML_SEQUENCE, "a list of options", error)
                              : EVOCC_OK;
    const char **words = arena_alloc(&w->memory, count + 1, sizeof *words);
    if (status == EVOCC_OK && words == NULL) {
        status = no_memory(error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = yaml_text(&words[i], w->document, node->items[i], error);
    }
    *out = words;
    return status;
}

static evocc_status read_options(workload *w, const yaml_node *node, evocc_error *error)
{
    static const char *const keys[] = {"nvcc", "ptxas", NULL};
    evocc_status status = EVOCC_OK;
    if (node != NULL) {
        status =
            workload_expect(w, node, YAML_MAPPING, "'nvcc' or 'ptxas' and their options", error);
        if (status == EVOCC_OK) {
            status = yaml_only_keys(w->document, node, keys, error);
        }
    }
    if (status == EVOCC_OK) {
        status =
            read_words(&w->module.nvcc, w, node != NULL ? yaml_get(node, "nvcc") : NULL, error);
    }
    if (status == EVOCC_OK) {
        status =
            read_words(&w->module.ptxas, w, node != NULL ? yaml_get(node, "ptxas") : NULL, error);
    }
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

const char *workload_path(const workload *w, const char *name, arena *memory)
{
    char *joined = path_join(w->folder, name);
    const char *copy = joined != NULL ? arena_strdup(memory, joined) : NULL;
    mem_free(joined);
    return copy;
}

static evocc_status read_module(workload *w, const yaml_node *root, evocc_error *error)
{
    const yaml_node *node;
    const char *name = NULL;
    workload_module *m = &w->module;
    evocc_status status = workload_need(&node, w, root, "module", error);
    if (status == EVOCC_OK) {
        status = yaml_text(&name, w->document, node, error);
    }
    if (status == EVOCC_OK && !ends_with(name, ".cu") && !ends_with(name, ".ptx")) {
        status = yaml_error(w->document, node, error, "the module is a .cu or a .ptx file");
    }
    if (status == EVOCC_OK) {
        m->is_ptx = ends_with(name, ".ptx");
        m->path = workload_path(w, name, &w->memory);
        status =
            m->path != NULL ? workload_need(&node, w, root, "kernel", error) : no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = yaml_text(&m->kernel, w->document, node, error);
    }
    m->arch = "";
    node = yaml_get(root, "arch");
    if (status == EVOCC_OK && node != NULL) {
        status = yaml_text(&m->arch, w->document, node, error);
    }
    if (status == EVOCC_OK) {
        status = read_options(w, yaml_get(root, "options"), error);
    }
    if (status == EVOCC_OK && m->is_ptx && m->nvcc[0] != NULL) {
        status = yaml_error(w->document, yaml_get(root, "options"), error,
                            "nvcc has no part in a .ptx module");
    }
    return status;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static evocc_status read_parameter(workload *w, workload_parameter *p, const yaml_node *key,
                                   const yaml_node *body, evocc_error *error)
{
    static const char *const keys[] = {"values", "default", "help", NULL};
    const yaml_node *values;
    int64_t first = 0;
    evocc_status status = workload_check_name(w, key, error);
    if (status == EVOCC_OK) {
        status = workload_expect(w, body, YAML_MAPPING, "a mapping with 'values'", error);
    }
    if (status == EVOCC_OK) {
        status = yaml_only_keys(w->document, body, keys, error);
    }
    if (status == EVOCC_OK) {
        status = workload_need(&values, w, body, "values", error);
    }
    if (status == EVOCC_OK && (values->kind != YAML_SEQUENCE || values->count == 0)) {
        status = yaml_error(w->document, values, error, "a list of integers is expected here");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    int64_t *list = arena_alloc(&w->memory, values->count, sizeof *list);
    const yaml_node *chosen = yaml_get(body, "default");
    const yaml_node *help = yaml_get(body, "help");
    *p = (workload_parameter){key->text, "", list, values->count, 0};
    if (list == NULL) {
        return no_memory(error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < values->count; i++) {
        status = yaml_integer(&list[i], w->document, values->items[i], error);
    }
    if (status == EVOCC_OK && help != NULL) {
        status = yaml_text(&p->help, w->document, help, error);
    }
    if (status == EVOCC_OK && chosen != NULL) {
        status = yaml_integer(&first, w->document, chosen, error);
        for (; p->default_index < p->value_count && list[p->default_index] != first;) {
            p->default_index++;
        }
        if (status == EVOCC_OK && p->default_index == p->value_count) {
            status = yaml_error(w->document, chosen, error, "the default is none of the values");
        }
    }
    return status;
}

static evocc_status read_parameters(workload *w, const yaml_node *node, evocc_error *error)
{
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = workload_expect(w, node, YAML_MAPPING, "a mapping of parameters", error);
    if (status == EVOCC_OK && w->module.is_ptx) {
        status = yaml_error(w->document, node, error,
                            "parameters are given to nvcc; a .ptx module has none");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    w->parameters = arena_alloc(&w->memory, node->count, sizeof *w->parameters);
    if (w->parameters == NULL) {
        return no_memory(error);
    }
    for (; w->parameter_count < node->count && status == EVOCC_OK; w->parameter_count++) {
        size_t i = w->parameter_count;
        status = read_parameter(w, &w->parameters[i], node->keys[i], node->items[i], error);
    }
    return status;
}

size_t workload_parameter_count(const workload *w)
{
    return w->parameter_count;
}

const workload_parameter *workload_get_parameter(const workload *w, size_t index)
{
    return &w->parameters[index];
}

static evocc_status add_control(evocc_space *space, const workload_parameter *p, evocc_error *error)
{
    char texts[64][24];
    const char *choices[64];
    if (p->value_count > 64) {
        return error_set(error, EVOCC_UNSUPPORTED, "parameter '%s' has more than 64 values",
                         p->name);
    }
    for (size_t i = 0; i < p->value_count; i++) {
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)p->values[i]);
        choices[i] = texts[i];
    }
    char option[80];
    snprintf(option, sizeof option, "-D%s={}", p->name);
    const space_control control = {
        .stage = SPACE_STAGE_DEFINE,
        .name = p->name,
        .help = p->help,
        .source = "the workload",
        .option = option,
        .kind = SPACE_CHOICE,
        .choices = choices,
        .size = (int32_t)p->value_count,
        .default_index = (int32_t)p->default_index,
        .parent = SPACE_ABSENT,
    };
    return space_add(space, &control, error);
}

evocc_status workload_add_controls(evocc_space *space, const workload *w, evocc_error *error)
{
    evocc_error local;
    error = error != NULL ? error : &local; /* a rule's message is given its place */
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < w->parameter_count && status == EVOCC_OK; i++) {
        status = add_control(space, &w->parameters[i], error);
    }
    const yaml_node *rules = yaml_get(yaml_root(w->document), "constraints");
    for (size_t i = 0; rules != NULL && i < rules->count && status == EVOCC_OK; i++) {
        status = space_add_constraint(space, rules->items[i]->text, error);
        if (status == EVOCC_PARSE) {
            evocc_error inner = *error;
            status = yaml_error(w->document, rules->items[i], error, "%s", inner.message);
        }
    }
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static evocc_status check_constraints(const workload *w, const yaml_node *rules, evocc_error *error)
{
    evocc_status status =
        rules != NULL ? workload_expect(w, rules, YAML_SEQUENCE, "a list of expressions", error)
                      : EVOCC_OK;
    for (size_t i = 0; rules != NULL && status == EVOCC_OK && i < rules->count; i++) {
        status = workload_expect(w, rules->items[i], YAML_SCALAR, "an expression", error);
    }
    if (status == EVOCC_OK && w->parameter_count > 0) {
        evocc_space *space = NULL;
        status = space_new(&space, error);
        if (status == EVOCC_OK) {
            status = workload_add_controls(space, w, error);
        }
        if (status == EVOCC_OK) {
            status = space_finish(space, error);
        }
        space_free(space);
    }
    return status;
}

static evocc_status read_root(workload *w, evocc_error *error)
{
    const yaml_node *root = yaml_root(w->document);
    const yaml_node *version;
    int64_t number = 0;
    evocc_status status = workload_expect(w, root, YAML_MAPPING, "a workload", error);
    if (status == EVOCC_OK) {
        status = workload_need(&version, w, root, "evocc-workload", error);
    }
    if (status == EVOCC_OK) {
        status = yaml_integer(&number, w->document, version, error);
    }
    if (status == EVOCC_OK && number != 1) {
        status =
            yaml_error(w->document, version, error,
                       "version %lld is not known; this evocc reads version 1", (long long)number);
    }
    if (status == EVOCC_OK) {
        status = yaml_only_keys(w->document, root, root_keys, error);
    }
    if (status == EVOCC_OK) {
        status = read_module(w, root, error);
    }
    if (status == EVOCC_OK) {
        status = read_parameters(w, yaml_get(root, "parameters"), error);
    }
    if (status == EVOCC_OK) {
        status = check_constraints(w, yaml_get(root, "constraints"), error);
    }
    return status;
}

evocc_status workload_parse(workload **out, const char *text, size_t length, const char *name,
                            const char *folder, evocc_error *error)
{
    gpu_job job = {0};
    workload *w = mem_alloc(1, sizeof *w);
    if (w == NULL) {
        return no_memory(error);
    }
    evocc_status status = yaml_parse(&w->document, text, length, name, error);
    if (status == EVOCC_OK) {
        w->folder = mem_strdup(folder);
        status = w->folder != NULL ? read_root(w, error) : no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = workload_resolve(&job, w, NULL, error);
        gpu_job_dispose(&job);
    }
    if (status != EVOCC_OK) {
        workload_free(w);
        return status;
    }
    *out = w;
    return EVOCC_OK;
}

evocc_status workload_read(workload **out, const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length;
    file_identity identity = {0};
    char *folder = NULL;
    evocc_status status = file_read(&text, &length, path, WORKLOAD_BYTES_MAX, error);
    if (status == EVOCC_OK) {
        status = file_identify(&identity, path, error);
    }
    if (status == EVOCC_OK) {
        folder = path_folder(identity.path); /* absolute: the worker has another working folder */
        status = folder != NULL ? workload_parse(out, text, length, path, folder, error)
                                : no_memory(error);
    }
    mem_free(folder);
    mem_free(identity.path);
    mem_free(text);
    return status;
}

void workload_free(workload *w)
{
    if (w != NULL) {
        yaml_free(w->document);
        mem_free(w->folder);
        arena_dispose(&w->memory);
        mem_free(w);
    }
}

const workload_module *workload_get_module(const workload *w)
{
    return &w->module;
}
