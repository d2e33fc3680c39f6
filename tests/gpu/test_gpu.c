/* The whole way from a study to a kernel and back, on the fake driver: what is right, what is wrong
   in every way that we claim to notice, and what takes the worker down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"
#include "gpu/npy.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const gpu_request check_only = {.check = true};

static gpu *open_loaded(const fake_job *f, const char *image)
{
    gpu *g = NULL;
    evocc_error error;
    if (gpu_open(&g, NULL, &error) != EVOCC_OK || fake_load(g, f, image, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return g;
}

/* The outcome of one checked run, whose detail must hold the text. */
static void assert_outcome(gpu *g, const char *image, evocc_outcome wanted, const char *detail)
{
    gpu_result result;
    evocc_error error;
    if (fake_run(g, check_only, image, &result, &error) != EVOCC_OK) {
        fail_msg("%s: %s", image, error.message);
    }
    if (result.outcome != wanted || strstr(result.detail, detail) == NULL) {
        fail_msg("%s: %s: %s", image, evocc_outcome_name(result.outcome), result.detail);
    }
    gpu_result_dispose(&result);
}

static void the_gpu_describes_itself(void **state)
{
    (void)state;
    gpu *g;
    evocc_error error;
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    const gpu_info *info = gpu_get_info(g);
    assert_string_equal(info->name, "Fake GPU 0");
    assert_string_equal(info->uuid, "GPU-11111111-1111-1111-1111-111111111100");
    assert_string_equal(info->driver, "999.1.2");
    assert_int_equal(info->cuda_version, 13000);
    assert_int_equal(info->capability_major, 9);
    assert_true(info->has_energy);
    assert_false(info->is_mig);
    gpu_close(g);
}

static void gpus_are_chosen(void **state)
{
    (void)state;
    gpu *g;
    evocc_error error;
    assert_int_equal(gpu_open(&g, "1", &error), EVOCC_OK);
    assert_string_equal(gpu_get_info(g)->name, "Fake GPU 1");
    gpu_close(g);
    assert_int_equal(gpu_open(&g, "GPU-11111111-1111-1111-1111-111111111101", &error), EVOCC_OK);
    assert_string_equal(gpu_get_info(g)->name, "Fake GPU 1");
    gpu_close(g);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_int_equal(gpu_open(&g, "0", &error), EVOCC_OK);
    assert_string_equal(gpu_get_info(g)->name, "Fake GPU 1");
    gpu_close(g);
    assert_int_equal(gpu_open(&g, "1", &error), EVOCC_NOT_FOUND);
    assert_string_equal(error.message, "there is no GPU 1; the driver shows 1");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(gpu_open(&g, "GPU-2222", &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "GPU-11111111-1111-1111-1111-111111111101"));
}

static void mig_has_no_energy_of_its_own(void **state)
{
    (void)state;
    gpu *g;
    evocc_error error;
    setenv("EVOCC_FAKE_MIG", "1", 1);
    assert_int_equal(gpu_open(&g, "MIG-11111111-1111-1111-1111-111111111100", &error), EVOCC_OK);
    unsetenv("EVOCC_FAKE_MIG");
    assert_true(gpu_get_info(g)->is_mig);
    assert_false(gpu_get_info(g)->has_energy);
    assert_memory_equal(gpu_get_info(g)->uuid, "MIG-", 4);
    gpu_close(g);
}

static void no_driver_is_said_plainly(void **state)
{
    (void)state;
    gpu *g;
    evocc_error error;
    setenv("EVOCC_CUDA_DRIVER", "/nonexistent/libcuda.so", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "no CUDA driver"));
    setenv("EVOCC_CUDA_DRIVER", "libm.so.6", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "has no cuGetErrorName"));
    setenv("EVOCC_CUDA_DRIVER", FAKE_DRIVER, 1);
    setenv("EVOCC_FAKE_INIT", "100", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "finds no GPU"));
    unsetenv("EVOCC_FAKE_INIT");
    setenv("EVOCC_NVML", "/nonexistent/libnvidia-ml.so", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    assert_false(gpu_get_info(g)->has_nvml);
    gpu_close(g);
    setenv("EVOCC_NVML", FAKE_DRIVER, 1);
}

