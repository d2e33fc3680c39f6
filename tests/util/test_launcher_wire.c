#include "unit.h"

#include "util/error.h"
#include "util/launcher_wire.h"
#include "util/mem.h"
#include "util/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const argv_of_test[] = {"/bin/ptxas", "-v", "", NULL};
static const char *const environment_of_test[] = {"A=b", NULL};

static strbuf request_frame(void)
{
    const process_request request = {
        .argv = argv_of_test,
        .environment = environment_of_test,
        .folder = "/work",
        .input = "x\0y",
        .input_length = 3,
        .deadline_s = 1.5,
        .grace_s = 0.25,
        .output_limit = 77,
        .memory_limit = UINT64_C(1) << 40,
    };
    strbuf b = {0};
    size_t begun = wire_begin(&b, WIRE_START);
    wire_put_u64(&b, 12);
    wire_put_request(&b, &request);
    wire_end(&b, begun);
    assert_false(b.failed);
    return b;
}

static strbuf result_frame(void)
{
    char output[] = "o\0p";
    char errors[] = "";
    const process_result result = {
        .end = PROCESS_TIMED_OUT,
        .exit_status = 3,
        .signal = 9,
        .os_errno = 2,
        .output = output,
        .output_length = 3,
        .errors = errors,
        .output_truncated = true,
        .wall_s = 2.5,
        .cpu_s = 0.5,
        .peak_bytes = UINT64_C(1) << 33,
    };
    strbuf b = {0};
    size_t begun = wire_begin(&b, WIRE_RESULT);
    wire_put_u64(&b, 13);
    wire_put_result(&b, &result);
    wire_end(&b, begun);
    return b;
}

static void requests_come_back(void **state)
{
    (void)state;
    strbuf b = request_frame();
    wire_kind kind;
    wire_reader body;
    process_request back;
    const char **lists;
    assert_int_equal(wire_frame(&kind, &body, b.data, b.length), b.length);
    assert_int_equal(kind, WIRE_START);
    assert_int_equal(wire_get_u64(&body), 12);
    assert_true(wire_get_request(&body, &back, &lists));
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(back.argv[i], argv_of_test[i]);
    }
    assert_null(back.argv[3]);
    assert_string_equal(back.environment[0], "A=b");
    assert_null(back.environment[1]);
    assert_string_equal(back.folder, "/work");
    assert_int_equal(back.input_length, 3);
    assert_memory_equal(back.input, "x\0y", 3);
    assert_true(back.deadline_s == 1.5 && back.grace_s == 0.25);
    assert_int_equal(back.output_limit, 77);
    assert_int_equal(back.memory_limit, UINT64_C(1) << 40);
    mem_free(lists);
    strbuf_dispose(&b);
}

/* What is absent stays absent: an empty environment or input is something else. */
static void absence_comes_back(void **state)
{
    (void)state;
    const char *const nothing[] = {NULL};
    for (int round = 0; round < 2; round++) {
        process_request request = {.argv = argv_of_test};
        if (round == 1) {
            request.environment = nothing;
            request.input = "";
        }
        strbuf b = {0};
        wire_put_request(&b, &request);
        wire_reader body = {b.data, b.data + b.length, false};
        process_request back;
        const char **lists;
        assert_true(wire_get_request(&body, &back, &lists));
        assert_null(back.folder);
        assert_int_equal(back.environment != NULL, round == 1);
        assert_int_equal(back.input != NULL, round == 1);
        assert_true(round == 0 || back.environment[0] == NULL);
        mem_free(lists);
        strbuf_dispose(&b);
    }
}

static void results_come_back(void **state)
{
    (void)state;
    strbuf b = result_frame();
    wire_kind kind;
    wire_reader body;
    process_result back;
    assert_int_equal(wire_frame(&kind, &body, b.data, b.length), b.length);
    assert_int_equal(kind, WIRE_RESULT);
    assert_int_equal(wire_get_u64(&body), 13);
    assert_true(wire_get_result(&body, &back));
    assert_int_equal(back.end, PROCESS_TIMED_OUT);
    assert_int_equal(back.exit_status, 3);
    assert_int_equal(back.signal, 9);
    assert_int_equal(back.os_errno, 2);
    assert_memory_equal(back.output, "o\0p", 4);
    assert_int_equal(back.output_length, 3);
    assert_string_equal(back.errors, "");
    assert_true(back.output_truncated && !back.errors_truncated);
    assert_true(back.wall_s == 2.5 && back.cpu_s == 0.5);
    assert_int_equal(back.peak_bytes, UINT64_C(1) << 33);
    process_result_dispose(&back);
    strbuf_dispose(&b);
}

