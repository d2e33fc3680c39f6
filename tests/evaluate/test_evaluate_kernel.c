/* Machine code to findings on the fake driver: equal code is measured once, faults are findings,
   the clearly slow are left early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../gpu/fake.h"
#include "evaluate/evaluate_kernel.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

typedef struct fixture {
    fake_job f;
    gpu *g;
    kernel_stage *s;
} fixture;

static void begin(fixture *x, bool energy)
{
    evocc_error error;
    fake_job_make(&x->f);
    if (gpu_open(&x->g, NULL, &error) != EVOCC_OK ||
        fake_load(x->g, &x->f, "fake axpy", &error) != EVOCC_OK ||
        kernel_stage_new(&x->s,
                         &(kernel_stage_options){
                             .gpus = &x->g, .gpu_count = 1, .job = &x->f.job, .energy = energy},
                         &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
}

static void end(fixture *x)
{
    kernel_stage_free(x->s);
    gpu_close(x->g);
}

/* The text is its own hash. */
static void offer(fixture *x, uint64_t id, const char *image, const gpu_launch *launches)
{
    evocc_error error;
    char *code = mem_strdup(image);
    if (kernel_stage_offer(x->s, id, image, code, strlen(image) + 1, launches, &error) !=
        EVOCC_OK) {
        fail_msg("%s", error.message);
    }
}