static void right_candidates_pass(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    for (int i = 0; i < 3; i++) {
        assert_outcome(g, "fake axpy time=90", EVOCC_OUTCOME_OK, "");
    }
    assert_int_equal(gpu_replacements(g), 0);
    gpu_close(g);
}

static void wrong_outputs_are_caught(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy wrong=17", EVOCC_OUTCOME_WRONG_OUTPUT,
                   "output 'y': element 17 is");
    assert_outcome(g, "fake axpy wrong=0", EVOCC_OUTCOME_WRONG_OUTPUT, "1 of 1000 are wrong");
    assert_outcome(g, "fake axpy wrong=999", EVOCC_OUTCOME_WRONG_OUTPUT, "element 999 is");
    assert_outcome(g, "fake axpy nan=5", EVOCC_OUTCOME_WRONG_OUTPUT, "element 5 is nan");
    assert_outcome(g, "fake axpy unwritten=9", EVOCC_OUTCOME_WRONG_OUTPUT,
                   "element 9 is nan (0xffa5a5a5), never written");
    assert_outcome(g, "fake axpy overrun", EVOCC_OUTCOME_WRONG_OUTPUT,
                   "written outside of 'y', 280 bytes behind its data");
    assert_outcome(g, "fake axpy clobber", EVOCC_OUTCOME_WRONG_OUTPUT, "input 'x': element 3");
    /* What a wrong candidate has done to the buffers is undone. */
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 0);
    gpu_close(g);
}

/* Wrong in every fourth run alone: two seeds of two runs each find it. */
static void races_are_caught(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy race=4", EVOCC_OUTCOME_WRONG_OUTPUT, "element 0");
    gpu_close(g);
}

static void tolerances_are_heeded(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    f.arguments[3].tolerance.relative = 1e-3;
    gpu *g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy off=0.0005", EVOCC_OUTCOME_OK, "");
    assert_outcome(g, "fake axpy off=0.002", EVOCC_OUTCOME_WRONG_OUTPUT, "1000 of 1000");
    assert_outcome(g, "fake axpy wrong=3", EVOCC_OUTCOME_OK, "");
    assert_outcome(g, "fake axpy nan=5", EVOCC_OUTCOME_WRONG_OUTPUT, "element 5 is nan");
    assert_outcome(g, "fake axpy overrun", EVOCC_OUTCOME_WRONG_OUTPUT, "outside");
    gpu_close(g);
    f.arguments[3].tolerance = (gpu_tolerance){.rms = 0.01};
    g = open_loaded(&f, "fake axpy");
    /* 0.2 % of an element is less than 1 % of the rms for all elements under 5 times the rms. */
    assert_outcome(g, "fake axpy off=0.002", EVOCC_OUTCOME_OK, "");
    assert_outcome(g, "fake axpy off=0.2", EVOCC_OUTCOME_WRONG_OUTPUT, "are wrong");
    gpu_close(g);
}

/* y += x: only restored inputs give the same sums again. */
static void inout_buffers_are_restored(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    f.arguments[3].access = GPU_INOUT;
    f.arguments[3].init = GPU_UNIFORM;
    f.arguments[3].second = 1;
    gpu *g = open_loaded(&f, "fake axpy accumulate");
    assert_outcome(g, "fake axpy accumulate", EVOCC_OUTCOME_OK, "");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_WRONG_OUTPUT, "output 'y'");
    assert_outcome(g, "fake axpy accumulate", EVOCC_OUTCOME_OK, "");
    gpu_close(g);
}

/* An element that the baseline leaves alone is no error, and must be left alone. */
static void what_the_baseline_leaves_alone(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy unwritten=9");
    assert_outcome(g, "fake axpy unwritten=9", EVOCC_OUTCOME_OK, "");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_WRONG_OUTPUT, "element 9 is");
    gpu_close(g);
}

