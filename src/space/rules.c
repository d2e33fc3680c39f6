/* Conditions, forbidden combinations and constraints: building, checking, copying. */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

evocc_status rule_find(int32_t *out, const evocc_space *space, const char *name, evocc_error *error)
{
    size_t index = space_find(space, name);
    if (index != MAP_NONE) {
        *out = (int32_t)index;
        return EVOCC_OK;
    }
    int32_t found = SPACE_ABSENT;
    for (size_t i = 0; i < space->count; i++) {
        if (strcmp(space->controls[i].name, name) != 0) {
            continue;
        }
        if (found != SPACE_ABSENT) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "control '%.200s' may be %s or %s",
                             name, space->controls[found].full_name, space->controls[i].full_name);
        }
        found = (int32_t)i;
    }
    *out = found;
    return found != SPACE_ABSENT
               ? EVOCC_OK
               : error_set(error, EVOCC_NOT_FOUND, "there is no control '%.200s'", name);
}

static evocc_status match_make(space_match *out, evocc_space *space, const space_term *term,
                               evocc_error *error)
{
    evocc_status status = rule_find(&out->control, space, term->control, error);
    if (status != EVOCC_OK) {
        return status;
    }
    const space_control *c = &space->controls[out->control];
    if (term->value_count == 0 || term->value_count > INT32_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "control %s: a rule names none of its values", c->full_name);
    }
    int32_t *values = arena_alloc(&space->memory, term->value_count, sizeof *values);
    if (values == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < term->value_count; i++) {
        if (strcmp(term->values[i], "absent") == 0) {
            values[i] = c->default_index;
        } else if ((status = space_value_parse(&values[i], c, term->values[i], error)) !=
                   EVOCC_OK) {
            return status;
        }
    }
    out->values = values;
    out->value_count = (int32_t)term->value_count;
    return EVOCC_OK;
}

static evocc_status refuse_finished(const evocc_space *space, evocc_error *error)
{
    return !space->finished ? EVOCC_OK
                            : error_set(error, EVOCC_INVALID_ARGUMENT, "the space is finished");
}

evocc_status condition_append(evocc_space *space, const space_condition *condition,
                              evocc_error *error)
{
    if (!mem_grow(&space->conditions, &space->condition_capacity, space->condition_count + 1,
                  sizeof *condition)) {
        return error_no_memory(error);
    }
    space->conditions[space->condition_count++] = *condition;
    return EVOCC_OK;
}

/* Whether `from` depends on `to`, through parents and conditions. `marks` is zeroed. */
static bool depends_on(const evocc_space *space, int32_t from, int32_t to, bool *marks)
{
    marks[from] = true;
    bool again = true;
    while (again && !marks[to]) {
        again = false;
        for (size_t i = 0; i < space->count; i++) {
            int32_t parent = space->controls[i].parent;
            if (marks[i] && parent != SPACE_ABSENT && !marks[parent]) {
                marks[parent] = again = true;
            }
        }
        for (size_t i = 0; i < space->condition_count; i++) {
            const space_condition *c = &space->conditions[i];
            if (marks[c->control] && !marks[c->match.control]) {
                marks[c->match.control] = again = true;
            }
        }
    }
    return marks[to];
}

static evocc_status refuse_cycle(const evocc_space *space, const space_condition *condition,
                                 evocc_error *error)
{
    bool *marks = mem_alloc(space->count, sizeof *marks);
    if (marks == NULL) {
        return error_no_memory(error);
    }
    bool cycle = depends_on(space, condition->match.control, condition->control, marks);
    mem_free(marks);
    return cycle ? error_set(error, EVOCC_INVALID_ARGUMENT,
                             "control %s: its conditions lead back to itself",
                             space->controls[condition->control].full_name)
                 : EVOCC_OK;
}

evocc_status space_add_condition(evocc_space *space, const char *control, const space_term *term,
                                 evocc_error *error)
{
    space_condition condition = {0};
    evocc_status status = refuse_finished(space, error);
    if (status == EVOCC_OK) {
        status = rule_find(&condition.control, space, control, error);
    }
    if (status == EVOCC_OK) {
        status = match_make(&condition.match, space, term, error);
    }
    if (status == EVOCC_OK) {
        status = refuse_cycle(space, &condition, error);
    }
    return status == EVOCC_OK ? condition_append(space, &condition, error) : status;
}

evocc_status rule_append(evocc_space *space, const space_rule *rule, evocc_error *error)
{
    if (!mem_grow(&space->rules, &space->rule_capacity, space->rule_count + 1, sizeof *rule)) {
        return error_no_memory(error);
    }
    space->rules[space->rule_count++] = *rule;
    return EVOCC_OK;
}

