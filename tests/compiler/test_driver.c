/* gcc and clang: their command lines, their controls. */
#include "support.h"

#include "compiler/driver.h"
#include "compiler/gcc_help.h"
#include "compiler/gcc_table.h"
#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Command lines ----------------------------------------------------------------------- */

static compiler_invocation read_line(int argc, const char *const *argv)
{
    compiler_invocation out = {0};
    char *copy[32];
    for (int i = 0; i < argc; i++) {
        copy[i] = mem_strdup(argv[i]);
    }
    evocc_status status = compiler_gcc.read_command(&out, argc, copy, NULL);
    assert_int_equal(status, EVOCC_OK);
    /* What is borrowed is not looked at after this. */
    out.input = out.input != NULL ? "seen" : NULL;
    for (int i = 0; i < argc; i++) {
        mem_free(copy[i]);
    }
    return out;
}
#define READ(...) \
    read_line((int)COUNT(((const char *[]){__VA_ARGS__})), (const char *const[]){__VA_ARGS__})

static void expect_base(compiler_invocation *read, const char *expected)
{
    strbuf text = {0};
    assert_true(read->understood);
    for (size_t i = 0; i < read->base_count; i++) {
        strbuf_printf(&text, "%s%s", i > 0 ? "|" : "", read->base[i]);
    }
    assert_string_equal(strbuf_text(&text), expected);
    strbuf_dispose(&text);
    compiler_invocation_dispose(read);
}

static void expect_refused(compiler_invocation *read, const char *why)
{
    assert_false(read->understood);
    if (strstr(read->why_not, why) == NULL) {
        fail_msg("'%s' does not say '%s'", read->why_not, why);
    }
    compiler_invocation_dispose(read);
}

static void test_base_is_what_reaches_the_code(void **state)
{
    (void)state;
    compiler_invocation r =
        READ("-O2", "-O", "-O3", "-march=native", "-Iinclude", "-I", "more", "-DX=1", "-D", "Y",
             "-Wall", "-Wextra", "-g", "-MD", "-MT", "a.o", "-MF", "a.d", "-o", "a.o", "-c", "a.c");
    expect_base(&r, "-O3|-march=native");
    r = READ("-fno-plt", "-fplt", "--param", "max-unroll-times=4", "--param=max-unroll-times=8",
             "-std=gnu17", "--std=c11", "-c", "a.c", "-fdiagnostics-color=always", "-mtune=generic",
             "-O9");
    expect_base(&r, "--param=max-unroll-times=8|-O3|-fplt|-mtune=generic|-std=c11");
    r = READ("-mllvm", "-unroll-count=2", "-ansi", "-O", "a.c");
    expect_base(&r, "-O1|-mllvm -unroll-count=2|-std=c90");
    r = READ("-x", "c", "strange.name", "-O2");
    expect_base(&r, "-O2");
}

static void test_commands_without_machine_code(void **state)
{
    (void)state;
    compiler_invocation r = READ("--version");
    expect_refused(&r, "makes no machine code");
    r = READ("-E", "a.c");
    expect_refused(&r, "makes no machine code");
    r = READ("-dumpmachine");
    expect_refused(&r, "makes no machine code");
    r = READ("a.o", "b.o", "-o", "prog", "-lm");
    expect_refused(&r, "no source file");
    r = READ("-c", "a.s");
    expect_refused(&r, "no source file");
    r = READ("-O2", "@options", "a.c");
    expect_refused(&r, "not read");
    r = READ("-O2", "-x", "c", "-");
    expect_refused(&r, "no file");
    r = READ("a.c", "-o");
    expect_refused(&r, "lacks its value");
    r = READ("-x", "assembler", "a.c");
    expect_refused(&r, "no source file");
}

static void test_reading_survives_lack_of_memory(void **state)
{
    (void)state;
    char *const argv[] = {(char[]){"-O2"}, (char[]){"-fno-plt"}, (char[]){"--param"},
                          (char[]){"a=1"}, (char[]){"-c"},       (char[]){"a.c"}};
    evocc_status status = EVOCC_NO_MEMORY;
    int rounds = 0;
    while (status == EVOCC_NO_MEMORY) {
        compiler_invocation out = {0};
        mem_fail_after(rounds++);
        status = driver_read_command(&out, (int)COUNT(argv), argv, NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_int_equal(out.base_count, 3);
            compiler_invocation_dispose(&out);
        }
        assert_true(rounds < 200);
    }
    assert_true(rounds > 5);
}

/* ---- Words ------------------------------------------------------------------------------- */

