/*
 * evaluate_program.c: genes -> words -> build -> code -> runs.
 *
 *     FREE -> WAITING -> BUILDING (one command after another) -> BUILT -> READY -> FREE
 *
 * Builds start when nothing is left to measure; see evaluate_program.h.
 */
#include "evaluate/evaluate_program.h"

#include "compiler/object.h"
#include "evaluate/compile_outcome.h"
#include "util/error.h"
#include "util/files.h"
#include "util/map.h"
#include "util/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A candidate whose first run takes so much longer than the baseline is not run again, nor one that
   does not get closer in pairs. */
static const double clearly_slow = 1.25, slow_in_pairs = 1.08;
static const double default_build_s = 600.0, default_run_s = 60.0;
enum {
    AHEAD = 6,       /* candidates per worker, so that phases are long */
    CHECK_RUNS = 10, /* of the baseline */
    OUTPUT_LIMIT = 64 << 20,
    CODE_LIMIT = 1 << 30
};

typedef enum slot_state { FREE, WAITING, BUILDING, BUILT, READY } slot_state;

typedef struct slot {
    slot_state state;
    uint64_t id;
    char *folder;
    size_t step;            /* of BUILDING */
    compiler_command tuned; /* words of the candidate */
    bool baseline;
    evocc_outcome outcome;
    double metrics[EVALUATE_METRIC_COUNT];
    evaluate_sample *samples;
    size_t sample_count;
    double build_cpu_s, wall_s;
    char code_hash[HASH_SHA256_TEXT];
    char detail[EVOCC_ERROR_SIZE];
} slot;

/* One output of the baseline. */
typedef struct output {
    char *data;
    size_t length;
} output;

/* What was found about some code. */
typedef struct known_code {
    const char *hash;
    evocc_outcome outcome;
    double runtime_s, score;
    const char *detail;
} known_code;

typedef struct program_evaluator {
    evaluator base;
    evaluate_program_options o;
    slot *slots;
    slot reference; /* the baseline as it was built; its folder stays */
    bool has_reference;
    double reference_s; /* its median runtime */
    double run_deadline_s;
    int reference_exit;
    output *expected; /* stdout, then the files */
    map codes;
    known_code *known;
    size_t known_count, known_capacity;
    arena texts;
} program_evaluator;

static program_evaluator *self_of(evaluator *e)
{
    return (program_evaluator *)e;
}

