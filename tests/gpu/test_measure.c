/* Timing and energy, on the fake driver's clock, which says exactly what each launch takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"

#include <math.h>
#include <stdio.h>

static void assert_near(double value, double wanted, double relative)
{
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) {
        fail_msg("%.9g is not within %g of %.9g", value, relative, wanted);
    }
}

static gpu *loaded(const fake_job *f, const char *image)
{
    gpu *g = NULL;
    evocc_error error;
    if (gpu_open(&g, NULL, &error) != EVOCC_OK || fake_load(g, f, image, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return g;
}

static gpu_result measured(gpu *g, gpu_request request, const char *image)
{
    gpu_result result;
    evocc_error error;
    request.measure = true;
    if (fake_run(g, request, image, &result, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    if (result.outcome != EVOCC_OUTCOME_OK) {
        fail_msg("%s: %s", evocc_outcome_name(result.outcome), result.detail);
    }
    return result;
}

static void a_launch_is_timed(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy time=100");
    gpu_result r = measured(g, (gpu_request){.check = true}, "fake axpy time=80");
    assert_near(r.runtime_s, 80e-6, 1e-4);
    assert_int_equal(r.timing_count, 1);
    assert_int_equal(r.timings[0].batch, 13); /* 1 ms in launches of 80 us */
    assert_int_equal(r.timings[0].sample_count, 6);
    assert_int_equal(r.timings[0].baseline_count, 2);
    assert_near(r.timings[0].baseline[0], 100e-6, 1e-4);
    assert_false(r.early);
    assert_near(r.conditions.sm_clock_hz, 1980e6, 0);
    assert_near(r.conditions.power_w, 300, 0);
    assert_int_equal(r.conditions.throttle_reasons, 4);
    assert_true(isnan(r.energy.per_launch_j));
    assert_true(r.wall_s > 0 && r.wall_s < 5);
    gpu_result_dispose(&r);
    gpu_close(g);
}

static void noise_asks_for_more_samples(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    f.job.measure.max_samples = 15;
    gpu *g = loaded(&f, "fake axpy");
    gpu_result r = measured(g, (gpu_request){0}, "fake axpy time=3000 noise=0.2");
    assert_int_equal(r.timings[0].batch, 1);
    assert_int_equal(r.timings[0].sample_count, 15);
    assert_near(r.runtime_s, 3e-3, 0.08);
    gpu_result_dispose(&r);
    gpu_close(g);
}

static void the_clearly_slow_are_left_early(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy");
    gpu_result r = measured(g, (gpu_request){.bound_s = 100e-6}, "fake axpy time=130");
    assert_true(r.early);
    assert_near(r.runtime_s, 130e-6, 1e-4);
    assert_int_equal(r.timings[0].sample_count, 1);
    gpu_result_dispose(&r);
    r = measured(g, (gpu_request){.bound_s = 100e-6}, "fake axpy time=120");
    assert_false(r.early);
    gpu_result_dispose(&r);
    gpu_close(g);
}

/* So slow that the first checked run is enough. */
static void the_very_slow_run_once(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy");
    const gpu_request request = {.bound_s = 100e-6, .check = true};
    gpu_result r = measured(g, request, "fake axpy time=9000");
    assert_true(r.early);
    assert_int_equal(r.timing_count, 0);
    assert_near(r.runtime_s, 9e-3, 1e-3);
    gpu_result_dispose(&r);
    /* Its one run is checked all the same. */
    evocc_error error;
    gpu_request wrong = request;
    wrong.measure = true;
    assert_int_equal(fake_run(g, wrong, "fake axpy time=9000 wrong=1", &r, &error), EVOCC_OK);
    assert_int_equal(r.outcome, EVOCC_OUTCOME_WRONG_OUTPUT);
    gpu_result_dispose(&r);
    gpu_close(g);
}

/* Flushed, restored and as a graph: the launch alone is what is timed. */
static void other_modes_time_the_launch_alone(void **state)
{
    (void)state;
    for (int mode = 0; mode < 3; mode++) {
        fake_job f;
        fake_job_make(&f);
        f.job.measure.flush_l2 = mode == 0;
        f.job.measure.restore = mode == 1;
        f.job.measure.graph = mode == 2;
        gpu *g = loaded(&f, "fake axpy");
        gpu_result r = measured(g, (gpu_request){0}, "fake axpy time=70");
        assert_near(r.runtime_s, 70e-6, 1e-3);
        assert_int_equal(r.timings[0].batch, 15);
        gpu_result_dispose(&r);
        gpu_close(g);
    }
}

/* Right in every single checked run, wrong now and then among the many timed ones: the last launch
   of the 80 or so (13 + 1 in each of 6 samples, 4 checked, the pilot's) is the one that shows. */
