#include "study/callback.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* With the objectives: what the store holds of one trial. */
enum { METRICS_MAX = STORE_METRICS_MAX - OBJECTIVE_COUNT_MAX };

/* ---- Open and free -------------------------------------------------------------------------- */

evocc_status callback_check_name(const char *what, const char *name, evocc_error *error)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-.";
    size_t length = strspn(name, allowed);
    if (length == 0 || name[length] != '\0' || length >= OBJECTIVE_NAME_SIZE) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s '%s': a name is 1 to %d letters, digits, '_', '-' and '.'", what, name,
                         OBJECTIVE_NAME_SIZE - 1);
    }
    return EVOCC_OK;
}

static bool has_name(const objective_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].metric, name) == 0) {
            return true;
        }
    }
    return false;
}

static evocc_status name_objectives(evocc_study *s, const evocc_search_options *search,
                                    evocc_error *error)
{
    objective_list *list = &s->objectives;
    if (search->objective_count > OBJECTIVE_COUNT_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a study has at most %d objectives, not %zu", OBJECTIVE_COUNT_MAX,
                         search->objective_count);
    }
    for (size_t i = 0; i < search->objective_count; i++) {
        const evocc_objective *from = &search->objectives[i];
        objective o = {.maximize = from->maximize, .weight = from->weight == 0 ? 1 : from->weight};
        char made[OBJECTIVE_NAME_SIZE] = "score";
        if (search->objective_count > 1) {
            snprintf(made, sizeof made, "score_%zu", i + 1);
        }
        const char *name = from->name == NULL ? made : from->name;
        evocc_status status = callback_check_name("objective", name, error);
        if (status != EVOCC_OK) {
            return status;
        }
        if (has_name(list, name)) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "two objectives are called '%s'", name);
        }
        snprintf(o.metric, sizeof o.metric, "%s", name);
        list->items[list->count++] = o;
    }
    return EVOCC_OK;
}

/* As search_take_options. */
static evocc_status take_options(evocc_study_options *out, const evocc_study_options *options,
                                 evocc_error *error)
{
    *out = (evocc_study_options){0};
    if (options == NULL) {
        return EVOCC_OK;
    }
    size_t size = options->struct_size;
    if (size < offsetof(evocc_study_options, mode)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "struct_size is %zu: begin with EVOCC_STUDY_OPTIONS", size);
    }
    memcpy(out, options, size < sizeof *out ? size : sizeof *out);
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = sizeof *out; i < size; i++) {
        if (bytes[i] != 0) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "an option is set that this version (%s) does not know",
                             evocc_version());
        }
    }
    if ((unsigned)out->mode > EVOCC_STUDY_RESUME) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "no mode has the number %d",
                         (int)out->mode);
    }
    return EVOCC_OK;
}

static evocc_study *study_new(const char *path, evocc_error *error)
{
    evocc_study *s = mem_alloc(1, sizeof *s);
    if (s != NULL) {
        s->path = arena_strdup(&s->texts, path == NULL ? "study in memory" : path);
        s->started_s = s->saved_s = clock_now_s();
    }
    if (s == NULL || s->path == NULL) {
        mem_free(s);
        error_no_memory(error);
        return NULL;
    }
    return s;
}

/* The store's own words name options of the command line. */
static evocc_status say_for_callers(const evocc_study *s, evocc_status status, evocc_error *error)
{
    if (status == EVOCC_BUSY) {
        return error_set(error, status, "%s is being written by another process", s->path);
    }
    if (status == EVOCC_REFUSED) {
        return error_set(error, status, "%s exists already", s->path);
    }
    if (status == EVOCC_DAMAGED) {
        return error_set(error, status, "%s: not a study file, or damaged; it was left as it is",
                         s->path);
    }
    return status;
}

static evocc_status open_file(evocc_study *s, const evocc_search_options *search,
                              evocc_error *error)
{
    const evocc_study_options *o = &s->options;
    evocc_status status;
    if (o->path == NULL) {
        status = store_create_in_memory(&s->store, error);
    } else if (o->mode == EVOCC_STUDY_RESUME ||
               (o->mode == EVOCC_STUDY_OPEN && file_exists(o->path))) {
        status = say_for_callers(s, store_open(&s->store, o->path, error), error);
        return status == EVOCC_OK ? callback_resume(s, search, error) : status;
    } else {
        status = say_for_callers(s, store_create(&s->store, o->path, error), error);
    }
    if (status == EVOCC_OK) {
        status = callback_begin(s, search, error);
        if (status != EVOCC_OK && o->path != NULL) {
            store_discard(s->store); /* this call made it, and it holds nothing */
            s->store = NULL;
        }
    }
    return status;
}

