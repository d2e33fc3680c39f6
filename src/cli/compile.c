#include "cli/cli.h"

#include "compiler/compiler.h"
#include "study/study.h"
#include "util/files.h"
#include "util/mem.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct compile_values {
    const char *arch, *kernel, *output, *with, *ptxas;
    bool whole_module, allow_numerics, json;
} compile_values;

#define OFFSET(field) offsetof(compile_values, field)

static const cli_option options[] = {
    {"arch", 0, "SM", CLI_TEXT, OFFSET(arch),
     "architecture to compile for; default: the file's own .target"},
    {"with", 0, "CONTROLS", CLI_TEXT, OFFSET(with),
     "the candidate: 'ptxas/opt-level=1 ptx/order@fa=late'; default: the baseline"},
    {"output", 'o', "FILE", CLI_TEXT, OFFSET(output), "where the machine code goes (a cubin)"},
    {"kernel", 0, "NAME", CLI_TEXT, OFFSET(kernel), "the .entry, where there are several"},
    {"whole-module", 0, NULL, CLI_FLAG, OFFSET(whole_module), "as for evocc tune"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics), "as for evocc tune"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "print the metrics as JSON"},
};

static evocc_status preview(study **out, const compile_values *v, const cli_operands *operands,
                            evocc_error *error)
{
    study_options o = {
        .input_path = operands->items[0],
        .arch = v->arch,
        .kernel = v->kernel,
        .whole_module = v->whole_module,
        .base = (const char *const *)operands->rest,
        .base_count = operands->rest_count,
        .workers = 1,
        .ptxas = v->ptxas,
        .allow_numerics = v->allow_numerics,
    };
    evocc_status status = objective_list_add(&o.objectives, "code_bytes", false, error);
    return status == EVOCC_OK ? study_preview(out, &o, error) : status;
}

static int print_metrics(const study *s, const evaluate_result *result, bool json)
{
    size_t count;
    const evaluate_metric_info *infos = study_metrics(s, &count);
    count = count < EVALUATE_STATIC_COUNT ? count : EVALUATE_STATIC_COUNT; /* nothing was run */
    strbuf text = {0};
    strbuf_puts(&text, json ? "{" : "");
    for (size_t i = 0; i < count; i++) {
        bool seconds = strcmp(infos[i].unit, "s") == 0;
        if (json) {
            strbuf_printf(&text, "\"%s%s\":", infos[i].name, seconds ? "_s" : "");
            strbuf_number(&text, result->metrics[i]);
            strbuf_putc(&text, ',');
        } else {
            strbuf_printf(&text, "%-14s ", infos[i].name);
            strbuf_number(&text, result->metrics[i]);
            strbuf_printf(&text, "%s\n", seconds ? " s" : "");
        }
    }
    strbuf_printf(&text, json ? "\"code_hash\":\"%s\"}\n" : "code_hash      %s\n",
                  result->code_hash);
    int status = cli_print(strbuf_text(&text), text.length);
    strbuf_dispose(&text);
    return status;
}

static int run(const void *values, const cli_operands *operands)
{
    const compile_values *v = values;
    evocc_error error = {0};
    study *s = NULL;
    char *code = NULL;
    size_t length = 0;
    evaluate_result result = {0};
    evocc_status status = preview(&s, v, operands, &error);
    if (status == EVOCC_OK) {
        status = study_evaluate(&result, s, v->with == NULL ? "" : v->with, &error);
    }
    int exit_status = CLI_FAILED;
    if (status == EVOCC_OK && result.outcome != EVOCC_OUTCOME_OK) {
        fprintf(stderr, "evocc compile: %s: %s\n", evocc_outcome_name(result.outcome),
                result.detail);
    } else if (status == EVOCC_OK) {
        exit_status = print_metrics(s, &result, v->json);
        if (v->output != NULL) {
            status = study_compile(&code, &length, s, v->with == NULL ? "" : v->with, &error);
            status =
                status == EVOCC_OK ? file_write_atomic(v->output, code, length, &error) : status;
        }
    }
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_compile, &error);
    }
    mem_free(code);
    evaluate_result_dispose(&result);
    study_free(s);
    return exit_status;
}

const cli_command cli_compile = {
    .name = "compile",
    .operands = "KERNEL.ptx|WORKLOAD.yaml [-- PTXAS OPTIONS]",
    .summary = "compile one candidate by hand: what a trial of a study did",
    .text =
        "Applies the controls to the PTX and to ptxas's options as a study does, compiles once, "
        "and prints the metrics and the hash of the machine code. The command of a failed "
        "trial, as a study file keeps it, is of this form.",
    .examples = "  evocc compile kernel.ptx --arch sm_90a\n"
                "  evocc compile kernel.ptx --with 'ptxas/opt-level=1' -o trial.cubin\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(compile_values),
    .run = run,
};