static void EVOCC_PRINTF(3, 4) fail(slot *s, evocc_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    s->outcome = outcome;
    vsnprintf(s->detail, sizeof s->detail, format, arguments);
    va_end(arguments);
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

/* The program a word names, as a path: in the candidate's folder, or on PATH. */
static evocc_status resolve(char **word, const slot *s, evocc_error *error)
{
    char *found = NULL;
    evocc_status status = EVOCC_OK;
    if (strchr(*word, '/') == NULL) {
        status = program_find(&found, *word, NULL, error);
    } else {
        found = path_join(s->folder, *word);
        status = found != NULL ? EVOCC_OK : error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        mem_free(*word);
        *word = found;
    }
    return status;
}

static evocc_status start_step(program_evaluator *self, slot *s, uint64_t id, evocc_error *error)
{
    compiler_command command = {0};
    program_build_command(&command, self->o.program, s->step, self->o.identity->path, &s->tuned);
    evocc_status status =
        command.failed ? error_no_memory(error) : resolve(&command.argv[0], s, error);
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

/* ---- Run --------------------------------------------------------------------------------- */

static void remove_outputs(const program *p, const char *folder)
{
    for (size_t i = 0; i < p->outputs.count; i++) {
        char *path = path_join(folder, p->outputs.items[i]);
        if (path != NULL) {
            (void)unlink(path);
        }
        mem_free(path);
    }
}

/* Runs alone: nothing else is in flight. */
static evocc_status run_program(program_evaluator *self, process_result *r, const slot *s,
                                int wake_fd, evocc_error *error)
{
    const program *p = self->o.program;
    uint64_t id;
    compiler_command command = {0};
    for (size_t i = 0; i < p->run.count; i++) {
        compiler_command_add(&command, p->run.items[i]);
    }
    evocc_status status =
        command.failed ? error_no_memory(error) : resolve(&command.argv[0], s, error);
    if (status != EVOCC_OK) {
        compiler_command_dispose(&command);
        return status;
    }
    const process_request request = {
        .argv = (const char *const *)command.argv,
        .environment = p->environment.count > 0 ? p->environment.items : NULL,
        .folder = s->folder,
        .input = p->input,
        .input_length = p->input_length,
        .deadline_s = self->run_deadline_s,
        .output_limit = OUTPUT_LIMIT,
    };
    remove_outputs(p, s->folder);
    status = launcher_submit(self->o.launcher, 0, &request, error);
    compiler_command_dispose(&command);
    if (status == EVOCC_OK) {
        status = launcher_wait(self->o.launcher, -1, wake_fd, &id, r, error);
    }
    return status;
}

static double seconds_of(const program_evaluator *self, const process_result *r)
{
    double seconds = self->o.program->cpu_clock ? r->cpu_s : r->wall_s;
    return seconds > 1e-6 ? seconds : 1e-6; /* the clock's own grain: ratios need numbers above 0 */
}

static void judge_end(slot *s, const process_result *r, double deadline_s)
{
    switch (r->end) {
    case PROCESS_EXITED:
        break;
    case PROCESS_NOT_STARTED:
        fail(s, EVOCC_OUTCOME_LAUNCH_FAILED, "%s",
             r->errors != NULL ? r->errors : "it could not be started");
        break;
    case PROCESS_SIGNALLED:
        fail(s, EVOCC_OUTCOME_LAUNCH_FAILED, "the program was killed by signal %d (%s)", r->signal,
             strsignal(r->signal));
        break;
    case PROCESS_TIMED_OUT:
        fail(s, EVOCC_OUTCOME_RUN_TIMEOUT, "the program was not done after %g s", deadline_s);
        break;
    case PROCESS_CANCELLED:
        fail(s, EVOCC_OUTCOME_CANCELLED, "stopped before it was done");
        break;
    }
}

static evocc_status read_output(output *out, const program *p, size_t index, const slot *s,
                                const process_result *r, evocc_error *error)
{
    if (index == 0) {
        out->data = mem_alloc(r->output_length + 1, 1);
        if (out->data == NULL) {
            return error_no_memory(error);
        }
        memcpy(out->data, r->output, r->output_length);
        out->length = r->output_length;
        return EVOCC_OK;
    }
    char *path = path_join(s->folder, p->outputs.items[index - 1]);
    evocc_status status = path != NULL
                              ? file_read(&out->data, &out->length, path, OUTPUT_LIMIT, error)
                              : error_no_memory(error);
    mem_free(path);
    return status;
}

static const char *output_name(const program *p, size_t index)
{
    return index == 0 ? "stdout" : p->outputs.items[index - 1];
}

/* Compares everything the program wrote with the baseline's. */
static evocc_status judge_outputs(const program_evaluator *self, slot *s, const process_result *r,
                                  evocc_error *error)
{
    const program *p = self->o.program;
    if (r->exit_status != self->reference_exit) {
        fail(s, EVOCC_OUTCOME_WRONG_OUTPUT, "exit status %d, the baseline's is %d", r->exit_status,
             self->reference_exit);
        return EVOCC_OK;
    }
    for (size_t i = p->compare_stdout ? 0 : 1; i <= p->outputs.count; i++) {
        output got = {0};
        evocc_error why = {0};
        evocc_status status = read_output(&got, p, i, s, r, &why);
        if (status == EVOCC_NO_MEMORY) {
            return error_no_memory(error);
        }
        if (status != EVOCC_OK) {
            fail(s, EVOCC_OUTCOME_WRONG_OUTPUT, "%s", why.message);
            return EVOCC_OK;
        }
        char text[EVOCC_ERROR_SIZE];
        bool equal =
            program_output_equal(p, output_name(p, i), self->expected[i].data,
                                 self->expected[i].length, got.data, got.length, text, sizeof text);
        mem_free(got.data);
        if (!equal) {
            fail(s, EVOCC_OUTCOME_WRONG_OUTPUT, "%s", text);
            return EVOCC_OK;
        }
    }
    return EVOCC_OK;
}

/* One checked run; s->outcome says whether it was right. */
static evocc_status run_checked(program_evaluator *self, slot *s, double *seconds, int wake_fd,
                                evocc_error *error)
{
    process_result r = {0};
    evocc_status status = run_program(self, &r, s, wake_fd, error);
    if (status != EVOCC_OK) {
        return status;
    }
    judge_end(s, &r, self->run_deadline_s);
    if (s->outcome == EVOCC_OUTCOME_OK && r.output_truncated) {
        fail(s, EVOCC_OUTCOME_WRONG_OUTPUT, "more than %d MiB on stdout", OUTPUT_LIMIT >> 20);
    }
    if (s->outcome == EVOCC_OUTCOME_OK) {
        status = judge_outputs(self, s, &r, error);
    }
    *seconds = seconds_of(self, &r);
    s->wall_s += r.wall_s;
    if (self->o.program->score != NULL && s->outcome == EVOCC_OUTCOME_OK) {
        s->metrics[EVALUATE_SCORE] = program_score(self->o.program, r.output);
    }
    process_result_dispose(&r);
    return status;
}

/* ---- The baseline ------------------------------------------------------------------------ */

static evocc_status keep_expected(program_evaluator *self, slot *s, const process_result *r,
                                  evocc_error *error)
{
    const program *p = self->o.program;
    self->reference_exit = r->exit_status;
    for (size_t i = 0; i <= p->outputs.count; i++) {
        mem_free(self->expected[i].data);
        self->expected[i] = (output){0};
        evocc_error why = {0};
        evocc_status status = read_output(&self->expected[i], p, i, s, r, &why);
        if (status == EVOCC_NO_MEMORY) {
            return error_no_memory(error);
        }
        if (status != EVOCC_OK) {
            fail(s, EVOCC_OUTCOME_LAUNCH_FAILED, "it did not write %s: %s", output_name(p, i),
                 why.message);
            return EVOCC_OK;
        }
    }
    return EVOCC_OK;
}

static evocc_status first_run(program_evaluator *self, slot *s, int wake_fd, evocc_error *error)
{
    process_result r = {0};
    double given = self->o.program->timeout_s;
    self->run_deadline_s = given > 0 ? given : default_run_s;
    evocc_status status = run_program(self, &r, s, wake_fd, error);
    if (status != EVOCC_OK) {
        return status;
    }
    judge_end(s, &r, self->run_deadline_s);
    if (s->outcome == EVOCC_OUTCOME_OK && r.exit_status != 0) {
        const char *said = r.errors != NULL ? r.errors : "";
        fail(s, EVOCC_OUTCOME_LAUNCH_FAILED, "exit status %d: %.*s", r.exit_status,
             (int)strcspn(said, "\n"), said);
    }
    if (s->outcome == EVOCC_OUTCOME_OK && r.output_truncated) {
        fail(s, EVOCC_OUTCOME_LAUNCH_FAILED, "more than %d MiB on stdout", OUTPUT_LIMIT >> 20);
    }
    if (s->outcome == EVOCC_OUTCOME_OK) {
        status = keep_expected(self, s, &r, error);
    }
    process_result_dispose(&r);
    return status;
}

static evocc_status add_sample(slot *s, double value, evocc_error *error)
{
    evaluate_sample *more = mem_realloc(s->samples, s->sample_count + 1, sizeof *more);
    if (more == NULL) {
        return error_no_memory(error);
    }
    s->samples = more;
    s->samples[s->sample_count++] = (evaluate_sample){EVALUATE_RUNTIME, value};
    return EVOCC_OK;
}

/* Moves what was built to where it stays; the slot gets the old place. */
static void keep_reference(program_evaluator *self, slot *s)
{
    char *folder = self->reference.folder;
    self->reference.folder = s->folder;
    s->folder = folder;
    self->has_reference = true;
    if (self->o.program->timeout_s <= 0) {
        self->run_deadline_s = fmax(5, 10 * self->reference_s);
    }
}

static evocc_status measure_baseline(program_evaluator *self, slot *s, int wake_fd,
                                     evocc_error *error)
{
    double seconds[CHECK_RUNS];
    size_t count = 0;
    evocc_status status = first_run(self, s, wake_fd, error);
    while (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK && count < CHECK_RUNS) {
        status = run_checked(self, s, &seconds[count], wake_fd, error);
        if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK) {
            status = add_sample(s, seconds[count++], error);
        }
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (s->outcome == EVOCC_OUTCOME_WRONG_OUTPUT) {
        char what[EVOCC_ERROR_SIZE / 2];
        snprintf(what, sizeof what, "%.*s", (int)sizeof what - 1, s->detail);
        fail(s, EVOCC_OUTCOME_UNSTABLE,
             "two runs of the baseline do not agree (%s): state a `tolerance`, or compare other "
             "`outputs`",
             what);
    }
    if (s->outcome == EVOCC_OUTCOME_OK) {
        self->reference_s = stats_median(seconds, count);
        s->metrics[EVALUATE_RUNTIME] = self->reference_s;
        keep_reference(self, s);
    }
    return EVOCC_OK;
}

/* ---- A candidate ------------------------------------------------------------------------- */

/* The baseline and the candidate, the one first that was second before. */
static evocc_status run_pair(program_evaluator *self, slot *s, size_t number, double *baseline_s,
                             double *tuned_s, int wake_fd, evocc_error *error)
{
    slot *reference = &self->reference;
    evocc_status status = EVOCC_OK;
    reference->outcome = EVOCC_OUTCOME_OK;
    for (size_t turn = 0; turn < 2 && status == EVOCC_OK; turn++) {
        bool baseline = (turn + number) % 2 == 0;
        status = baseline ? run_checked(self, reference, baseline_s, wake_fd, error)
                          : run_checked(self, s, tuned_s, wake_fd, error);
    }
    if (status == EVOCC_OK && reference->outcome != EVOCC_OUTCOME_OK) {
        fail(s, EVOCC_OUTCOME_UNSTABLE, "the baseline failed beside it: %s", reference->detail);
    }
    return status;
}

static double median_of(const double *values, size_t count)
{
    double copy[128];
    memcpy(copy, values, count * sizeof *copy);
    return stats_median(copy, count);
}

/* Pairs until it is clearly slow or the repeats are done. */
static evocc_status measure_pairs(program_evaluator *self, slot *s, int wake_fd, evocc_error *error)
{
    double ratios[128];
    size_t count = 0;
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK &&
           count < self->o.program->repeats) {
        double baseline_s = 0;
        double tuned_s = 0;
        status = run_pair(self, s, count, &baseline_s, &tuned_s, wake_fd, error);
        if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK) {
            ratios[count++] = log(tuned_s / baseline_s);
            status = add_sample(s, tuned_s, error);
        }
        if (count >= 2 && median_of(ratios, count) > log(slow_in_pairs)) {
            break;
        }
    }
    if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK) {
        s->metrics[EVALUATE_RUNTIME] = self->reference_s * exp(median_of(ratios, count));
    }
    return status;
}

static evocc_status measure_candidate(program_evaluator *self, slot *s, int wake_fd,
                                      evocc_error *error)
{
    double pilot_s = 0;
    evocc_status status = run_checked(self, s, &pilot_s, wake_fd, error);
    if (status != EVOCC_OK || s->outcome != EVOCC_OUTCOME_OK || !self->o.time) {
        return status;
    }
    if (pilot_s > clearly_slow * self->reference_s) {
        /* Once more: the first time something else may have been in the way. */
        double again_s = 0;
        status = run_checked(self, s, &again_s, wake_fd, error);
        pilot_s = fmin(pilot_s, again_s);
    }
    if (status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK &&
        pilot_s > clearly_slow * self->reference_s) {
        s->metrics[EVALUATE_RUNTIME] = pilot_s;
        return add_sample(s, pilot_s, error);
    }
    return status == EVOCC_OK && s->outcome == EVOCC_OUTCOME_OK
               ? measure_pairs(self, s, wake_fd, error)
               : status;
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
        status = self->has_reference ? measure_candidate(self, s, wake_fd, error)
                                     : measure_baseline(self, s, wake_fd, error);
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
        status = run_pair(self, s, i, &baseline_s, &tuned_s, wake_fd, error);
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
