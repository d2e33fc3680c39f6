/* What each pass does, and that the checker agrees: by hand, and for random candidates drawn from
   the controls that the module itself lists. */
#include "helpers.h"

#include "ptx/checker.h"
#include "util/rng.h"

#include <stdio.h>

static void assert_checked(const ptx_module *before, const char *text, const char *what)
{
    evocc_error error;
    ptx_module *after = NULL;
    if (ptx_parse(&after, text, strlen(text), "rewritten", &error) != EVOCC_OK ||
        ptx_check(before, after, &error) != EVOCC_OK) {
        fail_msg("%s: %s", what, error.message);
    }
    ptx_free(after);
}

/* The kernel's body after one setting, from the first line behind the declarations, without "\t".
 */
static char *body_after(const char *body, const char *name, const char *value)
{
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    char *out = rewritten(module, name, value);
    assert_checked(module, out, name);
    ptx_free(module);
    mem_free(text);
    return out;
}

static void assert_rewritten(const char *body, const char *name, const char *value,
                             const char *expected)
{
    char *out = body_after(body, name, value);
    if (strstr(out, expected) == NULL) {
        fail_msg("%s=%s: expected\n%s\nin\n%s", name, value, expected, out);
    }
    mem_free(out);
}

static void assert_untouched(const char *body, const char *name, const char *value)
{
    char *text = kernel_of(body);
    char *out = body_after(body, name, value);
    assert_string_equal(text, out);
    mem_free(out);
    mem_free(text);
}

#define LOOP \
    "L: add.s32 %r8, %r8, 1;\nst.global.b32 [g], %r3;\n@%p1 bra L;\nst.global.b32 [g], %r3;"

static void test_slice(void **state)
{
    (void)state;
    static const char body[] =
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nadd.s32 %r3, %r2, 5;\n" LOOP;
    assert_rewritten(body, "slice@k", "loop",
                     "L: add.s32 %r8, %r8, 1;\nmov.u32 %e0_0, %tid.x;\n\tshl.b32 %e0_1, %e0_0, 3;\n"
                     "\tadd.s32 %e0_2, %e0_1, 5;\n\tst.global.b32 [g], %e0_2;\n@%p1 bra L;\n"
                     "st.global.b32 [g], %r3;");
    assert_rewritten(body, "slice@k", "loop", ".reg .b32 %e0_0;");
    assert_rewritten(body, "slice@k", "post",
                     "st.global.b32 [g], %r3;\n@%p1 bra L;\nmov.u32 %e0_0, %tid.x;");
    assert_rewritten(body, "slice@k.v2", "loop", "st.global.b32 [g], %e0_2;");
    assert_untouched(body, "slice@k.v1", "loop"); /* used in its own block only */
    assert_untouched(body, "slice@k", "off");
    /* Not past a value that is not pure, a guard, a second definition or a clock. */
    assert_untouched("ld.global.b32 %r3, [g];\n" LOOP, "slice@k", "all");
    assert_untouched("@%p2 add.s32 %r3, %r1, 5;\n" LOOP, "slice@k", "all");
    assert_untouched("add.s32 %r3, %r1, 5;\nadd.s32 %r3, %r3, 1;\n" LOOP, "slice@k", "all");
    assert_untouched("mov.u32 %r3, %clock;\n" LOOP, "slice@k", "all");
    assert_untouched("add.s32 %r3, %r8, 5;\n" LOOP, "slice@k", "all"); /* %r8 changes in the loop */
    /* From a load on, the load itself stays. */
    assert_rewritten("ld.global.b32 %r1, [g];\nadd.s32 %r3, %r1, 5;\n" LOOP, "slice@k", "loop",
                     "add.s32 %e0_0, %r1, 5;\n\tst.global.b32 [g], %e0_0;");
    /* A nested scope that hides names: the copy stands in front of it. */
    assert_rewritten("mov.u32 %r1, %tid.x;\nadd.s32 %r3, %r1, 5;\nL:\n{ .reg .b32 %r<2>; "
                     "mov.b32 %r1, %r3; st.global.b32 [g], %r1; }\n@%p1 bra L;",
                     "slice@k", "loop",
                     "mov.u32 %e0_0, %tid.x;\n\tadd.s32 %e0_1, %e0_0, 5;\n\t{ .reg .b32 %r<2>; "
                     "mov.b32 %r1, %e0_1;");
    /* A name like the fresh ones is avoided. */
    assert_rewritten(".reg .b32 %e0_0;\nmov.u32 %r3, %tid.x;\n" LOOP, "slice@k", "loop",
                     "mov.u32 %e1_0, %tid.x;");
}

