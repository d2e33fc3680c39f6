#include "study/internal.h"

#include "evaluate/evaluate_workload.h"
#include "gpu/driver.h"
#include "util/clock.h"
#include "util/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void study_objective_values(double *values, const study *s, const double *metrics)
{
    size_t count;
    const evaluate_metric_info *infos = study_metrics(s, &count);
    for (size_t i = 0; i < s->objectives.count; i++) {
        values[i] = (double)NAN;
        for (size_t m = 0; m < count; m++) {
            if (strcmp(infos[m].name, s->objectives.items[i].metric) == 0) {
                values[i] = metrics[m];
            }
        }
    }
}

/* Counts a told trial and keeps the best gain for the progress line. */
static void account(study *s, uint64_t id, evocc_outcome outcome, const double *values)
{
    s->trials++;
    if (outcome != EVOCC_OUTCOME_OK) {
        return;
    }
    s->valid++;
    if (id == 0) {
        memcpy(s->baseline_values, values, sizeof s->baseline_values);
        memcpy(s->best_values, values, sizeof s->best_values);
        s->best_gain = 1;
        return;
    }
    double gain = objective_list_gain(&s->objectives, s->baseline_values, values);
    if (gain > s->best_gain) {
        s->best_gain = gain;
        memcpy(s->best_values, values, sizeof s->best_values);
    }
}

void study_report_progress(const run *r)
{
    const study *s = r->study;
    if (r->progress == NULL) {
        return;
    }
    search_progress state;
    search_get_progress(&state, s->search);
    double elapsed = clock_now_s() - r->started_s;
    double rate = elapsed > 0 ? (double)r->evaluated / elapsed : 0;
    evaluate_statistics statistics = {0};
    if (s->evaluator->class->statistics != NULL) {
        s->evaluator->class->statistics(&statistics, s->evaluator);
    }
    double searched = (r->searched_s > 0 ? r->searched_s : clock_now_s()) - r->search_s;
    study_progress progress = {
        .phase = r->phase,
        .busy = study_gpu(s) != NULL && searched > 0 ? statistics.busy_s / searched : (double)NAN,
        .measured = statistics.measured,
        .pairs = r->pairs,
        .pairs_most = r->pairs_most,
        .generation = state.generation,
        .generations = state.generations,
        .trials = s->trials,
        .budget = state.budget,
        .valid = s->valid,
        .shared = s->shared,
        .gain = s->best_gain,
        .baseline = s->baseline_values[0],
        .best = s->best_values[0],
        .metric = s->objectives.items[0].metric,
        .trials_per_s = rate,
        .left_s = rate > 0 ? (double)(state.budget - s->trials) / rate : (double)NAN,
        .elapsed_s = elapsed,
    };
    r->progress(&progress, r->context);
}

/* Whether a trial's code was seen before; remembers it otherwise. */
static evocc_status note_code(bool *seen, study *s, const char *hash, uint64_t id,
                              evocc_error *error)
{
    size_t length = strlen(hash);
    *seen = length > 0 && map_get(&s->codes, hash, length) != MAP_NONE;
    if (length > 0 && !*seen) {
        const char *key = arena_strdup(&s->texts, hash);
        if (key == NULL || !map_put(&s->codes, key, length, (size_t)id)) {
            return error_no_memory(error);
        }
    }
    return EVOCC_OK;
}

static evocc_status save_elapsed(run *r, evocc_error *error)
{
    strbuf text = {0};
    r->saved_s = clock_now_s();
    strbuf_number(&text, r->study->elapsed_before_s + r->saved_s - r->started_s);
    evocc_status status = text.failed
                              ? error_no_memory(error)
                              : store_set(r->study->store, "elapsed_s", strbuf_text(&text), error);
    strbuf_dispose(&text);
    return status;
}

