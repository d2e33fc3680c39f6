#include "search/search.h"

#include "search/hypervolume.h"
#include "search/internal.h"
#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

enum { LAG_MAX = 4096, POOL_MAX = 1 << 20, HYPERVOLUME_OBJECTIVES_MAX = 4 };

/* ---- Making one ------------------------------------------------------------------------------ */

static evocc_status check_numbers(const search_options *o, evocc_error *error)
{
    if (!(o->mutate_rate > 0 && o->mutate_rate <= 1)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "mutate_rate is a share of the controls: above 0, at most 1, not %g",
                         o->mutate_rate);
    }
    if (o->pool_size < 2 || o->pool_size > POOL_MAX || o->cull_size > POOL_MAX ||
        o->generations > UINT32_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "pool_size must be 2 to 2^20, cull_size at most 2^20, generations below "
                         "2^32; not %zu, %zu, %zu",
                         o->pool_size, o->cull_size, o->generations);
    }
    if (o->lag > LAG_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "the lag must be at most %d, not %zu",
                         LAG_MAX, o->lag);
    }
    if (!(o->repeat_share >= 0 && o->repeat_share <= 0.5)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "repeat_share must be 0 to 0.5, not %g",
                         o->repeat_share);
    }
    return EVOCC_OK;
}

static evocc_status take_objective(evocc_search *s, size_t i, const search_objective *from,
                                   evocc_error *error)
{
    search_objective *o = &s->objectives[i];
    *o = *from;
    o->weight = o->weight == 0 ? 1 : o->weight;
    if (!(o->weight > 0) || !isfinite(o->weight) || (o->limited && !isfinite(o->limit)) ||
        (o->has_target && !isfinite(o->target))) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "objective %zu: the weight must be positive and finite, limit and target "
                         "finite",
                         i);
    }
    if (o->limit_only && !o->limited) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "objective %zu has nothing but a limit, and "
                         "no limit",
                         i);
    }
    return EVOCC_OK;
}

/* Copies the objectives; `order` puts those that rank before those that only have a limit. */
static evocc_status take_objectives(evocc_search *s, const search_options *options,
                                    evocc_error *error)
{
    size_t count = options->objective_count;
    if (count == 0 || count > SEARCH_OBJECTIVES_MAX || options->objectives == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a search needs 1 to %d objectives, not %zu", SEARCH_OBJECTIVES_MAX,
                         count);
    }
    for (size_t i = 0; i < count; i++) {
        evocc_status status = take_objective(s, i, &options->objectives[i], error);
        if (status != EVOCC_OK) {
            return status;
        }
        if (!s->objectives[i].limit_only) {
            s->order[s->ranked_count++] = i;
        }
    }
    size_t filled = s->ranked_count;
    for (size_t i = 0; i < count; i++) {
        if (s->objectives[i].limit_only) {
            s->order[filled++] = i;
        }
    }
    if (s->ranked_count == 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "every objective is only a limit");
    }
    return EVOCC_OK;
}

static evocc_status choose_ranking(evocc_search *s, evocc_error *error)
{
    static const ranking *const rankings[] = {
        [SEARCH_NSGA3] = &ranking_nsga3, [SEARCH_HYPERVOLUME] = &ranking_smsemoa};
    if (s->options.survival >= sizeof rankings / sizeof *rankings) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "no survival has the number %d",
                         (int)s->options.survival);
    }
    s->rank = s->ranked_count == 1 ? &ranking_truncate : rankings[s->options.survival];
    if (s->ranked_count > s->rank->objectives_most) {
        return error_set(error, EVOCC_UNSUPPORTED, "survival by %s takes at most %zu objectives",
                         s->rank->name, s->rank->objectives_most);
    }
    return EVOCC_OK;
}

static evocc_status normalise(evocc_search *s, const search_options *options, evocc_error *error)
{
    s->options = *options;
    search_options *o = &s->options;
    o->pool_size = o->pool_size == 0 ? 32 : o->pool_size;
    o->cull_size = o->cull_size == 0 ? 24 : o->cull_size;
    o->generations = o->generations == 0 ? 20 : o->generations;
    o->mutate_rate = o->mutate_rate == 0 ? 0.1 : o->mutate_rate;
    s->tuning = o->tuning != NULL ? *o->tuning : search_tuning_default;
    evocc_status status = check_numbers(o, error);
    if (status == EVOCC_OK) {
        status = take_objectives(s, options, error);
    }
    return status == EVOCC_OK ? choose_ranking(s, error) : status;
}

