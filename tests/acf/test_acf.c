/* The object: making, the digest, the layout, and there and back again. */
#include "example.h"

#include "util/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sorts_and_digests(void **state)
{
    (void)state;
    acf from = example();
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_new(&file, &from, &error), EVOCC_OK);
    assert_string_equal(file->controls[0].full_name, "ptx/frequency@fa.b4");
    assert_string_equal(file->controls[2].full_name, "ptxas/register-usage-level");
    assert_string_equal(file->target.base[0], "--maxrregcount=128");
    assert_string_equal(file->digest, EXAMPLE_DIGEST);
    assert_null(file->name);
    acf_free(file);
    acf_free(NULL);
}

static void writes_the_layout(void **state)
{
    (void)state;
    acf from = example();
    strbuf out = {0};
    assert_int_equal(acf_write(&out, &from, NULL), EVOCC_OK);
    assert_string_equal(strbuf_text(&out), EXAMPLE_TEXT);
    strbuf_dispose(&out);
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_read(&file, EXAMPLE_TEXT, strlen(EXAMPLE_TEXT), "best.acf", &error),
                     EVOCC_OK);
    assert_string_equal(file->name, "best.acf");
    assert_string_equal(file->target.compiler, "ptxas");
    assert_string_equal(file->target.version, "13.0.88");
    assert_string_equal(file->target.kernel, "fa");
    assert_int_equal(file->target.base_count, 2);
    assert_int_equal(file->control_count, 3);
    assert_string_equal(file->controls[1].value, "late");
    assert_int_equal(file->controls[1].line, 7);
    assert_int_equal(file->controls[1].column, 3);
    assert_int_equal(file->metric_count, 2);
    assert_string_equal(file->metrics[1].name, "runtime");
    assert_true(file->metrics[1].low == 1.0497);
    assert_int_equal(file->metrics[1].pairs, 40);
    assert_string_equal(file->found_extra, "device: NVIDIA H200\ntrials: 488\n");
    strbuf out = {0};
    assert_int_equal(acf_write(&out, file, &error), EVOCC_OK);
    assert_string_equal(strbuf_text(&out), EXAMPLE_TEXT);
    strbuf_dispose(&out);
    acf_free(file);
}

/* Texts that YAML readers are known to take for something else survive, as text. */
static void odd_texts_survive(void **state)
{
    (void)state;
    static const char *const values[] = {"on", "true", "No",  "null", "0x10", "1e5", "-1", "-.5",
                                         "_",  "1:30", "a=b", "007",  "4,8",  "y",   "L1"};
    static char names[sizeof values / sizeof values[0]][32];
    acf_control controls[sizeof values / sizeof values[0]];
    size_t count = sizeof values / sizeof values[0];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "ptx/order@$k%%_.b%02zu", i);
        controls[i] = (acf_control){.full_name = names[i], .value = values[i]};
    }
    acf from = example();
    const char *base[] = {"-Dname=it's # not: {a} [comment]", "-e=null"};
    from.target.kernel = "null";
    from.target.arch = "90";
    from.target.base = base;
    from.controls = controls;
    from.control_count = count;
    from.found_extra = "note: \"quoted\" \\ and # : {odd}\nempty: \nyes: on";
    strbuf out = {0};
    evocc_error error = {0};
    assert_int_equal(acf_write(&out, &from, &error), EVOCC_OK);
    acf *file = NULL;
    if (acf_read(&file, out.data, out.length, "odd.acf", &error) != EVOCC_OK) {
        fail_msg("%s\n%s", error.message, out.data);
    }
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(file->controls[i].value, values[i]);
    }
    assert_string_equal(file->target.kernel, "null");
    assert_string_equal(file->target.arch, "90");
    assert_string_equal(file->target.base[0], base[0]);
    assert_string_equal(file->found_extra, "note: \"quoted\" \\ and # : {odd}\nempty: \nyes: on\n");
    acf_free(file);
    strbuf_dispose(&out);
}

