/*
 * analysis.c: which controls matter, and what the best trials have in common.
 *
 * Importance is what the search itself reports (search/marginal.h): the share of the variance of an
 * objective's logarithm that a control explains on its own, over all valid trials. The trials are
 * not a random sample, since a search goes where it finds something, so it is a hint and no proof;
 * and controls that act only together get less than their due.
 */
#include "report/internal.h"

#include "stats/stats.h"
#include "util/error.h"
#include "util/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BEST_MIN = 10, /* trials that count as the best: a twentieth of the valid ones, within these */
    BEST_MAX = 50,
    NO_VALUE = 0 /* the level of a control that is at its default */
};

/* One control while trials are looked at. Level 0 is its absence; a value seen has level 1, 2, ...
 */
typedef struct seen_control {
    const char *name;
    size_t parent; /* the wide form that this one is an exception to; MAP_NONE: none */
    const char **values;
    size_t value_count, value_capacity;
    size_t first_level; /* in the arrays of levels */
    size_t trials;
} seen_control;

typedef struct analysis {
    report_detail *detail;
    arena *texts;
    map names, values; /* keys "name" and "name=value" */
    seen_control *controls;
    size_t count, capacity;
    size_t level_count;
    uint32_t *levels;                   /* scratch: of each control in one trial */
    double *sums;                       /* per level and objective */
    size_t *level_counts;               /* per level: trials at it, inherited or given */
    size_t *valid_counts, *best_counts; /* per level: trials, and best ones, that give it */
    double *squares;                    /* per objective */
    bool *is_best;                      /* per trial */
} analysis;

static void dispose(analysis *a)
{
    for (size_t i = 0; i < a->count; i++) {
        mem_free(a->controls[i].values);
    }
    map_dispose(&a->names);
    map_dispose(&a->values);
    mem_free(a->controls);
    mem_free(a->levels);
    mem_free(a->sums);
    mem_free(a->level_counts);
    mem_free(a->valid_counts);
    mem_free(a->best_counts);
    mem_free(a->squares);
    mem_free(a->is_best);
}

/* ---- Controls and values that were seen ------------------------------------------------------ */

static seen_control *control_of(analysis *a, const report_word *word)
{
    size_t at = map_get(&a->names, word->name, word->name_length);
    if (at != MAP_NONE) {
        return &a->controls[at];
    }
    const char *name = arena_strndup(a->texts, word->name, word->name_length);
    if (name == NULL || !mem_grow(&a->controls, &a->capacity, a->count + 1, sizeof *a->controls) ||
        !map_put(&a->names, name, word->name_length, a->count)) {
        return NULL;
    }
    a->controls[a->count] = (seen_control){.name = name, .parent = MAP_NONE};
    return &a->controls[a->count++];
}

static bool add_value(analysis *a, const report_word *word)
{
    seen_control *control = control_of(a, word);
    if (control == NULL) {
        return false;
    }
    control->trials++;
    size_t length = word->name_length + 1 + word->value_length;
    if (map_get(&a->values, word->name, length) != MAP_NONE) {
        return true;
    }
    const char *key = arena_strndup(a->texts, word->name, length);
    if (key == NULL ||
        !mem_grow(&control->values, &control->value_capacity, control->value_count + 1,
                  sizeof *control->values) ||
        !map_put(&a->values, key, length, control->value_count + 1)) {
        return false;
    }
    control->values[control->value_count++] = key + word->name_length + 1;
    return true;
}

/* "ptx/order@fa.b4" is an exception to "ptx/order@fa" (names of entries have no point). */
static void find_parents(analysis *a)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *at = strchr(a->controls[i].name, '@');
        const char *site = at == NULL ? NULL : strchr(at, '.');
        if (site != NULL) {
            a->controls[i].parent =
                map_get(&a->names, a->controls[i].name, (size_t)(site - a->controls[i].name));
        }
    }
}

static evocc_status collect(analysis *a, evocc_error *error)
{
    for (size_t i = 0; i < a->detail->trial_count; i++) {
        const char *text = a->detail->trials[i].candidate;
        report_word word;
        while (!isnan(a->detail->trials[i].gain) && report_next_word(&word, &text)) {
            if (!add_value(a, &word)) {
                return error_no_memory(error);
            }
        }
    }
    find_parents(a);
    for (size_t i = 0; i < a->count; i++) {
        a->controls[i].first_level = a->level_count;
        a->level_count += a->controls[i].value_count + 1;
    }
    return EVOCC_OK;
}

/* ---- The best -------------------------------------------------------------------------------- */

