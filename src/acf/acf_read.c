#include "acf/acf.h"
#include "acf/object.h"
#include "acf/rules.h"
#include "util/error.h"
#include "util/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

/* What is being read. The texts that `file` points to live in `document` and `memory`. */
typedef struct reader {
    const yaml_document *document;
    const yaml_node *root;
    const char *name;
    acf file;
    const yaml_node *digest;
    strbuf extras;
    arena memory;
    evocc_error *error;
} reader;

/* ---- Before YAML ----------------------------------------------------------------------------- */

/* ptxas refuses any byte outside ASCII in what it reads; a file made to be committed has none
   either, nor characters that a terminal would act on. */
static evocc_status check_bytes(const char *text, size_t length, const char *name,
                                evocc_error *error)
{
    int line = 1;
    int column = 1;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool crlf = c == '\r' && i + 1 < length && text[i + 1] == '\n';
        if ((c < 0x20 && c != '\n' && !crlf) || c > 0x7e) {
            return error_set(error, EVOCC_PARSE,
                             "%s:%d:%d: byte 0x%02x; a controls file is printable ASCII only", name,
                             line, column, c);
        }
        line += c == '\n';
        column = c == '\n' ? 1 : column + 1;
    }
    return EVOCC_OK;
}

/* The version decides whether the rest may be looked at, so it is read by hand from the first line:
   a later version need not be YAML of this shape. */
static evocc_status check_version(const char *text, size_t length, const char *name,
                                  evocc_error *error)
{
    if (!acf_is_ours(text, length)) {
        return error_set(error, EVOCC_PARSE,
                         "%s:1:1: not a controls file of evocc: the first line must be '" ACF_MAGIC
                         " %d'",
                         name, FORMAT_VERSION);
    }
    size_t start = ACF_MAGIC_LENGTH;
    while (start < length && text[start] == ' ') {
        start++;
    }
    size_t end = start;
    while (end < length && text[end] >= '0' && text[end] <= '9') {
        end++;
    }
    bool number = end > start && (end == length || strchr(" \r\n", text[end]) != NULL);
    if (!number) {
        return error_set(error, EVOCC_PARSE,
                         "%s:1:%zu: expected the format version, a number, after '" ACF_MAGIC "'",
                         name, start + 1);
    }
    if (end != start + 1 || text[start] != '0' + FORMAT_VERSION) {
        return error_set(error, EVOCC_UNSUPPORTED,
                         "%s:1:%zu: format version %.*s; evocc %s reads version %d: use the evocc "
                         "that wrote the file, or tune again with this one",
                         name, start + 1, end - start > 9 ? 9 : (int)(end - start), text + start,
                         evocc_version(), FORMAT_VERSION);
    }
    return EVOCC_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static evocc_status read_text(const char **out, reader *r, acf_rule rule, const yaml_node *node)
{
    if (node->kind != YAML_SCALAR) {
        return yaml_error(r->document, node, r->error, "%s must be a single text",
                          acf_rule_what(rule));
    }
    const char *broken = acf_rule_broken(rule, node->text);
    if (broken != NULL) {
        return yaml_error(r->document, node, r->error, "%s '%.200s' must be %s",
                          acf_rule_what(rule), node->text, broken);
    }
    *out = node->text;
    return EVOCC_OK;
}

static evocc_status expect(reader *r, const yaml_node *node, yaml_kind kind, size_t limit,
                           const char *what)
{
    if (node->kind != kind) {
        return yaml_error(r->document, node, r->error, "%s must be a %s", what,
                          kind == YAML_MAPPING ? "mapping" : "list");
    }
    return node->count <= limit ? EVOCC_OK
                                : yaml_error(r->document, node, r->error,
                                             "%s has %zu entries; at most %zu are allowed", what,
                                             node->count, limit);
}

static evocc_status find(const yaml_node **out, reader *r, const yaml_node *mapping,
                         const char *key)
{
    *out = yaml_get(mapping, key);
    return *out != NULL
               ? EVOCC_OK
               : yaml_error(r->document, mapping, r->error, "the key '%s' is missing", key);
}

/* ---- for ------------------------------------------------------------------------------------- */

static evocc_status read_base(reader *r, const yaml_node *list)
{
    evocc_status status = expect(r, list, YAML_SEQUENCE, ACF_LIST_LIMIT, "base");
    if (status != EVOCC_OK) {
        return status;
    }
    const char **base = arena_alloc(&r->memory, list->count, sizeof *base);
    if (base == NULL) {
        return error_no_memory(r->error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < list->count; i++) {
        status = read_text(&base[i], r, ACF_RULE_BASE, list->items[i]);
    }
    r->file.target.base = base;
    r->file.target.base_count = list->count;
    return status;
}

static evocc_status read_target(reader *r, const yaml_node *node)
{
    static const char *const keys[] = {"compiler", "version", "arch", "kernel",
                                       "base",     "ptx",     NULL};
    acf_target *target = &r->file.target;
    const struct {
        const char *key;
        acf_rule rule;
        const char **to;
    } fields[] = {
        {"compiler", ACF_RULE_COMPILER, &target->compiler},
        {"version", ACF_RULE_VERSION, &target->version},
        {"arch", ACF_RULE_ARCH, &target->arch},
        {"kernel", ACF_RULE_KERNEL, &target->kernel},
        {"ptx", ACF_RULE_PTX, &target->ptx},
    };
    evocc_status status = expect(r, node, YAML_MAPPING, SIZE_MAX, "for");
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->document, node, keys, r->error);
    }
    const yaml_node *value = NULL;
    for (size_t i = 0; status == EVOCC_OK && i < sizeof fields / sizeof fields[0]; i++) {
        bool optional = fields[i].rule == ACF_RULE_PTX && acf_is_for_host(target->compiler);
        value = yaml_get(node, fields[i].key);
        if (optional && value == NULL) {
            target->ptx = "";
            continue;
        }
        status = find(&value, r, node, fields[i].key);
        if (status == EVOCC_OK) {
            status = read_text(fields[i].to, r, fields[i].rule, value);
        }
    }
    if (status == EVOCC_OK) {
        status = find(&value, r, node, "base");
    }
    return status == EVOCC_OK ? read_base(r, value) : status;
}

