/*
 * evaluate_program.c: genes -> words -> build -> code -> runs.
 *
 *     FREE -> WAITING -> BUILDING (one command after another) -> BUILT -> READY -> FREE
 *
 * Builds start when nothing is left to measure; see evaluate_program.h.
 */
#include "evaluate/program_parts.h"

#include "compiler/object.h"
#include "evaluate/compile_outcome.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double default_build_s = 600.0;
enum {
    AHEAD = 6, /* candidates per worker, so that phases are long */
    CODE_LIMIT = 1 << 30
};

static program_evaluator *self_of(evaluator *e)
{
    return (program_evaluator *)e;
}

/* ---- Build ------------------------------------------------------------------------------- */

static void slot_clear(slot *s)
{
    compiler_command_dispose(&s->tuned);
    mem_free(s->samples);
    *s = (slot){.folder = s->folder};
    for (size_t i = 0; i < EVALUATE_METRIC_COUNT; i++) {
        s->metrics[i] = (double)NAN;
    }
}

static bool all_absent(const program_evaluator *self, const int32_t *genes)
{
    for (size_t i = 0; i < space_count(self->o.space); i++) {
        if (genes[i] != SPACE_ABSENT) {
            return false;
        }
    }
    return true;
}

static evocc_status slot_take(program_evaluator *self, slot *s, uint64_t id, const int32_t *genes,
                              evocc_error *error)
{
    slot_clear(s);
    s->id = id;
    s->baseline = all_absent(self, genes);
    self->o.compiler->render(&s->tuned, self->o.space, genes);
    if (s->tuned.failed) {
        slot_clear(s);
        return error_no_memory(error);
    }
    s->state = WAITING;
    return EVOCC_OK;
}

static evocc_status start_step(program_evaluator *self, slot *s, uint64_t id, evocc_error *error)
{
    compiler_command command = {0};
    program_build_command(&command, self->o.program, s->step, self->o.identity->path, &s->tuned);
    evocc_status status =
        command.failed ? error_no_memory(error) : program_resolve(&command.argv[0], s, error);
    if (status == EVOCC_OK) {
        const process_request request = {.argv = (const char *const *)command.argv,
                                         .folder = s->folder,
                                         .deadline_s = self->base.deadline_s};
        status = launcher_submit(self->o.launcher, id, &request, error);
    }
    s->state = status == EVOCC_OK ? BUILDING : s->state;
    compiler_command_dispose(&command);
    return status;
}

/* A fresh folder: nothing of an earlier candidate can be taken for this one's. */
static evocc_status start_build(program_evaluator *self, slot *s, uint64_t id, evocc_error *error)
{
    evocc_error why = {0};
    folder_remove(s->folder);
    if (folder_make(s->folder, &why) != EVOCC_OK) {
        return error_set(error, EVOCC_IO,
                         "the work folder takes no candidate: %s; TMPDIR names another place",
                         why.message);
    }
    s->step = 0;
    return start_step(self, s, id, error);
}

static evocc_status read_code(program_evaluator *self, slot *s, compile_outcome *outcome,
                              evocc_error *error)
{
    const program_words *files = &self->o.program->code;
    hash_sha256_state sum;
    double bytes = 0;
    evocc_error why = {0};
    evocc_status status = EVOCC_OK;
    hash_sha256_init(&sum);
    for (size_t i = 0; status == EVOCC_OK && i < files->count; i++) {
        char *data = NULL;
        size_t length = 0;
        char *path = path_join(s->folder, files->items[i]);
        status = path != NULL ? file_read(&data, &length, path, CODE_LIMIT, &why)
                              : error_no_memory(&why);
        if (status == EVOCC_OK) {
            status = object_add(&bytes, &sum, data, length, files->items[i], &why);
        }
        mem_free(data);
        mem_free(path);
    }
    hash_sha256_end(&sum, s->code_hash);
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        s->code_hash[0] = '\0';
        return compile_outcome_of_damage(outcome, why.message, "the build", s->folder, error);
    }
    s->metrics[EVALUATE_CODE_BYTES] = bytes;
    s->metrics[EVALUATE_COMPILE_TIME] = s->build_cpu_s;
    return EVOCC_OK;
}

