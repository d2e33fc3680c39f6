/*
 * workload_resolve.c: from a workload and values of its parameters to a job.
 *
 * Arguments may name the variables of their shape; the launch may name these and the parameters.
 */
#include "gpu/workload_internal.h"

#include "gpu/npy.h"
#include "space/arithmetic.h"
#include "util/error.h"

#include <math.h>
#include <string.h>

enum { DIMENSIONS_MAX = 8 };

evocc_status resolve_bad(resolver *r, const yaml_node *node, const char *message)
{
    return yaml_error(r->w->document, node, r->error, "%s", message);
}

static evocc_status no_memory(resolver *r)
{
    return error_no_memory(r->error);
}

static const char *keep(resolver *r, const char *text)
{
    return arena_strdup(&r->job->memory, text);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

evocc_status resolve_number(resolver *r, double *out, const yaml_node *node, size_t names)
{
    evocc_error inner;
    if (node->kind != YAML_SCALAR) {
        return resolve_bad(r, node, "a number or an expression is expected here");
    }
    evocc_status status = arithmetic_value(out, node->text, r->names, names, &inner);
    if (status == EVOCC_PARSE || status == EVOCC_INVALID_ARGUMENT) {
        return yaml_error(r->w->document, node, r->error, "'%.80s': %s", node->text, inner.message);
    }
    if (status != EVOCC_OK && r->error != NULL) {
        *r->error = inner;
    }
    return status;
}

static evocc_status whole(resolver *r, double *out, const yaml_node *node, size_t names, double low,
                          double high)
{
    evocc_status status = resolve_number(r, out, node, names);
    if (status == EVOCC_OK && (*out != floor(*out) || *out < low || *out > high)) {
        status =
            yaml_error(r->w->document, node, r->error,
                       "'%.80s' gives %.12g; a whole number from %.12g to %.12g is needed here",
                       node->text, *out, low, high);
    }
    return status;
}

/* ---- The launch ------------------------------------------------------------------------------ */

/* One to three extents; missing ones are 1. */
static evocc_status read_extents(resolver *r, uint32_t out[3], const yaml_node *node, double high)
{
    out[0] = out[1] = out[2] = 1;
    const yaml_node *single[] = {node};
    const yaml_node *const *items =
        node->kind == YAML_SEQUENCE ? (const yaml_node *const *)node->items : single;
    size_t count = node->kind == YAML_SEQUENCE ? node->count : 1;
    if (count == 0 || count > 3) {
        return resolve_bad(r, node, "one to three extents are expected here");
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        double value = 0;
        status = whole(r, &value, items[i], r->name_count, 1, high);
        out[i] = status == EVOCC_OK ? (uint32_t)value : 0;
    }
    return status;
}

static evocc_status read_launch(resolver *r, gpu_launch *launch, const yaml_node *node)
{
    static const char *const keys[] = {"grid", "block", "cluster", "shared", NULL};
    const yaml_node *grid;
    const yaml_node *block;
    double shared = 0;
    *launch = (gpu_launch){0};
    evocc_status status = workload_expect(r->w, node, YAML_MAPPING, "a mapping", r->error);
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->w->document, node, keys, r->error);
    }
    if (status == EVOCC_OK) {
        status = workload_need(&grid, r->w, node, "grid", r->error);
    }
    if (status == EVOCC_OK) {
        status = workload_need(&block, r->w, node, "block", r->error);
    }
    if (status == EVOCC_OK) {
        status = read_extents(r, launch->grid, grid, 2147483647);
    }
    if (status == EVOCC_OK) {
        status = read_extents(r, launch->block, block, 1024);
    }
    if (status == EVOCC_OK &&
        (uint64_t)launch->block[0] * launch->block[1] * launch->block[2] > 1024) {
        status = resolve_bad(r, block, "a block has at most 1024 threads");
    }
    const yaml_node *cluster = yaml_get(node, "cluster");
    if (status == EVOCC_OK && cluster != NULL) {
        status = read_extents(r, launch->cluster, cluster, 16);
    }
    const yaml_node *bytes = yaml_get(node, "shared");
    if (status == EVOCC_OK && bytes != NULL) {
        status = whole(r, &shared, bytes, r->name_count, 0, 1 << 20);
        launch->shared_bytes = status == EVOCC_OK ? (uint32_t)shared : 0;
    }
    return status;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static evocc_status read_scalar(resolver *r, gpu_argument *a, const yaml_node *value)
{
    double result;
    if (value->kind == YAML_SCALAR && dtype_write_text(a->type, a->scalar, value->text)) {
        return EVOCC_OK;
    }
    evocc_status status = resolve_number(r, &result, value, r->shape_names);
    if (status == EVOCC_OK) {
        dtype_write(a->type, a->scalar, result);
        if (!dtype_is_float(a->type) && dtype_read(a->type, a->scalar) != result) {
            status = yaml_error(r->w->document, value, r->error, "%.17g is no value of type %s",
                                result, dtype_name(a->type));
        }
    }
    return status;
}