static evocc_status copy_seeds(evocc_search *s, const search_options *options, evocc_error *error)
{
    size_t most = s->options.pool_size / 4;
    s->seed_count = options->seed_count < most ? options->seed_count : most;
    s->seeds = mem_alloc(s->seed_count, s->gene_count * sizeof *s->seeds);
    s->child = mem_alloc(s->gene_count, sizeof *s->child);
    if (s->seeds == NULL || s->child == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < s->seed_count; i++) {
        memcpy(s->seeds + i * s->gene_count, options->seeds[i], s->gene_count * sizeof *s->seeds);
    }
    return EVOCC_OK;
}

static evocc_status make_forest(evocc_search *s, evocc_error *error)
{
    if (!s->options.prescreen) {
        return EVOCC_OK;
    }
    evocc_status status = forest_init(&s->forest, &s->vary, error);
    s->forest_values = mem_alloc(FOREST_ROWS, s->ranked_count * sizeof *s->forest_values);
    s->forest_valid = mem_alloc(FOREST_ROWS, sizeof *s->forest_valid);
    if (status == EVOCC_OK && (s->forest_values == NULL || s->forest_valid == NULL)) {
        status = error_no_memory(error);
    }
    return status;
}

/* Most questions that may be open or not merged yet. */
static size_t flight_room(const search_options *o)
{
    size_t room = o->pool_size > o->cull_size ? o->pool_size : o->cull_size;
    return (room > o->lag ? room : o->lag) + 1;
}

static evocc_status make_ranking(evocc_search *s, evocc_error *error)
{
    double weights[SEARCH_OBJECTIVES_MAX];
    for (size_t i = 0; i < s->ranked_count; i++) {
        weights[i] = s->objectives[s->order[i]].weight;
    }
    size_t survivors = s->options.pool_size;
    ranking_setup setup = {s->ranked_count, weights, survivors,
                           2 * survivors + flight_room(&s->options)};
    return s->rank->create(&s->rank_state, &setup, error);
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
    size_t objectives = s->options.objective_count;
    if (status == EVOCC_OK) {
        status = pool_init(&s->pool, s->options.pool_size, flight_room(&s->options), s->gene_count,
                           objectives, error);
    }
    if (status == EVOCC_OK) {
        status = marginal_init(&s->marginal, &s->vary, objectives, s->ranked_count, error);
    }
    if (status == EVOCC_OK) {
        status = make_forest(s, error);
    }
    return status == EVOCC_OK ? make_ranking(s, error) : status;
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
    s->archive.ranked_count = s->ranked_count;
    rng_seed(&s->rng, s->options.seed);
    walk_init(&s->walk, space, rng_next(&s->rng));
    s->initial = true;
    s->generation_end = s->options.pool_size;
    *out = s;
    return EVOCC_OK;
}

const search_options *search_get_options(const evocc_search *s)
{
    return &s->options;
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
    seen_dispose(&s->seen);
    forest_dispose(&s->forest);
    marginal_dispose(&s->marginal);
    pool_dispose(&s->pool);
    variation_dispose(&s->vary);
    mem_free(s->forest_values);
    mem_free(s->forest_valid);
    mem_free(s->seeds);
    mem_free(s->child);
    mem_free(s);
}

/* ---- Questions ------------------------------------------------------------------------------- */

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
    evocc_status status = advance(s, error);
    if (status != EVOCC_OK) {
        return status;
    }
    individual *one = pool_launch(&s->pool, s->asked);
    status = propose(s, one, error);
    if (status != EVOCC_OK) {
        pool_abort(&s->pool);
        s->exhausted = status == EVOCC_EXHAUSTED;
        return status;
    }
    one->generation = s->generation;
    one->controls = count_controls(one->genes, s->gene_count);
    if (one->repeat_of == INDIVIDUAL_NONE) {
        seen_add(&s->seen, space_hash(s->space, one->genes));
    }
    *out = (search_candidate){one->id, one->generation, one->genes, one->repeat_of};
    s->asked++;
    return EVOCC_OK;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Fills in values and violation; false when a number is missing. */
