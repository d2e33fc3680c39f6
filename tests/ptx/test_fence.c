/* The passes fence and range: where they act, what the checker accepts of them and what it does
   not, what the real ptxas says. */
#include "helpers.h"

#include "ptx/checker.h"

#include <stdio.h>

/* The checker's answer to one body turned into another, with this in front of the {. */
static evocc_status checked(const char *before, const char *after, const char *bound)
{
    evocc_error error;
    const char *bodies[] = {before, after};
    ptx_module *modules[2];
    for (int i = 0; i < 2; i++) {
        char *text = kernel_of(bodies[i]);
        strbuf whole = {0};
        char *brace = strstr(text, ")\n{") + 2;
        strbuf_append(&whole, text, (size_t)(brace - text));
        strbuf_puts(&whole, bound);
        strbuf_puts(&whole, brace);
        modules[i] = module_of(strbuf_text(&whole));
        strbuf_dispose(&whole);
        mem_free(text);
    }
    evocc_status status = ptx_check(modules[0], modules[1], &error);
    ptx_free(modules[0]);
    ptx_free(modules[1]);
    return status;
}

static void assert_after(const char *body, const char *control, const char *value,
                         const char *expected)
{
    evocc_error error;
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    char *out = rewritten(module, control, value);
    ptx_module *after = module_of(out);
    assert_int_equal(ptx_check(module, after, &error), EVOCC_OK);
    if (expected == NULL) {
        assert_string_equal(text, out);
    } else if (strstr(out, expected) == NULL) {
        fail_msg("%s=%s: expected\n%s\nin\n%s", control, value, expected, out);
    }
    ptx_free(after);
    ptx_free(module);
    mem_free(out);
    mem_free(text);
}

#define FENCE "bar.warp.sync 0xffffffff;\n\t"
#define SEVEN                                                            \
    "add.s32 %r1, %r1, 1;\nadd.s32 %r2, %r2, 1;\nadd.s32 %r3, %r3, 1;\n" \
    "add.s32 %r4, %r4, 1;\nadd.s32 %r5, %r5, 1;\nadd.s32 %r6, %r6, 1;\nadd.s32 %r7, %r7, 1;\n"

static void test_fence(void **state)
{
    (void)state;
    assert_after("bar.sync 0;\n" SEVEN "add.s32 %r8, %r8, 1;", "fence@k", "each8",
                 "add.s32 %r7, %r7, 1;\n" FENCE "add.s32 %r8, %r8, 1;");
    assert_after("bar.sync 0;\n" SEVEN "add.s32 %r8, %r8, 1;", "fence@k", "each16", NULL);
    assert_after("bar.sync 0;\nld.global.b32 %r1, [g];\nld.global.b32 %r2, [g+4];\n"
                 "st.global.b32 [g], %r2;",
                 "fence@k.b0", "loads",
                 "ld.global.b32 %r2, [g+4];\n" FENCE "st.global.b32 [g], %r2;");
    /* Anything .aligned says that the warp is together. */
    assert_after("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [s];\nadd.s32 %r2, %r1, 1;",
                 "fence@k", "loads", FENCE "add.s32 %r2, %r1, 1;");
    /* No barrier in the block; a conditional one; one that not all lanes need; calls. */
    static const char *const others[] = {
        "", "@%p1 bar.sync 0;\n", "barrier.sync 0;\n", "bar.sync 0;\nnanosleep.u32 10;\n",
        "bar.sync 0;\nactivemask.b32 %r9;\n", "bar.sync 0;\nbar.warp.sync 0xff;\n",
        /* A product and a sum that ptxas may join. */
        "bar.sync 0;\nmul.f32 %f1, %f2, %f3;\nadd.ftz.f32 %f4, %f1, %f3;\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char body[1024];
        snprintf(body, sizeof body, "%sld.global.b32 %%r1, [g];\n%sst.global.b32 [g], %%r1;",
                 others[i], SEVEN);
        assert_after(body, "fence@k", "loads", NULL);
        assert_after(body, "fence@k", "each8", NULL);
    }
    /* Not between a pragma and what it speaks about, not within a scope. */
    assert_after("bar.sync 0;\nld.global.b32 %r1, [g];\n.pragma \"used_bytes_mask 0x1\";\n"
                 "st.global.b32 [g], %r1;",
                 "fence@k", "loads", NULL);
    assert_after("bar.sync 0;\n{ .reg .b32 %q; ld.global.b32 %q, [g]; st.global.b32 [g+4], %q; }",
                 "fence@k", "loads", NULL);
}

