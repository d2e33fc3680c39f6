/*
 * The study file of a callback study: the settings of file.c as far as they have a meaning here,
 * under the same names, so that reports read both.
 */
#include "study/callback.h"

#include "util/clock.h"
#include "util/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is compared ----------------------------------------------------------------------- */

/* What a study is made of: what the caller gave. */
typedef struct material {
    const evocc_study *study;
    const evocc_search_options *asked;
    const search_options *used; /* the same with its defaults filled in */
} material;

/* The first that differs is named when a study goes on. */
typedef struct callback_field {
    const char *name;  /* in the study file */
    const char *words; /* in messages */
    void (*text)(strbuf *out, const material *m);
} callback_field;

static void space_text(strbuf *out, const material *m)
{
    char digest[HASH_SHA256_TEXT];
    space_digest(digest, m->study->space);
    out->failed = out->failed || digest[0] == '\0';
    strbuf_puts(out, digest);
}

static void environment_text(strbuf *out, const material *m)
{
    strbuf_puts(out, m->study->options.environment == NULL ? "" : m->study->options.environment);
}

static void objectives_text(strbuf *out, const material *m)
{
    objective_list_text(out, &m->study->objectives);
}

/* "- | limit 5 | only-limit 5 target 3": one part an objective. */
static void limits_text(strbuf *out, const material *m)
{
    for (size_t i = 0; i < m->asked->objective_count; i++) {
        const evocc_objective *o = &m->asked->objectives[i];
        strbuf_puts(out, i > 0 ? " | " : "");
        strbuf_puts(out, o->limited || o->has_target ? "" : "-");
        if (o->limited) {
            strbuf_puts(out, o->limit_only ? "only-limit " : "limit ");
            strbuf_number(out, o->limit);
        }
        if (o->has_target) {
            strbuf_puts(out, o->limited ? " target " : "target ");
            strbuf_number(out, o->target);
        }
    }
}

static void put_count(strbuf *out, uint64_t count)
{
    strbuf_printf(out, "%" PRIu64, count);
}

static void pool_size_text(strbuf *out, const material *m)
{
    put_count(out, m->used->pool_size);
}

static void cull_size_text(strbuf *out, const material *m)
{
    put_count(out, m->used->cull_size);
}

static void generations_text(strbuf *out, const material *m)
{
    put_count(out, m->used->generations);
}

static void mutate_rate_text(strbuf *out, const material *m)
{
    strbuf_number(out, m->used->mutate_rate);
}

static void seed_text(strbuf *out, const material *m)
{
    put_count(out, m->used->seed);
}

static void lag_text(strbuf *out, const material *m)
{
    put_count(out, m->used->lag);
}

static void max_trials_text(strbuf *out, const material *m)
{
    put_count(out, m->used->max_trials);
}

static void stale_text(strbuf *out, const material *m)
{
    put_count(out, m->used->stale_generations);
}

static void survival_text(strbuf *out, const material *m)
{
    strbuf_puts(out, m->used->survival == SEARCH_HYPERVOLUME ? "hypervolume" : "nsga3");
}

static void repeat_text(strbuf *out, const material *m)
{
    strbuf_number(out, m->used->repeat_share);
}

static void prescreen_text(strbuf *out, const material *m)
{
    strbuf_puts(out, m->used->prescreen ? "yes" : "no");
}

static void first_candidates_text(strbuf *out, const material *m)
{
    for (size_t i = 0; i < m->asked->seed_count; i++) {
        space_candidate_text(out, m->study->space, m->asked->seeds[i]);
        strbuf_putc(out, '\n');
    }
}

static const callback_field fields[] = {
    {"space_sha256", "the search space", space_text},
    {"objectives", "the list of objectives", objectives_text},
    {"limits", "a limit or a target of an objective", limits_text},
    {"environment", "the environment", environment_text},
    {"seed", "the seed", seed_text},
    {"pool_size", "pool_size", pool_size_text},
    {"cull_size", "cull_size", cull_size_text},
    {"generations", "the number of generations", generations_text},
    {"mutate_rate", "mutate_rate", mutate_rate_text},
    {"lag", "the lag", lag_text},
    {"max_trials", "max_trials", max_trials_text},
    {"stale_generations", "stale_generations", stale_text},
    {"survival", "survival", survival_text},
    {"repeat_share", "repeat_share", repeat_text},
    {"prescreen", "prescreen", prescreen_text},
    {"first_candidates", "the list of candidates to begin with", first_candidates_text},
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static evocc_status save_field(evocc_study *s, const callback_field *field, const material *m,
                               evocc_error *error)
{
    strbuf text = {0};
    field->text(&text, m);
    evocc_status status = text.failed ? error_no_memory(error)
                                      : store_set(s->store, field->name, strbuf_text(&text), error);
    strbuf_dispose(&text);
    return status;
}

static evocc_status check_field(evocc_study *s, const callback_field *field, const material *m,
                                evocc_error *error)
{
    strbuf now = {0};
    char *then = NULL;
    field->text(&now, m);
    evocc_status status =
        now.failed ? error_no_memory(error) : store_get(&then, s->store, field->name, error);
    if (status == EVOCC_OK && strcmp(then, strbuf_text(&now)) != 0) {
        status = error_set(error, EVOCC_MISMATCH,
                           "%s: %s has changed since the study began (was '%.300s', is '%.300s')",
                           s->path, field->words, then, strbuf_text(&now));
    }
    mem_free(then);
    strbuf_dispose(&now);
    return status;
}

/* ---- Begin ---------------------------------------------------------------------------------- */

evocc_status callback_save_elapsed(evocc_study *s, evocc_error *error)
{
    strbuf text = {0};
    s->saved_s = clock_now_s();
    strbuf_number(&text, s->elapsed_before_s + s->saved_s - s->started_s);
    evocc_status status = text.failed ? error_no_memory(error)
                                      : store_set(s->store, "elapsed_s", strbuf_text(&text), error);
    strbuf_dispose(&text);
    return status;
}

static evocc_status save_texts(evocc_study *s, evocc_error *error)
{
    char started[CLOCK_TEXT];
    clock_utc_text(started);
    search_progress progress;
    search_get_progress(&progress, s->search);
    char budget[24];
    snprintf(budget, sizeof budget, "%" PRIu64, progress.budget);
    const struct {
        const char *name, *value;
    } settings[] = {
        {"kind", "callback"},
        {"evocc_version", evocc_version()},
        {"started_utc", started},
        {"input_path", s->options.title == NULL ? "function" : s->options.title},
        {"budget", budget},
    };
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < sizeof settings / sizeof settings[0]; i++) {
        status = store_set(s->store, settings[i].name, settings[i].value, error);
    }
    return status;
}

