/* The public functions of include/evocc/evocc.h, section "Search". */
#include "search/internal.h"

#include "util/error.h"

#include <string.h>

/* An older caller's options are shorter: what it does not know is zero, the default. A newer one's
   are longer: fine as long as it asks for nothing this library does not know. */
evocc_status search_take_options(evocc_search_options *out, const evocc_search_options *options,
                                 evocc_error *error)
{
    size_t size = options->struct_size;
    if (size < offsetof(evocc_search_options, pool_size)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "struct_size is %zu: begin with EVOCC_SEARCH_OPTIONS", size);
    }
    *out = (evocc_search_options){0};
    memcpy(out, options, size < sizeof *out ? size : sizeof *out);
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = sizeof *out; i < size; i++) {
        if (bytes[i] != 0) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "an option is set that this version (%s) does not know",
                             evocc_version());
        }
    }
    if (out->objective_count > SEARCH_OBJECTIVES_MAX ||
        (out->objective_count > 0 && out->objectives == NULL) ||
        (out->seed_count > 0 && out->seeds == NULL)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "objectives or seeds are missing, or more than %d objectives",
                         SEARCH_OBJECTIVES_MAX);
    }
    return EVOCC_OK;
}

evocc_status evocc_search_new(evocc_search **out, const evocc_space *space,
                              const evocc_search_options *options, evocc_error *error)
{
    *out = NULL;
    evocc_search_options o;
    evocc_status status = search_take_options(&o, options, error);
    if (status != EVOCC_OK) {
        return status;
    }
    search_objective objectives[SEARCH_OBJECTIVES_MAX];
    for (size_t i = 0; i < o.objective_count; i++) {
        const evocc_objective *from = &o.objectives[i];
        objectives[i] = (search_objective){.maximize = from->maximize,
                                           .weight = from->weight,
                                           .limited = from->limited,
                                           .limit_only = from->limit_only,
                                           .limit = from->limit,
                                           .has_target = from->has_target,
                                           .target = from->target};
    }
    search_options inside = {.pool_size = o.pool_size,
                             .cull_size = o.cull_size,
                             .generations = o.generations,
                             .mutate_rate = o.mutate_rate,
                             .seed = o.seed,
                             .objectives = objectives,
                             .objective_count = o.objective_count,
                             .lag = o.lag,
                             .survival = (search_survival)o.survival,
                             .repeat_share = o.repeat_share,
                             .prescreen = o.prescreen,
                             .max_trials = o.max_trials,
                             .stale_generations = o.stale_generations,
                             .seeds = o.seeds,
                             .seed_count = o.seed_count,
                             .filter = o.allowed,
                             .filter_context = o.allowed_context};
    return search_new(out, space, &inside, error);
}

void evocc_search_free(evocc_search *search)
{
    search_free(search);
}

evocc_status evocc_search_ask(evocc_trial *out, evocc_search *search, evocc_error *error)
{
    search_candidate candidate;
    evocc_status status = search_ask(&candidate, search, error);
    if (status == EVOCC_OK) {
        *out = (evocc_trial){.id = candidate.id,
                             .repeat_of = candidate.repeat_of,
                             .genes = candidate.genes,
                             .generation = candidate.generation};
    }
    return status;
}

evocc_status evocc_search_tell(evocc_search *search, uint64_t id, evocc_outcome outcome,
                               const double *values, evocc_error *error)
{
    return search_tell(search, id, outcome, values, error);
}

/* A cancelled evaluation leaves its trial open: it is evaluated first when the loop goes on. */
static bool open_trial(evocc_trial *out, const evocc_search *s)
{
    for (size_t i = 0; i < s->pool.flight.count; i++) {
        const individual *one = s->pool.flight.items[i];
        if (one->state == INDIVIDUAL_ASKED) {
            *out = (evocc_trial){one->id, one->repeat_of, one->genes, one->generation};
            return true;
        }
    }
    return false;
}

evocc_status evocc_search_run(evocc_search *search, evocc_evaluate *evaluate, void *context,
                              evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK) {
        evocc_trial trial;
        if (!open_trial(&trial, search)) {
            status = evocc_search_ask(&trial, search, error);
        }
        if (status != EVOCC_OK) {
            break;
        }
        double values[SEARCH_OBJECTIVES_MAX] = {0};
        evocc_outcome outcome = evaluate(context, values, &trial);
        if (outcome == EVOCC_OUTCOME_CANCELLED) {
            return error_set(error, EVOCC_INTERRUPTED, "the evaluation of trial %llu was cancelled",
                             (unsigned long long)trial.id);
        }
        status = search_tell(search, trial.id, outcome, values, error);
    }
    return status == EVOCC_DONE || status == EVOCC_EXHAUSTED ? EVOCC_OK : status;
}

const uint64_t *evocc_search_front(const evocc_search *search, size_t *count)
{
    return search_front(search, count);
}

const int32_t *evocc_search_front_genes(const evocc_search *search, uint64_t id)
{
    return search_front_genes(search, id);
}

evocc_status evocc_search_front_values(double *out, const evocc_search *search, uint64_t id,
                                       evocc_error *error)
{
    if (!search_front_values(out, search, id)) {
        return error_set(error, EVOCC_NOT_FOUND, "trial %llu is not in the front",
                         (unsigned long long)id);
    }
    return EVOCC_OK;
}

void evocc_search_get_progress(evocc_progress *out, const evocc_search *search)
{
    search_progress progress;
    search_get_progress(&progress, search);
    *out = (evocc_progress){.asked = progress.asked,
                            .told = progress.told,
                            .valid = progress.valid,
                            .budget = progress.budget,
                            .generation = progress.generation,
                            .generations = progress.generations,
                            .stale = progress.stale,
                            .diversity = progress.diversity};
}

evocc_status evocc_search_importance(double *out, const evocc_search *search, size_t objective,
                                     evocc_error *error)
{
    if (objective >= search->options.objective_count) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "the search has %zu objectives, not %zu",
                         search->options.objective_count, objective + 1);
    }
    search_importance(out, search, objective);
    return EVOCC_OK;
}