static void bad_baselines_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *image, *message;
    } cases[] = {
        {"fake axpy race=3", "the baseline: unstable"},
        {"fake axpy illegal", "the baseline: gpu_fault: shape 'small': running the kernel: "
                              "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {"fake axpy hang",
         "the baseline: run_timeout: shape 'small': the kernel did not end within "
         "0.3 s"},
        {"fake axpy refuse", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
        {"fake other", "the machine code holds no kernel 'axpy'"},
        {"junk", "CUDA_ERROR_INVALID_IMAGE"},
        {"fake axpy overrun", "written outside of 'y'"},
    };
    fake_job f;
    fake_job_make(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu *g;
        evocc_error error;
        assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
        assert_int_equal(fake_load(g, &f, cases[i].image, &error), EVOCC_INVALID_ARGUMENT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("%s: %s", cases[i].image, error.message);
        }
        /* The GPU is there for another try. */
        assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_OK);
        gpu_close(g);
    }
}

static void arguments_must_fit_the_parameters(void **state)
{
    (void)state;
    fake_job f;
    gpu *g;
    evocc_error error;
    fake_job_make(&f);
    f.shape.count = 3;
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "'axpy' has 4 parameters, the workload 3 arguments"));
    fake_job_make(&f);
    f.arguments[0].type = DTYPE_U64;
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "parameter 1 of 'axpy' has 4 bytes, argument 'n' has 8"));
    gpu_close(g);
}

static void references_come_from_files(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    char path[512];
    float zeros[FAKE_ELEMENTS] = {0};
    const npy_shape shape = {{FAKE_ELEMENTS}, 1, FAKE_ELEMENTS};
    evocc_error error;
    gpu *g;
    snprintf(path, sizeof path, "%s/y.npy", fake_folder);
    assert_int_equal(npy_write(path, DTYPE_F32, &shape, zeros, &error), EVOCC_OK);
    f.arguments[3].reference = path;
    f.arguments[2].init = GPU_ZEROS; /* y = alpha * 0 */
    g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy wrong=4", EVOCC_OUTCOME_WRONG_OUTPUT, "element 4 is");
    gpu_close(g);
    f.arguments[2].init = GPU_CONSTANT;
    f.arguments[2].first = 1;
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "does not agree with its reference"));
    assert_non_null(strstr(error.message, "element 0 is 1.5"));
    f.arguments[3].reference = "/nonexistent/y.npy";
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_IO);
    assert_non_null(strstr(error.message, "/nonexistent/y.npy"));
    gpu_close(g);
}

static void faults_replace_the_worker(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy illegal", EVOCC_OUTCOME_GPU_FAULT, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 1);
    assert_outcome(g, "fake axpy hang", EVOCC_OUTCOME_RUN_TIMEOUT, "did not end within 0.3 s");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 2);
    assert_outcome(g, "fake axpy crash", EVOCC_OUTCOME_GPU_FAULT,
                   "the process that measures was killed by signal 6");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 3);
    gpu_close(g);
}

static void refusals_keep_the_worker(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    f.shape.launch.shared_bytes = 1000;
    gpu *g = open_loaded(&f, "fake axpy");
    assert_outcome(g, "fake axpy refuse", EVOCC_OUTCOME_LAUNCH_FAILED, "launching the kernel");
    assert_outcome(g, "fake axpy shared=999", EVOCC_OUTCOME_LAUNCH_FAILED,
                   "asking for 1000 bytes of dynamic shared memory");
    assert_outcome(g, "fake axpy invalid", EVOCC_OUTCOME_LAUNCH_FAILED, "loading the machine code");
    assert_outcome(g, "fake axp", EVOCC_OUTCOME_LAUNCH_FAILED, "no kernel 'axpy'");
    assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 0);
    gpu_close(g);
}

/* Once may be an accident; twice in a row ends the study. */
static void a_lost_driver(void **state)
{
    (void)state;
    fake_job f;
    gpu_result result;
    evocc_error error;
    char path[400];
    char image[512];
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    snprintf(path, sizeof path, "%s/once", fake_folder);
    snprintf(image, sizeof image, "fake axpy lost_once=%s", path);
    assert_int_equal(file_write(path, "", 0, &error), EVOCC_OK);
    assert_outcome(g, image, EVOCC_OUTCOME_OK, "");
    assert_int_equal(gpu_replacements(g), 1);
    assert_int_equal(fake_run(g, check_only, "fake axpy lost", &result, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "Fake GPU 0: running the kernel"));
    assert_non_null(strstr(error.message, "twice in a row"));
    assert_int_equal(fake_run(g, check_only, "fake axpy ecc", &result, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "CUDA_ERROR_ECC_UNCORRECTABLE"));
    gpu_close(g);
}

