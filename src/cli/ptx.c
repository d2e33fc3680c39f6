#include "cli/cli.h"

#include "acf/acf.h"
#include "ptx/checker.h"
#include "ptx/ptx.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct ptx_values {
    const char *kernel, *apply, *with, *output;
    bool list_sites, check, allow_numerics, json;
} ptx_values;

#define OFFSET(field) offsetof(ptx_values, field)

static const cli_option options[] = {
    {"list-sites", 0, NULL, CLI_FLAG, OFFSET(list_sites),
     "list the controls of the kernel's sites with their values"},
    {"apply", 0, "FILE", CLI_TEXT, OFFSET(apply),
     "rewrite with the PTX controls of an ACF; it must be for this very PTX"},
    {"with", 0, "CONTROLS", CLI_TEXT, OFFSET(with),
     "rewrite with these: 'ptx/order@fa=late ptx/frequency@fa.b1=1000'"},
    {"output", 'o', "FILE", CLI_TEXT, OFFSET(output), "where the rewritten PTX goes"},
    {"check", 0, NULL, CLI_FLAG, OFFSET(check),
     "prove block by block that the rewritten PTX computes what the original does"},
    {"kernel", 0, "NAME", CLI_TEXT, OFFSET(kernel), "only this entry"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics),
     "also controls that may change rounding"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "as JSON"},
};

/* What one call works on. */
typedef struct job {
    const ptx_values *v;
    const char *path;
    char *text;
    size_t length;
    ptx_module *module;
    strbuf out; /* what goes to stdout */
} job;

static bool wanted(const job *j, const char *entry)
{
    return j->v->kernel == NULL || strcmp(j->v->kernel, entry) == 0;
}

/* ---- What it is -------------------------------------------------------------------------------
 */

static void mobility_json(strbuf *out, const char *entry, const ptx_mobility *m)
{
    strbuf_printf(out, "{\"entry\":\"%s\",\"instructions\":%zu,\"movable\":%zu,\"pinned\":{", entry,
                  m->instructions, m->movable);
    for (size_t i = 0; i < m->pinned_count; i++) {
        strbuf_printf(out, "%s\"%s\":%zu", i == 0 ? "" : ",", m->pinned[i].reason,
                      m->pinned[i].instructions);
    }
    strbuf_puts(out, "}}");
}

static void mobility_text(strbuf *out, const char *entry, const ptx_mobility *m)
{
    double share = m->instructions == 0 ? 0 : (double)m->movable / (double)m->instructions;
    strbuf_printf(out,
                  "\n%s: %zu instructions, of which the order controls may move %zu (%.1f %%)\n",
                  entry, m->instructions, m->movable, 100 * share);
    for (size_t i = 0; i < m->pinned_count; i++) {
        strbuf_printf(out, "  %8zu stay: %s\n", m->pinned[i].instructions, m->pinned[i].reason);
    }
}

static evocc_status describe(job *j, evocc_error *error)
{
    char name[PTX_NAME_SIZE];
    int version = ptx_version(j->module);
    ptx_normal_name(name, j->module);
    strbuf_printf(&j->out,
                  j->v->json
                      ? "{\"version\":\"%d.%d\",\"target\":\"%s\",\"name\":\"%s\",\"entries\":["
                      : "PTX %d.%d for %s\n%s\n",
                  version / 10, version % 10, ptx_target(j->module), name);
    bool first = true;
    for (size_t i = 0; i < ptx_entry_count(j->module); i++) {
        const char *entry = ptx_entry_name(j->module, i);
        ptx_mobility m;
        if (!wanted(j, entry)) {
            continue;
        }
        evocc_status status = ptx_measure_mobility(&m, j->module, entry, error);
        if (status != EVOCC_OK) {
            return status;
        }
        if (j->v->json) {
            strbuf_puts(&j->out, first ? "" : ",");
            mobility_json(&j->out, entry, &m);
        } else {
            mobility_text(&j->out, entry, &m);
        }
        first = false;
    }
    strbuf_puts(&j->out, j->v->json ? "]}\n" : "");
    return EVOCC_OK;
}

