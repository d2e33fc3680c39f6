#include "gpu/worker_serve.h"

#include "gpu/lock.h"
#include "gpu/worker.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Which GPU ------------------------------------------------------------------------------- */

static evocc_status describe_device(worker *w, cu_device device, evocc_error *error)
{
    gpu_info *info = &w->info;
    cu_uuid uuid;
    size_t memory = 0;
    int l2 = 0;
    const driver *d = &w->cuda;
    if (d->device_uuid(&uuid, device) != CU_SUCCESS ||
        d->device_name(info->name, (int)sizeof info->name, device) != CU_SUCCESS ||
        d->device_memory(&memory, device) != CU_SUCCESS ||
        d->device_attribute(&l2, CU_DEVICE_L2_CACHE_SIZE, device) != CU_SUCCESS ||
        d->device_attribute(&info->multiprocessors, CU_DEVICE_MULTIPROCESSOR_COUNT, device) !=
            CU_SUCCESS ||
        d->device_attribute(&info->capability_major, CU_DEVICE_CAPABILITY_MAJOR, device) !=
            CU_SUCCESS ||
        d->device_attribute(&info->capability_minor, CU_DEVICE_CAPABILITY_MINOR, device) !=
            CU_SUCCESS ||
        d->version(&info->cuda_version) != CU_SUCCESS) {
        return error_set(error, EVOCC_UNSUPPORTED, "the CUDA driver does not describe its GPU");
    }
    info->memory_bytes = memory;
    info->l2_bytes = (uint64_t)l2;
    evocc_status status = nvml_open(&w->nvml, &info->is_mig, &uuid, error);
    if (status == EVOCC_OK) {
        gpu_uuid_text(info->uuid, info->is_mig ? "MIG" : "GPU", &uuid);
        snprintf(info->driver, sizeof info->driver, "%s", nvml_driver_version(w->nvml));
        info->has_nvml = w->nvml != NULL;
        /* A MIG instance shares the counter with its neighbours. */
        info->has_energy = !info->is_mig && !isnan(nvml_energy_j(w->nvml));
    }
    return status;
}

/* Index among the GPUs that the driver shows us (CUDA_VISIBLE_DEVICES has been heeded by it), or
   the beginning of a UUID. */
static evocc_status choose_device(cu_device *out, worker *w, const char *wanted, evocc_error *error)
{
    int count = 0;
    int64_t index = 0;
    w->cuda.device_count(&count);
    if (strcmp(wanted, "-") == 0 || text_integer(&index, wanted)) {
        if (index < 0 || index >= count || w->cuda.device_get(out, (int)index) != CU_SUCCESS) {
            return error_set(error, EVOCC_NOT_FOUND, "there is no GPU %lld; the driver shows %d",
                             (long long)index, count);
        }
        return EVOCC_OK;
    }
    char shown[300] = "";
    for (int i = 0; i < count; i++) {
        cu_uuid uuid;
        char gpu[GPU_UUID_SIZE];
        char mig[GPU_UUID_SIZE];
        if (w->cuda.device_get(out, i) != CU_SUCCESS ||
            w->cuda.device_uuid(&uuid, *out) != CU_SUCCESS) {
            continue;
        }
        gpu_uuid_text(gpu, "GPU", &uuid);
        gpu_uuid_text(mig, "MIG", &uuid);
        size_t length = strlen(wanted);
        if (length > 4 &&
            (strncmp(gpu, wanted, length) == 0 || strncmp(mig, wanted, length) == 0)) {
            return EVOCC_OK;
        }
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, "%s%s", i > 0 ? ", " : "", gpu);
    }
    return error_set(error, EVOCC_NOT_FOUND, "there is no GPU '%s'; the driver shows %s", wanted,
                     shown);
}

