/* Paths and folders of files.h. */
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Paths ----------------------------------------------------------------------------------- */

char *path_join(const char *folder, const char *name)
{
    strbuf path = {0};
    size_t length = strlen(folder);
    if (name[0] != '/' && length > 0) {
        strbuf_append(&path, folder, length);
        if (folder[length - 1] != '/') {
            strbuf_putc(&path, '/');
        }
    }
    strbuf_puts(&path, name);
    return strbuf_take(&path);
}

char *path_folder(const char *path)
{
    size_t length = (size_t)(path_base(path) - path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return length == 0 ? mem_strdup(".") : mem_strndup(path, length);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- Folders --------------------------------------------------------------------------------- */

evocc_status folder_temporary(char **out, evocc_error *error)
{
    const char *variable = getenv("TMPDIR");
    bool named = variable != NULL && variable[0] != '\0';
    char *base = realpath(named ? variable : "/tmp", NULL);
    int os_errno = base == NULL ? errno : 0;
    char *path = base == NULL ? NULL : path_join(base, "evocc-XXXXXX");
    free(base);
    if (path == NULL && os_errno == 0) {
        return error_no_memory(error);
    }
    if (path != NULL && mkdtemp(path) == NULL) {
        os_errno = errno;
    }
    if (os_errno == 0) {
        *out = path;
        return EVOCC_OK;
    }
    mem_free(path);
    const char *remedy = os_errno == ENOSPC ? "free some space there, or set" : "set";
    if (named) {
        return error_set_os(error, EVOCC_IO, os_errno,
                            "no temporary folder in '%s', which TMPDIR names (%s TMPDIR to a "
                            "folder that can be written to)",
                            variable, remedy);
    }
    return error_set_os(
        error, EVOCC_IO, os_errno,
        "no temporary folder in /tmp (TMPDIR is not set; %s TMPDIR to a folder that "
        "can be written to)",
        remedy);
}

static void remove_at(int folder, const char *name);

static void remove_contents(int folder)
{
    DIR *stream = fdopendir(folder);
    if (stream == NULL) {
        close(folder);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_at(dirfd(stream), entry->d_name);
        }
    }
    closedir(stream);
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_at(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0) {
        return;
    }
    int folder = open_folder(parent, name);
    if (folder < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) {
        folder = open_folder(parent, name);
    }
    if (folder < 0) {
        return;
    }
    fchmod(folder, 0700); /* a folder without write permission keeps what is in it */
    remove_contents(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void folder_remove(const char *path)
{
    remove_at(AT_FDCWD, path);
}

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static evocc_status make_one(const char *path, evocc_error *error)
{
    if (mkdir(path, 0777) == 0 || is_folder(path)) {
        return EVOCC_OK;
    }
    int os_errno = errno == EEXIST ? ENOTDIR : errno;
    return error_set_os(error, EVOCC_IO, os_errno, "cannot make the folder '%s'", path);
}

evocc_status folder_make(const char *path, evocc_error *error)
{
    char *copy = mem_strdup(path);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = EVOCC_OK;
    for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash != NULL && status == EVOCC_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(copy, error);
        *slash = '/';
    }
    if (status == EVOCC_OK) {
        status = make_one(copy, error);
    }
    mem_free(copy);
    return status;
}
