#include "search/search.h"

#include "search/archive.h"
#include "search/exactmath.h"
#include "search/forest.h"
#include "search/ranking.h"
#include "search/seen.h"
#include "search/tuning.h"
#include "search/variation.h"
#include "search/walk.h"
#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

enum {
    OBJECTIVES_MAX = 16,
    /* How often variation may come up with something known or forbidden before something else is
       tried. In a space with many candidates left the first tries nearly always succeed. */
    VARIATION_TRIES = 64,
    SAMPLE_TRIES = 64,
    /* In a space too large to walk: how many samples must fail before it is called exhausted. */
    LAST_TRIES = 10000,
    /* First-pool generations at most, while less than a fifth of the pool is valid. */
    INITIAL_GENERATIONS = 4
};

struct evocc_search {
    const evocc_space *space;
    search_options options; /* normalised: no zero stands for a default; pointers not used */
    search_tuning tuning;
    search_objective objectives[OBJECTIVES_MAX];
    int32_t *seeds; /* seed_count rows of gene_count */
    size_t gene_count, seed_count, seeds_used;
    const ranking *rank;
    void *rank_state;
    variation vary;
    pool pool;
    seen seen;
    archive archive;
    forest forest;
    int32_t *child;
    double scores[FOREST_ROWS];
    walk walk;
    rng rng;
    uint64_t asked, told, valid;
    uint64_t generation_end; /* the id with which the next generation begins */
    uint32_t generation;
    uint32_t stale; /* generations without an addition to the best front */
    bool initial;   /* this generation is still sampling the first pool */
    bool exhausted;
    bool no_memory; /* the space ran out of memory while a candidate was being made */
};

/* ---- Making one -------------------------------------------------------------------------------
 */

static evocc_status normalise(evocc_search *s, const search_options *options, evocc_error *error)
{
    s->options = *options;
    search_options *o = &s->options;
    o->pool_size = o->pool_size == 0 ? 32 : o->pool_size;
    o->cull_size = o->cull_size == 0 ? 24 : o->cull_size;
    o->generations = o->generations == 0 ? 20 : o->generations;
    o->mutate_rate = o->mutate_rate == 0 ? 0.1 : o->mutate_rate;
    if (o->objective_count == 0 || o->objective_count > OBJECTIVES_MAX || o->objectives == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a search needs 1 to %d objectives, not %zu", OBJECTIVES_MAX,
                         o->objective_count);
    }
    if (!(o->mutate_rate > 0 && o->mutate_rate <= 1)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "mutate_rate is a share of the controls: above 0, at most 1, not %g",
                         o->mutate_rate);
    }
    if (o->pool_size < 2 || o->pool_size > 1 << 20 || o->cull_size > 1 << 20 ||
        o->generations > UINT32_MAX) {
        return error_set(
            error, EVOCC_INVALID_ARGUMENT,
            "pool_size must be 2 to 2^20, cull_size at most 2^20, generations below 2^32");
    }
    for (size_t i = 0; i < o->objective_count; i++) {
        s->objectives[i] = o->objectives[i];
        double *weight = &s->objectives[i].weight;
        *weight = *weight == 0 ? 1 : *weight;
        if (!(*weight > 0) || !isfinite(*weight) ||
            (s->objectives[i].limited && !isfinite(s->objectives[i].limit))) {
            return error_set(
                error, EVOCC_INVALID_ARGUMENT,
                "objective %zu: the weight must be positive and finite, a limit finite", i);
        }
    }
    s->tuning = o->tuning != NULL ? *o->tuning : search_tuning_default;
    s->rank = o->objective_count == 1 ? &ranking_truncate : &ranking_nsga3;
    return EVOCC_OK;
}

static evocc_status copy_seeds(evocc_search *s, const search_options *options, evocc_error *error)
{
    size_t most = s->options.pool_size / 4;
    s->seed_count = options->seed_count < most ? options->seed_count : most;
    s->seeds = mem_alloc(s->seed_count, s->gene_count * sizeof *s->seeds);
    if (s->seeds == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < s->seed_count; i++) {
        memcpy(s->seeds + i * s->gene_count, options->seeds[i], s->gene_count * sizeof *s->seeds);
    }
    return EVOCC_OK;
}

static size_t largest_generation(const search_options *o)
{
    return o->pool_size > o->cull_size ? o->pool_size : o->cull_size;
}