/* A build command has ended: the next one, or what it all came to. */
static evocc_status step_ended(program_evaluator *self, slot *s, uint64_t id,
                               const process_result *r, evocc_error *error)
{
    compile_outcome outcome = {0};
    const program *p = self->o.program;
    s->wall_s += r->wall_s;
    s->build_cpu_s += r->cpu_s;
    evocc_status status = compile_outcome_of(&outcome, r, p->build[s->step].items[0], s->folder,
                                             self->base.deadline_s, error);
    if (status == EVOCC_OK && outcome.outcome == EVOCC_OUTCOME_OK && ++s->step < p->build_count) {
        return start_step(self, s, id, error);
    }
    if (status == EVOCC_OK && outcome.outcome == EVOCC_OUTCOME_OK) {
        status = read_code(self, s, &outcome, error);
    }
    s->outcome = outcome.outcome;
    snprintf(s->detail, sizeof s->detail, "%s", outcome.detail);
    s->state = s->outcome == EVOCC_OUTCOME_OK ? BUILT : READY;
    return status;
}

/* From start to end, while nothing is in flight. */
static evocc_status build_alone(program_evaluator *self, slot *s, int wake_fd, evocc_error *error)
{
    evocc_status status = start_build(self, s, 0, error);
    while (status == EVOCC_OK && s->state == BUILDING) {
        uint64_t id;
        process_result r = {0};
        status = launcher_wait(self->o.launcher, -1, wake_fd, &id, &r, error);
        if (status == EVOCC_OK) {
            status = step_ended(self, s, 0, &r, error);
            process_result_dispose(&r);
        }
    }
    return status;
}

/* ---- Equal code -------------------------------------------------------------------------- */

static const known_code *find_code(const program_evaluator *self, const char *hash)
{
    size_t index = map_get(&self->codes, hash, strlen(hash));
    return index != MAP_NONE ? &self->known[index] : NULL;
}

static evocc_status note_code(program_evaluator *self, const char *hash, evocc_outcome outcome,
                              double runtime_s, double score, const char *detail,
                              evocc_error *error)
{
    if (hash[0] == '\0' || find_code(self, hash) != NULL || outcome == EVOCC_OUTCOME_CANCELLED) {
        return EVOCC_OK;
    }
    known_code code = {.hash = arena_strdup(&self->texts, hash),
                       .detail = arena_strdup(&self->texts, detail),
                       .outcome = outcome,
                       .runtime_s = runtime_s,
                       .score = score};
    if (code.hash == NULL || code.detail == NULL ||
        !mem_grow(&self->known, &self->known_capacity, self->known_count + 1,
                  sizeof *self->known) ||
        !map_put(&self->codes, code.hash, strlen(code.hash), self->known_count)) {
        return error_no_memory(error);
    }
    self->known[self->known_count++] = code;
    return EVOCC_OK;
}

/* BUILT becomes READY. */
static evocc_status measure(program_evaluator *self, slot *s, int wake_fd, evocc_error *error)
{
    const known_code *known = find_code(self, s->code_hash);
    evocc_status status = EVOCC_OK;
    if (self->o.program->run.count == 0) {
        s->state = READY;
        return EVOCC_OK;
    }
    if (known != NULL && self->has_reference) {
        s->outcome = known->outcome;
        s->metrics[EVALUATE_RUNTIME] = known->runtime_s;
        s->metrics[EVALUATE_SCORE] = known->score;
        snprintf(s->detail, sizeof s->detail, "%s", known->detail);
    } else if (!self->has_reference && !s->baseline) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "the baseline comes first");
    } else {
        status = self->has_reference ? program_measure_candidate(self, s, wake_fd, error)
                                     : program_measure_baseline(self, s, wake_fd, error);
        if (status == EVOCC_OK) {
            status = note_code(self, s->code_hash, s->outcome, s->metrics[EVALUATE_RUNTIME],
                               s->metrics[EVALUATE_SCORE], s->detail, error);
        }
    }
    if (status == EVOCC_OK) {
        s->state = READY;
    }
    return status;
}

/* ---- Submit and wait --------------------------------------------------------------------- */

static slot *slot_in(program_evaluator *self, slot_state state)
{
    for (size_t i = 0; i < self->base.capacity; i++) {
        if (self->slots[i].state == state) {
            return &self->slots[i];
        }
    }
    return NULL;
}

static evocc_status submit(evaluator *e, uint64_t id, const int32_t *genes, evocc_error *error)
{
    program_evaluator *self = self_of(e);
    slot *s = slot_in(self, FREE);
    if (s == NULL) {
        return error_set(error, EVOCC_BUSY, "%zu candidates are in flight: wait for a result first",
                         e->in_flight);
    }
    evocc_status status = slot_take(self, s, id, genes, error);
    e->in_flight += status == EVOCC_OK;
    return status;
}

