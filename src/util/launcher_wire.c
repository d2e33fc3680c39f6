#include "util/launcher_wire.h"

#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* ---- Writing --------------------------------------------------------------------------------- */

size_t wire_begin(strbuf *b, wire_kind kind)
{
    wire_put_u32(b, 0);
    wire_put_u32(b, (uint32_t)kind);
    return b->length;
}

void wire_end(strbuf *b, size_t begun)
{
    if (b->failed || b->length - begun > WIRE_BODY_LIMIT) {
        b->failed = true;
        return;
    }
    uint32_t length = (uint32_t)(b->length - begun);
    memcpy(b->data + begun - WIRE_HEADER, &length, sizeof length);
}

void wire_put_u32(strbuf *b, uint32_t value)
{
    strbuf_append(b, &value, sizeof value);
}

void wire_put_u64(strbuf *b, uint64_t value)
{
    strbuf_append(b, &value, sizeof value);
}

void wire_put_double(strbuf *b, double value)
{
    strbuf_append(b, &value, sizeof value);
}

void wire_put_text(strbuf *b, const char *bytes, size_t length)
{
    wire_put_u64(b, length);
    strbuf_append(b, bytes, length);
    strbuf_putc(b, '\0');
}

void wire_put_string(strbuf *b, const char *text)
{
    wire_put_text(b, text, strlen(text));
}

static void put_list(strbuf *b, const char *const *list)
{
    uint32_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    wire_put_u32(b, count);
    for (uint32_t i = 0; i < count; i++) {
        wire_put_string(b, list[i]);
    }
}

enum { HAS_ENVIRONMENT = 1, HAS_FOLDER = 2, HAS_INPUT = 4 };

void wire_put_request(strbuf *b, const process_request *request)
{
    uint32_t has = (request->environment != NULL ? HAS_ENVIRONMENT : 0U) |
                   (request->folder != NULL ? HAS_FOLDER : 0U) |
                   (request->input != NULL ? HAS_INPUT : 0U);
    wire_put_u32(b, has);
    wire_put_double(b, request->deadline_s);
    wire_put_double(b, request->grace_s);
    wire_put_u64(b, request->output_limit);
    wire_put_u64(b, request->memory_limit);
    put_list(b, request->argv);
    if (request->environment != NULL) {
        put_list(b, request->environment);
    }
    if (request->folder != NULL) {
        wire_put_string(b, request->folder);
    }
    if (request->input != NULL) {
        wire_put_text(b, request->input, request->input_length);
    }
}

void wire_put_result(strbuf *b, const process_result *result)
{
    wire_put_u32(b, (uint32_t)result->end);
    wire_put_u32(b, (uint32_t)result->exit_status);
    wire_put_u32(b, (uint32_t)result->signal);
    wire_put_u32(b, (uint32_t)result->os_errno);
    wire_put_u32(b, result->output_truncated);
    wire_put_u32(b, result->errors_truncated);
    wire_put_double(b, result->wall_s);
    wire_put_double(b, result->cpu_s);
    wire_put_u64(b, result->peak_bytes);
    wire_put_text(b, result->output, result->output_length);
    wire_put_text(b, result->errors, result->errors_length);
}

void wire_put_error(strbuf *b, const evocc_error *error)
{
    wire_put_u32(b, (uint32_t)error->status);
    wire_put_u32(b, (uint32_t)error->os_errno);
    wire_put_string(b, error->message);
}

/* ---- Reading --------------------------------------------------------------------------------- */

size_t wire_frame(wire_kind *kind, wire_reader *body, const char *bytes, size_t length)
{
    uint32_t body_length;
    uint32_t number;
    if (length < WIRE_HEADER) {
        return 0;
    }
    memcpy(&body_length, bytes, sizeof body_length);
    memcpy(&number, bytes + sizeof body_length, sizeof number);
    bool known = (number >= WIRE_HELLO && number <= WIRE_FAILED) ||
                 (number >= WIRE_OTHER && number <= WIRE_OTHER_LAST);
    if (body_length > WIRE_BODY_LIMIT || !known) {
        return SIZE_MAX;
    }
    if (length - WIRE_HEADER < body_length) {
        return 0;
    }
    *kind = (wire_kind)number;
    *body = (wire_reader){bytes + WIRE_HEADER, bytes + WIRE_HEADER + body_length, false};
    return WIRE_HEADER + (size_t)body_length;
}

