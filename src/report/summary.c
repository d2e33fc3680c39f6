#include "report/internal.h"

#include "evaluate/evaluate.h"
#include "report/comparison.h"
#include "util/error.h"
#include "util/map.h"
#include "util/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The summary and what is needed while trials stream by. */
typedef struct loader {
    report_summary summary; /* first: freed through it */
    arena texts;
    map codes;
    report_point *front;
    size_t front_capacity;
    const char **names;
    uint64_t below;
    uint64_t generations;
    comparison_list pairs;
    const char *apart; /* ids of trials whose gain is sure */
} loader;

/* "" when the file has no such setting; NULL when out of memory. */
static const char *copy_setting(loader *l, store *s, const char *name)
{
    char *value = NULL;
    evocc_status status = store_get(&value, s, name, NULL);
    if (status == EVOCC_NO_MEMORY) {
        return NULL;
    }
    const char *copy = status == EVOCC_OK ? arena_strdup(&l->texts, value) : "";
    mem_free(value);
    return copy;
}

static double metric_of(const store_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->metric_count; i++) {
        if (strcmp(trial->metric_names[i], name) == 0) {
            return trial->metrics[i];
        }
    }
    return (double)NAN;
}

static bool same_values(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

/* Whether the newcomer belongs to the front; members that it beats leave. */
static bool enters_front(loader *l, const double *values, size_t control_count)
{
    report_summary *summary = &l->summary;
    const objective_list *objectives = &summary->objectives;
    size_t kept = 0;
    for (size_t i = 0; i < summary->front_count; i++) {
        const report_point *member = &l->front[i];
        bool same = same_values(member->values, values, objectives->count);
        if (objective_list_dominates(objectives, member->values, values) ||
            (same && member->control_count <= control_count)) {
            /* Nothing was dropped before: a member that beats the newcomer would also have beaten
               whatever the newcomer beats. */
            return false;
        }
        if (!same && !objective_list_dominates(objectives, values, member->values)) {
            l->front[kept++] = *member;
        }
    }
    summary->front_count = kept;
    return true;
}

static evocc_status add_point(loader *l, const store_trial *trial, const double *values,
                              evocc_error *error)
{
    report_summary *summary = &l->summary;
    size_t controls = report_word_count(trial->candidate);
    if (!enters_front(l, values, controls)) {
        return EVOCC_OK;
    }
    size_t objectives = summary->objectives.count;
    double *kept_values = arena_alloc(&l->texts, objectives, sizeof *kept_values);
    double *metrics = arena_alloc(&l->texts, summary->metric_count, sizeof *metrics);
    const char *candidate = arena_strdup(&l->texts, trial->candidate);
    const char *code_hash = arena_strdup(&l->texts, trial->code_hash);
    if (kept_values == NULL || metrics == NULL || candidate == NULL || code_hash == NULL ||
        !mem_grow(&l->front, &l->front_capacity, summary->front_count + 1, sizeof *l->front)) {
        return error_no_memory(error);
    }
    memcpy(kept_values, values, objectives * sizeof *values);
    for (size_t i = 0; i < summary->metric_count; i++) {
        metrics[i] = metric_of(trial, l->names[i]);
    }
    l->front[summary->front_count++] = (report_point){
        .id = trial->id,
        .generation = trial->generation,
        .behind_search = trial->generation >= l->generations,
        .control_count = controls,
        .candidate = candidate,
        .code_hash = code_hash,
        .values = kept_values,
        .metrics = metrics,
    };
    return EVOCC_OK;
}

/* Names and baseline come with the first valid trial. A caller's own study may go on from a
   baseline that is not valid: then its numbers are unknown. */
static evocc_status add_baseline(loader *l, const store_trial *trial, const double *values,
                                 evocc_error *error)
{
    report_summary *summary = &l->summary;
    size_t count = trial->metric_count;
    double *metrics = arena_alloc(&l->texts, count, sizeof *metrics);
    double *kept_values = arena_alloc(&l->texts, summary->objectives.count, sizeof *kept_values);
    l->names = arena_alloc(&l->texts, count, sizeof *l->names);
    if (metrics == NULL || kept_values == NULL || l->names == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        metrics[i] = trial->id == 0 ? trial->metrics[i] : (double)NAN;
        l->names[i] = arena_strdup(&l->texts, trial->metric_names[i]);
        if (l->names[i] == NULL) {
            return error_no_memory(error);
        }
    }
    for (size_t i = 0; i < summary->objectives.count; i++) {
        kept_values[i] = trial->id == 0 ? values[i] : (double)NAN;
    }
    summary->metric_count = count;
    summary->metric_names = l->names;
    summary->baseline_metrics = metrics;
    summary->baseline_values = kept_values;
    return EVOCC_OK;
}

static evocc_status count_code(loader *l, const store_trial *trial, evocc_error *error)
{
    size_t length = strlen(trial->code_hash);
    if (length == 0 || map_get(&l->codes, trial->code_hash, length) != MAP_NONE) {
        return EVOCC_OK;
    }
    const char *key = arena_strdup(&l->texts, trial->code_hash);
    if (key == NULL || !map_put(&l->codes, key, length, (size_t)trial->id)) {
        return error_no_memory(error);
    }
    l->summary.distinct_code_count++;
    return EVOCC_OK;
}

static evocc_status each_trial(const store_trial *trial, void *context, evocc_error *error)
{
    loader *l = context;
    report_summary *summary = &l->summary;
    if (trial->id >= l->below) {
        return EVOCC_OK;
    }
    summary->trial_count++;
    summary->trim_count += trial->generation >= l->generations;
    summary->outcome_counts[trial->outcome]++;
    summary->shared_count += trial->shared;
    evocc_status status = count_code(l, trial, error);
    if (status != EVOCC_OK || trial->outcome != EVOCC_OUTCOME_OK) {
        return status;
    }
    double values[OBJECTIVE_COUNT_MAX];
    for (size_t i = 0; i < summary->objectives.count; i++) {
        values[i] = metric_of(trial, summary->objectives.items[i].metric);
        if (isnan(values[i])) {
            return EVOCC_OK; /* a trial that lacks an objective never enters the front */
        }
    }
    if (summary->baseline_values == NULL) {
        status = add_baseline(l, trial, values, error);
    }
    bool stands = !summary->compared || summary->objectives.count > 1 || trial->id == 0 ||
                  comparison_find(&l->pairs, trial->id) != NULL;
    if (status == EVOCC_OK && stands) {
        status = add_point(l, trial, values, error);
    }
    return status;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const report_point *)a)->id;
    uint64_t y = ((const report_point *)b)->id;
    return x < y ? -1 : x > y;
}

