#include "util/files.h"

#include "util/error.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path that leads nowhere is the user's; anything else is the system's. */
static evocc_status path_error(evocc_error *error, int os_errno, const char *verb, const char *path)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR) {
        return error_set(error, EVOCC_NOT_FOUND, "cannot %s '%s': no such file or folder", verb,
                         path);
    }
    return error_set_os(error, EVOCC_IO, os_errno, "cannot %s '%s'", verb, path);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Reads to the end, or to one byte above the limit. */
static evocc_status read_all(strbuf *out, int descriptor, size_t limit_bytes, const char *path,
                             evocc_error *error)
{
    char block[1 << 16];
    for (;;) {
        ssize_t count = read(descriptor, block, sizeof block);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", path);
        }
        strbuf_append(out, block, (size_t)count);
        if (out->failed) {
            return error_no_memory(error);
        }
        if (out->length > limit_bytes) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "'%s' has more than the %zu bytes that are read", path, limit_bytes);
        }
        if (count == 0) {
            return EVOCC_OK;
        }
    }
}

evocc_status file_read(char **out, size_t *length, const char *path, size_t limit_bytes,
                       evocc_error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return path_error(error, errno, "read", path);
    }
    strbuf contents = {0};
    struct stat status_of;
    evocc_status status;
    if (fstat(descriptor, &status_of) != 0) {
        status = error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", path);
    } else if (S_ISDIR(status_of.st_mode)) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "'%s' is a folder, not a file", path);
    } else {
        status = read_all(&contents, descriptor, limit_bytes, path, error);
    }
    close(descriptor);
    if (status != EVOCC_OK) {
        strbuf_dispose(&contents);
        return status;
    }
    *length = contents.length;
    *out = strbuf_take(&contents);
    return *out != NULL ? EVOCC_OK : error_no_memory(error);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int write_all(int descriptor, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t count = write(descriptor, data, length);
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count > 0) {
            data += count;
            length -= (size_t)count;
        }
    }
    return 0;
}

/* close, whose late errors (a full network disk) count as the write's own. */
static int close_checked(int descriptor)
{
    return close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

static evocc_status write_error(evocc_error *error, int os_errno, const char *path)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR) {
        return error_set(error, EVOCC_NOT_FOUND,
                         "cannot write '%s': its folder does not exist; make it first", path);
    }
    if (os_errno == EISDIR) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "cannot write '%s': it is a folder", path);
    }
    return error_set_os(error, EVOCC_IO, os_errno, "cannot write '%s'", path);
}

evocc_status file_write(const char *path, const void *data, size_t length, evocc_error *error)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (descriptor < 0) {
        return write_error(error, errno, path);
    }
    int os_errno = write_all(descriptor, data, length);
    int closing = close_checked(descriptor);
    os_errno = os_errno != 0 ? os_errno : closing;
    return os_errno == 0 ? EVOCC_OK : write_error(error, os_errno, path);
}

/* A new file of a name of its own in the folder: short, so that it fits where the final name does.
 */
static int open_temporary(char **out, const char *folder)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        char name[64];
        snprintf(name, sizeof name, ".evocc-%ld-%u.tmp", (long)getpid(), attempt);
        char *path = path_join(folder, name);
        if (path == NULL) {
            errno = ENOMEM;
            return -1;
        }
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            *out = path;
            return descriptor;
        }
        mem_free(path);
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

/* A rename is on disk once its folder is. Some file systems cannot sync a folder: EINVAL. */
static int sync_folder(const char *folder)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return errno == EACCES ? 0 : errno; /* write but no read permission: nothing to be done */
    }
    int os_errno = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
    close(descriptor);
    return os_errno;
}

/* `mode` is that of the file to be replaced, or 0. `durable`: on disk when it returns. */
static int replace_file(const char *path, const char *folder, mode_t mode, bool durable,
                        const void *data, size_t length)
{
    char *temporary = NULL;
    int descriptor = open_temporary(&temporary, folder);
    if (descriptor < 0) {
        return errno;
    }
    int os_errno = mode != 0 && fchmod(descriptor, mode & 07777) != 0 ? errno : 0;
    if (os_errno == 0) {
        os_errno = write_all(descriptor, data, length);
    }
    if (os_errno == 0 && durable && fsync(descriptor) != 0) {
        os_errno = errno;
    }
    int closing = close_checked(descriptor);
    os_errno = os_errno != 0 ? os_errno : closing;
    if (os_errno == 0 && rename(temporary, path) != 0) {
        os_errno = errno;
    }
    if (os_errno != 0) {
        unlink(temporary);
    } else if (durable) {
        os_errno = sync_folder(folder);
    }
    mem_free(temporary);
    return os_errno;
}

static evocc_status write_new(const char *path, bool durable, const void *data, size_t length,
                              evocc_error *error)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        return file_write(path, data, length, error); /* /dev/stdout, a pipe: cannot be renamed */
    }
    /* Behind a symbolic link it is the file that is replaced, not the link. */
    char *target = exists ? realpath(path, NULL) : NULL;
    char *folder = path_folder(target != NULL ? target : path);
    evocc_status status = EVOCC_OK;
    if (folder == NULL) {
        status = error_no_memory(error);
    } else {
        int os_errno = replace_file(target != NULL ? target : path, folder,
                                    exists ? old.st_mode : 0, durable, data, length);
        if (os_errno != 0) {
            status = write_error(error, os_errno, path);
        }
    }
    mem_free(folder);
    free(target);
    return status;
}

evocc_status file_write_atomic(const char *path, const void *data, size_t length,
                               evocc_error *error)
{
    return write_new(path, true, data, length, error);
}

evocc_status file_replace(const char *path, const void *data, size_t length, evocc_error *error)
{
    return write_new(path, false, data, length, error);
}

/* ---- Identity and locks ---------------------------------------------------------------------- */

evocc_status file_identify(file_identity *out, const char *path, evocc_error *error)
{
    struct stat s;
    char *resolved = realpath(path, NULL);
    if (resolved == NULL || stat(resolved, &s) != 0) {
        int os_errno = errno;
        free(resolved);
        return path_error(error, os_errno, "find", path);
    }
    char *copy = mem_strdup(resolved);
    free(resolved);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    *out = (file_identity){
        .path = copy,
        .size_bytes = (uint64_t)s.st_size,
        .modified_ns = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
        .device = (uint64_t)s.st_dev,
        .inode = (uint64_t)s.st_ino,
    };
    return EVOCC_OK;
}

bool file_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

bool file_is_executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

evocc_status file_lock(int *out_descriptor, const char *path, evocc_error *error)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (descriptor < 0) {
        return write_error(error, errno, path);
    }
    int result;
    do {
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        int os_errno = errno;
        close(descriptor);
        return os_errno == EWOULDBLOCK
                   ? error_set(error, EVOCC_BUSY, "'%s' is in use by another process", path)
                   : error_set_os(error, EVOCC_IO, os_errno, "cannot lock '%s'", path);
    }
    *out_descriptor = descriptor;
    return EVOCC_OK;
}