static evocc_status begin(worker *w, const char *device, int *lock, evocc_error *error)
{
    cu_device chosen;
    evocc_status status = driver_open(&w->cuda, error);
    if (status == EVOCC_OK) {
        status = choose_device(&chosen, w, device, error);
    }
    if (status == EVOCC_OK) {
        status = describe_device(w, chosen, error);
    }
    if (status == EVOCC_OK && *lock < 0) {
        status = gpu_lock(lock, w->info.uuid, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    w->events = mem_alloc(EVENTS, sizeof *w->events);
    if (w->events == NULL) {
        return error_no_memory(error);
    }
    failure f = {0};
    cu_context context;
    bool ok = worker_ok(w, w->cuda.context_retain(&context, chosen), "making a context", &f) &&
              worker_ok(w, w->cuda.context_set(context), "making a context", &f) &&
              worker_ok(w, w->cuda.stream_create(&w->stream, CU_STREAM_NON_BLOCKING),
                        "making a stream", &f);
    for (size_t i = 0; ok && i < EVENTS; i++) {
        ok = worker_ok(w, w->cuda.event_create(&w->events[i], CU_EVENT_DEFAULT), "making events",
                       &f);
    }
    return ok ? EVOCC_OK : error_set(error, EVOCC_PROCESS, "%s: %s", w->info.name, f.text);
}

/* ---- The conversation ------------------------------------------------------------------------ */

/* With a descriptor attached unless it is -1. False: the other side is gone. */
static bool send_frame(int connection, strbuf *frame, int descriptor)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    size_t sent = 0;
    while (!frame->failed && sent < frame->length) {
        struct iovec piece = {frame->data + sent, frame->length - sent};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (descriptor >= 0 && sent == 0) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control.room;
            control.header.cmsg_level = SOL_SOCKET;
            control.header.cmsg_type = SCM_RIGHTS;
            control.header.cmsg_len = CMSG_LEN(sizeof descriptor);
            memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
        }
        ssize_t count = sendmsg(connection, &message, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR) {
            break;
        }
        sent += count > 0 ? (size_t)count : 0;
    }
    bool ok = !frame->failed && sent == frame->length;
    strbuf_dispose(frame);
    return ok;
}

static bool receive_all(int connection, char *out, size_t length)
{
    while (length > 0) {
        ssize_t count = recv(connection, out, length, 0);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return false;
        }
        if (count > 0) {
            out += count;
            length -= (size_t)count;
        }
    }
    return true;
}

/* The next frame, whole, in *frame (the caller's, mem_free). False: the end. */
static bool receive_frame(int connection, char **frame, wire_kind *kind, wire_reader *body)
{
    char header[WIRE_HEADER];
    uint32_t length;
    *frame = NULL;
    if (!receive_all(connection, header, sizeof header)) {
        return false;
    }
    memcpy(&length, header, sizeof length);
    if (length > WIRE_BODY_LIMIT) {
        return false;
    }
    *frame = mem_alloc(sizeof header + length, 1);
    if (*frame == NULL) {
        return false;
    }
    memcpy(*frame, header, sizeof header);
    return receive_all(connection, *frame + sizeof header, length) &&
           wire_frame(kind, body, *frame, sizeof header + length) == sizeof header + length;
}

static bool greet(int connection, const worker *w, const evocc_error *error, int lock)
{
    strbuf frame = {0};
    size_t begun = wire_begin(&frame, (wire_kind)GPU_WIRE_HELLO);
    wire_put_u32(&frame, GPU_PROTOCOL);
    wire_put_error(&frame, error);
    gpu_put_info(&frame, &w->info);
    wire_end(&frame, begun);
    return send_frame(connection, &frame, lock);
}

/* Answers; false when it is time to end. */
static bool load(worker *w, int connection, wire_reader *body)
{
    evocc_error error;
    failure f = {0};
    uint64_t hash = 0;
    size_t length;
    error_set(&error, EVOCC_OK, "%s", "");
    worker_forget(w);
    if (!gpu_get_job(body, &w->job)) {
        error_set(&error, EVOCC_PROCESS, "evocc-helper: a workload could not be read");
    } else {
        const char *image = wire_get_text(body, &length);
        worker_prepare(w, image, &hash, &f, &error);
    }
    strbuf frame = {0};
    size_t begun = wire_begin(&frame, (wire_kind)GPU_WIRE_LOADED);
    wire_put_error(&frame, &error);
    wire_put_u32(&frame, f.outcome);
    wire_put_u32(&frame, f.machine);
    wire_put_string(&frame, f.text);
    wire_put_u64(&frame, hash);
    wire_end(&frame, begun);
    return send_frame(connection, &frame, -1) && !f.fatal;
}

