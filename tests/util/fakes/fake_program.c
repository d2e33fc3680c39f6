/*
 * A program that misbehaves on request: fake_program MODE [ARGUMENT]. The modes are those of the
 * table at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int mode_exit(const char *argument)
{
    return atoi(argument);
}

static int mode_hang(const char *argument)
{
    (void)argument;
    while (pause() != 0) {
    }
    return 0;
}

static int mode_ignore_term(const char *argument)
{
    signal(SIGTERM, SIG_IGN);
    puts("deaf");
    fflush(stdout);
    return mode_hang(argument);
}

static void leave(int signal_number)
{
    (void)signal_number;
    _exit(7);
}

/* Ends with status 7 by itself when asked to. */
static int mode_heed_term(const char *argument)
{
    signal(SIGTERM, leave);
    puts("ready");
    fflush(stdout);
    return mode_hang(argument);
}

static int mode_stop(const char *argument)
{
    raise(SIGSTOP);
    return mode_exit(argument);
}

static int mode_crash(const char *argument)
{
    (void)argument;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer may have put its own handler there */
    raise(SIGSEGV);
    return 0;
}

/* Writes so many bytes to stdout, and as many to stderr, in turn. */
static int mode_flood(const char *argument)
{
    static char block[4096];
    memset(block, 'x', sizeof block);
    for (long left = atol(argument); left > 0; left -= (long)sizeof block) {
        size_t count = left < (long)sizeof block ? (size_t)left : sizeof block;
        if (write(1, block, count) < 0 || write(2, block, count) < 0) {
            return 1;
        }
    }
    return 0;
}

/* Prints the number of bytes of stdin and their sum. */
static int mode_count_input(const char *argument)
{
    (void)argument;
    static unsigned char block[65536];
    unsigned long long bytes = 0;
    unsigned long long sum = 0;
    ssize_t count;
    while ((count = read(0, block, sizeof block)) > 0) {
        bytes += (unsigned long long)count;
        for (ssize_t i = 0; i < count; i++) {
            sum += block[i];
        }
    }
    printf("%llu %llu\n", bytes, sum);
    return count < 0;
}

/* Touches so many MiB. */
static int mode_allocate(const char *argument)
{
    size_t bytes = (size_t)atol(argument) << 20;
    char *block = malloc(bytes);
    if (block == NULL) {
        puts("no memory");
        return 3;
    }
    memset(block, 1, bytes);
    int status = ((volatile char *)block)[bytes - 1] != 1;
    free(block);
    return status;
}

/* Keeps the processor busy for so many milliseconds of its own time. */
static int mode_burn(const char *argument)
{
    clock_t end = clock() + atol(argument) * (CLOCKS_PER_SEC / 1000);
    while (clock() < end) {
    }
    return 0;
}

static void grandchild(int own_session)
{
    if (fork() == 0) {
        if (own_session) {
            setsid();
        }
        printf("%ld\n", (long)getpid());
        fflush(stdout);
        mode_hang(NULL);
    }
    usleep(50000); /* time to print */
}

/* Leaves a process behind that holds the pipes, and exits. */
static int mode_leave_grandchild(const char *argument)
{
    grandchild(0);
    return atoi(argument);
}

static int mode_leave_session(const char *argument)
{
    grandchild(1);
    return atoi(argument);
}

static int mode_hang_with_grandchild(const char *argument)
{
    grandchild(0);
    return mode_hang(argument);
}

/* Its grandchild leaves the group and writes for ever. */
static int mode_leave_flood(const char *argument)
{
    if (fork() == 0) {
        setsid();
        static const char line[] = "more and more and more and more and more and more and more\n";
        while (write(1, line, sizeof line - 1) > 0) {
        }
        _exit(0);
    }
    usleep(20000);
    return atoi(argument);
}

/* The open descriptors, the blocked and ignored signals, group and session, the core limit. */
static int mode_describe(const char *argument)
{
    (void)argument;
    printf("descriptors");
    for (int i = 0; i < 1024; i++) {
        if (fcntl(i, F_GETFD) >= 0) {
            printf(" %d", i);
        }
    }
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    printf("\nsignals");
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigismember(&blocked, i) == 1) {
            printf(" blocked-%d", i);
        }
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            printf(" ignored-%d", i);
        }
    }
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    printf("\nleader %d\ncore %d\n", getpgrp() == getpid(), (int)core.rlim_cur);
    return 0;
}

static int mode_where(const char *argument)
{
    char folder[4096];
    const char *value = getenv(argument);
    printf("%s\n%s\n", getcwd(folder, sizeof folder), value != NULL ? value : "(unset)");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *argument);
} modes[] = {
    {"exit", mode_exit},
    {"hang", mode_hang},
    {"ignore-term", mode_ignore_term},
    {"heed-term", mode_heed_term},
    {"stop", mode_stop},
    {"crash", mode_crash},
    {"flood", mode_flood},
    {"count-input", mode_count_input},
    {"allocate", mode_allocate},
    {"burn", mode_burn},
    {"leave-grandchild", mode_leave_grandchild},
    {"leave-session", mode_leave_session},
    {"leave-flood", mode_leave_flood},
    {"hang-with-grandchild", mode_hang_with_grandchild},
    {"describe", mode_describe},
    {"where", mode_where},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            return modes[i].run(argc > 2 ? argv[2] : "0");
        }
    }
    fprintf(stderr, "fake_program: no such mode\n");
    return 99;
}