evocc_status callback_begin(evocc_study *s, const evocc_search_options *search, evocc_error *error)
{
    material m = {s, search, search_get_options(s->search)};
    evocc_status status = save_texts(s, error);
    for (size_t i = 0; status == EVOCC_OK && i < FIELD_COUNT; i++) {
        status = save_field(s, &fields[i], &m, error);
    }
    /* "complete" comes last: a file without it was never a study. */
    return status == EVOCC_OK ? store_set(s->store, "complete", "yes", error) : status;
}

/* ---- Resume --------------------------------------------------------------------------------- */

evocc_status callback_note_code(bool *seen, evocc_study *s, const char *hash, uint64_t id,
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

static evocc_status room_for_known(evocc_study *s, uint64_t id, evocc_error *error)
{
    if (id < s->known_count) {
        return EVOCC_OK;
    }
    size_t capacity = s->known_count;
    size_t old = s->known_count;
    if (id > UINT32_MAX || !mem_grow(&s->known, &capacity, (size_t)id + 1, sizeof *s->known)) {
        return error_no_memory(error);
    }
    memset(s->known + old, 0, (capacity - old) * sizeof *s->known);
    s->known_count = capacity;
    return EVOCC_OK;
}

static evocc_status note_known(const store_trial *trial, void *context, evocc_error *error)
{
    evocc_study *s = context;
    bool seen;
    evocc_status status = room_for_known(s, trial->id, error);
    if (status == EVOCC_OK) {
        status = callback_note_code(&seen, s, trial->code_hash, trial->id, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    callback_known *known = &s->known[trial->id];
    known->present = true;
    known->outcome = trial->outcome;
    known->candidate = hash128_of(trial->candidate, strlen(trial->candidate), 0);
    for (size_t i = 0; i < s->objectives.count; i++) {
        known->values[i] = (double)NAN;
        for (size_t m = 0; m < trial->metric_count; m++) {
            if (strcmp(trial->metric_names[m], s->objectives.items[i].metric) == 0) {
                known->values[i] = trial->metrics[m];
            }
        }
    }
    return EVOCC_OK;
}

static evocc_status check_kind(evocc_study *s, evocc_error *error)
{
    char *kind = NULL;
    char *complete = NULL;
    evocc_status status = store_get(&complete, s->store, "complete", error);
    if (status == EVOCC_NOT_FOUND) {
        status = error_set(error, EVOCC_DAMAGED,
                           "%s: the study was stopped before it began; remove the file", s->path);
    }
    if (status == EVOCC_OK) {
        status = store_get(&kind, s->store, "kind", error);
    }
    if (status == EVOCC_NOT_FOUND || (status == EVOCC_OK && strcmp(kind, "callback") != 0)) {
        status = error_set(error, EVOCC_MISMATCH,
                           "%s is a study of evocc tune: go on with evocc tune --resume", s->path);
    }
    mem_free(kind);
    mem_free(complete);
    return status;
}

evocc_status callback_resume(evocc_study *s, const evocc_search_options *search, evocc_error *error)
{
    material m = {s, search, search_get_options(s->search)};
    evocc_status status = check_kind(s, error);
    for (size_t i = 0; status == EVOCC_OK && i < FIELD_COUNT; i++) {
        status = check_field(s, &fields[i], &m, error);
    }
    char *elapsed = NULL;
    if (status == EVOCC_OK && store_get(&elapsed, s->store, "elapsed_s", NULL) == EVOCC_OK) {
        s->elapsed_before_s = strtod(elapsed, NULL);
    }
    mem_free(elapsed);
    return status == EVOCC_OK ? store_each_trial(s->store, note_known, s, error) : status;
}