static evocc_status read_elements(resolver *r, gpu_argument *a, const yaml_node *shape)
{
    evocc_status status =
        workload_expect(r->w, shape, YAML_SEQUENCE, "a list of extents", r->error);
    double elements = 1;
    if (status == EVOCC_OK && (shape->count == 0 || shape->count > DIMENSIONS_MAX)) {
        status = resolve_bad(r, shape, "one to eight extents are expected here");
    }
    for (size_t i = 0; status == EVOCC_OK && i < shape->count; i++) {
        double extent = 0;
        status = whole(r, &extent, shape->items[i], r->shape_names, 1, 1e12);
        elements *= extent;
    }
    if (status == EVOCC_OK && elements * (double)dtype_bytes(a->type) > 1e12) {
        status = resolve_bad(r, shape, "a buffer of more than 1e12 bytes fits no GPU");
    }
    a->elements = status == EVOCC_OK ? (uint64_t)elements : 0;
    return status;
}

/* Up to two numbers: [mean, deviation], [low, high], [first, step], or one. */
static evocc_status read_init_numbers(resolver *r, gpu_argument *a, const yaml_node *node)
{
    size_t wanted = a->init == GPU_CONSTANT ? 1 : 2;
    if (a->init == GPU_CONSTANT) {
        return resolve_number(r, &a->first, node, r->shape_names);
    }
    if (node->kind != YAML_SEQUENCE || node->count != wanted) {
        return resolve_bad(r, node, "two numbers are expected here, as in [0, 1]");
    }
    evocc_status status = resolve_number(r, &a->first, node->items[0], r->shape_names);
    if (status == EVOCC_OK) {
        status = resolve_number(r, &a->second, node->items[1], r->shape_names);
    }
    if (status == EVOCC_OK && ((a->init == GPU_UNIFORM && a->second < a->first) ||
                               (a->init == GPU_NORMAL && a->second < 0))) {
        status = resolve_bad(
            r, node, a->init == GPU_UNIFORM ? "the range is empty" : "a deviation is not negative");
    }
    return status;
}

