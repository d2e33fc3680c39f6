/* The wire: what is put comes back, and cut or odd frames are refused rather than believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"

#include <math.h>

static void make_frame(strbuf *b)
{
    fake_job f;
    fake_job_make(&f);
    f.arguments[2].init = GPU_FILE;
    f.arguments[2].file = "/a/x.npy";
    f.arguments[3].tolerance = (gpu_tolerance){1e-3, 1e-4, 0.5};
    f.shape.launch.cluster[0] = 2;
    f.job.measure.graph = true;
    gpu_put_job(b, &f.job);
}

static void jobs_come_back(void **state)
{
    (void)state;
    strbuf b = {0};
    make_frame(&b);
    wire_reader r = {b.data, b.data + b.length, false};
    gpu_job job;
    assert_true(gpu_get_job(&r, &job));
    assert_ptr_equal(r.at, r.end);
    assert_string_equal(job.kernel, "axpy");
    assert_int_equal(job.check.self_runs, 10);
    assert_true(job.measure.graph && !job.measure.restore);
    assert_true(job.measure.deadline_s == 0.3);
    const gpu_argument *x = &job.shapes[0].arguments[2];
    assert_string_equal(x->file, "/a/x.npy");
    assert_null(x->reference);
    assert_int_equal(x->elements, FAKE_ELEMENTS);
    assert_true(job.shapes[0].arguments[3].tolerance.rms == 0.5);
    assert_int_equal(job.shapes[0].launch.cluster[0], 2);
    gpu_job_dispose(&job);
    strbuf_dispose(&b);
}

/* Every prefix is refused; every single byte changed gives a job or a refusal, never a fault. */
static void odd_jobs_are_refused(void **state)
{
    (void)state;
    strbuf b = {0};
    gpu_job job;
    make_frame(&b);
    for (size_t length = 0; length < b.length; length++) {
        char *copy = mem_strndup(b.data, length); /* its own block, for the sanitizer */
        wire_reader r = {copy, copy + length, false};
        assert_false(gpu_get_job(&r, &job));
        mem_free(copy);
    }
    for (size_t at = 0; at < b.length; at++) {
        b.data[at] ^= (char)0x81;
        wire_reader r = {b.data, b.data + b.length, false};
        if (gpu_get_job(&r, &job)) {
            gpu_job_dispose(&job);
        }
        b.data[at] ^= (char)0x81;
    }
    for (long n = 0; n < 8; n++) {
        wire_reader r = {b.data, b.data + b.length, false};
        mem_fail_after(n);
        bool read = gpu_get_job(&r, &job);
        mem_fail_after(-1);
        if (read) {
            gpu_job_dispose(&job);
        }
    }
    strbuf_dispose(&b);
}

static void requests_come_back(void **state)
{
    (void)state;
    const gpu_launch launches[2] = {{.grid = {1, 2, 3}}, {.shared_bytes = 9}};
    const gpu_request request = {.image = "a\0b",
                                 .image_length = 3,
                                 .launches = launches,
                                 .check = true,
                                 .pairs = 4,
                                 .pair_seed = 5,
                                 .bound_s = 0.25};
    strbuf b = {0};
    gpu_put_request(&b, &request, 2);
    wire_reader r = {b.data, b.data + b.length, false};
    gpu_request back;
    gpu_launch *own;
    assert_true(gpu_get_request(&r, &back, 2, &own));
    assert_memory_equal(back.image, "a\0b", 3);
    assert_int_equal(back.image_length, 3);
    assert_int_equal(own[0].grid[2], 3);
    assert_int_equal(own[1].shared_bytes, 9);
    assert_true(back.check && !back.measure && back.pairs == 4 && back.bound_s == 0.25);
    mem_free(own);
    for (size_t length = 0; length < b.length; length++) {
        wire_reader cut = {b.data, b.data + length, false};
        assert_false(gpu_get_request(&cut, &back, 2, &own));
    }
    strbuf_dispose(&b);
}

static void results_come_back(void **state)
{
    (void)state;
    double samples[] = {1, 2, 3};
    double baseline[] = {4};
    gpu_timing timing = {samples, baseline, 3, 1, 7};
    gpu_result result = {.outcome = EVOCC_OUTCOME_OK,
                         .runtime_s = 2,
                         .timings = &timing,
                         .timing_count = 1,
                         .energy = {.per_launch_j = (double)NAN},
                         .conditions = {.power_w = 300}};
    strbuf b = {0};
    gpu_put_result(&b, &result);
    gpu_result back;
    for (size_t length = 0; length < b.length; length++) {
        wire_reader cut = {b.data, b.data + length, false};
        assert_false(gpu_get_result(&cut, &back));
    }
    wire_reader r = {b.data, b.data + b.length, false};
    assert_true(gpu_get_result(&r, &back));
    assert_int_equal(back.timings[0].sample_count, 3);
    assert_true(back.timings[0].samples[2] == 3 && back.timings[0].baseline[0] == 4);
    assert_int_equal(back.timings[0].batch, 7);
    assert_true(isnan(back.energy.per_launch_j) && back.conditions.power_w == 300);
    assert_string_equal(back.detail, "");
    gpu_result_dispose(&back);
    strbuf_dispose(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_come_back),
        cmocka_unit_test(odd_jobs_are_refused),
        cmocka_unit_test(requests_come_back),
        cmocka_unit_test(results_come_back),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
