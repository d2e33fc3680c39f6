/* The ptxas wrapper before a fake ptxas, which shows byte for byte what reached it. */
#include "wrapper_support.h"

#include "space/space.h"
#include "util/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const control_text late = {"ptx/order@k", "late"};

/* ---- Words ----------------------------------------------------------------------------------- */

static void words_arrive_byte_for_byte(void **state)
{
    bench *b = *state;
    static const char *const words[] = {"",
                                        " ",
                                        "a b",
                                        "'",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "a\nb\n",
                                        "\x01\xff",
                                        "*",
                                        "$(x)",
                                        "`x`",
                                        "-",
                                        "--",
                                        "---",
                                        "-o",
                                        "--",
                                        "=",
                                        "~",
                                        "%s",
                                        "--strictly",
                                        "-apply",
                                        "-Xapply-controls",
                                        "\xc3\xa4",
                                        "#",
                                        "a;b",
                                        "--strict=1",
                                        "--apply-controlsx",
                                        NULL};
    bench_call(b, words);
    expect(b, 255, "", "ptxas fatal   : Input file 'a;b' could not be opened\n");
    expect_words(b, words);
}

static void ten_thousand_words_arrive(void **state)
{
    bench *b = *state;
    enum { COUNT = 10000 };
    const char **words = mem_alloc(COUNT + 1, sizeof *words);
    static char texts[COUNT][8];
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "-w%d", i);
        words[i] = texts[i];
    }
    bench_call(b, words);
    expect(b, 0, "", "");
    expect_words(b, words);
    mem_free(words);
}

static void own_words_never_arrive(void **state)
{
    bench *b = *state;
    CALL(b, "--strict", "-arch=sm_90a", "-strict", "--on-mismatch=skip", "--on-mismatch", "error",
         "kernel.ptx", "-on-mismatch=skip", "--allow-numerics", "-o", "out.cubin",
         "-allow-numerics");
    expect(b, 0, "", "");
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    static const char *const forms[][3] = {{"--apply-controls", "best.acf", NULL},
                                           {"-apply-controls", "best.acf", NULL},
                                           {"--apply-controls=best.acf", NULL},
                                           {"-apply-controls=best.acf", NULL}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *words[8] = {"-arch=sm_90a", "kernel.ptx", "-o", "out.cubin"};
        memcpy(words + 4, forms[i], sizeof forms[i]);
        bench_call(b, words);
        expect(b, 0, "", "");
        WORDS(b, "-arch=sm_90a", "@", "-o", "@", "--register-usage-level=10");
    }
}

static void bad_words_of_ours_are_usage(void **state)
{
    bench *b = *state;
    CALL(b, "kernel.ptx", "--apply-controls");
    expect(b, 2, "", "evocc ptxas: --apply-controls lacks its value\n");
    CALL(b, "kernel.ptx", "--apply-controls=");
    expect(b, 2, "", "evocc ptxas: --apply-controls lacks its value\n");
    CALL(b, "kernel.ptx", "--on-mismatch=maybe");
    expect(b, 2, "", "evocc ptxas: --on-mismatch is 'skip' or 'error', not 'maybe'\n");
    bench_write_acf(b, "two.acf", NULL, &level, 1);
    CALL(b, "--apply-controls=best.acf", "kernel.ptx", "--apply-controls", "two.acf");
    expect(b, 2, "",
           "evocc ptxas: one controls file at a time: both 'best.acf' and 'two.acf' were given\n");
    assert_int_equal(bench_calls(b), 0);
}

static void questions_pass(void **state)
{
    bench *b = *state;
    CALL(b, "--apply-controls=absent.acf", "--version");
    assert_int_equal(b->result.exit_status, 0);
    assert_string_equal(b->result.errors, "");
    assert_non_null(strstr(b->result.output, "V13.0.88"));
    WORDS(b, "--version");
    CALL(b, "--help");
    assert_non_null(strstr(b->result.output, "--gpu-name"));
    CALL(b, "--apply-controls", "best.acf", "-V");
    expect(b, 0, "", "");
    WORDS(b, "-V");
}

