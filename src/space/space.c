/*
 * space: what can be decided, and which decisions go together (see space.h). May include util only.
 *
 *   domain.c      the values of a control and their texts
 *   rules.c       conditions, forbidden combinations, constraints: building and checking
 *   expression.c  the grammar of constraints, and Lua behind it
 *   structure.c   order of evaluation, and which controls are tied together
 *   candidate.c   canonical form, hash, text
 *   sample.c      candidates at random; repair.c: the nearest allowed one
 *   copy.c        parts of one space into another; admits.c: versions and targets
 *   space_yaml.c  the file format (docs/spaces.md); builtin.c: files compiled in
 *   api.c         the public functions
 *
 * space.c: building and looking up.
 */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

static const char *const stage_names[] = {"define", "nvcc", "ptx", "ptxas", "gcc", "clang"};

const char *space_stage_name(space_stage stage)
{
    return (size_t)stage < sizeof stage_names / sizeof *stage_names ? stage_names[stage] : "?";
}

bool space_stage_parse(space_stage *out, const char *name)
{
    for (size_t i = 0; i < sizeof stage_names / sizeof *stage_names; i++) {
        if (strcmp(name, stage_names[i]) == 0) {
            *out = (space_stage)i;
            return true;
        }
    }
    return false;
}

evocc_status space_new(evocc_space **out, evocc_error *error)
{
    *out = mem_alloc(1, sizeof **out);
    return *out == NULL ? error_no_memory(error) : EVOCC_OK;
}

void space_free(evocc_space *space)
{
    if (space == NULL) {
        return;
    }
    for (size_t i = 0; i < space->knot_count; i++) {
        sample_table_free(space->knots[i].table);
    }
    space_lua_free(space->lua);
    mem_free(space->controls);
    mem_free(space->conditions);
    mem_free(space->rules);
    map_dispose(&space->names);
    arena_dispose(&space->memory);
    mem_free(space);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static evocc_status check_name(const space_control *c, evocc_error *error)
{
    if (c->name == NULL || *c->name == '\0' || strlen(c->name) > 4000) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "a control needs a name");
    }
    for (const char *p = c->name; *p != '\0'; p++) {
        if (*p <= 0x20 || *p >= 0x7f || *p == '=' || *p == '"' || *p == '\'') {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "control '%.200s': names are ASCII without spaces, quotes and '='",
                             c->name);
        }
    }
    return EVOCC_OK;
}

static evocc_status check_control(const evocc_space *space, const space_control *c,
                                  evocc_error *error)
{
    if (c->default_index < SPACE_ABSENT || c->default_index >= c->size) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: the default is not in the domain", c->name);
    }
    if (!(c->knockout >= 0 && c->knockout <= 1)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: the knock-out probability is not between 0 and 1", c->name);
    }
    if (c->arch != NULL && !admits_is_valid(c->arch)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: '%.80s' is no condition on targets, such as '>= sm_100'",
                         c->name, c->arch);
    }
    if (c->parent == SPACE_ABSENT) {
        return EVOCC_OK;
    }
    if (c->parent < 0 || (size_t)c->parent >= space->count) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: its parent has not been added before it", c->name);
    }
    const space_control *parent = &space->controls[c->parent];
    if (!domain_equal(c, parent) || c->default_index != parent->default_index) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: its values and default are not those of its parent %s",
                         c->name, parent->full_name);
    }
    return EVOCC_OK;
}

static bool copy_text(arena *a, const char **text)
{
    return *text == NULL || (*text = arena_strdup(a, *text)) != NULL;
}

static bool copy_texts(arena *a, space_control *c)
{
    const char **choices = NULL;
    if (c->kind == SPACE_CHOICE) {
        choices = arena_alloc(a, (size_t)c->size, sizeof *choices);
        for (int32_t i = 0; choices != NULL && i < c->size; i++) {
            choices[i] = c->choices[i];
            if (!copy_text(a, &choices[i])) {
                return false;
            }
        }
        if (choices == NULL) {
            return false;
        }
    }
    c->choices = choices;
    const char *stage = space_stage_name(c->stage);
    size_t size = strlen(stage) + strlen(c->name) + 2;
    char *full_name = arena_alloc(a, size, 1);
    if (full_name == NULL) {
        return false;
    }
    memcpy(full_name, stage, strlen(stage));
    full_name[strlen(stage)] = '/';
    strcpy(full_name + strlen(stage) + 1, c->name);
    c->full_name = full_name;
    c->name = full_name + strlen(stage) + 1;
    return copy_text(a, &c->help) && copy_text(a, &c->source) && copy_text(a, &c->option) &&
           copy_text(a, &c->group) && copy_text(a, &c->since) && copy_text(a, &c->until) &&
           copy_text(a, &c->arch) && copy_text(a, &c->off_because);
}