static evocc_status build(evocc_search *s, const search_options *options, evocc_error *error)
{
    evocc_status status = normalise(s, options, error);
    if (status == EVOCC_OK) {
        status = copy_seeds(s, options, error);
    }
    if (status == EVOCC_OK) {
        status = variation_init(&s->vary, s->space, &s->tuning, s->options.mutate_rate, error);
    }
    if (status == EVOCC_OK && s->tuning.screened > 1) {
        status = forest_init(&s->forest, &s->vary, error);
        s->child = mem_alloc(s->gene_count, sizeof *s->child);
        if (status == EVOCC_OK && s->child == NULL) {
            status = error_no_memory(error);
        }
    }
    size_t flight = largest_generation(&s->options);
    size_t objectives = s->options.objective_count;
    if (status == EVOCC_OK) {
        status =
            pool_init(&s->pool, s->options.pool_size, flight, s->gene_count, objectives, error);
    }
    double weights[OBJECTIVES_MAX];
    for (size_t i = 0; i < objectives && status == EVOCC_OK; i++) {
        weights[i] = s->objectives[i].weight;
    }
    if (status == EVOCC_OK) {
        ranking_setup setup = {objectives,           weights,
                               s->options.pool_size, s->options.pool_size + flight,
                               s->gene_count,        (size_t)s->tuning.clearing};
        status = s->rank->create(&s->rank_state, &setup, error);
    }
    return status;
}

evocc_status search_new(evocc_search **out, const evocc_space *space, const search_options *options,
                        evocc_error *error)
{
    evocc_search *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->space = space;
    s->gene_count = space_count(space);
    evocc_status status = build(s, options, error);
    if (status != EVOCC_OK) {
        search_free(s);
        return status;
    }
    s->archive.gene_count = s->gene_count;
    s->archive.objective_count = s->options.objective_count;
    rng_seed(&s->rng, s->options.seed);
    walk_init(&s->walk, space, rng_next(&s->rng));
    s->initial = true;
    s->generation_end = s->options.pool_size;
    *out = s;
    return EVOCC_OK;
}

void search_free(evocc_search *s)
{
    if (s == NULL) {
        return;
    }
    if (s->rank != NULL) {
        s->rank->destroy(s->rank_state);
    }
    archive_dispose(&s->archive);
    forest_dispose(&s->forest);
    mem_free(s->child);
    seen_dispose(&s->seen);
    pool_dispose(&s->pool);
    variation_dispose(&s->vary);
    mem_free(s->seeds);
    mem_free(s);
}

/* ---- Proposing --------------------------------------------------------------------------------
 */

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

static size_t parent_count(const evocc_search *s)
{
    size_t count = (size_t)(s->tuning.parent_share * (double)s->options.pool_size);
    count = count < 2 ? 2 : count;
    return count < s->pool.member_count ? count : s->pool.member_count;
}

static void make_child(evocc_search *s, int32_t *genes)
{
    individual *const *members = s->pool.members;
    size_t count = parent_count(s);
    const individual *a = select_parent(members, count, s->rank->better, &s->rng);
    const individual *b = select_parent(members, count, s->rank->better, &s->rng);
    bool cross = a != b && rng_chance(&s->rng, s->tuning.crossover_rate);
    if (cross) {
        variation_cross(&s->vary, &s->rng, genes, a->genes, b->genes);
    } else {
        memcpy(genes, a->genes, s->gene_count * sizeof *genes);
    }
    if (!cross || rng_chance(&s->rng, s->tuning.mutate_after_crossover)) {
        variation_mutate(&s->vary, &s->rng, genes);
    }
}

static bool vary(evocc_search *s, int32_t *genes)
{
    for (int i = 0; i < VARIATION_TRIES && !s->no_memory; i++) {
        if (s->initial) {
            variation_near_default(&s->vary, &s->rng, genes);
        } else {
            make_child(s, genes);
        }
        if (make_proposable(s, genes, true)) {
            return true;
        }
    }
    return false;
}

