#define _GNU_SOURCE /* flock */
#include "gpu/lock.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *lock_folder(void)
{
    const char *given = getenv("EVOCC_RUNTIME_DIR");
    if (given != NULL && *given != '\0') {
        return given;
    }
    return access("/run/lock", W_OK | X_OK) == 0 ? "/run/lock" : "/tmp";
}

/* First without O_CREAT: in a sticky folder the kernel may refuse to create what another user owns
   (fs.protected_regular), though opening it is allowed. */
static int open_lock(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 && errno == ENOENT) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0) {
            (void)fchmod(descriptor, 0666); /* whatever our umask is */
        }
    }
    return descriptor;
}

static void note_owner(int descriptor)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", (long)getppid());
    if (ftruncate(descriptor, 0) == 0 && length > 0) {
        (void)!pwrite(descriptor, text, (size_t)length, 0);
    }
}

static evocc_status busy(int descriptor, const char *uuid, evocc_error *error)
{
    char text[32] = "";
    ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    long owner = length > 0 ? strtol(text, NULL, 10) : 0;
    char who[48] = "";
    if (owner > 0) {
        snprintf(who, sizeof who, " (process %ld)", owner);
    }
    return error_set(error, EVOCC_BUSY,
                     "another study%s measures on %s; wait for its end, or choose another GPU", who,
                     uuid);
}

evocc_status gpu_lock(int *out_descriptor, const char *uuid, evocc_error *error)
{
    char name[100];
    snprintf(name, sizeof name, "evocc-%s.lock", uuid);
    char *path = path_join(lock_folder(), name);
    if (path == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = EVOCC_OK;
    int descriptor = open_lock(path);
    if (descriptor < 0) {
        status = error_set_os(error, EVOCC_IO, errno,
                              "cannot open '%s', by which one GPU is kept to one study; set "
                              "EVOCC_RUNTIME_DIR to a folder that can be written",
                              path);
    } else if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK
                     ? busy(descriptor, uuid, error)
                     : error_set_os(error, EVOCC_IO, errno, "cannot lock '%s'", path);
        close(descriptor);
    } else {
        note_owner(descriptor);
        *out_descriptor = descriptor;
    }
    mem_free(path);
    return status;
}
