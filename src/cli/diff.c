#include "cli/applied.h"
#include "cli/cli.h"

#include "report/detail.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 }; /* as diff(1) */

typedef struct diff_values {
    bool json;
} diff_values;

static const cli_option options[] = {
    {"json", 0, NULL, CLI_FLAG, offsetof(diff_values, json), "as JSON"},
};

typedef struct difference {
    strbuf out;
    report_help help;
    bool json, any;
    bool first; /* in the JSON array or object at hand */
} difference;

static void json_key(difference *d, const char *key)
{
    strbuf_puts(&d->out, d->first ? "" : ",");
    d->first = false;
    strbuf_json_string(&d->out, key);
    strbuf_putc(&d->out, ':');
}

static void json_value(strbuf *out, const char *value)
{
    if (value == NULL) {
        strbuf_puts(out, "null");
    } else {
        strbuf_json_string(out, value);
    }
}

/* One name with another value on either side; NULL: not there. */
static void put_change(difference *d, const char *name, const char *a, const char *b)
{
    d->any = true;
    if (d->json) {
        json_key(d, name);
        strbuf_puts(&d->out, "{\"a\":");
        json_value(&d->out, a);
        strbuf_puts(&d->out, ",\"b\":");
        json_value(&d->out, b);
        strbuf_putc(&d->out, '}');
    } else if (a == NULL) {
        strbuf_printf(&d->out, "+ %s = %s\n", name, b);
    } else if (b == NULL) {
        strbuf_printf(&d->out, "- %s = %s\n", name, a);
    } else {
        strbuf_printf(&d->out, "~ %s = %s -> %s\n", name, a, b);
    }
}

static void base_text(strbuf *out, const acf_target *target)
{
    for (size_t i = 0; i < target->base_count; i++) {
        strbuf_puts(out, i == 0 ? "" : " ");
        strbuf_shell_word(out, target->base[i]);
    }
}

static void compare_targets(difference *d, const acf_target *a, const acf_target *b)
{
    strbuf base_a = {0};
    strbuf base_b = {0};
    base_text(&base_a, a);
    base_text(&base_b, b);
    const struct {
        const char *name, *a, *b;
    } fields[] = {{"compiler", a->compiler, b->compiler},
                  {"version", a->version, b->version},
                  {"arch", a->arch, b->arch},
                  {"kernel", a->kernel, b->kernel},
                  {"base", strbuf_text(&base_a), strbuf_text(&base_b)},
                  {"ptx", a->ptx, b->ptx}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].a, fields[i].b) != 0) {
            put_change(d, fields[i].name, fields[i].a, fields[i].b);
        }
    }
    d->out.failed = d->out.failed || base_a.failed || base_b.failed;
    strbuf_dispose(&base_a);
    strbuf_dispose(&base_b);
}

/* The help under the line, once for several controls of a kind in a row. */
static void put_help(difference *d, const char *name, const char **before)
{
    const char *help = d->json ? "" : report_help_of(&d->help, name);
    if (*help != '\0' && help != *before) {
        strbuf_printf(&d->out, "    %s\n", help);
    }
    *before = help;
}

/* Both lists are sorted by name. */
static void compare_controls(difference *d, const acf *a, const acf *b)
{
    const char *help = NULL;
    size_t i = 0;
    size_t k = 0;
    while (i < a->control_count || k < b->control_count) {
        const acf_control *left = i < a->control_count ? &a->controls[i] : NULL;
        const acf_control *right = k < b->control_count ? &b->controls[k] : NULL;
        int order = left == NULL    ? 1
                    : right == NULL ? -1
                                    : strcmp(left->full_name, right->full_name);
        const char *name = order <= 0 ? left->full_name : right->full_name;
        bool same = order == 0 && strcmp(left->value, right->value) == 0;
        if (!same) {
            put_change(d, name, order <= 0 ? left->value : NULL, order >= 0 ? right->value : NULL);
            put_help(d, name, &help);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

static void compare(difference *d, const acf *a, const acf *b)
{
    strbuf_puts(&d->out, d->json ? "{\"for\":{" : "");
    d->first = true;
    compare_targets(d, &a->target, &b->target);
    strbuf_puts(&d->out, d->json ? "},\"controls\":{" : "");
    d->first = true;
    compare_controls(d, a, b);
    if (d->json) {
        strbuf_printf(&d->out, "},\"same\":%s}\n", d->any ? "false" : "true");
    }
}

static int run(const void *values, const cli_operands *operands)
{
    const diff_values *v = values;
    evocc_error error = {0};
    acf *a = NULL;
    acf *b = NULL;
    difference d = {.json = v->json};
    int exit_status = TROUBLE;
    evocc_status status = applied_read(&a, operands->items[0], &error);
    if (status == EVOCC_OK) {
        status = applied_read(&b, operands->items[1], &error);
    }
    if (status != EVOCC_OK) {
        cli_fail(&cli_diff, &error);
    } else {
        compare(&d, a, b);
        if (!d.out.failed && cli_print(strbuf_text(&d.out), d.out.length) == CLI_DONE) {
            exit_status = d.any ? DIFFERENT : SAME;
        }
    }
    report_help_dispose(&d.help);
    strbuf_dispose(&d.out);
    acf_free(a);
    acf_free(b);
    return exit_status;
}

const cli_command cli_diff = {
    .name = "diff",
    .operands = "A.acf B.acf",
    .summary = "what two ACFs have different",
    .text = "Names the fields of `for` and the controls that differ, with what each control does: "
            "'-' only in A, '+' only in B, '~' in both with other values. How the files were found "
            "is not compared. Exit status as of diff: 0 the same, 1 different, 2 trouble.",
    .examples = "  evocc diff before.acf after.acf\n"
                "  evocc diff before.acf after.acf --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 2,
    .operands_max = 2,
    .values_size = sizeof(diff_values),
    .run = run,
};