/* A first run, which also loads the code, may take this long before the candidate counts as too
   slow to be looked at closely: the slowest are tens of times slower than the best, and would cost
   as much as tens of others. Only of one shape, where the bound is a launch's. */
static double first_limit_s(const worker *w, const gpu_request *request)
{
    static const double LOADING_S = 1e-3;
    bool applies = request->measure && request->pairs == 0 && request->bound_s > 0 &&
                   w->job.measure.slow > 0 && w->job.shape_count == 1;
    return applies ? 2 * w->job.measure.slow * request->bound_s + LOADING_S : 0;
}

static void evaluate(worker *w, const gpu_request *request, gpu_result *result, failure *f)
{
    kernel candidate;
    uint64_t errors = nvml_ecc_errors(w->nvml);
    double begin_s = clock_now_s();
    w->busy_s = 0;
    const double unknown = (double)NAN;
    result->runtime_s = unknown;
    result->energy = (gpu_energy){unknown, unknown, 0, unknown};
    if (worker_load_kernel(w, &candidate, request->image, f)) {
        double slow_s = 0;
        bool right = !request->check || worker_check(w, &candidate, request->launches,
                                                     first_limit_s(w, request), &slow_s, f);
        if (slow_s > 0) {
            result->early = true;
            result->runtime_s = slow_s;
        } else if (right && request->measure) {
            worker_measure(w, &candidate, request, result, f);
        }
        if (!f->fatal) {
            worker_unload_kernel(w, &candidate);
        }
    }
    if (!f->machine && nvml_ecc_errors(w->nvml) > errors) {
        *f = (failure){.outcome = EVOCC_OUTCOME_GPU_FAULT, .machine = true, .fatal = true};
        snprintf(f->text, sizeof f->text,
                 "the GPU's memory had an error that could not be corrected");
    }
    result->outcome = f->outcome;
    result->wall_s = clock_now_s() - begin_s;
    result->busy_s = w->busy_s;
}

static bool run(worker *w, int connection, wire_reader *body)
{
    gpu_request request;
    gpu_launch *launches;
    gpu_result result = {0};
    failure f = {0};
    evocc_error error;
    strbuf frame = {0};
    if (w->shapes == NULL || !gpu_get_request(body, &request, w->job.shape_count, &launches)) {
        return false;
    }
    evaluate(w, &request, &result, &f);
    mem_free(launches);
    size_t begun = wire_begin(&frame, (wire_kind)(f.machine ? GPU_WIRE_LOST : GPU_WIRE_RESULT));
    if (f.machine) {
        error_set(&error, EVOCC_PROCESS, "%s: %s", w->info.name, f.text);
        wire_put_error(&frame, &error);
    } else {
        result.detail = mem_strdup(f.text);
        gpu_put_result(&frame, &result);
        wire_put_u32(&frame, !f.fatal);
    }
    wire_end(&frame, begun);
    gpu_result_dispose(&result);
    return send_frame(connection, &frame, -1) && !f.fatal;
}

static void serve(worker *w, int connection)
{
    bool goes_on = true;
    while (goes_on) {
        char *frame;
        wire_kind kind;
        wire_reader body;
        goes_on = receive_frame(connection, &frame, &kind, &body);
        if (goes_on && (int)kind == GPU_WIRE_LOAD) {
            goes_on = load(w, connection, &body);
        } else if (goes_on && (int)kind == GPU_WIRE_RUN) {
            goes_on = run(w, connection, &body);
        }
        mem_free(frame);
    }
}

int worker_serve(int connection, const char *device, int lock)
{
    worker w = {0};
    evocc_error error;
    bool inherited = lock >= 0;
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    w.connection = connection;
    if (begin(&w, device, &lock, &error) == EVOCC_OK) {
        error_set(&error, EVOCC_OK, "%s", "");
    }
    bool greeted = greet(connection, &w, &error, inherited ? -1 : lock);
    if (greeted && error.status == EVOCC_OK) {
        serve(&w, connection);
    }
    /* The context and all in it go with the process; to release them by hand could wait for a
       kernel that hangs. */
    return greeted && error.status == EVOCC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
