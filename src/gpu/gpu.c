#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "gpu/gpu.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"
#include "util/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The driver may take this long to start (it initialises every GPU of the host). */
static const double HELLO_S = 120;
/* What a request may take beyond the deadlines that the worker keeps by itself: if even these do
   not bring it back, it hangs in the driver. */
static const double ANSWER_S = 120, LOAD_S = 600;
static const double GOODBYE_S = 10;

struct gpu {
    char *program, *device;
    gpu_info info;
    int lock; /* -1 before the first greeting */
    pid_t pid;
    int connection; /* -1: no worker */
    strbuf in;
    size_t parsed;
    strbuf load, quick_load; /* frames; empty before gpu_load */
    strbuf pending;          /* the frame of the request in flight, for a second try; empty: none */
    bool retried;
    double submitted_s, answer_s; /* the latter: how long an answer may take */
    uint64_t hash;                /* of the baseline's outputs, when first loaded */
    bool has_hash;
    size_t shape_count, replacements;
};

const gpu_info *gpu_get_info(const gpu *g)
{
    return &g->info;
}

int gpu_descriptor(const gpu *g)
{
    return g->connection;
}

size_t gpu_replacements(const gpu *g)
{
    return g->replacements;
}

/* ---- The end of a worker --------------------------------------------------------------------- */

/* Its wait status, or -1. After patience_s it is killed. */
static int bury(gpu *g, double patience_s)
{
    const struct timespec pause = {.tv_nsec = 500000};
    double end_s = clock_now_s() + patience_s;
    double hopeless_s = end_s + GOODBYE_S; /* not even KILL: stuck in the kernel's driver */
    int status = -1;
    pid_t result = 0;
    if (g->connection >= 0) {
        close(g->connection);
        g->connection = -1;
    }
    while (g->pid > 0 && result == 0) {
        result = waitpid(g->pid, &status, WNOHANG);
        if (result < 0 && errno == EINTR) {
            result = 0;
        } else if (result == 0) {
            double now_s = clock_now_s();
            if (now_s > end_s) {
                kill(g->pid, SIGKILL);
            }
            if (now_s > hopeless_s) {
                break;
            }
            nanosleep(&pause, NULL);
        }
    }
    g->pid = 0;
    strbuf_dispose(&g->in);
    g->parsed = 0;
    return result > 0 ? status : -1;
}

static void end_text(char *out, size_t size, int status)
{
    if (status != -1 && WIFSIGNALED(status)) {
        snprintf(out, size, "was killed by signal %d", WTERMSIG(status));
    } else if (status != -1) {
        snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
    } else {
        snprintf(out, size, "cannot be ended");
    }
}

/* ---- Receiving ------------------------------------------------------------------------------- */

typedef enum received { RECEIVED, RECEIVED_TIMEOUT, RECEIVED_WAKE, RECEIVED_END } received;

/* Takes what has come, a descriptor that was sent along included. False: the end. */
static bool receive(gpu *g)
{
    char block[1 << 16];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {block, sizeof block};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    ssize_t count = recvmsg(g->connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
        if (g->lock >= 0) {
            close(g->lock);
        }
        g->lock = descriptor;
    }
    strbuf_append(&g->in, block, (size_t)count);
    return count > 0 && !g->in.failed;
}

/* The next frame; its body stays valid until the next call. */
static received next_frame(gpu *g, double timeout_s, int wake_fd, wire_kind *kind,
                           wire_reader *body)
{
    double end_s = clock_now_s() + timeout_s;
    if (g->parsed > 0) {
        g->in.length -= g->parsed;
        memmove(g->in.data, g->in.data + g->parsed, g->in.length);
        g->parsed = 0;
    }
    for (;;) {
        size_t size = wire_frame(kind, body, g->in.data, g->in.length);
        if (size == SIZE_MAX) {
            return RECEIVED_END;
        }
        if (size > 0) {
            g->parsed = size;
            return RECEIVED;
        }
        double left_s = end_s - clock_now_s();
        int left_ms = left_s > 1e6 ? 1000000000 : left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
        struct pollfd polled[] = {{.fd = wake_fd, .events = POLLIN},
                                  {.fd = g->connection, .events = POLLIN}};
        int ready = poll(polled, 2, timeout_s < 0 ? -1 : left_ms);
        if (ready > 0 && polled[0].revents != 0) {
            return RECEIVED_WAKE;
        }
        if (ready > 0 && !receive(g)) {
            return RECEIVED_END;
        }
        if (ready == 0 && timeout_s >= 0 && clock_now_s() >= end_s) {
            return RECEIVED_TIMEOUT;
        }
    }
}