static void the_end_of_the_compiler_is_ours(void **state)
{
    bench *b = *state;
    b->mode = "exit-3";
    CALL(b, "kernel.ptx");
    expect(b, 3, "", "fake error in kernel.ptx\nsecond line\n");
    b->mode = "signal-6";
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.end, PROCESS_SIGNALLED);
    assert_int_equal(b->result.signal, SIGABRT);
    b->mode = "print";
    CALL(b, "kernel.ptx");
    expect(b, 0, "stdout of the compiler\n",
           "ptxas kernel.ptx, line 5; warning : 'kernel.ptx' is odd, not kernel.ptx0\n");
}

static void a_missing_compiler_is_named(void **state)
{
    bench *b = *state;
    b->ptxas = "/nowhere/ptxas";
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "EVOCC_REAL_PTXAS names '/nowhere/ptxas'");
    b->ptxas = WRAPPER_TOOL; /* would call itself for ever */
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "evocc itself");
}

/* ---- Applying -------------------------------------------------------------------------------- */

static void controls_are_applied(void **state)
{
    bench *b = *state;
    const control_text both[] = {level, late};
    bench_write_acf(b, "both.acf", NULL, both, 2);
    b->mode = "print";
    CALL(b, "--apply-controls=both.acf", "-v", "-arch", "sm_90a", "kernel.ptx", "-o", "out.cubin");
    assert_int_equal(b->result.exit_status, 0);
    assert_string_equal(b->result.output, "stdout of the compiler\n");
    expect_said(b, "ptxas kernel.ptx, line 5; warning : 'kernel.ptx' is odd, not /proc/");
    WORDS(b, "-v", "-arch", "sm_90a", "@", "-o", "@", "--register-usage-level=10");
    char *cubin = bench_read(b, "out.cubin");
    assert_non_null(cubin);
    char plain[4096];
    snprintf(plain, sizeof plain, "cubin of %s", bench_kernel);
    assert_string_not_equal(cubin, plain); /* the order pass moved something */
    assert_non_null(strstr(cubin, ".visible .entry k"));
    mem_free(cubin);
    expect_file(b, "kernel.ptx", bench_kernel);
}

/* A file for the whole module: controls of every entry, and ptxas options for all. */
static void whole_modules_are_tuned_too(void **state)
{
    bench *b = *state;
    const char *second = strstr(bench_kernel, ".visible");
    char module[4096];
    snprintf(module, sizeof module, "%s%s", bench_kernel, second);
    char *name = strstr(module + strlen(bench_kernel), " k(");
    name[1] = 'q';
    bench_write(b, "kernel.ptx", module);
    const control_text controls[] = {late, {"ptx/order@q", "late"}, level};
    const acf_target target = {.kernel = "*"};
    bench_write_acf(b, "best.acf", &target, controls, 3);
    TUNED_WITH(b, "--strict");
    expect(b, 0, "", "");
    const acf_target one = {.kernel = "k"};
    bench_write_acf(b, "best.acf", &one, controls, 3);
    TUNED_PLAIN(b);
    expect_said(b, "control 'ptx/order@q' does not exist here");
}

static void outputs_are_found_in_every_form(void **state)
{
    bench *b = *state;
    static const char *const forms[][3] = {{"-o", "a.out", NULL},
                                           {"-o=a.out", NULL},
                                           {"--output-file=a.out", NULL},
                                           {"--output-file", "a.out", NULL}};
    char text[4096];
    snprintf(text, sizeof text, "cubin of %s", bench_kernel);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *words[8] = {"--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx"};
        memcpy(words + 3, forms[i], sizeof forms[i]);
        bench_call(b, words);
        expect(b, 0, "", "");
        expect_file(b, "a.out", text);
        bench_remove(b, "a.out");
    }
    unlink(b->log);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx");
    expect(b, 0, "", "");
    expect_file(b, "elf.o", text);
    WORDS(b, "-arch=sm_90a", "@", "-o", "@", "--register-usage-level=10");
}

