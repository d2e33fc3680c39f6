/*
 * What the launcher adds to starting a program: the median time of /bin/true by posix_spawn, by
 * process_run and through the helper; the helper's own memory before and after many of them; the
 * smallest peak a child can report.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/launcher.h"

enum { ROUNDS = 2000, SHOWN = 5 };

extern char **environ;

static const char *const program[] = {"/bin/true", NULL};

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_quantiles(const char *what, double *times_s)
{
    static const double shares[SHOWN] = {0.05, 0.25, 0.5, 0.75, 0.95};
    qsort(times_s, ROUNDS, sizeof *times_s, by_time);
    printf("%-12s", what);
    for (int i = 0; i < SHOWN; i++) {
        printf(" %8.1f", times_s[(int)(shares[i] * ROUNDS)] * 1e6);
    }
    printf("\n");
}

static void spawn_once(void)
{
    pid_t pid;
    int status;
    char name[] = "/bin/true";
    char *argv[] = {name, NULL};
    if (posix_spawn(&pid, name, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid) {
        perror("posix_spawn");
        exit(1);
    }
}

static uint64_t run_once(launcher *l)
{
    const process_request request = {.argv = program};
    process_result result = {0};
    evocc_error error;
    evocc_status status = l != NULL ? launcher_run(l, &result, &request, &error)
                                    : process_run(&result, &request, &error);
    if (status != EVOCC_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    uint64_t peak_bytes = result.peak_bytes;
    process_result_dispose(&result);
    return peak_bytes;
}

/* The memory lines of /proc/PID/status of this process's only child. */
static void print_helper_memory(const char *when)
{
    char path[64];
    char line[256];
    long pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%ld", &pid) != 1) {
        printf("the helper cannot be found in %s\n", path);
    }
    if (file != NULL) {
        fclose(file);
    }
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS", 5) == 0 || strncmp(line, "RssAnon", 7) == 0) {
            printf("helper %s: %s", when, line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

int main(void)
{
    static double spawn_s[ROUNDS];
    static double set_s[ROUNDS];
    static double launcher_s[ROUNDS];
    launcher *l;
    evocc_error error;
    double start_s = clock_now_s();
    if (launcher_new(&l, &error) != EVOCC_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double begin_s = clock_now_s() - start_s;
    print_helper_memory("at first");
    uint64_t peak_bytes = run_once(l);
    for (int i = 0; i < ROUNDS; i++) { /* in turn, so that drift reaches all three alike */
        start_s = clock_now_s();
        spawn_once();
        spawn_s[i] = clock_now_s() - start_s;
        start_s = clock_now_s();
        run_once(NULL);
        set_s[i] = clock_now_s() - start_s;
        start_s = clock_now_s();
        run_once(l);
        launcher_s[i] = clock_now_s() - start_s;
    }
    print_helper_memory("at last");
    start_s = clock_now_s();
    launcher_free(l);
    printf("launcher_new %.2f ms, launcher_free %.2f ms\n", begin_s * 1e3,
           (clock_now_s() - start_s) * 1e3);
    printf("peak of /bin/true: %llu KiB\n", (unsigned long long)(peak_bytes / 1024));
    printf("%-12s %8s %8s %8s %8s %8s  (microseconds)\n", "/bin/true", "5%", "25%", "median", "75%",
           "95%");
    print_quantiles("posix_spawn", spawn_s);
    print_quantiles("process_run", set_s);
    print_quantiles("launcher", launcher_s);
    return 0;
}
