/*
 * repair.c: the nearest allowed candidate. Some control of a broken rule must change, or one that
 * decides whether such a control is active (its suspects): so a tree of changes, one broken rule a
 * level, searched to depth 1, then 2, then 3, finds the fewest changes. A branch ends where more
 * broken rules without a common suspect are left than changes; the last change must be to a suspect
 * of all of them. The tree is cut off after a number of steps; then the knot is drawn anew.
 */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

enum { MAX_CHANGES = 3, MAX_STEPS = 1024, ALL_VALUES = 64, NEAREST_VALUES = 24 };

typedef struct repair {
    const evocc_space *space;
    const space_knot *knot;
    rng *r;
    int32_t *genes;
    int32_t changed[MAX_CHANGES];
    int steps;
    int32_t *hits;                  /* by control: broken rules it is a suspect of */
    int32_t *saved[MAX_CHANGES];    /* the knot's genes at each depth */
    int32_t *suspects[MAX_CHANGES]; /* what may be changed at each depth */
} repair;

_Static_assert(1 + 2 * MAX_CHANGES <= SPACE_SCRATCH, "repair works in the scratch memory");

/* Counts for each control the broken rules it is a suspect of. *needed: a number of changes that
   cannot do with less, as so many broken rules share no suspect. */
static evocc_status find_broken(const space_rule **first, int *broken, int *needed, repair *p)
{
    *first = NULL;
    *broken = *needed = 0;
    for (int32_t i = 0; i < p->knot->count; i++) {
        p->hits[p->knot->order[i]] = 0;
    }
    for (int32_t k = 0; k < p->knot->rule_count; k++) {
        const space_rule *rule = &p->space->rules[p->knot->rules[k]];
        evocc_status status = rule_check(p->space, rule, p->genes, NULL);
        if (status == EVOCC_NO_MEMORY) {
            return status;
        }
        if (status == EVOCC_OK) {
            continue;
        }
        *first = *first == NULL ? rule : *first;
        bool apart = true;
        for (int32_t i = 0; i < rule->suspect_count; i++) {
            apart = apart && p->hits[rule->suspects[i]] == 0;
            p->hits[rule->suspects[i]]++;
        }
        *needed += apart;
        ++*broken;
    }
    return *broken == 0 ? EVOCC_OK : EVOCC_REFUSED;
}

/* The controls to change at this depth, in random order: suspects of `rule` with enough hits that
   have not been changed yet. */
static int32_t choose_suspects(const repair *p, int depth, const space_rule *rule, int hits)
{
    int32_t count = 0, *suspects = p->suspects[depth];
    for (int32_t i = 0; i < rule->suspect_count; i++) {
        bool again = false;
        for (int k = 0; k < depth; k++) {
            again = again || p->changed[k] == rule->suspects[i];
        }
        if (!again && p->hits[rule->suspects[i]] >= hits) {
            suspects[count++] = rule->suspects[i];
        }
    }
    for (int32_t i = count; i > 1; i--) {
        int32_t k = (int32_t)rng_below(p->r, (uint64_t)i), other = suspects[k];
        suspects[k] = suspects[i - 1];
        suspects[i - 1] = other;
    }
    return count;
}

static bool is_ordered(const space_control *c)
{
    return c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT;
}

/* The k-th value to try instead of `now`, or `now` itself: nothing. Near ones first where there is
   a near; many values: the nearest and then some at random. size stands for absent. */
static int32_t alternative(const repair *p, const space_control *c, const sample_walk *walk,
                           int32_t now, int32_t k)
{
    bool few = walk->count <= ALL_VALUES;
    if (!is_ordered(c) || now == SPACE_ABSENT) {
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
    int32_t most = 2 * ALL_VALUES;
    return c->size >= ALL_VALUES ? most : is_ordered(c) ? 2 * c->size + 1 : c->size + 1;
}

static evocc_status mend(repair *p, int depth, int limit);

/* Tries all alternatives of one control. */
static evocc_status mend_control(repair *p, int32_t control, int depth, int limit)
{
    const space_control *c = &p->space->controls[control];
    int32_t now = effective(p->space->nodes, p->genes, control);
    sample_walk walk = sample_walk_begin(p->r, c->size + 1);
    int32_t tries = alternative_count(c);
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
            p->genes[p->knot->order[i]] = p->saved[depth][i];
        }
    }
    return EVOCC_REFUSED;
}

/* EVOCC_OK: mended with at most limit - depth further changes. */
static evocc_status mend(repair *p, int depth, int limit)
{
    const space_rule *first;
    int broken, needed;
    evocc_status status = find_broken(&first, &broken, &needed, p);
    if (status != EVOCC_REFUSED || needed > limit - depth) {
        return status;
    }
    for (int32_t i = 0; i < p->knot->count; i++) {
        p->saved[depth][i] = p->genes[p->knot->order[i]];
    }
    int32_t count = choose_suspects(p, depth, first, limit - depth == 1 ? broken : 1);
    for (int32_t i = 0; i < count && status == EVOCC_REFUSED; i++) {
        status = mend_control(p, p->suspects[depth][i], depth, limit);
    }
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
    repair p = {.space = space, .knot = knot, .r = r, .genes = genes, .hits = space->scratch};
    for (int depth = 0; depth < MAX_CHANGES; depth++) {
        p.saved[depth] = space->scratch + (size_t)(1 + 2 * depth) * space->count;
        p.suspects[depth] = p.saved[depth] + space->count;
    }
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