static evocc_status read_file(resolver *r, const char **out, const gpu_argument *a,
                              const yaml_node *node)
{
    const char *name = NULL;
    dtype type;
    npy_shape shape;
    evocc_status status = yaml_text(&name, r->w->document, node, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    *out = workload_path(r->w, name, &r->job->memory);
    if (*out == NULL) {
        return no_memory(r);
    }
    status = npy_read_header(&type, &shape, *out, r->error);
    if (status == EVOCC_OK &&
        (shape.elements != a->elements || dtype_bytes(type) != dtype_bytes(a->type))) {
        status = yaml_error(r->w->document, node, r->error,
                            "'%s' holds %llu elements of %s, the argument %llu of %s", name,
                            (unsigned long long)shape.elements, dtype_name(type),
                            (unsigned long long)a->elements, dtype_name(a->type));
    }
    return status;
}

static evocc_status read_init(resolver *r, gpu_argument *a, const yaml_node *node)
{
    static const char *const words[] = {"zeros", "constant", "uniform", "normal",
                                        "iota",  "file",     NULL};
    if (node == NULL) {
        a->init = GPU_ZEROS;
        return EVOCC_OK;
    }
    if (node->kind == YAML_SCALAR && strcmp(node->text, "zeros") == 0) {
        a->init = GPU_ZEROS;
        return EVOCC_OK;
    }
    if (node->kind == YAML_SCALAR && strcmp(node->text, "iota") == 0) {
        a->init = GPU_IOTA;
        a->second = 1;
        return EVOCC_OK;
    }
    if (node->kind != YAML_MAPPING || node->count != 1) {
        return resolve_bad(
            r, node,
            "zeros, iota, {constant: 1}, {uniform: [0, 1]}, {normal: [0, 1]}, {iota: [0, 1]} "
            "or {file: x.npy} is expected here");
    }
    evocc_status status = yaml_only_keys(r->w->document, node, words + 1, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    for (a->init = GPU_CONSTANT; strcmp(words[a->init], node->keys[0]->text) != 0;) {
        a->init = (gpu_init)(a->init + 1);
    }
    return a->init == GPU_FILE ? read_file(r, &a->file, a, node->items[0])
                               : read_init_numbers(r, a, node->items[0]);
}

static evocc_status read_tolerance(resolver *r, gpu_argument *a, const yaml_node *node)
{
    static const char *const keys[] = {"absolute", "relative", "rms", NULL};
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status =
        workload_expect(r->w, node, YAML_MAPPING, "absolute, relative or rms", r->error);
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->w->document, node, keys, r->error);
    }
    if (status == EVOCC_OK) {
        status = resolve_setting(r, &a->tolerance.absolute, node, "absolute", 0, 1e300);
    }
    if (status == EVOCC_OK) {
        status = resolve_setting(r, &a->tolerance.relative, node, "relative", 0, 1);
    }
    if (status == EVOCC_OK) {
        status = resolve_setting(r, &a->tolerance.rms, node, "rms", 0, 1);
    }
    return status;
}

static evocc_status read_access(resolver *r, gpu_argument *a, const yaml_node *node)
{
    static const char *const words[] = {"in", "out", "inout"};
    a->access = GPU_IN;
    for (size_t i = 0; node != NULL && i < 3; i++) {
        if (node->kind == YAML_SCALAR && strcmp(node->text, words[i]) == 0) {
            a->access = (gpu_access)i;
            return EVOCC_OK;
        }
    }
    return node == NULL ? EVOCC_OK : resolve_bad(r, node, "in, out or inout is expected here");
}

static evocc_status read_buffer(resolver *r, gpu_argument *a, const yaml_node *node)
{
    const yaml_node *init = yaml_get(node, "init");
    const yaml_node *reference = yaml_get(node, "reference");
    const yaml_node *tolerance = yaml_get(node, "tolerance");
    a->is_buffer = true;
    evocc_status status = read_elements(r, a, yaml_get(node, "shape"));
    if (status == EVOCC_OK) {
        status = read_access(r, a, yaml_get(node, "access"));
    }
    if (status == EVOCC_OK) {
        status = read_init(r, a, init);
    }
    if (status == EVOCC_OK && a->access == GPU_OUT && init != NULL) {
        status = resolve_bad(r, init,
                             "an output begins as poison; say 'access: inout' if it is read, too");
    }
    if (status == EVOCC_OK && a->access == GPU_IN && (reference != NULL || tolerance != NULL)) {
        status = resolve_bad(
            r, node, "reference and tolerance are for outputs; say 'access: out' or 'inout'");
    }
    if (status == EVOCC_OK && reference != NULL) {
        status = read_file(r, &a->reference, a, reference);
    }
    return status == EVOCC_OK ? read_tolerance(r, a, tolerance) : status;
}