static bool take_values(const evocc_search *s, individual *one, const double *values)
{
    for (size_t i = 0; i < s->options.objective_count; i++) {
        double value = values[s->order[i]];
        if (!isfinite(value)) {
            return false;
        }
        one->values[i] = s->objectives[s->order[i]].maximize ? -value : value;
    }
    one->violation = violation_of(s, one->values);
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
    if (valid && one->repeat_of == INDIVIDUAL_NONE) {
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

/* ---- Reading --------------------------------------------------------------------------------- */

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

bool search_front_values(double *out, const evocc_search *s, uint64_t id)
{
    const archive_entry *entry = archive_find(&s->archive, id);
    for (size_t i = 0; entry != NULL && i < s->options.objective_count; i++) {
        double value = entry->as.values[i];
        out[s->order[i]] = s->objectives[s->order[i]].maximize ? -value : value;
    }
    return entry != NULL;
}

void search_get_progress(search_progress *out, const evocc_search *s)
{
    const search_options *o = &s->options;
    uint64_t budget = o->pool_size + (uint64_t)o->cull_size * (o->generations - 1);
    *out = (search_progress){
        .generation = s->generation,
        .generations = (uint32_t)o->generations,
        .asked = s->asked,
        .told = s->told,
        .valid = s->valid,
        .budget = o->max_trials > 0 && o->max_trials < budget ? o->max_trials : budget,
        .stale = s->stale,
        .diversity = s->diversity,
        .target_reached = s->target_reached,
        .restarted = s->pool.elders.count > 0,
    };
}

void search_importance(double *out, const evocc_search *s, size_t objective)
{
    for (size_t i = 0; i < s->options.objective_count; i++) {
        if (s->order[i] == objective) {
            marginal_importance(&s->marginal, i, out);
        }
    }
}

evocc_status search_front_hypervolume(double *out, const evocc_search *s, const double *reference,
                                      evocc_error *error)
{
    size_t m = s->ranked_count;
    if (m < 2 || m > HYPERVOLUME_OBJECTIVES_MAX) {
        return error_set(error, EVOCC_UNSUPPORTED, "hypervolume is for 2 to %d objectives, not %zu",
                         HYPERVOLUME_OBJECTIVES_MAX, m);
    }
    size_t count = s->archive.count;
    double limits[HYPERVOLUME_OBJECTIVES_MAX];
    for (size_t k = 0; k < m; k++) {
        limits[k] = s->objectives[s->order[k]].maximize ? -reference[k] : reference[k];
    }
    double *points = mem_alloc(count, m * sizeof *points);
    size_t *scratch = mem_alloc(hypervolume_scratch(count, m), sizeof *scratch);
    if (points == NULL || scratch == NULL) {
        mem_free(points);
        mem_free(scratch);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(points + i * m, s->archive.entries[i]->as.values, m * sizeof *points);
    }
    *out = hypervolume(points, count, m, limits, scratch);
    mem_free(points);
    mem_free(scratch);
    return EVOCC_OK;
}

static uint64_t hash_individuals(const evocc_search *s, const individuals *list, bool answers,
                                 uint64_t hash)
{
    for (size_t i = 0; i < list->count; i++) {
        const individual *one = list->items[i];
        uint64_t facts[] = {one->id, answers ? (uint64_t)one->state : 0,
                            answers ? one->measurements : 0};
        hash = hash64(facts, sizeof facts, hash);
        hash = hash64(one->genes, s->gene_count * sizeof *one->genes, hash);
        if (answers && one->state == INDIVIDUAL_VALID) {
            hash = hash64(one->values, s->options.objective_count * sizeof(double), hash);
        }
    }
    return hash;
}

/* With a lag, answers may be there that no question has looked at yet: how many depends on who was
   quick, so they are left out. */
uint64_t search_fingerprint(const evocc_search *s)
{
    bool all = s->options.lag == 0;
    uint64_t facts[] = {s->asked,      all ? s->told : 0, all ? s->valid : 0, s->generation,
                        s->seen.count, s->pool_stale,     s->walk.visited,    s->marginal.count};
    uint64_t hash = hash64(s->rng.state, sizeof s->rng.state, 0);
    hash = hash64(facts, sizeof facts, hash);
    hash = hash_individuals(s, &s->pool.members, true, hash);
    hash = hash_individuals(s, &s->pool.elders, true, hash);
    return hash_individuals(s, &s->pool.flight, all, hash);
}
