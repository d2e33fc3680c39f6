#include "util/launcher_serve.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"
#include "util/launcher_wire.h"
#include "util/mem.h"
#include "util/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between looks at the owner where the kernel has no descriptor for it. */
static const double OWNER_S = 0.5;

typedef struct server {
    int connection;
    pid_t owner;
    int signals, owner_watch; /* readable when it is time to end; -1: none */
    int events;               /* epoll over the three: it wakes process_set_wait */
    char *folder;
    process_set *set;
    size_t limit;   /* children at a time; 0: any number */
    strbuf waiting; /* frames of requests beyond it, in their order */
    size_t begun;   /* bytes of `waiting` already started */
    strbuf in, out; /* bytes of frames not yet whole, not yet sent */
    size_t sent;    /* of `out` */
    bool waits_to_write;
    bool ending;
} server;

/* ---- The connection -------------------------------------------------------------------------- */

static bool watch(server *s, int operation, int descriptor, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    return descriptor < 0 || epoll_ctl(s->events, operation, descriptor, &event) == 0;
}

/* Sends what the socket takes. It never blocks: the other side may itself be sending, and must find
   us reading. */
static void send_more(server *s)
{
    if (s->out.failed) {
        s->ending = true; /* a lost result cannot be made good: the other side sees us gone */
        return;
    }
    while (s->sent < s->out.length) {
        ssize_t count =
            send(s->connection, s->out.data + s->sent, s->out.length - s->sent, MSG_NOSIGNAL);
        if (count >= 0) {
            s->sent += (size_t)count;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            s->ending = true;
            return;
        }
    }
    bool rest = s->sent < s->out.length;
    if (!rest) {
        /* Give the memory back: what this process holds is where its children's peak begins. */
        strbuf_dispose(&s->out);
        s->sent = 0;
    }
    if (rest != s->waits_to_write) {
        s->waits_to_write = rest;
        watch(s, EPOLL_CTL_MOD, s->connection, EPOLLIN | (rest ? (uint32_t)EPOLLOUT : 0U));
    }
}

static void send_failure(server *s, uint64_t id, const evocc_error *error)
{
    size_t begun = wire_begin(&s->out, WIRE_FAILED);
    wire_put_u64(&s->out, id);
    wire_put_error(&s->out, error);
    wire_end(&s->out, begun);
    send_more(s);
}

static void start(server *s, wire_reader *body)
{
    evocc_error error;
    process_request request;
    const char **lists;
    uint64_t id = wire_get_u64(body);
    if (!wire_get_request(body, &request, &lists)) {
        error_set(&error, EVOCC_PROCESS, "evocc-helper: a request could not be read");
        send_failure(s, id, &error);
        return;
    }
    if (process_set_start(s->set, id, &request, &error) != EVOCC_OK) {
        send_failure(s, id, &error);
    }
    mem_free(lists);
}

static bool is_full(const server *s)
{
    return s->limit > 0 && process_set_count(s->set) >= s->limit;
}

/* The next frame of those that wait; false when none does. */
static bool next_waiting(server *s, wire_reader *body)
{
    wire_kind kind;
    if (s->begun == s->waiting.length) {
        strbuf_dispose(&s->waiting);
        s->begun = 0;
        return false;
    }
    s->begun += wire_frame(&kind, body, s->waiting.data + s->begun, s->waiting.length - s->begun);
    return true;
}

static void start_waiting(server *s)
{
    wire_reader body;
    while (!s->ending && !is_full(s) && next_waiting(s, &body)) {
        start(s, &body);
    }
}

static void send_result(server *s, uint64_t id, const process_result *result)
{
    size_t begun = wire_begin(&s->out, WIRE_RESULT);
    wire_put_u64(&s->out, id);
    wire_put_result(&s->out, result);
    wire_end(&s->out, begun);
    send_more(s);
}

/* What has not begun never will. */
static void cancel(server *s)
{
    process_set_cancel(s->set);
    wire_reader body;
    while (next_waiting(s, &body)) {
        char nothing[] = "";
        const process_result result = {
            .end = PROCESS_CANCELLED, .output = nothing, .errors = nothing};
        send_result(s, wire_get_u64(&body), &result);
    }
}

static void put_waiting(server *s, const char *frame, size_t size)
{
    if (s->begun > 0) {
        s->waiting.length -= s->begun;
        memmove(s->waiting.data, s->waiting.data + s->begun, s->waiting.length);
        s->begun = 0;
    }
    strbuf_append(&s->waiting, frame, size);
    s->ending = s->ending || s->waiting.failed;
}

/* One whole frame, header included. */
static void handle_frame(server *s, wire_kind kind, wire_reader *body, const char *frame,
                         size_t size)
{
    if (kind == WIRE_START && is_full(s)) {
        put_waiting(s, frame, size);
    } else if (kind == WIRE_START) {
        start(s, body);
    } else if (kind == WIRE_CANCEL) {
        cancel(s);
    } else if (kind == WIRE_LIMIT) {
        s->limit = (size_t)wire_get_u64(body);
        start_waiting(s);
    }
}

