#include "search/internal.h"

#include "util/error.h"

#include <string.h>

enum {
    /* How often variation may come up with something known or forbidden before something else is
       tried. In a space with many candidates left the first tries nearly always succeed. */
    VARIATION_TRIES = 64,
    /* A known child is mutated on so often (see mutate_on_stale) before another one is made. */
    MUTATIONS_MOST = 16,
    SAMPLE_TRIES = 64,
    /* In a space too large to walk: how many samples must fail before it is called exhausted. */
    LAST_TRIES = 10000,
    /* Repetitions are for so many of the best, until each was measured so often. */
    REPEATED_BEST = 4,
    MEASUREMENTS_MOST = 8
};

static bool is_allowed(evocc_search *s, const int32_t *genes)
{
    evocc_status status = space_check(s->space, genes, NULL);
    s->no_memory = s->no_memory || status == EVOCC_NO_MEMORY;
    return status == EVOCC_OK;
}

/* Canonical, allowed, accepted by the filter and never proposed before. `genes` may be changed to
   become so. */
static bool make_proposable(evocc_search *s, int32_t *genes, bool repair)
{
    space_canonicalise(s->space, genes);
    if (!is_allowed(s, genes) && !(repair && space_repair(s->space, &s->rng, genes))) {
        return false;
    }
    return !seen_has(&s->seen, space_hash(s->space, genes)) &&
           (s->options.filter == NULL || s->options.filter(s->options.filter_context, genes));
}

static bool next_seed(evocc_search *s, int32_t *genes)
{
    while (s->seeds_used < s->seed_count) {
        memcpy(genes, s->seeds + s->seeds_used++ * s->gene_count, s->gene_count * sizeof *genes);
        if (make_proposable(s, genes, true)) {
            return true;
        }
    }
    return false;
}

/* The best of the list; more of them the longer nothing better was found; the whole best front when
   there are several objectives. */
static size_t parent_count(const evocc_search *s, const individuals *list)
{
    double share = s->tuning.parent_share * (1 + s->tuning.stale_spread * s->pool_stale);
    size_t count = (size_t)((share < 1 ? share : 1) * (double)s->options.pool_size);
    count = count < 2 ? 2 : count;
    while (s->ranked_count > 1 && count < list->count && list->items[count]->front == 0) {
        count++;
    }
    return count < list->count ? count : list->count;
}

/* False when the child is surely known, which is most of what a pool makes that has converged. */
static bool make_child(evocc_search *s, int32_t *genes)
{
    const individuals *list = s->elder ? &s->pool.elders : &s->pool.members;
    size_t count = parent_count(s, list);
    const individual *a = select_parent(list->items, count, s->rank->better, &s->rng);
    const individual *b = select_parent(list->items, count, s->rank->better, &s->rng);
    if (rng_chance(&s->rng, s->tuning.marginal_share)) {
        const individual *other = marginal_pick(&s->marginal, &s->rng);
        a = other != NULL ? other : a;
    }
    bool differs = true;
    bool cross = a->id != b->id && rng_chance(&s->rng, s->tuning.crossover_rate);
    if (cross) {
        differs = variation_cross(&s->vary, &s->rng, genes, a->genes, b->genes);
    } else {
        memcpy(genes, a->genes, s->gene_count * sizeof *genes);
    }
    if (!cross || rng_chance(&s->rng, s->tuning.mutate_after_crossover)) {
        variation_mutate(&s->vary, &s->rng, genes);
        differs = true;
    }
    return differs;
}

/* A known child is made anew, with other parents: better than to mutate it until it is new, which
   drifts away from the pool. Only when nothing better has come for longer than most searches last,
   nearly all children are known, and a new one near the pool is all that can be had.
   A new candidate near the default, while there are no parents yet, or from parents. */
static bool vary(evocc_search *s, int32_t *genes)
{
    bool near = !s->elder && (s->initial || s->pool.members.count == 0);
    for (int i = 0; i < VARIATION_TRIES && !s->no_memory; i++) {
        if (near) {
            variation_near_default(&s->vary, &s->rng, genes);
        } else if (i > 0 && s->stale >= s->tuning.mutate_on_stale && i % MUTATIONS_MOST != 0) {
            variation_mutate(&s->vary, &s->rng, genes);
        } else if (!make_child(s, genes)) {
            continue;
        }
        if (make_proposable(s, genes, true)) {
            return true;
        }
    }
    return false;
}

/* The best of several children, as far as the forest can tell. */
static bool vary_screened(evocc_search *s, int32_t *genes)
{
    if (!vary(s, genes)) {
        return false;
    }
    s->screened = screening_pays(s) && !rng_chance(&s->rng, s->tuning.unscreened);
    if (!s->screened) {
        return true;
    }
    double best = forest_predict(&s->forest, genes);
    for (double i = 1; i < s->tuning.screened && vary(s, s->child); i++) {
        double promise = forest_predict(&s->forest, s->child);
        if (promise < best) {
            best = promise;
            memcpy(genes, s->child, s->gene_count * sizeof *genes);
        }
    }
    return true;
}

