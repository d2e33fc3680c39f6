/* The ptxas wrapper before the real ptxas, where there is one. */
#include "wrapper_support.h"

#include "compiler/compiler.h"
#include "ptx/ptx.h"
#include "util/files.h"
#include "util/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *ptxas;

static int open_bench(void **state)
{
    bench *b = mem_alloc(1, sizeof *b);
    assert_non_null(b);
    bench_open(b);
    b->ptxas = ptxas;
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

/* The compiler without us, in the same folder. */
static void call_bare(process_result *result, const bench *b, const char *const *words)
{
    const char *argv[16] = {ptxas};
    for (size_t i = 0; words[i] != NULL; i++) {
        assert_true(i + 2 < sizeof argv / sizeof argv[0]);
        argv[i + 1] = words[i];
    }
    const process_request request = {.argv = argv, .folder = b->folder, .deadline_s = 60};
    assert_int_equal(process_run(result, &request, NULL), EVOCC_OK);
}

/* Everything a build can see is the same with and without the wrapper in between. */
static void nothing_changes_without_a_file(void **state)
{
    bench *b = *state;
    static const char *const commands[][8] = {
        {"-arch=sm_90a", "kernel.ptx", "-o", "out"},
        {"-arch=sm_90a", "kernel.ptx"},
        {"-arch", "sm_90a", "kernel.ptx", "--output-file=out"},
        {"-arch=sm_90a", "-lineinfo", "kernel.ptx", "-o", "out"},
        {"-arch=sm_90a", "-c", "kernel.ptx", "-o", "out"},
        {"-arch=sm_80", "kernel.ptx", "-o", "out"},
        {"-arch=sm_1", "kernel.ptx", "-o", "out"},
        {"-arch=sm_90a", "absent.ptx", "-o", "out"},
        {"-arch=sm_90a", "kernel.ptx", "-o", "no/folder"},
        {"--unheard-of", "kernel.ptx"},
        {"--version"},
        {"--help"},
        {"--list-version"},
        {"-arch=sm_90a", "-o", "a name of spaces", "kernel.ptx"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        process_result bare = {0};
        const char *output = i == 1 ? "elf.o" : i == 13 ? "a name of spaces" : "out";
        char *path = bench_path(b, output);
        call_bare(&bare, b, commands[i]);
        char *expected = bench_read(b, output);
        unlink(path);
        bench_call(b, commands[i]);
        expect(b, bare.exit_status, bare.output, bare.errors);
        expect_file(b, output, expected);
        unlink(path);
        mem_free(expected);
        mem_free(path);
        process_result_dispose(&bare);
    }
}

/* The ordinary way to the same machine code: the rewritten PTX as a file, the options by hand. */
static void tuned_by_hand(const bench *b, const char *const *words)
{
    char *text = bench_read(b, "kernel.ptx");
    ptx_module *module = NULL;
    strbuf rewritten = {0};
    evocc_error error = {0};
    const ptx_setting setting = {"order@fa", "late"};
    assert_int_equal(ptx_parse(&module, text, strlen(text), "kernel.ptx", &error), EVOCC_OK);
    if (ptx_rewrite(&rewritten, module, &setting, 1, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    bench_write(b, "tuned.ptx", strbuf_text(&rewritten));
    process_result result = {0};
    call_bare(&result, b, words);
    assert_int_equal(result.exit_status, 0);
    process_result_dispose(&result);
    strbuf_dispose(&rewritten);
    ptx_free(module);
    mem_free(text);
}

/* Without the line that says how long it took. */
static void cut_time(char *text)
{
    char *line = strstr(text, "ptxas info    : Compile time");
    if (line != NULL) {
        *line = '\0';
    }
}

static void the_code_is_the_tuned_one(void **state)
{
    bench *b = *state;
    evocc_error error = {0};
    char *example = NULL;
    size_t length = 0;
    assert_int_equal(file_read(&example, &length,
                               EVOCC_SOURCE_DIR "/examples/triton_attention_128x64_w4_sm90a.ptx",
                               1 << 24, &error),
                     EVOCC_OK);
    bench_write(b, "kernel.ptx", example);
    mem_free(example);
    compiler_identity identity = {0};
    if (compiler_ptxas.identify(&identity, NULL, ptxas, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    const control_text controls[] = {{"ptx/order@fa", "late"},
                                     {"ptxas/register-usage-level", "10"}};
    const acf_target target = {.kernel = "fa", .version = identity.version};
    bench_write_acf(b, "best.acf", &target, controls, 2);
    compiler_identity_dispose(&identity);

    tuned_by_hand(b, (const char *const[]){"-arch=sm_90a", "-v", "--register-usage-level=10",
                                           "tuned.ptx", "-o", "by-hand.cubin", NULL});
    CALL(b, "-arch=sm_90a", "kernel.ptx", "-o", "plain.cubin");
    CALL(b, "--apply-controls=best.acf", "--strict", "-arch=sm_90a", "-v", "kernel.ptx", "-o",
         "wrapped.cubin");
    if (b->result.exit_status != 0) {
        fail_msg("%s", b->result.errors);
    }
    process_result by_hand = {0};
    call_bare(&by_hand, b,
              (const char *const[]){"-arch=sm_90a", "-v", "--register-usage-level=10", "tuned.ptx",
                                    "-o", "by-hand.cubin", NULL});
    cut_time(by_hand.errors);
    cut_time(b->result.errors);
    assert_string_equal(b->result.errors, by_hand.errors);
    assert_string_equal(b->result.output, "");
    process_result_dispose(&by_hand);

    static const char *const names[] = {"wrapped.cubin", "by-hand.cubin", "plain.cubin"};
    char *data[3];
    size_t lengths[3];
    for (int i = 0; i < 3; i++) {
        char *path = bench_path(b, names[i]);
        assert_int_equal(file_read(&data[i], &lengths[i], path, 1 << 26, &error), EVOCC_OK);
        mem_free(path);
    }
    assert_int_equal(lengths[0], lengths[1]);
    assert_memory_equal(data[0], data[1], lengths[0]);
    assert_true(lengths[0] != lengths[2] || memcmp(data[0], data[2], lengths[0]) != 0);
    for (int i = 0; i < 3; i++) {
        mem_free(data[i]);
    }
}

/* A file of other tools reaches a compiler that knows such files, and what it says is shown. */
static void other_files_reach_the_compiler(void **state)
{
    bench *b = *state;
    process_result bare = {0};
    static const char *const words[] = {
        "--apply-controls", "theirs", "-arch=sm_90a", "kernel.ptx", "-o", "out", NULL};
    bench_write(b, "theirs", "\x01\x02 random bytes");
    call_bare(&bare, b, words);
    bench_call(b, words);
    if (strstr(bare.errors, "Unknown option") != NULL) {
        assert_int_equal(b->result.exit_status, 1);
        expect_said(b, "knows no --apply-controls of its own");
    } else {
        expect(b, bare.exit_status, bare.output, bare.errors);
    }
    process_result_dispose(&bare);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_bench, close_bench)

int main(void)
{
    evocc_error error = {0};
    if (compiler_find(&ptxas, "ptxas", NULL, &error) != EVOCC_OK) {
        printf("skipped: %s\n", error.message);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        TEST(nothing_changes_without_a_file),
        TEST(the_code_is_the_tuned_one),
        TEST(other_files_reach_the_compiler),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mem_free(ptxas);
    return failed;
}
