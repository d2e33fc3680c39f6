#include "search/internal.h"

#include "search/exactmath.h"
#include "util/error.h"

#include <math.h>
#include <string.h>

enum {
    /* First-pool generations at most, while less than a fifth of the pool is valid. */
    INITIAL_GENERATIONS = 4,
    /* The forest is judged after so many trials of either kind; older ones fade. */
    SCREEN_TRIALS = 24,
    SCREEN_FADES = 200
};

/* ---- Learning -------------------------------------------------------------------------------- */

static void remember(evocc_search *s, const individual *one)
{
    forest *f = &s->forest;
    size_t row = f->next_row;
    forest_add(f, one->genes);
    s->forest_valid[row] = one->state == INDIVIDUAL_VALID;
    memcpy(s->forest_values + row * s->ranked_count, one->values,
           s->ranked_count * sizeof *one->values);
}

static bool row_dominates(const evocc_search *s, size_t a, size_t b)
{
    const double *x = s->forest_values + a * s->ranked_count;
    const double *y = s->forest_values + b * s->ranked_count;
    bool smaller = false;
    for (size_t m = 0; m < s->ranked_count; m++) {
        if (x[m] > y[m]) {
            return false;
        }
        smaller = smaller || x[m] < y[m];
    }
    return smaller;
}

/* What is learned is the logarithm of the rank, by how many others dominate: it does not depend on
   the metric's unit or spread, and tells the best apart rather than the worst. */
static void learn(evocc_search *s)
{
    forest *f = &s->forest;
    for (size_t i = 0; i < f->row_count; i++) {
        double better = 0;
        for (size_t j = 0; j < f->row_count && s->forest_valid[i]; j++) {
            better += s->forest_valid[j] && row_dominates(s, j, i) ? 1 : 0;
        }
        f->targets[i] = exact_log(1 + (s->forest_valid[i] ? better : (double)f->row_count));
    }
    forest_grow(f, &s->rng);
}

/* A hit is a child that survives its own merging: of those the forest chose, and of the others. */
static void count_children(evocc_search *s, individual *const *items, size_t count,
                           uint64_t first_new, double *screened, double *unscreened)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i]->varied && items[i]->id >= first_new) {
            *(items[i]->screened ? screened : unscreened) += 1;
        }
    }
    if (s->screened_trials + s->unscreened_trials > SCREEN_FADES) {
        s->screened_trials /= 2;
        s->screened_hits /= 2;
        s->unscreened_trials /= 2;
        s->unscreened_hits /= 2;
    }
}

bool screening_pays(const evocc_search *s)
{
    if (!s->options.prescreen || s->initial || !s->forest.grown) {
        return false;
    }
    if (s->screened_trials < SCREEN_TRIALS || s->unscreened_trials < SCREEN_TRIALS) {
        return true;
    }
    return s->screened_hits * s->unscreened_trials >= s->unscreened_hits * s->screened_trials;
}

/* ---- Repetitions ----------------------------------------------------------------------------- */

double violation_of(const evocc_search *s, const double *values)
{
    double violation = 0;
    for (size_t i = 0; i < s->options.objective_count; i++) {
        const search_objective *o = &s->objectives[s->order[i]];
        double limit = o->maximize ? -o->limit : o->limit;
        if (o->limited && values[i] > limit) {
            violation += (values[i] - limit) / (fabs(limit) > 0 ? fabs(limit) : 1);
        }
    }
    return violation;
}

/* Mean of `count` earlier answers and a new one; of their logarithms where all have one sign. */
static double averaged(double mean, uint32_t count, double value)
{
    bool positive = mean > 0 && value > 0;
    bool negative = mean < 0 && value < 0;
    double n = count;
    if (!positive && !negative) {
        return (mean * n + value) / (n + 1);
    }
    double size = exact_exp((exact_log(fabs(mean)) * n + exact_log(fabs(value))) / (n + 1));
    return positive ? size : -size;
}

/* The archive has room: advance() has reserved it. */
static void offer_all(evocc_search *s, const individuals *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (archive_find(&s->archive, list->items[i]->id) == NULL) {
            (void)archive_offer(&s->archive, list->items[i], NULL);
        }
    }
}

