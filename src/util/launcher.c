#include "util/launcher.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"
#include "util/launcher_wire.h"
#include "util/mem.h"
#include "util/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A helper that neither answers nor takes anything for so long has been stopped by somebody. */
static const double HELLO_S = 30, SEND_S = 60;
/* At the end it must kill and remove: what it cannot do in this time it cannot do. */
static const double GOODBYE_S = 20;

struct launcher {
    pid_t owner; /* who made it: a process forked from that one has no say */
    pid_t pid;
    int connection; /* -1 once the helper is known to be gone */
    char *program, *folder;
    strbuf in;     /* bytes received */
    size_t parsed; /* of `in`, frames already handed out */
    size_t count;
};

const char *launcher_folder(const launcher *l)
{
    return l->folder;
}

int launcher_descriptor(const launcher *l)
{
    return l->connection;
}

size_t launcher_count(const launcher *l)
{
    return l->count;
}

/* ---- The end of the helper ------------------------------------------------------------------- */

/* Waits for the helper's own end, then makes sure of it. Its wait status, or -1. */
static int bury(launcher *l, double patience_s)
{
    double end_s = clock_now_s() + patience_s;
    const struct timespec pause = {.tv_nsec = 500000};
    int status = -1;
    pid_t result = 0;
    while (l->pid > 0 && result == 0) {
        result = waitpid(l->pid, &status, WNOHANG);
        if (result < 0 && errno == EINTR) {
            result = 0;
        } else if (result == 0) {
            if (clock_now_s() > end_s) {
                kill(l->pid, SIGKILL);
            }
            nanosleep(&pause, NULL);
        }
    }
    l->pid = 0;
    return result > 0 ? status : -1;
}

/* The helper is gone before its time: its children were killed with it, the folder is left to us.
 */
static evocc_status helper_lost(launcher *l, evocc_error *error)
{
    close(l->connection);
    l->connection = -1;
    l->count = 0;
    int status = bury(l, 1);
    if (l->folder != NULL) {
        folder_remove(l->folder);
    }
    char how[64] = "ended";
    if (status != -1 && WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    } else if (status != -1) {
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    }
    return error_set(error, EVOCC_PROCESS, "'%s', which runs the compilers, %s", l->program, how);
}