static void test_remat(void **state)
{
    (void)state;
    static const char body[] = "mov.u32 %r1, %tid.x;\nadd.s32 %r3, %r1, 5;\nst.shared.b32 [s], "
                               "%r3;\nst.shared.b32 [s+4], %r3;";
    assert_untouched(body, "remat@k", "far1");
    assert_rewritten(body, "remat@k.v1", "all1",
                     "add.s32 %e0_0, %r1, 5;\n\tst.shared.b32 [s], %e0_0;\nadd.s32 %e0_1, %r1, 5;\n"
                     "\tst.shared.b32 [s+4], %e0_1;");
    assert_rewritten(
        body, "remat@k.v1", "all2",
        "mov.u32 %e0_0, %tid.x;\n\tadd.s32 %e0_1, %e0_0, 5;\n\tst.shared.b32 [s], %e0_1;");
    assert_rewritten("mov.u32 %r3, %tid.x;\n" LOOP, "remat@k", "far1",
                     "mov.u32 %e0_0, %tid.x;\n\tst.global.b32 [g], %e0_0;");
    /* The instruction that a pragma speaks about keeps it. */
    assert_rewritten(
        "mov.u32 %r3, %tid.x;\nbar.sync 0;\n.pragma \"used_bytes_mask 0x1\";\n"
        "st.shared.b32 [s], %r3;",
        "remat@k", "all1",
        "mov.u32 %e0_0, %tid.x;\n\t.pragma \"used_bytes_mask 0x1\";\nst.shared.b32 [s], "
        "%e0_0;");
}