static void expect_words(const space_control *control, int32_t index, const char *expected)
{
    compiler_command command = {0};
    strbuf text = {0};
    driver_render_value(&command, control, index);
    for (size_t i = 0; i < command.count; i++) {
        strbuf_printf(&text, "%s%s", i > 0 ? "|" : "", command.argv[i]);
    }
    assert_false(command.failed);
    assert_string_equal(strbuf_text(&text), expected);
    strbuf_dispose(&text);
    compiler_command_dispose(&command);
}

static void test_words_of_controls(void **state)
{
    (void)state;
    space_control c = {
        .stage = SPACE_STAGE_GCC, .kind = SPACE_BOOL, .size = 2, .option = "-f{}ipa-cp"};
    expect_words(&c, 0, "-fno-ipa-cp");
    expect_words(&c, 1, "-fipa-cp");
    c.option = "-mllvm -unroll-runtime={}";
    expect_words(&c, 0, "-mllvm|-unroll-runtime=false");
    c = (space_control){
        .kind = SPACE_POW2, .low = 8, .high = 64, .size = 4, .option = "--param=x={}"};
    expect_words(&c, 2, "--param=x=32");
}

/* ---- Help -------------------------------------------------------------------------------- */

static void test_help_rows(void **state)
{
    (void)state;
    const char *at = "The following options control optimizations:\n"
                     "  -O<number>                  Set optimization level to <number>.\n"
                     "  -fira-region=[one|all|mixed] Set regions for IRA.\n"
                     "  --param=align-threshold=<1,65536> Select fraction of the inline-\n"
                     "                              insns limit.\n"
                     "  --param=evrp-mode=          --param=evrp-mode=[legacy|ranger-\n"
                     "                              first] Specifies the mode.\n"
                     "\n  -fdce                       \t\t[enabled]";
    gcc_row row = {0};
    assert_true(gcc_help_next(&row, &at));
    assert_string_equal(row.name, "-O<number>");
    assert_true(gcc_help_next(&row, &at));
    assert_string_equal(row.name, "-fira-region");
    assert_true(row.joined && !row.bounded);
    assert_string_equal(row.choices, "one|all|mixed");
    assert_true(gcc_help_next(&row, &at));
    assert_string_equal(row.name, "--param=align-threshold");
    assert_true(row.bounded && row.low == 1 && row.high == 65536);
    assert_string_equal(strbuf_text(&row.text), "Select fraction of the inline-insns limit.");
    assert_true(gcc_help_next(&row, &at));
    assert_string_equal(row.choices, "legacy|ranger-first");
    assert_true(gcc_help_next(&row, &at));
    assert_string_equal(row.name, "-fdce");
    assert_string_equal(strbuf_text(&row.text), "[enabled]");
    assert_false(row.joined);
    assert_false(gcc_help_next(&row, &at));
    strbuf_dispose(&row.text);
}

static void test_effects(void **state)
{
    (void)state;
    assert_int_equal(gcc_effect_of("fipa-cp"), GCC_EXACT);
    assert_int_equal(gcc_effect_of("fstrict-aliasing"), GCC_ASSUMES);
    assert_int_equal(gcc_effect_of("ffast-math"), GCC_ROUNDING);
    assert_int_equal(gcc_effect_of("fshort-enums"), GCC_LEFT_OUT);
    assert_int_equal(gcc_effect_of("mavx2"), GCC_LEFT_OUT);
    assert_int_equal(gcc_effect_of("fnever-heard-of"), GCC_ROUNDING);
    assert_int_equal(gcc_effect_of("fipa"), GCC_ROUNDING); /* not a part of another's name */
    assert_int_equal(gcc_effect_of_parameter("max-unroll-times"), GCC_EXACT);
    assert_int_equal(gcc_effect_of_parameter("vect-induction-float"), GCC_ROUNDING);
    assert_int_equal(gcc_effect_of_parameter("asan-stack"), GCC_LEFT_OUT);
}

/* ---- The compilers of this machine --------------------------------------------------------- */

typedef struct real {
    compiler_identity identity;
    evocc_space *space;
} real;

