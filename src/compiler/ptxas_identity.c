/*
 * ptxas_identity.c: four short runs tell all there is to know about a ptxas:
 *
 *     ptxas --version        "Cuda compilation tools, release 13.0, V13.0.88"
 *     ptxas --help           targets, and the one it takes by itself
 *     ptxas --list-version   PTX versions, from 13.0 on
 *     ptxas of a PTX 99.9    "Unsupported .version 99.9; current version is '8.8'", any release
 *
 * The answers are cached under path, size and time of the file. Only of a real executable: a script
 * that calls another ptxas stays the same file while what it calls changes.
 */
#include "compiler/ptxas_identity.h"

#include "compiler/cache.h"
#include "compiler/runs.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cache_kind[] = "ptxas-identity";
static const double deadline_s = 60.0;
enum { VERSION, HELP, LIST_VERSION, TOO_NEW, RUN_COUNT };

/* ---- Reading the answers ----------------------------------------------------------------- */

static char *span(const char *text, const char *allowed)
{
    return mem_strndup(text, strspn(text, allowed));
}

/* "13.0.88" of "... release 13.0, V13.0.88"; "" when the text is of another kind. */
static char *read_version(const char *text)
{
    const char *found = strstr(text, "release ");
    found = found != NULL ? strstr(found, ", V") : NULL;
    return found != NULL && isdigit((unsigned char)found[3]) ? span(found + 3, "0123456789.")
                                                             : mem_strdup("");
}

/* The last two lines as one: "Cuda compilation tools, ..., V13.0.88 Build cuda_13.0.r13.0/...". */
static char *last_lines(const char *text)
{
    size_t end = strlen(text);
    while (end > 0 && isspace((unsigned char)text[end - 1])) {
        end--;
    }
    size_t start = end;
    for (int lines = 0; start > 0 && lines < 2; start--) {
        lines += text[start - 1] == '\n';
        if (lines == 2) {
            break;
        }
    }
    char *copy = mem_strndup(text + start, end - start);
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        *c = isprint((unsigned char)*c) ? *c : ' ';
    }
    return copy;
}

/* The paragraph of --gpu-name, up to the next option. */
static char *arch_paragraph(const char *help)
{
    const char *start = strstr(help, "--gpu-name");
    const char *end = start != NULL ? strstr(start, "\n--") : NULL;
    return start == NULL ? mem_strdup("")
                         : mem_strndup(start, end != NULL ? (size_t)(end - start) : strlen(start));
}

static const char arch_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

/* Every quoted 'sm_...' before "Default value:". */
static void read_archs(compiler_identity *out, const char *paragraph)
{
    static const char default_words[] = "Default value:";
    const char *last = strstr(paragraph, default_words);
    strbuf archs = {0};
    for (const char *at = strstr(paragraph, "'sm_"); at != NULL && (last == NULL || at < last);
         at = strstr(at + 1, "'sm_")) {
        strbuf_puts(&archs, archs.length > 0 ? " " : "");
        strbuf_append(&archs, at + 1, strspn(at + 1, arch_letters));
    }
    strbuf_puts(&archs, "");
    out->archs = strbuf_take(&archs);
    const char *standard = last != NULL ? strstr(last, "'sm_") : NULL;
    out->default_arch = standard != NULL ? span(standard + 1, arch_letters) : mem_strdup("");
}

/* 90 of "9.0"; 0 for anything else. */
static int read_ptx_version(const char *text)
{
    int major = 0;
    int minor = 0;
    return sscanf(text, "%3d.%1d", &major, &minor) == 2 && major > 0 && minor >= 0
               ? major * 10 + minor
               : 0;
}