/* C++ kernels have names of thousands of characters; YAML's own limit for a key is 1024. */
static void long_kernel_names_survive(void **state)
{
    (void)state;
    static char kernel[8193];
    static char name[8300];
    memset(kernel, 'k', sizeof kernel - 1);
    snprintf(name, sizeof name, "ptx/order@%s.b4", kernel);
    acf_control control = {.full_name = name, .value = "late"};
    acf from = example();
    from.target.kernel = kernel;
    from.controls = &control;
    from.control_count = 1;
    strbuf out = {0};
    evocc_error error = {0};
    assert_int_equal(acf_write(&out, &from, &error), EVOCC_OK);
    acf *file = NULL;
    if (acf_read(&file, out.data, out.length, "long.acf", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(file->controls[0].full_name, name);
    acf_free(file);
    strbuf_dispose(&out);
}

static void all_kernels_have_a_name(void **state)
{
    (void)state;
    acf from = example();
    from.target.kernel = ACF_ALL_KERNELS;
    strbuf out = {0};
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_write(&out, &from, &error), EVOCC_OK);
    assert_non_null(strstr(out.data, "kernel: \"*\""));
    assert_int_equal(acf_read(&file, out.data, out.length, "all.acf", &error), EVOCC_OK);
    assert_string_equal(file->target.kernel, "*");
    acf_free(file);
    strbuf_dispose(&out);
}

static void refuses(const acf *from, const char *expected)
{
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_new(&file, from, &error), EVOCC_INVALID_ARGUMENT);
    assert_null(file);
    if (strstr(error.message, expected) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, expected);
    }
    strbuf out = {0};
    assert_int_equal(acf_write(&out, from, NULL), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(out.length, 0);
    strbuf_dispose(&out);
}

static void refuses_bad_targets(void **state)
{
    (void)state;
    acf from = example();
    from.target.version = NULL;
    refuses(&from, "version");
    from.target.version = "";
    refuses(&from, "version");
    from.target.version = "13 0";
    refuses(&from, "version '13 0'");
    from = example();
    from.target.kernel = "a b";
    refuses(&from, "kernel 'a b'");
    from.target.kernel = "**";
    refuses(&from, "kernel '**'");
    from = example();
    from.target.ptx = "evocc-ptx-1:123";
    refuses(&from, "64 lower-case");
    from = example();
    const char *base[] = {"-O3\n-O0"};
    from.target.base = base;
    from.target.base_count = 1;
    refuses(&from, "base option");
    base[0] = "file.ptx";
    refuses(&from, "begins with '-'");
}

static void refuses_bad_controls(void **state)
{
    (void)state;
    static const char *const names[] = {
        "register-usage-level", "ptxas/",   "ptxas/-O0", "/x",       "ptxas/a b",      "ptxas/a\nb",
        "ptxas/a\"b",           "ptxas/a:", "shell/x",   "ptx/../x", "ptxas/\xc3\xa4", "",
    };
    static const char *const values[] = {
        "",         "-O0",  "--x", "-",      "a b",  "a\nb", "\"a\"", "'a'", "/etc/passwd",
        "../a",     "a/b",  "a;b", "a|b",    "$(a)", "`a`",  "a&b",   "a>b", "@file",
        "\xc3\xa4", "a\\b", "a#b", "{a: b}", "[a]",  "=x",   "~",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        acf_control control = {.full_name = names[i], .value = "1"};
        acf from = example();
        from.controls = &control;
        from.control_count = 1;
        refuses(&from, "control name");
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        acf_control control = {.full_name = "ptxas/x", .value = values[i]};
        acf from = example();
        from.controls = &control;
        from.control_count = 1;
        refuses(&from, "value");
    }
    acf_control twice[] = {example_controls[0], example_controls[1], example_controls[0]};
    acf from = example();
    from.controls = twice;
    refuses(&from, "given twice");
    from.control_count = 0;
    refuses(&from, "change nothing");
}