static void launches_are_the_candidates_own(void **state)
{
    (void)state;
    fake_job f;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    const gpu_launch launch = {.grid = {8, 1, 1}, .block = {128, 1, 1}};
    gpu_request request = {.check = true, .launches = &launch};
    gpu_result result;
    evocc_error error;
    assert_int_equal(fake_run(g, request, "fake axpy only_grid=8", &result, &error), EVOCC_OK);
    assert_int_equal(result.outcome, EVOCC_OUTCOME_OK);
    gpu_result_dispose(&result);
    assert_outcome(g, "fake axpy only_grid=8", EVOCC_OUTCOME_WRONG_OUTPUT, "never written");
    gpu_close(g);
}

static void memory_runs_out(void **state)
{
    (void)state;
    fake_job f;
    gpu *g;
    evocc_error error;
    fake_job_make(&f);
    setenv("EVOCC_FAKE_MEMORY", "40000", 1);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "out_of_memory"));
    assert_non_null(strstr(error.message, "use fewer input seeds"));
    gpu_close(g);
    unsetenv("EVOCC_FAKE_MEMORY");
}

static void one_study_a_gpu(void **state)
{
    (void)state;
    gpu *first;
    gpu *second;
    gpu *other;
    evocc_error error;
    fake_job f;
    fake_job_make(&f);
    first = open_loaded(&f, "fake axpy");
    assert_int_equal(gpu_open(&second, NULL, &error), EVOCC_BUSY);
    char process[40];
    snprintf(process, sizeof process, "(process %ld)", (long)getpid());
    assert_non_null(strstr(error.message, process));
    assert_int_equal(gpu_open(&other, "1", &error), EVOCC_OK);
    gpu_close(other);
    /* The lock outlives the worker: between two workers nobody else gets in. */
    assert_outcome(first, "fake axpy crash", EVOCC_OUTCOME_GPU_FAULT, "signal");
    assert_int_equal(gpu_open(&second, NULL, &error), EVOCC_BUSY);
    gpu_close(first);
    assert_int_equal(gpu_open(&second, NULL, &error), EVOCC_OK);
    gpu_close(second);
}

/* kill -9 of a study: the lock goes with it and its worker. */
static void a_killed_study_frees_the_gpu(void **state)
{
    (void)state;
    int ready[2];
    evocc_error error;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        gpu *g;
        char byte = gpu_open(&g, NULL, &error) == EVOCC_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        pause();
        _exit(0);
    }
    char byte = 0;
    ssize_t count = read(ready[0], &byte, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(count, 1);
    assert_int_equal(byte, 'y');
    gpu *g = NULL;
    evocc_status status = EVOCC_BUSY;
    for (int i = 0; i < 200 && status == EVOCC_BUSY; i++) {
        status = gpu_open(&g, NULL, &error);
        usleep(5000);
    }
    assert_int_equal(status, EVOCC_OK);
    gpu_close(g);
    close(ready[0]);
    close(ready[1]);
}

/* Even while a kernel hangs: the worker sees the study's end and goes, long before its deadline. */
static void a_killed_study_frees_a_hanging_gpu(void **state)
{
    (void)state;
    int ready[2];
    evocc_error error;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        fake_job f;
        fake_job_make(&f);
        f.job.measure.deadline_s = 60;
        const char *image = "fake axpy hang";
        const gpu_request request = {
            .image = image, .image_length = strlen(image) + 1, .check = true};
        gpu *g = open_loaded(&f, "fake axpy");
        char byte = gpu_submit(g, &request, &error) == EVOCC_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        pause();
        _exit(0);
    }
    char byte = 0;
    ssize_t count = read(ready[0], &byte, 1);
    usleep(50000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(count, 1);
    assert_int_equal(byte, 'y');
    gpu *g = NULL;
    evocc_status status = EVOCC_BUSY;
    for (int i = 0; i < 1000 && status == EVOCC_BUSY; i++) {
        status = gpu_open(&g, NULL, &error);
        usleep(5000);
    }
    assert_int_equal(status, EVOCC_OK);
    gpu_close(g);
    close(ready[0]);
    close(ready[1]);
}