static void test_sink(void **state)
{
    (void)state;
    static const char body[] = "mov.u32 %r1, %tid.x;\nadd.s32 %r3, %r1, 5;\n@%p1 bra DONE;\n"
                               "bar.sync 0;\nst.shared.b32 [s], %r3;";
    assert_rewritten(
        body, "sink@k", "out",
        "@%p1 bra DONE;\nbar.sync 0;\nadd.s32 %r3, %r1, 5;\n\tst.shared.b32 [s], %r3;");
    assert_untouched("mov.u32 %r1, %tid.x;\nadd.s32 %r3, %r1, 5;\nL: st.shared.b32 [s], %r3;\n"
                     "@%p1 bra L;",
                     "sink@k", "out");
    assert_untouched("mov.u32 %r3, %tid.x;\nL: st.shared.b32 [s], %r3;\n@%p1 bra L;", "sink@k",
                     "any"); /* it would leave no instruction in its block */
    assert_rewritten("mov.u32 %r3, %tid.x;\nbar.sync 0;\nL: st.shared.b32 [s], %r3;\n@%p1 bra L;",
                     "sink@k", "any",
                     "bar.sync 0;\nL: mov.u32 %r3, %tid.x;\n\tst.shared.b32 [s], %r3;");
    assert_untouched("mov.u32 %r3, %tid.x;\nst.shared.b32 [s], %r3;\n@%p1 bra DONE;\n"
                     "st.shared.b32 [s], %r3;",
                     "sink@k", "any");
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *body, *name, *value, *expected; /* NULL: untouched */
    } rows[] = {
        {"mad.lo.s32 %r1, %r2, %r3, %r4;", "mad@k", "split",
         "mul.lo.s32 %e0_0, %r2, %r3;\n\tadd.s32 %r1, %e0_0, %r4;"},
        {"@%p1 mad.wide.u32 %rd1, %r2, 4, %rd4;", "mad@k", "split",
         "mul.wide.u32 %e0_0, %r2, 4;\n\t@%p1 add.u64 %rd1, %e0_0, %rd4;"},
        {"mad.hi.s32 %r1, %r2, %r3, %r4;", "mad@k", "split", NULL},
        {"mad.lo.cc.u32 %r1, %r2, %r3, %r4;", "mad@k", "split", NULL},
        {"mad.lo.sat.s32 %r1, %r2, %r3, %r4;", "mad@k", "split", NULL},
        {"mul.lo.s32 %r9, %r2, %r3;\nadd.s32 %r1, %r4, %r9;", "mad@k", "fuse",
         "mad.lo.s32 %r1, %r2, %r3, %r4;"},
        {"mul.wide.s32 %rd9, %r2, 4;\nadd.s64 %rd1, %rd9, %rd4;", "mad@k", "fuse",
         "mad.wide.s32 %rd1, %r2, 4, %rd4;"},
        /* The product's operand changes in between; the product is conditional; carries. */
        {"mov.u32 %r2, %tid.x;\nmul.lo.s32 %r9, %r2, %r3;\nmov.b32 %r2, 1;\nadd.s32 %r1, %r4, %r9;",
         "mad@k", "fuse", NULL},
        {"@%p1 mul.lo.s32 %r9, %r2, %r3;\nadd.s32 %r1, %r4, %r9;", "mad@k", "fuse", NULL},
        {"mul.lo.s32 %r9, %r2, %r3;\nadd.cc.s32 %r1, %r4, %r9;", "mad@k", "fuse", NULL},
        {"mul.f32 %f9, %f2, %f3;\nadd.f32 %f1, %f4, %f9;", "mad@k", "fuse", NULL},
        {"shl.b32 %r1, %r2, 4;", "shift@k", "mul", "mul.lo.u32 %r1, %r2, 16;"},
        {"shl.b32 %r1, %r2, 31;", "shift@k", "mul", NULL},
        {"shl.b32 %r1, %r2, %r3;", "shift@k", "mul", NULL},
        {"mul.lo.s32 %r1, %r2, 16;", "shift@k", "shl", "shl.b32 %r1, %r2, 4;"},
        {"mul.lo.s32 %r1, %r2, 12;", "shift@k", "shl", NULL},
        {"mul.lo.s32 %r1, %r2, 0;", "shift@k", "shl", NULL},
        {"mul.wide.s32 %rd1, %r2, 4;", "shift@k", "shl",
         "cvt.s64.s32 %e0_0, %r2;\n\tshl.b64 %rd1, %e0_0, 2;"},
        {"mul.hi.u32 %r1, %r2, 4;", "shift@k", "shl", NULL},
        {"add.s32 %r9, %r2, %r3;\nadd.s32 %r1, %r9, %r4;", "reassociate@k", "right",
         "add.s32 %e0_0, %r3, %r4;\n\tadd.s32 %r1, %e0_0, %r2;"},
        {"add.s32 %r9, %r2, %r3;\nadd.s32 %r1, %r9, %r4;", "reassociate@k", "across",
         "add.s32 %e0_0, %r2, %r4;\n\tadd.s32 %r1, %e0_0, %r3;"},
        {"add.f32 %f9, %f2, %f3;\nadd.f32 %f1, %f9, %f4;", "reassociate@k", "right", NULL},
        {"add.sat.s32 %r9, %r2, %r3;\nadd.s32 %r1, %r9, %r4;", "reassociate@k", "right", NULL},
        {"bfe.u32 %r1, %r2, 5, 3;", "field@k", "shift",
         "shr.u32 %e0_0, %r2, 5;\n\tand.b32 %r1, %e0_0, 7;"},
        {"bfe.u32 %r1, %r2, 30, 3;", "field@k", "shift", NULL}, /* reaches beyond the word */
        {"bfe.u32 %r1, %r2, %r3, 3;", "field@k", "shift", NULL},
        {"bfe.s32 %r1, %r2, 5, 3;", "field@k", "shift", NULL},
        {"and.b32 %r9, %r2, %r3;\nxor.b32 %r1, %r4, %r9;", "lop3@k", "join",
         "lop3.b32 %r1, %r2, %r3, %r4, 106;"},
        {"and.b64 %rd9, %rd2, %rd3;\nxor.b64 %rd1, %rd4, %rd9;", "lop3@k", "join", NULL},
        {"@%p1 ld.global.ca.nc.L2::64B.v2.b32 {%r1, %r9}, [%rd4];", "coherent@k", "ld",
         "@%p1 ld.global.ca.L2::64B.v2.b32 {%r1, %r9}, [%rd4];"},
        {"ld.global.nc.b32 %r1, [%rd4];\nld.global.nc.b32 %r1, [%rd4];", "coherent@k", "ld", NULL},
        {"ld.global.b32 %r1, [%rd4];", "coherent@k", "ld", NULL},
        {"add.s32 %r1, %r2, %r3;", "swap@k", "swap", "add.s32 %r1, %r3, %r2;"},
        {"sub.s32 %r1, %r2, %r3;", "swap@k", "swap", NULL},
        {"add.s32 %r1, %r2, 3;", "swap@k", "swap", NULL},
        {"fma.rn.f32 %f1, %f2, %f3, %f4;", "swap@k", "swap", "fma.rn.f32 %f1, %f3, %f2, %f4;"},
        {"fma.rn.f64 %f1, %f2, %f3, %f4;", "swap@k", "swap", NULL},
        {"ld.global.v4.b32 {%r1, %r5, _, %r6}, [%rd4+-8];", "vector@k", "scalar",
         "ld.global.b32 %r1, [%rd4+-8];\n\tld.global.b32 %r5, [%rd4+-4];\n\tld.global.b32 %r6, "
         "[%rd4+4];"},
        {"@!%p1 st.shared.v4.b32 [s], {%r1, %r2, %r3, %r4};", "vector@k", "halve",
         "@!%p1 st.shared.v2.b32 [s+0], {%r1, %r2};\n\t@!%p1 st.shared.v2.b32 [s+8], {%r3, %r4};"},
        {"ld.global.nc.L1::evict_last.v2.f64 {%rd1, %rd5}, [ %rd4 + 16 ];", "vector@k", "scalar",
         "ld.global.nc.L1::evict_last.f64 %rd1, [%rd4+16];\n\tld.global.nc.L1::evict_last.f64 "
         "%rd5, "
         "[%rd4+24];"},
        {"ld.global.v2.b32 {%r1, %r5}, [%rd4];", "vector@k", "halve", NULL},
        {"ld.global.v2.b64 {%rd1, %rd4}, [%rd4];", "vector@k", "scalar",
         NULL}, /* its own address */
        {"ld.volatile.global.v2.b32 {%r1, %r5}, [%rd4];", "vector@k", "scalar", NULL},
        {"st.release.gpu.global.v2.b32 [%rd4], {%r1, %r5};", "vector@k", "scalar", NULL},
        {".pragma \"used_bytes_mask 0x3\";\nld.global.v2.b32 {%r1, %r5}, [%rd4];", "vector@k",
         "scalar", NULL},
        /* Names hidden by a nested scope are not what they were outside. */
        {"mul.lo.s32 %r9, %r2, %r3;\n{ .reg .b32 %r2; add.s32 %r1, %r4, %r9; }", "mad@k", "fuse",
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "mov.u32 %%r2, %%tid.x;\nmov.u32 %%r3, %%tid.y;\nmov.u32 %%r4, %%tid.z;\n"
                 "mov.u64 %%rd4, g;\nmov.u64 %%rd2, s;\nmov.u64 %%rd3, c;\n%s\nst.global.b32 [g], "
                 "%%r1;\nst.global.b64 [g+8], %%rd1;\n"
                 "st.global.f32 [g+16], %%f1;",
                 rows[i].body);
        if (rows[i].expected == NULL) {
            assert_untouched(body, rows[i].name, rows[i].value);
        } else {
            assert_rewritten(body, rows[i].name, rows[i].value, rows[i].expected);
        }
    }
    /* A block's own value is an exception; the seeded halves are not all and not nothing. */
    assert_untouched("shl.b32 %r1, %r2, 4;", "shift@k.b0", "off");
    ptx_module *m = module_of_file(example_paths[1]);
    char *all = rewritten(m, "shift@fa", "mul"), *half = rewritten(m, "shift@fa", "mul1"),
         *few = rewritten(m, "shift@fa", "mul3");
    size_t counts[3] = {0};
    const char *const texts[3] = {all, half, few};
    for (int i = 0; i < 3; i++) {
        for (const char *p = texts[i]; (p = strstr(p, "mul.lo.u32")) != NULL; p++) {
            counts[i]++;
        }
    }
    assert_true(counts[2] > 0 && counts[2] < counts[1] && counts[1] < counts[0]);
    mem_free(all);
    mem_free(half);
    mem_free(few);
    ptx_free(m);
}