/* As next_frame of this kind within the time, or the worker is given up. */
static evocc_status expect_frame(gpu *g, double timeout_s, int wanted, wire_reader *body,
                                 const char *doing, evocc_error *error)
{
    wire_kind kind;
    received what = next_frame(g, timeout_s, -1, &kind, body);
    if (what == RECEIVED && (int)kind == wanted) {
        return EVOCC_OK;
    }
    char how[64];
    end_text(how, sizeof how, bury(g, what == RECEIVED_END ? 1 : 0));
    if (what == RECEIVED_TIMEOUT) {
        return error_set(
            error, EVOCC_PROCESS,
            "the process that measures on the GPU gave no answer for %g s while %s; is "
            "the driver healthy (nvidia-smi)?",
            timeout_s, doing);
    }
    return error_set(error, EVOCC_PROCESS, "the process that measures on the GPU %s while %s", how,
                     doing);
}

/* ---- Start ----------------------------------------------------------------------------------- */

static evocc_status spawn_worker(gpu *g, evocc_error *error)
{
    int ends[2];
    int silent = -1;
    int report = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set_os(error, EVOCC_PROCESS, errno, "cannot connect to '%s'", g->program);
    }
    g->connection = ends[0];
    const char *const argv[] = {g->program, "gpu", g->device, g->lock >= 0 ? "locked" : NULL, NULL};
    int os_errno = spawn_lift(&ends[1]);
    if (os_errno == 0 && g->lock < 0) {
        os_errno = spawn_null(&silent);
    }
    if (os_errno == 0) {
        /* A session of its own: Ctrl-C is for the study to decide upon. */
        const spawn_plan plan = {
            .argv = argv,
            .descriptors = {ends[1], g->lock >= 0 ? g->lock : silent, STDERR_FILENO},
            .session = true,
        };
        os_errno = spawn_start(&g->pid, &report, &plan);
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
    if (os_errno == 0) {
        return EVOCC_OK;
    }
    bury(g, 0);
    return error_set_os(error, EVOCC_PROCESS, os_errno, "cannot start '%s'", g->program);
}

static evocc_status read_hello(gpu *g, evocc_error *error)
{
    wire_reader body;
    evocc_status status =
        expect_frame(g, HELLO_S, GPU_WIRE_HELLO, &body, "starting the CUDA driver", error);
    if (status != EVOCC_OK) {
        return status;
    }
    if (wire_get_u32(&body) != GPU_PROTOCOL) {
        bury(g, 0);
        return error_set(error, EVOCC_MISMATCH,
                         "'%s' belongs to another version of evocc; reinstall evocc", g->program);
    }
    evocc_error hello;
    gpu_info info;
    wire_get_error(&body, &hello);
    bool whole = gpu_read_info(&body, &info);
    if (!whole) {
        error_set(&hello, EVOCC_PROCESS, "the greeting of '%s' cannot be read", g->program);
    }
    if (hello.status == EVOCC_OK && g->info.uuid[0] != '\0' &&
        strcmp(g->info.uuid, info.uuid) != 0) {
        error_set(&hello, EVOCC_PROCESS, "the GPU was %s and is %s now", g->info.uuid, info.uuid);
    }
    if (hello.status != EVOCC_OK) {
        bury(g, 1);
        if (error != NULL) {
            *error = hello;
        }
        return hello.status;
    }
    g->info = info;
    return EVOCC_OK;
}

static evocc_status start(gpu *g, evocc_error *error)
{
    evocc_status status = spawn_worker(g, error);
    return status == EVOCC_OK ? read_hello(g, error) : status;
}

evocc_status gpu_open(gpu **out, const char *device, evocc_error *error)
{
    gpu *g = mem_alloc(1, sizeof *g);
    if (g == NULL) {
        return error_no_memory(error);
    }
    g->connection = -1;
    g->lock = -1;
    g->device = mem_strdup(device != NULL && *device != '\0' ? device : "-");
    evocc_status status =
        g->device != NULL ? program_helper(&g->program, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = start(g, error);
    }
    if (status == EVOCC_OK) {
        /* From now on it is this GPU, whatever its index. */
        mem_free(g->device);
        g->device = mem_strdup(g->info.uuid);
        status = g->device != NULL ? EVOCC_OK : error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        gpu_close(g);
        return status;
    }
    *out = g;
    return EVOCC_OK;
}

