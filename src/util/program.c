/* Finding programs: those of PATH, our own, and our helper. */
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same_file(const char *path, const file_identity *identity)
{
    struct stat s;
    return identity != NULL && stat(path, &s) == 0 && (uint64_t)s.st_dev == identity->device &&
           (uint64_t)s.st_ino == identity->inode;
}

/* The first of the colon-separated folders that has the program; NULL when none does, with
 *out_of_memory set when that is why. */
static char *find_in(const char *folders, const char *name, const file_identity *skip,
                     bool *out_of_memory)
{
    for (const char *start = folders; start != NULL;) {
        size_t length = strcspn(start, ":");
        strbuf path = {0};
        /* An empty entry is the current folder (POSIX.1-2008, 8.3). */
        strbuf_append(&path, length == 0 ? "." : start, length == 0 ? 1 : length);
        strbuf_putc(&path, '/');
        strbuf_puts(&path, name);
        char *found = strbuf_take(&path);
        if (found == NULL) {
            *out_of_memory = true;
            return NULL;
        }
        if (file_is_executable(found) && !is_same_file(found, skip)) {
            return found;
        }
        mem_free(found);
        start = start[length] == ':' ? start + length + 1 : NULL;
    }
    return NULL;
}

evocc_status program_find(char **out, const char *name, const file_identity *skip,
                          evocc_error *error)
{
    bool out_of_memory = false;
    char *found = NULL;
    if (strchr(name, '/') == NULL) {
        const char *folders = getenv("PATH");
        found = find_in(folders != NULL ? folders : "/usr/local/bin:/usr/bin:/bin", name, skip,
                        &out_of_memory);
    } else if (file_is_executable(name) && !is_same_file(name, skip)) {
        found = mem_strdup(name);
        out_of_memory = found == NULL;
    }
    if (out_of_memory) {
        return error_no_memory(error);
    }
    if (found == NULL) {
        return strchr(name, '/') != NULL
                   ? error_set(error, EVOCC_NOT_FOUND, "'%s' is not a program that can be run",
                               name)
                   : error_set(error, EVOCC_NOT_FOUND,
                               "no program '%s' on PATH; install it or add its folder to PATH",
                               name);
    }
    *out = found;
    return EVOCC_OK;
}

evocc_status program_self(char **out, evocc_error *error)
{
    char *path = realpath("/proc/self/exe", NULL);
    if (path == NULL) {
        return error_set_os(error, EVOCC_IO, errno, "cannot tell where this program lies");
    }
    *out = mem_strdup(path);
    free(path);
    return *out != NULL ? EVOCC_OK : error_no_memory(error);
}

/* ---- The helper ------------------------------------------------------------------------------ */

/* The path in one line of /proc/self/maps (proc(5)) when the line's range holds the address. */
static const char *path_in_map(char *line, uintptr_t address)
{
    char *rest;
    unsigned long long start = strtoull(line, &rest, 16);
    if (*rest != '-') {
        return NULL;
    }
    unsigned long long end = strtoull(rest + 1, NULL, 16);
    char *path = strchr(line, '/');
    if (address < start || address >= end || path == NULL) {
        return NULL;
    }
    path[strcspn(path, "\n")] = '\0';
    return path;
}

/* The folder of the program or shared library that holds this code. dladdr would only repeat the
   name it was loaded by, which may be relative to a folder left since. */
static char *code_folder(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return NULL;
    }
    char *line = NULL;
    size_t size = 0;
    char *folder = NULL;
    while (folder == NULL && getline(&line, &size, maps) > 0) {
        const char *path = path_in_map(line, (uintptr_t)&code_folder);
        if (path != NULL) {
            folder = path_folder(path);
        }
    }
    free(line);
    fclose(maps);
    return folder;
}

/* From the code's folder: the build's programs or a Python package; an installed program or
   library; a library in a multiarch folder; the build's libraries; the build's tests. */
static const char *const helper_places[] = {
    "evocc-helper",        "../libexec/evocc/evocc-helper", "../../libexec/evocc/evocc-helper",
    "../bin/evocc-helper", "../../bin/evocc-helper",
};

static evocc_status helper_of_variable(char **out, const char *value, evocc_error *error)
{
    file_identity identity;
    if (!file_is_executable(value)) {
        return error_set(error, EVOCC_NOT_FOUND,
                         "EVOCC_HELPER names '%s', which is not a program that can be run", value);
    }
    evocc_status status = file_identify(&identity, value, error);
    if (status == EVOCC_OK) {
        *out = identity.path;
    }
    return status;
}

evocc_status program_helper(char **out, evocc_error *error)
{
    const char *variable = getenv("EVOCC_HELPER");
    if (variable != NULL && variable[0] != '\0') {
        return helper_of_variable(out, variable, error);
    }
    char *folder = code_folder();
    for (size_t i = 0; folder != NULL && i < sizeof helper_places / sizeof helper_places[0]; i++) {
        char *path = path_join(folder, helper_places[i]);
        if (path != NULL && file_is_executable(path)) {
            mem_free(folder);
            *out = path;
            return EVOCC_OK;
        }
        mem_free(path);
    }
    evocc_status status = error_set(
        error, EVOCC_NOT_FOUND,
        "evocc-helper is neither beside '%s' nor in its ../libexec/evocc; reinstall evocc "
        "or name the program in EVOCC_HELPER",
        folder != NULL ? folder : "this program");
    mem_free(folder);
    return status;
}
