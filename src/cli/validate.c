#include "cli/applied.h"
#include "cli/cli.h"
#include "cli/wrapper.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 0, REJECTED = 1, TROUBLE = 2 };

typedef struct validate_values {
    const char *ptxas, *log;
    double margin;
    bool allow_numerics, json;
} validate_values;

#define OFFSET(field) offsetof(validate_values, field)

static const cli_option options[] = {
    {"margin", 0, "X", CLI_NUMBER, OFFSET(margin),
     "gain that is asked for at least: 0.02 is 2 %; default: any. What was given up for it may "
     "have "
     "become more by as much"},
    {"log", 0, "FILE", CLI_TEXT, OFFSET(log),
     "where a line is appended; default: validate.log beside the wrapper's log (evocc doctor)"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics),
     "also for files whose controls may change rounding"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "print the verdict as JSON"},
};

typedef struct validation {
    applied a;
    acf *file;
    objective_list objectives;
    evaluate_result before, after;
    strbuf reason, differences;
    bool kept;
    double gain, promised; /* mean gains, now and as the file says; NAN: unknown */
} validation;

static double value_of(const evaluate_result *result, const char *metric)
{
    size_t count;
    const evaluate_metric_info *infos = evaluate_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name, metric) == 0) {
            return result->metrics[i];
        }
    }
    return (double)NAN;
}

static const acf_metric *metric_in(const acf *file, const char *name)
{
    for (size_t i = 0; i < file->metric_count; i++) {
        if (strcmp(file->metrics[i].name, name) == 0) {
            return &file->metrics[i];
        }
    }
    return NULL;
}

static void difference(validation *v, const char *field, const char *now, const char *then)
{
    if (strcmp(now, then) != 0) {
        strbuf_printf(&v->differences, "%s%s is %s, was %s", v->differences.length > 0 ? "; " : "",
                      field, *now == '\0' ? "unknown" : now, then);
    }
}

/* Fields of `found` that say where it was found, as far as a static evaluation has them. */
static void compare_found(validation *v)
{
    const char *line = v->file->found_extra == NULL ? "" : strstr(v->file->found_extra, "evocc: ");
    if (line == NULL || *line == '\0') {
        return;
    }
    line += strlen("evocc: ");
    char then[64];
    snprintf(then, sizeof then, "%.*s", (int)strcspn(line, "\n"), line);
    difference(v, "evocc", evocc_version(), then);
}

/* What the file gained must still be gained. What it gave up for that, as a point of a front does,
   may not have become more. */
static bool still_holds(double now, double then, double margin)
{
    return isnan(then) || (then > 1 ? now > 1 + margin : now >= then / (1 + margin));
}

static void put_objective(validation *v, const char *metric, double baseline, double tuned,
                          const acf_metric *then)
{
    strbuf_printf(&v->reason, "%s%s %.10g -> %.10g", v->reason.length == 0 ? "" : ", ", metric,
                  baseline, tuned);
    if (then != NULL) {
        strbuf_printf(&v->reason, " (was %.10g -> %.10g)", then->baseline, then->tuned);
    }
}

/* Only exact metrics can be judged by one compilation each. */
static evocc_status judge(validation *v, double margin, evocc_error *error)
{
    double baseline[OBJECTIVE_COUNT_MAX];
    double tuned[OBJECTIVE_COUNT_MAX];
    double old_baseline[OBJECTIVE_COUNT_MAX];
    double old_tuned[OBJECTIVE_COUNT_MAX];
    bool gains = false;
    bool holds = true;
    for (size_t i = 0; i < v->objectives.count; i++) {
        const objective *o = &v->objectives.items[i];
        const acf_metric *then = metric_in(v->file, o->metric);
        const evaluate_metric_info *info = evaluate_metric_find(o->metric);
        if (info == NULL || info->measured) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "%s was found for %s, which only measuring can judge: evocc run "
                             "WORKLOAD.yaml --apply-controls FILE.acf does, on a GPU",
                             v->file->name, o->metric);
        }
        baseline[i] = value_of(&v->before, o->metric);
        tuned[i] = value_of(&v->after, o->metric);
        old_baseline[i] = then == NULL ? (double)NAN : then->baseline;
        old_tuned[i] = then == NULL ? (double)NAN : then->tuned;
        double now = objective_gain(o, baseline[i], tuned[i]);
        gains = gains || now > 1 + margin;
        holds = holds && still_holds(now, objective_gain(o, old_baseline[i], old_tuned[i]), margin);
        put_objective(v, o->metric, baseline[i], tuned[i], then);
    }
    v->gain = objective_list_gain(&v->objectives, baseline, tuned);
    v->promised = objective_list_gain(&v->objectives, old_baseline, old_tuned);
    v->kept = gains && holds; /* both false when a value is unknown */
    return EVOCC_OK;
}