/* Averages a repetition into the values of the one it repeats. */
static void take_repetition(evocc_search *s, const individual *again)
{
    individual *one = pool_survivor(&s->pool, again->repeat_of);
    if (one == NULL) {
        return; /* others have displaced it meanwhile */
    }
    one->pending--;
    if (again->state != INDIVIDUAL_VALID) {
        return;
    }
    for (size_t i = 0; i < s->options.objective_count; i++) {
        one->values[i] = averaged(one->values[i], one->measurements, again->values[i]);
    }
    one->measurements++;
    one->violation = violation_of(s, one->values);
    archive_remove(&s->archive, one->id); /* until merge() offers it anew */
}

/* ---- Merging --------------------------------------------------------------------------------- */

static void keep_best(evocc_search *s, individuals *list)
{
    if (list->count > 0) {
        size_t keep = s->options.pool_size;
        s->rank->survive(s->rank_state, list->items, list->count, keep, &s->rng);
        pool_cut(&s->pool, list, keep);
    }
}

static bool reaches_targets(const evocc_search *s, const individual *one)
{
    bool any = false;
    for (size_t i = 0; i < s->options.objective_count; i++) {
        const search_objective *o = &s->objectives[s->order[i]];
        double target = o->maximize ? -o->target : o->target;
        if (o->has_target && one->values[i] > target) {
            return false;
        }
        any = any || o->has_target;
    }
    return any && !(one->violation > 0);
}

static void take_in(evocc_search *s, const individual *one)
{
    if (one->repeat_of != INDIVIDUAL_NONE) {
        take_repetition(s, one);
        return;
    }
    if (s->options.prescreen) {
        remember(s, one);
    }
    if (one->state == INDIVIDUAL_VALID) {
        marginal_add(&s->marginal, one, &s->rng);
        s->target_reached = s->target_reached || reaches_targets(s, one);
    }
}

/* Whether one of the list's best front is new and not dominated by the best front of `others`. */
static bool has_new_best(const evocc_search *s, const individuals *list, const individuals *others,
                         uint64_t first_new)
{
    for (size_t i = 0; i < list->count && list->items[i]->front == 0; i++) {
        const individual *one = list->items[i];
        bool best = one->id >= first_new;
        for (size_t k = 0; best && k < others->count && others->items[k]->front == 0; k++) {
            best = !individual_dominates(others->items[k], one, s->ranked_count);
        }
        if (best) {
            return true;
        }
    }
    return false;
}

static void merge(evocc_search *s, size_t count)
{
    pool *p = &s->pool;
    uint64_t first = p->flight.items[0]->id;
    for (size_t i = 0; i < count; i++) {
        take_in(s, p->flight.items[i]);
    }
    count_children(s, p->flight.items, count, first, &s->screened_trials, &s->unscreened_trials);
    pool_merge(p, count);
    if (s->options.repeat_share > 0) {
        /* What a mean has moved may be in the front again, or what it dominated before. */
        offer_all(s, &p->members);
        offer_all(s, &p->elders);
    }
    keep_best(s, &p->members);
    keep_best(s, &p->elders);
    count_children(s, p->members.items, p->members.count, first, &s->screened_hits,
                   &s->unscreened_hits);
    count_children(s, p->elders.items, p->elders.count, first, &s->screened_hits,
                   &s->unscreened_hits);
    static const individuals none = {0};
    s->pool_improved = s->pool_improved || has_new_best(s, &p->members, &none, first);
    s->improved = s->improved || has_new_best(s, &p->members, &p->elders, first) ||
                  has_new_best(s, &p->elders, &p->members, first);
}

/* ---- Generations ----------------------------------------------------------------------------- */

/* A pool that no longer improves gets a second one beside it, grown from samples far from it. When
   that one is stale too, both are joined: their best may have a child that beats them. */
static void restart_or_join(evocc_search *s)
{
    s->pool_stale = 0;
    if (s->pool.elders.count > 0) {
        pool_join(&s->pool);
        keep_best(s, &s->pool.members);
    } else {
        pool_retire(&s->pool);
        s->initial = true;
    }
}