static evocc_status read_argument(resolver *r, gpu_argument *a, const yaml_node *node)
{
    static const char *const keys[] = {"name",   "type",      "value",     "shape", "init",
                                       "access", "reference", "tolerance", NULL};
    static const char *const scalar_keys[] = {"name", "type", "value", NULL};
    const yaml_node *name;
    const yaml_node *type;
    evocc_status status = workload_expect(r->w, node, YAML_MAPPING, "an argument", r->error);
    if (status == EVOCC_OK) {
        status = workload_need(&name, r->w, node, "name", r->error);
    }
    if (status == EVOCC_OK) {
        status = workload_check_name(r->w, name, r->error);
    }
    if (status == EVOCC_OK) {
        status = workload_need(&type, r->w, node, "type", r->error);
    }
    if (status == EVOCC_OK && (type->kind != YAML_SCALAR || !dtype_parse(&a->type, type->text))) {
        status = resolve_bad(
            r, type,
            "i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, e4m3 or e5m2 is "
            "expected here");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    a->name = keep(r, name->text);
    const yaml_node *value = yaml_get(node, "value");
    if (a->name == NULL) {
        return no_memory(r);
    }
    if ((value != NULL) == (yaml_get(node, "shape") != NULL)) {
        return resolve_bad(r, node, "an argument has either a value or a shape");
    }
    status = yaml_only_keys(r->w->document, node, value != NULL ? scalar_keys : keys, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    return value != NULL ? read_scalar(r, a, value) : read_buffer(r, a, node);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static evocc_status add_variable(resolver *r, const yaml_node *key, double value)
{
    for (size_t i = 0; i < r->name_count; i++) {
        if (strcmp(r->names[i].name, key->text) == 0) {
            return resolve_bad(r, key, "this name is taken");
        }
    }
    if (r->name_count == NAMES_MAX) {
        return resolve_bad(r, key, "there are too many names");
    }
    r->names[r->name_count++] = (arithmetic_name){key->text, value};
    return EVOCC_OK;
}

/* The variables of a shape; each may use those before it. Then the parameters. */
static evocc_status begin_shape(resolver *r, gpu_shape *shape, const yaml_node *node,
                                const int64_t *values)
{
    evocc_status status = EVOCC_OK;
    const char *name = "shape";
    shape->weight = 1;
    r->name_count = 0;
    for (size_t i = 0; node != NULL && status == EVOCC_OK && i < node->count; i++) {
        double value = 0;
        const char *key = node->keys[i]->text;
        if (strcmp(key, "name") == 0) {
            status = yaml_text(&name, r->w->document, node->items[i], r->error);
            continue;
        }
        status = workload_check_name(r->w, node->keys[i], r->error);
        if (status == EVOCC_OK) {
            status = resolve_number(r, &value, node->items[i], r->name_count);
        }
        if (status == EVOCC_OK && strcmp(key, "weight") == 0) {
            shape->weight = value;
            status = value > 0 ? EVOCC_OK : resolve_bad(r, node->items[i], "a weight is above 0");
        } else if (status == EVOCC_OK) {
            status = add_variable(r, node->keys[i], value);
        }
    }
    r->shape_names = r->name_count;
    const yaml_node *parameters = yaml_get(yaml_root(r->w->document), "parameters");
    for (size_t i = 0; status == EVOCC_OK && i < r->w->parameter_count; i++) {
        const workload_parameter *p = &r->w->parameters[i];
        int64_t value = values != NULL ? values[i] : p->values[p->default_index];
        status = add_variable(r, parameters->keys[i], (double)value);
    }
    shape->name = keep(r, name);
    return status == EVOCC_OK && shape->name == NULL ? no_memory(r) : status;
}

static evocc_status resolve_shape(resolver *r, gpu_shape *shape, const yaml_node *node,
                                  const int64_t *values)
{
    const yaml_node *root = yaml_root(r->w->document);
    const yaml_node *launch;
    const yaml_node *arguments;
    evocc_status status = begin_shape(r, shape, node, values);
    if (status == EVOCC_OK) {
        status = workload_need(&launch, r->w, root, "launch", r->error);
    }
    if (status == EVOCC_OK) {
        status = read_launch(r, &shape->launch, launch);
    }
    if (status == EVOCC_OK) {
        status = workload_need(&arguments, r->w, root, "arguments", r->error);
    }
    if (status == EVOCC_OK) {
        status = workload_expect(r->w, arguments, YAML_SEQUENCE, "a list of arguments", r->error);
    }
    if (status == EVOCC_OK && arguments->count > 64) {
        status = resolve_bad(r, arguments, "a kernel has at most 64 arguments here");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    shape->arguments = arena_alloc(&r->job->memory, arguments->count, sizeof *shape->arguments);
    if (shape->arguments == NULL) {
        return no_memory(r);
    }
    bool has_output = false;
    for (shape->count = 0; status == EVOCC_OK && shape->count < arguments->count; shape->count++) {
        gpu_argument *a = &shape->arguments[shape->count];
        status = read_argument(r, a, arguments->items[shape->count]);
        has_output = has_output || (a->is_buffer && a->access != GPU_IN);
    }
    if (status == EVOCC_OK && !has_output) {
        status = resolve_bad(r, arguments,
                             "no argument is an output, so nothing could be checked; say "
                             "'access: out' or 'inout' where the kernel writes");
    }
    return status;
}

static evocc_status resolve_shapes(resolver *r, const yaml_node *shapes, const int64_t *values)
{
    size_t count = shapes != NULL ? shapes->count : 1;
    if (shapes != NULL && (shapes->kind != YAML_SEQUENCE || count == 0 || count > 64)) {
        return resolve_bad(r, shapes, "a list of 1 to 64 shapes is expected here");
    }
    r->job->shapes = arena_alloc(&r->job->memory, count, sizeof *r->job->shapes);
    if (r->job->shapes == NULL) {
        return no_memory(r);
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        const yaml_node *node = shapes != NULL ? shapes->items[i] : NULL;
        if (node != NULL) {
            status = workload_expect(r->w, node, YAML_MAPPING, "a shape's variables", r->error);
        }
        if (status == EVOCC_OK) {
            status = resolve_shape(r, &r->job->shapes[i], node, values);
        }
    }
    r->job->shape_count = count;
    return status;
}

/* Unless told otherwise, buffers that a kernel reads and writes are restored before each launch:
   what goes on from launch to launch soon is infinite or zero, which can be faster than real data.
 */
static void restore_by_default(gpu_job *job, const yaml_node *measure)
{
    if (job->measure.graph || (measure != NULL && yaml_get(measure, "restore") != NULL)) {
        return;
    }
    for (size_t k = 0; k < job->shape_count; k++) {
        for (size_t i = 0; i < job->shapes[k].count; i++) {
            const gpu_argument *a = &job->shapes[k].arguments[i];
            job->measure.restore = job->measure.restore || (a->is_buffer && a->access == GPU_INOUT);
        }
    }
}

evocc_status workload_resolve(gpu_job *out, const workload *w, const int64_t *values,
                              evocc_error *error)
{
    gpu_job job = {0};
    resolver r = {.w = w, .job = &job, .error = error};
    const yaml_node *root = yaml_root(w->document);
    gpu_job_defaults(&job);
    job.kernel = keep(&r, w->module.kernel);
    evocc_status status = job.kernel != NULL ? EVOCC_OK : no_memory(&r);
    if (status == EVOCC_OK) {
        status = resolve_check(&r, yaml_get(root, "check"));
    }
    if (status == EVOCC_OK) {
        status = resolve_measure(&r, yaml_get(root, "measure"));
    }
    if (status == EVOCC_OK) {
        status = resolve_shapes(&r, yaml_get(root, "shapes"), values);
    }
    if (status != EVOCC_OK) {
        gpu_job_dispose(&job);
        return status;
    }
    restore_by_default(&job, yaml_get(root, "measure"));
    *out = job;
    return EVOCC_OK;
}