static void test_unroll(void **state)
{
    (void)state;
    static const char body[] =
        "mov.b32 %r1, 0;\nL:\nadd.s32 %r1, %r1, 1;\n{ .reg .b32 t; mov.b32 t, "
        "%r1; st.shared.b32 [s], t; }\nsetp.lt.s32 %p1, %r1, %r2;\n@%p1 bra "
        "L;\nst.global.b32 [g], %r1;";
    assert_rewritten(body, "unroll@k", "nounroll",
                     "L:\n.pragma \"nounroll\";\n\tadd.s32 %r1, %r1, 1;");
    assert_rewritten(
        body, "unroll@k", "2",
        "setp.lt.s32 %p1, %r1, %r2;\n@!%p1 bra $evocc_exit0_1;\n\tadd.s32 %r1, %r1, "
        "1;\n\t{\n\t.reg .b32 t;\n\tmov.b32 t, %r1;\n\tst.shared.b32 [s], t;\n\t}\n\t"
        "setp.lt.s32 %p1, %r1, %r2;\n\t@%p1 bra L;\n$evocc_exit0_1:\nst.global.b32 [g], "
        "%r1;");
    assert_rewritten(body, "unroll@k.loop.b1", "4", "@!%p1 bra $evocc_exit0_1;");
    assert_untouched(".pragma \"nounroll\";\nL: add.s32 %r1, %r1, 1;\n@%p1 bra L;", "unroll@k",
                     "nounroll"); /* it is there */
    assert_rewritten("L: add.s32 %r1, %r1, 1;\n@!%p1 bra.uni L;", "unroll@k", "2",
                     "@%p1 bra.uni $evocc_exit0_0;");
    /* Two blocks; a variable of its own; places that a list names; no loop. */
    assert_untouched("L: add.s32 %r1, %r1, 1;\n@%p2 bra M;\nbar.sync 0;\nM: @%p1 bra L;",
                     "unroll@k", "2");
    assert_untouched("L: { .shared .b32 t; st.shared.b32 [t], %r1; }\n@%p1 bra L;", "unroll@k",
                     "2");
    assert_untouched("bar.sync 0;\n@%p1 bra DONE;\nbar.sync 1;", "unroll@k", "8");
}