evocc_status space_add_forbidden(evocc_space *space, const space_term *terms, size_t count,
                                 evocc_error *error)
{
    evocc_status status = refuse_finished(space, error);
    if (status == EVOCC_OK && (count == 0 || count > INT32_MAX)) {
        status =
            error_set(error, EVOCC_INVALID_ARGUMENT, "a forbidden combination names no control");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    space_match *matches = arena_alloc(&space->memory, count, sizeof *matches);
    int32_t *controls = arena_alloc(&space->memory, count, sizeof *controls);
    if (matches == NULL || controls == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        status = match_make(&matches[i], space, &terms[i], error);
        if (status != EVOCC_OK) {
            return status;
        }
        controls[i] = matches[i].control;
        for (size_t k = 0; k < i; k++) {
            if (controls[k] == controls[i]) {
                return error_set(error, EVOCC_INVALID_ARGUMENT,
                                 "control %s is named twice in a forbidden combination",
                                 space->controls[controls[i]].full_name);
            }
        }
    }
    space_rule rule = {.control_count = (int32_t)count, .controls = controls, .matches = matches};
    return rule_append(space, &rule, error);
}

/* ---- Constraints ----------------------------------------------------------------------------- */

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool spells(const char *control, const expression_name *name)
{
    size_t i = 0;
    for (; i < name->length && control[i] != '\0'; i++) {
        if (name->text[i] != (is_identifier(control[i]) ? control[i] : '_')) {
            return false;
        }
    }
    return i == name->length && control[i] == '\0';
}

static evocc_status resolve(int32_t *out, const evocc_space *space, const expression_name *name,
                            evocc_error *error)
{
    int32_t found = SPACE_ABSENT;
    for (size_t i = 0; i < space->count; i++) {
        const space_control *c = &space->controls[i];
        if (!spells(c->name, name) && !spells(c->full_name, name)) {
            continue;
        }
        if (found != SPACE_ABSENT) {
            return error_set(error, EVOCC_PARSE, "'%.*s' may be %s or %s", (int)name->length,
                             name->text, space->controls[found].full_name, c->full_name);
        }
        found = (int32_t)i;
    }
    *out = found;
    return found != SPACE_ABSENT ? EVOCC_OK
                                 : error_set(error, EVOCC_PARSE, "there is no control '%.*s'",
                                             (int)name->length, name->text);
}

/* An expression that fails with every control at its default fails for a reason of its own, unless
   a nil is among them. */
static evocc_status try_at_defaults(evocc_space *space, const space_rule *rule, evocc_error *error)
{
    int32_t values[EXPRESSION_MAX_NAMES];
    bool has_nil = false;
    for (int32_t i = 0; i < rule->control_count; i++) {
        const space_control *c = &space->controls[rule->controls[i]];
        values[i] = c->default_index;
        has_nil = has_nil || (values[i] == SPACE_ABSENT && c->kind != SPACE_FLAG);
    }
    evocc_status status = space_lua_evaluate(space->lua, rule->expression, space, rule->controls,
                                             values, rule->control_count, error);
    if (status == EVOCC_UNSUPPORTED && !has_nil) {
        error_prefix(error, "with every control at its default");
        if (error != NULL) {
            error->status = EVOCC_PARSE;
        }
        return EVOCC_PARSE;
    }
    return status == EVOCC_NO_MEMORY ? status : EVOCC_OK;
}

static evocc_status add_expression(evocc_space *space, const char *text,
                                   const expression_names *names, const int32_t *controls,
                                   evocc_error *error)
{
    space_rule rule = {.control_count = (int32_t)names->count,
                       .controls = controls,
                       .text = arena_strdup(&space->memory, text)};
    evocc_status status = rule.text == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK && space->lua == NULL) {
        status = space_lua_new(&space->lua, error);
    }
    for (size_t i = 0; i < names->count && status == EVOCC_OK; i++) {
        status = space_lua_add_words(space->lua, &space->controls[controls[i]], error);
    }
    if (status == EVOCC_OK) {
        status = space_lua_compile(&rule.expression, space->lua, text, names, error);
    }
    if (status == EVOCC_OK) {
        status = try_at_defaults(space, &rule, error);
    }
    return status == EVOCC_OK ? rule_append(space, &rule, error) : status;
}

