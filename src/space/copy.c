/* space_add_all: controls of another space, with the rules over them. */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

/* What has become of each control of the other space: its index here, or SPACE_ABSENT: left out,
   which means absent, and so at its default, for ever. */
typedef struct copying {
    evocc_space *to;
    const evocc_space *from;
    int32_t *indices;
} copying;

/* Whether a match on a control that was left out holds. */
static bool holds_for_ever(const copying *c, const space_match *match)
{
    return match_holds(match, c->from->controls[match->control].default_index);
}

/* Leaves out what could never be active: round by round, as one may hang on the other. */
static void leave_out_dormant(copying *c)
{
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < c->from->condition_count; i++) {
            const space_condition *condition = &c->from->conditions[i];
            int32_t *index = &c->indices[condition->control];
            if (*index != SPACE_ABSENT && c->indices[condition->match.control] == SPACE_ABSENT &&
                !holds_for_ever(c, &condition->match)) {
                *index = SPACE_ABSENT;
                again = true;
            }
        }
    }
}

static evocc_status copy_controls(copying *c, evocc_error *error)
{
    for (size_t i = 0; i < c->from->count; i++) {
        if (c->indices[i] == SPACE_ABSENT) {
            continue;
        }
        space_control control = c->from->controls[i];
        if (control.parent != SPACE_ABSENT) {
            control.parent = c->indices[control.parent];
        }
        c->indices[i] = (int32_t)c->to->count;
        evocc_status status = space_add(c->to, &control, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

static evocc_status copy_match(space_match *out, const copying *c, const space_match *match,
                               evocc_error *error)
{
    int32_t *values = arena_alloc(&c->to->memory, (size_t)match->value_count, sizeof *values);
    if (values == NULL) {
        return error_no_memory(error);
    }
    memcpy(values, match->values, (size_t)match->value_count * sizeof *values);
    *out = (space_match){c->indices[match->control], match->value_count, values};
    return EVOCC_OK;
}

static evocc_status copy_conditions(const copying *c, evocc_error *error)
{
    for (size_t i = 0; i < c->from->condition_count; i++) {
        const space_condition *condition = &c->from->conditions[i];
        space_condition copy = {.control = c->indices[condition->control]};
        if (copy.control == SPACE_ABSENT || c->indices[condition->match.control] == SPACE_ABSENT) {
            continue;
        }
        evocc_status status = copy_match(&copy.match, c, &condition->match, error);
        if (status == EVOCC_OK) {
            status = condition_append(c->to, &copy, error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

static evocc_status copy_forbidden(const copying *c, const space_rule *rule, evocc_error *error)
{
    size_t most = (size_t)rule->control_count;
    space_match *matches = arena_alloc(&c->to->memory, most, sizeof *matches);
    int32_t *controls = arena_alloc(&c->to->memory, most, sizeof *controls);
    if (matches == NULL || controls == NULL) {
        return error_no_memory(error);
    }
    int32_t count = 0;
    for (int32_t i = 0; i < rule->control_count; i++) {
        const space_match *match = &rule->matches[i];
        if (c->indices[match->control] == SPACE_ABSENT) {
            if (!holds_for_ever(c, match)) {
                return EVOCC_OK; /* can never come about */
            }
            continue;
        }
        evocc_status status = copy_match(&matches[count], c, match, error);
        if (status != EVOCC_OK) {
            return status;
        }
        controls[count] = matches[count].control;
        count++;
    }
    space_rule copy = {.control_count = count, .controls = controls, .matches = matches};
    return count == 0 ? EVOCC_OK : rule_append(c->to, &copy, error);
}

static evocc_status copy_constraint(const copying *c, const space_rule *rule, evocc_error *error)
{
    for (int32_t i = 0; i < rule->control_count; i++) {
        if (c->indices[rule->controls[i]] == SPACE_ABSENT) {
            return EVOCC_OK;
        }
    }
    return rule_copy_constraint(c->to, rule, c->indices, error);
}

evocc_status space_add_all(evocc_space *space, const evocc_space *from,
                           bool (*keep)(const space_control *control, void *context), void *context,
                           evocc_error *error)
{
    copying c = {space, from, mem_alloc(from->count, sizeof *c.indices)};
    if (c.indices == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < from->count; i++) {
        bool kept = keep == NULL || keep(&from->controls[i], context);
        c.indices[i] = kept ? (int32_t)i : SPACE_ABSENT;
    }
    leave_out_dormant(&c);
    evocc_status status = copy_controls(&c, error);
    if (status == EVOCC_OK) {
        status = copy_conditions(&c, error);
    }
    for (size_t i = 0; i < from->rule_count && status == EVOCC_OK; i++) {
        const space_rule *rule = &from->rules[i];
        status = rule->matches != NULL ? copy_forbidden(&c, rule, error)
                                       : copy_constraint(&c, rule, error);
    }
    mem_free(c.indices);
    return status;
}
