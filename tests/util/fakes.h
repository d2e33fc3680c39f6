/* Starting the fake program, and looking at what it left behind. */
#ifndef TESTS_UTIL_FAKES_H
#define TESTS_UTIL_FAKES_H

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/process.h"

/* A request for one mode of the fake program; valid until the second next call. */
static inline process_request fake(const char *mode, const char *argument)
{
    static const char *words[2][4];
    static int next;
    const char **argv = words[next++ % 2];
    argv[0] = FAKE_PROGRAM;
    argv[1] = mode;
    argv[2] = argument;
    argv[3] = NULL;
    return (process_request){.argv = argv};
}

/* Waits at most so long for a process to be gone, be it reaped or a zombie nobody waits for. */
static inline bool ends_within(pid_t pid, double timeout_s)
{
    for (double end_s = clock_now_s() + timeout_s; clock_now_s() < end_s; usleep(2000)) {
        char path[64];
        char state = 'Z';
        snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
        FILE *file = fopen(path, "re");
        if (file == NULL) {
            return true;
        }
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 'Z';
        }
        fclose(file);
        if (state == 'Z') {
            return true;
        }
    }
    return false;
}

#endif