static int by_gain(const void *a, const void *b)
{
    const report_trial *x = *(const report_trial *const *)a;
    const report_trial *y = *(const report_trial *const *)b;
    if (x->gain != y->gain) {
        return x->gain > y->gain ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t best_limit(size_t valid_count)
{
    size_t limit = valid_count / 20;
    return limit < BEST_MIN ? BEST_MIN : limit > BEST_MAX ? BEST_MAX : limit;
}

/* The best that are better than the baseline, equal machine code counted once: a value that does
   nothing would else look popular for coming along. */
static evocc_status choose_best(analysis *a, evocc_error *error)
{
    report_detail *d = a->detail;
    map codes = {0};
    const report_trial **ranked = mem_alloc(d->trial_count + 1, sizeof *ranked);
    evocc_status status = ranked == NULL ? error_no_memory(error) : EVOCC_OK;
    size_t count = 0;
    for (size_t i = 0; status == EVOCC_OK && i < d->trial_count; i++) {
        if (d->trials[i].gain > 1) { /* false for NAN */
            ranked[count++] = &d->trials[i];
        }
    }
    if (count > 0) {
        qsort(ranked, count, sizeof *ranked, by_gain);
    }
    size_t limit = best_limit(d->valid_count);
    for (size_t i = 0; status == EVOCC_OK && i < count && d->best_count < limit; i++) {
        size_t length = strlen(ranked[i]->code_hash);
        if (length > 0 && map_get(&codes, ranked[i]->code_hash, length) != MAP_NONE) {
            continue;
        }
        if (length > 0 && !map_put(&codes, ranked[i]->code_hash, length, i)) {
            status = error_no_memory(error);
        }
        a->is_best[ranked[i] - d->trials] = true;
        d->best_count++;
    }
    map_dispose(&codes);
    mem_free(ranked);
    return status;
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Logarithmic beyond the baseline's magnitude, linear near zero, as in search/marginal.c. */
static double score(double value, double scale)
{
    double size = log(1 + fabs(value) / (scale > 0 ? scale : 1));
    return value < 0 ? -size : size;
}

/* The level of each control in one trial: its own value, else its wide form's. */
static void read_levels(analysis *a, const report_trial *trial)
{
    memset(a->levels, NO_VALUE, a->count * sizeof *a->levels);
    const char *text = trial->candidate;
    report_word word;
    while (report_next_word(&word, &text)) {
        size_t control = map_get(&a->names, word.name, word.name_length);
        size_t level = map_get(&a->values, word.name, word.name_length + 1 + word.value_length);
        a->levels[control] = (uint32_t)level;
    }
}

/* Values of wide form and exception are other levels of other controls: looked up by their text. */
static uint32_t inherited_level(const analysis *a, size_t control)
{
    const seen_control *own = &a->controls[control];
    uint32_t level = a->levels[control];
    if (level != NO_VALUE || own->parent == MAP_NONE || a->levels[own->parent] == NO_VALUE) {
        return level;
    }
    const char *value = a->controls[own->parent].values[a->levels[own->parent] - 1];
    for (size_t i = 0; i < own->value_count; i++) {
        if (strcmp(own->values[i], value) == 0) {
            return (uint32_t)(i + 1);
        }
    }
    return NO_VALUE;
}

static void count_trial(analysis *a, size_t index)
{
    const report_trial *trial = &a->detail->trials[index];
    const report_summary *summary = a->detail->summary;
    size_t objectives = summary->objectives.count;
    double scores[OBJECTIVE_COUNT_MAX];
    for (size_t k = 0; k < objectives; k++) {
        scores[k] = score(trial->values[k], fabs(summary->baseline_values[k]));
        a->squares[k] += scores[k] * scores[k];
    }
    read_levels(a, trial);
    for (size_t i = 0; i < a->count; i++) {
        size_t first = a->controls[i].first_level;
        a->valid_counts[first + a->levels[i]]++;
        a->best_counts[first + a->levels[i]] += a->is_best[index];
        size_t level = first + inherited_level(a, i);
        a->level_counts[level]++;
        for (size_t k = 0; k < objectives; k++) {
            a->sums[k * a->level_count + level] += scores[k];
        }
    }
}

/* ---- Results --------------------------------------------------------------------------------- */

static int by_importance(const void *a, const void *b, size_t objectives)
{
    const report_control *x = a;
    const report_control *y = b;
    double greatest[2] = {0, 0};
    for (size_t k = 0; k < objectives; k++) {
        greatest[0] = fmax(greatest[0], x->importance[k]);
        greatest[1] = fmax(greatest[1], y->importance[k]);
    }
    if (greatest[0] != greatest[1]) {
        return greatest[0] > greatest[1] ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

/* Insertion into a sorted array: a few hundred controls, once a report, and qsort takes no context.
 */
static void sort_controls(report_control *controls, size_t count, size_t objectives)
{
    for (size_t i = 1; i < count; i++) {
        report_control moved = controls[i];
        size_t at = i;
        while (at > 0 && by_importance(&moved, &controls[at - 1], objectives) < 0) {
            controls[at] = controls[at - 1];
            at--;
        }
        controls[at] = moved;
    }
}

static evocc_status put_controls(analysis *a, evocc_error *error)
{
    size_t objectives = a->detail->summary->objectives.count;
    report_control *controls = arena_alloc(a->texts, a->count + 1, sizeof *controls);
    double *importance = arena_alloc(a->texts, a->count * objectives + 1, sizeof *importance);
    report_help help = {0};
    evocc_status status =
        controls == NULL || importance == NULL ? error_no_memory(error) : EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < a->count; i++) {
        const seen_control *seen = &a->controls[i];
        size_t first = seen->first_level;
        for (size_t k = 0; k < objectives; k++) {
            importance[i * objectives + k] =
                stats_explained(&a->sums[k * a->level_count + first], &a->level_counts[first],
                                seen->value_count + 1, a->squares[k]);
        }
        controls[i] = (report_control){
            .name = seen->name,
            .help = arena_strdup(a->texts, report_help_of(&help, seen->name)),
            .trials = seen->trials,
            .importance = &importance[i * objectives],
        };
        status = controls[i].help == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    report_help_dispose(&help);
    if (status == EVOCC_OK) {
        sort_controls(controls, a->count, objectives);
        a->detail->controls = controls;
        a->detail->control_count = a->count;
    }
    return status;
}

static double share(size_t part, size_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

/* In at least half of the best, and a fifth more often than among all. */
static bool is_trait(const report_detail *d, const report_trait *trait)
{
    double best = share(trait->best_count, d->best_count);
    return best >= 0.5 && best - share(trait->valid_count, d->valid_count) >= 0.2;
}

/* How much more often, as a sort key: both shares have fixed denominators. */
static bool tells_more(const report_detail *d, const report_trait *x, const report_trait *y)
{
    double a = share(x->best_count, d->best_count) - share(x->valid_count, d->valid_count);
    double b = share(y->best_count, d->best_count) - share(y->valid_count, d->valid_count);
    return a > b;
}

static evocc_status put_traits(analysis *a, evocc_error *error)
{
    report_detail *d = a->detail;
    report_trait *traits = arena_alloc(a->texts, a->level_count + 1, sizeof *traits);
    if (traits == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < a->count; i++) {
        const seen_control *seen = &a->controls[i];
        for (size_t v = 0; v < seen->value_count; v++) {
            size_t level = seen->first_level + v + 1;
            report_trait trait = {seen->name, seen->values[v], a->best_counts[level],
                                  a->valid_counts[level]};
            if (!is_trait(d, &trait)) {
                continue;
            }
            size_t at = d->trait_count++;
            while (at > 0 && tells_more(d, &trait, &traits[at - 1])) {
                traits[at] = traits[at - 1];
                at--;
            }
            traits[at] = trait;
        }
    }
    d->traits = traits;
    return EVOCC_OK;
}

evocc_status report_analyse(report_detail *detail, arena *texts, evocc_error *error)
{
    analysis a = {.detail = detail, .texts = texts};
    size_t objectives = detail->summary->objectives.count;
    evocc_status status = collect(&a, error);
    if (status != EVOCC_OK) {
        goto cleanup;
    }
    a.levels = mem_alloc(a.count + 1, sizeof *a.levels);
    a.sums = mem_alloc(a.level_count * objectives + 1, sizeof *a.sums);
    a.level_counts = mem_alloc(a.level_count + 1, sizeof *a.level_counts);
    a.valid_counts = mem_alloc(a.level_count + 1, sizeof *a.valid_counts);
    a.best_counts = mem_alloc(a.level_count + 1, sizeof *a.best_counts);
    a.squares = mem_alloc(objectives + 1, sizeof *a.squares);
    a.is_best = mem_alloc(detail->trial_count + 1, sizeof *a.is_best);
    if (a.levels == NULL || a.sums == NULL || a.level_counts == NULL || a.valid_counts == NULL ||
        a.best_counts == NULL || a.squares == NULL || a.is_best == NULL) {
        status = error_no_memory(error);
        goto cleanup;
    }
    status = choose_best(&a, error);
    for (size_t i = 0; status == EVOCC_OK && i < detail->trial_count; i++) {
        if (!isnan(detail->trials[i].gain)) {
            count_trial(&a, i);
        }
    }
    if (status == EVOCC_OK) {
        status = put_controls(&a, error);
    }
    if (status == EVOCC_OK) {
        status = put_traits(&a, error);
    }
cleanup:
    dispose(&a);
    return status;
}