static void refuses_bad_findings(void **state)
{
    (void)state;
    acf from = example();
    acf_metric metrics[] = {example_metrics[0], example_metrics[0]};
    from.metrics = metrics;
    refuses(&from, "'spill_bytes' is given twice");
    metrics[1].name = "other";
    metrics[1].tuned = (double)NAN;
    refuses(&from, "not finite");
    from = example();
    from.found_extra = "no colon";
    refuses(&from, "key: value");
    from.found_extra = "runtime: 3";
    refuses(&from, "'runtime' is given twice");
    from.found_extra = "a: 1\na: 2";
    refuses(&from, "'a' is given twice");
    from.found_extra = "a: \x01";
    refuses(&from, "text");
    from.found_extra = "a b: 1";
    refuses(&from, "key");
    from = example();
    from.target.base_count = 100000;
    refuses(&from, "100000 base options");
}

/* What could not be read again is not written. */
static void refuses_giants(void **state)
{
    (void)state;
    enum { COUNT = 130, LENGTH = 8400 };
    static char names[COUNT][LENGTH + 1];
    static acf_control controls[COUNT];
    for (int i = 0; i < COUNT; i++) {
        memset(names[i], 'k', LENGTH);
        char head[32];
        int length = snprintf(head, sizeof head, "ptx/order@k%d", i);
        memcpy(names[i], head, (size_t)length);
        controls[i] = (acf_control){.full_name = names[i], .value = "late"};
    }
    acf from = example();
    from.controls = controls;
    from.control_count = COUNT;
    strbuf out = {0};
    evocc_error error = {0};
    assert_int_equal(acf_write(&out, &from, &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "could not be read again"));
    assert_int_equal(out.length, 0);
    strbuf_dispose(&out);
}

/* Every allocation fails in turn: an error, nothing lost, nothing half-made. */
static void survives_lack_of_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done; n++) {
        assert_true(n < 10000);
        acf *file = NULL;
        strbuf out = {0};
        evocc_error error = {0};
        mem_fail_after(n);
        evocc_status status =
            acf_read(&file, EXAMPLE_TEXT, strlen(EXAMPLE_TEXT), "best.acf", &error);
        evocc_status written = status == EVOCC_OK ? acf_write(&out, file, &error) : status;
        if (status == EVOCC_OK) {
            acf_show(&out, file, NULL);
        }
        done = status == EVOCC_OK && written == EVOCC_OK && !out.failed;
        mem_fail_after(-1);
        if (status != EVOCC_OK) {
            assert_null(file);
            assert_int_equal(status, EVOCC_NO_MEMORY);
        }
        acf_free(file);
        strbuf_dispose(&out);
    }
}

static void tells_ours_from_others(void **state)
{
    (void)state;
    assert_true(acf_is_ours("evocc-acf: 1\n", 13));
    assert_true(acf_is_ours("evocc-acf:", 10));
    assert_false(acf_is_ours("evocc-acf", 9));
    assert_false(acf_is_ours(" evocc-acf: 1", 13));
    assert_false(acf_is_ours("\x7f"
                             "ELF......",
                             10));
    assert_false(acf_is_ours("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_and_digests),         cmocka_unit_test(writes_the_layout),
        cmocka_unit_test(reads_what_it_wrote),       cmocka_unit_test(odd_texts_survive),
        cmocka_unit_test(long_kernel_names_survive), cmocka_unit_test(all_kernels_have_a_name),
        cmocka_unit_test(refuses_bad_targets),       cmocka_unit_test(refuses_bad_controls),
        cmocka_unit_test(refuses_bad_findings),      cmocka_unit_test(refuses_giants),
        cmocka_unit_test(survives_lack_of_memory),   cmocka_unit_test(tells_ours_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
