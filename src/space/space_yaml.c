/* The reader of space files; the format is in docs/spaces.md. Every rejection has line and column.
 */
#include "space/internal.h"

#include "util/error.h"
#include "util/text.h"
#include "util/yaml.h"

#include <string.h>

typedef struct reader {
    evocc_space *space;
    yaml_document *document;
    const char *text; /* the file, to find places inside expressions */
    size_t length;
    space_stage stage;
    const char *source;
    evocc_error *error;
    evocc_error inner; /* of calls whose message still lacks its place */
} reader;

/* Passes a failure on, at a node. */
static evocc_status at(reader *r, const yaml_node *node, evocc_status status)
{
    if (status == EVOCC_OK || status == EVOCC_NO_MEMORY) {
        return status == EVOCC_OK ? EVOCC_OK : error_no_memory(r->error);
    }
    return yaml_error(r->document, node, r->error, "%s", r->inner.message);
}

static evocc_status expect(reader *r, const yaml_node *node, yaml_kind kind, const char *what)
{
    return node->kind == kind ? EVOCC_OK
                              : yaml_error(r->document, node, r->error, "expected %s", what);
}

/* ---- Small values ---------------------------------------------------------------------------- */

static evocc_status read_word(int *out, reader *r, const yaml_node *node, const char *const *words)
{
    const char *text;
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    for (int i = 0; status == EVOCC_OK && words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return EVOCC_OK;
        }
    }
    if (status != EVOCC_OK) {
        return status;
    }
    strbuf list = {0};
    for (int i = 0; words[i] != NULL; i++) {
        strbuf_printf(&list, " %s", words[i]);
    }
    status = yaml_error(r->document, node, r->error, "expected one of%s, found '%.80s'",
                        strbuf_text(&list), text);
    strbuf_dispose(&list);
    return status;
}

static evocc_status read_stage(space_stage *out, reader *r, const yaml_node *node)
{
    const char *text;
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status == EVOCC_OK && !space_stage_parse(out, text)) {
        status =
            yaml_error(r->document, node, r->error,
                       "'%.80s' is no stage; stages are define nvcc ptx ptxas gcc clang", text);
    }
    return status;
}

static evocc_status read_text(const char **out, reader *r, const yaml_node *mapping,
                              const char *key)
{
    const yaml_node *node = yaml_get(mapping, key);
    return node == NULL ? EVOCC_OK : yaml_text(out, r->document, node, r->error);
}

/* A scalar or a list of them; *out is mem_alloc'ed, its texts are the document's. */
static evocc_status read_words(const char ***out, size_t *count, reader *r, const yaml_node *node)
{
    bool list = node->kind == YAML_SEQUENCE;
    *count = list ? node->count : 1;
    *out = NULL;
    if (*count == 0) {
        return yaml_error(r->document, node, r->error, "expected at least one value");
    }
    const char **words = mem_alloc(*count, sizeof *words);
    if (words == NULL) {
        return error_no_memory(r->error);
    }
    for (size_t i = 0; i < *count; i++) {
        const yaml_node *item = list ? node->items[i] : node;
        evocc_status status = yaml_text(&words[i], r->document, item, r->error);
        if (status != EVOCC_OK) {
            mem_free(words);
            return status;
        }
    }
    *out = words;
    return EVOCC_OK;
}

/* ---- Domains --------------------------------------------------------------------------------- */

static evocc_status read_integers(space_control *c, reader *r, const yaml_node *range,
                                  const yaml_node *step)
{
    evocc_status status = yaml_integer(&c->low, r->document, range->items[0], r->error);
    if (status == EVOCC_OK) {
        status = yaml_integer(&c->high, r->document, range->items[1], r->error);
    }
    c->step = 1;
    if (status == EVOCC_OK && step != NULL) {
        status = yaml_integer(&c->step, r->document, step, r->error);
        if (status == EVOCC_OK && c->step < 1) {
            status = yaml_error(r->document, step, r->error, "a step is at least 1");
        }
    }
    return status;
}