/* What a person types to see the same again. */
static char *reproducing_command(const program_evaluator *self, const slot *s)
{
    const program *p = self->o.program;
    strbuf text = {0};
    for (size_t i = 0; i < p->build_count; i++) {
        compiler_command command = {0};
        program_build_command(&command, p, i, self->o.identity->path, &s->tuned);
        strbuf_puts(&text, i > 0 ? " && " : "");
        compiler_command_text(&text, &command);
        text.failed = text.failed || command.failed;
        compiler_command_dispose(&command);
    }
    for (size_t i = 0; i < p->run.count; i++) {
        strbuf_puts(&text, i > 0 ? " " : " && ");
        strbuf_shell_word(&text, p->run.items[i]);
    }
    return strbuf_take(&text);
}

static evocc_status take_result(evaluator *e, slot *s, evaluate_result *result, evocc_error *error)
{
    program_evaluator *self = self_of(e);
    evaluate_result r = {.id = s->id,
                         .outcome = s->outcome,
                         .detail = mem_strdup(s->detail),
                         .command = reproducing_command(self, s),
                         .wall_s = s->wall_s};
    if (r.detail == NULL || r.command == NULL) {
        evaluate_result_dispose(&r);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < EVALUATE_METRICS_MAX; i++) {
        r.metrics[i] = i < EVALUATE_METRIC_COUNT ? s->metrics[i] : (double)NAN;
    }
    memcpy(r.code_hash, s->code_hash, sizeof r.code_hash);
    r.samples = s->samples;
    r.sample_count = s->sample_count;
    s->samples = NULL;
    *result = r;
    slot_clear(s);
    e->in_flight--;
    return EVOCC_OK;
}

static evocc_status start_waiting(program_evaluator *self, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < self->base.capacity; i++) {
        if (self->slots[i].state == WAITING) {
            status = start_build(self, &self->slots[i], i, error);
        }
    }
    return status;
}

static evocc_status collect_step(program_evaluator *self, double timeout_s, int wake_fd,
                                 evocc_error *error)
{
    uint64_t index = 0;
    process_result r = {0};
    evocc_status status = launcher_wait(self->o.launcher, timeout_s, wake_fd, &index, &r, error);
    if (status != EVOCC_OK) {
        return status;
    }
    status = index < self->base.capacity && self->slots[index].state == BUILDING
                 ? step_ended(self, &self->slots[index], index, &r, error)
                 : error_set(error, EVOCC_PROCESS, "the helper answered a question nobody asked");
    process_result_dispose(&r);
    return status;
}

static evocc_status wait_for(evaluator *e, double timeout_s, int wake_fd, evaluate_result *result,
                             evocc_error *error)
{
    program_evaluator *self = self_of(e);
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK) {
        slot *ready = slot_in(self, READY);
        slot *built = slot_in(self, BUILT);
        if (ready != NULL) {
            return take_result(e, ready, result, error);
        }
        if (slot_in(self, BUILDING) != NULL) {
            status = collect_step(self, timeout_s, wake_fd, error);
        } else if (built != NULL) {
            status = measure(self, built, wake_fd, error);
        } else if (slot_in(self, WAITING) != NULL) {
            status = start_waiting(self, error);
        } else {
            status = error_set(error, EVOCC_NOT_FOUND, "no candidate is in flight");
        }
    }
    return status;
}

/* ---- What an earlier run found ------------------------------------------------------------- */

static evocc_status know(evaluator *e, const int32_t *genes, const evaluate_result *result,
                         evocc_error *error)
{
    program_evaluator *self = self_of(e);
    /* The baseline is measured anew: the machine may be in another mood. */
    return all_absent(self, genes)
               ? EVOCC_OK
               : note_code(self, result->code_hash, result->outcome,
                           result->metrics[EVALUATE_RUNTIME], result->metrics[EVALUATE_SCORE],
                           result->detail != NULL ? result->detail : "", error);
}

/* ---- One candidate by itself ------------------------------------------------------------- */

static evocc_status check_idle(const evaluator *e, evocc_error *error)
{
    return e->in_flight == 0
               ? EVOCC_OK
               : error_set(error, EVOCC_BUSY, "%zu candidates are still in flight", e->in_flight);
}

evocc_status evaluate_program_code(char **out, size_t *length, evaluator *e, const int32_t *genes,
                                   evocc_error *error)
{
    program_evaluator *self = self_of(e);
    slot *s = &self->slots[0];
    evocc_status status = check_idle(e, error);
    if (status == EVOCC_OK) {
        status = slot_take(self, s, 0, genes, error);
    }
    if (status == EVOCC_OK) {
        status = build_alone(self, s, -1, error);
    }
    if (status == EVOCC_OK && s->outcome != EVOCC_OUTCOME_OK) {
        status =
            error_set(error, EVOCC_PROCESS, "%s: %s", evocc_outcome_name(s->outcome), s->detail);
    }
    char *path = status == EVOCC_OK ? path_join(s->folder, self->o.program->code.items[0]) : NULL;
    if (status == EVOCC_OK) {
        status =
            path != NULL ? file_read(out, length, path, CODE_LIMIT, error) : error_no_memory(error);
    }
    mem_free(path);
    slot_clear(s);
    return status;
}