/* The measurements behind the metrics. They follow the trial: one without them is whole. */
static evocc_status put_samples(study *s, uint64_t trial, const evaluate_result *result,
                                evocc_error *error)
{
    size_t count;
    size_t positions[EVALUATE_METRICS_MAX] = {0};
    const evaluate_metric_info *infos = study_metrics(s, &count);
    store_sample *samples = mem_alloc(result->sample_count, sizeof *samples);
    if (samples == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < result->sample_count; i++) {
        uint32_t metric = result->samples[i].metric;
        samples[i] = (store_sample){.trial = trial,
                                    .metric = infos[metric].name,
                                    .purpose = STORE_FOR_SEARCH,
                                    .position = positions[metric]++,
                                    .baseline = (double)NAN,
                                    .value = result->samples[i].value};
    }
    evocc_status status = store_add_samples(s->store, samples, result->sample_count, error);
    mem_free(samples);
    return status;
}

evocc_status study_put_trial(run *r, const struct flight *flight, const evaluate_result *result,
                             evocc_error *error)
{
    study *s = r->study;
    bool seen = false;
    evocc_status status = note_code(&seen, s, result->code_hash, flight->id, error);
    if (status != EVOCC_OK) {
        return status;
    }
    s->shared += seen;
    size_t count;
    const evaluate_metric_info *infos = study_metrics(s, &count);
    store_trial trial = {
        .id = flight->id,
        .generation = flight->generation,
        .outcome = result->outcome,
        .candidate = flight->candidate,
        .code_hash = result->code_hash,
        .detail = result->detail,
        .command = result->command,
        .wall_s = result->wall_s,
        .shared = seen,
        .metric_count = result->outcome == EVOCC_OUTCOME_OK ? count : 0,
    };
    for (size_t i = 0; i < count; i++) {
        trial.metric_names[i] = infos[i].name;
        trial.metrics[i] = result->metrics[i];
    }
    status = store_add_trial(s->store, &trial, error);
    if (status == EVOCC_OK && result->sample_count > 0) {
        status = put_samples(s, flight->id, result, error);
    }
    if (status == EVOCC_OK && clock_now_s() - r->saved_s > 1) {
        status = save_elapsed(r, error);
    }
    return status;
}

/* On disk first, then told. */
static evocc_status record(run *r, const struct flight *flight, const evaluate_result *result,
                           evocc_error *error)
{
    study *s = r->study;
    double values[OBJECTIVE_COUNT_MAX] = {0};
    study_objective_values(values, s, result->metrics);
    evocc_status status = study_put_trial(r, flight, result, error);
    if (status == EVOCC_OK) {
        status = search_tell(s->search, flight->id, result->outcome, values, error);
    }
    if (status == EVOCC_OK) {
        account(s, flight->id, result->outcome, values);
        r->evaluated++;
        study_report_progress(r);
    }
    return status;
}

static void flight_clear(struct flight *flight)
{
    mem_free(flight->candidate);
    *flight = (struct flight){0};
}

static evocc_status submit(run *r, const search_candidate *candidate, char *text,
                           evocc_error *error)
{
    for (size_t i = 0; i < r->study->evaluator->capacity; i++) {
        struct flight *flight = &r->flights[i];
        if (!flight->used) {
            *flight = (struct flight){true, candidate->id, candidate->generation, text};
            evaluator *e = r->study->evaluator;
            return e->class->submit(e, candidate->id, candidate->genes, error);
        }
    }
    mem_free(text);
    return error_set(error, EVOCC_INVALID_ARGUMENT, "more candidates than the evaluator takes");
}

/* The answer to one submitted candidate. */
static evocc_status take_result(run *r, evocc_error *error)
{
    evaluator *e = r->study->evaluator;
    evaluate_result result = {0};
    evocc_status status = e->class->wait(e, -1, r->wake_fd, &result, error);
    if (status != EVOCC_OK) {
        return status;
    }
    struct flight *flight = NULL;
    for (size_t i = 0; i < r->study->evaluator->capacity; i++) {
        if (r->flights[i].used && r->flights[i].id == result.id) {
            flight = &r->flights[i];
        }
    }
    if (flight == NULL) {
        status = error_set(error, EVOCC_DAMAGED, "an answer to trial %" PRIu64 " nobody asked for",
                           result.id);
    } else {
        status = record(r, flight, &result, error);
        flight_clear(flight);
    }
    evaluate_result_dispose(&result);
    return status;
}

