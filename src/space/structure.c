/*
 * structure.c: the arrays that candidates are worked on with. An order of all controls in which
 * each follows its parent and those its conditions name; and the knots: sets of controls that rules
 * tie together, closed under parents and conditions, so that each can be sampled and repaired
 * alone.
 */
#include "space/internal.h"

#include "util/error.h"

/* ---- Conditions by control ------------------------------------------------------------------- */

static bool build_nodes(evocc_space *space)
{
    arena *a = &space->memory;
    space->nodes = arena_alloc(a, space->count, sizeof *space->nodes);
    space->matches = arena_alloc(a, space->condition_count, sizeof *space->matches);
    space->order = arena_alloc(a, space->count, sizeof *space->order);
    space->loose = arena_alloc(a, space->count, sizeof *space->loose);
    space->scratch = arena_alloc(a, SPACE_SCRATCH * space->count, sizeof *space->scratch);
    space->refusal_counts = arena_alloc(a, space->rule_count, sizeof *space->refusal_counts);
    if (space->nodes == NULL || space->matches == NULL || space->order == NULL ||
        space->loose == NULL || space->scratch == NULL || space->refusal_counts == NULL) {
        return false;
    }
    for (size_t i = 0; i < space->count; i++) {
        const space_control *c = &space->controls[i];
        space->nodes[i] =
            (space_node){c->size, c->default_index, c->parent, .knockout = c->knockout};
    }
    for (size_t i = 0; i < space->condition_count; i++) {
        space->nodes[space->conditions[i].control].match_count++;
    }
    int32_t first = 0;
    for (size_t i = 0; i < space->count; i++) {
        space->nodes[i].first_match = first;
        first += space->nodes[i].match_count;
        space->nodes[i].match_count = 0;
    }
    for (size_t i = 0; i < space->condition_count; i++) {
        space_node *node = &space->nodes[space->conditions[i].control];
        space->matches[node->first_match + node->match_count++] = space->conditions[i].match;
    }
    return true;
}

/* What `control` depends on directly: its parent, then its conditions. SPACE_ABSENT after the last.
 */
