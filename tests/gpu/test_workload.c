/* Workload files: what they say arrives in the job, and every fault is named by line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/npy.h"
#include "gpu/workload.h"
#include "space/arithmetic.h"
#include "util/files.h"

#include <stdio.h>
#include <string.h>

static char *folder;

static int begin(void **state)
{
    (void)state;
    evocc_error error;
    return folder_temporary(&folder, &error) == EVOCC_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    folder_remove(folder);
    mem_free(folder);
    return 0;
}

static const char full[] =
    "evocc-workload: 1\n"
    "module: gemm.cu\n"
    "kernel: gemm\n"
    "arch: sm_90a\n"
    "options: {nvcc: [-O3, -lineinfo], ptxas: [-O2]}\n"
    "parameters:\n"
    "  TILE: {values: [16, 32, 64], default: 32, help: Edge of a tile.}\n"
    "  STAGES: {values: [2, 3]}\n"
    "constraints: [TILE * STAGES <= 128]\n"
    "shapes:\n"
    "  - {name: large, weight: 2, M: 1000, N: 2 * M, K: 512}\n"
    "  - {name: small, M: 64, N: 64, K: 7}\n"
    "launch:\n"
    "  grid: [(N + TILE - 1) // TILE, (M + TILE - 1) // TILE]\n"
    "  block: TILE * 8\n"
    "  cluster: [2, 1]\n"
    "  shared: TILE * K * 4\n"
    "arguments:\n"
    "  - {name: a, type: f16, shape: [M, K], init: {normal: [0, 1 / 4]}}\n"
    "  - {name: b, type: e4m3, shape: [K, N], init: {uniform: [-1, 1]}}\n"
    "  - {name: c, type: f32, shape: [M, N], access: out, tolerance: {rms: 1e-3, relative: 0.01}}\n"
    "  - {name: sums, type: f64, shape: [M], access: inout, init: {constant: 0.5}}\n"
    "  - {name: order, type: i64, shape: [K], init: iota}\n"
    "  - {name: n, type: i32, value: N}\n"
    "  - {name: scale, type: f32, value: 1 / K}\n"
    "  - {name: big, type: u64, value: 0x7fffffffffffffff}\n"
    "check: {seeds: 3, repeats: 5, seed: 9}\n"
    "measure: {l2: flush, deadline_s: 3, max_samples: 40}\n";

static workload *parse(const char *text)
{
    workload *w = NULL;
    evocc_error error;
    if (workload_parse(&w, text, strlen(text), "w.yaml", folder, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return w;
}

static void a_whole_file(void **state)
{
    (void)state;
    workload *w = parse(full);
    const workload_module *m = workload_get_module(w);
    assert_string_equal(path_base(m->path), "gemm.cu");
    assert_false(m->is_ptx);
    assert_string_equal(m->arch, "sm_90a");
    assert_string_equal(m->nvcc[1], "-lineinfo");
    assert_null(m->nvcc[2]);
    assert_string_equal(m->ptxas[0], "-O2");
    assert_int_equal(workload_parameter_count(w), 2);
    assert_int_equal(workload_get_parameter(w, 0)->default_index, 1);
    gpu_job job;
    assert_int_equal(workload_resolve(&job, w, NULL, NULL), EVOCC_OK);
    assert_string_equal(job.kernel, "gemm");
    assert_int_equal(job.shape_count, 2);
    assert_int_equal(job.check.seeds, 3);
    assert_int_equal(job.check.self_runs, 10);
    assert_true(job.measure.flush_l2 && job.measure.deadline_s == 3 &&
                job.measure.max_samples == 40);
    assert_true(job.measure.restore); /* sums is read and written */
    const gpu_shape *large = &job.shapes[0];
    assert_string_equal(large->name, "large");
    assert_true(large->weight == 2 && job.shapes[1].weight == 1);
    assert_int_equal(large->launch.grid[0], 63);
    assert_int_equal(large->launch.grid[1], 32);
    assert_int_equal(large->launch.grid[2], 1);
    assert_int_equal(large->launch.block[0], 256);
    assert_int_equal(large->launch.cluster[0], 2);
    assert_int_equal(large->launch.shared_bytes, 32 * 512 * 4);
    const gpu_argument *a = large->arguments;
    assert_int_equal(a[0].elements, 512000);
    assert_true(a[0].init == GPU_NORMAL && a[0].second == 0.25);
    assert_int_equal(a[1].type, DTYPE_E4M3);
    assert_true(a[2].access == GPU_OUT && a[2].tolerance.rms == 1e-3);
    assert_true(a[3].access == GPU_INOUT && a[3].first == 0.5);
    assert_true(a[4].init == GPU_IOTA && a[4].second == 1);
    assert_int_equal(*(const int32_t *)(const void *)a[5].scalar, 2000);
    assert_true(*(const float *)(const void *)a[6].scalar == 1 / 512.0F);
    assert_true(*(const uint64_t *)(const void *)a[7].scalar == INT64_MAX);
    gpu_job_dispose(&job);
    workload_free(w);
}