static void test_polarity(void **state)
{
    (void)state;
    assert_rewritten("bar.sync 0;\n@%p1 bra DONE;\nbar.sync 1;", "polarity@k", "invert",
                     "@!%p1 bra $e0_n6;\n\tbra DONE;\n$e0_n6:\nbar.sync 1;");
    assert_rewritten("L: bar.sync 0;\n@! %p1 bra.uni L;", "polarity@k", "invert",
                     "@ %p1 bra.uni $e0_n7;\n\tbra.uni L;\n$e0_n7:");
    assert_untouched("bar.sync 0;\nbra DONE;", "polarity@k", "invert");
    /* "e0_" is taken. */
    assert_rewritten("@%p1 bra ke0_;\nbar.sync 1;\nke0_: bar.sync 2;", "polarity@k", "invert",
                     "@!%p1 bra $e1_n5;");
}

#define ONE "add.s32 %r1, %r1, 1;\n"
#define FIVE "@%p1 bra DONE;\n" ONE ONE ONE ONE ONE

static void test_convert(void **state)
{
    (void)state;
    assert_rewritten(
        "mov.u32 %r1, %tid.x;\n@%p1 bra DONE;\nadd.s32 %r2, %r1, 1;\nst.global.b32 [g], %r2;",
        "convert@k", "4",
        "mov.u32 %r1, %tid.x;\n\n@!%p1 add.s32 %r2, %r1, 1;\n@!%p1 st.global.b32 [g], %r2;");
    assert_rewritten("@!%p1 bra L;\nld.global.b32 %r2, [g];\nL: bar.sync 0;\n@%p2 bra M;\n"
                     "mov.b32 %r2, 1;\nM: st.global.b32 [g], %r2;",
                     "convert@k", "8",
                     "@%p1 ld.global.b32 %r2, [g];\nL: bar.sync 0;\n\n@!%p2 mov.b32 %r2, 1;");
    /* The join is reached from elsewhere as well. */
    assert_rewritten(
        "@%p3 bra L;\nbar.sync 1;\n@%p1 bra L;\nmov.b32 %r2, 1;\nL: st.global.b32 [g], %r2;",
        "convert@k", "8", "bar.sync 1;\n\n@!%p1 mov.b32 %r2, 1;\nL:");
    static const char *const kept[] = {
        "@%p1 bra DONE;\nbar.sync 0;",
        "@%p1 bra DONE;\nshfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
        "@%p1 bra DONE;\natom.global.add.u32 %r1, [g], 1;",
        "@%p1 bra DONE;\nst.volatile.global.b32 [g], %r1;",
        "@%p1 bra DONE;\n@%p2 mov.b32 %r1, 1;",
        "@%p1 bra DONE;\nsetp.eq.s32 %p1, %r1, 0;",
        "@%p1 bra DONE;\ncall foo;",
        "@%p1 bra DONE;\n{ .reg .b32 t; mov.b32 t, %r1; }",
        FIVE,                                                             /* five */
        "@%p1 bra X;\nmov.b32 %r1, 1;\nbra DONE;\nX: mov.b32 %r1, 2;",    /* two sides */
        "@%p2 bra IN;\nbar.sync 0;\n@%p1 bra DONE;\nIN: mov.b32 %r1, 1;", /* another way in */
        "bra DONE;\nmov.b32 %r1, 1;"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_untouched(kept[i], "convert@k", "4");
    }
}