/* Skips where there is none. */
static real ask(const compiler *c, char *const *base, size_t base_count)
{
    real r = {0};
    char *path = NULL;
    evocc_error error = {0};
    if (compiler_find(&path, c->name, NULL, NULL) != EVOCC_OK) {
        print_message("no %s on this machine\n", c->name);
        skip();
    }
    launcher *l = NULL;
    assert_int_equal(launcher_new(&l, NULL), EVOCC_OK);
    evocc_status status = c->identify(&r.identity, l, path, &error);
    if (status == EVOCC_OK) {
        status = c->make_space(&r.space, l, &r.identity, NULL, base, base_count, &error);
    }
    if (status != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(space_finish(r.space, NULL), EVOCC_OK);
    launcher_free(l);
    mem_free(path);
    return r;
}

static void real_dispose(real *r)
{
    compiler_identity_dispose(&r->identity);
    space_free(r->space);
}

static const space_control *control(const real *r, const char *name)
{
    size_t index = space_find(r->space, name);
    return index == (size_t)-1 ? NULL : space_get(r->space, index);
}

static void test_controls_of_gcc(void **state)
{
    (void)state;
    char *const base[] = {(char[]){"-O3"}, (char[]){"-fno-ipa-cp"}, (char[]){"-std=gnu17"}};
    real r = ask(&compiler_gcc, base, COUNT(base));
    assert_true(space_count(r.space) > 250);
    assert_non_null(control(&r, "gcc/O"));
    strbuf value = {0};
    const space_control *level = control(&r, "gcc/O");
    space_value_text(&value, level, level->default_index);
    assert_string_equal(strbuf_text(&value), "3");
    assert_null(control(&r, "gcc/fipa-cp")); /* the user has decided */
    assert_null(control(&r, "gcc/fshort-enums"));
    assert_null(control(&r, "gcc/fstack-protector"));
    assert_non_null(control(&r, "gcc/param.max-unroll-times"));
    assert_int_equal(control(&r, "gcc/ffast-math")->numerics, SPACE_ROUNDING);
    assert_int_equal(control(&r, "gcc/fexpensive-optimizations")->numerics, SPACE_ROUNDING);
    assert_int_equal(control(&r, "gcc/ftree-vectorize")->numerics, SPACE_EXACT);
    assert_true(strspn(r.identity.version, "0123456789.") == strlen(r.identity.version));
    assert_true(strlen(r.identity.default_arch) > 0);
    strbuf_dispose(&value);
    real_dispose(&r);
}

static void test_levels_where_nothing_is_fused(void **state)
{
    (void)state;
    char *const base[] = {(char[]){"-O2"}, (char[]){"-std=c17"}};
    real r = ask(&compiler_gcc, base, COUNT(base));
    int32_t index = -1;
    assert_int_equal(space_value_parse(&index, control(&r, "gcc/O"), "1", NULL), EVOCC_OK);
    assert_int_equal(control(&r, "gcc/fexpensive-optimizations")->numerics, SPACE_EXACT);
    real_dispose(&r);
}

static void test_controls_of_clang(void **state)
{
    (void)state;
    char *const base[] = {(char[]){"-O3"}};
    real r = ask(&compiler_clang, base, COUNT(base));
    assert_true(space_count(r.space) > 50);
    assert_non_null(control(&r, "clang/O"));
    assert_int_equal(control(&r, "clang/ffast-math")->numerics, SPACE_APPROXIMATE);
    real_dispose(&r);
}

/* The second time nothing is run: the cache knows. */
static void test_answers_are_kept(void **state)
{
    (void)state;
    char *const base[] = {(char[]){"-O2"}};
    real first = ask(&compiler_gcc, base, 1);
    setenv("EVOCC_HELPER", "/nowhere", 1);
    real second = {0};
    evocc_error error = {0};
    evocc_status status =
        compiler_gcc.identify(&second.identity, NULL, first.identity.path, &error);
    assert_int_equal(status, EVOCC_OK);
    status = compiler_gcc.make_space(&second.space, NULL, &second.identity, NULL, base, 1, &error);
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    assert_int_equal(status, EVOCC_OK);
    assert_int_equal(space_finish(second.space, NULL), EVOCC_OK);
    char a[HASH_SHA256_TEXT];
    char b[HASH_SHA256_TEXT];
    space_digest(a, first.space);
    space_digest(b, second.space);
    assert_string_equal(a, b);
    real_dispose(&first);
    real_dispose(&second);
}

static void test_others_are_no_gcc(void **state)
{
    (void)state;
    compiler_identity identity = {0};
    evocc_error error = {0};
    launcher *l = NULL;
    assert_int_equal(launcher_new(&l, NULL), EVOCC_OK);
    assert_int_equal(compiler_gcc.identify(&identity, l, "/bin/false", &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "is no gcc"));
    assert_non_null(strstr(error.message, "EVOCC_REAL_GCC"));
    assert_int_equal(compiler_gcc.identify(&identity, l, "/nowhere/gcc", &error), EVOCC_NOT_FOUND);
    launcher_free(l);
}

static int set_up(void **state)
{
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    *state = support_folder();
    return 0;
}

static int tear_down(void **state)
{
    support_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_what_reaches_the_code),
        cmocka_unit_test(test_commands_without_machine_code),
        cmocka_unit_test(test_reading_survives_lack_of_memory),
        cmocka_unit_test(test_words_of_controls),
        cmocka_unit_test(test_help_rows),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_controls_of_gcc),
        cmocka_unit_test(test_levels_where_nothing_is_fused),
        cmocka_unit_test(test_controls_of_clang),
        cmocka_unit_test(test_answers_are_kept),
        cmocka_unit_test(test_others_are_no_gcc),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