static void parameters_move_the_launch(void **state)
{
    (void)state;
    workload *w = parse(full);
    gpu_job job;
    assert_int_equal(workload_resolve(&job, w, (const int64_t[]){64, 2}, NULL), EVOCC_OK);
    assert_int_equal(job.shapes[0].launch.grid[0], 32);
    assert_int_equal(job.shapes[0].launch.block[0], 512);
    gpu_job_dispose(&job);
    evocc_space *space;
    evocc_error error;
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(workload_add_controls(space, w, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    assert_int_equal(space_count(space), 2);
    assert_string_equal(space_get(space, 0)->full_name, "define/TILE");
    assert_string_equal(space_get(space, 0)->option, "-DTILE={}");
    int32_t genes[2];
    assert_int_equal(space_candidate_parse(genes, space, "define/TILE=64 define/STAGES=3", &error),
                     EVOCC_OK);
    assert_int_equal(space_check(space, genes, &error), EVOCC_REFUSED);
    space_free(space);
    workload_free(w);
}

/* `line` of the full text replaced by another must be refused with a message that begins and ends
 * so. */
static void refuse(const char *line, const char *other, const char *place, const char *reason)
{
    static char text[4096];
    const char *at = strstr(full, line);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - full), full, other, at + strlen(line));
    workload *w = NULL;
    evocc_error error;
    assert_int_equal(workload_parse(&w, text, strlen(text), "w.yaml", folder, &error), EVOCC_PARSE);
    if (strncmp(error.message, place, strlen(place)) != 0 ||
        strstr(error.message, reason) == NULL) {
        fail_msg("%s", error.message);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    refuse("evocc-workload: 1", "evocc-workload: 2", "w.yaml:1:17:", "version 2 is not known");
    refuse("kernel: gemm\n", "", "w.yaml:", "'kernel' is missing");
    refuse("gemm.cu", "gemm.c", "w.yaml:2:9:", "a .cu or a .ptx");
    refuse("gemm.cu", "gemm.ptx", "w.yaml:5:", "nvcc has no part");
    refuse("arch: sm", "arhc: sm", "w.yaml:4:1:", "arch");
    refuse("default: 32", "default: 33", "w.yaml:7:", "none of the values");
    refuse("  STAGES:", "  2STAGES:", "w.yaml:8:3:", "a name of letters");
    refuse("TILE * STAGES <= 128", "TILE * STAGE <= 128", "w.yaml:9:", "STAGE");
    refuse("N: 2 * M", "N: 2 * Q", "w.yaml:11:", "there is no 'Q' here (only M)");
    refuse("weight: 2", "weight: 0", "w.yaml:11:", "above 0");
    refuse("K: 512", "TILE: 512", "w.yaml:7:3:", "this name is taken");
    refuse("  grid:", "  gird:", "w.yaml:14:3:", "grid");
    refuse("block: TILE * 8", "block: TILE * 64", "w.yaml:15:", "from 1 to 1024");
    refuse("block: TILE * 8", "block: [TILE, TILE, 2]", "w.yaml:15:", "at most 1024 threads");
    refuse("block: TILE * 8", "block: TILE / 3", "w.yaml:15:", "a whole number");
    refuse("block: TILE * 8", "block: 8 // 0", "w.yaml:15:", "attempt to divide by zero");
    refuse("block: TILE * 8", "block: 1 < 2", "w.yaml:15:", "a boolean, not a number");
    refuse("type: f16", "type: half", "w.yaml:19:", "expected here");
    refuse("shape: [M, K]", "shape: [M, TILE]", "w.yaml:19:", "there is no 'TILE' here");
    refuse("shape: [M, K]", "shape: [M, 0]", "w.yaml:19:", "from 1 to");
    refuse("{normal: [0, 1 / 4]}", "{normal: [0, -1]}", "w.yaml:19:", "not negative");
    refuse("{normal: [0, 1 / 4]}", "{normal: 0}", "w.yaml:19:", "two numbers");
    refuse("{normal: [0, 1 / 4]}", "{gauss: [0, 1]}", "w.yaml:19:", "gauss");
    refuse("{uniform: [-1, 1]}", "{uniform: [1, -1]}", "w.yaml:20:", "the range is empty");
    refuse("access: out,", "access: out, init: zeros,", "w.yaml:21:", "begins as poison");
    refuse("access: inout", "access: both", "w.yaml:22:", "in, out or inout");
    refuse("init: iota", "tolerance: {rms: 1}", "w.yaml:23:", "for outputs");
    refuse("value: N}", "value: N / 3}", "w.yaml:24:", "no value of type i32");
    refuse("value: N}", "value: N, shape: [1]}", "w.yaml:24:", "either a value or a shape");
    refuse("seeds: 3", "seeds: 0", "w.yaml:27:", "between 1 and 16");
    refuse("l2: flush", "l2: cold", "w.yaml:28:", "'warm' or 'flush'");
    refuse("l2: flush", "l2: flush, graph: true", "w.yaml:28:", "neither flush nor restore");
}

static void no_output_no_check(void **state)
{
    (void)state;
    static const char text[] = "evocc-workload: 1\nmodule: a.ptx\nkernel: k\n"
                               "launch: {grid: 1, block: 1}\n"
                               "arguments:\n  - {name: x, type: f32, shape: [4]}\n";
    workload *w = NULL;
    evocc_error error;
    assert_int_equal(workload_parse(&w, text, strlen(text), "w.yaml", folder, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "no argument is an output"));
}

static void files_are_found_and_checked(void **state)
{
    (void)state;
    static const char text[] =
        "evocc-workload: 1\nmodule: a.ptx\nkernel: k\nlaunch: {grid: 1, block: 1}\n"
        "arguments:\n"
        "  - {name: x, type: f32, shape: [%s], init: {file: x.npy}}\n"
        "  - {name: y, type: f32, shape: [4], access: out, reference: x.npy}\n";
    const float data[4] = {1, 2, 3, 4};
    const npy_shape shape = {{4}, 1, 4};
    char path[512];
    char copy[600];
    evocc_error error;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    assert_int_equal(npy_write(path, DTYPE_F32, &shape, data, &error), EVOCC_OK);
    snprintf(path, sizeof path, "%s/w.yaml", folder);
    snprintf(copy, sizeof copy, text, "4");
    assert_int_equal(file_write(path, copy, strlen(copy), &error), EVOCC_OK);
    workload *w = NULL;
    if (workload_read(&w, path, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    gpu_job job;
    assert_int_equal(workload_resolve(&job, w, NULL, &error), EVOCC_OK);
    assert_true(job.shapes[0].arguments[0].file[0] == '/');
    assert_string_equal(path_base(job.shapes[0].arguments[1].reference), "x.npy");
    gpu_job_dispose(&job);
    workload_free(w);
    snprintf(copy, sizeof copy, text, "5");
    assert_int_equal(workload_parse(&w, copy, strlen(copy), "w.yaml", folder, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "holds 4 elements of f32, the argument 5 of f32"));
    assert_int_equal(workload_read(&w, "/nonexistent.yaml", &error), EVOCC_NOT_FOUND);
}

static void nth_allocation_fails(void **state)
{
    (void)state;
    evocc_status status = EVOCC_NO_MEMORY;
    long n = 0;
    workload *w = NULL;
    evocc_error error;
    for (; n < 4000 && status == EVOCC_NO_MEMORY; n++) {
        mem_fail_after(n);
        status = workload_parse(&w, full, strlen(full), "w.yaml", folder, &error);
    }
    mem_fail_after(-1);
    if (status != EVOCC_OK) {
        fail_msg("allocation %ld: %s", n, error.message);
    }
    assert_true(n > 20);
    workload_free(w);
}

static void arithmetic(void **state)
{
    (void)state;
    const arithmetic_name names[] = {{"M", 7}, {"x_1", 0.5}};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"M // 2", 3},
                {"M / 2", 3.5},
                {"2 ^ M", 128},
                {"M * x_1", 3.5},
                {"(M + 15) & ~15", 16},
                {"1 << 20", 1048576},
                {"M % 4 == 3 and 10 or 20", 10},
                {"-M", -7},
                {"0x10", 16},
                {"1e-3", 1e-3}};
    double value;
    evocc_error error;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (arithmetic_value(&value, good[i].text, names, 2, &error) != EVOCC_OK ||
            value != good[i].value) {
            fail_msg("%s: %.17g", good[i].text, value);
        }
    }
    static const struct {
        const char *text, *reason;
    } wrong[] = {{"", "line 1, column 1"},
                 {"M +", "line 1, column 4"},
                 {"os.exit()", "no fields"},
                 {"f(1)", "there are no calls"},
                 {"Q", "there is no 'Q' here (only M, x_1)"},
                 {"1 / 0", "not a finite number"},
                 {"M // 0", "attempt to divide by zero"},
                 {"'a'", "a string, not a number"},
                 {"1.5 & 1", "number has no integer representation"},
                 {"M == 7", "a boolean, not a number"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (arithmetic_value(&value, wrong[i].text, names, 2, &error) == EVOCC_OK ||
            strstr(error.message, wrong[i].reason) == NULL) {
            fail_msg("%s: %s", wrong[i].text, error.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file),
        cmocka_unit_test(parameters_move_the_launch),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(no_output_no_check),
        cmocka_unit_test(files_are_found_and_checked),
        cmocka_unit_test(nth_allocation_fails),
        cmocka_unit_test(arithmetic),
    };
    return cmocka_run_group_tests_name("workload", tests, begin, end);
}