static void test_cache(void **state)
{
    (void)state;
    static const struct {
        const char *body, *name, *value, *expected; /* NULL: untouched */
    } rows[] = {
        {"ld.global.b32 %r1, [%rd1];", "load-cache@k", "cg", "ld.global.cg.b32 %r1, [%rd1];"},
        {"ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd1];", "load-cache@k", "no_allocate_L2_256B",
         "ld.global.L1::no_allocate.L2::256B.v4.b32 {%r1"},
        {"ld.global.L1::evict_last.v2.b32 {%r1,%r2}, [%rd1];", "load-cache@k", "cs",
         "ld.global.cs.v2.b32 {%r1"},
        {"ld.global.L1::evict_last.b32 %r1, [%rd1];", "load-cache@k", "plain",
         "ld.global.b32 %r1, [%rd1];"},
        {"ld.global.nc.b32 %r1, [%rd1];", "load-cache@k", "cs", "ld.global.cs.nc.b32 %r1"},
        {"ld.global.nc.b32 %r1, [%rd1];", "load-cache@k", "ca", NULL},
        {"ld.global.nc.b32 %r1, [%rd1];", "load-cache@k", "evict_last",
         "ld.global.nc.L1::evict_last.b32 %r1"},
        {"@%p1 ld.weak.global.f32 %f1, [%rd1];", "load-cache@k", "L2_64B",
         "@%p1 ld.weak.global.L2::64B.f32 %f1"},
        {"ld.b32 %r1, [%rd1];", "load-cache@k", "cg", NULL}, /* generic: may be shared */
        {"ld.global.b32 %r1, [%rd1];\nld.global.b32 %r2, [%rd1+4];", "load-cache@k.b0.ld1", "cg",
         "ld.global.b32 %r1, [%rd1];\nld.global.cg.b32 %r2"},
        {"ld.shared.b32 %r1, [s];", "load-cache@k", "cg", NULL},
        {"ld.volatile.global.b32 %r1, [%rd1];", "load-cache@k", "cg", NULL},
        {"ld.acquire.gpu.global.b32 %r1, [%rd1];", "load-cache@k", "cg", NULL},
        {"ld.global.cv.b32 %r1, [%rd1];", "load-cache@k", "plain", NULL},
        {"ld.const.b32 %r1, [c];", "load-cache@k", "cg", NULL},
        {"ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;", "load-cache@k", "cg", NULL},
        {"st.global.v2.b32 [%rd1], {%r1,%r2};", "store-cache@k", "evict_last",
         "st.global.L1::evict_last.v2.b32 [%rd1]"},
        {"st.global.wb.b32 [%rd1], %r1;", "store-cache@k", "cs", "st.global.cs.b32 [%rd1]"},
        {"st.shared.b32 [s], %r1;", "store-cache@k", "cs", NULL},
        {"st.release.gpu.global.b32 [%rd1], %r1;", "store-cache@k", "cs", NULL},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "copy-cache@k", "ca",
         "cp.async.ca.shared.global [%r1]"},
        {"cp.async.ca.shared.global [%r1], [%rd1], 8;", "copy-cache@k", "cg", NULL},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "copy-cache@k", "L2_128B",
         "cp.async.cg.shared.global.L2::128B [%r1]"},
        {"cp.async.commit_group;", "copy-cache@k", "ca", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].expected == NULL) {
            assert_untouched(rows[i].body, rows[i].name, rows[i].value);
        } else {
            assert_rewritten(rows[i].body, rows[i].name, rows[i].value, rows[i].expected);
        }
    }
}

/* The values of a control, or "" when there is none. mem_free. */
static char *offered(const char *body, const char *name)
{
    evocc_error error;
    evocc_space *space;
    strbuf out = {0};
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, "k", NULL, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    size_t found = space_find(space, name);
    for (int32_t v = 0; found != (size_t)-1 && v < space_get(space, found)->size; v++) {
        strbuf_printf(&out, "%s ", space_get(space, found)->choices[v]);
    }
    strbuf_puts(&out, "");
    space_free(space);
    ptx_free(module);
    mem_free(text);
    return strbuf_take(&out);
}

static void assert_offered(const char *body, const char *name, const char *expected)
{
    char *values = offered(body, name);
    assert_string_equal(values == NULL ? "" : values, expected);
    mem_free(values);
}