evocc_status evocc_study_open(evocc_study **out, const evocc_space *space,
                              const evocc_search_options *search,
                              const evocc_study_options *options, evocc_error *error)
{
    *out = NULL;
    evocc_search_options asked;
    evocc_study_options taken;
    evocc_status status = search_take_options(&asked, search, error);
    if (status == EVOCC_OK) {
        status = take_options(&taken, options, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    evocc_study *s = study_new(taken.path, error);
    if (s == NULL) {
        return EVOCC_NO_MEMORY;
    }
    s->space = space;
    s->options = taken;
    status = name_objectives(s, &asked, error);
    if (status == EVOCC_OK) {
        status = evocc_search_new(&s->search, space, search, error);
    }
    if (status == EVOCC_OK) {
        status = open_file(s, &asked, error);
    }
    s->options = (evocc_study_options){0}; /* its texts are the caller's */
    if (status != EVOCC_OK) {
        evocc_study_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

evocc_status evocc_study_read(evocc_study **out, const char *path, evocc_error *error)
{
    *out = NULL;
    evocc_study *s = study_new(path, error);
    if (s == NULL) {
        return EVOCC_NO_MEMORY;
    }
    evocc_status status = say_for_callers(s, store_open_read(&s->store, path, error), error);
    if (status != EVOCC_OK) {
        evocc_study_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

void evocc_study_free(evocc_study *s)
{
    if (s == NULL) {
        return;
    }
    if (s->store != NULL && s->search != NULL) {
        callback_save_elapsed(s, NULL); /* at worst a second is missing */
    }
    for (size_t i = 0; i < s->flight_count; i++) {
        mem_free(s->flights[i].genes);
    }
    mem_free(s->flights);
    mem_free(s->spare_genes);
    mem_free(s->known);
    map_dispose(&s->codes);
    search_free(s->search);
    store_free(s->store);
    arena_dispose(&s->texts);
    mem_free(s);
}

const evocc_search *evocc_study_search(const evocc_study *study)
{
    return study->search;
}

static evocc_status check_writable(const evocc_study *s, evocc_error *error)
{
    return s->search != NULL
               ? EVOCC_OK
               : error_set(error, EVOCC_UNSUPPORTED, "%s was opened for reading only", s->path);
}

/* ---- Ask ------------------------------------------------------------------------------------ */

static void flight_trial(evocc_trial *out, const callback_flight *flight)
{
    *out = (evocc_trial){.id = flight->id,
                         .repeat_of = flight->repeat_of,
                         .genes = flight->genes,
                         .generation = flight->generation};
}

static void flight_remove(evocc_study *s, callback_flight *flight)
{
    mem_free(flight->genes);
    size_t index = (size_t)(flight - s->flights);
    s->flight_count--;
    memmove(flight, flight + 1, (s->flight_count - index) * sizeof *flight);
}

/* Asks the search; what it answers is in flight before anything else can fail. */
static evocc_status launch(evocc_study *s, evocc_error *error)
{
    size_t count = space_count(s->space);
    if (s->spare_genes == NULL) {
        s->spare_genes = mem_alloc(count + 1, sizeof *s->spare_genes);
    }
    if (s->spare_genes == NULL ||
        !mem_grow(&s->flights, &s->flight_capacity, s->flight_count + 1, sizeof *s->flights)) {
        return error_no_memory(error);
    }
    search_candidate candidate;
    evocc_status status = search_ask(&candidate, s->search, error);
    if (status == EVOCC_OK) {
        memcpy(s->spare_genes, candidate.genes, count * sizeof *candidate.genes);
        s->flights[s->flight_count++] = (callback_flight){.id = candidate.id,
                                                          .repeat_of = candidate.repeat_of,
                                                          .generation = candidate.generation,
                                                          .asked_s = clock_now_s(),
                                                          .genes = s->spare_genes};
        s->spare_genes = NULL;
    }
    return status;
}

static const callback_known *find_known(const evocc_study *s, const callback_flight *flight)
{
    return flight->id < s->known_count && s->known[flight->id].present ? &s->known[flight->id]
                                                                       : NULL;
}

/* A trial that the file held is told, not asked; the same questions must come again. */
static evocc_status replay(evocc_study *s, callback_flight *flight, const callback_known *known,
                           evocc_error *error)
{
    strbuf text = {0};
    space_candidate_text(&text, s->space, flight->genes);
    bool failed = text.failed;
    hash128 hash = hash128_of(strbuf_text(&text), text.length, 0);
    strbuf_dispose(&text);
    if (failed) {
        return error_no_memory(error);
    }
    if (!hash128_equal(known->candidate, hash)) {
        return error_set(error, EVOCC_MISMATCH,
                         "%s: trial %" PRIu64 " would be another one than the file holds: go on "
                         "with the evocc and the rules that began the study",
                         s->path, flight->id);
    }
    evocc_status status = search_tell(s->search, flight->id, known->outcome, known->values, error);
    if (status == EVOCC_OK) {
        flight_remove(s, flight);
    }
    return status;
}

/* Notes why the search ends, once all is answered. */
static evocc_status save_end(evocc_study *s, evocc_error *error)
{
    if (s->ended == NULL || s->end_saved || s->flight_count > 0) {
        return EVOCC_OK;
    }
    evocc_status status = callback_save_elapsed(s, error);
    if (status == EVOCC_OK) {
        status = store_set(s->store, "ended", s->ended, error);
    }
    s->end_saved = status == EVOCC_OK;
    return status;
}

evocc_status evocc_study_ask(evocc_trial *out, evocc_study *s, evocc_error *error)
{
    evocc_status status = check_writable(s, error);
    while (status == EVOCC_OK) {
        /* A replay that failed for lack of memory has left its trial there: the last one. */
        callback_flight *last = s->flight_count > 0 ? &s->flights[s->flight_count - 1] : NULL;
        const callback_known *known = last == NULL ? NULL : find_known(s, last);
        if (known == NULL) {
            status = launch(s, error);
            if (status != EVOCC_OK) {
                break;
            }
            last = &s->flights[s->flight_count - 1];
            known = find_known(s, last);
        }
        if (known == NULL) {
            flight_trial(out, last);
            return EVOCC_OK;
        }
        status = replay(s, last, known, error);
    }
    if (status == EVOCC_DONE || status == EVOCC_EXHAUSTED) {
        s->ended = status == EVOCC_EXHAUSTED ? "exhausted" : "budget";
        evocc_error why;
        if (save_end(s, &why) != EVOCC_OK) {
            status = why.status;
            if (error != NULL) {
                *error = why;
            }
        }
    }
    return status;
}

evocc_status evocc_study_pending(evocc_trial *out, const evocc_study *s, size_t index,
                                 evocc_error *error)
{
    if (index >= s->flight_count) {
        return error_set(error, EVOCC_NOT_FOUND, "%zu trials are pending", s->flight_count);
    }
    flight_trial(out, &s->flights[index]);
    return EVOCC_OK;
}

/* ---- Tell ----------------------------------------------------------------------------------- */

static callback_flight *find_flight(const evocc_study *s, uint64_t id)
{
    for (size_t i = 0; i < s->flight_count; i++) {
        if (s->flights[i].id == id) {
            return &s->flights[i];
        }
    }
    return NULL;
}

static evocc_status take_answer(evocc_answer *out, const evocc_answer *answer,
                                const objective_list *objectives, evocc_error *error)
{
    size_t size = answer->struct_size;
    *out = (evocc_answer){0};
    if (size < offsetof(evocc_answer, metrics)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "struct_size is %zu: begin with EVOCC_ANSWER", size);
    }
    memcpy(out, answer, size < sizeof *out ? size : sizeof *out);
    if ((unsigned)out->outcome >= EVOCC_OUTCOME_COUNT ||
        (out->outcome == EVOCC_OUTCOME_OK && out->values == NULL)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "an answer needs an outcome, and values when it is ok");
    }
    if (out->metric_count > METRICS_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "at most %d further metrics, not %zu",
                         METRICS_MAX, out->metric_count);
    }
    for (size_t i = 0; i < out->metric_count; i++) {
        evocc_status status = callback_check_name("metric", out->metrics[i].name, error);
        if (status != EVOCC_OK) {
            return status;
        }
        if (has_name(objectives, out->metrics[i].name)) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "metric '%s' is an objective: give it as one of the values",
                             out->metrics[i].name);
        }
    }
    return EVOCC_OK;
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static double finite_or_unknown(double value)
{
    return isfinite(value) ? value : (double)NAN;
}

static void add_metrics(store_trial *trial, const evocc_study *s, const evocc_answer *answer)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        trial->metric_names[trial->metric_count] = s->objectives.items[i].metric;
        trial->metrics[trial->metric_count++] = finite_or_unknown(answer->values[i]);
    }
    for (size_t i = 0; i < answer->metric_count; i++) {
        trial->metric_names[trial->metric_count] = answer->metrics[i].name;
        trial->metrics[trial->metric_count++] = finite_or_unknown(answer->metrics[i].value);
    }
}