/* Not offered where a product lives on into the next turn of a loop: whether ptxas fuses it there
   depends on whether it unrolls. */
static void test_fence_contraction(void **state)
{
    (void)state;
    static const char *const products[] = {"mul.rn.f32 %f3, %f2, %f2;", "mul.f32 %f3, %f2, %f2;"};
    for (int i = 0; i < 2; i++) {
        evocc_error error;
        evocc_space *space;
        char body[256];
        snprintf(
            body, sizeof body,
            "mov.f32 %%f3, %%f1;\nL: bar.sync 0;\nadd.f32 %%f2, %%f2, %%f3;\n%s\n@%%p1 bra L;\n"
            "st.global.f32 [g], %%f2;",
            products[i]);
        char *text = kernel_of(body);
        ptx_module *module = module_of(text);
        assert_int_equal(space_new(&space, &error), EVOCC_OK);
        assert_int_equal(ptx_add_controls(space, module, "k", NULL, &error), EVOCC_OK);
        assert_int_equal(space_finish(space, &error), EVOCC_OK);
        assert_int_equal(space_find(space, "ptx/fence@k") != (size_t)-1, i == 0);
        space_free(space);
        ptx_free(module);
        mem_free(text);
    }
}

static void test_fence_checked(void **state)
{
    (void)state;
    static const char store[] = "bar.sync 0; st.global.b32 [g], %r1;";
    static const char fence[] = "bar.sync 0; bar.warp.sync 0xffffffff; st.global.b32 [g], %r1;";
    assert_int_equal(checked(store, fence, ""), EVOCC_OK);
    assert_int_equal(checked(store, "bar.sync 0; bar.warp.sync -1; st.global.b32 [g], %r1;", ""),
                     EVOCC_OK);
    /* Fewer lanes, a condition, one less, and none that brings the warp together. */
    assert_int_equal(checked(store, "bar.sync 0; bar.warp.sync 0xff; st.global.b32 [g], %r1;", ""),
                     EVOCC_MISMATCH);
    assert_int_equal(
        checked(store, "bar.sync 0; @%p1 bar.warp.sync -1; st.global.b32 [g], %r1;", ""),
        EVOCC_MISMATCH);
    assert_int_equal(checked(fence, store, ""), EVOCC_MISMATCH);
    assert_int_equal(
        checked("st.global.b32 [g], %r1;", "bar.warp.sync -1; st.global.b32 [g], %r1;", ""),
        EVOCC_MISMATCH);
    assert_int_equal(checked("@%p1 bar.sync 0; st.global.b32 [g], %r1;",
                             "@%p1 bar.sync 0; bar.warp.sync -1; st.global.b32 [g], %r1;", ""),
                     EVOCC_MISMATCH);
    /* A fence does not hide what else changed. */
    assert_int_equal(checked("bar.sync 0; st.global.b32 [g], %r1; st.global.b32 [g], %r2;",
                             "bar.sync 0; st.global.b32 [g], %r2; bar.warp.sync -1; "
                             "st.global.b32 [g], %r1;",
                             ""),
                     EVOCC_MISMATCH);
}