/* The best of several children, as far as the forest can tell. */
static bool screen(evocc_search *s, int32_t *genes)
{
    if (!vary(s, genes)) {
        return false;
    }
    if (s->initial || !s->forest.grown || rng_chance(&s->rng, s->tuning.unscreened)) {
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

static bool walk_on(evocc_search *s, int32_t *genes)
{
    while (!s->no_memory && walk_next(&s->walk, s->space, genes)) {
        if (make_proposable(s, genes, false)) {
            return true;
        }
    }
    return false;
}

static bool propose(evocc_search *s, int32_t *genes)
{
    if (s->asked == 0) {
        memset(genes, 0xff, s->gene_count * sizeof *genes); /* all SPACE_ABSENT: the baseline */
        return true;
    }
    if (next_seed(s, genes)) {
        return true;
    }
    bool varied = s->initial ? rng_chance(&s->rng, s->tuning.near_share) : s->pool.member_count > 0;
    if ((varied && screen(s, genes)) || sample(s, genes, SAMPLE_TRIES)) {
        return true;
    }
    return s->walk.size != 0 ? walk_on(s, genes) : sample(s, genes, LAST_TRIES);
}

/* ---- Generations ------------------------------------------------------------------------------
 */

static void keep_best(evocc_search *s)
{
    pool *p = &s->pool;
    s->rank->survive(s->rank_state, p->members, p->member_count, s->options.pool_size, &s->rng);
    pool_cut(p, s->options.pool_size);
}

/* A pool that no longer improves is set aside but for its best few, and another one grows from new
   samples. When that one is stale too, both are joined: their best may have a child that beats
   them. */
static void restart_or_join(evocc_search *s)
{
    s->stale = 0;
    if (s->pool.hall_count > 0) {
        pool_recall(&s->pool);
        keep_best(s);
    } else {
        pool_retire(&s->pool, (size_t)(s->tuning.hall_share * (double)s->options.pool_size));
        s->initial = true;
    }
}

/* Targets are ranks: what is learned does not depend on the unit or the spread of the metric. */
static void learn(evocc_search *s)
{
    forest *f = &s->forest;
    for (size_t i = 0; i < s->pool.flight_count; i++) {
        const individual *one = s->pool.flight[i];
        size_t row = f->next_row;
        forest_add(f, one->genes);
        s->scores[row] = one->state == INDIVIDUAL_VALID ? one->values[0] : 1e300;
    }
    for (size_t i = 0; i < f->row_count; i++) {
        double better = 0;
        for (size_t j = 0; j < f->row_count; j++) {
            better += s->scores[j] < s->scores[i] ? 1 : 0;
        }
        f->targets[i] = exact_log(1 + better);
    }
    forest_grow(f, &s->rng);
}

static void next_generation(evocc_search *s)
{
    if (s->tuning.screened > 1) {
        learn(s);
    }
    pool_merge(&s->pool, s->asked);
    keep_best(s);
    bool improved = false; /* someone of the last generation is in the best front */
    for (size_t i = 0; i < s->pool.member_count; i++) {
        const individual *one = s->pool.members[i];
        improved = improved || (one->front == 0 && one->generation == s->generation);
    }
    s->stale = improved ? 0 : s->stale + 1;
    s->generation++;
    s->generation_end = s->asked + s->options.cull_size;
    s->initial =
        s->generation < INITIAL_GENERATIONS && s->pool.member_count * 5 < s->options.pool_size;
    if (s->tuning.stale_limit > 0 && s->stale >= s->tuning.stale_limit) {
        restart_or_join(s);
    }
}

static evocc_status before_asking(evocc_search *s, evocc_error *error)
{
    if (s->asked < s->generation_end) {
        return EVOCC_OK;
    }
    if (s->generation + 1 >= s->options.generations) {
        return error_set(error, EVOCC_DONE, "all %zu generations were asked",
                         s->options.generations);
    }
    if (s->told < s->asked) {
        return error_set(error, EVOCC_WAIT, "%llu answers of generation %u are missing",
                         (unsigned long long)(s->asked - s->told), (unsigned)s->generation);
    }
    next_generation(s);
    return EVOCC_OK;
}

static uint32_t count_controls(const int32_t *genes, size_t count)
{
    uint32_t present = 0;
    for (size_t i = 0; i < count; i++) {
        present += genes[i] != SPACE_ABSENT ? 1 : 0;
    }
    return present;
}

evocc_status search_ask(search_candidate *out, evocc_search *s, evocc_error *error)
{
    if (s->exhausted) {
        return error_set(error, EVOCC_EXHAUSTED, "no candidate is left that was not asked");
    }
    if (!seen_reserve(&s->seen)) {
        return error_no_memory(error);
    }
    evocc_status status = before_asking(s, error);
    if (status != EVOCC_OK) {
        return status;
    }
    /* What making a candidate moves on, to be put back when memory runs out half-way. */
    rng r = s->rng;
    walk w = s->walk;
    size_t seeds_used = s->seeds_used;
    s->no_memory = false;
    individual *one = pool_launch(&s->pool, s->asked);
    bool made = propose(s, one->genes);
    if (s->no_memory) {
        pool_abort(&s->pool);
        s->rng = r;
        s->walk = w;
        s->seeds_used = seeds_used;
        return error_no_memory(error);
    }
    if (!made) {
        pool_abort(&s->pool);
        s->exhausted = true;
        return error_set(error, EVOCC_EXHAUSTED, "no candidate is left that was not asked");
    }
    one->generation = s->generation;
    one->controls = count_controls(one->genes, s->gene_count);
    seen_add(&s->seen, space_hash(s->space, one->genes));
    *out = (search_candidate){one->id, one->generation, one->genes};
    s->asked++;
    return EVOCC_OK;
}

/* ---- Answers ----------------------------------------------------------------------------------
 */

/* Fills in values and violation; false when a number is missing. */
static bool take_values(const evocc_search *s, individual *one, const double *values)
{
    one->violation = 0;
    for (size_t i = 0; i < s->options.objective_count; i++) {
        const search_objective *o = &s->objectives[i];
        if (!isfinite(values[i])) {
            return false;
        }
        one->values[i] = o->maximize ? -values[i] : values[i];
        double limit = o->maximize ? -o->limit : o->limit;
        if (o->limited && one->values[i] > limit) {
            double scale = fabs(limit) > 0 ? fabs(limit) : 1;
            one->violation += (one->values[i] - limit) / scale;
        }
    }
    return true;
}

evocc_status search_tell(evocc_search *s, uint64_t id, evocc_outcome outcome, const double *values,
                         evocc_error *error)
{
    individual *one = pool_in_flight(&s->pool, id);
    if (one == NULL || one->state != INDIVIDUAL_ASKED) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "trial %llu %s", (unsigned long long)id,
                         id < s->asked ? "was told before" : "was never asked");
    }
    if (outcome == EVOCC_OUTCOME_OK && values == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "trial %llu is ok but has no values",
                         (unsigned long long)id);
    }
    bool valid = outcome == EVOCC_OUTCOME_OK && take_values(s, one, values);
    if (valid) {
        evocc_status status = archive_offer(&s->archive, one, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    one->state = valid ? INDIVIDUAL_VALID : INDIVIDUAL_INVALID;
    one->measurements = 1;
    s->valid += valid ? 1 : 0;
    s->told++;
    return EVOCC_OK;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

const uint64_t *search_front(const evocc_search *s, size_t *count)
{
    *count = s->archive.count;
    return s->archive.ids;
}

const int32_t *search_front_genes(const evocc_search *s, uint64_t id)
{
    const archive_entry *entry = archive_find(&s->archive, id);
    return entry == NULL ? NULL : entry->as.genes;
}

void search_get_progress(search_progress *out, const evocc_search *s)
{
    *out = (search_progress){
        .generation = s->generation,
        .generations = (uint32_t)s->options.generations,
        .asked = s->asked,
        .told = s->told,
        .valid = s->valid,
        .budget =
            s->options.pool_size + (uint64_t)s->options.cull_size * (s->options.generations - 1),
    };
}

static uint64_t hash_individuals(const evocc_search *s, individual *const *items, size_t count,
                                 uint64_t hash)
{
    for (size_t i = 0; i < count; i++) {
        const individual *one = items[i];
        uint64_t facts[] = {one->id, (uint64_t)one->state, one->measurements};
        hash = hash64(facts, sizeof facts, hash);
        hash = hash64(one->genes, s->gene_count * sizeof *one->genes, hash);
        if (one->state == INDIVIDUAL_VALID) {
            hash = hash64(one->values, s->options.objective_count * sizeof(double), hash);
        }
    }
    return hash;
}

uint64_t search_fingerprint(const evocc_search *s)
{
    uint64_t facts[] = {s->asked, s->told, s->valid, s->generation, s->seen.count, s->walk.visited};
    uint64_t hash = hash64(s->rng.state, sizeof s->rng.state, 0);
    hash = hash64(facts, sizeof facts, hash);
    hash = hash_individuals(s, s->pool.members, s->pool.member_count, hash);
    return hash_individuals(s, s->pool.flight, s->pool.flight_count, hash);
}
