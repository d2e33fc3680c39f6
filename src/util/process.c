#include "util/process.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/spawn.h"
#include "util/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double DEFAULT_GRACE_S = 1;
static const size_t DEFAULT_OUTPUT_LIMIT = 1 << 20;
/* What the leader leaves running in its group may end by itself for so long: the rest of a pipeline
   still has its last lines to write. */
static const double LINGER_S = 0.1;
/* A process that survives KILL sits in the kernel; nobody can wait for it. */
static const double GIVE_UP_S = 5;
/* Nothing tells when a group's last member ends: ask, ever more rarely. */
static const double FIRST_PROBE_S = 0.0005, LONGEST_PROBE_S = 0.02;
/* Between looks at a child that the kernel gives no descriptor for. */
static const double UNWATCHED_S = 0.005;
static const double NEVER_S = HUGE_VAL;

enum { READ_BYTES = 1 << 16, STREAMS = 2 };

typedef struct stream {
    int descriptor; /* -1: at its end */
    strbuf kept;
    bool truncated;
} stream;

/* A child runs, then its leader has been reaped and the group lingers, then the group is gone. */
typedef enum child_state { CHILD_RUNNING, CHILD_LINGERING, CHILD_GONE } child_state;

typedef struct child {
    uint64_t id;
    pid_t pid; /* and its process group's number */
    child_state state;
    int watch;  /* readable when the leader ends; -1: none */
    int report; /* spawn_read_report */
    stream streams[STREAMS];
    size_t output_limit;
    double started_s, grace_s;
    double deadline_s, kill_at_s, give_up_at_s; /* NEVER_S: not due */
    double probe_at_s, probe_step_s;
    bool stopped; /* TERM was sent, and `stopped_as` is why */
    bool lost;    /* somebody else took the exit status */
    process_end stopped_as;
    process_result result;
    char *program, *folder; /* for messages */
} child;

struct process_set {
    child **children; /* in the order of their start */
    size_t count, capacity;
    struct pollfd *polled;
    size_t polled_capacity;
    bool die_with_thread;
};

static double earlier(double a_s, double b_s)
{
    return a_s < b_s ? a_s : b_s;
}

void process_result_dispose(process_result *result)
{
    if (result != NULL) {
        mem_free(result->output);
        mem_free(result->errors);
        *result = (process_result){0};
    }
}

/* ---- Start ----------------------------------------------------------------------------------- */

evocc_status process_set_new(process_set **out, evocc_error *error)
{
    *out = mem_alloc(1, sizeof **out);
    return *out != NULL ? EVOCC_OK : error_no_memory(error);
}

void process_set_bind(process_set *set)
{
    set->die_with_thread = true;
}

size_t process_set_count(const process_set *set)
{
    return set->count;
}

