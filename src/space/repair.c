/*
 * repair.c: the nearest allowed candidate. Some control of a broken rule must change, or one that
 * decides whether such a control is active: so a tree of changes, one broken rule a level, searched
 * to depth 1, then 2, then 3, finds the fewest changes. The tree is cut off after a number of
 * steps; then the knot is drawn anew.
 */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

enum { MAX_CHANGES = 3, MAX_STEPS = 4096, ALL_VALUES = 64, NEAREST_VALUES = 24 };

typedef struct repair {
    const evocc_space *space;
    const space_knot *knot;
    rng *r;
    int32_t *genes;
    int32_t changed[MAX_CHANGES];
    int steps;
} repair;

static evocc_status find_broken(const space_rule **broken, const repair *p)
{
    *broken = NULL;
    for (int32_t k = 0; k < p->knot->rule_count; k++) {
        const space_rule *rule = &p->space->rules[p->knot->rules[k]];
        evocc_status status = rule_check(p->space, rule, p->genes, NULL);
        if (status != EVOCC_OK) {
            *broken = rule;
            return status;
        }
    }
    return EVOCC_OK;
}

/* The controls that can mend the rule, in random order. */
static size_t find_suspects(const repair *p, const space_rule *rule, size_t *suspects)
{
    const evocc_space *space = p->space;
    size_t count = 0;
    for (int32_t k = 0; k < rule->control_count; k++) {
        suspects[count++] = (size_t)rule->controls[k];
    }
    for (size_t i = 0; i < count; i++) {
        const space_node *node = &space->nodes[suspects[i]];
        for (int32_t k = -1; k < node->match_count; k++) {
            int32_t other = k < 0 ? node->parent : space->matches[node->first_match + k].control;
            bool known = other == SPACE_ABSENT;
            for (size_t j = 0; j < count && !known; j++) {
                known = suspects[j] == (size_t)other;
            }
            if (!known) {
                suspects[count++] = (size_t)other;
            }
        }
    }
    rng_shuffle(p->r, suspects, count);
    return count;
}

/* The k-th value to try instead of `now`, or `now` itself: nothing. Near ones first where there is
   a near; many values: the nearest and then some at random. size stands for absent. */
static int32_t alternative(const repair *p, const space_control *c, const sample_walk *walk,
                           int32_t now, int32_t k)
{
    bool ordered = c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT;
    bool few = walk->count <= ALL_VALUES;
    if (!ordered || now == SPACE_ABSENT) {
        return sample_walk_at(walk, k);
    }
    if (few || k < NEAREST_VALUES) {
        int32_t distance = k / 2 + 1;
        int32_t value = (k + walk->start) % 2 == 0 ? now + distance : now - distance;
        bool inside = value >= 0 && value < c->size;
        return inside ? value : k == 2 * c->size ? c->size : now;
    }
    return (int32_t)rng_below(p->r, (uint64_t)walk->count);
}

static int32_t alternative_count(const space_control *c)
{
    return c->size < ALL_VALUES ? 2 * c->size + 1 : 2 * ALL_VALUES;
}

static evocc_status mend(repair *p, int depth, int limit);

/* Tries all alternatives of one control; the genes of the knot are in `saved`. */
static evocc_status mend_control(repair *p, int32_t control, const int32_t *saved, int depth,
                                 int limit)
{
    const space_control *c = &p->space->controls[control];
    int32_t now = effective(p->space->nodes, p->genes, control);
    sample_walk walk = sample_walk_begin(p->r, c->size + 1);
    bool ordered = c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT;
    int32_t tries = ordered                    ? alternative_count(c)
                    : c->size < 2 * ALL_VALUES ? c->size + 1
                                               : 2 * ALL_VALUES;
    for (int32_t k = 0; k < tries && p->steps < MAX_STEPS; k++) {
        int32_t value = alternative(p, c, &walk, now, k);
        if (value == now) {
            continue;
        }
        p->genes[control] = value == c->size ? SPACE_ABSENT : value;
        for (int32_t i = 0; i < p->knot->count; i++) {
            settle(p->space, p->genes, p->knot->order[i]);
        }
        p->changed[depth] = control;
        p->steps++;
        evocc_status status = mend(p, depth + 1, limit);
        if (status != EVOCC_REFUSED) {
            return status;
        }
        for (int32_t i = 0; i < p->knot->count; i++) {
            p->genes[p->knot->order[i]] = saved[i];
        }
    }
    return EVOCC_REFUSED;
}

/* EVOCC_OK: mended with at most limit - depth further changes. */
static evocc_status mend(repair *p, int depth, int limit)
{
    const space_rule *broken;
    evocc_status status = find_broken(&broken, p);
    if (status != EVOCC_REFUSED || depth == limit) {
        return status;
    }
    size_t *suspects = mem_alloc((size_t)p->knot->count, sizeof *suspects);
    int32_t *saved = mem_alloc((size_t)p->knot->count, sizeof *saved);
    if (suspects == NULL || saved == NULL) {
        status = EVOCC_NO_MEMORY;
        goto cleanup;
    }
    for (int32_t i = 0; i < p->knot->count; i++) {
        saved[i] = p->genes[p->knot->order[i]];
    }
    size_t count = find_suspects(p, broken, suspects);
    for (size_t i = 0; i < count && status == EVOCC_REFUSED; i++) {
        bool again = false;
        for (int k = 0; k < depth; k++) {
            again = again || p->changed[k] == (int32_t)suspects[i];
        }
        if (!again) {
            status = mend_control(p, (int32_t)suspects[i], saved, depth, limit);
        }
    }
cleanup:
    mem_free(suspects);
    mem_free(saved);
    return status;
}

/* Draws the knot anew; it stays as it was when that fails. */
static evocc_status redraw(const evocc_space *space, rng *r, space_knot *knot, int32_t *genes)
{
    int32_t *saved = mem_alloc((size_t)knot->count, sizeof *saved);
    if (saved == NULL) {
        return EVOCC_NO_MEMORY;
    }
    for (int32_t i = 0; i < knot->count; i++) {
        saved[i] = genes[knot->order[i]];
    }
    evocc_status status = sample_knot(space, r, knot, genes);
    for (int32_t i = 0; status != EVOCC_OK && i < knot->count; i++) {
        genes[knot->order[i]] = saved[i];
    }
    mem_free(saved);
    return status;
}

static bool repair_knot(const evocc_space *space, rng *r, space_knot *knot, int32_t *genes)
{
    repair p = {.space = space, .knot = knot, .r = r, .genes = genes};
    evocc_status status = EVOCC_REFUSED;
    for (int limit = 0; limit <= MAX_CHANGES && status == EVOCC_REFUSED; limit++) {
        p.steps = 0;
        status = mend(&p, 0, limit);
    }
    if (status == EVOCC_REFUSED) {
        status = redraw(space, r, knot, genes);
    }
    return status == EVOCC_OK;
}

bool space_repair(const evocc_space *space, rng *r, int32_t *genes)
{
    space_canonicalise(space, genes);
    bool allowed = true;
    for (size_t i = 0; i < space->knot_count; i++) {
        allowed = repair_knot(space, r, &space->knots[i], genes) && allowed;
    }
    space_canonicalise(space, genes);
    return allowed;
}
