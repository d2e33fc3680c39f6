#include "cli/applied.h"
#include "cli/cli.h"

#include "study/minimize.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct minimize_values {
    const char *output, *ptxas;
    cli_list minimize, maximize;
    double margin;
    bool allow_numerics, json;
} minimize_values;

#define OFFSET(field) offsetof(minimize_values, field)

static const cli_option options[] = {
    {"output", 'o', "FILE", CLI_TEXT, OFFSET(output),
     "where the smaller ACF goes; default: FILE.min.acf for FILE.acf"},
    {"margin", 0, "X", CLI_NUMBER, OFFSET(margin),
     "how much worse an objective may become for a control less: 0.01 is 1 %; default: not at all"},
    {"minimize", 0, "METRIC", CLI_LIST, OFFSET(minimize),
     "the objectives whose gain is kept; default: those that the file was found for"},
    {"maximize", 0, "METRIC", CLI_LIST, OFFSET(maximize), "as for evocc tune"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics),
     "also for files whose controls may change rounding"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "print the result as JSON"},
};

typedef struct session {
    applied a;
    objective_list objectives;
    minimize_result result;
    char *output;
} session;

/* A static evaluation: one compilation. */
static evocc_status compile_once(void *context, double *values, bool *valid, const char *candidate,
                                 evocc_error *error)
{
    session *s = context;
    evaluate_result result = {0};
    size_t count;
    const evaluate_metric_info *infos = evaluate_metrics(&count);
    evocc_error local = {0};
    evocc_status status = study_evaluate(&result, s->a.study, candidate, &local);
    *valid = status == EVOCC_OK && result.outcome == EVOCC_OUTCOME_OK;
    for (size_t i = 0; *valid && i < s->objectives.count; i++) {
        values[i] = (double)NAN;
        for (size_t m = 0; m < count; m++) {
            if (strcmp(infos[m].name, s->objectives.items[i].metric) == 0) {
                values[i] = result.metrics[m];
            }
        }
    }
    evaluate_result_dispose(&result);
    if (status == EVOCC_REFUSED) {
        return EVOCC_OK; /* a rule of the space forbids it */
    }
    if (status != EVOCC_OK && error != NULL) {
        *error = local;
    }
    return status;
}

static evocc_status choose_objectives(session *s, const minimize_values *v, const acf *file,
                                      evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < v->minimize.count; i++) {
        status = objective_list_add(&s->objectives, v->minimize.items[i], false, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < v->maximize.count; i++) {
        status = objective_list_add(&s->objectives, v->maximize.items[i], true, error);
    }
    if (status == EVOCC_OK && s->objectives.count == 0) {
        status = applied_objectives(&s->objectives, file, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < s->objectives.count; i++) {
        const char *metric = s->objectives.items[i].metric;
        const evaluate_metric_info *info = evaluate_metric_find(metric);
        if (info == NULL || info->measured) {
            status =
                error_set(error, EVOCC_UNSUPPORTED,
                          "%s differs from one measurement to the next, and only exact metrics "
                          "can be kept: name some, as --minimize spill_bytes",
                          metric);
        }
    }
    return status;
}

/* "best.min.acf" for "best.acf". */
static char *default_output(const char *path)
{
    size_t length = strlen(path);
    size_t stem = length > 4 && strcmp(path + length - 4, ".acf") == 0 ? length - 4 : length;
    strbuf text = {0};
    strbuf_append(&text, path, stem);
    strbuf_puts(&text, ".min.acf");
    return strbuf_take(&text);
}

/* What the file says of how it was found, but for the digest of a code that is another one now. */
static void found_lines(strbuf *out, const session *s)
{
    const char *line = s->a.file->found_extra == NULL ? "" : s->a.file->found_extra;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "code:", 5) != 0 && strncmp(line, "minimized_from:", 15) != 0) {
            strbuf_append(out, line, length);
            strbuf_putc(out, '\n');
        }
        line += length + (line[length] == '\n');
    }
    strbuf_printf(out, "minimized_from: %zu controls\n", s->result.first_count);
}

/* The kept ones among the file's: both lists are in the order of the file. */
static size_t kept_controls(acf_control *out, const session *s)
{
    const acf *file = s->a.file;
    size_t count = 0;
    for (size_t i = 0; i < file->control_count && count < s->result.control_count; i++) {
        const char *kept = s->result.controls[count].text;
        size_t length = strlen(file->controls[i].full_name);
        if (strncmp(kept, file->controls[i].full_name, length) == 0 && kept[length] == '=') {
            out[count++] = file->controls[i];
        }
    }
    return count;
}

static evocc_status write_file(const session *s, evocc_error *error)
{
    acf contents = *s->a.file;
    acf *file = NULL;
    strbuf found = {0};
    strbuf text = {0};
    acf_metric metrics[OBJECTIVE_COUNT_MAX] = {{0}};
    acf_control *controls = mem_alloc(contents.control_count + 1, sizeof *controls);
    found_lines(&found, s);
    evocc_status status = controls == NULL || found.failed ? error_no_memory(error) : EVOCC_OK;
    for (size_t i = 0; i < s->objectives.count; i++) {
        metrics[i] = (acf_metric){.name = s->objectives.items[i].metric,
                                  .baseline = s->result.baseline[i],
                                  .tuned = s->result.last[i]};
    }
    if (status == EVOCC_OK) {
        contents.control_count = kept_controls(controls, s);
        contents.controls = controls;
        contents.metrics = metrics;
        contents.metric_count = s->objectives.count;
        contents.found_extra = strbuf_text(&found);
        status = acf_new(&file, &contents, error);
    }
    if (status == EVOCC_OK) {
        status = acf_write(&text, file, error);
    }
    if (status == EVOCC_OK) {
        status = file_write_atomic(s->output, text.data, text.length, error);
    }
    acf_free(file);
    mem_free(controls);
    strbuf_dispose(&found);
    strbuf_dispose(&text);
    return status;
}