/* A trial that the study file holds is told, not evaluated; the same questions must come again. */
static evocc_status replay(study *s, const search_candidate *candidate, const char *text,
                           evocc_error *error)
{
    const study_known *known = &s->known[candidate->id];
    if (!hash128_equal(known->candidate, hash128_of(text, strlen(text), 0))) {
        return error_set(error, EVOCC_MISMATCH,
                         "%s: this evocc would ask another trial %" PRIu64
                         " than the study file holds: resume with the evocc that began it",
                         s->path, candidate->id);
    }
    evocc_status status =
        search_tell(s->search, candidate->id, known->outcome, known->values, error);
    if (status == EVOCC_OK) {
        account(s, candidate->id, known->outcome, known->values);
    }
    return status;
}

/* The state of generator and pool at the start of each generation is in the store: a resumed run
   must pass through the same. */
static evocc_status check_fingerprint(study *s, uint32_t generation, evocc_error *error)
{
    if (generation == s->generation) {
        return EVOCC_OK;
    }
    s->generation = generation;
    char name[40];
    char now[24];
    char *then = NULL;
    snprintf(name, sizeof name, "generation_%" PRIu32 "_state", generation);
    snprintf(now, sizeof now, "%016" PRIx64, search_fingerprint(s->search));
    evocc_status status = store_get(&then, s->store, name, error);
    if (status == EVOCC_NOT_FOUND) {
        return store_set(s->store, name, now, error);
    }
    if (status == EVOCC_OK && strcmp(then, now) != 0) {
        status = error_set(error, EVOCC_MISMATCH,
                           "%s: the search at generation %" PRIu32
                           " is not what it was: resume with the evocc that began it",
                           s->path, generation);
    }
    mem_free(then);
    return status;
}

/* Asks once. *submitted tells whether a candidate went to the evaluator. */
static evocc_status ask_one(run *r, bool *submitted, evocc_error *error)
{
    study *s = r->study;
    search_candidate candidate;
    *submitted = false;
    evocc_status status = search_ask(&candidate, s->search, error);
    if (status == EVOCC_OK) {
        status = check_fingerprint(s, candidate.generation, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    strbuf text = {0};
    space_candidate_text(&text, s->space, candidate.genes);
    char *copy = strbuf_take(&text);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    if (candidate.id < s->known_count && s->known[candidate.id].present) {
        status = replay(s, &candidate, copy, error);
        mem_free(copy);
        return status;
    }
    *submitted = true;
    return submit(r, &candidate, copy, error);
}

/* Nothing can be won where every objective is a count that is to fall and is 0. */
static bool is_ideal(const study *s, const double *values)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        if (s->objectives.items[i].maximize || values[i] > 0) {
            return false;
        }
    }
    return true;
}

/* Trials that the study file holds are told however late it is; but what stands behind the end of
   the search there belongs to study_trim. */
static bool time_is_up(const run *r)
{
    const study *s = r->study;
    search_progress progress;
    search_get_progress(&progress, s->search);
    if (s->time_up_at > 0) {
        return progress.asked >= s->time_up_at;
    }
    bool known = progress.asked < s->known_count && s->known[progress.asked].present;
    double elapsed = s->elapsed_before_s + clock_now_s() - r->started_s;
    return s->max_time_s > 0 && elapsed >= s->max_time_s && !known;
}

static evocc_status note_time_up(run *r, evocc_error *error)
{
    search_progress progress;
    search_get_progress(&progress, r->study->search);
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, progress.asked);
    r->ended = "time";
    return store_set(r->study->store, "time_up_at", text, error);
}

/* Why the search asks no more. */
static const char *end_of(const study *s, evocc_status status)
{
    search_progress progress;
    search_get_progress(&progress, s->search);
    if (status == EVOCC_EXHAUSTED) {
        return "exhausted";
    }
    if (is_ideal(s, s->best_values) || progress.target_reached) {
        return "target";
    }
    uint32_t stale = s->search_options.stale_generations;
    return stale > 0 && progress.stale >= stale ? "stale" : "budget";
}

