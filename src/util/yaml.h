/*
 * yaml.h: a strict reader for YAML (and so JSON): one document, no anchors, aliases, tags or
 * duplicate keys. Every node knows its line and column, so that any rejection can name them.
 * Built on libfyaml.
 */
#ifndef UTIL_YAML_H
#define UTIL_YAML_H

#include <evocc/evocc.h>

typedef enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING } yaml_kind;

typedef struct yaml_node {
    yaml_kind kind;
    bool quoted;                    /* a scalar written in quotes is text, never a number or null */
    const char *text;               /* of a scalar, NUL-terminated, no NUL inside; else NULL */
    size_t count;                   /* of items or of pairs */
    struct yaml_node *const *items; /* of a sequence; the values of a mapping */
    struct yaml_node *const *keys;  /* of a mapping, scalars, in the order of the file */
    int line, column;               /* from 1 */
} yaml_node;

typedef struct yaml_document yaml_document;

/* `name` is what messages call the text: "best.acf:3:7: ...". More than 64 levels deep is refused.
 */
evocc_status yaml_parse(yaml_document **out, const char *text, size_t length, const char *name,
                        evocc_error *error);
const yaml_node *yaml_root(const yaml_document *document);
void yaml_free(yaml_document *document);

/* The value of a key, or NULL. */
const yaml_node *yaml_get(const yaml_node *mapping, const char *key);

/* EVOCC_PARSE with "name:line:column: message". */
evocc_status yaml_error(const yaml_document *document, const yaml_node *node, evocc_error *error,
                        const char *format, ...) EVOCC_PRINTF(4, 5);

/* Typed access; the error says what was expected and what is there. */
evocc_status yaml_text(const char **out, const yaml_document *document, const yaml_node *node,
                       evocc_error *error);
evocc_status yaml_integer(int64_t *out, const yaml_document *document, const yaml_node *node,
                          evocc_error *error);
evocc_status yaml_number(double *out, const yaml_document *document, const yaml_node *node,
                         evocc_error *error);
evocc_status yaml_bool(bool *out, const yaml_document *document, const yaml_node *node,
                       evocc_error *error);

/* Refuses keys of a mapping that are not in the NULL-terminated list, naming the nearest one. */
evocc_status yaml_only_keys(const yaml_document *document, const yaml_node *mapping,
                            const char *const *allowed, evocc_error *error);

#endif