static evocc_status put_trial(evocc_study *s, const callback_flight *flight,
                              const evocc_answer *answer, evocc_error *error)
{
    double now = clock_now_s();
    strbuf text = {0};
    space_candidate_text(&text, s->space, flight->genes);
    store_trial trial = {
        .id = flight->id,
        .generation = flight->generation,
        .outcome = answer->outcome,
        .candidate = strbuf_text(&text),
        .code_hash = or_empty(answer->code_hash),
        .detail = or_empty(answer->detail),
        .command = or_empty(answer->command),
        .wall_s = answer->wall_s > 0 ? answer->wall_s : now - flight->asked_s,
    };
    evocc_status status =
        text.failed ? error_no_memory(error)
                    : callback_note_code(&trial.shared, s, trial.code_hash, trial.id, error);
    if (status == EVOCC_OK) {
        if (answer->outcome == EVOCC_OUTCOME_OK) {
            add_metrics(&trial, s, answer);
        }
        status = store_add_trial(s->store, &trial, error);
    }
    strbuf_dispose(&text);
    if (status == EVOCC_OK && now - s->saved_s > 1) {
        callback_save_elapsed(s, NULL); /* the trial is what counts */
    }
    return status;
}

evocc_status evocc_study_tell(evocc_study *s, uint64_t id, const evocc_answer *answer,
                              evocc_error *error)
{
    evocc_answer taken;
    evocc_status status = check_writable(s, error);
    if (status == EVOCC_OK) {
        status = take_answer(&taken, answer, &s->objectives, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    callback_flight *flight = find_flight(s, id);
    if (flight == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "trial %" PRIu64 " is not waiting for an answer", id);
    }
    if (!flight->stored && find_known(s, flight) == NULL) {
        status = put_trial(s, flight, &taken, error);
        flight->stored = status == EVOCC_OK;
    }
    if (status == EVOCC_OK) {
        status = search_tell(s->search, id, taken.outcome, taken.values, error);
    }
    if (status == EVOCC_OK) {
        flight_remove(s, flight);
        save_end(s, NULL); /* ask says it again, and whether it failed */
    }
    return status;
}

/* ---- Run ------------------------------------------------------------------------------------ */

evocc_status evocc_study_run(evocc_study *s, evocc_evaluate *evaluate, void *context,
                             evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK) {
        evocc_trial trial;
        if (evocc_study_pending(&trial, s, 0, NULL) != EVOCC_OK) {
            status = evocc_study_ask(&trial, s, error);
        }
        if (status != EVOCC_OK) {
            break;
        }
        double values[OBJECTIVE_COUNT_MAX] = {0};
        evocc_answer answer = EVOCC_ANSWER;
        answer.outcome = evaluate(context, values, &trial);
        answer.values = values;
        if (answer.outcome == EVOCC_OUTCOME_CANCELLED) {
            return error_set(error, EVOCC_INTERRUPTED,
                             "the evaluation of trial %" PRIu64 " was cancelled", trial.id);
        }
        status = evocc_study_tell(s, trial.id, &answer, error);
    }
    return status == EVOCC_DONE || status == EVOCC_EXHAUSTED ? EVOCC_OK : status;
}