/* ---- controls -------------------------------------------------------------------------------- */

static evocc_status read_controls(reader *r, const yaml_node *node)
{
    evocc_status status = expect(r, node, YAML_MAPPING, SIZE_MAX, "controls");
    if (status == EVOCC_OK && node->count == 0) {
        status = yaml_error(r->document, node, r->error,
                            "controls is empty: the file would change nothing");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    acf_control *controls = arena_alloc(&r->memory, node->count, sizeof *controls);
    if (controls == NULL) {
        return error_no_memory(r->error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < node->count; i++) {
        controls[i].line = node->keys[i]->line;
        controls[i].column = node->keys[i]->column;
        status = read_text(&controls[i].full_name, r, ACF_RULE_CONTROL, node->keys[i]);
        if (status == EVOCC_OK) {
            status = read_text(&controls[i].value, r, ACF_RULE_VALUE, node->items[i]);
        }
    }
    r->file.controls = controls;
    r->file.control_count = node->count;
    return status;
}

/* ---- found ----------------------------------------------------------------------------------- */

/* {baseline, tuned}, or these with all of {speedup, low, high, pairs}. */
static evocc_status read_metric(acf_metric *out, reader *r, const yaml_node *node)
{
    static const char *const keys[] = {"baseline", "tuned", "speedup", "low",
                                       "high",     "pairs", NULL};
    double *const numbers[] = {&out->baseline, &out->tuned, &out->speedup, &out->low, &out->high};
    size_t count = node->count <= 2 ? 2 : sizeof numbers / sizeof numbers[0];
    evocc_status status = yaml_only_keys(r->document, node, keys, r->error);
    const yaml_node *value = NULL;
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = find(&value, r, node, keys[i]);
        if (status == EVOCC_OK) {
            status = yaml_number(numbers[i], r->document, value, r->error);
        }
    }
    const yaml_node *pairs = NULL;
    if (status == EVOCC_OK && count > 2) {
        status = find(&pairs, r, node, "pairs");
    }
    if (status == EVOCC_OK && pairs != NULL) {
        status = yaml_integer(&out->pairs, r->document, pairs, r->error);
        if (status == EVOCC_OK && out->pairs < 1) {
            status = yaml_error(r->document, pairs, r->error, "pairs must be at least 1");
        }
    }
    return status;
}

static evocc_status read_extra(reader *r, const yaml_node *key, const yaml_node *node)
{
    const char *text = NULL;
    evocc_status status = read_text(&text, r, ACF_RULE_FOUND_TEXT, node);
    if (status == EVOCC_OK) {
        strbuf_printf(&r->extras, "%s: %s\n", key->text, text);
        status = r->extras.failed ? error_no_memory(r->error) : EVOCC_OK;
    }
    return status;
}

static evocc_status read_found(reader *r, const yaml_node *node)
{
    evocc_status status = expect(r, node, YAML_MAPPING, ACF_LIST_LIMIT, "found");
    if (status != EVOCC_OK) {
        return status;
    }
    acf_metric *metrics = arena_alloc(&r->memory, node->count, sizeof *metrics);
    if (metrics == NULL) {
        return error_no_memory(r->error);
    }
    r->file.metrics = metrics;
    for (size_t i = 0; status == EVOCC_OK && i < node->count; i++) {
        const char *key = NULL;
        status = read_text(&key, r, ACF_RULE_FOUND_KEY, node->keys[i]);
        if (status == EVOCC_OK && node->items[i]->kind == YAML_MAPPING) {
            metrics[r->file.metric_count].name = key;
            status = read_metric(&metrics[r->file.metric_count++], r, node->items[i]);
        } else if (status == EVOCC_OK) {
            status = read_extra(r, node->keys[i], node->items[i]);
        }
    }
    r->file.found_extra = strbuf_text(&r->extras);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static evocc_status read_root(reader *r)
{
    static const char *const keys[] = {"evocc-acf", "for", "controls", "found", "digest", NULL};
    evocc_status status = expect(r, r->root, YAML_MAPPING, SIZE_MAX, "a controls file");
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->document, r->root, keys, r->error);
    }
    const yaml_node *version = NULL;
    const yaml_node *target = NULL;
    const yaml_node *controls = NULL;
    if (status == EVOCC_OK) {
        status = find(&version, r, r->root, "evocc-acf");
    }
    if (status == EVOCC_OK && (version->kind != YAML_SCALAR || strcmp(version->text, "1") != 0)) {
        status = yaml_error(r->document, version, r->error,
                            "nothing may follow the format version but a comment");
    }
    if (status == EVOCC_OK) {
        status = find(&target, r, r->root, "for");
    }
    if (status == EVOCC_OK) {
        status = find(&controls, r, r->root, "controls");
    }
    if (status == EVOCC_OK) {
        status = find(&r->digest, r, r->root, "digest");
    }
    if (status == EVOCC_OK) {
        status = read_target(r, target);
    }
    if (status == EVOCC_OK) {
        status = read_controls(r, controls);
    }
    const yaml_node *found = yaml_get(r->root, "found");
    return status == EVOCC_OK && found != NULL ? read_found(r, found) : status;
}