static bool sample(evocc_search *s, int32_t *genes, int tries)
{
    for (int i = 0; i < tries && !s->no_memory; i++) {
        evocc_status status = space_sample(s->space, &s->rng, genes, NULL);
        s->no_memory = s->no_memory || status == EVOCC_NO_MEMORY;
        if (status == EVOCC_OK && make_proposable(s, genes, false)) {
            return true;
        }
    }
    return false;
}

/* In how many genes a candidate differs from the nearest of the list's first `count`, but no more
   than `most`. */
static size_t distance_to(const evocc_search *s, const int32_t *genes, const individuals *list,
                          size_t count, size_t most)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t *others = list->items[i]->genes;
        size_t different = 0;
        for (size_t g = 0; g < s->gene_count && different < most; g++) {
            different += genes[g] != others[g] ? 1 : 0;
        }
        most = different;
    }
    return most;
}

/* How far a candidate is from those asked before it, itself the last in flight, and the elders. */
static size_t remoteness(const evocc_search *s, const int32_t *genes)
{
    size_t most = distance_to(s, genes, &s->pool.flight, s->pool.flight.count - 1, s->gene_count);
    return distance_to(s, genes, &s->pool.elders, s->pool.elders.count, most);
}

/* Uniform, but of several the one that is farthest from what was asked before: a first pool of a
   few dozen covers more of the space. */
static bool sample_apart(evocc_search *s, int32_t *genes)
{
    if (!sample(s, genes, SAMPLE_TRIES)) {
        return false;
    }
    size_t best = remoteness(s, genes);
    for (double i = 1; i < s->tuning.spread && sample(s, s->child, SAMPLE_TRIES); i++) {
        size_t distance = remoteness(s, s->child);
        if (distance > best) {
            best = distance;
            memcpy(genes, s->child, s->gene_count * sizeof *genes);
        }
    }
    return true;
}

static bool walk_on(evocc_search *s, int32_t *genes)
{
    while (!s->no_memory && walk_next(&s->walk, s->space, genes)) {
        if (make_proposable(s, genes, false)) {
            return true;
        }
    }
    return false;
}

/* Of the best few, the one measured least so far. */
static bool repeat_one(evocc_search *s, individual *one)
{
    individual *chosen = NULL;
    for (size_t i = 0; i < s->pool.members.count && i < REPEATED_BEST; i++) {
        individual *member = s->pool.members.items[i];
        uint32_t times = member->measurements + member->pending;
        if (times < MEASUREMENTS_MOST &&
            (chosen == NULL || times < chosen->measurements + chosen->pending)) {
            chosen = member;
        }
    }
    if (chosen != NULL) {
        chosen->pending++;
        one->repeat_of = chosen->id;
        memcpy(one->genes, chosen->genes, s->gene_count * sizeof *one->genes);
    }
    return chosen != NULL;
}

static bool propose_new(evocc_search *s, int32_t *genes)
{
    if (s->asked == 0) {
        memset(genes, 0xff, s->gene_count * sizeof *genes); /* all SPACE_ABSENT: the baseline */
        return true;
    }
    if (next_seed(s, genes)) {
        return true;
    }
    s->elder = s->pool.elders.count > 0 && rng_chance(&s->rng, s->tuning.elder_share);
    bool found;
    if (s->elder || (!s->initial && s->pool.members.count > 0)) {
        s->varied = vary_screened(s, genes);
        found = s->varied || sample(s, genes, SAMPLE_TRIES);
    } else {
        found =
            (rng_chance(&s->rng, s->tuning.near_share) && vary(s, genes)) || sample_apart(s, genes);
    }
    if (found || s->no_memory) {
        return found;
    }
    return s->walk.size != 0 ? walk_on(s, genes) : sample(s, genes, LAST_TRIES);
}

evocc_status propose(evocc_search *s, individual *one, evocc_error *error)
{
    /* What making a candidate moves on, to be put back when memory runs out half-way. */
    rng r = s->rng;
    walk w = s->walk;
    size_t seeds_used = s->seeds_used;
    s->elder = s->varied = s->screened = s->no_memory = false;
    if (s->options.repeat_share > 0 && !s->initial &&
        rng_chance(&s->rng, s->options.repeat_share) && repeat_one(s, one)) {
        return EVOCC_OK;
    }
    bool found = propose_new(s, one->genes);
    if (s->no_memory) {
        s->rng = r;
        s->walk = w;
        s->seeds_used = seeds_used;
        return error_no_memory(error);
    }
    one->elder = s->elder;
    one->varied = s->varied;
    one->screened = s->screened;
    return found ? EVOCC_OK
                 : error_set(error, EVOCC_EXHAUSTED, "no candidate is left that was not asked");
}