static void waiting_can_be_interrupted(void **state)
{
    (void)state;
    fake_job f;
    gpu_result result;
    evocc_error error;
    int wake[2];
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    assert_int_equal(gpu_wait(g, 0, -1, &result, &error), EVOCC_NOT_FOUND);
    const char *image = "fake axpy hang";
    const gpu_request request = {.image = image, .image_length = strlen(image) + 1, .check = true};
    assert_int_equal(gpu_submit(g, &request, &error), EVOCC_OK);
    assert_int_equal(gpu_wait(g, 0.01, -1, &result, &error), EVOCC_TIMEOUT);
    assert_int_equal(pipe(wake), 0);
    assert_int_equal(write(wake[1], "x", 1), 1);
    assert_int_equal(gpu_wait(g, -1, wake[0], &result, &error), EVOCC_INTERRUPTED);
    struct pollfd polled = {.fd = gpu_descriptor(g), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 5000), 1);
    assert_int_equal(gpu_wait(g, -1, -1, &result, &error), EVOCC_OK);
    assert_int_equal(result.outcome, EVOCC_OUTCOME_RUN_TIMEOUT);
    gpu_result_dispose(&result);
    gpu_close(g);
    close(wake[0]);
    close(wake[1]);
}

static void fresh_processes(void **state)
{
    (void)state;
    fake_job f;
    evocc_error error;
    fake_job_make(&f);
    gpu *g = open_loaded(&f, "fake axpy");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gpu_restart(g, true, &error), EVOCC_OK);
        assert_outcome(g, "fake axpy", EVOCC_OUTCOME_OK, "");
        assert_outcome(g, "fake axpy wrong=2", EVOCC_OUTCOME_WRONG_OUTPUT, "element 2");
    }
    assert_int_equal(gpu_replacements(g), 0); /* none had to be */
    gpu_close(g);
}

static void out_of_memory_on_the_host(void **state)
{
    (void)state;
    gpu *g = NULL;
    evocc_error error;
    fake_job f;
    fake_job_make(&f);
    size_t failures = 0;
    for (long n = 0; n < 12; n++) {
        mem_fail_after(n);
        evocc_status status = gpu_open(&g, NULL, &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            gpu_close(g);
            break;
        }
        assert_true(status == EVOCC_NO_MEMORY || status == EVOCC_PROCESS ||
                    status == EVOCC_NOT_FOUND);
        failures++;
    }
    assert_true(failures >= 3);
    assert_int_equal(gpu_open(&g, NULL, &error), EVOCC_OK);
    mem_fail_after(1);
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_NO_MEMORY);
    mem_fail_after(-1);
    assert_int_equal(fake_load(g, &f, "fake axpy", &error), EVOCC_OK);
    gpu_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpu_describes_itself),
        cmocka_unit_test(gpus_are_chosen),
        cmocka_unit_test(mig_has_no_energy_of_its_own),
        cmocka_unit_test(no_driver_is_said_plainly),
        cmocka_unit_test(right_candidates_pass),
        cmocka_unit_test(wrong_outputs_are_caught),
        cmocka_unit_test(races_are_caught),
        cmocka_unit_test(tolerances_are_heeded),
        cmocka_unit_test(inout_buffers_are_restored),
        cmocka_unit_test(what_the_baseline_leaves_alone),
        cmocka_unit_test(bad_baselines_are_refused),
        cmocka_unit_test(arguments_must_fit_the_parameters),
        cmocka_unit_test(references_come_from_files),
        cmocka_unit_test(faults_replace_the_worker),
        cmocka_unit_test(refusals_keep_the_worker),
        cmocka_unit_test(a_lost_driver),
        cmocka_unit_test(launches_are_the_candidates_own),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(one_study_a_gpu),
        cmocka_unit_test(a_killed_study_frees_the_gpu),
        cmocka_unit_test(a_killed_study_frees_a_hanging_gpu),
        cmocka_unit_test(waiting_can_be_interrupted),
        cmocka_unit_test(fresh_processes),
        cmocka_unit_test(out_of_memory_on_the_host),
    };
    return cmocka_run_group_tests_name("gpu", tests, fake_begin, fake_end);
}
