#include "cli/cli.h"

#include "compiler/compiler.h"
#include "ptx/ptx.h"
#include "space/space.h"
#include "util/launcher.h"
#include "util/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct spaces_values {
    const char *arch, *ptxas;
    bool json, all;
} spaces_values;

#define OFFSET(field) offsetof(spaces_values, field)

static const cli_option options[] = {
    {"arch", 0, "SM", CLI_TEXT, OFFSET(arch), "architecture to probe for; default sm_90"},
    {"all", 'a', NULL, CLI_FLAG, OFFSET(all),
     "also what the compiler here rejects: the space as it is written"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to ask"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "as JSON"},
};

/* The space of one compiler as it is on this machine, or as written. */
static evocc_status load(evocc_space **out, const char *name, const spaces_values *v,
                         compiler_identity *identity, evocc_error *error)
{
    const compiler *c = compiler_by_name(name);
    evocc_space *space = NULL;
    if (v->all || c == NULL) {
        evocc_status status = space_builtin_load(&space, name, error);
        if (status == EVOCC_OK) {
            status = space_finish(space, error);
        }
        *out = space;
        return status;
    }
    char *path = NULL;
    launcher *l = NULL;
    evocc_status status = compiler_find(&path, name, v->ptxas, error);
    if (status == EVOCC_OK) {
        status = launcher_new(&l, error);
    }
    if (status == EVOCC_OK) {
        status = c->identify(identity, l, path, error);
    }
    if (status == EVOCC_OK) {
        status =
            c->make_space(&space, l, identity, v->arch == NULL ? "sm_90" : v->arch, NULL, 0, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
    }
    launcher_free(l);
    mem_free(path);
    *out = space;
    return status;
}

static void values_text(strbuf *out, const space_control *control)
{
    enum { SHOWN = 12 };
    for (int32_t i = 0; i < control->size; i++) {
        if (control->size > SHOWN && i == SHOWN - 2) {
            strbuf_puts(out, " ...");
            i = control->size - 1;
        }
        strbuf_puts(out, i == 0 ? "" : " ");
        space_value_text(out, control, i);
    }
}

/* Folded to 80 columns, six in. */
static void help_lines(strbuf *out, const char *help)
{
    enum { ROOM = 74 };
    while (*help != '\0') {
        size_t length = strlen(help);
        if (length > ROOM) {
            length = ROOM;
            while (length > 0 && help[length] != ' ') {
                length--;
            }
            length = length == 0 ? ROOM : length;
        }
        strbuf_printf(out, "      %.*s\n", (int)length, help);
        help += length;
        help += strspn(help, " \n");
    }
}

static void control_lines(strbuf *out, const space_control *control)
{
    strbuf_printf(out, "  %s\n      values: ", control->full_name);
    values_text(out, control);
    strbuf_puts(out, "; default: ");
    if (control->default_index == SPACE_ABSENT) {
        strbuf_puts(out, "not given");
    } else {
        space_value_text(out, control, control->default_index);
    }
    if (control->numerics != SPACE_EXACT) {
        strbuf_puts(out, control->numerics == SPACE_ROUNDING ? "; may change rounding"
                                                             : "; approximate results");
    }
    strbuf_puts(out, "\n");
    if (control->off_because != NULL) {
        strbuf_printf(out, "      not searched: %s\n", control->off_because);
    }
    help_lines(out, control->help);
}

static int show_ptx(bool json)
{
    strbuf text = {0};
    ptx_kind kind;
    strbuf_puts(&text, json ? "{\"space\":\"ptx\",\"kinds\":["
                            : "ptx: kinds of rewriting; which sites a kernel has is told by\n"
                              "evocc sample KERNEL.ptx\n");
    for (size_t i = 0; ptx_kind_at(&kind, i); i++) {
        if (json) {
            strbuf_printf(&text, "%s{\"name\":\"%s\",\"help\":", i == 0 ? "" : ",", kind.name);
            strbuf_json_string(&text, kind.help);
            strbuf_puts(&text, ",\"source\":");
            strbuf_json_string(&text, kind.source);
            strbuf_putc(&text, '}');
        } else {
            strbuf_printf(&text, "  ptx/%s@ENTRY[.SITE]\n", kind.name);
            help_lines(&text, kind.help);
            strbuf_printf(&text, "      (%s)\n", kind.source);
        }
    }
    strbuf_puts(&text, json ? "]}\n" : "");
    int status = cli_print(strbuf_text(&text), text.length);
    strbuf_dispose(&text);
    return status;
}

static void control_json(strbuf *out, const space_control *control)
{
    strbuf_puts(out, "{\"name\":");
    strbuf_json_string(out, control->full_name);
    strbuf_puts(out, ",\"values\":[");
    for (int32_t i = 0; i < control->size; i++) {
        strbuf text = {0};
        space_value_text(&text, control, i);
        strbuf_puts(out, i == 0 ? "" : ",");
        strbuf_json_string(out, strbuf_text(&text));
        strbuf_dispose(&text);
    }
    strbuf_puts(out, "],\"help\":");
    strbuf_json_string(out, control->help);
    strbuf_puts(out, "}");
}

static int show(const char *name, const spaces_values *v)
{
    evocc_error error = {0};
    evocc_space *space = NULL;
    compiler_identity identity = {0};
    strbuf text = {0};
    evocc_status status = load(&space, name, v, &identity, &error);
    int exit_status;
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_spaces, &error);
    } else {
        if (v->json) {
            strbuf_printf(&text, "{\"space\":\"%s\",\"controls\":[", name);
        } else if (identity.path != NULL) {
            strbuf_printf(&text, "%s: %zu controls that %s (%s) accepts for %s\n", name,
                          space_count(space), identity.path, identity.version,
                          v->arch == NULL ? "sm_90" : v->arch);
        } else {
            strbuf_printf(&text, "%s: %zu controls, not probed\n", name, space_count(space));
        }
        for (size_t i = 0; i < space_count(space); i++) {
            if (v->json) {
                strbuf_puts(&text, i == 0 ? "" : ",");
                control_json(&text, space_get(space, i));
            } else {
                control_lines(&text, space_get(space, i));
            }
        }
        strbuf_puts(&text, v->json ? "]}\n" : "");
        exit_status = cli_print(strbuf_text(&text), text.length);
    }
    strbuf_dispose(&text);
    compiler_identity_dispose(&identity);
    space_free(space);
    return exit_status;
}

