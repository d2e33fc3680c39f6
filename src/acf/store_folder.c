#include "acf/store_folder.h"

#include "acf/acf_store.h"
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

/* ---- Which stores ---------------------------------------------------------------------------- */

/* XDG Base Directory Specification: a value that is not absolute is to be ignored. */
static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

bool store_has_home(void)
{
    return absolute("XDG_DATA_HOME") != NULL || absolute("HOME") != NULL;
}

char *acf_store_home(void)
{
    const char *data = absolute("XDG_DATA_HOME");
    const char *home = absolute("HOME");
    if (data != NULL) {
        return path_join(data, "evocc/installed");
    }
    return home != NULL ? path_join(home, ".local/share/evocc/installed") : NULL;
}

static bool add_folder(store_folders *out, char *folder)
{
    char **items = folder == NULL ? NULL : mem_realloc(out->items, out->count + 1, sizeof *items);
    if (items == NULL) {
        mem_free(folder);
        return false;
    }
    out->items = items;
    items[out->count++] = folder;
    return true;
}

evocc_status store_folders_list(store_folders *out, evocc_error *error)
{
    const char *at = getenv("EVOCC_ACF_PATH");
    bool added = true;
    while (added && at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        if (length > 0) {
            added = add_folder(out, mem_strndup(at, length));
        }
        at += length + (at[length] == ':');
    }
    added = added && (!store_has_home() || add_folder(out, acf_store_home()));
    if (!added) {
        store_folders_dispose(out);
        return error_no_memory(error);
    }
    return EVOCC_OK;
}

void store_folders_dispose(store_folders *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        mem_free(folders->items[i]);
    }
    mem_free(folders->items);
    *folders = (store_folders){0};
}

/* ---- Believing ------------------------------------------------------------------------------- */

static const char *why_not_believed(const struct stat *s)
{
    if (s->st_uid != geteuid() && s->st_uid != 0) {
        return "ignored: it belongs to another user";
    }
    return (s->st_mode & (S_IWGRP | S_IWOTH)) != 0
               ? "ignored: others may write to it (chmod go-w makes it usable)"
               : NULL;
}

int store_folder_open(int parent, const char *name, bool follow, const char **why)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    int descriptor = openat(parent, name, flags);
    struct stat s;
    *why = NULL;
    if (descriptor < 0) {
        *why = errno == ENOENT ? NULL : strerror(errno);
    } else if (fstat(descriptor, &s) != 0) {
        *why = strerror(errno);
    } else {
        *why = why_not_believed(&s);
    }
    if (*why != NULL && descriptor >= 0) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

/* At most `room` bytes: a file that grows meanwhile is cut, and its digest then does not fit. */
static evocc_status read_text(char **out, size_t *length, int descriptor, size_t room,
                              const char *name, evocc_error *error)
{
    char *text = mem_alloc(room, 1);
    if (text == NULL) {
        return error_no_memory(error);
    }
    size_t total = 0;
    ssize_t count;
    while ((count = read(descriptor, text + total, room - total)) != 0) {
        if (count < 0 && errno != EINTR) {
            mem_free(text);
            return error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", name);
        }
        total += count > 0 ? (size_t)count : 0;
    }
    *out = text;
    *length = total;
    return EVOCC_OK;
}

static evocc_status read_open(acf **out, int descriptor, const char *name, evocc_error *error)
{
    struct stat s;
    if (fstat(descriptor, &s) != 0) {
        return error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", name);
    }
    const char *why = S_ISREG(s.st_mode) ? why_not_believed(&s) : "ignored: it is no regular file";
    if (why == NULL && (uint64_t)s.st_size > ACF_SIZE_LIMIT) {
        why = "ignored: it is larger than a controls file may be";
    }
    if (why != NULL) {
        return error_set(error, EVOCC_REFUSED, "%s", why);
    }
    char *text = NULL;
    size_t length = 0;
    evocc_status status = read_text(&text, &length, descriptor, (size_t)s.st_size, name, error);
    if (status == EVOCC_OK) {
        status = acf_read(out, text, length, name, error);
    }
    mem_free(text);
    return status;
}

evocc_status store_file_read(acf **out, int folder, const char *path, const char *name,
                             evocc_error *error)
{
    char *full = path_join(path, name);
    if (full == NULL) {
        return error_no_memory(error);
    }
    int descriptor =
        openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    evocc_status status;
    if (descriptor >= 0) {
        status = read_open(out, descriptor, full, error);
        close(descriptor);
    } else if (errno == ENOENT) {
        status = error_set(error, EVOCC_NOT_FOUND, "'%s' is gone", full);
    } else {
        status = error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", full);
    }
    mem_free(full);
    return status;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

evocc_status store_names_list(store_names *out, int folder, evocc_error *error)
{
    int copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    if (stream == NULL) {
        int os_errno = errno;
        if (copy >= 0) {
            close(copy);
        }
        return error_set_os(error, EVOCC_IO, os_errno, "cannot list a store");
    }
    const struct dirent *entry;
    bool failed = false;
    rewinddir(stream); /* the copy shares its position with the descriptor */
    while (!failed && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        char *name = mem_strdup(entry->d_name);
        failed = name == NULL ||
                 !mem_grow(&out->items, &out->capacity, out->count + 1, sizeof *out->items);
        if (failed) {
            mem_free(name);
        } else {
            out->items[out->count++] = name;
        }
    }
    closedir(stream);
    if (failed) {
        return error_no_memory(error);
    }
    if (out->count > 1) {
        qsort(out->items, out->count, sizeof *out->items, compare_names);
    }
    return EVOCC_OK;
}

void store_names_dispose(store_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        mem_free(names->items[i]);
    }
    mem_free(names->items);
    *names = (store_names){0};
}

bool store_is_name(const char *text)
{
    return text != NULL && text[0] != '\0' && text[0] != '.' && strchr(text, '/') == NULL;
}

bool store_is_entry(const char *name)
{
    static const char ending[] = ".acf";
    size_t length = strlen(name);
    return length > sizeof ending - 1 && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* The order of the base options means nothing, so they are sorted first. */
evocc_status store_key(char out[STORE_KEY_SIZE], const acf_target *target, evocc_error *error)
{
    const char **base = mem_alloc(target->base_count + 1, sizeof *base);
    if (base == NULL) {
        return error_no_memory(error);
    }
    hash_sha256_state state;
    char digest[HASH_SHA256_TEXT];
    hash_sha256_init(&state);
    hash_sha256_add(&state, target->ptx, strlen(target->ptx));
    for (size_t i = 0; i < target->base_count; i++) {
        base[i] = target->base[i];
    }
    qsort(base, target->base_count, sizeof *base, compare_names);
    for (size_t i = 0; i < target->base_count; i++) {
        hash_sha256_add(&state, "\n", 1);
        hash_sha256_add(&state, base[i], strlen(base[i]));
    }
    hash_sha256_end(&state, digest);
    mem_free(base);
    memcpy(out, digest, STORE_KEY_SIZE - 1);
    out[STORE_KEY_SIZE - 1] = '\0';
    return EVOCC_OK;
}