static evocc_status helper_missing(const launcher *l, evocc_error *error)
{
    return error_set(error, EVOCC_PROCESS, "'%s', which runs the compilers, has ended", l->program);
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* Takes what has come without waiting for more. */
static evocc_status receive(launcher *l, evocc_error *error)
{
    char block[1 << 16];
    ssize_t count = recv(l->connection, block, sizeof block, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        return helper_lost(l, error);
    }
    if (count > 0) {
        strbuf_append(&l->in, block, (size_t)count);
    }
    return l->in.failed ? error_no_memory(error) : EVOCC_OK;
}

/* What poll wants for the time left. */
static int patience_ms(double timeout_s, double end_s)
{
    if (timeout_s < 0) {
        return -1;
    }
    double left_s = end_s - clock_now_s();
    return left_s > 1e6 ? 1000000000 : left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
}

/* The next frame; its body stays valid until the next call. EVOCC_TIMEOUT and EVOCC_INTERRUPTED as
   in launcher_wait. */
static evocc_status next_frame(launcher *l, double timeout_s, int wake_fd, wire_kind *kind,
                               wire_reader *body, evocc_error *error)
{
    double end_s = clock_now_s() + timeout_s;
    if (l->parsed > 0) {
        l->in.length -= l->parsed;
        memmove(l->in.data, l->in.data + l->parsed, l->in.length);
        l->parsed = 0;
    }
    for (;;) {
        size_t size = wire_frame(kind, body, l->in.data, l->in.length);
        if (size == SIZE_MAX) {
            kill(l->pid, SIGKILL);
            return helper_lost(l, error);
        }
        struct pollfd polled[] = {{.fd = wake_fd, .events = POLLIN},
                                  {.fd = l->connection, .events = POLLIN}};
        int ready = poll(polled, 2, size > 0 ? 0 : patience_ms(timeout_s, end_s));
        if (ready > 0 && polled[0].revents != 0) {
            return error_set(error, EVOCC_INTERRUPTED, "interrupted");
        }
        if (size > 0) {
            l->parsed = size;
            return EVOCC_OK;
        }
        evocc_status status = ready > 0 ? receive(l, error) : EVOCC_OK;
        if (status != EVOCC_OK) {
            return status;
        }
        if (ready == 0 && timeout_s >= 0 && clock_now_s() >= end_s) {
            return error_set(error, EVOCC_TIMEOUT, "no program ended within %g s", timeout_s);
        }
    }
}

/* ---- Start ----------------------------------------------------------------------------------- */

static evocc_status start_helper(launcher *l, evocc_error *error)
{
    int ends[2];
    int silent = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set_os(error, EVOCC_PROCESS, errno, "cannot connect to '%s'", l->program);
    }
    l->connection = ends[0];
    char owner[32];
    snprintf(owner, sizeof owner, "%ld", (long)getpid());
    const char *const argv[] = {l->program, "launch", owner, NULL};
    int report = -1;
    int os_errno = spawn_lift(&ends[1]);
    if (os_errno == 0) {
        os_errno = spawn_null(&silent);
    }
    if (os_errno == 0) {
        /* A session of its own, for Ctrl-C on the terminal is for the study to decide upon. Its
           complaints, should it have any, go where ours go. */
        const spawn_plan plan = {
            .argv = argv,
            .descriptors = {ends[1], silent, STDERR_FILENO},
            .session = true,
        };
        os_errno = spawn_start(&l->pid, &report, &plan);
    }
    if (ends[1] >= 0) {
        close(ends[1]);
    }
    if (silent >= 0) {
        close(silent);
    }
    if (os_errno == 0) {
        os_errno = spawn_read_report(report, true).os_errno;
    }
    return os_errno == 0
               ? EVOCC_OK
               : error_set_os(error, EVOCC_PROCESS, os_errno, "cannot start '%s'", l->program);
}

static evocc_status read_hello(launcher *l, evocc_error *error)
{
    wire_kind kind;
    wire_reader body;
    evocc_status status = next_frame(l, HELLO_S, -1, &kind, &body, error);
    if (status != EVOCC_OK) {
        error_prefix(error, "no greeting from '%s'", l->program);
        return status;
    }
    uint32_t protocol = wire_get_u32(&body);
    if (kind != WIRE_HELLO || body.failed || protocol != WIRE_PROTOCOL) {
        return error_set(error, EVOCC_MISMATCH,
                         "'%s' belongs to another version of evocc; reinstall evocc", l->program);
    }
    evocc_error hello;
    wire_get_error(&body, &hello);
    if (hello.status != EVOCC_OK) {
        if (error != NULL) {
            *error = hello;
        }
        return hello.status;
    }
    l->folder = mem_strdup(hello.message);
    return l->folder != NULL ? EVOCC_OK : error_no_memory(error);
}