static double measure_diversity(const evocc_search *s)
{
    const individuals *list = &s->pool.members;
    double different = 0;
    double pairs = 0;
    /* Neighbours in a ring stand for all pairs: the cost stays that of one generation's children.
     */
    for (size_t i = 0; i < list->count && list->count > 1; i++) {
        const int32_t *a = list->items[i]->genes;
        const int32_t *b = list->items[(i + 1) % list->count]->genes;
        for (size_t g = 0; g < s->gene_count; g++) {
            different += a[g] != b[g] ? 1 : 0;
        }
        pairs += (double)s->gene_count;
    }
    return pairs > 0 ? different / pairs : 0;
}

/* A fifth of the first pool is valid. */
static bool has_parents(const evocc_search *s)
{
    return s->pool.members.count * 5 >= s->options.pool_size;
}

static void begin_generation(evocc_search *s)
{
    s->stale = s->improved ? 0 : s->stale + 1;
    s->pool_stale = s->pool_improved ? 0 : s->pool_stale + 1;
    s->improved = s->pool_improved = false;
    s->generation++;
    s->generation_end = s->asked + s->options.cull_size;
    s->initial =
        s->generation < INITIAL_GENERATIONS && s->pool.elders.count == 0 && !has_parents(s);
    if (s->tuning.stale_limit > 0 && s->pool_stale >= s->tuning.stale_limit && has_parents(s)) {
        restart_or_join(s);
    }
    if (s->options.prescreen) {
        learn(s);
    }
    s->diversity = measure_diversity(s);
}

/* How many of the flight the next question needs merged. */
static size_t due_count(const evocc_search *s)
{
    if (s->options.lag == 0) {
        return s->asked == s->generation_end ? s->pool.flight.count : 0;
    }
    size_t open = s->options.lag - 1; /* questions that may stay unanswered */
    if (s->asked < s->options.pool_size || s->pool.flight.count <= open) {
        return 0;
    }
    return s->pool.flight.count - open;
}

static evocc_status check_budget(const evocc_search *s, evocc_error *error)
{
    if (s->options.max_trials > 0 && s->asked >= s->options.max_trials) {
        return error_set(error, EVOCC_DONE, "%llu trials were asked", (unsigned long long)s->asked);
    }
    if (s->asked == s->generation_end && s->generation + 1 >= s->options.generations) {
        return error_set(error, EVOCC_DONE, "all %zu generations were asked",
                         s->options.generations);
    }
    return EVOCC_OK;
}

static evocc_status check_stop_rules(const evocc_search *s, evocc_error *error)
{
    if (s->target_reached) {
        return error_set(error, EVOCC_DONE, "the target is reached");
    }
    if (s->options.stale_generations > 0 && s->stale >= s->options.stale_generations) {
        return error_set(error, EVOCC_DONE, "nothing better was found in %u generations",
                         (unsigned)s->stale);
    }
    return EVOCC_OK;
}

static size_t missing_count(const evocc_search *s, size_t count)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        missing += s->pool.flight.items[i]->state == INDIVIDUAL_ASKED ? 1 : 0;
    }
    return missing;
}

static evocc_status merge_due(evocc_search *s, size_t due, evocc_error *error)
{
    size_t offers = s->options.repeat_share > 0 ? due + 2 * s->options.pool_size : 0;
    evocc_status status = archive_reserve(&s->archive, offers, error);
    if (status == EVOCC_OK) {
        merge(s, due);
    }
    return status;
}

evocc_status advance(evocc_search *s, evocc_error *error)
{
    evocc_status status = check_budget(s, error);
    if (status != EVOCC_OK) {
        /* The last repetitions count as well. */
        size_t rest = s->options.repeat_share > 0 ? s->pool.flight.count : 0;
        bool complete = rest > 0 && missing_count(s, rest) == 0;
        return complete && merge_due(s, rest, error) != EVOCC_OK ? EVOCC_NO_MEMORY : status;
    }
    size_t due = due_count(s);
    size_t missing = missing_count(s, due);
    if (missing > 0) {
        return error_set(error, EVOCC_WAIT, "%zu answers to trials up to %llu are missing", missing,
                         (unsigned long long)s->pool.flight.items[due - 1]->id);
    }
    if (due > 0) {
        status = merge_due(s, due, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    if (s->options.lag > 0 && s->generation > 0 && s->pool.elders.count == 0 && has_parents(s)) {
        s->initial = false; /* the answers to the first pool have come in */
    }
    if (s->asked == s->generation_end) {
        begin_generation(s);
    }
    return check_stop_rules(s, error);
}