static kernel_finding next(fixture *x)
{
    kernel_finding finding;
    evocc_error error;
    if (kernel_stage_wait(x->s, 20, -1, &finding, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return finding;
}

static void code_becomes_findings(void **state)
{
    (void)state;
    fixture x;
    begin(&x, false);
    offer(&x, 11, "fake axpy time=80", NULL);
    offer(&x, 12, "fake axpy wrong=3", NULL);
    offer(&x, 13, "fake axpy illegal", NULL);
    offer(&x, 14, "fake axpy time=90", NULL);
    size_t seen = 0;
    for (int i = 0; i < 4; i++) {
        kernel_finding f = next(&x);
        seen |= (size_t)1 << f.id;
        evocc_outcome wanted = f.id == 12   ? EVOCC_OUTCOME_WRONG_OUTPUT
                               : f.id == 13 ? EVOCC_OUTCOME_GPU_FAULT
                                            : EVOCC_OUTCOME_OK;
        assert_int_equal(f.outcome, wanted);
        assert_true(wanted == EVOCC_OUTCOME_OK
                        ? fabs(f.runtime_s - (f.id == 11 ? 80e-6 : 90e-6)) < 1e-7
                        : isnan(f.runtime_s));
        assert_true(isnan(f.energy_j));
        kernel_finding_dispose(&f);
    }
    assert_int_equal(seen, 0xf << 11);
    kernel_finding none;
    assert_int_equal(kernel_stage_wait(x.s, 0, -1, &none, NULL), EVOCC_NOT_FOUND);
    kernel_statistics statistics;
    kernel_stage_statistics(&statistics, x.s);
    assert_int_equal(statistics.measured, 4);
    assert_int_equal(statistics.shared, 0);
    assert_true(fabs(statistics.best_s - 80e-6) < 1e-7 && statistics.busy_s > 0);
    end(&x);
}

static void equal_code_is_measured_once(void **state)
{
    (void)state;
    fixture x;
    begin(&x, false);
    const gpu_launch other = {.grid = {5, 1, 1}, .block = {256, 1, 1}};
    offer(&x, 1, "fake axpy time=80", NULL);
    offer(&x, 2, "fake axpy time=80", NULL);   /* while the first runs */
    offer(&x, 3, "fake axpy time=80", &other); /* another launch is another measurement */
    offer(&x, 4, "fake axpy time=80", &other);
    size_t shared = 0;
    for (int i = 0; i < 4; i++) {
        kernel_finding f = next(&x);
        shared += f.shared;
        assert_true(f.outcome == EVOCC_OUTCOME_OK && (f.shared == (f.wall_s == 0)));
        kernel_finding_dispose(&f);
    }
    offer(&x, 5, "fake axpy time=80", NULL); /* known already */
    assert_true(kernel_stage_ready(x.s));
    kernel_finding f = next(&x);
    assert_true(f.shared && f.id == 5);
    kernel_finding_dispose(&f);
    kernel_statistics statistics;
    kernel_stage_statistics(&statistics, x.s);
    assert_int_equal(shared, 2);
    assert_int_equal(statistics.offered, 5);
    assert_int_equal(statistics.measured, 2);
    assert_int_equal(statistics.shared, 3);
    assert_int_equal(statistics.waiting, 0);
    end(&x);
}

static void the_slow_cost_little(void **state)
{
    (void)state;
    fixture x;
    begin(&x, true);
    offer(&x, 1, "fake axpy time=1000", NULL);
    kernel_finding f = next(&x);
    assert_true(!f.early && f.energy_j > 0 && f.power_w > 0 && f.energy_resolution_j > 0);
    kernel_finding_dispose(&f);
    offer(&x, 2, "fake axpy time=2000", NULL);
    f = next(&x);
    assert_true(f.early && isnan(f.energy_j) && fabs(f.runtime_s - 2e-3) < 1e-6);
    kernel_finding_dispose(&f);
    end(&x);
}

static void the_machines_faults_end_the_study(void **state)
{
    (void)state;
    fixture x;
    evocc_error error;
    kernel_finding f;
    begin(&x, false);
    offer(&x, 1, "fake axpy lost", NULL);
    assert_int_equal(kernel_stage_wait(x.s, 20, -1, &f, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "twice in a row"));
    end(&x);
}

static void waiting_has_limits(void **state)
{
    (void)state;
    fixture x;
    evocc_error error;
    kernel_finding f;
    int wake[2];
    begin(&x, false);
    offer(&x, 1, "fake axpy hang", NULL);
    assert_int_equal(kernel_stage_wait(x.s, 0.01, -1, &f, &error), EVOCC_TIMEOUT);
    assert_false(kernel_stage_ready(x.s));
    assert_int_equal(pipe(wake), 0);
    assert_int_equal(write(wake[1], "x", 1), 1);
    assert_int_equal(kernel_stage_wait(x.s, -1, wake[0], &f, &error), EVOCC_INTERRUPTED);
    f = next(&x);
    assert_int_equal(f.outcome, EVOCC_OUTCOME_RUN_TIMEOUT);
    kernel_finding_dispose(&f);
    close(wake[0]);
    close(wake[1]);
    end(&x);
}

static void nth_allocation_fails(void **state)
{
    (void)state;
    fixture x;
    evocc_error error;
    begin(&x, false);
    const gpu_launch launch = x.f.shape.launch;
    evocc_status status = EVOCC_NO_MEMORY;
    for (long n = 0; n < 20 && status != EVOCC_OK; n++) {
        char *code = mem_strdup("fake axpy");
        mem_fail_after(n);
        status = kernel_stage_offer(x.s, 1, "hash", code, 10, &launch, &error);
        mem_fail_after(-1);
        assert_true(status == EVOCC_OK || status == EVOCC_NO_MEMORY);
    }
    kernel_finding f = next(&x);
    assert_int_equal(f.outcome, EVOCC_OUTCOME_OK);
    kernel_finding_dispose(&f);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_becomes_findings),
        cmocka_unit_test(equal_code_is_measured_once),
        cmocka_unit_test(the_slow_cost_little),
        cmocka_unit_test(the_machines_faults_end_the_study),
        cmocka_unit_test(waiting_has_limits),
        cmocka_unit_test(nth_allocation_fails),
    };
    return cmocka_run_group_tests_name("evaluate_kernel", tests, fake_begin, fake_end);
}