/* ---- Its sites --------------------------------------------------------------------------------
 */

static evocc_status add_controls(evocc_space *space, const job *j, evocc_error *error)
{
    ptx_limits limits = {.allow_numerics = j->v->allow_numerics};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < ptx_entry_count(j->module) && status == EVOCC_OK; i++) {
        const char *entry = ptx_entry_name(j->module, i);
        if (wanted(j, entry)) {
            status = ptx_add_controls(space, j->module, entry, &limits, error);
        }
    }
    return status == EVOCC_OK ? space_finish(space, error) : status;
}

static void site_line(strbuf *out, const space_control *control, bool json)
{
    strbuf_printf(out, json ? "{\"name\":\"%s\",\"values\":[" : "%-40s", control->full_name);
    for (int32_t i = 0; i < control->size; i++) {
        strbuf_puts(out, json ? (i == 0 ? "\"" : ",\"") : " ");
        space_value_text(out, control, i);
        strbuf_puts(out, json ? "\"" : "");
    }
    strbuf_puts(out, json ? "]}\n" : "\n");
}

static evocc_status list_sites(job *j, evocc_error *error)
{
    evocc_space *space = NULL;
    evocc_status status = space_new(&space, error);
    if (status == EVOCC_OK) {
        status = add_controls(space, j, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < space_count(space); i++) {
        site_line(&j->out, space_get(space, i), j->v->json);
    }
    space_free(space);
    return status;
}

/* ---- Rewriting --------------------------------------------------------------------------------
 */

/* The controls of an ACF for this very PTX, or of the words typed; texts live in `texts`. */
typedef struct settings {
    ptx_setting *items;
    size_t count, capacity;
    arena texts;
} settings;

static evocc_status add_setting(settings *s, const char *name, size_t name_length,
                                const char *value, size_t value_length, evocc_error *error)
{
    const char *stage = "ptx/";
    if (name_length < strlen(stage) || memcmp(name, stage, strlen(stage)) != 0) {
        return EVOCC_OK; /* other stages are for the compiler */
    }
    const char *own_name = arena_strndup(&s->texts, name + 4, name_length - 4);
    const char *own_value = arena_strndup(&s->texts, value, value_length);
    if (own_name == NULL || own_value == NULL ||
        !mem_grow(&s->items, &s->capacity, s->count + 1, sizeof *s->items)) {
        return error_no_memory(error);
    }
    s->items[s->count++] = (ptx_setting){own_name, own_value};
    return EVOCC_OK;
}

static evocc_status settings_of_words(settings *s, const char *words, evocc_error *error)
{
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        const char *equals = memchr(words, '=', length);
        if (length > 0 && equals == NULL) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "'%.*s' is not NAME=VALUE", (int)length,
                             words);
        }
        if (length > 0) {
            size_t name = (size_t)(equals - words);
            evocc_status status = add_setting(s, words, name, equals + 1, length - name - 1, error);
            if (status != EVOCC_OK) {
                return status;
            }
        }
        words += length;
        words += strspn(words, " ");
    }
    return EVOCC_OK;
}

static evocc_status settings_of_file(settings *s, const job *j, evocc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    acf *file = NULL;
    char name[PTX_NAME_SIZE];
    ptx_normal_name(name, j->module);
    evocc_status status = file_read(&text, &length, j->v->apply, ACF_SIZE_LIMIT, error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, text, length, j->v->apply, error);
    }
    if (status == EVOCC_OK && strcmp(file->target.ptx, name) != 0) {
        status = error_set(error, EVOCC_MISMATCH, "%s is for other PTX (%s) than %s (%s)",
                           j->v->apply, file->target.ptx, j->path, name);
    }
    for (size_t i = 0; status == EVOCC_OK && i < file->control_count; i++) {
        const acf_control *c = &file->controls[i];
        status =
            add_setting(s, c->full_name, strlen(c->full_name), c->value, strlen(c->value), error);
    }
    acf_free(file);
    mem_free(text);
    return status;
}

