#include "cli/cli.h"

#include "report/report.h"
#include "store/store.h"

#include <stddef.h>

typedef struct report_values {
    bool json;
} report_values;

static const cli_option options[] = {
    {"json", 0, NULL, CLI_FLAG, offsetof(report_values, json), "the same as JSON"},
};

static int run(const void *values, const cli_operands *operands)
{
    const report_values *v = values;
    evocc_error error = {0};
    store *s = NULL;
    report_summary *summary = NULL;
    strbuf text = {0};
    evocc_status status = store_open_read(&s, operands->items[0], &error);
    if (status == EVOCC_OK) {
        status = report_summary_load(&summary, s, operands->items[0], UINT64_MAX, &error);
    }
    int exit_status;
    if (status == EVOCC_OK) {
        if (v->json) {
            report_json(&text, summary);
        } else {
            report_table(&text, summary);
        }
        exit_status = cli_print(strbuf_text(&text), text.length);
    } else {
        exit_status = cli_fail(&cli_report, &error);
    }
    strbuf_dispose(&text);
    report_summary_free(summary);
    store_free(s);
    return exit_status;
}

const cli_command cli_report = {
    .name = "report",
    .operands = "STUDY.db",
    .summary = "what a study found, finished or not",
    .text = "Prints the table that evocc tune ends with. Reads only; a study may be running.",
    .examples = "  evocc report kernel.db\n"
                "  evocc report kernel.db --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(report_values),
    .run = run,
};
