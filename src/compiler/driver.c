/* driver.c: who a gcc or clang is, and how its controls become words. */
#include "compiler/driver.h"

#include "compiler/cache.h"
#include "compiler/runs.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const double deadline_s = 60.0;
enum { VERSION, MACHINE, FULL_VERSION, RUN_COUNT };

/* ---- Words of controls ------------------------------------------------------------------- */

static bool is_switch(const space_control *control, const char *hole)
{
    return control->kind == SPACE_BOOL && hole > control->option && hole[-1] != '=';
}

/* What stands for "{}". */
static void put_value(strbuf *out, const space_control *control, const char *hole, int32_t index)
{
    if (is_switch(control, hole)) {
        strbuf_puts(out, index == 0 ? "no-" : "");
    } else {
        space_value_text(out, control, index);
    }
}

void driver_render_value(compiler_command *command, const space_control *control, int32_t index)
{
    strbuf text = {0};
    const char *hole = strstr(control->option, "{}");
    if (hole == NULL) {
        strbuf_puts(&text, control->option);
    } else {
        strbuf_append(&text, control->option, (size_t)(hole - control->option));
        put_value(&text, control, hole, index);
        strbuf_puts(&text, hole + 2);
    }
    command->failed = command->failed || text.failed;
    /* No value of a domain holds a blank, so all of them are the template's. */
    for (char *word = text.failed ? NULL : text.data; word != NULL;) {
        char *blank = strchr(word, ' ');
        if (blank != NULL) {
            *blank = '\0';
        }
        compiler_command_add(command, word);
        word = blank != NULL ? blank + 1 : NULL;
    }
    strbuf_dispose(&text);
}

void driver_render(compiler_command *command, space_stage stage, const evocc_space *space,
                   const int32_t *genes)
{
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        if (control->stage == stage && genes[i] != SPACE_ABSENT) {
            driver_render_value(command, control, genes[i]);
        }
    }
}

/* ---- Reading the answers ----------------------------------------------------------------- */

/* The first line, up to `end`; "" for NULL. */
static char *first_line(const char *text)
{
    return text == NULL ? mem_strdup("") : mem_strndup(text, strcspn(text, "\r\n"));
}

/* "14.0.6" of "Debian clang version 14.0.6"; also behind a vendor's suffix ("14.0.6-1ubuntu1"). */
static char *clang_version(const char *line)
{
    static const char words[] = "clang version ";
    const char *found = strstr(line, words);
    found = found != NULL ? found + sizeof words - 1 : "";
    return mem_strndup(found, strspn(found, "0123456789."));
}

static bool is_version(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789.") == strlen(text);
}

static evocc_status not_a(const char *name, const char *path, const process_result *r,
                          evocc_error *error)
{
    const char *variable = strcmp(name, "gcc") == 0 ? "EVOCC_REAL_GCC" : "EVOCC_REAL_CLANG";
    if (r->end == PROCESS_NOT_STARTED) {
        return error_set_os(error, EVOCC_PROCESS, r->os_errno, "%s cannot be run (name a %s: %s)",
                            path, name, variable);
    }
    if (r->end != PROCESS_EXITED) {
        return error_set(error, EVOCC_PROCESS, "%s --version does not end by itself; name a %s: %s",
                         path, name, variable);
    }
    const char *said = r->output != NULL ? r->output : "";
    return error_set(error, EVOCC_PROCESS, "%s is no %s (--version: exit %d, '%.*s'); name one: %s",
                     path, name, r->exit_status, (int)strcspn(said, "\n"), said, variable);
}

static bool is_named(const char *name, const char *version_text)
{
    bool clang = strstr(version_text, "clang version ") != NULL;
    bool gnu = strstr(version_text, "Free Software Foundation") != NULL;
    return strcmp(name, "clang") == 0 ? clang : gnu && !clang;
}

static bool is_complete(const compiler_identity *identity)
{
    return identity->version != NULL && identity->version_text != NULL && identity->archs != NULL &&
           identity->default_arch != NULL;
}

