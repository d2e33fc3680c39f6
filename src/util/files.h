/*
 * files.h: whole-file reading, atomic writing, paths, temporary folders, locks.
 * Errors name the path. Descriptors are close-on-exec.
 */
#ifndef UTIL_FILES_H
#define UTIL_FILES_H

#include "util/strbuf.h"

/* The whole file, NUL-terminated beyond *length. More than limit_bytes is EVOCC_INVALID_ARGUMENT; a
   folder is named as one. The caller releases *out with mem_free. */
evocc_status file_read(char **out, size_t *length, const char *path, size_t limit_bytes,
                       evocc_error *error);

/* Writes a temporary name in the same folder, fsync, rename: either the old contents or the new; a
   failure (disk full) leaves the old. Follows a symbolic link; a pipe or a device is written as it
   is. */
evocc_status file_write_atomic(const char *path, const void *data, size_t length,
                               evocc_error *error);

/* The same without fsync: whole for every reader, but after a crash of the machine perhaps lost, as
   a compiler's own output would be. */
evocc_status file_replace(const char *path, const void *data, size_t length, evocc_error *error);

/* Plain write without fsync, for files that nobody misses after a crash. */
evocc_status file_write(const char *path, const void *data, size_t length, evocc_error *error);

typedef struct file_identity {
    char *path; /* resolved, absolute; mem_free */
    uint64_t size_bytes;
    int64_t modified_ns;
    uint64_t device, inode;
} file_identity;
evocc_status file_identify(file_identity *out, const char *path, evocc_error *error);

bool file_exists(const char *path);
/* A regular file that this user may execute. */
bool file_is_executable(const char *path);

/* Strings that the caller mem_frees; NULL when out of memory. */
char *path_join(const char *folder, const char *name); /* name alone when it is absolute */
char *path_folder(const char *path);                   /* "." for a bare name */
const char *path_base(const char *path);               /* behind the last slash; borrowed */

/* A new folder evocc-XXXXXX under TMPDIR (or /tmp). An unset, missing or unwritable TMPDIR is named
   in the error together with the remedy. */
evocc_status folder_temporary(char **out, evocc_error *error);
void folder_remove(const char *path); /* with contents; never follows links; errors ignored */
evocc_status folder_make(const char *path, evocc_error *error); /* like mkdir -p */

/* An exclusive advisory lock (flock) on an open file; EVOCC_BUSY when another process holds it. */
evocc_status file_lock(int *out_descriptor, const char *path, evocc_error *error);

/* The next program of this name on PATH that is not the file `skip` (device, inode); mem_free. */
evocc_status program_find(char **out, const char *name, const file_identity *skip,
                          evocc_error *error);

/* The helper program (launcher): EVOCC_HELPER, then beside the file that holds this code (the build
   folder, a Python package), then ../libexec/evocc, ../bin and the like relative to it; works from
   a moved folder, from the library and from Python. mem_free. */
evocc_status program_helper(char **out, evocc_error *error);

/* This process's own executable; mem_free. */
evocc_status program_self(char **out, evocc_error *error);

#endif
