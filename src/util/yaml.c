#include "util/yaml.h"

#include "util/error.h"
#include "util/map.h"
#include "util/mem.h"
#include "util/text.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_LIMIT = 64, LENGTH_LIMIT = 1 << 30 };

struct yaml_document {
    arena memory; /* everything below, nodes and texts */
    char *name;
    yaml_node *root;
};

/* A collection that is still open. Its children are reader.pending[first..], keys and values taking
   turns in a mapping. */
typedef struct open_node {
    yaml_node *node;
    size_t first;
    map keys; /* of a mapping, to find doubles */
} open_node;

typedef struct reader {
    yaml_document *document;
    struct fy_parser *parser;
    open_node open[DEPTH_LIMIT];
    size_t depth;
    yaml_node **pending;
    size_t pending_count, pending_capacity;
    int line, column; /* of the event at hand */
    evocc_error *error;
} reader;

EVOCC_PRINTF(5, 0)
static evocc_status fail_at(evocc_error *error, const yaml_document *document, int line, int column,
                            const char *format, va_list arguments)
{
    char message[EVOCC_ERROR_SIZE];
    vsnprintf(message, sizeof message, format, arguments);
    return error_set(error, EVOCC_PARSE, "%s:%d:%d: %s", document->name, line, column, message);
}

