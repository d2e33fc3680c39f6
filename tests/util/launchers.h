/* Making launchers, and looking at the helper behind them. */
#ifndef TESTS_UTIL_LAUNCHERS_H
#define TESTS_UTIL_LAUNCHERS_H

#include "fakes.h"

#include "util/files.h"
#include "util/launcher.h"
#include "util/mem.h"

static inline launcher *new_launcher(void)
{
    launcher *l = NULL;
    evocc_error error = {0};
    if (launcher_new(&l, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return l;
}

static inline process_result run(launcher *l, process_request request)
{
    process_result result = {0};
    evocc_error error = {0};
    if (launcher_run(l, &result, &request, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return result;
}

/* The process numbers that /proc lists as children of one of ours. */
static inline size_t list_children(pid_t pid, pid_t *out, size_t capacity)
{
    char path[64];
    size_t count = 0;
    long child;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && count < capacity && fscanf(file, "%ld", &child) == 1) {
        out[count++] = (pid_t)child;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* The first children of a helper, once there are so many. */
static inline void wait_for_children(pid_t helper, pid_t *out, size_t count)
{
    double end_s = clock_now_s() + 20;
    while (list_children(helper, out, count) < count) {
        assert_true(clock_now_s() < end_s);
        usleep(1000);
    }
}

static inline bool leave_file(const char *folder)
{
    char *path = path_join(folder, "left");
    bool written = file_write(path, "x", 1, NULL) == EVOCC_OK;
    mem_free(path);
    return written;
}

static inline pid_t helper_of(pid_t owner)
{
    pid_t pid = 0;
    assert_int_equal(list_children(owner, &pid, 1), 1);
    return pid;
}

#endif
