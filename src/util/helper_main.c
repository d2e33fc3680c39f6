/*
 * evocc-helper: the program behind launcher.h. Not for people: evocc starts it and talks to it over
 * its standard input. Small on purpose, since a child's peak memory begins at its parent's size.
 */
#include "util/launcher_serve.h"

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

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "launch") == 0) {
        stay_small();
        return launcher_serve(STDIN_FILENO, (pid_t)strtol(argv[2], NULL, 10));
    }
    fprintf(stderr, "evocc-helper is started by evocc; there is no use in calling it by hand\n");
    return 2;
}