EVOCC_PRINTF(2, 3) static evocc_status fail(const reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    evocc_status status = fail_at(r->error, r->document, r->line, r->column, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- Characters ------------------------------------------------------------------------------ */

static bool is_allowed(unsigned char c)
{
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0x7f);
}

/* Sees to it that the library only ever gets printable UTF-8. */
static evocc_status check_characters(reader *r, const char *text, size_t length)
{
    r->line = 1;
    r->column = 1;
    for (size_t i = 0; i < length;) {
        size_t step = text_utf8_length(text + i, length - i);
        unsigned char c = (unsigned char)text[i];
        if (step == 0) {
            return fail(r, "byte 0x%02x is not UTF-8", c);
        }
        if (!is_allowed(c)) {
            return c == 0 ? fail(r, "NUL byte") : fail(r, "control character 0x%02x", c);
        }
        bool line_end = c == '\n' || (c == '\r' && (i + 1 == length || text[i + 1] != '\n'));
        r->line += line_end;
        r->column = line_end ? 1 : r->column + 1;
        i += step;
    }
    return EVOCC_OK;
}

/* The library skips directives that it does not know: find them here. They can stand only above the
   document, among comments and blank lines. */
static evocc_status refuse_directives(reader *r, const char *text, size_t length)
{
    const char *line = text;
    const char *end = text + length;
    for (r->line = 1, r->column = 1; line < end; r->line++) {
        size_t rest = (size_t)(end - line);
        size_t blank = 0;
        while (blank < rest && (line[blank] == ' ' || line[blank] == '\t' || line[blank] == '\r')) {
            blank++;
        }
        if (line[0] == '%') {
            return fail(r, "directives (%%) are not allowed");
        }
        if (blank < rest && line[blank] != '\n' && line[blank] != '#') {
            return EVOCC_OK;
        }
        const char *line_end = memchr(line, '\n', rest);
        line = line_end == NULL ? end : line_end + 1;
    }
    return EVOCC_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static yaml_node *node_new(reader *r, yaml_kind kind)
{
    yaml_node *node = arena_alloc(&r->document->memory, 1, sizeof *node);
    if (node != NULL) {
        node->kind = kind;
        node->line = r->line;
        node->column = r->column;
    }
    return node;
}

static bool expects_key(const reader *r)
{
    return r->depth > 0 && r->open[r->depth - 1].node->kind == YAML_MAPPING &&
           (r->pending_count - r->open[r->depth - 1].first) % 2 == 0;
}

static evocc_status check_key(reader *r, const yaml_node *key)
{
    if (key->kind != YAML_SCALAR) {
        return fail(r, "a key must be a plain word or a quoted text");
    }
    if (!key->quoted && strcmp(key->text, "<<") == 0) {
        return fail(r, "merge keys (<<) are not allowed; write the entries out");
    }
    if (!key->quoted && key->text[0] == '\0') {
        return fail(r, "a key is missing before ':'");
    }
    open_node *mapping = &r->open[r->depth - 1];
    size_t length = strlen(key->text);
    size_t earlier = map_get(&mapping->keys, key->text, length);
    if (earlier != MAP_NONE) {
        return fail(r, "key '%.80s' was given before, in line %d", key->text,
                    r->pending[earlier]->line);
    }
    return map_put(&mapping->keys, key->text, length, r->pending_count) ? EVOCC_OK
                                                                        : error_no_memory(r->error);
}

/* Hands a node, whole or just begun, to the collection that is open, or makes it the root. */
static evocc_status add_node(reader *r, yaml_node *node)
{
    if (node == NULL) {
        return error_no_memory(r->error);
    }
    if (r->depth == 0) {
        r->document->root = node;
        return EVOCC_OK;
    }
    evocc_status status = expects_key(r) ? check_key(r, node) : EVOCC_OK;
    if (status != EVOCC_OK) {
        return status;
    }
    if (!mem_grow(&r->pending, &r->pending_capacity, r->pending_count + 1, sizeof *r->pending)) {
        return error_no_memory(r->error);
    }
    r->pending[r->pending_count++] = node;
    return EVOCC_OK;
}

static evocc_status open_collection(reader *r, yaml_kind kind)
{
    if (r->depth == DEPTH_LIMIT) {
        return fail(r, "nested more than %d levels deep", DEPTH_LIMIT);
    }
    yaml_node *node = node_new(r, kind);
    evocc_status status = add_node(r, node);
    if (status == EVOCC_OK) {
        r->open[r->depth++] = (open_node){.node = node, .first = r->pending_count};
    }
    return status;
}

static evocc_status close_collection(reader *r)
{
    open_node *open = &r->open[--r->depth];
    map_dispose(&open->keys);
    size_t count = r->pending_count - open->first;
    /* NULL plus nothing is undefined, too: no collection has had a child before the first one. */
    yaml_node *const *children = count == 0 ? NULL : r->pending + open->first;
    r->pending_count = open->first;
    bool mapping = open->node->kind == YAML_MAPPING;
    yaml_node **copy = arena_alloc(&r->document->memory, count, sizeof *copy);
    if (copy == NULL) {
        return error_no_memory(r->error);
    }
    open->node->count = mapping ? count / 2 : count;
    for (size_t i = 0; i < count; i++) {
        /* Of a mapping, the keys first and the values behind them. */
        copy[mapping ? i / 2 + (i % 2) * open->node->count : i] = children[i];
    }
    open->node->keys = mapping ? copy : NULL;
    open->node->items = mapping ? copy + open->node->count : copy;
    return EVOCC_OK;
}

/* Moves the place that messages and nodes get to the token. The library's marks lie behind an
   opening quote and behind the sign of an anchor or alias: `before` characters to the left. */
static void go_to(reader *r, struct fy_token *token, int before)
{
    const struct fy_mark *mark = fy_token_start_mark(token);
    if (mark != NULL) {
        r->line = mark->line + 1;
        r->column = mark->column + 1 - before;
    }
}

static evocc_status add_scalar(reader *r, struct fy_token *token)
{
    enum fy_scalar_style style = token == NULL ? FYSS_PLAIN : fy_token_scalar_style(token);
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) {
        go_to(r, token, 1);
    }
    yaml_node *node = node_new(r, YAML_SCALAR);
    if (node == NULL) {
        return error_no_memory(r->error);
    }
    size_t length = 0;
    const char *text = token == NULL ? "" : fy_token_get_text(token, &length);
    if (text == NULL) {
        return error_no_memory(r->error);
    }
    if (memchr(text, '\0', length) != NULL) {
        return fail(r, "NUL character in a text");
    }
    node->quoted = style != FYSS_PLAIN;
    node->text = arena_strndup(&r->document->memory, text, length);
    return node->text == NULL ? error_no_memory(r->error) : add_node(r, node);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Something that the strict subset leaves out. */
static evocc_status forbid(reader *r, struct fy_token *token, int before, const char *what)
{
    go_to(r, token, before);
    return fail(r, "%s are not allowed", what);
}

static evocc_status refuse_decorations(reader *r, struct fy_token *anchor, struct fy_token *tag)
{
    if (anchor != NULL) {
        return forbid(r, anchor, 1, "anchors (&name)");
    }
    return tag != NULL ? forbid(r, tag, 0, "tags (!name)") : EVOCC_OK;
}

static evocc_status handle(reader *r, struct fy_event *event)
{
    evocc_status status;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return r->document->root == NULL
                   ? EVOCC_OK
                   : fail(r, "a second document begins here; one is allowed in a file");
    case FYET_MAPPING_START:
        status = refuse_decorations(r, event->mapping_start.anchor, event->mapping_start.tag);
        return status != EVOCC_OK ? status : open_collection(r, YAML_MAPPING);
    case FYET_SEQUENCE_START:
        status = refuse_decorations(r, event->sequence_start.anchor, event->sequence_start.tag);
        return status != EVOCC_OK ? status : open_collection(r, YAML_SEQUENCE);
    case FYET_SCALAR:
        status = refuse_decorations(r, event->scalar.anchor, event->scalar.tag);
        return status != EVOCC_OK ? status : add_scalar(r, event->scalar.value);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return close_collection(r);
    case FYET_ALIAS:
        return forbid(r, event->alias.anchor, 1, "aliases (*name)");
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        return EVOCC_OK;
    }
    return EVOCC_OK;
}

static evocc_status library_error(reader *r, struct fy_diag *diagnostics)
{
    void *iterator = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diagnostics, &iterator);
    if (first == NULL) {
        /* A few refusals of the library come without a word ("a: |0"): behind the last event. */
        return fail(r, "not YAML from about here");
    }
    if (first->line > 0) {
        r->line = first->line;
        r->column = first->column;
    }
    return fail(r, "%s", first->msg);
}