static void test_range(void **state)
{
    (void)state;
    assert_after("mov.u32 %r1, %tid.x;\nst.global.b32 [g], %r1;", "range@k", "isa",
                 "mov.u32 %e0_0, %tid.x;\n\tand.b32 %r1, %e0_0, 1023;");
    assert_after("mov.u32 %r1, %tid.z;\nst.global.b32 [g], %r1;", "range@k", "isa",
                 "and.b32 %r1, %e0_0, 63;");
    assert_after("@%p1 mov.u32 %r1, %tid.x;\nst.global.b32 [g], %r1;", "range@k", "isa", NULL);
    assert_after("mov.u32 %r1, %ctaid.x;\nst.global.b32 [g], %r1;", "range@k", "isa", NULL);
    /* By the launch bound: 128 threads. Triton's files state it. */
    ptx_module *module = module_of_file(example_paths[0]);
    char *out = rewritten(module, "range@fa", "bound");
    assert_non_null(strstr(out, "%e0_0, 127;"));
    mem_free(out);
    ptx_free(module);
}

static void test_range_checked(void **state)
{
    (void)state;
    static const char whole[] = "mov.u32 %r1, %tid.x; st.global.b32 [g], %r1;";
    static const char masked[] =
        "mov.u32 %r2, %tid.x; and.b32 %r1, %r2, 1023; st.global.b32 [g], %r1;";
    static const char narrow[] =
        "mov.u32 %r2, %tid.x; and.b32 %r1, %r2, 127; st.global.b32 [g], %r1;";
    assert_int_equal(checked(whole, masked, ""), EVOCC_OK);
    assert_int_equal(checked(whole, narrow, ""), EVOCC_MISMATCH);
    assert_int_equal(checked(whole, narrow, ".reqntid 128\n"), EVOCC_OK);
    assert_int_equal(checked(whole, narrow, ".maxntid 4, 32\n"), EVOCC_OK);
    assert_int_equal(checked(whole, narrow, ".maxntid 129\n"), EVOCC_MISMATCH);
    assert_int_equal(checked("mov.u32 %r1, %ctaid.x; st.global.b32 [g], %r1;",
                             "mov.u32 %r2, %ctaid.x; and.b32 %r1, %r2, 1023; "
                             "st.global.b32 [g], %r1;",
                             ""),
                     EVOCC_MISMATCH);
    /* One thread: its index is 0. */
    assert_int_equal(checked(whole, "mov.u32 %r1, 0; st.global.b32 [g], %r1;", ".reqntid 1\n"),
                     EVOCC_OK);
}

static void test_ptxas(void **state)
{
    (void)state;
    static const char *const values[] = {"each8", "each16", "each32", "each64", "loads",
                                         "seed1", "seed2",  "seed3",  "seed4"};
    if (find_ptxas() == NULL) {
        skip();
    }
    /* The matrix product: no floats but in wgmma. */
    ptx_module *module = module_of_file(example_paths[3]);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        evocc_error error;
        char message[4096];
        strbuf out = {0};
        const ptx_setting settings[] = {{"fence@mm", values[i]},
                                        {"range@mm", i % 2 == 0 ? "isa" : "bound"}};
        assert_int_equal(ptx_rewrite(&out, module, settings, 2, &error), EVOCC_OK);
        assert_non_null(strstr(strbuf_text(&out), "bar.warp.sync 0xffffffff"));
        if (!run_ptxas(strbuf_text(&out), "sm_90a", NULL, NULL, message)) {
            fail_msg("fence@mm=%s: %s", values[i], message);
        }
        strbuf_dispose(&out);
    }
    ptx_free(module);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = kernel_of("bar.sync 0;\nmov.u32 %r1, %tid.x;\nld.global.b32 %r2, [g];\n"
                           "st.global.b32 [g], %r2;");
    ptx_module *module = module_of(text);
    const ptx_setting settings[] = {{"fence@k", "loads"}, {"range@k", "isa"}};
    for (long n = 0;; n++) {
        evocc_error error;
        strbuf out = {0};
        mem_fail_after(n);
        evocc_status status = ptx_rewrite(&out, module, settings, 2, &error);
        mem_fail_after(-1);
        strbuf_dispose(&out);
        if (status == EVOCC_OK) {
            assert_true(n > 20);
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
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_fence_checked),
        cmocka_unit_test(test_fence_contraction),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_range_checked),
        cmocka_unit_test(test_ptxas),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