static void get(wire_reader *r, void *out, size_t size)
{
    if (r->failed || (size_t)(r->end - r->at) < size) {
        r->failed = true;
        memset(out, 0, size);
        return;
    }
    memcpy(out, r->at, size);
    r->at += size;
}

uint32_t wire_get_u32(wire_reader *r)
{
    uint32_t value;
    get(r, &value, sizeof value);
    return value;
}

uint64_t wire_get_u64(wire_reader *r)
{
    uint64_t value;
    get(r, &value, sizeof value);
    return value;
}

double wire_get_double(wire_reader *r)
{
    double value;
    get(r, &value, sizeof value);
    return value;
}

const char *wire_get_text(wire_reader *r, size_t *length)
{
    uint64_t size = wire_get_u64(r);
    if (r->failed || size >= (uint64_t)(r->end - r->at) || r->at[size] != '\0') {
        r->failed = true;
        *length = 0;
        return "";
    }
    const char *text = r->at;
    r->at += size + 1;
    *length = (size_t)size;
    return text;
}

const char *wire_get_string(wire_reader *r)
{
    size_t length;
    return wire_get_text(r, &length);
}

void wire_get_error(wire_reader *r, evocc_error *error)
{
    evocc_status status = (evocc_status)(int32_t)wire_get_u32(r);
    int os_errno = (int)wire_get_u32(r);
    error_set(error, status, "%s", wire_get_string(r));
    if (error != NULL) {
        error->os_errno = os_errno;
    }
}

/* A list of texts behind *count others in *lists, which grows; its NULL included. */
static void get_list(wire_reader *r, const char ***lists, size_t *count, size_t *capacity)
{
    uint32_t length = wire_get_u32(r);
    for (uint32_t i = 0; i <= length && !r->failed; i++) {
        if (!mem_grow(lists, capacity, *count + 1, sizeof **lists)) {
            r->failed = true;
            return;
        }
        (*lists)[(*count)++] = i < length ? wire_get_string(r) : NULL;
    }
}

bool wire_get_request(wire_reader *r, process_request *request, const char ***lists)
{
    size_t count = 0;
    size_t capacity = 0;
    *lists = NULL;
    uint32_t has = wire_get_u32(r);
    *request = (process_request){0};
    request->deadline_s = wire_get_double(r);
    request->grace_s = wire_get_double(r);
    request->output_limit = (size_t)wire_get_u64(r);
    request->memory_limit = wire_get_u64(r);
    get_list(r, lists, &count, &capacity);
    size_t words = count;
    if ((has & HAS_ENVIRONMENT) != 0) {
        get_list(r, lists, &count, &capacity);
    }
    if ((has & HAS_FOLDER) != 0) {
        request->folder = wire_get_string(r);
    }
    if ((has & HAS_INPUT) != 0) {
        request->input = wire_get_text(r, &request->input_length);
    }
    if (r->failed || words < 2 || r->at != r->end) {
        mem_free(*lists);
        *lists = NULL;
        return false;
    }
    request->argv = *lists;
    request->environment = (has & HAS_ENVIRONMENT) != 0 ? *lists + words : NULL;
    return true;
}

bool wire_get_result(wire_reader *r, process_result *result)
{
    *result = (process_result){0};
    result->end = (process_end)wire_get_u32(r);
    result->exit_status = (int)wire_get_u32(r);
    result->signal = (int)wire_get_u32(r);
    result->os_errno = (int)wire_get_u32(r);
    result->output_truncated = wire_get_u32(r) != 0;
    result->errors_truncated = wire_get_u32(r) != 0;
    result->wall_s = wire_get_double(r);
    result->cpu_s = wire_get_double(r);
    result->peak_bytes = wire_get_u64(r);
    const char *output = wire_get_text(r, &result->output_length);
    const char *errors = wire_get_text(r, &result->errors_length);
    if (r->failed) {
        return false;
    }
    result->output = mem_strndup(output, result->output_length);
    result->errors = mem_strndup(errors, result->errors_length);
    if (result->output == NULL || result->errors == NULL) {
        process_result_dispose(result);
        return false;
    }
    return true;
}