static void errors_come_back(void **state)
{
    (void)state;
    evocc_error error;
    evocc_error back;
    error_set_os(&error, EVOCC_IO, ENOSPC, "no room");
    strbuf b = {0};
    wire_put_error(&b, &error);
    wire_reader body = {b.data, b.data + b.length, false};
    wire_get_error(&body, &back);
    assert_false(body.failed);
    assert_int_equal(back.status, EVOCC_IO);
    assert_int_equal(back.os_errno, ENOSPC);
    assert_string_equal(back.message, error.message);
    strbuf_dispose(&b);
}

static void frames_come_in_pieces(void **state)
{
    (void)state;
    strbuf b = request_frame();
    wire_kind kind;
    wire_reader body;
    for (size_t length = 0; length < b.length; length++) {
        assert_int_equal(wire_frame(&kind, &body, b.data, length), 0);
    }
    strbuf_puts(&b, "the next one");
    assert_int_equal(wire_frame(&kind, &body, b.data, b.length), b.length - 12);
    uint32_t strange[] = {0, WIRE_FAILED + 1};
    assert_true(wire_frame(&kind, &body, (const char *)strange, sizeof strange) == SIZE_MAX);
    strange[0] = UINT32_MAX;
    strange[1] = WIRE_START;
    assert_true(wire_frame(&kind, &body, (const char *)strange, sizeof strange) == SIZE_MAX);
    strbuf_dispose(&b);
}

/* Cut or damaged bodies are refused or read as something, within their bounds (the sanitizers
   look); a copy of exactly the right size shows them what lies beyond. */
static void damage_stays_inside(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 11);
    strbuf frames[] = {request_frame(), result_frame()};
    size_t refused = 0;
    for (int round = 0; round < 20000; round++) {
        const strbuf *frame = &frames[round % 2];
        size_t length = frame->length - WIRE_HEADER;
        bool cut = round % 4 < 2;
        size_t kept = cut ? (size_t)rng_below(&r, length) : length;
        char *copy = mem_strndup(frame->data + WIRE_HEADER, length);
        char *body_bytes = mem_alloc(kept, 1);
        if (!cut) {
            copy[rng_below(&r, length)] = (char)rng_next(&r);
        }
        memcpy(body_bytes, copy, kept);
        wire_reader body = {body_bytes, body_bytes + kept, false};
        wire_get_u64(&body);
        bool whole;
        if (round % 2 == 0) {
            process_request request;
            const char **lists;
            whole = wire_get_request(&body, &request, &lists);
            mem_free(lists);
        } else {
            process_result result;
            whole = wire_get_result(&body, &result);
            process_result_dispose(&result);
        }
        refused += !whole;
        assert_false(cut && whole);
        mem_free(body_bytes);
        mem_free(copy);
    }
    assert_true(refused >= 10000);
    strbuf_dispose(&frames[0]);
    strbuf_dispose(&frames[1]);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    strbuf request = request_frame();
    strbuf result = result_frame();
    for (long n = 0; n < 3; n++) {
        wire_reader body = {request.data + WIRE_HEADER + 8, request.data + request.length, false};
        process_request back;
        const char **lists;
        mem_fail_after(n);
        bool whole = wire_get_request(&body, &back, &lists);
        mem_fail_after(-1);
        assert_int_equal(whole, n > 0);
        mem_free(lists);
        body = (wire_reader){result.data + WIRE_HEADER + 8, result.data + result.length, false};
        process_result back_result;
        mem_fail_after(n);
        whole = wire_get_result(&body, &back_result);
        mem_fail_after(-1);
        assert_int_equal(whole, n > 1);
        process_result_dispose(&back_result);
    }
    strbuf_dispose(&request);
    strbuf_dispose(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_come_back),        cmocka_unit_test(absence_comes_back),
        cmocka_unit_test(results_come_back),         cmocka_unit_test(errors_come_back),
        cmocka_unit_test(frames_come_in_pieces),     cmocka_unit_test(damage_stays_inside),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