static int32_t dependency(const evocc_space *space, int32_t control, int32_t k)
{
    const space_node *node = &space->nodes[control];
    if (node->parent != SPACE_ABSENT) {
        if (k == 0) {
            return node->parent;
        }
        k--;
    }
    return k < node->match_count ? space->matches[node->first_match + k].control : SPACE_ABSENT;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Appends `control` and all it depends on that is not placed yet, dependencies first; ends because
   space_add_condition lets no cycle in. `stack` holds pairs (control, its next dependency). */
static void place(const evocc_space *space, int32_t control, int32_t *placed, int32_t *stack,
                  int32_t *order, int32_t *count)
{
    int32_t depth = 1;
    stack[0] = control;
    stack[1] = 0;
    while (depth > 0) {
        int32_t *top = stack + 2 * (depth - 1);
        int32_t next = dependency(space, top[0], top[1]++);
        if (placed[top[0]] != 0 || next == SPACE_ABSENT) {
            if (placed[top[0]] == 0) {
                placed[top[0]] = 1;
                order[(*count)++] = top[0];
            }
            depth--;
        } else if (placed[next] == 0) {
            stack[2 * depth] = next;
            stack[2 * depth + 1] = 0;
            depth++;
        }
    }
}

static void build_order(evocc_space *space)
{
    int32_t *placed = space->scratch, *stack = space->scratch + space->count;
    int32_t count = 0;
    for (size_t i = 0; i < space->count; i++) {
        place(space, (int32_t)i, placed, stack, space->order, &count);
    }
}

/* ---- Knots ----------------------------------------------------------------------------------- */

static int32_t leader(int32_t *leaders, int32_t i)
{
    while (leaders[i] != i) {
        leaders[i] = leaders[leaders[i]];
        i = leaders[i];
    }
    return i;
}

/* leaders[i]: the knot of control i, named by one of its controls; SPACE_ABSENT: in none. */
static void find_leaders(const evocc_space *space, int32_t *leaders)
{
    for (size_t i = 0; i < space->count; i++) {
        leaders[i] = SPACE_ABSENT;
    }
    for (size_t r = 0; r < space->rule_count; r++) {
        for (int32_t k = 0; k < space->rules[r].control_count; k++) {
            leaders[space->rules[r].controls[k]] = space->rules[r].controls[k];
        }
    }
    /* Dependents first: what a member depends on is a member. */
    for (size_t i = space->count; i-- > 0;) {
        int32_t control = space->order[i], next;
        for (int32_t k = 0; leaders[control] != SPACE_ABSENT &&
                            (next = dependency(space, control, k)) != SPACE_ABSENT;
             k++) {
            leaders[next] = next;
        }
    }
    for (size_t i = 0; i < space->count; i++) {
        int32_t control = (int32_t)i, next;
        for (int32_t k = 0; leaders[control] != SPACE_ABSENT &&
                            (next = dependency(space, control, k)) != SPACE_ABSENT;
             k++) {
            leaders[leader(leaders, next)] = leader(leaders, control);
        }
    }
    for (size_t r = 0; r < space->rule_count; r++) {
        const space_rule *rule = &space->rules[r];
        for (int32_t k = 1; k < rule->control_count; k++) {
            leaders[leader(leaders, rule->controls[k])] = leader(leaders, rule->controls[0]);
        }
    }
}

/* How much must still be assigned before a rule can be decided: the number of combinations. */
static double rule_cost(const evocc_space *space, const space_rule *rule, const int32_t *placed)
{
    double cost = 1;
    for (int32_t k = 0; k < rule->control_count; k++) {
        if (placed[rule->controls[k]] == 0) {
            cost *= space->nodes[rule->controls[k]].size + 1.0;
        }
    }
    return cost;
}

/* The controls of one knot, those of the cheapest rule first: the earlier a rule can be decided,
   the less is built in vain. `rules` are this knot's; they come out in the order they are decided
   in. */
static void order_knot(const evocc_space *space, space_knot *knot, int32_t *order, int32_t *rules,
                       int32_t *first_rule, int32_t *is_placed, int32_t *stack)
{
    int32_t placed = 0;
    first_rule[0] = 0;
    for (int32_t done = 0; done < knot->rule_count; done++) {
        int32_t best = done;
        double best_cost = (double)INFINITY;
        for (int32_t k = done; k < knot->rule_count; k++) {
            double cost = rule_cost(space, &space->rules[rules[k]], is_placed);
            if (cost < best_cost) {
                best_cost = cost;
                best = k;
            }
        }
        int32_t index = rules[best];
        rules[best] = rules[done];
        rules[done] = index;
        const space_rule *rule = &space->rules[index];
        int32_t before = placed;
        for (int32_t k = 0; k < rule->control_count; k++) {
            place(space, rule->controls[k], is_placed, stack, order, &placed);
        }
        for (int32_t k = before; k < placed; k++) {
            first_rule[k + 1] = done; /* overwritten below for the last one */
        }
        first_rule[placed] = done + 1;
    }
    knot->count = placed;
    knot->order = order;
    knot->rules = rules;
    knot->first_rule = first_rule;
}

static bool build_knot(evocc_space *space, int32_t which, int32_t *leaders, int32_t *is_placed)
{
    space_knot *knot = &space->knots[space->knot_count];
    size_t members = 0;
    for (size_t i = 0; i < space->count; i++) {
        members += leaders[i] != SPACE_ABSENT && leader(leaders, (int32_t)i) == which;
    }
    for (size_t r = 0; r < space->rule_count; r++) {
        knot->rule_count += leader(leaders, space->rules[r].controls[0]) == which;
    }
    int32_t *order = arena_alloc(&space->memory, members, sizeof *order);
    int32_t *rules = arena_alloc(&space->memory, (size_t)knot->rule_count, sizeof *rules);
    int32_t *first_rule = arena_alloc(&space->memory, members + 1, sizeof *first_rule);
    if (order == NULL || rules == NULL || first_rule == NULL) {
        return false;
    }
    int32_t count = 0;
    for (size_t r = 0; r < space->rule_count; r++) {
        if (leader(leaders, space->rules[r].controls[0]) == which) {
            rules[count++] = (int32_t)r;
        }
    }
    order_knot(space, knot, order, rules, first_rule, is_placed, space->scratch + 2 * space->count);
    space->knot_count++;
    return true;
}

static bool build_knots(evocc_space *space)
{
    int32_t *leaders = space->scratch, *is_placed = space->scratch + space->count;
    find_leaders(space, leaders);
    size_t knots = 0;
    for (size_t i = 0; i < space->count; i++) {
        is_placed[i] = 0;
        knots += leaders[i] == (int32_t)i;
    }
    space->knots = arena_alloc(&space->memory, knots, sizeof *space->knots);
    if (space->knots == NULL) {
        return false;
    }
    for (size_t i = 0; i < space->count; i++) {
        if (leaders[i] == (int32_t)i && !build_knot(space, (int32_t)i, leaders, is_placed)) {
            return false;
        }
    }
    for (size_t i = 0; i < space->count; i++) {
        if (leaders[space->order[i]] == SPACE_ABSENT) {
            space->loose[space->loose_count++] = space->order[i];
        }
    }
    return true;
}

/* The controls of a rule, and all that decides over their activity and inherited values. `seen` is
   zeroed, and is so again afterwards. */
static bool build_suspects(evocc_space *space, space_rule *rule, int32_t *seen, int32_t *list)
{
    int32_t count = 0, next;
    for (int32_t k = 0; k < rule->control_count; k++) {
        list[count++] = rule->controls[k];
        seen[rule->controls[k]] = 1;
    }
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; (next = dependency(space, list[i], k)) != SPACE_ABSENT; k++) {
            if (seen[next] == 0) {
                seen[next] = 1;
                list[count++] = next;
            }
        }
    }
    int32_t *suspects = arena_alloc(&space->memory, (size_t)count, sizeof *suspects);
    for (int32_t i = 0; i < count; i++) {
        seen[list[i]] = 0;
        if (suspects != NULL) {
            suspects[i] = list[i];
        }
    }
    rule->suspects = suspects;
    rule->suspect_count = count;
    return suspects != NULL;
}

static bool build_rules(evocc_space *space)
{
    int32_t *seen = space->scratch, *list = space->scratch + space->count;
    for (size_t i = 0; i < space->count; i++) {
        seen[i] = 0;
    }
    for (size_t r = 0; r < space->rule_count; r++) {
        if (!build_suspects(space, &space->rules[r], seen, list)) {
            return false;
        }
    }
    return true;
}

evocc_status structure_build(evocc_space *space, evocc_error *error)
{
    space->knot_count = space->loose_count = 0;
    if (!build_nodes(space)) {
        return error_no_memory(error);
    }
    build_order(space);
    if (!build_rules(space) || !build_knots(space)) {
        return error_no_memory(error);
    }
    space->finished = true;
    return EVOCC_OK;
}