/* Not applied: skipped with one notice, or an error before the compiler is even called. */
static void expect_not_applied(bench *b, const char *reason)
{
    TUNED_PLAIN(b);
    expect_original(b, reason);
    expect_said(b, "evocc ptxas: best.acf not applied: ");
    expect_said(b, "; compiled without it\n");
    static const char *const refusing[] = {"--on-mismatch=error", "--strict"};
    for (size_t i = 0; i < 2; i++) {
        bench_write(b, "out.cubin", "old");
        TUNED_WITH(b, refusing[i]);
        assert_int_equal(b->result.exit_status, 1);
        assert_string_equal(b->result.output, "");
        expect_said(b, reason);
        assert_int_equal(bench_calls(b), 0);
        expect_file(b, "out.cubin", "old");
    }
}

static void every_mismatch_is_named(void **state)
{
    bench *b = *state;
    static const char *const base[] = {"--maxrregcount=64"};
    static const struct {
        acf_target overrides;
        const char *reason;
    } list[] = {
        {{.version = "13.0.99"}, "version: the file is for '13.0.99', this is '13.0.88'"},
        {{.arch = "sm_90"}, "arch: the file is for 'sm_90', this is 'sm_90a'"},
        {{.base = base, .base_count = 1},
         "base options: the file is for '--maxrregcount=64', this is ''"},
        {{.ptx = "evocc-ptx-1:0000000000000000000000000000000000000000000000000000000000000000"},
         "ptx: the file is for 'evocc-ptx-1:0000000000000000000000000000000000000000000000000000"},
        {{.kernel = "other"}, "other"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write_acf(b, "best.acf", &list[i].overrides, &level, 1);
        expect_not_applied(b, list[i].reason);
    }
}

static void the_command_decides_too(void **state)
{
    bench *b = *state;
    CALL(b, "--apply-controls=best.acf", "-arch=sm_80", "kernel.ptx", "-o", "x");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "arch: the file is for 'sm_90a', this is 'sm_80'");
    WORDS(b, "-arch=sm_80", "kernel.ptx", "-o", "x");
    CALL(b, "--apply-controls=best.acf", "kernel.ptx", "-o", "x"); /* the compiler's default */
    expect_said(b, "arch: the file is for 'sm_90a', this is 'sm_80'");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "-maxrregcount=32", "kernel.ptx");
    expect_said(b, "base options: the file is for '', this is '--maxrregcount=32'");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "second.ptx");
    expect_said(b, "not applied: ");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "--unheard-of", "kernel.ptx", "-o", "x");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "--unheard-of");
    WORDS(b, "-arch=sm_90a", "--unheard-of", "kernel.ptx", "-o", "x");
}

