/*
 * final.c: the end of a study that measured times. The fastest of hundreds of noisy measurements is
 * faster than it is, so the search's own numbers choose nobody and claim nothing:
 *
 * - of one objective the best few run beside the baseline in fresh processes; whoever does best
 * there is run again, and its gain is estimated on these new pairs alone;
 * - of several objectives every point of the front is run so, and those whose gain is sure in none
 * of them are not told apart from the baseline.
 *
 * All pairs go into the study file at once, at the end: a study that is broken off in between
 * begins this anew, one that is broken off behind it reads them.
 */
#include "study/internal.h"

#include "gpu/compare.h"
#include "util/clock.h"
#include "util/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* bench_stats has what these cost and give. */
enum { CHOICE_MAX = 4, CHOICE_PAIRS = 10, FRONT_MAX = 16, FRONT_PAIRS = 20 };

typedef struct finalist {
    uint64_t trial;
    double gain; /* as the search saw it */
    char *candidate;
    char code_hash[HASH_SHA256_TEXT];
    double metrics[EVALUATE_METRICS_MAX];
    char *code;
    size_t code_length;
    gpu_launch *launches;
    bool out; /* it failed when it was looked at again */
} finalist;

typedef struct pair {
    uint64_t trial;
    size_t metric;
    store_purpose purpose;
    double baseline, value;
} pair;

typedef struct final_round {
    run *run;
    finalist *items;
    size_t count, most;
    pair *pairs;
    size_t pair_count, pair_capacity;
    store_purpose purpose;    /* of the pairs that are being measured */
    const size_t *contenders; /* their indexes in `items` */
    size_t program_turn;      /* of a program: whose turn it is among them */
} final_round;

static bool is_runtime(const char *metric)
{
    return strncmp(metric, "runtime", 7) == 0 && (metric[7] == '\0' || metric[7] == '@');
}

static bool has_runtime(const study *s)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        if (is_runtime(s->objectives.items[i].metric)) {
            return true;
        }
    }
    return false;
}

