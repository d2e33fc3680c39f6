#include "cli/cli.h"

#include "acf/acf.h"
#include "util/files.h"
#include "util/mem.h"

#include <stddef.h>

typedef struct show_values {
    bool json;
} show_values;

static const cli_option options[] = {
    {"json", 0, NULL, CLI_FLAG, offsetof(show_values, json), "as JSON"},
};

static void json_field(strbuf *out, const char *name, const char *value)
{
    strbuf_printf(out, "\"%s\":", name);
    strbuf_json_string(out, value == NULL ? "" : value);
    strbuf_putc(out, ',');
}

static void show_json(strbuf *out, const acf *file)
{
    strbuf_putc(out, '{');
    json_field(out, "compiler", file->target.compiler);
    json_field(out, "version", file->target.version);
    json_field(out, "arch", file->target.arch);
    json_field(out, "kernel", file->target.kernel);
    json_field(out, "ptx", file->target.ptx);
    json_field(out, "digest", file->digest);
    strbuf_puts(out, "\"base\":[");
    for (size_t i = 0; i < file->target.base_count; i++) {
        strbuf_puts(out, i == 0 ? "" : ",");
        strbuf_json_string(out, file->target.base[i]);
    }
    strbuf_puts(out, "],\"controls\":{");
    for (size_t i = 0; i < file->control_count; i++) {
        strbuf_puts(out, i == 0 ? "" : ",");
        strbuf_json_string(out, file->controls[i].full_name);
        strbuf_putc(out, ':');
        strbuf_json_string(out, file->controls[i].value);
    }
    strbuf_puts(out, "},\"metrics\":{");
    for (size_t i = 0; i < file->metric_count; i++) {
        strbuf_puts(out, i == 0 ? "" : ",");
        strbuf_json_string(out, file->metrics[i].name);
        strbuf_puts(out, ":{\"baseline\":");
        strbuf_number(out, file->metrics[i].baseline);
        strbuf_puts(out, ",\"tuned\":");
        strbuf_number(out, file->metrics[i].tuned);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "}}\n");
}

static int run(const void *values, const cli_operands *operands)
{
    enum { LIMIT = 4 << 20 };
    const show_values *v = values;
    const char *path = operands->items[0];
    evocc_error error = {0};
    char *contents = NULL;
    size_t length = 0;
    acf *file = NULL;
    evocc_space *space = NULL;
    strbuf text = {0};
    evocc_status status = file_read(&contents, &length, path, LIMIT, &error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, contents, length, path, &error);
    }
    int exit_status;
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_show, &error);
    } else {
        /* The help texts are worth having, not worth failing for. */
        if (space_builtin_load(&space, file->target.compiler, NULL) == EVOCC_OK &&
            space_finish(space, NULL) != EVOCC_OK) {
            space_free(space);
            space = NULL;
        }
        if (v->json) {
            show_json(&text, file);
        } else {
            acf_show(&text, file, space);
        }
        exit_status = cli_print(strbuf_text(&text), text.length);
    }
    strbuf_dispose(&text);
    space_free(space);
    acf_free(file);
    mem_free(contents);
    return exit_status;
}

const cli_command cli_show = {
    .name = "show",
    .operands = "FILE.acf",
    .summary = "what an ACF is for, what it does and what it gained",
    .text = "Reads the file as strictly as a build does: a damaged or hand-edited one is refused "
            "with line, column and reason.",
    .examples = "  evocc show best.acf\n"
                "  evocc show best.acf --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(show_values),
    .run = run,
};