evocc_status rule_add_constraint(evocc_space *space, const char *expression,
                                 expression_place *place, evocc_error *error)
{
    expression_names names = {0};
    *place = (expression_place){0};
    evocc_status status = refuse_finished(space, error);
    if (status == EVOCC_OK) {
        status = expression_scan(&names, expression, place, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    *place = (expression_place){1, 1};
    if (names.count == 0) {
        return error_set(error, EVOCC_PARSE, "a constraint must name a control");
    }
    int32_t *controls = arena_alloc(&space->memory, names.count, sizeof *controls);
    if (controls == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < names.count; i++) {
        *place = names.items[i].place;
        status = resolve(&controls[i], space, &names.items[i], error);
        if (status != EVOCC_OK) {
            return status;
        }
        for (size_t k = 0; k < i; k++) {
            if (controls[k] == controls[i]) {
                return error_set(error, EVOCC_PARSE, "control %s is named in two ways",
                                 space->controls[controls[i]].full_name);
            }
        }
    }
    *place = (expression_place){1, 1};
    return add_expression(space, expression, &names, controls, error);
}

evocc_status space_add_constraint(evocc_space *space, const char *expression, evocc_error *error)
{
    expression_place place;
    evocc_status status = rule_add_constraint(space, expression, &place, error);
    if (status == EVOCC_PARSE) {
        error_prefix(error, "constraint '%.200s': line %d, column %d", expression, place.line,
                     place.column);
    }
    return status;
}

evocc_status rule_copy_constraint(evocc_space *space, const space_rule *rule,
                                  const int32_t *indices, evocc_error *error)
{
    expression_names names;
    expression_place place;
    evocc_status status = expression_scan(&names, rule->text, &place, error);
    int32_t *controls = arena_alloc(&space->memory, (size_t)rule->control_count, sizeof *controls);
    if (status != EVOCC_OK || controls == NULL) {
        return status != EVOCC_OK ? status : error_no_memory(error);
    }
    for (int32_t i = 0; i < rule->control_count; i++) {
        controls[i] = indices[rule->controls[i]];
    }
    return add_expression(space, rule->text, &names, controls, error);
}

/* ---- Checking -------------------------------------------------------------------------------- */

static void rule_text(strbuf *out, const evocc_space *space, const space_rule *rule,
                      const int32_t *genes)
{
    for (int32_t i = 0; i < rule->control_count; i++) {
        const space_control *c = &space->controls[rule->controls[i]];
        strbuf_printf(out, "%s%s=", i == 0 ? "" : ", ", c->full_name);
        space_value_text(out, c, effective(space->nodes, genes, rule->controls[i]));
    }
}

static evocc_status refuse(const evocc_space *space, const space_rule *rule, const int32_t *genes,
                           const evocc_error *why, evocc_error *error)
{
    if (error == NULL) {
        return EVOCC_REFUSED;
    }
    strbuf text = {0};
    rule_text(&text, space, rule, genes);
    if (rule->matches != NULL) {
        error_set(error, EVOCC_REFUSED, "forbidden combination: %s", strbuf_text(&text));
    } else if (why != NULL) {
        error_set(error, EVOCC_REFUSED, "constraint '%s' fails: %s (%s)", rule->text, why->message,
                  strbuf_text(&text));
    } else {
        error_set(error, EVOCC_REFUSED, "constraint '%s' does not hold (%s)", rule->text,
                  strbuf_text(&text));
    }
    strbuf_dispose(&text);
    return EVOCC_REFUSED;
}

evocc_status rule_check(const evocc_space *space, const space_rule *rule, const int32_t *genes,
                        evocc_error *error)
{
    if (rule->matches != NULL) {
        for (int32_t i = 0; i < rule->control_count; i++) {
            int32_t value = effective(space->nodes, genes, rule->controls[i]);
            if (!match_holds(&rule->matches[i], value)) {
                return EVOCC_OK;
            }
        }
        return refuse(space, rule, genes, NULL, error);
    }
    int32_t values[EXPRESSION_MAX_NAMES];
    for (int32_t i = 0; i < rule->control_count; i++) {
        values[i] = effective(space->nodes, genes, rule->controls[i]);
    }
    evocc_error why;
    evocc_status status =
        space_lua_evaluate(space->lua, rule->expression, space, rule->controls, values,
                           rule->control_count, error == NULL ? NULL : &why);
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    return status == EVOCC_OK
               ? EVOCC_OK
               : refuse(space, rule, genes, status == EVOCC_REFUSED ? NULL : &why, error);
}

evocc_status space_check(const evocc_space *space, const int32_t *genes, evocc_error *error)
{
    for (size_t i = 0; i < space->rule_count; i++) {
        evocc_status status = rule_check(space, &space->rules[i], genes, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}