static int newest_listed(const char *list)
{
    int newest = 0;
    for (const char *line = list; line != NULL && *line != '\0';) {
        int version = read_ptx_version(line);
        newest = version > newest ? version : newest;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return newest;
}

static int newest_of_message(const char *errors)
{
    static const char words[] = "current version is '";
    const char *found = strstr(errors, words);
    return found != NULL ? read_ptx_version(found + sizeof words - 1) : 0;
}

/* ---- Asking ------------------------------------------------------------------------------ */

static evocc_status write_too_new(char **out, const launcher *l, evocc_error *error)
{
    static const char text[] = ".version 99.9\n.target sm_75\n.address_size 64\n";
    char *path = path_join(launcher_folder(l), "too-new.ptx");
    evocc_status status =
        path == NULL ? error_no_memory(error) : file_write(path, text, sizeof text - 1, error);
    if (status != EVOCC_OK) {
        mem_free(path);
        return status;
    }
    *out = path;
    return EVOCC_OK;
}

static evocc_status not_a_ptxas(const char *path, const process_result *r, evocc_error *error)
{
    static const char remedy[] = "name a real ptxas with --ptxas or EVOCC_REAL_PTXAS";
    switch (r->end) {
    case PROCESS_NOT_STARTED:
        return error_set_os(error, EVOCC_PROCESS, r->os_errno, "%s cannot be run (%s)", path,
                            remedy);
    case PROCESS_SIGNALLED:
        return error_set(error, EVOCC_PROCESS, "%s --version was killed by signal %d; %s", path,
                         r->signal, remedy);
    case PROCESS_TIMED_OUT:
    case PROCESS_CANCELLED:
        return error_set(error, EVOCC_PROCESS, "%s --version does not end; %s", path, remedy);
    case PROCESS_EXITED:
        break;
    }
    const char *said = r->errors != NULL && r->errors[0] != '\0' ? r->errors : r->output;
    said = said != NULL ? said : "";
    return error_set(error, EVOCC_PROCESS, "%s is no ptxas (--version: exit %d, '%.*s'); %s", path,
                     r->exit_status, (int)strcspn(said, "\n"), said, remedy);
}

static bool speaks_of_ptx(const char *text)
{
    return text != NULL && (strstr(text, "ptxas") != NULL || strstr(text, "Ptx ") != NULL);
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static bool is_complete(const compiler_identity *identity)
{
    return identity->version != NULL && identity->version_text != NULL && identity->archs != NULL &&
           identity->default_arch != NULL;
}

static evocc_status read_answers(compiler_identity *out, const runs_item *runs, evocc_error *error)
{
    const process_result *version = &runs[VERSION].result;
    if (!runs_succeeded(version) || !speaks_of_ptx(version->output)) {
        return not_a_ptxas(out->path, version, error);
    }
    char *paragraph = arch_paragraph(text_of(runs[HELP].result.output));
    out->version = read_version(version->output);
    out->version_text = last_lines(version->output);
    read_archs(out, text_of(paragraph));
    mem_free(paragraph);
    int listed = runs_succeeded(&runs[LIST_VERSION].result)
                     ? newest_listed(text_of(runs[LIST_VERSION].result.output))
                     : 0;
    out->max_ptx_version =
        listed > 0 ? listed : newest_of_message(text_of(runs[TOO_NEW].result.errors));
    return is_complete(out) ? EVOCC_OK : error_no_memory(error);
}

static evocc_status ask(compiler_identity *out, launcher *l, evocc_error *error)
{
    runs_item runs[RUN_COUNT] = {0};
    char *too_new = NULL;
    evocc_status status = write_too_new(&too_new, l, error);
    if (status == EVOCC_OK) {
        static const char *const words[] = {"--version", "--help", "--list-version"};
        for (size_t i = 0; i < RUN_COUNT; i++) {
            compiler_command_add(&runs[i].command, out->path);
            compiler_command_add(&runs[i].command, i == TOO_NEW ? too_new : words[i]);
        }
        compiler_command_add(&runs[TOO_NEW].command, "-o");
        compiler_command_add(&runs[TOO_NEW].command, "too-new.cubin");
        status = runs_execute(l, runs, RUN_COUNT, deadline_s, error);
    }
    if (status == EVOCC_OK) {
        status = read_answers(out, runs, error);
    }
    runs_dispose(runs, RUN_COUNT);
    mem_free(too_new);
    return status;
}

/* ---- Cache ------------------------------------------------------------------------------- */

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

static char *cache_key(const compiler_identity *identity)
{
    strbuf key = {0};
    strbuf_printf(&key, "%" PRIu64 " %" PRId64 " %s", identity->size_bytes, identity->modified_ns,
                  identity->path);
    return strbuf_take(&key);
}

/* One field a line, in this order. */
static char *pack(const compiler_identity *identity)
{
    strbuf text = {0};
    strbuf_printf(&text, "%s\n%s\n%d\n%s\n%s\n", identity->version, identity->version_text,
                  identity->max_ptx_version, identity->archs, identity->default_arch);
    return strbuf_take(&text);
}

static char *take_line(char **rest)
{
    char *line = *rest;
    char *end = strchr(line, '\n');
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *rest = end + 1;
    return line;
}

static bool unpack(compiler_identity *out, char *text)
{
    char *version = take_line(&text);
    char *version_text = version != NULL ? take_line(&text) : NULL;
    char *ptx = version_text != NULL ? take_line(&text) : NULL;
    char *archs = ptx != NULL ? take_line(&text) : NULL;
    char *default_arch = archs != NULL ? take_line(&text) : NULL;
    if (default_arch == NULL) {
        return false; /* of another build of ours, perhaps; *out is as it was */
    }
    out->version = mem_strdup(version);
    out->version_text = mem_strdup(version_text);
    out->max_ptx_version = (int)strtol(ptx, NULL, 10);
    out->archs = mem_strdup(archs);
    out->default_arch = mem_strdup(default_arch);
    return is_complete(out);
}

/* Half of an answer, when memory ran out. */
static void forget_answers(compiler_identity *out)
{
    compiler_identity kept = *out;
    kept.path = NULL;
    compiler_identity_dispose(&kept);
    *out = (compiler_identity){
        .path = out->path, .size_bytes = out->size_bytes, .modified_ns = out->modified_ns};
}

static evocc_status ask_with_launcher(compiler_identity *out, launcher *l, evocc_error *error)
{
    launcher *own = NULL;
    evocc_status status = l != NULL ? EVOCC_OK : launcher_new(&own, error);
    if (status == EVOCC_OK) {
        status = ask(out, l != NULL ? l : own, error);
    }
    launcher_free(own);
    return status;
}

static evocc_status ask_and_store(compiler_identity *out, launcher *l, const char *key,
                                  evocc_error *error)
{
    evocc_status status = ask_with_launcher(out, l, error);
    char *text = status == EVOCC_OK && key != NULL ? pack(out) : NULL;
    if (text != NULL) {
        cache_store(cache_kind, key, text);
    }
    mem_free(text);
    return status;
}

static evocc_status fill_in(compiler_identity *out, launcher *l, evocc_error *error)
{
    char *key = is_machine_code(out->path) ? cache_key(out) : NULL;
    char *known = key != NULL ? cache_load(cache_kind, key) : NULL;
    evocc_status status = EVOCC_OK;
    if (known == NULL || !unpack(out, known)) {
        forget_answers(out);
        status = ask_and_store(out, l, key, error);
    }
    mem_free(known);
    mem_free(key);
    return status;
}

evocc_status ptxas_identify(compiler_identity *out, launcher *l, const char *path,
                            evocc_error *error)
{
    file_identity file = {0};
    evocc_status status = file_identify(&file, path, error);
    if (status != EVOCC_OK) {
        return status;
    }
    compiler_identity identity = {
        .path = file.path, .size_bytes = file.size_bytes, .modified_ns = file.modified_ns};
    status = fill_in(&identity, l, error);
    if (status != EVOCC_OK) {
        compiler_identity_dispose(&identity);
        return status;
    }
    *out = identity;
    return EVOCC_OK;
}
