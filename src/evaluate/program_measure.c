/* program_measure.c: runs of a program: whether they are right, and how long they take. */
#include "evaluate/program_parts.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A candidate whose first run takes so much longer than the baseline is not run again, nor one that
   does not get closer in pairs. */
static const double clearly_slow = 1.25, slow_in_pairs = 1.08;
static const double default_run_s = 60.0;
enum {
    CHECK_RUNS = 10, /* of the baseline */
    OUTPUT_LIMIT = 64 << 20
};

static void EVOCC_PRINTF(3, 4) fail(slot *s, evocc_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    s->outcome = outcome;
    vsnprintf(s->detail, sizeof s->detail, format, arguments);
    va_end(arguments);
}

evocc_status program_resolve(char **word, const slot *s, evocc_error *error)
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
        command.failed ? error_no_memory(error) : program_resolve(&command.argv[0], s, error);
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

evocc_status program_measure_baseline(program_evaluator *self, slot *s, int wake_fd,
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

evocc_status program_run_pair(program_evaluator *self, slot *s, size_t number, double *baseline_s,
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
        status = program_run_pair(self, s, count, &baseline_s, &tuned_s, wake_fd, error);
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

evocc_status program_measure_candidate(program_evaluator *self, slot *s, int wake_fd,
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