static evocc_status launcher_begin(launcher *l, evocc_error *error)
{
    evocc_status status = program_helper(&l->program, error);
    if (status == EVOCC_OK) {
        status = start_helper(l, error);
    }
    if (status == EVOCC_OK) {
        const struct timeval patience = {.tv_sec = (time_t)SEND_S};
        setsockopt(l->connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        status = read_hello(l, error);
    }
    return status;
}

evocc_status launcher_new(launcher **out, evocc_error *error)
{
    launcher *l = mem_alloc(1, sizeof *l);
    if (l == NULL) {
        return error_no_memory(error);
    }
    l->owner = getpid();
    l->connection = -1;
    evocc_status status = launcher_begin(l, error);
    if (status != EVOCC_OK) {
        launcher_free(l);
        return status;
    }
    *out = l;
    return EVOCC_OK;
}

void launcher_free(launcher *l)
{
    if (l == NULL) {
        return;
    }
    if (l->owner == getpid() && l->connection >= 0) {
        /* Unlike close, this ends the connection even if a forked process holds a copy. */
        shutdown(l->connection, SHUT_RDWR);
        if (l->pid > 0) {
            kill(l->pid, SIGCONT);
        }
        int status = bury(l, GOODBYE_S);
        if (l->folder != NULL && (status == -1 || WIFSIGNALED(status))) {
            folder_remove(l->folder);
        }
    }
    if (l->connection >= 0) {
        close(l->connection);
    }
    strbuf_dispose(&l->in);
    mem_free(l->program);
    mem_free(l->folder);
    mem_free(l);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static evocc_status send_all(launcher *l, const strbuf *frame, evocc_error *error)
{
    for (size_t sent = 0; sent < frame->length;) {
        ssize_t count = send(l->connection, frame->data + sent, frame->length - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno != EINTR) {
            /* Half a frame cannot be taken back. */
            kill(l->pid, SIGKILL);
            return helper_lost(l, error);
        }
    }
    return EVOCC_OK;
}

/* Sends a frame that is finished, and releases it. */
static evocc_status send_frame(launcher *l, strbuf *frame, evocc_error *error)
{
    evocc_status status = l->connection < 0 ? helper_missing(l, error)
                          : frame->failed   ? error_no_memory(error)
                                            : send_all(l, frame, error);
    strbuf_dispose(frame);
    return status;
}

evocc_status launcher_submit(launcher *l, uint64_t id, const process_request *request,
                             evocc_error *error)
{
    strbuf frame = {0};
    size_t begun = wire_begin(&frame, WIRE_START);
    wire_put_u64(&frame, id);
    wire_put_request(&frame, request);
    wire_end(&frame, begun);
    evocc_status status = send_frame(l, &frame, error);
    if (status == EVOCC_OK) {
        l->count++;
    }
    return status;
}

evocc_status launcher_wait(launcher *l, double timeout_s, int wake_fd, uint64_t *id,
                           process_result *result, evocc_error *error)
{
    if (l->connection < 0) {
        return helper_missing(l, error);
    }
    if (l->count == 0) {
        return error_set(error, EVOCC_NOT_FOUND, "no program is running");
    }
    wire_kind kind;
    wire_reader body;
    evocc_status status = next_frame(l, timeout_s, wake_fd, &kind, &body, error);
    if (status != EVOCC_OK) {
        return status;
    }
    l->count--;
    *id = wire_get_u64(&body);
    if (kind == WIRE_FAILED) {
        evocc_error failure;
        wire_get_error(&body, &failure);
        if (error != NULL) {
            *error = failure;
        }
        return failure.status;
    }
    return kind == WIRE_RESULT && wire_get_result(&body, result) ? EVOCC_OK
                                                                 : error_no_memory(error);
}

evocc_status launcher_cancel(launcher *l, evocc_error *error)
{
    strbuf frame = {0};
    wire_end(&frame, wire_begin(&frame, WIRE_CANCEL));
    return send_frame(l, &frame, error);
}

evocc_status launcher_limit(launcher *l, size_t running, evocc_error *error)
{
    strbuf frame = {0};
    size_t begun = wire_begin(&frame, WIRE_LIMIT);
    wire_put_u64(&frame, running);
    wire_end(&frame, begun);
    return send_frame(l, &frame, error);
}

evocc_status launcher_run(launcher *l, process_result *result, const process_request *request,
                          evocc_error *error)
{
    uint64_t id;
    evocc_status status = launcher_submit(l, 0, request, error);
    return status == EVOCC_OK ? launcher_wait(l, -1, -1, &id, result, error) : status;
}