static size_t metric_index(const study *s, const char *name)
{
    size_t i = 0;
    while (i < s->metric_count && strcmp(s->metric_rows[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* ---- Who ------------------------------------------------------------------------------------- */

static void finalist_dispose(finalist *f)
{
    mem_free(f->candidate);
    mem_free(f->code);
    mem_free(f->launches);
    *f = (finalist){0};
}

/* Sorted by gain; the last one makes room. */
static evocc_status insert(final_round *f, const finalist *who, evocc_error *error)
{
    size_t at = f->count;
    while (at > 0 && f->items[at - 1].gain < who->gain) {
        at--;
    }
    if (at == f->most) {
        return EVOCC_OK;
    }
    char *candidate = mem_strdup(who->candidate);
    if (candidate == NULL) {
        return error_no_memory(error);
    }
    if (f->count == f->most) {
        finalist_dispose(&f->items[--f->count]);
    }
    memmove(&f->items[at + 1], &f->items[at], (f->count - at) * sizeof *f->items);
    f->items[at] = *who;
    f->items[at].candidate = candidate;
    f->count++;
    return EVOCC_OK;
}

static evocc_status consider(const store_trial *trial, void *context, evocc_error *error)
{
    final_round *f = context;
    const study *s = f->run->study;
    double values[OBJECTIVE_COUNT_MAX];
    finalist who = {.trial = trial->id, .candidate = (char *)(uintptr_t)trial->candidate};
    if (trial->id == 0 || trial->outcome != EVOCC_OUTCOME_OK) {
        return EVOCC_OK;
    }
    for (size_t i = 0; i < EVALUATE_METRICS_MAX; i++) {
        who.metrics[i] = (double)NAN;
    }
    for (size_t i = 0; i < trial->metric_count; i++) {
        size_t index = metric_index(s, trial->metric_names[i]);
        if (index < s->metric_count) {
            who.metrics[index] = trial->metrics[i];
        }
    }
    snprintf(who.code_hash, sizeof who.code_hash, "%s", trial->code_hash);
    study_objective_values(values, s, who.metrics);
    who.gain = objective_list_gain(&s->objectives, s->baseline_values, values);
    bool alone = s->objectives.count == 1;
    for (size_t i = 0; i < f->count; i++) {
        const finalist *other = &f->items[i];
        if (alone && strcmp(other->code_hash, who.code_hash) == 0 && other->gain == who.gain) {
            return EVOCC_OK; /* the same code, launched alike */
        }
    }
    return who.gain > 1 || !alone ? insert(f, &who, error) : EVOCC_OK;
}

typedef struct front_filter {
    final_round *round;
    const report_summary *summary;
} front_filter;

static evocc_status consider_front(const store_trial *trial, void *context, evocc_error *error)
{
    const front_filter *filter = context;
    for (size_t i = 0; i < filter->summary->front_count; i++) {
        if (filter->summary->front[i].id == trial->id) {
            return consider(trial, filter->round, error);
        }
    }
    return EVOCC_OK;
}

static evocc_status choose_finalists(final_round *f, evocc_error *error)
{
    study *s = f->run->study;
    f->most = s->objectives.count == 1 ? CHOICE_MAX : FRONT_MAX;
    f->items = mem_alloc(f->most + 1, sizeof *f->items);
    if (f->items == NULL) {
        return error_no_memory(error);
    }
    if (s->objectives.count == 1) {
        return store_each_trial(s->store, consider, f, error);
    }
    report_summary *summary = NULL;
    evocc_status status = study_summary(&summary, s, error);
    if (status == EVOCC_OK) {
        front_filter filter = {f, summary};
        status = store_each_trial(s->store, consider_front, &filter, error);
    }
    report_summary_free(summary);
    return status;
}

/* Their code and launches. */
static evocc_status prepare(final_round *f, evocc_error *error)
{
    study *s = f->run->study;
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; !s->is_program && status == EVOCC_OK && i < f->count; i++) {
        finalist *who = &f->items[i];
        status = study_compile(&who->code, &who->code_length, s, who->candidate, error);
        if (status == EVOCC_OK) {
            status = study_launches(&who->launches, s, who->candidate, error);
        }
    }
    return status;
}

static gpu_request request_of(const finalist *who)
{
    return (gpu_request){
        .image = who->code, .image_length = who->code_length, .launches = who->launches};
}

/* Once more with all input seeds, in a process that none of the search's candidates has touched. */
static evocc_status check_again(final_round *f, evocc_error *error)
{
    gpu *g = f->run->study->kernel_run.gpus[0];
    strbuf failures = {0};
    evocc_status status = gpu_restart(g, false, error);
    for (size_t i = 0; status == EVOCC_OK && i < f->count; i++) {
        gpu_result result;
        gpu_request request = request_of(&f->items[i]);
        request.check = true;
        status = gpu_submit(g, &request, error);
        if (status == EVOCC_OK) {
            status = gpu_wait(g, -1, f->run->wake_fd, &result, error);
        }
        if (status == EVOCC_OK) {
            f->items[i].out = result.outcome != EVOCC_OUTCOME_OK;
            if (f->items[i].out) {
                strbuf_printf(&failures, "trial %" PRIu64 ": %s: %s\n", f->items[i].trial,
                              evocc_outcome_name(result.outcome), result.detail);
            }
            gpu_result_dispose(&result);
        }
    }
    if (status == EVOCC_OK && failures.length > 0) {
        status = failures.failed ? error_no_memory(error)
                                 : store_set(f->run->study->store, "failed_again",
                                             strbuf_text(&failures), error);
    }
    strbuf_dispose(&failures);
    return status;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static evocc_status keep_pair(final_round *f, const pair *p, evocc_error *error)
{
    if (!mem_grow(&f->pairs, &f->pair_capacity, f->pair_count + 1, sizeof *f->pairs)) {
        return error_no_memory(error);
    }
    f->pairs[f->pair_count++] = *p;
    return EVOCC_OK;
}

/* What one process says of one finalist: of all shapes together, and of each where there are
   several. */
static evocc_status note_pair(void *context, size_t candidate, const gpu_result *result,
                              evocc_error *error)
{
    final_round *f = context;
    const study *s = f->run->study;
    const finalist *who = &f->items[f->contenders[candidate]];
    pair p = {.trial = who->trial, .metric = EVALUATE_RUNTIME, .purpose = f->purpose};
    gpu_result_sides(&p.baseline, &p.value, result, &s->kernel_run.job);
    evocc_status status = keep_pair(f, &p, error);
    for (size_t m = EVALUATE_METRIC_COUNT; status == EVOCC_OK && m < s->metric_count; m++) {
        const gpu_timing *t = &result->timings[m - EVALUATE_METRIC_COUNT];
        p.metric = m;
        p.baseline = gpu_samples_median(t->baseline, t->baseline_count);
        p.value = gpu_samples_median(t->samples, t->sample_count);
        status = keep_pair(f, &p, error);
    }
    f->run->pairs++;
    study_report_progress(f->run);
    return status;
}

/* One pair of runs of a program. */
static evocc_status note_runs(void *context, double baseline_s, double tuned_s, evocc_error *error)
{
    final_round *f = context;
    const pair p = {.trial = f->items[f->contenders[f->program_turn]].trial,
                    .metric = EVALUATE_RUNTIME,
                    .purpose = f->purpose,
                    .baseline = baseline_s,
                    .value = tuned_s};
    f->run->pairs++;
    study_report_progress(f->run);
    return keep_pair(f, &p, error);
}

/* Programs run one after another; one that fails now is out. */
static evocc_status measure_programs(final_round *f, size_t count, const stats_plan *plan,
                                     evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        char detail[EVOCC_ERROR_SIZE];
        finalist *who = &f->items[f->contenders[i]];
        f->program_turn = i;
        status = study_compare_program(&who->out, detail, f->run->study, who->candidate, plan,
                                       f->run->wake_fd, note_runs, f, error);
    }
    return status;
}

static evocc_status measure_pairs(final_round *f, store_purpose purpose, const size_t *who,
                                  size_t count, const stats_plan *plan, evocc_error *error)
{
    run *r = f->run;
    gpu_request *requests = mem_alloc(count, sizeof *requests);
    gpu_comparison *results = mem_alloc(count, sizeof *results);
    evocc_status status = requests != NULL && results != NULL ? EVOCC_OK : error_no_memory(error);
    f->purpose = purpose;
    f->contenders = who;
    r->phase = store_purpose_name(purpose);
    r->pairs = 0;
    r->pairs_most = count * plan->max_pairs;
    if (status == EVOCC_OK && r->study->is_program) {
        status = measure_programs(f, count, plan, error);
        goto cleanup;
    }
    if (status == EVOCC_OK) {
        for (size_t i = 0; i < count; i++) {
            requests[i] = request_of(&f->items[who[i]]);
        }
        const gpu_contest contest = {.candidates = requests,
                                     .count = count,
                                     .plan = plan,
                                     .wake_fd = r->wake_fd,
                                     .each = note_pair,
                                     .context = f};
        const study_kernel *k = &r->study->kernel_run;
        status = gpu_compare_all(results, k->gpus[0], &k->job, &contest, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        f->items[who[i]].out = results[i].outcome != EVOCC_OUTCOME_OK;
    }
cleanup:
    mem_free(requests);
    mem_free(results);
    return status;
}

/* What the pairs of one trial say about one metric. EVOCC_NOT_FOUND: there are too few. */
static evocc_status compare_pairs(stats_comparison *out, const final_round *f, uint64_t trial,
                                  size_t metric, store_purpose purpose, evocc_error *error)
{
    double *ratios = mem_alloc(f->pair_count + 1, sizeof *ratios);
    size_t count = 0;
    if (ratios == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < f->pair_count; i++) {
        const pair *p = &f->pairs[i];
        if (p->trial == trial && p->metric == metric && p->purpose == purpose) {
            status = stats_log_ratios(&ratios[count++], &p->baseline, &p->value, 1, error);
        }
    }
    if (status == EVOCC_OK) {
        const stats_options options = {.seed = 1};
        status = count >= STATS_PAIRS_MIN ? stats_compare(out, ratios, count, &options, error)
                                          : error_set(error, EVOCC_NOT_FOUND, "too few pairs");
    }
    mem_free(ratios);
    return status;
}

static size_t still_in(size_t *out, const final_round *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (!f->items[i].out) {
            out[count++] = i;
        }
    }
    return count;
}

/* One objective: the best of the few on pairs of its own, then new pairs for that one. */
static evocc_status run_final(final_round *f, evocc_error *error)
{
    const study *s = f->run->study;
    size_t who[FRONT_MAX];
    size_t count = still_in(who, f);
    size_t metric = metric_index(s, s->objectives.items[0].metric);
    size_t best = who[0];
    double speedup = 0;
    const stats_plan few = {
        .min_pairs = CHOICE_PAIRS, .max_pairs = CHOICE_PAIRS, .interval.seed = 1};
    const stats_plan many = {.max_pairs = 60, .interval.seed = 2};
    evocc_status status = EVOCC_OK;
    if (count > 1) {
        status = measure_pairs(f, STORE_FOR_CHOICE, who, count, &few, error);
    }
    for (size_t i = 0; count > 1 && status == EVOCC_OK && i < count; i++) {
        stats_comparison c;
        if (f->items[who[i]].out) {
            continue;
        }
        status = compare_pairs(&c, f, f->items[who[i]].trial, metric, STORE_FOR_CHOICE, error);
        if (status == EVOCC_OK && c.speedup > speedup) {
            speedup = c.speedup;
            best = who[i];
        }
    }
    return status == EVOCC_OK && !f->items[best].out
               ? measure_pairs(f, STORE_FOR_ESTIMATE, &best, 1, &many, error)
               : status;
}

static evocc_status run_front(final_round *f, evocc_error *error)
{
    size_t who[FRONT_MAX];
    size_t count = still_in(who, f);
    const stats_plan plan = {
        .min_pairs = FRONT_PAIRS, .max_pairs = FRONT_PAIRS, .interval.seed = 2};
    return measure_pairs(f, STORE_FOR_ESTIMATE, who, count, &plan, error);
}

/* ---- The file -------------------------------------------------------------------------------- */

static evocc_status write_pairs(const final_round *f, evocc_error *error)
{
    study *s = f->run->study;
    store_sample *samples = mem_alloc(f->pair_count + 1, sizeof *samples);
    if (samples == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < f->pair_count; i++) {
        const pair *p = &f->pairs[i];
        size_t position = 0;
        for (size_t k = 0; k < i; k++) {
            const pair *q = &f->pairs[k];
            position += q->trial == p->trial && q->metric == p->metric && q->purpose == p->purpose;
        }
        samples[i] = (store_sample){.trial = p->trial,
                                    .metric = s->metric_rows[p->metric].name,
                                    .purpose = p->purpose,
                                    .position = position,
                                    .baseline = p->baseline,
                                    .value = p->value};
    }
    evocc_status status = store_add_samples(s->store, samples, f->pair_count, error);
    mem_free(samples);
    return status;
}

static evocc_status read_pair(const store_sample *sample, void *context, evocc_error *error)
{
    final_round *f = context;
    pair p = {.trial = sample->trial,
              .metric = metric_index(f->run->study, sample->metric),
              .purpose = sample->purpose,
              .baseline = sample->baseline,
              .value = sample->value};
    return sample->purpose == STORE_FOR_SEARCH ? EVOCC_OK : keep_pair(f, &p, error);
}

/* Whether some objective is surely better than the baseline's: counts by what they are, runtimes by
   their pairs. One sample of another measured metric is sure of nothing. */
static evocc_status is_apart(bool *apart, const final_round *f, const finalist *who,
                             evocc_error *error)
{
    const study *s = f->run->study;
    for (size_t i = 0; i < s->objectives.count && !*apart; i++) {
        const objective *o = &s->objectives.items[i];
        size_t metric = metric_index(s, o->metric);
        if (!s->metric_rows[metric].measured) {
            *apart = objective_gain(o, s->baseline_values[i], who->metrics[metric]) > 1;
        } else if (is_runtime(o->metric)) {
            stats_comparison c;
            evocc_status status =
                compare_pairs(&c, f, who->trial, metric, STORE_FOR_ESTIMATE, error);
            if (status != EVOCC_OK && status != EVOCC_NOT_FOUND) {
                return status;
            }
            stats_verdict wanted = o->maximize ? STATS_LOSS : STATS_GAIN;
            *apart = status == EVOCC_OK && stats_judge(&c, 0) == wanted;
        }
    }
    return EVOCC_OK;
}

static evocc_status write_verdict(const final_round *f, evocc_error *error)
{
    strbuf text = {0};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < f->count; i++) {
        bool apart = false;
        status = f->items[i].out ? EVOCC_OK : is_apart(&apart, f, &f->items[i], error);
        if (apart) {
            strbuf_printf(&text, "%s%" PRIu64, text.length > 0 ? " " : "", f->items[i].trial);
        }
    }
    if (status == EVOCC_OK) {
        status = text.failed ? error_no_memory(error)
                             : store_set(f->run->study->store, "apart", strbuf_text(&text), error);
    }
    strbuf_dispose(&text);
    return status;
}

static evocc_status measure_all(final_round *f, evocc_error *error)
{
    size_t who[FRONT_MAX];
    evocc_status status = prepare(f, error);
    if (status == EVOCC_OK && !f->run->study->is_program) { /* whose every run is checked */
        status = check_again(f, error);
    }
    if (status == EVOCC_OK && still_in(who, f) > 0) {
        status = f->run->study->objectives.count == 1 ? run_final(f, error) : run_front(f, error);
    }
    return status == EVOCC_OK ? write_pairs(f, error) : status;
}

evocc_status study_compare_best(run *r, evocc_error *error)
{
    study *s = r->study;
    final_round f = {.run = r};
    char *done = NULL;
    if ((study_gpu(s) == NULL && !s->is_program) || !has_runtime(s) ||
        store_get(&done, s->store, "apart", NULL) == EVOCC_OK) {
        mem_free(done);
        return EVOCC_OK;
    }
    evocc_status status = choose_finalists(&f, error);
    if (status == EVOCC_OK) {
        status = store_each_sample(s->store, read_pair, &f, error);
    }
    if (status == EVOCC_OK && f.pair_count == 0 && f.count > 0) {
        status = measure_all(&f, error);
    }
    if (status == EVOCC_OK) {
        status = write_verdict(&f, error);
    }
    for (size_t i = 0; i < f.count; i++) {
        finalist_dispose(&f.items[i]);
    }
    mem_free(f.items);
    mem_free(f.pairs);
    return status;
}
