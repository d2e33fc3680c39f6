/*
 * spawn.h: one fork and exec, done carefully; what process.c and launcher.c share.
 *
 * The child has its own process group (or session), default signals, an empty mask, no core file,
 * and no descriptor but 0, 1 and 2.
 */
#ifndef UTIL_SPAWN_H
#define UTIL_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct spawn_plan {
    const char *const *argv;        /* argv[0] is a path and is not searched */
    const char *const *environment; /* NULL: this process's own */
    const char *folder;             /* NULL: this process's own */
    int descriptors[3];             /* what becomes 0, 1, 2: 3 or above, or itself */
    bool session;                   /* a session of its own: out of reach of the terminal */
    bool dies_with_thread;          /* SIGKILL when the calling thread ends, however it does */
    uint64_t memory_limit;          /* RLIMIT_AS; 0: none */
} spawn_plan;

/* What kept a child from becoming its program. */
typedef enum spawn_stage { SPAWN_FOLDER = 1, SPAWN_LIMIT, SPAWN_EXECUTE } spawn_stage;
typedef struct spawn_failure {
    int stage, os_errno; /* stage 0: none */
} spawn_failure;

/* 0, or the errno of what this process lacked (descriptors, processes, memory). *pid is set before
   anything after the fork. The pipe `*report` tells what failed in the child: spawn_read_report. */
int spawn_start(pid_t *pid, int *report, const spawn_plan *plan);

/* What the child reported, once it has ended; or, with `wait`, as soon as it has executed or
   failed. Closes the pipe. */
spawn_failure spawn_read_report(int report, bool wait);

/* Descriptors of our own: close-on-exec and never 0, 1 or 2, even where those were closed. Errno or
   0; on failure nothing is left open. */
int spawn_pipe(int out[2]);
int spawn_null(int *out);
int spawn_lift(int *descriptor); /* moves one that is 0, 1 or 2 away from there; -1 on failure */
/* A nameless file in memory that holds the bytes, to be read from its start. */
int spawn_input(int *out, const char *data, size_t length);

/* A descriptor that becomes readable when the process ends; -1 where the kernel has none. */
int spawn_watch(pid_t pid);

/* Whether a process group has a member that is no zombie: those that nobody reaps (an init that is
   none, in a container) stay members for ever. Reads all of /proc: milliseconds. */
bool spawn_group_lives(pid_t group);

#endif