/* What would change nothing is not offered. */
static void test_offered(void **state)
{
    (void)state;
    static const char one[] = "shl.b32 %r1, %r2, 4;\n";
    char many[512] = "";
    assert_offered(one, "ptx/shift@k", "off mul ");
    assert_offered(one, "ptx/mad@k", "");
    for (int i = 0; i < 4; i++) {
        strcat(many, one);
    }
    assert_offered(many, "ptx/shift@k", "off mul mul1 mul2 ");
    for (int i = 0; i < 12; i++) {
        strcat(many, one);
    }
    assert_offered(many, "ptx/shift@k", "off mul mul1 mul2 mul3 mul4 ");
    strcat(many, "mul.lo.s32 %r1, %r2, 8;\n");
    assert_offered(many, "ptx/shift@k", "off mul mul1 mul2 mul3 mul4 shl ");
    /* Of 200 blocks at most 96 are sites: those with the most places. */
    strbuf blocks = {0};
    for (int i = 0; i < 200; i++) {
        strbuf_printf(&blocks, "%s%s@%%p1 bra DONE;\n", one, i % 4 == 3 ? one : "");
    }
    assert_offered(blocks.data, "ptx/shift@k.b3", "off mul mul1 mul2 mul3 mul4 ");
    assert_offered(blocks.data, "ptx/shift@k.b199", "off mul mul1 mul2 mul3 mul4 ");
    assert_offered(blocks.data, "ptx/shift@k.b4", "off mul mul1 mul2 mul3 mul4 ");
    assert_offered(blocks.data, "ptx/shift@k.b100", "");
    strbuf_dispose(&blocks);
    /* Caches: of what is said already nothing; for one block no sites of its own. */
    assert_offered("ld.global.nc.b32 %r1, [%rd1];", "ptx/load-cache@k",
                   "keep cs evict_last evict_unchanged no_allocate L2_64B L2_128B L2_256B "
                   "no_allocate_L2_256B ");
    assert_offered("ld.global.cg.b32 %r1, [%rd1];", "ptx/load-cache@k",
                   "keep plain ca cs lu evict_last evict_unchanged no_allocate L2_64B L2_128B "
                   "L2_256B no_allocate_L2_256B ");
    assert_offered("cp.async.cg.shared.global [%r1], [%rd1], 16;", "ptx/copy-cache@k",
                   "keep ca L2_64B L2_128B L2_256B ");
    assert_offered("cp.async.ca.shared.global [%r1], [%rd1], 8;", "ptx/copy-cache@k",
                   "keep L2_64B L2_128B L2_256B ");
    assert_offered("ld.shared.b32 %r1, [s];", "ptx/load-cache@k", "");
}

