#include "cli/cli.h"

#include "report/detail.h"
#include "util/error.h"
#include "util/files.h"

#include <stddef.h>
#include <stdio.h>

typedef struct export_values {
    const char *output;
    bool csv, json;
} export_values;

#define OFFSET(field) offsetof(export_values, field)

static const cli_option options[] = {
    {"csv", 0, NULL, CLI_FLAG, OFFSET(csv), "comma-separated values (RFC 4180); the default"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json),
     "one JSON object, with the settings and all samples and pairs besides"},
    {"output", 'o', "FILE", CLI_TEXT, OFFSET(output), "where it goes; default: standard output"},
};

static int run(const void *values, const cli_operands *operands)
{
    const export_values *v = values;
    const char *path = operands->items[0];
    if (v->csv && v->json) {
        fprintf(stderr, "evocc export: --csv or --json, not both (evocc export --help)\n");
        return CLI_USAGE;
    }
    evocc_error error = {0};
    store *s = NULL;
    strbuf text = {0};
    int exit_status = CLI_DONE;
    evocc_status status = cli_check_output(v->output, path, &error);
    if (status == EVOCC_OK) {
        status = store_open_read(&s, path, &error);
    }
    if (status == EVOCC_OK) {
        status = (v->json ? report_export_json : report_export_csv)(&text, s, path, &error);
    }
    if (status == EVOCC_OK && text.failed) {
        status = error_no_memory(&error);
    }
    if (status == EVOCC_OK && v->output != NULL) {
        status = file_write_atomic(v->output, text.data, text.length, &error);
    } else if (status == EVOCC_OK) {
        exit_status = cli_print(strbuf_text(&text), text.length);
    }
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_export, &error);
    }
    strbuf_dispose(&text);
    store_free(s);
    return exit_status;
}

const cli_command cli_export = {
    .name = "export",
    .operands = "STUDY.db",
    .summary = "every trial of a study as CSV or JSON",
    .text =
        "One line a trial: trial, generation, outcome, shared, wall_s, gain (over the baseline), "
        "one column a metric with its unit in the name (runtime_s, energy_j, spill_bytes), "
        "code_hash, controls (name=value, separated by blanks), detail, command. What is unknown "
        "is an empty field, null in JSON. Reads only; a study may be running.",
    .examples = "  evocc export kernel.db -o kernel.csv\n"
                "  evocc export kernel.db --json | jq '.trials[] | select(.gain > 1.05)'\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(export_values),
    .run = run,
};