static evocc_status read_floats(space_control *c, reader *r, const yaml_node *range,
                                const yaml_node *step, const yaml_node *points)
{
    evocc_status status = yaml_number(&c->float_low, r->document, range->items[0], r->error);
    if (status == EVOCC_OK) {
        status = yaml_number(&c->float_high, r->document, range->items[1], r->error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if ((step == NULL) == (points == NULL)) {
        return yaml_error(r->document, range, r->error,
                          "a float range has either 'step' or, evenly spaced in the logarithm, "
                          "'points'");
    }
    if (step != NULL) {
        status = yaml_number(&c->float_step, r->document, step, r->error);
        return status == EVOCC_OK && !(c->float_step > 0)
                   ? yaml_error(r->document, step, r->error, "a step is above 0")
                   : status;
    }
    int64_t count = 0;
    status = yaml_integer(&count, r->document, points, r->error);
    if (status == EVOCC_OK && (count < 2 || count > 1000000)) {
        return yaml_error(r->document, points, r->error, "expected 2 to 1000000 points");
    }
    c->size = (int32_t)count;
    return status;
}

/* Which of the keys values, range, step, points go with each type. */
static const char *const type_names[] = {"flag", "bool", "choice", "int", "pow2", "float", NULL};
static const char *const type_keys[] = {"",           "",      "values",
                                        "range step", "range", "range step points"};

static evocc_status check_keys(reader *r, const yaml_node *body, space_kind kind)
{
    static const char *const keys[] = {"values", "range", "step", "points"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const yaml_node *node = yaml_get(body, keys[i]);
        bool fits = strstr(type_keys[kind], keys[i]) != NULL;
        if (node != NULL && !fits) {
            return yaml_error(r->document, node, r->error, "type %s has no '%s'", type_names[kind],
                              keys[i]);
        }
        if (node == NULL && fits && i < 2) {
            return yaml_error(r->document, body, r->error, "type %s needs '%s'", type_names[kind],
                              keys[i]);
        }
    }
    return EVOCC_OK;
}

/* *words: the array behind c->choices, to be freed by the caller. */
static evocc_status read_domain(space_control *c, const char ***words, reader *r,
                                const yaml_node *body)
{
    const yaml_node *type = yaml_get(body, "type");
    if (type == NULL) {
        return yaml_error(r->document, body, r->error, "control %s needs a 'type'", c->name);
    }
    int kind = 0;
    evocc_status status = read_word(&kind, r, type, type_names);
    c->kind = (space_kind)kind;
    if (status == EVOCC_OK) {
        status = check_keys(r, body, c->kind);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (c->kind == SPACE_CHOICE) {
        size_t count;
        const yaml_node *values = yaml_get(body, "values");
        status = read_words(words, &count, r, values);
        c->choices = *words;
        c->size = count < INT32_MAX ? (int32_t)count : 0;
        return status;
    }
    const yaml_node *range = yaml_get(body, "range");
    if (range == NULL) {
        return EVOCC_OK;
    }
    if (range->kind != YAML_SEQUENCE || range->count != 2) {
        return yaml_error(r->document, range, r->error, "expected a range [low, high]");
    }
    const yaml_node *step = yaml_get(body, "step");
    return c->kind == SPACE_FLOAT ? read_floats(c, r, range, step, yaml_get(body, "points"))
                                  : read_integers(c, r, range, step);
}

/* ---- Controls -------------------------------------------------------------------------------- */

static evocc_status read_default(space_control *c, reader *r, const yaml_node *body)
{
    const yaml_node *node = yaml_get(body, "default");
    const char *text;
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status == EVOCC_OK) {
        status = at(r, node, space_value_parse(&c->default_index, c, text, &r->inner));
    }
    return status;
}

static evocc_status read_enabled(space_control *c, reader *r, const yaml_node *body)
{
    const yaml_node *enabled = yaml_get(body, "enabled");
    bool on = true;
    evocc_status status =
        enabled == NULL ? EVOCC_OK : yaml_bool(&on, r->document, enabled, r->error);
    if (status == EVOCC_OK) {
        status = read_text(&c->off_because, r, body, "why");
    }
    if (status == EVOCC_OK && on != (c->off_because == NULL)) {
        status = yaml_error(r->document, body, r->error,
                            "'enabled: false' and its reason 'why' belong together");
    }
    return status;
}

static evocc_status read_attributes(space_control *c, reader *r, const yaml_node *body)
{
    static const char *const numerics[] = {"exact", "rounding", "approximate", NULL};
    const struct {
        const char *key;
        const char **field;
    } texts[] = {{"help", &c->help},   {"source", &c->source}, {"option", &c->option},
                 {"group", &c->group}, {"since", &c->since},   {"until", &c->until},
                 {"arch", &c->arch}};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == EVOCC_OK; i++) {
        status = read_text(texts[i].field, r, body, texts[i].key);
    }
    const yaml_node *node = yaml_get(body, "knockout");
    if (status == EVOCC_OK && node != NULL) {
        status = yaml_number(&c->knockout, r->document, node, r->error);
        if (status == EVOCC_OK && !(c->knockout >= 0 && c->knockout <= 1)) {
            status = yaml_error(r->document, node, r->error, "expected a probability, 0 to 1");
        }
    }
    node = yaml_get(body, "numerics");
    if (status == EVOCC_OK && node != NULL) {
        int which = 0;
        status = read_word(&which, r, node, numerics);
        c->numerics = (space_numerics)which;
    }
    node = yaml_get(body, "parent");
    if (status == EVOCC_OK && node != NULL) {
        const char *parent;
        status = yaml_text(&parent, r->document, node, r->error);
        if (status == EVOCC_OK) {
            status = at(r, node, rule_find(&c->parent, r->space, parent, &r->inner));
        }
    }
    return status == EVOCC_OK ? read_enabled(c, r, body) : status;
}

static evocc_status read_control(reader *r, const yaml_node *key, const yaml_node *body)
{
    static const char *const keys[] = {
        "type",  "values", "range",  "step",     "points", "default", "knockout",
        "help",  "source", "option", "numerics", "group",  "parent",  "when",
        "since", "until",  "arch",   "enabled",  "why",    "stage",   NULL};
    space_control c = {.stage = r->stage,
                       .name = key->text,
                       .full_name = key->text,
                       .source = r->source,
                       .default_index = SPACE_ABSENT,
                       .parent = SPACE_ABSENT};
    const char **words = NULL;
    evocc_status status = yaml_only_keys(r->document, body, keys, r->error);
    const yaml_node *stage = status == EVOCC_OK ? yaml_get(body, "stage") : NULL;
    if (stage != NULL) {
        status = read_stage(&c.stage, r, stage);
    }
    if (status == EVOCC_OK) {
        status = read_domain(&c, &words, r, body);
    }
    if (status == EVOCC_OK) {
        status = at(r, key, domain_complete(&c, &r->inner));
    }
    if (status == EVOCC_OK) {
        status = read_default(&c, r, body);
    }
    if (status == EVOCC_OK) {
        status = read_attributes(&c, r, body);
    }
    if (status == EVOCC_OK) {
        status = at(r, key, space_add(r->space, &c, &r->inner));
    }
    mem_free(words);
    return status;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* `key: values` of a condition or combination; *words is the array behind term->values. */
static evocc_status read_term(space_term *term, const char ***words, reader *r,
                              const yaml_node *key, const yaml_node *values)
{
    int32_t control, index;
    evocc_status status = at(r, key, rule_find(&control, r->space, key->text, &r->inner));
    if (status == EVOCC_OK) {
        status = read_words(words, &term->value_count, r, values);
    }
    for (size_t i = 0; status == EVOCC_OK && i < term->value_count; i++) {
        const space_control *c = &r->space->controls[control];
        const yaml_node *node = values->kind == YAML_SEQUENCE ? values->items[i] : values;
        if (strcmp((*words)[i], "absent") != 0) {
            status = at(r, node, space_value_parse(&index, c, (*words)[i], &r->inner));
        }
    }
    term->control = status == EVOCC_OK ? r->space->controls[control].full_name : NULL;
    term->values = *words;
    return status;
}

static evocc_status read_conditions(reader *r, size_t control, const yaml_node *when)
{
    evocc_status status = expect(r, when, YAML_MAPPING, "a mapping from controls to values");
    for (size_t i = 0; status == EVOCC_OK && i < when->count; i++) {
        space_term term;
        const char **words = NULL;
        status = read_term(&term, &words, r, when->keys[i], when->items[i]);
        if (status == EVOCC_OK) {
            status = at(r, when->keys[i],
                        space_add_condition(r->space, r->space->controls[control].full_name, &term,
                                            &r->inner));
        }
        mem_free(words);
    }
    return status;
}

static evocc_status read_forbidden(reader *r, const yaml_node *node)
{
    evocc_status status = expect(r, node, YAML_MAPPING, "a mapping from controls to values");
    if (status != EVOCC_OK) {
        return status;
    }
    size_t count = node->count;
    space_term *terms = mem_alloc(count, sizeof *terms);
    const char ***words = mem_alloc(count, sizeof *words);
    if (terms == NULL || words == NULL) {
        status = error_no_memory(r->error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = read_term(&terms[i], &words[i], r, node->keys[i], node->items[i]);
    }
    if (status == EVOCC_OK) {
        status = at(r, node, space_add_forbidden(r->space, terms, count, &r->inner));
    }
    for (size_t i = 0; words != NULL && i < count; i++) {
        mem_free(words[i]);
    }
    mem_free(words);
    mem_free(terms);
    return status;
}

/* The given line of a text, counted from 1, without its end; "" beyond the last. */
static const char *find_line(size_t *length, const char *text, size_t text_length, int number)
{
    const char *end = text + text_length, *line = text;
    for (; number > 1 && line != NULL; number--) {
        line = memchr(line, '\n', (size_t)(end - line));
        line = line == NULL ? NULL : line + 1;
    }
    if (line == NULL) {
        *length = 0;
        return "";
    }
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    *length = (size_t)((stop == NULL ? end : stop) - line);
    return line;
}

/* Moves the node to a place inside its text, where the file has that line of the text as it is:
   neither folded nor escaped. */
static bool move_to_place(yaml_node *node, const reader *r, const expression_place *place)
{
    size_t wanted_length, length;
    const char *wanted = find_line(&wanted_length, node->text, strlen(node->text), place->line);
    int number = node->line + place->line - 1;
    const char *line = find_line(&length, r->text, r->length, number);
    for (size_t skip = place->line == 1 ? (size_t)node->column - 1 : 0;
         skip + wanted_length <= length; skip++) {
        if (memcmp(line + skip, wanted, wanted_length) == 0) {
            node->line = number;
            node->column = (int)skip + place->column;
            return true;
        }
    }
    return false;
}

static evocc_status read_constraint(reader *r, const yaml_node *node)
{
    const char *text;
    expression_place place;
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    status = rule_add_constraint(r->space, text, &place, &r->inner);
    yaml_node there = *node;
    if (status == EVOCC_PARSE && !move_to_place(&there, r, &place)) {
        error_prefix(&r->inner, "line %d, column %d of the constraint", place.line, place.column);
    }
    return at(r, &there, status);
}

static evocc_status read_list(reader *r, const yaml_node *root, const char *key,
                              evocc_status (*read)(reader *r, const yaml_node *node))
{
    const yaml_node *list = yaml_get(root, key);
    if (list == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = expect(r, list, YAML_SEQUENCE, "a list");
    for (size_t i = 0; status == EVOCC_OK && i < list->count; i++) {
        status = read(r, list->items[i]);
    }
    return status;
}

/* ---- The file -------------------------------------------------------------------------------- */

static evocc_status read_head(reader *r, const yaml_node *root)
{
    static const char *const keys[] = {"evocc-space", "stage",       "source", "controls",
                                       "forbid",      "constraints", NULL};
    evocc_status status = yaml_only_keys(r->document, root, keys, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    const yaml_node *version = yaml_get(root, "evocc-space");
    int64_t number = 0;
    if (version == NULL) {
        return yaml_error(r->document, root, r->error, "a space file begins with 'evocc-space: 1'");
    }
    status = yaml_integer(&number, r->document, version, r->error);
    if (status == EVOCC_OK && number != 1) {
        return yaml_error(r->document, version, r->error,
                          "this evocc reads version 1 of space files, not %lld", (long long)number);
    }
    const yaml_node *stage = yaml_get(root, "stage");
    if (status == EVOCC_OK && stage == NULL) {
        return yaml_error(r->document, root, r->error,
                          "a space file needs a 'stage', such as 'stage: define'");
    }
    if (status == EVOCC_OK) {
        status = read_stage(&r->stage, r, stage);
    }
    return status == EVOCC_OK ? read_text(&r->source, r, root, "source") : status;
}

static evocc_status read_space(reader *r)
{
    const yaml_node *root = yaml_root(r->document);
    evocc_status status = read_head(r, root);
    if (status != EVOCC_OK) {
        return status;
    }
    const yaml_node *controls = yaml_get(root, "controls");
    if (controls == NULL || controls->kind != YAML_MAPPING) {
        return yaml_error(r->document, controls == NULL ? root : controls, r->error,
                          "expected 'controls:', a mapping from names to controls");
    }
    for (size_t i = 0; status == EVOCC_OK && i < controls->count; i++) {
        status = read_control(r, controls->keys[i], controls->items[i]);
    }
    for (size_t i = 0; status == EVOCC_OK && i < controls->count; i++) {
        const yaml_node *when = yaml_get(controls->items[i], "when");
        status = when == NULL ? EVOCC_OK : read_conditions(r, i, when);
    }
    if (status == EVOCC_OK) {
        status = read_list(r, root, "forbid", read_forbidden);
    }
    return status == EVOCC_OK ? read_list(r, root, "constraints", read_constraint) : status;
}

evocc_status space_parse(evocc_space **out, const char *text, size_t length, const char *name,
                         evocc_error *error)
{
    reader r = {.text = text, .length = length, .error = error};
    *out = NULL;
    evocc_status status = space_new(&r.space, error);
    if (status == EVOCC_OK) {
        status = yaml_parse(&r.document, text, length, name, error);
    }
    if (status == EVOCC_OK) {
        status = read_space(&r);
    }
    yaml_free(r.document);
    if (status == EVOCC_OK) {
        *out = r.space;
    } else {
        space_free(r.space);
    }
    return status;
}