evocc_status space_add(evocc_space *space, const space_control *control, evocc_error *error)
{
    space_control c = *control;
    evocc_status status = space->finished ? error_set(error, EVOCC_INVALID_ARGUMENT,
                                                      "control %s: the space is finished", c.name)
                                          : check_name(&c, error);
    if (status == EVOCC_OK) {
        status = domain_complete(&c, error);
    }
    if (status == EVOCC_OK) {
        status = check_control(space, &c, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (space->count >= INT32_MAX / 8 ||
        !mem_grow(&space->controls, &space->capacity, space->count + 1, sizeof c) ||
        !copy_texts(&space->memory, &c)) {
        return error_no_memory(error);
    }
    size_t length = strlen(c.full_name);
    if (map_get(&space->names, c.full_name, length) != MAP_NONE) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "control %s is there twice", c.full_name);
    }
    if (!map_put(&space->names, c.full_name, length, space->count)) {
        return error_no_memory(error);
    }
    space->controls[space->count++] = c;
    return EVOCC_OK;
}

evocc_status space_finish(evocc_space *space, evocc_error *error)
{
    if (space->finished) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "the space is finished already");
    }
    return structure_build(space, error);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

size_t space_count(const evocc_space *space)
{
    return space->count;
}

const space_control *space_get(const evocc_space *space, size_t index)
{
    return &space->controls[index];
}

size_t space_find(const evocc_space *space, const char *full_name)
{
    return map_get(&space->names, full_name, strlen(full_name));
}

double space_cardinality(const evocc_space *space)
{
    double product = 1;
    for (size_t i = 0; i < space->count; i++) {
        const space_control *c = &space->controls[i];
        /* Absent is an assignment of its own unless it equals a value. */
        bool one_more = c->default_index == SPACE_ABSENT;
        product *= (double)c->size + (one_more ? 1 : 0);
    }
    return product;
}

/* ---- Digest ---------------------------------------------------------------------------------- */

static void digest_match(strbuf *text, const evocc_space *space, const space_match *match)
{
    strbuf_printf(text, " %s in", space->controls[match->control].full_name);
    for (int32_t i = 0; i < match->value_count; i++) {
        strbuf_putc(text, ' ');
        space_value_text(text, &space->controls[match->control], match->values[i]);
    }
}

static void digest_control(strbuf *text, const evocc_space *space, const space_control *c)
{
    strbuf_printf(text, "%s kind %d numerics %d size %d default %d option %s", c->full_name,
                  (int)c->kind, (int)c->numerics, (int)c->size, (int)c->default_index,
                  c->option == NULL ? "" : c->option);
    if (c->parent != SPACE_ABSENT) {
        strbuf_printf(text, " parent %s", space->controls[c->parent].full_name);
    }
    /* Numbers are determined by both ends and how many there are. */
    int32_t step = c->kind == SPACE_CHOICE || c->size == 1 ? 1 : c->size - 1;
    for (int32_t i = 0; i < c->size; i += step) {
        strbuf_putc(text, ' ');
        space_value_text(text, c, i);
    }
    strbuf_putc(text, '\n');
}

void space_digest(char out[HASH_SHA256_TEXT], const evocc_space *space)
{
    strbuf text = {0};
    for (size_t i = 0; i < space->count; i++) {
        digest_control(&text, space, &space->controls[i]);
    }
    for (size_t i = 0; i < space->condition_count; i++) {
        const space_condition *condition = &space->conditions[i];
        strbuf_printf(&text, "%s when", space->controls[condition->control].full_name);
        digest_match(&text, space, &condition->match);
        strbuf_putc(&text, '\n');
    }
    for (size_t i = 0; i < space->rule_count; i++) {
        const space_rule *rule = &space->rules[i];
        strbuf_puts(&text, rule->matches == NULL ? "constraint " : "forbid");
        for (int32_t k = 0; rule->matches != NULL && k < rule->control_count; k++) {
            digest_match(&text, space, &rule->matches[k]);
        }
        strbuf_printf(&text, "%s\n", rule->matches == NULL ? rule->text : "");
    }
    out[0] = '\0';
    if (!text.failed) {
        hash_sha256(out, strbuf_text(&text), text.length);
    }
    strbuf_dispose(&text);
}