static evocc_status read_events(reader *r, struct fy_diag *diagnostics)
{
    evocc_status status = EVOCC_OK;
    bool ended = false;
    r->line = 1;
    r->column = 1;
    while (status == EVOCC_OK && !ended) {
        struct fy_event *event = fy_parser_parse(r->parser);
        if (event == NULL) {
            return library_error(r, diagnostics);
        }
        const struct fy_mark *mark = fy_event_start_mark(event);
        if (mark != NULL) {
            r->line = mark->line + 1;
            r->column = mark->column + 1;
        }
        ended = event->type == FYET_STREAM_END;
        status = handle(r, event);
        fy_parser_event_free(r->parser, event);
    }
    if (status == EVOCC_OK && r->document->root == NULL) {
        status = fail(r, "the text is empty");
    }
    return status;
}

static evocc_status parse(reader *r, const char *text, size_t length)
{
    evocc_status status = EVOCC_NO_MEMORY;
    const struct fy_diag_cfg silent = {.level = FYET_ERROR, .module_mask = ~0U};
    struct fy_diag *diagnostics = fy_diag_create(&silent);
    if (diagnostics == NULL) {
        return error_no_memory(r->error);
    }
    fy_diag_set_collect_errors(diagnostics, true);
    const struct fy_parse_cfg configuration = {
        .search_path = "",
        .flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = diagnostics,
    };
    r->parser = fy_parser_create(&configuration);
    if (r->parser == NULL || fy_parser_set_string(r->parser, text, length) != 0) {
        error_no_memory(r->error);
    } else {
        status = read_events(r, diagnostics);
    }
    fy_parser_destroy(r->parser);
    fy_diag_destroy(diagnostics);
    return status;
}

evocc_status yaml_parse(yaml_document **out, const char *text, size_t length, const char *name,
                        evocc_error *error)
{
    evocc_status status = EVOCC_NO_MEMORY;
    reader *r = mem_alloc(1, sizeof *r);
    yaml_document *document = mem_alloc(1, sizeof *document);
    if (r == NULL || document == NULL) {
        error_no_memory(error);
        goto cleanup;
    }
    r->document = document;
    r->error = error;
    document->name = arena_strdup(&document->memory, name);
    if (document->name == NULL) {
        error_no_memory(error);
        goto cleanup;
    }
    if (length >= LENGTH_LIMIT) {
        status = error_set(error, EVOCC_PARSE, "%s: larger than 1 GiB", name);
        goto cleanup;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark says nothing that UTF-8 does not */
        length -= 3;
    }
    status = check_characters(r, text, length);
    if (status == EVOCC_OK) {
        status = refuse_directives(r, text, length);
    }
    if (status == EVOCC_OK) {
        status = parse(r, text, length);
    }
cleanup:
    if (r != NULL) {
        while (r->depth > 0) {
            map_dispose(&r->open[--r->depth].keys);
        }
        mem_free(r->pending);
        mem_free(r);
    }
    if (status == EVOCC_OK) {
        *out = document;
    } else {
        yaml_free(document);
    }
    return status;
}

