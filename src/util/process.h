/*
 * process.h: running programs: argv arrays, own process groups, deadlines, drained output.
 *
 * process_set runs children of this very process. Studies use launcher.h, which runs the same code
 * in a small helper program: a child's peak memory starts at its parent's size, and the death of a
 * study (kill -9 included) must not leave compilers behind.
 */
#ifndef UTIL_PROCESS_H
#define UTIL_PROCESS_H

#include <evocc/evocc.h>

typedef struct process_request {
    const char *const *argv;        /* NULL-terminated; argv[0] is a path and is not searched */
    const char *const *environment; /* NULL-terminated "NAME=value"; NULL: this process's own */
    const char *folder;             /* working folder; NULL: this process's own */
    const char *input;              /* bytes for stdin; NULL: /dev/null */
    size_t input_length;
    double deadline_s;     /* wall seconds until TERM to the group; 0: none */
    double grace_s;        /* from TERM to KILL; 0: one second */
    size_t output_limit;   /* bytes kept of each stream, the rest drained; 0: 1 MiB */
    uint64_t memory_limit; /* RLIMIT_AS in bytes; 0: none */
} process_request;

typedef enum process_end {
    PROCESS_EXITED,
    PROCESS_SIGNALLED,
    PROCESS_TIMED_OUT,
    PROCESS_CANCELLED,
    PROCESS_NOT_STARTED /* os_errno says why: ENOENT, EACCES, ENOEXEC, E2BIG, ... */
} process_end;

typedef struct process_result {
    process_end end;
    int exit_status; /* of PROCESS_EXITED */
    int signal;      /* of PROCESS_SIGNALLED */
    int os_errno;
    /* stdout and stderr, NUL-terminated; owned. Of PROCESS_NOT_STARTED, `errors` is one line that
       says what could not be done. */
    char *output, *errors;
    size_t output_length, errors_length;
    bool output_truncated, errors_truncated;
    double wall_s;
    double cpu_s;        /* user + system, of the child and what it waited for */
    uint64_t peak_bytes; /* largest resident set among them */
} process_result;

void process_result_dispose(process_result *result);

typedef struct process_set process_set;

evocc_status process_set_new(process_set **out, evocc_error *error);

/* From now on children are killed when the calling thread ends, however it does. For programs whose
   one thread is the process (the helper): elsewhere threads come and go. */
void process_set_bind(process_set *set);

/* Starts a child under the caller's `id`. A program that cannot be executed is no error here: it
   comes back from process_set_wait as PROCESS_NOT_STARTED. EVOCC_PROCESS: this machine has no room
   for another process or descriptor. The request is not needed any more afterwards. */
evocc_status process_set_start(process_set *set, uint64_t id, const process_request *request,
                               evocc_error *error);

/* The next child to end (its whole group is gone, its pipes are drained). EVOCC_TIMEOUT when none
   did within timeout_s (negative: wait for ever); EVOCC_NOT_FOUND when none is running. `wake_fd`,
   unless negative, ends the wait with EVOCC_INTERRUPTED when it becomes readable, even if a child
   has ended. What a leader leaves running in its group is killed 0.1 s after its end; what left the
   group (setsid) is neither killed nor waited for. Other errors are about the child *id, which is
   then gone: EVOCC_NO_MEMORY, or EVOCC_PROCESS when SIGCHLD is ignored in this process. */
evocc_status process_set_wait(process_set *set, double timeout_s, int wake_fd, uint64_t *id,
                              process_result *result, evocc_error *error);

void process_set_cancel(process_set *set); /* TERM, then KILL, to all; they still come back */
size_t process_set_count(const process_set *set);
void process_set_free(process_set *set); /* kills what still runs, at once */

/* One child from start to end, in this process. */
evocc_status process_run(process_result *result, const process_request *request,
                         evocc_error *error);

#endif