static evocc_status run_plan(program_evaluator *self, slot *s, stats_sequence *sequence,
                             int wake_fd, evaluate_program_pair *each, void *context,
                             evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK &&
                       stats_sequence_next(sequence) == STATS_MORE;
         i++) {
        double baseline_s = 0;
        double tuned_s = 0;
        status = program_run_pair(self, s, i, &baseline_s, &tuned_s, wake_fd, error);
        if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK) {
            status = stats_sequence_add(sequence, baseline_s, tuned_s, error);
        }
        if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK) {
            status = each(context, baseline_s, tuned_s, error);
        }
    }
    return status;
}

evocc_status evaluate_program_compare(evocc_outcome *outcome, char detail[EVOCC_ERROR_SIZE],
                                      evaluator *e, const int32_t *genes, const stats_plan *plan,
                                      int wake_fd, evaluate_program_pair *each, void *context,
                                      evocc_error *error)
{
    program_evaluator *self = self_of(e);
    slot *s = &self->slots[0];
    stats_sequence *sequence = NULL;
    evocc_status status = check_idle(e, error);
    if (status == EVOCC_OK && !self->has_reference) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "the baseline comes first");
    }
    if (status == EVOCC_OK) {
        status = stats_sequence_new(&sequence, plan, error);
    }
    if (status == EVOCC_OK) {
        status = slot_take(self, s, 0, genes, error);
    }
    if (status == EVOCC_OK) {
        status = build_alone(self, s, wake_fd, error);
    }
    if (status == EVOCC_OK) {
        status = run_plan(self, s, sequence, wake_fd, each, context, error);
    }
    *outcome = s->outcome;
    snprintf(detail, EVOCC_ERROR_SIZE, "%s", s->detail);
    stats_sequence_free(sequence);
    slot_clear(s);
    return status;
}

/* ---- Life -------------------------------------------------------------------------------- */

static void slot_dispose(slot *s)
{
    if (s->folder != NULL) {
        folder_remove(s->folder);
    }
    slot_clear(s);
    mem_free(s->folder);
}

static void free_evaluator(evaluator *e)
{
    if (e == NULL) {
        return;
    }
    program_evaluator *self = self_of(e);
    for (size_t i = 0; self->slots != NULL && i < e->capacity; i++) {
        slot_dispose(&self->slots[i]);
    }
    slot_dispose(&self->reference);
    for (size_t i = 0; self->expected != NULL && i <= self->o.program->outputs.count; i++) {
        mem_free(self->expected[i].data);
    }
    mem_free(self->expected);
    mem_free(self->slots);
    mem_free(self->known);
    map_dispose(&self->codes);
    arena_dispose(&self->texts);
    mem_free(self);
}

static char *slot_folder(const program_evaluator *self, size_t number)
{
    char name[32];
    snprintf(name, sizeof name, "program-%zu", number);
    return path_join(launcher_folder(self->o.launcher), name);
}

static const evaluator_class program_class = {
    .submit = submit, .wait = wait_for, .free = free_evaluator, .know = know};

evocc_status evaluate_program_new(evaluator **out, const evaluate_program_options *options,
                                  evocc_error *error)
{
    program_evaluator *self = mem_alloc(1, sizeof *self);
    if (self == NULL) {
        return error_no_memory(error);
    }
    size_t workers = options->workers > 0 ? options->workers : 1;
    double given = options->program->build_timeout_s;
    self->o = *options;
    self->base = (evaluator){.class = &program_class,
                             .capacity = workers * AHEAD,
                             .deadline_s = given > 0 ? given : default_build_s};
    self->base.metrics = evaluate_metrics(&self->base.metric_count);
    self->slots = mem_alloc(self->base.capacity, sizeof *self->slots);
    self->expected = mem_alloc(options->program->outputs.count + 1, sizeof *self->expected);
    evocc_status status = self->slots != NULL && self->expected != NULL
                              ? launcher_limit(options->launcher, workers, error)
                              : error_no_memory(error);
    for (size_t i = 0; status == EVOCC_OK && i <= self->base.capacity; i++) {
        slot *s = i < self->base.capacity ? &self->slots[i] : &self->reference;
        s->folder = slot_folder(self, i);
        status = s->folder != NULL ? EVOCC_OK : error_no_memory(error);
        slot_clear(s);
    }
    if (status != EVOCC_OK) {
        free_evaluator(&self->base);
        return status;
    }
    *out = &self->base;
    return EVOCC_OK;
}