const yaml_node *yaml_root(const yaml_document *document)
{
    return document->root;
}

void yaml_free(yaml_document *document)
{
    if (document != NULL) {
        arena_dispose(&document->memory);
        mem_free(document);
    }
}

/* ---- Access ---------------------------------------------------------------------------------- */

const yaml_node *yaml_get(const yaml_node *mapping, const char *key)
{
    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->count; i++) {
        if (strcmp(mapping->keys[i]->text, key) == 0) {
            return mapping->items[i];
        }
    }
    return NULL;
}

evocc_status yaml_error(const yaml_document *document, const yaml_node *node, evocc_error *error,
                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    evocc_status status = fail_at(error, document, node->line, node->column, format, arguments);
    va_end(arguments);
    return status;
}

static evocc_status unexpected(const yaml_document *document, const yaml_node *node,
                               evocc_error *error, const char *expected)
{
    if (node->kind != YAML_SCALAR) {
        return yaml_error(document, node, error, "expected %s, found a %s", expected,
                          node->kind == YAML_SEQUENCE ? "sequence" : "mapping");
    }
    if (!node->quoted && node->text[0] == '\0') {
        return yaml_error(document, node, error, "expected %s, found nothing", expected);
    }
    const char *quote = node->quoted ? "\"" : "'";
    return yaml_error(document, node, error, "expected %s, found %s%.80s%s", expected, quote,
                      node->text, quote);
}

/* YAML 1.2 core schema, 10.3.2: the plain words that mean "no value". */
static bool is_null(const yaml_node *node)
{
    return !node->quoted && (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
                             strcmp(node->text, "null") == 0);
}

evocc_status yaml_text(const char **out, const yaml_document *document, const yaml_node *node,
                       evocc_error *error)
{
    if (node->kind != YAML_SCALAR || is_null(node)) {
        return unexpected(document, node, error, "a text");
    }
    *out = node->text;
    return EVOCC_OK;
}

static bool is_plain(const yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->quoted;
}

evocc_status yaml_integer(int64_t *out, const yaml_document *document, const yaml_node *node,
                          evocc_error *error)
{
    return is_plain(node) && text_integer(out, node->text)
               ? EVOCC_OK
               : unexpected(document, node, error, "an integer of 64 bits");
}

evocc_status yaml_number(double *out, const yaml_document *document, const yaml_node *node,
                         evocc_error *error)
{
    return is_plain(node) && text_number(out, node->text)
               ? EVOCC_OK
               : unexpected(document, node, error, "a finite number");
}

evocc_status yaml_bool(bool *out, const yaml_document *document, const yaml_node *node,
                       evocc_error *error)
{
    bool yes = is_plain(node) && strcmp(node->text, "true") == 0;
    bool no = is_plain(node) && strcmp(node->text, "false") == 0;
    if (!yes && !no) {
        return unexpected(document, node, error, "true or false");
    }
    *out = yes;
    return EVOCC_OK;
}

evocc_status yaml_only_keys(const yaml_document *document, const yaml_node *mapping,
                            const char *const *allowed, evocc_error *error)
{
    if (mapping->kind != YAML_MAPPING) {
        return unexpected(document, mapping, error, "a mapping");
    }
    for (size_t i = 0; i < mapping->count; i++) {
        const yaml_node *key = mapping->keys[i];
        const char *const *known = allowed;
        while (*known != NULL && strcmp(*known, key->text) != 0) {
            known++;
        }
        if (*known == NULL) {
            const char *nearest = text_nearest(key->text, allowed);
            return yaml_error(document, key, error, "unknown key '%.80s'%s%s%s", key->text,
                              nearest ? "; did you mean '" : "", nearest ? nearest : "",
                              nearest ? "'?" : "");
        }
    }
    return EVOCC_OK;
}