static evocc_status reject(validation *v, const char *reason, evocc_error *error)
{
    strbuf_puts(&v->reason, reason);
    v->kept = false;
    if (error != NULL) {
        *error = (evocc_error){0};
    }
    return EVOCC_OK;
}

static evocc_status evaluate_both(validation *v, evocc_error *error)
{
    evocc_status status = study_evaluate(&v->before, v->a.study, "", error);
    if (status == EVOCC_OK && v->before.outcome != EVOCC_OUTCOME_OK) {
        status =
            error_set(error, EVOCC_PROCESS, "the baseline does not compile: %s", v->before.detail);
    }
    return status == EVOCC_OK ? study_evaluate(&v->after, v->a.study, v->a.candidate, error)
                              : status;
}

/* What is wrong with the file or the candidate is a verdict; what is wrong with this machine is an
   error. */
static evocc_status validate(validation *v, const validate_values *values,
                             const cli_operands *operands, evocc_error *error)
{
    v->gain = v->promised = (double)NAN;
    evocc_status status = applied_read(&v->file, operands->items[0], error);
    if (status == EVOCC_OK) {
        status = applied_objectives(&v->objectives, v->file, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    const applied_options o = {.acf_path = operands->items[0],
                               .input_path = operands->items[1],
                               .ptxas = values->ptxas,
                               .objectives = &v->objectives,
                               .allow_numerics = values->allow_numerics,
                               .any_version = true};
    status = applied_open(&v->a, &o, error);
    strbuf_puts(&v->differences, v->a.differences);
    compare_found(v);
    if (status == EVOCC_MISMATCH) {
        return reject(v, error->message, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    status = evaluate_both(v, error);
    if (status == EVOCC_REFUSED || status == EVOCC_INVALID_ARGUMENT || status == EVOCC_NOT_FOUND) {
        return reject(v, error->message, error); /* a control or value that is not there any more */
    }
    if (status == EVOCC_OK && v->after.outcome != EVOCC_OUTCOME_OK) {
        strbuf_printf(&v->reason, "%s: ", evocc_outcome_name(v->after.outcome));
        return reject(v, v->after.detail, error);
    }
    return status == EVOCC_OK ? judge(v, values->margin, error) : status;
}

/* ---- The log --------------------------------------------------------------------------------- */

static char *log_path(const char *given)
{
    if (given != NULL) {
        return mem_strdup(given);
    }
    char *wrapper = wrapper_log_path();
    char *folder = wrapper == NULL ? NULL : path_folder(wrapper);
    char *path = NULL;
    if (folder != NULL && folder_make(folder, NULL) == EVOCC_OK) {
        path = path_join(folder, "validate.log");
    }
    mem_free(wrapper);
    mem_free(folder);
    return path;
}

static void put_field(strbuf *line, const char *text)
{
    strbuf_putc(line, '\t');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        strbuf_putc(line, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

/* One write of one line, so that several at once do not mix. */
static evocc_status append_log(const validation *v, const char *given, const cli_operands *operands,
                               evocc_error *error)
{
    char *path = log_path(given);
    char now[CLOCK_TEXT];
    strbuf line = {0};
    if (path == NULL) {
        return EVOCC_OK; /* no state folder: nobody asked for a log */
    }
    clock_utc_text(now);
    strbuf_printf(&line, "%s\t%s", now, v->kept ? "kept" : "rejected");
    put_field(&line, operands->items[0]);
    put_field(&line, operands->items[1]);
    put_field(&line, strbuf_text(&v->reason));
    put_field(&line, strbuf_text(&v->differences));
    strbuf_putc(&line, '\n');
    evocc_status status = line.failed ? error_no_memory(error) : EVOCC_OK;
    int descriptor =
        status != EVOCC_OK ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (status == EVOCC_OK &&
        (descriptor < 0 || write(descriptor, line.data, line.length) != (ssize_t)line.length)) {
        status = error_set_os(error, EVOCC_IO, errno, "cannot append to %s", path);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    strbuf_dispose(&line);
    mem_free(path);
    return status;
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void put_text(strbuf *out, const validation *v)
{
    strbuf_printf(out, "%s: %s\n", v->kept ? "kept" : "rejected", strbuf_text(&v->reason));
    if (!isnan(v->gain)) {
        strbuf_printf(out, "mean gain %.4gx", v->gain);
        if (!isnan(v->promised)) {
            strbuf_printf(out, ", %.4gx when it was found", v->promised);
        }
        strbuf_putc(out, '\n');
    }
    strbuf_printf(out, "environment: %s\n",
                  v->differences.length == 0 ? "as when it was found"
                                             : strbuf_text(&v->differences));
}

static void put_json(strbuf *out, const validation *v)
{
    strbuf_printf(out, "{\"kept\":%s,\"reason\":", v->kept ? "true" : "false");
    strbuf_json_string(out, strbuf_text(&v->reason));
    strbuf_puts(out, ",\"gain\":");
    strbuf_number(out, v->gain);
    strbuf_puts(out, ",\"gain_when_found\":");
    strbuf_number(out, v->promised);
    strbuf_puts(out, ",\"differences\":");
    strbuf_json_string(out, strbuf_text(&v->differences));
    strbuf_puts(out, "}\n");
}

static int run(const void *values, const cli_operands *operands)
{
    const validate_values *options_given = values;
    evocc_error error = {0};
    validation v = {.kept = false};
    strbuf text = {0};
    int exit_status = TROUBLE;
    evocc_status status = validate(&v, options_given, operands, &error);
    if (status == EVOCC_OK) {
        (options_given->json ? put_json : put_text)(&text, &v);
        bool printed = !text.failed && cli_print(strbuf_text(&text), text.length) == CLI_DONE;
        status = append_log(&v, options_given->log, operands, &error);
        exit_status = !printed || status != EVOCC_OK ? TROUBLE : v.kept ? KEPT : REJECTED;
    }
    if (status != EVOCC_OK) {
        cli_fail(&cli_validate, &error);
    }
    strbuf_dispose(&text);
    strbuf_dispose(&v.reason);
    strbuf_dispose(&v.differences);
    evaluate_result_dispose(&v.before);
    evaluate_result_dispose(&v.after);
    acf_free(v.file);
    applied_dispose(&v.a);
    return exit_status;
}

const cli_command cli_validate = {
    .name = "validate",
    .operands = "FILE.acf KERNEL.ptx",
    .summary = "is an ACF's gain still there, with this compiler?",
    .text =
        "Compiles the kernel without and with the file's controls, as it was found, and says "
        "'kept' or 'rejected' with the reason, and what of the environment is not as it was. For "
        "exact metrics (spill_bytes, registers, code_bytes, ...). A line with the verdict is "
        "appended to a log. Exit status, for pipelines: 0 kept, 1 rejected, 2 it could not be "
        "judged.",
    .examples = "  evocc validate best.acf kernel.ptx\n"
                "  evocc validate best.acf kernel.ptx --ptxas ./ptxas --margin 0.05\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 2,
    .operands_max = 2,
    .values_size = sizeof(validate_values),
    .run = run,
};