void gpu_close(gpu *g)
{
    if (g == NULL) {
        return;
    }
    bury(g, g->pending.length > 0 ? 0 : GOODBYE_S);
    if (g->lock >= 0) {
        close(g->lock);
    }
    strbuf_dispose(&g->in);
    strbuf_dispose(&g->load);
    strbuf_dispose(&g->quick_load);
    strbuf_dispose(&g->pending);
    mem_free(g->program);
    mem_free(g->device);
    mem_free(g);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* False: the worker is gone; its end will be read. */
static bool send_all(gpu *g, const strbuf *frame)
{
    for (size_t sent = 0; sent < frame->length;) {
        ssize_t count = send(g->connection, frame->data + sent, frame->length - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void make_load_frame(strbuf *out, const gpu_job *job, const void *baseline, size_t length)
{
    strbuf_dispose(out); /* not cleared: an earlier failure would stick */
    size_t begun = wire_begin(out, (wire_kind)GPU_WIRE_LOAD);
    gpu_put_job(out, job);
    wire_put_text(out, baseline, length);
    wire_end(out, begun);
}

/* Sends a workload and reads what became of it. EVOCC_INVALID_ARGUMENT: the baseline's fault. */
static evocc_status load(gpu *g, const strbuf *frame, bool *fits, uint64_t *hash,
                         evocc_error *error)
{
    wire_reader body;
    evocc_error loaded;
    (void)send_all(g, frame);
    evocc_status status =
        expect_frame(g, LOAD_S, GPU_WIRE_LOADED, &body, "preparing the workload", error);
    if (status != EVOCC_OK) {
        return status;
    }
    wire_get_error(&body, &loaded);
    uint32_t outcome = wire_get_u32(&body);
    bool machine = wire_get_u32(&body) != 0;
    const char *detail = wire_get_string(&body);
    *hash = wire_get_u64(&body);
    *fits = !body.failed;
    if (loaded.status != EVOCC_OK) {
        bury(g, 0); /* half a workload is none */
        if (error != NULL) {
            *error = loaded;
        }
        return loaded.status;
    }
    if (outcome == EVOCC_OUTCOME_OK && *fits) {
        return EVOCC_OK;
    }
    status = machine ? EVOCC_PROCESS : EVOCC_INVALID_ARGUMENT;
    const char *name = evocc_outcome_name((evocc_outcome)outcome);
    error_set(error, status, "the baseline: %s: %s", name != NULL ? name : "?", detail);
    bury(g, 0); /* it may not go on */
    return status;
}

evocc_status gpu_load(gpu *g, const gpu_job *job, const void *baseline, size_t length,
                      evocc_error *error)
{
    gpu_job quick = *job; /* borrows everything but the plan */
    quick.check.seeds = 1;
    quick.check.self_runs = 0;
    make_load_frame(&g->load, job, baseline, length);
    make_load_frame(&g->quick_load, &quick, baseline, length);
    if (g->load.failed || g->quick_load.failed) {
        return error_no_memory(error);
    }
    bool fits;
    evocc_status status = g->connection >= 0 ? EVOCC_OK : start(g, error);
    if (status == EVOCC_OK) {
        status = load(g, &g->load, &fits, &g->hash, error);
    }
    g->has_hash = status == EVOCC_OK;
    g->shape_count = job->shape_count;
    g->answer_s =
        ANSWER_S + (double)job->shape_count * (2 * job->measure.energy_s + job->measure.deadline_s);
    return status;
}

/* A new worker with the workload that the old one had; the baseline must still be what it was. */
static evocc_status replace(gpu *g, bool quick, evocc_error *error)
{
    bool fits;
    uint64_t hash;
    evocc_status status = start(g, error);
    if (status == EVOCC_OK && g->load.length > 0) {
        status = load(g, quick ? &g->quick_load : &g->load, &fits, &hash, error);
        if (status == EVOCC_OK && g->has_hash && hash != g->hash) {
            bury(g, 0);
            status =
                error_set(error, EVOCC_PROCESS,
                          "in a fresh process the baseline computes something else than before; "
                          "the GPU's state or the kernel is not to be trusted");
        }
        if (status == EVOCC_INVALID_ARGUMENT) {
            status = EVOCC_PROCESS; /* it did before: the machine has changed */
            if (error != NULL) {
                error->status = status;
                error_prefix(error, "after its process was replaced");
            }
        }
    }
    return status;
}

evocc_status gpu_restart(gpu *g, bool quick, evocc_error *error)
{
    bury(g, GOODBYE_S);
    return replace(g, quick, error);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static evocc_status send_pending(gpu *g, evocc_error *error)
{
    if (g->connection < 0) {
        g->replacements++;
        evocc_status status = replace(g, false, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    g->submitted_s = clock_now_s();
    (void)send_all(g, &g->pending); /* a worker that is gone is seen when its answer is read */
    return EVOCC_OK;
}

evocc_status gpu_submit(gpu *g, const gpu_request *request, evocc_error *error)
{
    strbuf_dispose(&g->pending);
    size_t begun = wire_begin(&g->pending, (wire_kind)GPU_WIRE_RUN);
    gpu_put_request(&g->pending, request, g->shape_count);
    wire_end(&g->pending, begun);
    g->retried = false;
    return g->pending.failed ? error_no_memory(error) : send_pending(g, error);
}

static evocc_status died(gpu *g, received what, gpu_result *result, evocc_error *error)
{
    char how[64];
    char detail[160];
    bool hangs = what == RECEIVED_TIMEOUT;
    end_text(how, sizeof how, bury(g, hangs ? 0 : 1));
    snprintf(detail, sizeof detail, "the process that measures %s%s",
             hangs ? "gave no answer and " : "", how);
    *result = (gpu_result){
        .outcome = hangs ? EVOCC_OUTCOME_RUN_TIMEOUT : EVOCC_OUTCOME_GPU_FAULT,
        .detail = mem_strdup(detail),
        .wall_s = clock_now_s() - g->submitted_s,
    };
    strbuf_clear(&g->pending);
    return result->detail != NULL ? EVOCC_OK : error_no_memory(error);
}

/* The machine's fault: once it may have been an accident, so the request is made again, in a fresh
   process and after the baseline has run there. */
static evocc_status lost(gpu *g, wire_reader *body, evocc_error *error)
{
    evocc_error why;
    wire_get_error(body, &why);
    bury(g, 1);
    if (!g->retried) {
        g->retried = true;
        return send_pending(g, error);
    }
    strbuf_clear(&g->pending);
    return error_set(error, EVOCC_PROCESS, "%s (twice in a row)", why.message);
}

evocc_status gpu_wait(gpu *g, double timeout_s, int wake_fd, gpu_result *result, evocc_error *error)
{
    double begin_s = clock_now_s();
    if (g->pending.length == 0) {
        return error_set(error, EVOCC_NOT_FOUND, "nothing runs on the GPU");
    }
    for (;;) {
        wire_kind kind;
        wire_reader body;
        double now_s = clock_now_s();
        double limit_s = g->submitted_s + g->answer_s - now_s;
        double left_s = timeout_s < 0 ? limit_s : timeout_s - (now_s - begin_s);
        bool ours = timeout_s < 0 || limit_s <= left_s;
        left_s = ours ? limit_s : left_s;
        received what = next_frame(g, left_s > 0 ? left_s : 0, wake_fd, &kind, &body);
        if (what == RECEIVED_WAKE) {
            return error_set(error, EVOCC_INTERRUPTED, "interrupted");
        }
        if (what == RECEIVED_TIMEOUT && !ours) {
            return error_set(error, EVOCC_TIMEOUT, "no result within %g s", timeout_s);
        }
        if (what != RECEIVED) {
            return died(g, what, result, error);
        }
        if ((int)kind == GPU_WIRE_LOST) {
            evocc_status status = lost(g, &body, error);
            if (status != EVOCC_OK) {
                return status;
            }
            continue;
        }
        strbuf_clear(&g->pending);
        if ((int)kind != GPU_WIRE_RESULT || !gpu_get_result(&body, result)) {
            return error_no_memory(error);
        }
        if (wire_get_u32(&body) == 0) {
            bury(g, 1); /* the next request gets a new one */
        }
        return EVOCC_OK;
    }
}

evocc_status gpu_run(gpu *g, const gpu_request *request, gpu_result *result, evocc_error *error)
{
    evocc_status status = gpu_submit(g, request, error);
    return status == EVOCC_OK ? gpu_wait(g, -1, -1, result, error) : status;
}