/* A target triple that could stand in a controls file; "" otherwise: unknown matches nothing. */
static char *read_machine(const process_result *r)
{
    char *line = runs_succeeded(r) ? first_line(r->output) : mem_strdup("");
    if (line != NULL && line[strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789._-")] != '\0') {
        line[0] = '\0';
    }
    return line;
}

static evocc_status read_answers(compiler_identity *out, const runs_item *runs, const char *name,
                                 evocc_error *error)
{
    const process_result *version = &runs[VERSION].result;
    if (!runs_succeeded(version) || !is_named(name, version->output)) {
        return not_a(name, out->path, version, error);
    }
    out->version_text = first_line(version->output);
    bool clang = strcmp(name, "clang") == 0;
    out->version = clang ? clang_version(version->output)
                   : runs_succeeded(&runs[FULL_VERSION].result)
                       ? first_line(runs[FULL_VERSION].result.output)
                       : mem_strdup("");
    if (out->version != NULL && !is_version(out->version)) {
        out->version[0] = '\0';
    }
    out->archs = mem_strdup("");
    out->default_arch = read_machine(&runs[MACHINE].result);
    return is_complete(out) ? EVOCC_OK : error_no_memory(error);
}

static evocc_status ask(compiler_identity *out, launcher *l, const char *name, evocc_error *error)
{
    static const char *const words[] = {"--version", "-dumpmachine", "-dumpfullversion"};
    runs_item runs[RUN_COUNT] = {0};
    for (size_t i = 0; i < RUN_COUNT; i++) {
        compiler_command_add(&runs[i].command, out->path);
        compiler_command_add(&runs[i].command, words[i]);
    }
    evocc_status status = runs_execute(l, runs, RUN_COUNT, deadline_s, error);
    if (status == EVOCC_OK) {
        status = read_answers(out, runs, name, error);
    }
    runs_dispose(runs, RUN_COUNT);
    return status;
}

/* ---- Cache ------------------------------------------------------------------------------- */

/* A script that calls another compiler stays the same file while what it calls changes. */
static bool is_machine_code(const char *path)
{
    char magic[4] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, magic, sizeof magic) : 0;
    if (file >= 0) {
        close(file);
    }
    return length == sizeof magic && memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* One field a line. */
static char *pack(const compiler_identity *identity)
{
    strbuf text = {0};
    strbuf_printf(&text, "%s\n%s\n%s\n", identity->version, identity->version_text,
                  identity->default_arch);
    return strbuf_take(&text);
}

static bool unpack(compiler_identity *out, const char *text)
{
    char **const fields[] = {&out->version, &out->version_text, &out->default_arch};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strcspn(text, "\n");
        if (text[length] == '\0') {
            return false;
        }
        *fields[i] = mem_strndup(text, length);
        text += length + 1;
    }
    out->archs = mem_strdup("");
    return is_complete(out);
}

static void forget_answers(compiler_identity *out)
{
    mem_free(out->version);
    mem_free(out->version_text);
    mem_free(out->archs);
    mem_free(out->default_arch);
    out->version = out->version_text = out->archs = out->default_arch = NULL;
}

static evocc_status ask_and_store(compiler_identity *out, launcher *l, const char *name,
                                  const char *kind, const char *key, evocc_error *error)
{
    launcher *own = NULL;
    evocc_status status = l != NULL ? EVOCC_OK : launcher_new(&own, error);
    if (status == EVOCC_OK) {
        status = ask(out, l != NULL ? l : own, name, error);
    }
    launcher_free(own);
    char *text = status == EVOCC_OK && key != NULL ? pack(out) : NULL;
    if (text != NULL) {
        cache_store(kind, key, text);
    }
    mem_free(text);
    return status;
}

evocc_status driver_identify(compiler_identity *out, launcher *l, const char *path,
                             const char *name, evocc_error *error)
{
    file_identity file = {0};
    evocc_status status = file_identify(&file, path, error);
    if (status != EVOCC_OK) {
        return status;
    }
    compiler_identity identity = {
        .path = mem_strdup(path), .size_bytes = file.size_bytes, .modified_ns = file.modified_ns};
    strbuf key = {0};
    strbuf_printf(&key, "%" PRIu64 " %" PRId64 " %s %s", file.size_bytes, file.modified_ns, path,
                  file.path);
    strbuf kind = {0};
    strbuf_printf(&kind, "%s-identity", name);
    bool cached = is_machine_code(file.path);
    char *known = NULL;
    if (identity.path == NULL || key.failed || kind.failed) {
        status = error_no_memory(error);
        goto cleanup;
    }
    known = cached ? cache_load(strbuf_text(&kind), strbuf_text(&key)) : NULL;
    if (known == NULL || !unpack(&identity, known)) {
        forget_answers(&identity);
        status = ask_and_store(&identity, l, name, strbuf_text(&kind),
                               cached ? strbuf_text(&key) : NULL, error);
    }
    if (status == EVOCC_OK) {
        *out = identity;
        identity = (compiler_identity){0};
    }

cleanup:
    compiler_identity_dispose(&identity);
    mem_free(known);
    mem_free(file.path);
    strbuf_dispose(&key);
    strbuf_dispose(&kind);
    return status;
}