static void rare_races_show_in_timed_launches(void **state)
{
    (void)state;
    fake_job f;
    gpu_result result;
    evocc_error error;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy time=80");
    size_t caught = 0;
    for (int every = 5; every < 120; every++) {
        char image[64];
        snprintf(image, sizeof image, "fake axpy time=80 race=%d", every);
        assert_int_equal(
            fake_run(g, (gpu_request){.check = true, .measure = true}, image, &result, &error),
            EVOCC_OK);
        caught += result.outcome == EVOCC_OUTCOME_WRONG_OUTPUT &&
                  strstr(result.detail,
                         "launches in a row: shape 'small', output 'y': element 0") != NULL;
        gpu_result_dispose(&result);
    }
    assert_true(caught >= 2); /* the divisors of that number */
    gpu_close(g);
}

/* Results after timing are not looked at, but what an inout buffer holds must not become infinite.
 */
static void inout_is_restored_between_launches(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    f.arguments[3].access = GPU_INOUT;
    f.job.measure.restore = true;
    gpu *g = loaded(&f, "fake axpy accumulate");
    gpu_result r = measured(g, (gpu_request){.check = true}, "fake axpy accumulate time=50");
    assert_near(r.runtime_s, 50e-6, 1e-3);
    gpu_result_dispose(&r);
    gpu_close(g);
}

static void pairs_alternate(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy time=100");
    gpu_result r = measured(g, (gpu_request){.pairs = 25, .pair_seed = 3}, "fake axpy time=90");
    assert_int_equal(r.timings[0].sample_count, 25);
    assert_int_equal(r.timings[0].baseline_count, 25);
    for (size_t i = 0; i < 25; i++) {
        assert_near(r.timings[0].samples[i], 90e-6, 1e-4);
        assert_near(r.timings[0].baseline[i], 100e-6, 1e-4);
    }
    gpu_result_dispose(&r);
    gpu_close(g);
}

/* Two shapes with weights 1 and 3: the weighted geometric mean. */
static void shapes_are_weighted(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu_shape shapes[2] = {f.shape, f.shape};
    shapes[1].name = "again";
    shapes[1].weight = 3;
    f.job.shapes = shapes;
    f.job.shape_count = 2;
    gpu *g = loaded(&f, "fake axpy");
    gpu_result r = measured(g, (gpu_request){.check = true}, "fake axpy time=60");
    assert_int_equal(r.timing_count, 2);
    assert_near(r.runtime_s, 60e-6, 1e-4);
    gpu_result_dispose(&r);
    gpu_close(g);
}

static void energy_is_measured(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = loaded(&f, "fake axpy");
    gpu_result r = measured(g, (gpu_request){.energy = true}, "fake axpy time=5000");
    /* 300 W while the window lasts, whose ends are seen within a poll or so. */
    assert_near(r.energy.power_w, 300, 0.1);
    assert_true(r.energy.window_s >= 0.2 && r.energy.window_s < 0.4);
    assert_true(r.energy.per_launch_j > 0);
    assert_true(r.energy.resolution_j > 0 && r.energy.resolution_j < 0.5 * r.energy.per_launch_j);
    gpu_result_dispose(&r);
    gpu_close(g);
}

static void a_counter_that_stands_still(void **state)
{
    (void)state;
    fake_job f;
    gpu_result result;
    evocc_error error;
    fake_job_make(&f);
    setenv("EVOCC_FAKE_STUCK_ENERGY", "1", 1);
    gpu *g = loaded(&f, "fake axpy");
    assert_int_equal(fake_run(g, (gpu_request){.measure = true, .energy = true},
                              "fake axpy time=5000", &result, &error),
                     EVOCC_OK);
    assert_int_equal(result.outcome, EVOCC_OUTCOME_UNSTABLE);
    assert_non_null(strstr(result.detail, "energy counter did not move"));
    gpu_result_dispose(&result);
    gpu_close(g);
    unsetenv("EVOCC_FAKE_STUCK_ENERGY");
}

static void no_counter_is_known_beforehand(void **state)
{
    (void)state;
    gpu *g;
    evocc_error error;
    setenv("EVOCC_FAKE_NO_ENERGY", "1", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    unsetenv("EVOCC_FAKE_NO_ENERGY");
    assert_false(gpu_get_info(g)->has_energy);
    gpu_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_timed),
        cmocka_unit_test(noise_asks_for_more_samples),
        cmocka_unit_test(the_clearly_slow_are_left_early),
        cmocka_unit_test(the_very_slow_run_once),
        cmocka_unit_test(other_modes_time_the_launch_alone),
        cmocka_unit_test(rare_races_show_in_timed_launches),
        cmocka_unit_test(inout_is_restored_between_launches),
        cmocka_unit_test(pairs_alternate),
        cmocka_unit_test(shapes_are_weighted),
        cmocka_unit_test(energy_is_measured),
        cmocka_unit_test(a_counter_that_stands_still),
        cmocka_unit_test(no_counter_is_known_beforehand),
    };
    return cmocka_run_group_tests_name("measure", tests, fake_begin, fake_end);
}