static void strange_controls_are_not_applied(void **state)
{
    bench *b = *state;
    static const control_text list[] = {
        {"ptxas/shell", "1"},        {"ptxas/register-usage-level", "11"},
        {"ptx/order@k", "sideways"}, {"ptx/order@nobody", "late"},
        {"ptx/order@k.b77", "late"}, {"nvcc/register-usage-level", "10"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write_acf(b, "best.acf", NULL, &list[i], 1);
        expect_not_applied(b, list[i].name);
        expect_said(b, "best.acf:6:3: ");
    }
    /* Whole or not at all: one good control beside a bad one. */
    const control_text both[] = {level, {"ptx/order@k", "sideways"}};
    bench_write_acf(b, "best.acf", NULL, both, 2);
    expect_not_applied(b, "sideways");
}

static void numerics_need_permission(void **state)
{
    bench *b = *state;
    evocc_space *space = NULL;
    control_text control = {NULL, NULL};
    strbuf value = {0};
    assert_int_equal(space_builtin_load(&space, "ptxas", NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    for (size_t i = 0; i < space_count(space) && control.name == NULL; i++) {
        const space_control *c = space_get(space, i);
        if (c->numerics != SPACE_EXACT && c->parent == SPACE_ABSENT) {
            control.name = c->full_name;
            space_value_text(&value, c, c->default_index == 0 && c->size > 1 ? 1 : 0);
            control.value = strbuf_text(&value);
        }
    }
    if (control.name != NULL) {
        bench_write_acf(b, "best.acf", NULL, &control, 1);
        expect_not_applied(b, "--allow-numerics");
        unlink(b->log);
        TUNED_WITH(b, "--allow-numerics");
        expect(b, 0, "", "");
        assert_true(bench_told(b, "/proc/"));
    } else {
        print_message("no control of ptxas changes numerics\n");
    }
    strbuf_dispose(&value);
    space_free(space);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void bad_files_are_errors(void **state)
{
    bench *b = *state;
    bench_write(b, "out.cubin", "old");
    char *path = bench_path(b, "best.acf");
    unlink(path);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: cannot read 'best.acf': No such file or directory\n");
    mkdir(path, 0755);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: 'best.acf' is not a regular file\n");
    rmdir(path);
    mkfifo(path, 0600);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: 'best.acf' is not a regular file\n");
    unlink(path);
    static const struct {
        const char *text, *message;
    } list[] = {
        {"evocc-acf: 2\n", "best.acf:1:12: format version 2; evocc "},
        {"evocc-acf: 1\nfor: {}\n", "best.acf:1:1: the key 'controls' is missing"},
        {"evocc-acf: 1\n\xff", "best.acf:2:1: byte 0xff"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write(b, "best.acf", list[i].text);
        TUNED_PLAIN(b);
        assert_int_equal(b->result.exit_status, 1);
        expect_said(b, list[i].message);
    }
    bench_write_acf(b, "best.acf", NULL, &level, 1);
    char *text = bench_read(b, "best.acf");
    *strstr(text, "10") = '0';
    bench_write(b, "best.acf", text);
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "the digest does not fit");
    mem_free(text);
    mem_free(path);
    assert_int_equal(bench_calls(b), 0);
    expect_file(b, "out.cubin", "old");
}

static void other_files_are_handed_on(void **state)
{
    bench *b = *state;
    bench_write(b, "theirs",
                "\x7f"
                "ELF\x01\x02 anything");
    CALL(b, "--strict", "--apply-controls", "theirs", "-arch=sm_90a", "--on-mismatch=error",
         "kernel.ptx", "-o", "out.cubin", "--allow-numerics");
    expect(b, 0, "", "");
    WORDS(b, "--apply-controls", "theirs", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    CALL(b, "-apply-controls=theirs", "kernel.ptx", "--apply-controls=theirs");
    expect(b, 0, "", "");
    WORDS(b, "-apply-controls=theirs", "kernel.ptx", "--apply-controls=theirs");
    bench_write(b, "theirs", "");
    CALL(b, "kernel.ptx", "--apply-controls", "theirs");
    expect(b, 0, "", "");
    WORDS(b, "kernel.ptx", "--apply-controls", "theirs");
    b->mode = "no-controls";
    CALL(b, "kernel.ptx", "--apply-controls", "theirs");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "'theirs' is not a controls file of evocc");
    expect_said(b, "knows no --apply-controls of its own");
    /* Ours beside theirs. */
    b->mode = NULL;
    CALL(b, "kernel.ptx", "--apply-controls", "theirs", "--apply-controls", "best.acf");
    assert_int_equal(b->result.exit_status, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_arrive_byte_for_byte),
        TEST(ten_thousand_words_arrive),
        TEST(own_words_never_arrive),
        TEST(bad_words_of_ours_are_usage),
        TEST(questions_pass),
        TEST(the_end_of_the_compiler_is_ours),
        TEST(a_missing_compiler_is_named),
        TEST(controls_are_applied),
        TEST(whole_modules_are_tuned_too),
        TEST(outputs_are_found_in_every_form),
        TEST(every_mismatch_is_named),
        TEST(the_command_decides_too),
        TEST(strange_controls_are_not_applied),
        TEST(numerics_need_permission),
        TEST(bad_files_are_errors),
        TEST(other_files_are_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