static void rate_front(loader *l)
{
    report_summary *summary = &l->summary;
    if (summary->front_count > 0) {
        qsort(l->front, summary->front_count, sizeof *l->front, by_id);
    }
    summary->front = l->front;
    for (size_t i = 0; i < summary->front_count; i++) {
        l->front[i].gain =
            objective_list_gain(&summary->objectives, summary->baseline_values, l->front[i].values);
        report_point *point = &l->front[i];
        const report_point *best = &l->front[summary->best];
        point->apart = !summary->compared || comparison_lists(l->apart, point->id);
        point->comparisons = comparison_of(&point->comparison_count, &l->pairs, point->id);
        if ((point->apart && !best->apart) ||
            (point->apart == best->apart && point->gain > best->gain)) {
            summary->best = i;
        }
    }
    /* The baseline leaves the front only when something dominates it or equals it with no control.
     */
    summary->improved = summary->front_count > 0 && l->front[summary->best].id != 0 &&
                        l->front[summary->best].apart;
}

static evocc_status load_settings(loader *l, store *s, const char *path, evocc_error *error)
{
    report_summary *summary = &l->summary;
    summary->study_path = arena_strdup(&l->texts, path);
    summary->input = copy_setting(l, s, "input_path");
    summary->kernel = copy_setting(l, s, "kernel");
    summary->arch = copy_setting(l, s, "arch");
    summary->compiler = copy_setting(l, s, "compiler");
    summary->compiler_version = copy_setting(l, s, "compiler_version");
    const char *seed = copy_setting(l, s, "seed");
    const char *budget = copy_setting(l, s, "budget");
    const char *elapsed = copy_setting(l, s, "elapsed_s");
    const char *ended = copy_setting(l, s, "ended");
    const char *generations = copy_setting(l, s, "generations");
    const char *objectives = copy_setting(l, s, "objectives");
    summary->device = copy_setting(l, s, "gpu_name");
    summary->driver = copy_setting(l, s, "gpu_driver");
    summary->conditions = copy_setting(l, s, "gpu_conditions");
    summary->searched = copy_setting(l, s, "gpu_search");
    summary->failed_again = copy_setting(l, s, "failed_again");
    char *apart = NULL;
    evocc_status known = store_get(&apart, s, "apart", NULL);
    summary->compared = known == EVOCC_OK;
    l->apart =
        known == EVOCC_NO_MEMORY ? NULL : arena_strdup(&l->texts, apart != NULL ? apart : "");
    mem_free(apart);
    if (summary->study_path == NULL || summary->input == NULL || summary->kernel == NULL ||
        summary->arch == NULL || summary->compiler == NULL || summary->compiler_version == NULL ||
        seed == NULL || budget == NULL || elapsed == NULL || ended == NULL || generations == NULL ||
        objectives == NULL || l->apart == NULL || summary->device == NULL ||
        summary->driver == NULL || summary->conditions == NULL || summary->searched == NULL ||
        summary->failed_again == NULL) {
        return error_no_memory(error);
    }
    summary->seed = strtoull(seed, NULL, 10);
    summary->budget = strtoull(budget, NULL, 10);
    summary->elapsed_s = strtod(elapsed, NULL);
    summary->finished = *ended != '\0';
    summary->exhausted = strcmp(ended, "exhausted") == 0;
    summary->ideal = strcmp(ended, "ideal") == 0;
    l->generations = *generations == '\0' ? UINT64_MAX : strtoull(generations, NULL, 10);
    return objective_list_parse(&summary->objectives, objectives, error);
}

evocc_status report_summary_load(report_summary **out, store *s, const char *path, uint64_t below,
                                 evocc_error *error)
{
    loader *l = mem_alloc(1, sizeof *l);
    if (l == NULL) {
        return error_no_memory(error);
    }
    l->below = below;
    evocc_status status = load_settings(l, s, path, error);
    if (status == EVOCC_OK && l->summary.compared) {
        status = comparison_load(&l->pairs, s, error);
    }
    if (status == EVOCC_OK) {
        status = store_each_trial(s, each_trial, l, error);
    }
    if (status != EVOCC_OK) {
        report_summary_free(&l->summary);
        return status;
    }
    rate_front(l);
    *out = &l->summary;
    return EVOCC_OK;
}

void report_summary_free(report_summary *summary)
{
    if (summary == NULL) {
        return;
    }
    loader *l = (loader *)summary;
    map_dispose(&l->codes);
    comparison_dispose(&l->pairs);
    mem_free(l->front);
    arena_dispose(&l->texts);
    mem_free(l);
}
