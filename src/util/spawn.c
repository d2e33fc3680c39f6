#define _GNU_SOURCE /* pipe2, memfd_create */
#include "util/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

/* ---- Descriptors ----------------------------------------------------------------------------- */

int spawn_lift(int *descriptor)
{
    if (*descriptor > 2) {
        return 0;
    }
    int higher = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
    int os_errno = higher < 0 ? errno : 0;
    close(*descriptor);
    *descriptor = higher;
    return os_errno;
}

int spawn_pipe(int out[2])
{
    if (pipe2(out, O_CLOEXEC) != 0) {
        return errno;
    }
    int first = spawn_lift(&out[0]);
    int second = spawn_lift(&out[1]);
    if (first == 0 && second == 0) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (out[i] >= 0) {
            close(out[i]);
        }
    }
    return first != 0 ? first : second;
}

int spawn_null(int *out)
{
    *out = open("/dev/null", O_RDWR | O_CLOEXEC);
    return *out < 0 ? errno : spawn_lift(out);
}

int spawn_input(int *out, const char *data, size_t length)
{
    *out = memfd_create("evocc-input", MFD_CLOEXEC);
    if (*out < 0) {
        return errno;
    }
    int os_errno = spawn_lift(out);
    while (os_errno == 0 && length > 0) {
        ssize_t count = write(*out, data, length);
        if (count > 0) {
            data += count;
            length -= (size_t)count;
        } else if (errno != EINTR) {
            os_errno = errno;
        }
    }
    if (os_errno == 0 && lseek(*out, 0, SEEK_SET) != 0) {
        os_errno = errno;
    }
    if (os_errno != 0 && *out >= 0) {
        close(*out);
        *out = -1;
    }
    return os_errno;
}

int spawn_watch(pid_t pid)
{
#ifdef SYS_pidfd_open
    int descriptor = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by definition */
    if (descriptor >= 0 && spawn_lift(&descriptor) == 0) {
        return descriptor;
    }
#else
    (void)pid;
#endif
    return -1;
}

/* State and process group of one process (proc(5), stat): false when it is gone. */
static bool read_stat(const char *pid, char *status, long *group)
{
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[length] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name before it may hold anything */
    return name_end != NULL && sscanf(name_end + 1, " %c %*d %ld", status, group) == 2;
}

bool spawn_group_lives(pid_t group)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL) {
        return true;
    }
    bool lives = false;
    const struct dirent *entry;
    while (!lives && (entry = readdir(processes)) != NULL) {
        char status;
        long its_group;
        lives = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                read_stat(entry->d_name, &status, &its_group) && its_group == group &&
                status != 'Z' && status != 'X';
    }
    closedir(processes);
    return lives;
}

/* ---- The child's side: only calls that are safe after a fork of a threaded process -------------
 */

static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0) {
        return;
    }
#endif
    for (int i = 3; i < 4096; i++) {
        fcntl(i, F_SETFD, FD_CLOEXEC);
    }
}

static void default_signals(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++) {
        sigaction(i, &action, NULL); /* fails for KILL, STOP and those that the C library keeps */
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int set_limits(const spawn_plan *plan)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const struct rlimit memory = {plan->memory_limit, plan->memory_limit};
    return plan->memory_limit == 0 || setrlimit(RLIMIT_AS, &memory) == 0 ? 0 : errno;
}

static void report_failure(int report, int stage, int os_errno)
{
    const spawn_failure failure = {stage, os_errno};
    ssize_t written = write(report, &failure, sizeof failure); /* fits a pipe at once */
    (void)written;
    _exit(127);
}

static void become(const spawn_plan *plan, int report, pid_t parent)
{
    if (plan->session) {
        setsid();
    } else {
        setpgid(0, 0);
    }
    if (plan->dies_with_thread) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(127); /* it ended before the line above */
        }
    }
    for (int i = 0; i < 3; i++) {
        if (plan->descriptors[i] != i) {
            dup2(plan->descriptors[i], i);
        } else if (fcntl(i, F_SETFD, 0) != 0) {
            open("/dev/null", O_RDWR); /* ours is closed: the lowest free number is this one */
        }
    }
    close_others();
    default_signals();
    if (plan->folder != NULL && chdir(plan->folder) != 0) {
        report_failure(report, SPAWN_FOLDER, errno);
    }
    int os_errno = set_limits(plan);
    if (os_errno != 0) {
        report_failure(report, SPAWN_LIMIT, os_errno);
    }
    /* execve takes no const for historical reasons only (POSIX.1-2008, exec, Rationale). */
    union {
        const char *const *in;
        char *const *out;
    } argv = {plan->argv}, environment = {plan->environment};
    execve(plan->argv[0], argv.out, plan->environment != NULL ? environment.out : environ);
    report_failure(report, SPAWN_EXECUTE, errno);
}

/* ---- The parent's side ----------------------------------------------------------------------- */

int spawn_start(pid_t *pid, int *report, const spawn_plan *plan)
{
    int channel[2];
    int os_errno = spawn_pipe(channel);
    if (os_errno != 0) {
        return os_errno;
    }
    fcntl(channel[0], F_SETFL, O_NONBLOCK);
    /* No handler of this process may run in the child. */
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) {
        become(plan, channel[1], parent);
    }
    os_errno = *pid < 0 ? errno : 0;
    if (*pid > 0 && !plan->session) {
        /* Both sides do it: a kill of the group that comes next must find it. Fails when the child
           has executed already, which it does after its own call. */
        setpgid(*pid, *pid);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(channel[1]);
    if (os_errno != 0) {
        close(channel[0]);
        return os_errno;
    }
    *report = channel[0];
    return 0;
}

spawn_failure spawn_read_report(int report, bool wait)
{
    spawn_failure failure = {0, 0};
    struct pollfd readable = {.fd = report, .events = POLLIN};
    while (wait && poll(&readable, 1, -1) < 0 && errno == EINTR) {
    }
    ssize_t count;
    do {
        count = read(report, &failure, sizeof failure);
    } while (count < 0 && errno == EINTR);
    close(report);
    return count == (ssize_t)sizeof failure ? failure : (spawn_failure){0, 0};
}
