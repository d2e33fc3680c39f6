#include "evaluate/compile_outcome.h"

#include "util/error.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

/* With less than this left, what is missing or cut short is put down to the disk. */
static const double space_needed_bytes = 1 << 20;

static void EVOCC_PRINTF(3, 4)
    set(compile_outcome *out, evocc_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    out->outcome = outcome;
    vsnprintf(out->detail, sizeof out->detail, format, arguments);
    va_end(arguments);
}

/* ---- What a compiler says ---------------------------------------------------------------- */

static bool contains(const char *line, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (size_t i = 0; i + word_length <= length; i++) {
        if (memcmp(line + i, word, word_length) == 0) {
            return true;
        }
    }
    return false;
}

static const char *line_with(const char *text, const char *first, const char *second)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        if (contains(text, length, first) || contains(text, length, second)) {
            return text;
        }
        text += length + (text[length] == '\n');
    }
    return NULL;
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* The first line that complains, else the first line of all; "" when it said nothing. */
static const char *complaint(const process_result *r)
{
    const char *found = line_with(r->errors, "error", "fatal");
    found = found != NULL ? found : line_with(r->output, "error", "fatal");
    found = found != NULL ? found : text_of(r->errors);
    return *found != '\0' ? found : text_of(r->output);
}

static bool said(const process_result *r, const char *words)
{
    return strstr(text_of(r->errors), words) != NULL || strstr(text_of(r->output), words) != NULL;
}

/* ---- Faults of the machine --------------------------------------------------------------- */

static bool is_full(const char *folder)
{
    struct statvfs s;
    return statvfs(folder, &s) == 0 && s.f_blocks > 0 &&
           (double)s.f_bavail * (double)s.f_frsize < space_needed_bytes;
}

static evocc_status disk_full(const char *folder, evocc_error *error)
{
    return error_set_os(error, EVOCC_IO, ENOSPC,
                        "the compiler could not write its output into %s: free some space there, "
                        "or set TMPDIR to a folder that has it, and resume",
                        folder);
}

static evocc_status compiler_gone(const char *path, const process_result *r, evocc_error *error)
{
    return error_set_os(error, EVOCC_PROCESS, r->os_errno,
                        "%s can no longer be run: put it back and resume", path);
}

/* Statuses by which a shell says that it could not run a program (POSIX.1-2008, 2.8.2); ptxas and
   nvcc use 1 and 255. */
static bool is_lost_by_script(int exit_status)
{
    return exit_status == 126 || exit_status == 127;
}

static evocc_status failed_run(compile_outcome *out, const process_result *r, const char *path,
                               const char *folder, evocc_error *error)
{
    const char *line = complaint(r);
    int length = (int)strcspn(line, "\r\n");
    if (said(r, "Internal error: writing file") || said(r, "No space left on device")) {
        return disk_full(folder, error);
    }
    if (is_lost_by_script(r->exit_status)) {
        return error_set(error, EVOCC_PROCESS, "%s can no longer run its compiler: %.*s", path,
                         length, line);
    }
    if (said(r, "' could not be opened")) {
        return error_set(error, EVOCC_IO, "the work folder %s was disturbed: %.*s", folder, length,
                         line);
    }
    if (said(r, "Memory allocation failure") || said(r, "out of memory")) {
        set(out, EVOCC_OUTCOME_OUT_OF_MEMORY, "%.*s", length, line);
    } else if (said(r, "Internal error")) {
        set(out, EVOCC_OUTCOME_COMPILER_CRASHED, "%.*s", length, line);
    } else if (length > 0) {
        set(out, EVOCC_OUTCOME_COMPILE_FAILED, "%.*s", length, line);
    } else {
        set(out, EVOCC_OUTCOME_COMPILE_FAILED, "exit status %d without a message", r->exit_status);
    }
    return EVOCC_OK;
}

static evocc_status killed_run(compile_outcome *out, const process_result *r, const char *folder,
                               evocc_error *error)
{
    if (r->signal == SIGXFSZ) {
        return error_set(error, EVOCC_IO,
                         "the compiler reached the file size limit in %s: raise `ulimit -f` and "
                         "resume",
                         folder);
    }
    if (r->signal == SIGKILL) {
        set(out, EVOCC_OUTCOME_OUT_OF_MEMORY,
            "killed by signal 9, as the kernel does when memory runs out (%.0f MiB at its peak)",
            (double)r->peak_bytes / (1 << 20));
    } else {
        set(out, EVOCC_OUTCOME_COMPILER_CRASHED, "killed by signal %d (%s)", r->signal,
            strsignal(r->signal));
    }
    return EVOCC_OK;
}

evocc_status compile_outcome_of(compile_outcome *out, const process_result *result,
                                const char *path, const char *folder, double deadline_s,
                                evocc_error *error)
{
    *out = (compile_outcome){.outcome = EVOCC_OUTCOME_OK};
    switch (result->end) {
    case PROCESS_NOT_STARTED:
        return compiler_gone(path, result, error);
    case PROCESS_SIGNALLED:
        return killed_run(out, result, folder, error);
    case PROCESS_TIMED_OUT:
        set(out, EVOCC_OUTCOME_COMPILE_TIMEOUT, "not done after %g s", deadline_s);
        return EVOCC_OK;
    case PROCESS_CANCELLED:
        set(out, EVOCC_OUTCOME_CANCELLED, "stopped before it was done");
        return EVOCC_OK;
    case PROCESS_EXITED:
        break;
    }
    return result->exit_status == 0 ? EVOCC_OK : failed_run(out, result, path, folder, error);
}

evocc_status compile_outcome_of_damage(compile_outcome *out, const char *what, const char *path,
                                       const char *folder, evocc_error *error)
{
    if (is_full(folder)) {
        return disk_full(folder, error);
    }
    set(out, EVOCC_OUTCOME_COMPILER_CRASHED, "%s reported success, but %s", path, what);
    return EVOCC_OK;
}