/* Keeps the evaluator busy until the search has no more to ask and all is answered. */
static evocc_status search_to_end(run *r, evocc_error *error)
{
    evaluator *e = r->study->evaluator;
    for (;;) {
        evocc_status status = EVOCC_OK;
        bool submitted;
        bool late = false;
        while (status == EVOCC_OK && !late && e->in_flight < e->capacity) {
            late = time_is_up(r);
            status = late ? EVOCC_OK : ask_one(r, &submitted, error);
        }
        bool over = late || status == EVOCC_DONE || status == EVOCC_EXHAUSTED;
        if (over && e->in_flight == 0) {
            if (late) {
                return note_time_up(r, error);
            }
            r->ended = end_of(r->study, status);
            return EVOCC_OK;
        }
        if (status != EVOCC_OK && status != EVOCC_WAIT && !over) {
            return status;
        }
        status = take_result(r, error);
        if (status == EVOCC_OK) {
            status = study_check_first_pool(r->study, error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
    }
}

/* The baseline comes alone: nothing is worth compiling when it fails, and the deadline of the
   others follows from its time. */
static evocc_status run_baseline(run *r, bool *fresh, evocc_error *error)
{
    evocc_status status = ask_one(r, fresh, error);
    if (status == EVOCC_OK && *fresh) {
        status = take_result(r, error);
    }
    return status;
}

typedef struct baseline_record {
    evocc_outcome outcome;
    char detail[EVOCC_ERROR_SIZE / 2];
    char code_hash[HASH_SHA256_TEXT];
    double wall_s;
} baseline_record;

static evocc_status read_baseline(const store_trial *trial, void *context, evocc_error *error)
{
    (void)error;
    baseline_record *record = context;
    if (trial->id == 0) {
        record->outcome = trial->outcome;
        snprintf(record->detail, sizeof record->detail, "%s", trial->detail);
        record->wall_s = trial->wall_s;
        snprintf(record->code_hash, sizeof record->code_hash, "%s", trial->code_hash);
    }
    return EVOCC_DONE; /* ids rise: the first is all that is wanted */
}

/* A resumed study compiles its baseline again: the evaluator judges the others by it, and a
   compiler that gives other code than it gave is another one, whatever it says of itself. */
static evocc_status compile_baseline_again(study *s, const baseline_record *then,
                                           evocc_error *error)
{
    evaluate_result now = {0};
    evocc_status status = study_evaluate(&now, s, "", error);
    if (status == EVOCC_OK &&
        (now.outcome != then->outcome || strcmp(now.code_hash, then->code_hash) != 0)) {
        status = error_set(error, EVOCC_MISMATCH,
                           "%s: the baseline compiles to other machine code than when the study "
                           "began: start a new study with --study",
                           s->path);
    }
    evaluate_result_dispose(&now);
    return status;
}

static evocc_status check_baseline(study *s, bool fresh, evocc_error *error)
{
    baseline_record baseline = {.outcome = EVOCC_OUTCOME_CANCELLED};
    evocc_status status = store_each_trial(s->store, read_baseline, &baseline, error);
    if (status != EVOCC_DONE && status != EVOCC_OK) {
        return status;
    }
    if (baseline.outcome != EVOCC_OUTCOME_OK) {
        return error_set(error, EVOCC_PROCESS,
                         "the baseline does not %s (%s), so there is nothing to compare with: %s",
                         study_gpu(s) != NULL || s->is_program ? "run" : "compile",
                         evocc_outcome_name(baseline.outcome), baseline.detail);
    }
    for (size_t i = 0; i < s->objectives.count; i++) {
        if (isnan(s->baseline_values[i])) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "%s %s does not report %s, so it cannot be an objective",
                             s->compiler.path, s->compiler.version, s->objectives.items[i].metric);
        }
    }
    if (s->deadline_s <= 0) {
        s->evaluator->deadline_s = s->compiling->deadline_s = fmax(60, 10 * baseline.wall_s);
    }
    if (!fresh) {
        status = compile_baseline_again(s, &baseline, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return evaluate_canary(s->evaluator, s->space, baseline.code_hash, error);
}

/* Machine code of the baseline and of the front, so that the file shows what was found. */
static evocc_status keep_code(study *s, const char *name, const int32_t *genes, evocc_error *error)
{
    char *code = NULL;
    size_t length = 0;
    evocc_status status = study_build_code(&code, &length, s, genes, error);
    if (status == EVOCC_OK) {
        status = store_put_artifact(s->store, name, code, length, error);
    }
    mem_free(code);
    return status;
}

static evocc_status keep_artifacts(study *s, evocc_error *error)
{
    report_summary *summary = NULL;
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    evocc_status status =
        genes == NULL ? error_no_memory(error) : study_summary(&summary, s, error);
    for (size_t i = 0; status == EVOCC_OK && i <= summary->front_count; i++) {
        /* Past the end comes the baseline, which may be in the front as well: once is enough. */
        bool last = i == summary->front_count;
        if (!last && summary->front[i].id == 0) {
            continue;
        }
        char name[40];
        snprintf(name, sizeof name, "code_%" PRIu64, last ? 0 : summary->front[i].id);
        status =
            space_candidate_parse(genes, s->space, last ? "" : summary->front[i].candidate, error);
        if (status == EVOCC_OK) {
            status = keep_code(s, name, genes, error);
        }
    }
    report_summary_free(summary);
    mem_free(genes);
    return status;
}

/* A full disk and the like stop a study without an end. */
static void say_what_is_kept(const study *s, evocc_error *error)
{
    if (error == NULL || error->status != EVOCC_IO || s->worthless) {
        return;
    }
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used,
             "; finished trials are kept: when that is mended, evocc tune --resume %s", s->path);
}

/* What the GPU was seen in, and how long it was at work: added up over the runs of a study. */
static evocc_status save_measuring(const run *r, evocc_error *error)
{
    study *s = r->study;
    if (study_gpu(s) == NULL) {
        return EVOCC_OK;
    }
    evaluate_statistics k;
    s->evaluator->class->statistics(&k, s->evaluator);
    gpu_conditions c = evaluate_workload_conditions(s->evaluator);
    char slowed[120];
    nvml_throttle_text(slowed, sizeof slowed, c.throttle_reasons);
    strbuf text = {0};
    strbuf_printf(&text, "SM %.0f MHz, memory %.0f MHz, %.0f C, %.0f W%s%s", c.sm_clock_hz / 1e6,
                  c.memory_clock_hz / 1e6, c.temperature_c, c.power_w,
                  *slowed != '\0' ? ", slowed by: " : "", slowed);
    evocc_status status = text.failed
                              ? error_no_memory(error)
                              : store_set(s->store, "gpu_conditions", strbuf_text(&text), error);
    strbuf_clear(&text);
    strbuf_printf(&text,
                  "%zu candidates measured in %.3g s of search, GPU at work for %.3g s, %zu "
                  "workers replaced, baseline from %.6g to %.6g s",
                  k.measured, r->searched_s - r->search_s, k.busy_s, k.replacements,
                  k.baseline_low_s, k.baseline_high_s);
    if (status == EVOCC_OK && k.measured > 1) { /* a run that only looked again says nothing */
        status = text.failed ? error_no_memory(error)
                             : store_set(s->store, "gpu_search", strbuf_text(&text), error);
    }
    strbuf_dispose(&text);
    return status;
}

static evocc_status finish(run *r, evocc_error *error)
{
    evocc_status status = save_elapsed(r, error);
    if (status == EVOCC_OK) {
        status = save_measuring(r, error);
    }
    if (status == EVOCC_OK) {
        status = keep_artifacts(r->study, error);
    }
    if (status == EVOCC_OK) {
        status = store_set(r->study->store, "ended", r->ended, error);
    }
    return status;
}

evocc_status study_run(study *s, study_progress_function progress, void *context, int wake_fd,
                       evocc_error *error)
{
    run r = {.study = s, .progress = progress, .context = context, .wake_fd = wake_fd};
    r.phase = "search";
    r.started_s = r.search_s = r.saved_s = clock_now_s();
    r.flights = mem_alloc(s->evaluator->capacity, sizeof *r.flights);
    if (r.flights == NULL) {
        return error_no_memory(error);
    }
    bool fresh = false;
    evocc_status status = run_baseline(&r, &fresh, error);
    s->worthless = fresh && status == EVOCC_INVALID_ARGUMENT; /* the GPU refuses the baseline */
    if (status == EVOCC_OK) {
        status = check_baseline(s, fresh, error);
        s->worthless = fresh && status != EVOCC_OK && status != EVOCC_INTERRUPTED;
    }
    if (status == EVOCC_OK && is_ideal(s, s->baseline_values)) {
        r.ended = "ideal";
    } else if (status == EVOCC_OK) {
        status = study_make_variants(s, wake_fd, error);
    }
    if (status == EVOCC_OK && r.ended == NULL) {
        r.search_s = clock_now_s();
        status = search_to_end(&r, error);
        r.searched_s = clock_now_s();
        if (status == EVOCC_OK) {
            status = study_trim(&r, error);
        }
        if (status == EVOCC_OK) {
            status = study_compare_best(&r, error);
        }
    }
    if (status == EVOCC_OK) {
        status = finish(&r, error);
    } else {
        save_elapsed(&r, NULL);
        say_what_is_kept(s, error);
    }
    for (size_t i = 0; i < s->evaluator->capacity; i++) {
        mem_free(r.flights[i].candidate);
    }
    mem_free(r.flights);
    return status;
}

const char *study_path(const study *s)
{
    return s->path;
}

const evaluate_metric_info *study_metrics(const study *s, size_t *count)
{
    *count = s->metric_count;
    return s->metric_rows;
}

size_t study_control_count(const study *s)
{
    return space_count(s->space);
}

size_t study_worker_count(const study *s)
{
    return s->workers;
}

const char *study_compiler_path(const study *s)
{
    return s->compiler.path;
}

evocc_status study_summary(report_summary **out, study *s, evocc_error *error)
{
    return report_summary_load(out, s->store, s->path, UINT64_MAX, error);
}

const char *const *study_base(const study *s, size_t *count)
{
    *count = s->base_count;
    return (const char *const *)s->base;
}

bool study_allows_numerics(const study *s)
{
    return s->allow_numerics;
}

const evocc_space *study_space(const study *s)
{
    return s->space;
}

static evocc_status parse_candidate(int32_t **out, const study *s, const char *candidate,
                                    evocc_error *error)
{
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    evocc_status status = genes == NULL ? error_no_memory(error)
                                        : space_candidate_parse(genes, s->space, candidate, error);
    if (status == EVOCC_OK) {
        space_canonicalise(s->space, genes); /* what is dormant is not applied, as in a search */
        status = space_check(s->space, genes, error);
    }
    if (status != EVOCC_OK) {
        mem_free(genes);
        return status;
    }
    *out = genes;
    return EVOCC_OK;
}

evocc_status study_evaluate(evaluate_result *out, study *s, const char *candidate,
                            evocc_error *error)
{
    int32_t *genes = NULL;
    evocc_status status = parse_candidate(&genes, s, candidate, error);
    if (status == EVOCC_OK) {
        status = s->evaluator->class->submit(s->evaluator, 0, genes, error);
    }
    if (status == EVOCC_OK) {
        status = s->evaluator->class->wait(s->evaluator, -1, -1, out, error);
    }
    mem_free(genes);
    return status;
}

evocc_status study_compile(char **out, size_t *length, study *s, const char *candidate,
                           evocc_error *error)
{
    int32_t *genes = NULL;
    evocc_status status = parse_candidate(&genes, s, candidate, error);
    if (status == EVOCC_OK) {
        status = study_build_code(out, length, s, genes, error);
    }
    mem_free(genes);
    return status;
}

evocc_status study_launches(gpu_launch **out, study *s, const char *candidate, evocc_error *error)
{
    int32_t *genes = NULL;
    *out = NULL;
    evocc_status status = parse_candidate(&genes, s, candidate, error);
    if (status == EVOCC_OK && s->kernel_run.workload != NULL) {
        status = study_launches_of(out, s, genes, error);
    }
    mem_free(genes);
    return status;
}