static void close_if_open(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

static void child_free(child *c)
{
    if (c != NULL) {
        close_if_open(&c->watch);
        close_if_open(&c->report);
        for (int i = 0; i < STREAMS; i++) {
            close_if_open(&c->streams[i].descriptor);
            strbuf_dispose(&c->streams[i].kept);
        }
        process_result_dispose(&c->result);
        mem_free(c->program);
        mem_free(c->folder);
        mem_free(c);
    }
}

static child *child_new(uint64_t id, const process_request *request)
{
    child *c = mem_alloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->id = id;
    c->watch = c->report = c->streams[0].descriptor = c->streams[1].descriptor = -1;
    c->output_limit = request->output_limit > 0 ? request->output_limit : DEFAULT_OUTPUT_LIMIT;
    c->grace_s = request->grace_s > 0 ? request->grace_s : DEFAULT_GRACE_S;
    c->started_s = clock_now_s();
    c->deadline_s = request->deadline_s > 0 ? c->started_s + request->deadline_s : NEVER_S;
    c->kill_at_s = c->give_up_at_s = NEVER_S;
    c->program = mem_strdup(request->argv[0]);
    c->folder = mem_strdup(request->folder != NULL ? request->folder : ".");
    if (c->program == NULL || c->folder == NULL) {
        child_free(c);
        return NULL;
    }
    return c;
}

/* Fills the plan's descriptors; the child's end of each is in *theirs, to be closed after the fork.
 */
static int connect_streams(child *c, int theirs[3], const process_request *request)
{
    int os_errno = request->input == NULL
                       ? spawn_null(&theirs[0])
                       : spawn_input(&theirs[0], request->input, request->input_length);
    for (int i = 0; i < STREAMS && os_errno == 0; i++) {
        int ends[2];
        os_errno = spawn_pipe(ends);
        if (os_errno == 0) {
            c->streams[i].descriptor = ends[0];
            theirs[i + 1] = ends[1];
            fcntl(ends[0], F_SETFL, O_NONBLOCK);
        }
    }
    return os_errno;
}

static int child_start(child *c, const process_request *request, bool die_with_thread)
{
    spawn_plan plan = {
        .argv = request->argv,
        .environment = request->environment,
        .folder = request->folder,
        .descriptors = {-1, -1, -1},
        .dies_with_thread = die_with_thread,
        .memory_limit = request->memory_limit,
    };
    int os_errno = connect_streams(c, plan.descriptors, request);
    if (os_errno == 0) {
        os_errno = spawn_start(&c->pid, &c->report, &plan);
    }
    for (int i = 0; i < 3; i++) {
        close_if_open(&plan.descriptors[i]);
    }
    if (os_errno == 0) {
        c->watch = spawn_watch(c->pid);
    }
    return os_errno;
}

evocc_status process_set_start(process_set *set, uint64_t id, const process_request *request,
                               evocc_error *error)
{
    child *c = child_new(id, request);
    /* Room for everything that waiting needs, so that nothing can fail once the child runs. */
    if (c == NULL || !mem_grow(&set->children, &set->capacity, set->count + 1, sizeof(child *)) ||
        !mem_grow(&set->polled, &set->polled_capacity, 1 + (set->count + 1) * (1 + STREAMS),
                  sizeof(struct pollfd))) {
        child_free(c);
        return error_no_memory(error);
    }
    int os_errno = child_start(c, request, set->die_with_thread);
    if (os_errno != 0) {
        child_free(c);
        return error_set_os(error, EVOCC_PROCESS, os_errno, "cannot start '%s'", request->argv[0]);
    }
    set->children[set->count++] = c;
    return EVOCC_OK;
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* One read; the number of bytes, 0 when there is nothing more for now or for ever. */
static size_t drain_once(stream *s, size_t limit)
{
    char block[READ_BYTES];
    if (s->descriptor < 0) {
        return 0;
    }
    ssize_t count = read(s->descriptor, block, sizeof block);
    if (count <= 0) {
        if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            close_if_open(&s->descriptor);
        }
        return 0;
    }
    size_t room = limit - s->kept.length;
    strbuf_append(&s->kept, block, (size_t)count < room ? (size_t)count : room);
    s->truncated = s->truncated || (size_t)count > room;
    return (size_t)count;
}

/* What the pipe still holds. Bounded, because a process that left the group may go on writing. */
static void drain_rest(stream *s, size_t limit)
{
    enum { PIPE_BYTES = 1 << 20 };
    for (size_t total = 0; total < PIPE_BYTES;) {
        size_t count = drain_once(s, limit);
        if (count == 0) {
            break;
        }
        total += count;
    }
    close_if_open(&s->descriptor);
}

/* ---- The life of a child --------------------------------------------------------------------- */

static void child_stop(child *c, process_end why, double now_s)
{
    if (c->state == CHILD_RUNNING && !c->stopped) {
        c->stopped = true;
        c->stopped_as = why;
        c->kill_at_s = now_s + c->grace_s;
        kill(-c->pid, SIGTERM);
        kill(-c->pid, SIGCONT); /* a stopped process would not notice */
    } else if (c->state == CHILD_LINGERING && !c->stopped) {
        c->kill_at_s = now_s;
    }
    c->deadline_s = NEVER_S;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void child_reap(child *c, double now_s)
{
    int status = 0;
    struct rusage usage;
    pid_t pid;
    do {
        pid = wait4(c->pid, &status, WNOHANG, &usage);
    } while (pid < 0 && errno == EINTR);
    if (pid == 0) {
        return;
    }
    c->state = CHILD_LINGERING;
    c->probe_at_s = now_s;
    c->probe_step_s = FIRST_PROBE_S;
    c->deadline_s = NEVER_S;
    c->kill_at_s = c->stopped ? c->kill_at_s : now_s + LINGER_S;
    c->result.wall_s = now_s - c->started_s;
    if (pid < 0) {
        c->lost = true;
        return;
    }
    c->result.end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
    c->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    c->result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    c->result.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    c->result.peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* The group's number stays taken as long as it has members, and cannot come back between two looks:
   that takes a whole turn of the process numbers. */
static bool group_is_gone(child *c, double now_s)
{
    /* Orphans of the group that fell to us, in a process that adopts them (launcher_serve.c). */
    while (waitpid(-c->pid, NULL, WNOHANG) > 0) {
    }
    if (kill(-c->pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    if (c->probe_step_s >= LONGEST_PROBE_S && !spawn_group_lives(c->pid)) {
        return true;
    }
    c->probe_at_s = now_s + c->probe_step_s;
    c->probe_step_s = earlier(c->probe_step_s * 2, LONGEST_PROBE_S);
    return false;
}

static void child_step(child *c, double now_s)
{
    if (c->state == CHILD_RUNNING) {
        child_reap(c, now_s);
    }
    if (now_s >= c->deadline_s) {
        child_stop(c, PROCESS_TIMED_OUT, now_s);
    }
    if (c->state == CHILD_LINGERING && now_s >= c->probe_at_s && group_is_gone(c, now_s)) {
        c->state = CHILD_GONE;
    }
    if (c->state != CHILD_GONE && now_s >= c->kill_at_s) {
        kill(-c->pid, SIGKILL);
        c->kill_at_s = NEVER_S;
        c->give_up_at_s = now_s + GIVE_UP_S;
        c->probe_at_s = now_s;
        c->probe_step_s = FIRST_PROBE_S;
    }
    if (now_s >= c->give_up_at_s) {
        if (c->state == CHILD_RUNNING) {
            c->result.end = PROCESS_SIGNALLED;
            c->result.signal = SIGKILL;
            c->result.wall_s = now_s - c->started_s;
        }
        c->state = CHILD_GONE;
    }
}

/* When the child must be looked at again, if nothing happens before. */
static double child_next_s(const child *c, double now_s)
{
    double next_s = earlier(c->deadline_s, earlier(c->kill_at_s, c->give_up_at_s));
    if (c->state == CHILD_LINGERING) {
        next_s = earlier(next_s, c->probe_at_s);
    } else if (c->watch < 0) {
        next_s = earlier(next_s, now_s + UNWATCHED_S);
    }
    return next_s;
}

/* ---- The end of a child ---------------------------------------------------------------------- */

static void explain_failure(child *c, spawn_failure failure)
{
    strbuf *text = &c->streams[1].kept;
    const char *why = strerror(failure.os_errno);
    strbuf_clear(text);
    if (failure.stage == SPAWN_FOLDER) {
        strbuf_printf(text, "cannot enter the folder '%s': %s", c->folder, why);
    } else if (failure.stage == SPAWN_LIMIT) {
        strbuf_printf(text, "cannot limit the memory of '%s': %s", c->program, why);
    } else {
        strbuf_printf(text, "cannot execute '%s': %s", c->program, why);
    }
}

static evocc_status child_finish(child *c, process_result *result, evocc_error *error)
{
    spawn_failure failure = spawn_read_report(c->report, false);
    c->report = -1;
    for (int i = 0; i < STREAMS; i++) {
        drain_rest(&c->streams[i], c->output_limit);
    }
    if (c->stopped) {
        c->result.end = c->stopped_as;
    }
    if (failure.stage != 0) {
        c->result = (process_result){
            .end = PROCESS_NOT_STARTED, .os_errno = failure.os_errno, .wall_s = c->result.wall_s};
        explain_failure(c, failure);
    } else if (c->lost) {
        return error_set(error, EVOCC_PROCESS,
                         "the exit status of '%s' was lost; do not ignore SIGCHLD", c->program);
    }
    c->result.output_length = c->streams[0].kept.length;
    c->result.errors_length = c->streams[1].kept.length;
    c->result.output_truncated = c->streams[0].truncated;
    c->result.errors_truncated = c->streams[1].truncated;
    c->result.output = strbuf_take(&c->streams[0].kept);
    c->result.errors = strbuf_take(&c->streams[1].kept);
    if (c->result.output == NULL || c->result.errors == NULL) {
        return error_no_memory(error);
    }
    *result = c->result;
    c->result = (process_result){0};
    return EVOCC_OK;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void poll_add(process_set *set, size_t *count, int descriptor)
{
    /* Negative ones are skipped by poll: each child has its three places. */
    set->polled[(*count)++] = (struct pollfd){.fd = descriptor, .events = POLLIN};
}

/* Waits until `until_s` at most and reads what has come. True when wake_fd is readable. */
static bool wait_for_events(process_set *set, double until_s, int wake_fd)
{
    size_t count = 0;
    poll_add(set, &count, wake_fd);
    for (size_t i = 0; i < set->count; i++) {
        const child *c = set->children[i];
        for (int k = 0; k < STREAMS; k++) {
            poll_add(set, &count, c->streams[k].descriptor);
        }
        poll_add(set, &count, c->state == CHILD_RUNNING ? c->watch : -1);
    }
    double left_ms = (until_s - clock_now_s()) * 1000;
    int timeout_ms = left_ms > 1e8 ? -1 : left_ms > 0 ? (int)left_ms + 1 : 0;
    if (poll(set->polled, (nfds_t)count, timeout_ms) <= 0) {
        return false; /* time is up, or a signal: the caller looks at the clock and comes back */
    }
    for (size_t i = 0; i < set->count; i++) {
        for (size_t k = 0; k < STREAMS; k++) {
            if (set->polled[1 + i * (1 + STREAMS) + k].revents != 0) {
                drain_once(&set->children[i]->streams[k], set->children[i]->output_limit);
            }
        }
    }
    return set->polled[0].revents != 0;
}

/* The index of a child that is gone, or the count; *next_s is when to look again. */
static size_t step_all(process_set *set, double now_s, double *next_s)
{
    size_t gone = set->count;
    for (size_t i = 0; i < set->count; i++) {
        child *c = set->children[i];
        child_step(c, now_s);
        if (c->state == CHILD_GONE) {
            gone = gone < i ? gone : i;
        } else {
            *next_s = earlier(*next_s, child_next_s(c, now_s));
        }
    }
    return gone;
}

static evocc_status return_child(process_set *set, size_t index, uint64_t *id,
                                 process_result *result, evocc_error *error)
{
    child *c = set->children[index];
    *id = c->id;
    evocc_status status = child_finish(c, result, error);
    child_free(c);
    set->count--;
    memmove(set->children + index, set->children + index + 1,
            (set->count - index) * sizeof(child *));
    return status;
}

evocc_status process_set_wait(process_set *set, double timeout_s, int wake_fd, uint64_t *id,
                              process_result *result, evocc_error *error)
{
    if (set->count == 0) {
        return error_set(error, EVOCC_NOT_FOUND, "no program is running");
    }
    double end_s = timeout_s < 0 ? NEVER_S : clock_now_s() + timeout_s;
    for (;;) {
        double now_s = clock_now_s();
        double next_s = end_s;
        size_t gone = step_all(set, now_s, &next_s);
        bool woken = wait_for_events(set, gone < set->count ? now_s : next_s, wake_fd);
        if (woken) {
            return error_set(error, EVOCC_INTERRUPTED, "interrupted");
        }
        if (gone < set->count) {
            return return_child(set, gone, id, result, error);
        }
        if (now_s >= end_s) {
            return error_set(error, EVOCC_TIMEOUT, "no program ended within %g s", timeout_s);
        }
    }
}

void process_set_cancel(process_set *set)
{
    double now_s = clock_now_s();
    for (size_t i = 0; i < set->count; i++) {
        child_stop(set->children[i], PROCESS_CANCELLED, now_s);
    }
}

void process_set_free(process_set *set)
{
    if (set == NULL) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        set->children[i]->kill_at_s = 0;
    }
    while (set->count > 0) {
        uint64_t id;
        process_result result = {0};
        process_set_wait(set, -1, -1, &id, &result, NULL);
        process_result_dispose(&result);
    }
    mem_free(set->children);
    mem_free(set->polled);
    mem_free(set);
}

evocc_status process_run(process_result *result, const process_request *request, evocc_error *error)
{
    process_set *set = NULL;
    uint64_t id;
    evocc_status status = process_set_new(&set, error);
    if (status == EVOCC_OK) {
        status = process_set_start(set, 0, request, error);
    }
    if (status == EVOCC_OK) {
        status = process_set_wait(set, -1, -1, &id, result, error);
    }
    process_set_free(set);
    return status;
}
