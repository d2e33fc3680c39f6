#include "cli/cli.h"

#include "report/detail.h"
#include "store/store.h"
#include "util/error.h"
#include "util/files.h"

#include <stddef.h>
#include <stdio.h>

typedef struct report_values {
    const char *output;
    bool json;
} report_values;

static const cli_option options[] = {
    {"output", 'o', "FILE.html", CLI_TEXT, offsetof(report_values, output),
     "write the report as one self-contained page, to be opened in a browser, mailed or printed"},
    {"json", 0, NULL, CLI_FLAG, offsetof(report_values, json),
     "the result as JSON (evocc export has every trial)"},
};

static int print_json(store *s, const char *path, evocc_error *error)
{
    report_summary *summary = NULL;
    strbuf text = {0};
    int exit_status = CLI_FAILED;
    if (report_summary_load(&summary, s, path, UINT64_MAX, error) == EVOCC_OK) {
        report_json(&text, summary);
        exit_status = text.failed ? (error_no_memory(error), CLI_FAILED)
                                  : cli_print(strbuf_text(&text), text.length);
    }
    strbuf_dispose(&text);
    report_summary_free(summary);
    return exit_status;
}

static evocc_status write_page(const char *path, const report_detail *detail, evocc_error *error)
{
    strbuf page = {0};
    report_html(&page, detail);
    evocc_status status = page.failed ? error_no_memory(error)
                                      : file_write_atomic(path, page.data, page.length, error);
    strbuf_dispose(&page);
    return status;
}

static int run(const void *values, const cli_operands *operands)
{
    const report_values *v = values;
    const char *path = operands->items[0];
    if (v->json && v->output != NULL) {
        fprintf(stderr, "evocc report: --json goes to standard output, -o writes a page: one of "
                        "them (evocc report --help)\n");
        return CLI_USAGE;
    }
    evocc_error error = {0};
    store *s = NULL;
    report_detail *detail = NULL;
    strbuf text = {0};
    int exit_status = CLI_DONE;
    evocc_status status = cli_check_output(v->output, path, &error);
    if (status == EVOCC_OK) {
        status = store_open_read(&s, path, &error);
    }
    if (status == EVOCC_OK && v->json) {
        exit_status = print_json(s, path, &error);
        status = error.status;
    } else if (status == EVOCC_OK) {
        status = report_detail_load(&detail, s, path, &error);
    }
    if (status == EVOCC_OK && v->output != NULL) {
        status = write_page(v->output, detail, &error);
    } else if (status == EVOCC_OK && !v->json) {
        report_text(&text, detail);
        exit_status = text.failed ? CLI_FAILED : cli_print(strbuf_text(&text), text.length);
    }
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_report, &error);
    }
    strbuf_dispose(&text);
    report_detail_free(detail);
    store_free(s);
    return exit_status;
}

const cli_command cli_report = {
    .name = "report",
    .operands = "STUDY.db",
    .summary = "what a study found, finished or not",
    .text = "Prints the table that evocc tune ends with, then how the search went: convergence, "
            "valid trials by generation, why others failed, which controls matter, what the best "
            "have in common, the time, the environment, how to apply the result. With -o the same "
            "as a page with drawings. Reads only; a study may be running.",
    .examples = "  evocc report kernel.db\n"
                "  evocc report kernel.db -o report.html\n"
                "  evocc report kernel.db --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(report_values),
    .run = run,
};
