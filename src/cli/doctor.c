#include "cli/cli.h"
#include "cli/wrapper.h"

#include "compiler/compiler.h"
#include "util/files.h"
#include "util/launcher.h"
#include "util/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct doctor_values {
    const char *ptxas;
    bool json;
} doctor_values;

static const cli_option options[] = {
    {"ptxas", 0, "PATH", CLI_TEXT, offsetof(doctor_values, ptxas), "the ptxas to look at"},
    {"json", 0, NULL, CLI_FLAG, offsetof(doctor_values, json), "as JSON"},
};

/* One line of the examination. */
typedef struct doctor_finding {
    const char *subject;
    bool good;
    char text[EVOCC_ERROR_SIZE + 256];
} doctor_finding;

typedef struct doctor_state {
    const doctor_values *values;
    launcher *launcher; /* NULL when the helper could not be started */
    doctor_finding findings[8];
    size_t count;
} doctor_state;

static doctor_finding *finding(doctor_state *d, const char *subject, bool good)
{
    doctor_finding *f = &d->findings[d->count++];
    f->subject = subject;
    f->good = good;
    return f;
}

static void look_at_helper(doctor_state *d)
{
    evocc_error error = {0};
    char *path = NULL;
    evocc_status status = program_helper(&path, &error);
    doctor_finding *f = finding(d, "helper program", status == EVOCC_OK);
    snprintf(f->text, sizeof f->text, "%s", status == EVOCC_OK ? path : error.message);
    mem_free(path);
    if (status == EVOCC_OK) {
        status = launcher_new(&d->launcher, &error);
        f = finding(d, "temporary folder", status == EVOCC_OK);
        char *parent = status == EVOCC_OK ? path_folder(launcher_folder(d->launcher)) : NULL;
        snprintf(f->text, sizeof f->text, "%s", parent != NULL ? parent : error.message);
        mem_free(parent);
    }
}

static void look_at_ptxas(doctor_state *d)
{
    evocc_error error = {0};
    char *path = NULL;
    compiler_identity identity = {0};
    evocc_status status = compiler_find(&path, "ptxas", d->values->ptxas, &error);
    if (status == EVOCC_OK && d->launcher != NULL) {
        status = compiler_ptxas.identify(&identity, d->launcher, path, &error);
    }
    doctor_finding *f = finding(d, "ptxas", status == EVOCC_OK);
    if (status == EVOCC_OK && identity.version != NULL) {
        snprintf(f->text, sizeof f->text, "%s, version %s, reads PTX up to %d.%d; %s",
                 identity.path, identity.version, identity.max_ptx_version / 10,
                 identity.max_ptx_version % 10, identity.archs);
    } else {
        snprintf(f->text, sizeof f->text, "%s", status == EVOCC_OK ? path : error.message);
    }
    compiler_identity_dispose(&identity);
    mem_free(path);
}

/* The last notice of the wrapper's log: whether builds reach it, and what became of the controls.
 */
static void look_at_log(doctor_state *d)
{
    enum { LOG_LIMIT = 8 << 20 };
    char *path = wrapper_log_path();
    char *text = NULL;
    size_t length = 0;
    doctor_finding *f = finding(d, "wrapper log", true);
    if (path == NULL || file_read(&text, &length, path, LOG_LIMIT, NULL) != EVOCC_OK ||
        length == 0) {
        snprintf(f->text, sizeof f->text, "%s: no notices", path == NULL ? "none" : path);
    } else {
        text[length - 1] = '\0';
        const char *last = strrchr(text, '\n');
        snprintf(f->text, sizeof f->text, "%s; last: %s", path, last == NULL ? text : last + 1);
        for (char *c = f->text; *c != '\0'; c++) {
            *c = *c == '\t' ? ' ' : *c;
        }
    }
    mem_free(text);
    mem_free(path);
}

static int print_findings(const doctor_state *d)
{
    bool good = true;
    strbuf text = {0};
    bool json = d->values->json;
    if (json) {
        strbuf_printf(&text, "{\"evocc\":\"%s\"", evocc_version());
    } else {
        strbuf_printf(&text, "evocc            %s\n", evocc_version());
    }
    for (size_t i = 0; i < d->count; i++) {
        const doctor_finding *f = &d->findings[i];
        good = good && f->good;
        if (json) {
            strbuf_printf(&text, ",\"%s\":{\"good\":%s,\"text\":", f->subject,
                          f->good ? "true" : "false");
            strbuf_json_string(&text, f->text);
            strbuf_putc(&text, '}');
        } else {
            strbuf_printf(&text, "%-16s %s%s\n", f->subject, f->good ? "" : "PROBLEM: ", f->text);
        }
    }
    strbuf_puts(&text, json ? "}\n" : "");
    int status = cli_print(strbuf_text(&text), text.length);
    strbuf_dispose(&text);
    return good ? status : CLI_FAILED;
}

static int run(const void *values, const cli_operands *operands)
{
    (void)operands;
    doctor_state d = {.values = values};
    look_at_helper(&d);
    look_at_ptxas(&d);
    look_at_log(&d);
    int status = print_findings(&d);
    launcher_free(d.launcher);
    return status;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "what is found here, what is missing, what to do about it",
    .text = "Exit status 0 when evocc tune can work here.",
    .examples = "  evocc doctor\n"
                "  evocc doctor --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 0,
    .operands_max = 0,
    .values_size = sizeof(doctor_values),
    .run = run,
};