static evocc_status check(const job *j, const strbuf *rewritten, evocc_error *error)
{
    ptx_module *module = NULL;
    evocc_status status =
        ptx_parse(&module, strbuf_text(rewritten), rewritten->length, "rewritten PTX", error);
    if (status == EVOCC_OK) {
        status = ptx_check(j->module, module, error);
    }
    ptx_free(module);
    return status;
}

static evocc_status rewrite(job *j, evocc_error *error)
{
    settings s = {0};
    strbuf rewritten = {0};
    evocc_status status = j->v->apply != NULL ? settings_of_file(&s, j, error)
                                              : settings_of_words(&s, j->v->with, error);
    if (status == EVOCC_OK) {
        status = ptx_rewrite(&rewritten, j->module, s.items, s.count, error);
    }
    if (status == EVOCC_OK && rewritten.failed) {
        status = error_no_memory(error);
    }
    if (status == EVOCC_OK && j->v->check) {
        status = check(j, &rewritten, error);
        if (status == EVOCC_OK) {
            fprintf(stderr, "%s: the rewritten PTX computes the same, block by block\n", j->path);
        }
    }
    if (status == EVOCC_OK && j->v->output != NULL) {
        status = file_write_atomic(j->v->output, rewritten.data, rewritten.length, error);
    } else if (status == EVOCC_OK && !j->v->check) {
        strbuf_append(&j->out, rewritten.data, rewritten.length);
    }
    strbuf_dispose(&rewritten);
    mem_free(s.items);
    arena_dispose(&s.texts);
    return status;
}

/* ---- The command ------------------------------------------------------------------------------
 */

static evocc_status work(job *j, evocc_error *error)
{
    enum { INPUT_LIMIT = 256 << 20 };
    evocc_status status = file_read(&j->text, &j->length, j->path, INPUT_LIMIT, error);
    if (status == EVOCC_OK) {
        status = ptx_parse(&j->module, j->text, j->length, j->path, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (j->v->list_sites) {
        return list_sites(j, error);
    }
    return j->v->apply != NULL || j->v->with != NULL ? rewrite(j, error) : describe(j, error);
}

static int run(const void *values, const cli_operands *operands)
{
    job j = {.v = values, .path = operands->items[0]};
    evocc_error error = {0};
    if (j.v->apply != NULL && j.v->with != NULL) {
        fprintf(stderr, "evocc ptx: --apply or --with, not both (evocc ptx --help)\n");
        return CLI_USAGE;
    }
    if ((j.v->check || j.v->output != NULL) && j.v->apply == NULL && j.v->with == NULL) {
        fprintf(stderr, "evocc ptx: --check and -o need --apply or --with (evocc ptx --help)\n");
        return CLI_USAGE;
    }
    evocc_status status = work(&j, &error);
    int exit_status = status == EVOCC_OK ? cli_print(strbuf_text(&j.out), j.out.length)
                                         : cli_fail(&cli_ptx, &error);
    strbuf_dispose(&j.out);
    ptx_free(j.module);
    mem_free(j.text);
    return exit_status;
}

const cli_command cli_ptx = {
    .name = "ptx",
    .operands = "KERNEL.ptx",
    .summary = "look at PTX as the controls see it: sites, rewriting, proof",
    .text = "Alone: version, target, name of the normal form, and how much of each entry the order "
            "controls may move, with what pins the rest. No compiler is needed.",
    .examples = "  evocc ptx kernel.ptx\n"
                "  evocc ptx kernel.ptx --list-sites\n"
                "  evocc ptx kernel.ptx --apply best.acf --check -o rewritten.ptx\n"
                "  evocc ptx kernel.ptx --with 'ptx/order@fa=late' | diff kernel.ptx -\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(ptx_values),
    .run = run,
};