/* Carries out the whole frames among the bytes that have come. */
static void handle_frames(server *s)
{
    size_t done = 0;
    while (!s->ending) {
        wire_kind kind;
        wire_reader body;
        size_t size = wire_frame(&kind, &body, s->in.data + done, s->in.length - done);
        if (size == 0) {
            break;
        }
        if (size == SIZE_MAX) {
            s->ending = true;
        } else {
            handle_frame(s, kind, &body, s->in.data + done, size);
            done += size;
        }
    }
    if (s->ending || done == s->in.length) {
        strbuf_dispose(&s->in);
    } else if (done > 0) {
        s->in.length -= done;
        memmove(s->in.data, s->in.data + done, s->in.length);
    }
}

static void receive(server *s)
{
    char block[1 << 16];
    ssize_t count = recv(s->connection, block, sizeof block, 0);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        s->ending = true;
    }
    if (count > 0) {
        strbuf_append(&s->in, block, (size_t)count);
        s->ending = s->ending || s->in.failed;
        if (!s->ending) {
            handle_frames(s);
        }
    }
}

static void handle_events(server *s, int timeout_ms)
{
    struct epoll_event events[4];
    int count = epoll_wait(s->events, events, 4, timeout_ms);
    for (int i = 0; i < count && !s->ending; i++) {
        if (events[i].data.fd != s->connection) {
            s->ending = true;
            return;
        }
        if ((events[i].events & EPOLLOUT) != 0) {
            send_more(s);
        }
        if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0) {
            receive(s);
        }
    }
}

static void serve(server *s)
{
    double patience_s = s->owner_watch < 0 ? OWNER_S : -1;
    while (!s->ending) {
        uint64_t id = 0;
        process_result result = {0};
        evocc_error error;
        if (process_set_count(s->set) == 0) {
            handle_events(s, patience_s < 0 ? -1 : (int)(patience_s * 1000));
            s->ending = s->ending || getppid() != s->owner;
            continue;
        }
        evocc_status status = process_set_wait(s->set, patience_s, s->events, &id, &result, &error);
        if (status == EVOCC_TIMEOUT) {
            s->ending = getppid() != s->owner;
        } else if (status == EVOCC_INTERRUPTED) {
            handle_events(s, 0);
        } else {
            start_waiting(s); /* first: a core is free */
            if (status != EVOCC_OK) {
                send_failure(s, id, &error);
            } else {
                send_result(s, id, &result);
            }
            process_result_dispose(&result);
        }
    }
}

/* ---- Begin ----------------------------------------------------------------------------------- */

static evocc_status prepare(server *s, evocc_error *error)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    s->signals = signalfd(-1, &ends, SFD_CLOEXEC);
    s->owner_watch = spawn_watch(s->owner);
    s->events = epoll_create1(EPOLL_CLOEXEC);
    if (s->signals < 0 || s->events < 0 || !watch(s, EPOLL_CTL_ADD, s->signals, EPOLLIN) ||
        !watch(s, EPOLL_CTL_ADD, s->owner_watch, EPOLLIN) ||
        !watch(s, EPOLL_CTL_ADD, s->connection, EPOLLIN)) {
        return error_set_os(error, EVOCC_PROCESS, errno, "evocc-helper cannot watch its owner");
    }
    if (getppid() != s->owner) {
        return error_set(error, EVOCC_INTERRUPTED, "the owner of evocc-helper is gone");
    }
    /* Orphans fall to us, so that those who left their group can be found at the end. */
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    evocc_status status = process_set_new(&s->set, error);
    if (status == EVOCC_OK) {
        process_set_bind(s->set);
        status = folder_temporary(&s->folder, error);
    }
    return status;
}

static void greet(server *s, const evocc_error *error)
{
    evocc_error hello;
    error_set(&hello, EVOCC_OK, "%s", s->folder != NULL ? s->folder : "");
    size_t begun = wire_begin(&s->out, WIRE_HELLO);
    wire_put_u32(&s->out, WIRE_PROTOCOL);
    wire_put_error(&s->out, s->folder != NULL ? &hello : error);
    wire_end(&s->out, begun);
    send_more(s);
}

/* ---- End ------------------------------------------------------------------------------------- */

/* Kills the children that the kernel lists for us (proc(5), children): the orphans among them.
   False when there is none. */
static bool kill_listed(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *list = fopen(path, "re");
    bool found = false;
    long pid;
    while (list != NULL && fscanf(list, "%ld", &pid) == 1) {
        found = true;
        kill((pid_t)pid, SIGKILL);
    }
    if (list != NULL) {
        fclose(list);
    }
    return found;
}

/* Orphans that left their group have been adopted by us; when one dies, its own children are next.
 */
static void kill_orphans(void)
{
    double end_s = clock_now_s() + 5;
    const struct timespec pause = {.tv_nsec = 1000000};
    while (kill_listed() && clock_now_s() < end_s) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        nanosleep(&pause, NULL);
    }
}

int launcher_serve(int connection, pid_t owner)
{
    server s = {
        .connection = connection, .owner = owner, .signals = -1, .owner_watch = -1, .events = -1};
    evocc_error error;
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    evocc_status status = prepare(&s, &error);
    greet(&s, &error);
    if (status == EVOCC_OK) {
        serve(&s);
    }
    process_set_free(s.set);
    kill_orphans();
    if (s.folder != NULL) {
        folder_remove(s.folder);
    }
    mem_free(s.folder);
    strbuf_dispose(&s.waiting);
    strbuf_dispose(&s.in);
    strbuf_dispose(&s.out);
    close(connection); /* last: to the other side the end means that everything is gone */
    return status == EVOCC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