static evocc_status minimize(session *s, const minimize_values *v, const cli_operands *operands,
                             evocc_error *error)
{
    acf *file = NULL;
    s->output = v->output != NULL ? mem_strdup(v->output) : default_output(operands->items[0]);
    evocc_status status =
        s->output == NULL ? error_no_memory(error) : applied_read(&file, operands->items[0], error);
    if (status == EVOCC_OK) {
        status = cli_check_output(s->output, operands->items[1], error);
    }
    if (status == EVOCC_OK) {
        status = choose_objectives(s, v, file, error);
    }
    acf_free(file);
    const applied_options o = {.acf_path = operands->items[0],
                               .input_path = operands->items[1],
                               .ptxas = v->ptxas,
                               .objectives = &s->objectives,
                               .allow_numerics = v->allow_numerics};
    if (status == EVOCC_OK) {
        status = applied_open(&s->a, &o, error);
    }
    if (status == EVOCC_OK) {
        const minimize_options how = {.objectives = &s->objectives,
                                      .margin = v->margin,
                                      .evaluate = compile_once,
                                      .context = s};
        status = study_minimize(&s->result, s->a.candidate, &how, error);
    }
    return status == EVOCC_OK ? write_file(s, error) : status;
}

static void put_text(strbuf *out, const session *s)
{
    const minimize_result *r = &s->result;
    strbuf_printf(out, "%zu of %zu controls keep the gain; %zu candidates\n\n", r->control_count,
                  r->first_count, r->evaluations);
    strbuf_printf(out, "  %-16s %12s %12s %12s\n", "metric", "baseline", "all", "minimized");
    for (size_t i = 0; i < s->objectives.count; i++) {
        strbuf_printf(out, "  %-16s %12.10g %12.10g %12.10g\n", s->objectives.items[i].metric,
                      r->baseline[i], r->first[i], r->last[i]);
    }
    strbuf_puts(out, "\nShare of the gain that is lost without each\n");
    for (size_t i = 0; i < r->control_count; i++) {
        char share[32] = "not valid";
        if (!isnan(r->controls[i].share)) {
            snprintf(share, sizeof share, "%.1f %%", 100 * r->controls[i].share);
        }
        strbuf_printf(out, "  %9s  %s\n", share, r->controls[i].text);
    }
}

static void put_values(strbuf *out, const char *name, const session *s, const double *values)
{
    strbuf_printf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < s->objectives.count; i++) {
        strbuf_puts(out, i == 0 ? "" : ",");
        strbuf_json_string(out, s->objectives.items[i].metric);
        strbuf_putc(out, ':');
        strbuf_number(out, values[i]);
    }
    strbuf_putc(out, '}');
}

static void put_json(strbuf *out, const session *s)
{
    const minimize_result *r = &s->result;
    strbuf_puts(out, "{\"file\":");
    strbuf_json_string(out, s->output);
    strbuf_printf(out, ",\"controls_before\":%zu,\"evaluations\":%zu", r->first_count,
                  r->evaluations);
    put_values(out, "baseline", s, r->baseline);
    put_values(out, "all", s, r->first);
    put_values(out, "minimized", s, r->last);
    strbuf_puts(out, ",\"controls\":[");
    for (size_t i = 0; i < r->control_count; i++) {
        strbuf_puts(out, i == 0 ? "{\"control\":" : ",{\"control\":");
        strbuf_json_string(out, r->controls[i].text);
        strbuf_puts(out, ",\"share\":");
        strbuf_number(out, r->controls[i].share);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "]}\n");
}

static int run(const void *values, const cli_operands *operands)
{
    const minimize_values *v = values;
    evocc_error error = {0};
    session s = {.output = NULL};
    strbuf text = {0};
    int exit_status;
    if (minimize(&s, v, operands, &error) != EVOCC_OK) {
        exit_status = cli_fail(&cli_minimize, &error);
    } else {
        (v->json ? put_json : put_text)(&text, &s);
        exit_status = text.failed ? CLI_FAILED : cli_print(strbuf_text(&text), text.length);
        fprintf(stderr, "wrote %s\n", s.output);
    }
    strbuf_dispose(&text);
    minimize_result_dispose(&s.result);
    applied_dispose(&s.a);
    mem_free(s.output);
    return exit_status;
}

const cli_command cli_minimize = {
    .name = "minimize",
    .operands = "FILE.acf KERNEL.ptx",
    .summary = "the fewest controls of an ACF that keep its gain",
    .text =
        "Leaves controls out, groups first, then ever smaller parts, and compiles what is left, "
        "until no single control can go without making an objective worse. Prints the share of "
        "the gain that is lost without each of the rest; shares need not add up to 100 %, since "
        "controls help each other. Objectives are exact metrics: what the compiler and the "
        "machine code tell.",
    .examples = "  evocc minimize best.acf kernel.ptx\n"
                "  evocc minimize best.acf kernel.ptx --minimize spill_bytes -o few.acf\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 2,
    .operands_max = 2,
    .values_size = sizeof(minimize_values),
    .run = run,
};
