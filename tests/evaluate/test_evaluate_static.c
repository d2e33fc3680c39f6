/* Static evaluation against a fake ptxas: whose fault each end is, and that nothing runs twice. */
#include "../compiler/support.h"

#include "evaluate/evaluate.h"

#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

typedef struct bench {
    char *folder, *ptxas;
    launcher *launcher;
    compiler_identity identity;
    ptx_module *module;
    evocc_space *space;
    evaluator *e;
    evaluate_static_options options;
} bench;

static const char stats_text[] =
    "ptxas info    : Compiling entry function 'b' for 'sm_80'\n"
    "ptxas info    : Function properties for b\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n"
    "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
    "ptxas info    : Function properties for a\n"
    "    24 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 24 bytes cumulative stack size, "
    "128 bytes smem\n";

static const char *const levels[] = {"0", "1", "2", "3"};

static evocc_space *make_space(void)
{
    evocc_space *space = NULL;
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    space_control level = {.stage = SPACE_STAGE_PTXAS,
                           .name = "opt-level",
                           .option = "--opt-level={}",
                           .help = "",
                           .source = "",
                           .kind = SPACE_CHOICE,
                           .choices = levels,
                           .size = 4,
                           .default_index = 3,
                           .parent = SPACE_ABSENT};
    space_control flag = {.stage = SPACE_STAGE_PTXAS,
                          .name = "return-at-end",
                          .option = "--return-at-end",
                          .help = "",
                          .source = "",
                          .kind = SPACE_FLAG,
                          .size = 1,
                          .default_index = SPACE_ABSENT,
                          .parent = SPACE_ABSENT};
    evocc_error error;
    if (space_add(space, &level, &error) != EVOCC_OK ||
        space_add(space, &flag, &error) != EVOCC_OK || space_finish(space, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return space;
}

static evocc_status make_evaluator(bench *b, evocc_error *error)
{
    return evaluate_static_new(&b->e, &b->options, error);
}

static void start_launcher(bench *b)
{
    evocc_error error;
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    if (launcher_new(&b->launcher, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
}

static void put_good_cubin(const char *folder)
{
    size_t length = 0;
    char *path = path_join(folder, "good.cubin");
    char *data = support_read(FIXTURES "cubins/two-13.0.88.cubin", &length);
    assert_int_equal(file_write(path, data, length, NULL), EVOCC_OK);
    mem_free(data);
    mem_free(path);
}

static int set_up(void **state)
{
    static bench b;
    b = (bench){.folder = support_folder()};
    b.ptxas = support_fake(b.folder);
    put_good_cubin(b.folder);
    support_write(b.folder, "stats", stats_text);
    start_launcher(&b);
    b.identity = (compiler_identity){.path = b.ptxas, .version = (char *)(uintptr_t) "12.9.1"};
    char *text = support_read(FIXTURES "two.ptx", NULL);
    assert_int_equal(ptx_parse(&b.module, text, strlen(text), "two.ptx", NULL), EVOCC_OK);
    mem_free(text);
    b.space = make_space();
    b.options = (evaluate_static_options){.module = b.module,
                                          .module_path = "some where/two.ptx",
                                          .entry = "a",
                                          .arch = "sm_80",
                                          .ptxas = &b.identity,
                                          .space = b.space,
                                          .launcher = b.launcher,
                                          .workers = 2,
                                          .deadline_s = 20.0};
    assert_int_equal(make_evaluator(&b, NULL), EVOCC_OK);
    *state = &b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    if (b->e != NULL) {
        b->e->class->free(b->e);
    }
    space_free(b->space);
    ptx_free(b->module);
    launcher_free(b->launcher);
    mem_free(b->ptxas);
    support_remove(b->folder);
    return 0;
}

static void set_mode(bench *b, const char *mode)
{
    support_write(b->folder, "mode", mode);
}

static evocc_status evaluate(bench *b, evaluate_result *r, int32_t level, int32_t flag,
                             evocc_error *error)
{
    int32_t genes[] = {level, flag};
    *r = (evaluate_result){0};
    evocc_status status = b->e->class->submit(b->e, 7, genes, error);
    return status != EVOCC_OK ? status : b->e->class->wait(b->e, 60.0, -1, r, error);
}

static evaluate_result evaluated(bench *b, int32_t level, int32_t flag)
{
    evaluate_result r;
    evocc_error error;
    if (evaluate(b, &r, level, flag, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(r.id, 7);
    return r;
}

/* Files of trials in the worker folders. */
static size_t count_leftovers(bench *b)
{
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            char path[512];
            snprintf(path, sizeof path, "%s/worker-%d/candidate.%s", launcher_folder(b->launcher),
                     i, k == 0 ? "ptx" : "cubin");
            count += file_exists(path);
        }
    }
    return count;
}

static void test_metrics(void **state)
{
    bench *b = *state;
    evaluate_result r = evaluated(b, 1, 0);
    assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
    assert_true(r.metrics[EVALUATE_REGISTERS] == 40.0);
    assert_true(r.metrics[EVALUATE_SPILL_BYTES] == 28.0);
    assert_true(r.metrics[EVALUATE_STACK_BYTES] == 24.0);
    assert_true(r.metrics[EVALUATE_CODE_BYTES] == 256.0);
    assert_true(r.metrics[EVALUATE_SHARED_BYTES] == 128.0);
    assert_true(r.metrics[EVALUATE_COMPILE_TIME] >= 0.0);
    assert_int_equal(strlen(r.code_hash), 64);
    assert_string_equal(r.detail, "");
    assert_true(r.wall_s > 0.0);
    evaluate_result_dispose(&r);
    assert_int_equal(count_leftovers(b), 0);
}

static void test_whole_module(void **state)
{
    bench *b = *state;
    b->e->class->free(b->e);
    b->options.entry = NULL;
    assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    evaluate_result r = evaluated(b, SPACE_ABSENT, SPACE_ABSENT);
    assert_true(r.metrics[EVALUATE_REGISTERS] == 48.0);
    assert_true(r.metrics[EVALUATE_SPILL_BYTES] == 28.0);
    assert_true(r.metrics[EVALUATE_CODE_BYTES] == 384.0);
    evaluate_result_dispose(&r);
}

/* What the compiler does not say is unknown, not zero. */
static void test_silence(void **state)
{
    bench *b = *state;
    support_write(b->folder, "stats", "");
    evaluate_result r = evaluated(b, SPACE_ABSENT, SPACE_ABSENT);
    assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
    assert_true(isnan(r.metrics[EVALUATE_REGISTERS]) && isnan(r.metrics[EVALUATE_SPILL_BYTES]));
    assert_true(isnan(r.metrics[EVALUATE_STACK_BYTES]) && isnan(r.metrics[EVALUATE_SHARED_BYTES]));
    assert_true(r.metrics[EVALUATE_CODE_BYTES] == 256.0);
    evaluate_result_dispose(&r);
}

/* Spills that may have gone to shared memory are in no count: unknown, unless the entry has no
   shared memory at all. */
static void test_spills_to_shared(void **state)
{
    bench *b = *state;
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry a()\n{\n"
                               "    .pragma \"enable_smem_spilling\";\n    ret;\n}\n";
    b->e->class->free(b->e);
    ptx_free(b->module);
    b->module = NULL;
    assert_int_equal(ptx_parse(&b->module, text, sizeof text - 1, "k.ptx", NULL), EVOCC_OK);
    b->options.module = b->module;
    assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    evaluate_result r = evaluated(b, 1, SPACE_ABSENT);
    assert_true(isnan(r.metrics[EVALUATE_SPILL_BYTES]));
    assert_true(r.metrics[EVALUATE_SHARED_BYTES] == 128.0);
    evaluate_result_dispose(&r);
    support_write(b->folder, "stats",
                  "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
                  "ptxas info    : Function properties for a\n"
                  "    8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
                  "ptxas info    : Used 32 registers\n");
    r = evaluated(b, 2, SPACE_ABSENT);
    assert_true(r.metrics[EVALUATE_SPILL_BYTES] == 12.0);
    evaluate_result_dispose(&r);
}

static void test_command(void **state)
{
    bench *b = *state;
    b->e->class->free(b->e);
    char *base[] = {(char *)(uintptr_t) "-maxrregcount", (char *)(uintptr_t) "32"};
    b->options.base = base;
    b->options.base_count = COUNT(base);
    assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    evaluate_result r = evaluated(b, 1, 0);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "evocc compile 'some where/two.ptx' --arch sm_80 --ptxas %s --kernel a --with "
             "'ptxas/opt-level=1 ptxas/return-at-end=on' -o trial.cubin -- -maxrregcount 32",
             b->ptxas);
    assert_string_equal(r.command, expected);
    evaluate_result_dispose(&r);
    /* And this is what the compiler was told. */
    char *path = path_join(b->folder, "log");
    char *log = support_read(path, NULL);
    assert_string_equal(log, "-arch sm_80 -v -maxrregcount 32 --opt-level=1 --return-at-end "
                             "two.ptx -o candidate.cubin\n");
    mem_free(log);
    mem_free(path);
}

/* ---- Whose fault ------------------------------------------------------------------------- */

static void test_bad_candidates(void **state)
{
    bench *b = *state;
    static const struct {
        const char *mode;
        evocc_outcome outcome;
        const char *detail;
    } rows[] = {
        {"fails", EVOCC_OUTCOME_COMPILE_FAILED,
         "ptxas candidate.ptx, line 7; error   : Unknown symbol 'x'"},
        {"fails-silently", EVOCC_OUTCOME_COMPILE_FAILED, "exit status 3 without a message"},
        {"crashes", EVOCC_OUTCOME_COMPILER_CRASHED, "killed by signal 11"},
        {"killed", EVOCC_OUTCOME_OUT_OF_MEMORY, "killed by signal 9"},
        {"internal", EVOCC_OUTCOME_COMPILER_CRASHED, "Internal error: bad things"},
        {"no-memory", EVOCC_OUTCOME_OUT_OF_MEMORY, "Memory allocation failure"},
        {"cut-short", EVOCC_OUTCOME_COMPILER_CRASHED, "damaged"},
        {"text", EVOCC_OUTCOME_COMPILER_CRASHED, "no cubin"},
        {"writes-nothing", EVOCC_OUTCOME_COMPILER_CRASHED, "it wrote no machine code"},
        {"garbage", EVOCC_OUTCOME_OK, ""},
        {"floods", EVOCC_OUTCOME_OK, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        /* A new evaluator forgets; the slot has just held a good output. */
        set_mode(b, "good");
        evaluate_result r = evaluated(b, SPACE_ABSENT, SPACE_ABSENT);
        assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
        evaluate_result_dispose(&r);
        set_mode(b, rows[i].mode);
        r = evaluated(b, 0, SPACE_ABSENT);
        if (r.outcome != rows[i].outcome || strstr(r.detail, rows[i].detail) == NULL ||
            (rows[i].detail[0] == '\0') != (r.detail[0] == '\0')) {
            fail_msg("%s: %s, %s", rows[i].mode, evocc_outcome_name(r.outcome), r.detail);
        }
        if (r.outcome != EVOCC_OUTCOME_OK) {
            assert_string_equal(r.code_hash, "");
            for (size_t m = 0; m < EVALUATE_STATIC_COUNT; m++) {
                assert_true(isnan(r.metrics[m]));
            }
        }
        evaluate_result_dispose(&r);
        assert_int_equal(count_leftovers(b), 0);
        b->e->class->free(b->e);
        assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    }
}

static void test_deadlines(void **state)
{
    bench *b = *state;
    static const char *const modes[] = {"hangs", "ignores-term"};
    b->e->class->free(b->e);
    b->options.deadline_s = 0.3;
    assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    for (size_t i = 0; i < COUNT(modes); i++) {
        set_mode(b, modes[i]);
        evaluate_result r = evaluated(b, 0, SPACE_ABSENT);
        assert_int_equal(r.outcome, EVOCC_OUTCOME_COMPILE_TIMEOUT);
        assert_string_equal(r.detail, "not done after 0.3 s");
        assert_true(r.wall_s >= 0.25);
        evaluate_result_dispose(&r);
    }
    /* Time is no property of the candidate: tried again, it may do. */
    set_mode(b, "good");
    evaluate_result r = evaluated(b, 0, SPACE_ABSENT);
    assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
    evaluate_result_dispose(&r);
}

static void expect_fault(bench *b, evocc_status expected, const char *word)
{
    evaluate_result r;
    evocc_error error;
    assert_int_equal(evaluate(b, &r, 0, SPACE_ABSENT, &error), expected);
    if (strstr(error.message, word) == NULL) {
        fail_msg("%s", error.message);
    }
}

/* What condemns no candidate but stops the study. */
static void test_machine_faults(void **state)
{
    bench *b = *state;
    static const struct {
        const char *mode;
        evocc_status status;
        const char *word;
    } rows[] = {{"no-space", EVOCC_IO, "free some space"},
                {"no-input", EVOCC_IO, "disturbed"},
                {"lost", EVOCC_PROCESS, "ptxas-real: not found"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        set_mode(b, rows[i].mode);
        expect_fault(b, rows[i].status, rows[i].word);
        b->e->class->free(b->e);
        assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    }
    unlink(b->ptxas);
    expect_fault(b, EVOCC_PROCESS, "put it back");
}

static void test_folder_lost(void **state)
{
    bench *b = *state;
    folder_remove(launcher_folder(b->launcher));
    expect_fault(b, EVOCC_IO, "work folder");
}

/* A disk that fills while the compiler writes: it does not notice, and the file is cut short. */
static void test_disk_full(void **state)
{
    bench *b = *state;
    char *disk = path_join(b->folder, "disk");
    assert_int_equal(folder_make(disk, NULL), EVOCC_OK);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=16k") != 0) {
        print_message("cannot mount a small disk: %s\n", strerror(errno));
        mem_free(disk);
        skip();
    }
    b->e->class->free(b->e);
    b->e = NULL;
    launcher_free(b->launcher);
    setenv("TMPDIR", disk, 1);
    start_launcher(b);
    unsetenv("TMPDIR");
    b->options.launcher = b->launcher;
    assert_int_equal(make_evaluator(b, NULL), EVOCC_OK);
    set_mode(b, "cut-short");
    expect_fault(b, EVOCC_IO, "free some space");
    b->e->class->free(b->e);
    b->e = NULL;
    launcher_free(b->launcher);
    b->launcher = NULL;
    assert_int_equal(umount(disk), 0);
    mem_free(disk);
}

/* ---- Nothing twice ----------------------------------------------------------------------- */

static void test_memo(void **state)
{
    bench *b = *state;
    evaluate_result first = evaluated(b, 1, SPACE_ABSENT);
    evaluate_result again = evaluated(b, 1, SPACE_ABSENT);
    assert_int_equal(support_count_lines(b->folder, "log"), 1);
    assert_string_equal(again.code_hash, first.code_hash);
    assert_string_equal(again.command, first.command);
    assert_memory_equal(again.metrics, first.metrics, sizeof first.metrics);
    evaluate_result_dispose(&first);
    evaluate_result_dispose(&again);
    /* Failures are remembered with their reason. */
    set_mode(b, "fails");
    first = evaluated(b, 2, SPACE_ABSENT);
    again = evaluated(b, 2, SPACE_ABSENT);
    assert_int_equal(support_count_lines(b->folder, "log"), 2);
    assert_string_equal(again.detail, first.detail);
    assert_non_null(strstr(again.detail, "Unknown symbol"));
    evaluate_result_dispose(&first);
    evaluate_result_dispose(&again);
}

/* Two of the same at the same time: one compilation, two results. */
static void test_twins(void **state)
{
    bench *b = *state;
    int32_t genes[] = {1, SPACE_ABSENT};
    evocc_error error;
    assert_int_equal(b->e->class->submit(b->e, 10, genes, &error), EVOCC_OK);
    assert_int_equal(b->e->class->submit(b->e, 11, genes, &error), EVOCC_OK);
    assert_int_equal(b->e->class->submit(b->e, 12, genes, &error), EVOCC_BUSY);
    assert_int_equal(b->e->in_flight, 2);
    uint64_t ids = 0;
    for (int i = 0; i < 2; i++) {
        evaluate_result r;
        assert_int_equal(b->e->class->wait(b->e, 60.0, -1, &r, &error), EVOCC_OK);
        assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
        ids += r.id;
        evaluate_result_dispose(&r);
    }
    assert_int_equal(ids, 21);
    assert_int_equal(b->e->in_flight, 0);
    assert_int_equal(support_count_lines(b->folder, "log"), 1);
    evaluate_result r;
    assert_int_equal(b->e->class->wait(b->e, 0.0, -1, &r, &error), EVOCC_NOT_FOUND);
}

static void test_cubin_again(void **state)
{
    bench *b = *state;
    int32_t genes[] = {1, SPACE_ABSENT};
    char *code = NULL;
    size_t length = 0;
    evocc_error error;
    assert_int_equal(evaluate_static_cubin(&code, &length, b->e, genes, &error), EVOCC_OK);
    cubin_info info;
    assert_int_equal(cubin_read(&info, code, length, "a", &error), EVOCC_OK);
    mem_free(code);
    code = NULL;
    set_mode(b, "fails");
    assert_int_equal(evaluate_static_cubin(&code, &length, b->e, genes, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "Unknown symbol"));
    assert_null(code);
    assert_int_equal(count_leftovers(b), 0);
}

/* Whatever allocation fails, the call says so and the evaluator can be used or freed. */
static void test_out_of_memory(void **state)
{
    bench *b = *state;
    int32_t genes[] = {1, 0};
    b->e->class->free(b->e);
    long failed = 0;
    for (;; failed++) {
        b->e = NULL;
        mem_fail_after(failed);
        evocc_status status = make_evaluator(b, NULL);
        if (status == EVOCC_OK) {
            status = b->e->class->submit(b->e, 7, genes, NULL);
        }
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        if (b->e != NULL) {
            assert_int_equal(b->e->in_flight, 0);
            b->e->class->free(b->e);
        }
    }
    assert_true(failed >= 20);
    evaluate_result r = {0};
    assert_int_equal(b->e->class->wait(b->e, 60.0, -1, &r, NULL), EVOCC_OK);
    assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
    evaluate_result_dispose(&r);
}

/* The fake writes the same code whatever it is told: exactly what the canary is for. */
static void test_canary(void **state)
{
    bench *b = *state;
    evaluate_result r = evaluated(b, SPACE_ABSENT, SPACE_ABSENT);
    evocc_error error;
    assert_int_equal(evaluate_canary(b->e, b->space, r.code_hash, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "ptxas/opt-level=0"));
    assert_non_null(strstr(error.message, "ptxas/return-at-end=on"));
    assert_int_equal(evaluate_canary(b->e, b->space, "other code", &error), EVOCC_OK);
    evaluate_result_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_whole_module, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spills_to_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deadlines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_machine_faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memo, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_twins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cubin_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_canary, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