static void test_missing(void **state)
{
    (void)state;
    char *text = kernel_of("mov.u32 %r1, %tid.x;\nst.shared.b32 [s], %r1;");
    ptx_module *module = module_of(text);
    static const char *const names[] = {"slice@k.v1",  "remat@k.x",   "sink@k.v",
                                        "slice@k.v00", "slice@k.v-1", "slice@k.v99999999999",
                                        "mad@k.b9",    "lop3@k.v0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        evocc_error error;
        char message[128];
        strbuf out = {0};
        const ptx_setting setting = {names[i], "off"};
        assert_int_equal(ptx_rewrite(&out, module, &setting, 1, &error), EVOCC_NOT_FOUND);
        snprintf(message, sizeof message, "test.ptx: no site %s in it", names[i]);
        assert_string_equal(error.message, message);
        strbuf_dispose(&out);
    }
    static const ptx_setting others[] = {
        {"unroll@k.loop.b0", "2"},      {"unroll@k.b0", "2"},
        {"load-cache@k.b0.ld0", "cg"},  {"load-cache@k.b00.ld0", "cg"},
        {"store-cache@k.b0.ld0", "cg"}, {"maxnreg@k.b0", "64"},
        {"copy-cache@k.b0", "ca"},      {"polarity@k.b0", "invert"},
        {"convert@k.b0", "4"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        evocc_error error;
        strbuf out = {0};
        assert_int_equal(ptx_rewrite(&out, module, &others[i], 1, &error), EVOCC_NOT_FOUND);
        strbuf_dispose(&out);
    }
    ptx_free(module);
    mem_free(text);
}

/* ---- Random candidates
 * ---------------------------------------------------------------------------- */

static void check_candidate(const ptx_module *module, const evocc_space *space,
                            const int32_t *genes)
{
    size_t n = space_count(space), count = 0;
    ptx_setting *settings = mem_alloc(n, sizeof *settings);
    strbuf *values = mem_alloc(n, sizeof *values);
    strbuf text = {0}, what = {0};
    evocc_error error;
    for (size_t i = 0; i < n; i++) {
        if (genes[i] != SPACE_ABSENT) {
            space_value_text(&values[i], space_get(space, i), genes[i]);
            settings[count++] = (ptx_setting){space_get(space, i)->name, strbuf_text(&values[i])};
        }
    }
    space_candidate_text(&what, space, genes);
    if (ptx_rewrite_checked(&text, module, settings, count, &error) != EVOCC_OK) {
        fail_msg("%s: %s", strbuf_text(&what), error.message);
    }
    for (size_t i = 0; i < n; i++) {
        strbuf_dispose(&values[i]);
    }
    strbuf_dispose(&text);
    strbuf_dispose(&what);
    mem_free(values);
    mem_free(settings);
}

static evocc_space *space_of(const ptx_module *module)
{
    evocc_error error;
    evocc_space *space;
    const ptx_limits limits = {.max_version = 90};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    for (size_t e = 0; e < ptx_entry_count(module); e++) {
        if (ptx_add_controls(space, module, ptx_entry_name(module, e), &limits, &error) !=
            EVOCC_OK) {
            fail_msg("%s", error.message);
        }
    }
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    return space;
}

static void check_random(const char *path, int candidates)
{
    evocc_error error;
    rng r;
    rng_seed(&r, 3);
    ptx_module *module = module_of_file(path);
    evocc_space *space = space_of(module);
    int32_t *genes = mem_alloc(space_count(space), sizeof *genes);
    for (int i = 0; i < candidates; i++) {
        assert_int_equal(space_sample(space, &r, genes, &error), EVOCC_OK);
        check_candidate(module, space, genes);
    }
    mem_free(genes);
    space_free(space);
    ptx_free(module);
}

static void test_random(void **state)
{
    (void)state;
    static const int candidates[EXAMPLE_COUNT] = {4, 6, 10, 15};
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        check_random(example_paths[i], candidates[i]);
    }
    check_random("tests/ptx/data/odd.ptx", 200);
}

/* Every value of every wide control alone. */
static void test_wide(void **state)
{
    (void)state;
    for (size_t e = 0; e < EXAMPLE_COUNT; e++) {
        ptx_module *module = module_of_file(example_paths[e]);
        evocc_space *space = space_of(module);
        size_t n = space_count(space);
        int32_t *genes = mem_alloc(n, sizeof *genes);
        for (size_t i = 0; i < n; i++) {
            const space_control *control = space_get(space, i);
            assert_true(control->help != NULL && control->source != NULL);
            for (int32_t v = 0; strchr(control->name, '.') == NULL && v < control->size; v++) {
                const char *value = control->choices[v];
                bool variant = strchr("2345678", value[strlen(value) - 1]) != NULL;
                if (variant && e < 3) {
                    continue; /* seeded variants: the smallest example is enough */
                }
                for (size_t k = 0; k < n; k++) {
                    genes[k] = k == i ? v : SPACE_ABSENT;
                }
                check_candidate(module, space, genes);
            }
        }
        mem_free(genes);
        space_free(space);
        ptx_free(module);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = kernel_of("mov.u32 %r1, %tid.x;\nadd.s32 %r3, %r1, 5;\n" LOOP);
    ptx_module *module = module_of(text);
    const ptx_setting settings[] = {{"slice@k", "loop"}, {"remat@k", "all2"}, {"sink@k", "any"}};
    for (long n = 0;; n++) {
        evocc_error error;
        strbuf out = {0};
        mem_fail_after(n);
        evocc_status status = ptx_rewrite(&out, module, settings, 3, &error);
        mem_fail_after(-1);
        strbuf_dispose(&out);
        if (status == EVOCC_OK) {
            assert_true(n > 50);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    ptx_free(module);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slice),     cmocka_unit_test(test_remat),
        cmocka_unit_test(test_sink),      cmocka_unit_test(test_forms),
        cmocka_unit_test(test_unroll),    cmocka_unit_test(test_cache),
        cmocka_unit_test(test_convert),   cmocka_unit_test(test_polarity),
        cmocka_unit_test(test_missing),   cmocka_unit_test(test_offered),
        cmocka_unit_test(test_wide),      cmocka_unit_test(test_random),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