static int list(const spaces_values *v)
{
    size_t count;
    const space_builtin *builtins = space_builtins(&count);
    strbuf text = {0};
    strbuf_puts(&text, v->json ? "[" : "");
    for (size_t i = 0; i < count; i++) {
        char *path = NULL;
        compiler_find(&path, builtins[i].name, v->ptxas, NULL);
        if (v->json) {
            strbuf_printf(&text, "%s{\"name\":\"%s\",\"compiler\":", i == 0 ? "" : ",",
                          builtins[i].name);
            if (path == NULL) {
                strbuf_puts(&text, "null");
            } else {
                strbuf_json_string(&text, path);
            }
            strbuf_putc(&text, '}');
        } else {
            strbuf_printf(&text, "%-10s %s\n", builtins[i].name,
                          path == NULL ? "no such compiler here (evocc doctor says more)" : path);
        }
        mem_free(path);
    }
    strbuf_puts(&text,
                v->json ? "]\n" : "ptx        rewriting, at the sites of the kernel at hand\n");
    int status = cli_print(strbuf_text(&text), text.length);
    strbuf_dispose(&text);
    return status;
}

static int run(const void *values, const cli_operands *operands)
{
    const spaces_values *v = values;
    if (operands->count == 0) {
        return list(v);
    }
    if (operands->count != 2 || strcmp(operands->items[0], "show") != 0) {
        fprintf(stderr, "evocc spaces: evocc spaces, or evocc spaces show NAME\n");
        return CLI_USAGE;
    }
    if (strcmp(operands->items[1], "ptx") == 0) {
        return show_ptx(v->json);
    }
    return show(operands->items[1], v);
}

const cli_command cli_spaces = {
    .name = "spaces",
    .operands = "[show NAME]",
    .summary = "what can be tuned on this machine",
    .text =
        "Without a name: the built-in search spaces and the compilers found for them. With one: "
        "its controls, less those that the compiler here rejects, with their values and what "
        "they do.",
    .examples = "  evocc spaces\n"
                "  evocc spaces show ptxas --arch sm_90a\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 0,
    .operands_max = 2,
    .values_size = sizeof(spaces_values),
    .run = run,
};
