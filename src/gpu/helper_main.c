/*
 * evocc-helper: the program behind launcher.h and gpu.h. Not for people: evocc starts it and talks
 * to it over its standard input.
 *
 *   evocc-helper launch OWNER        starts compilers and measures them (util/launcher_serve.h)
 *   evocc-helper gpu DEVICE          measures on one GPU (gpu/worker_serve.h)
 *   evocc-helper gpu DEVICE locked   the same; standard output is the lock that is held already
 *
 * Small on purpose, since a child's peak memory begins at its parent's size: what the worker needs
 * beyond this program (the CUDA driver) it loads by itself, so the launcher does not carry it.
 */
#include "gpu/worker_serve.h"
#include "util/launcher_serve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__ /* known after the headers above */
#include <malloc.h>
#endif

/* Buffers go back to the system when freed: by default glibc keeps ever larger ones. */
static void stay_small(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
#endif
}

/* The lock moves away from descriptor 1, lest somebody's printf writes into it. */
static int take_lock(void)
{
    int lock = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return lock;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "launch") == 0) {
        stay_small();
        return launcher_serve(STDIN_FILENO, (pid_t)strtol(argv[2], NULL, 10));
    }
    if ((argc == 3 || (argc == 4 && strcmp(argv[3], "locked") == 0)) &&
        strcmp(argv[1], "gpu") == 0) {
        /* No exit handlers: those of the CUDA driver would wait for a kernel that hangs. */
        _exit(worker_serve(STDIN_FILENO, argv[2], argc == 4 ? take_lock() : -1));
    }
    fprintf(stderr, "evocc-helper is started by evocc; there is no use in calling it by hand\n");
    return 2;
}