/* The right digest is printed: it protects against slips and merges, not against people. */
static evocc_status check_digest(reader *r, const acf *file)
{
    if (r->digest->kind == YAML_SCALAR && strcmp(r->digest->text, file->digest) == 0) {
        return EVOCC_OK;
    }
    yaml_error(
        r->document, r->digest, r->error,
        "the digest does not fit 'for' and 'controls': restore the file, or, if the change is "
        "meant, write \"%s\"",
        file->digest);
    if (r->error != NULL) {
        r->error->status = EVOCC_DAMAGED;
    }
    return EVOCC_DAMAGED;
}

evocc_status acf_read(acf **out, const char *text, size_t length, const char *name,
                      evocc_error *error)
{
    if (length > ACF_SIZE_LIMIT) {
        return error_set(error, EVOCC_PARSE, "%s:1:1: larger than %zu bytes", name, ACF_SIZE_LIMIT);
    }
    evocc_status status = check_version(text, length, name, error);
    if (status == EVOCC_OK) {
        status = check_bytes(text, length, name, error);
    }
    yaml_document *document = NULL;
    if (status == EVOCC_OK) {
        status = yaml_parse(&document, text, length, name, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    reader r = {.document = document, .root = yaml_root(document), .name = name, .error = error};
    acf *file = NULL;
    r.file.name = name;
    status = read_root(&r);
    if (status == EVOCC_OK) {
        status = acf_new(&file, &r.file, error);
    }
    if (status == EVOCC_OK) {
        status = check_digest(&r, file);
    }
    if (status == EVOCC_OK) {
        *out = file;
    } else {
        acf_free(file);
    }
    strbuf_dispose(&r.extras);
    arena_dispose(&r.memory);
    yaml_free(document);
    return status;
}
