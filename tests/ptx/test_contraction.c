/* What ptxas may join to fused multiply-adds: no pass that is called exact may change whether it
   does. Seen on a GPU first (docs/bench-differential.md). */
#include "helpers.h"

#include "space/space.h"
#include "util/strbuf.h"

#include <stdio.h>

static void assert_kept(const char *body, const char *name, const char *value)
{
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    char *out = rewritten(module, name, value);
    if (strcmp(out, text) != 0) {
        fail_msg("%s=%s changed\n%s\nto\n%s", name, value, text, out);
    }
    mem_free(out);
    ptx_free(module);
    mem_free(text);
}

static void assert_changed(const char *body, const char *name, const char *value)
{
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    char *out = rewritten(module, name, value);
    if (strcmp(out, text) == 0) {
        fail_msg("%s=%s left all as it was in\n%s", name, value, text);
    }
    mem_free(out);
    ptx_free(module);
    mem_free(text);
}

/* The body with every rounding stated. mem_free. */
static char *stated(const char *body)
{
    strbuf out = {0};
    for (const char *at = body; *at != '\0'; at++) {
        strbuf_putc(&out, *at);
        bool word =
            at - body >= 2 && (memcmp(at - 2, "mul", 3) == 0 || memcmp(at - 2, "add", 3) == 0 ||
                               memcmp(at - 2, "sub", 3) == 0);
        strbuf_puts(&out, word && strncmp(at + 1, ".f", 2) == 0 ? ".rn" : "");
    }
    return strbuf_take(&out);
}

static const char *const copying[][2] = {
    {"remat@k", "all1"}, {"remat@k", "all2"}, {"slice@k", "all"}, {"sink@k", "any"}};

/* Nothing is copied or moved, but all of `moves` is (bits as in `copying`) once rounding is stated.
 */
static void assert_held(const char *body, unsigned moves)
{
    char *free_body = stated(body);
    for (size_t i = 0; i < sizeof copying / sizeof *copying; i++) {
        assert_kept(body, copying[i][0], copying[i][1]);
        if ((moves >> i & 1) != 0) {
            assert_changed(free_body, copying[i][0], copying[i][1]);
        }
    }
    mem_free(free_body);
}

#define LOADED "ld.global.f32 %f1, [g];\nld.global.f32 %f2, [g+4];\n"

/* One product read by a sum and by something else stays a product of its own; a copy for the sum
   alone would not. */
static void products_are_not_copied(void **state)
{
    (void)state;
    assert_held(LOADED "mul.f32 %f3, %f1, %f2;\n@%p1 bra DONE;\nadd.f32 %f4, %f3, %f2;\n"
                       "st.global.f32 [g], %f3;\nst.global.f32 [g+4], %f4;",
                15);
    assert_held(LOADED "mul.f32 %f3, %f1, %f2;\n@%p1 bra DONE;\nneg.f32 %f5, %f3;\n"
                       "add.f32 %f4, %f5, %f2;\nst.global.f32 [g], %f3;\n"
                       "st.global.f32 [g+4], %f4;",
                15);
    assert_held("ld.global.b64 %rd1, [g];\nmul.f64 %rd3, %rd1, %rd1;\n@%p1 bra DONE;\n"
                "sub.f64 %rd4, %rd1, %rd3;\nst.global.b64 [g], %rd3;\nst.global.b64 [g], %rd4;",
                15);
}

static void sums_are_not_copied(void **state)
{
    (void)state;
    assert_held(LOADED "mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f2;\n@%p1 bra DONE;\n"
                       "st.global.f32 [g], %f4;\nst.global.f32 [g+4], %f4;",
                15);
}

/* Copying of what cannot be joined goes on. */
static void others_are_copied(void **state)
{
    (void)state;
    assert_changed(LOADED "mul.f32 %f3, %f1, %f2;\nbar.sync 0;\nst.global.f32 [g], %f3;", "remat@k",
                   "all1");
    assert_changed(LOADED "mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f1, %f2;\nbar.sync 0;\n"
                          "st.global.f32 [g], %f3;\nst.global.f32 [g+4], %f4;",
                   "remat@k", "all1");
}

/* Of two products the first operand of the sum is the one that is joined. */
static void sums_of_products_keep_their_order(void **state)
{
    (void)state;
    assert_kept("mul.rn.f32 %f3, %f1, %f1;\nmul.f32 %f5, %f2, %f2;\nadd.f32 %f4, %f3, %f5;\n"
                "st.global.f32 [g], %f4;",
                "swap@k", "swap");
    assert_changed("add.f32 %f4, %f3, %f5;\nst.global.f32 [g], %f4;", "swap@k", "swap");
    assert_changed("mul.f32 %f4, %f3, %f5;\nst.global.f32 [g], %f4;", "swap@k", "swap");
}

/* What parts a block for ptxas (a division is a branch to it) stays where it is between them. */
static void nothing_comes_between(void **state)
{
    (void)state;
    static const char *const values[] = {"late",  "early", "pressure", "seed1", "seed2", "seed3",
                                         "seed4", "seed5", "seed6",    "seed7", "seed8"};
    static const char body[] =
        LOADED "mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f2;\ndiv.rn.f32 %f5, %f1, %f2;\n"
               "mul.f32 %f6, %f2, %f2;\nmov.u32 %r1, %tid.x;\nst.global.f32 [g], %f4;\n"
               "st.global.f32 [g+4], %f5;\nst.global.f32 [g+8], %f6;";
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char *out = rewritten(module, "order@k", values[i]);
        const char *division = strstr(out, "div.rn");
        if (strstr(out, "add.f32") > division || strstr(out, "mul.f32 %f6") < division) {
            fail_msg("order@k=%s:\n%s", values[i], out);
        }
        mem_free(out);
    }
    ptx_free(module);
    mem_free(text);
    assert_held(LOADED "mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f2;\nst.global.f32 [g], %f4;\n"
                       "div.rn.f32 %f5, %f1, %f2;\n@%p1 bra DONE;\nst.global.f32 [g+4], %f5;\n"
                       "bar.sync 0;\nst.global.f32 [g+4], %f5;",
                15);
}

static bool lists(const char *body, const char *name)
{
    evocc_error error;
    evocc_space *space = NULL;
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    const ptx_limits limits = {.max_version = 90};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    bool found = space_find(space, name) != (size_t)-1;
    space_free(space);
    ptx_free(module);
    mem_free(text);
    return found;
}

static bool unrolling_is_exact(const char *body)
{
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    bool exact = false;
    assert_int_equal(ptx_unrolling_is_exact(&exact, module, NULL), EVOCC_OK);
    ptx_free(module);
    mem_free(text);
    return exact;
}

/* A product that the next iteration adds: ptxas joins them where it unrolls, and only there. */
static void loops_that_carry_products_are_left_alone(void **state)
{
    (void)state;
    static const char carried[] = "L: add.f32 %f6, %f6, %f5;\nld.global.f32 %f3, [g];\n"
                                  "mul.f32 %f5, %f3, %f2;\n@%p1 bra L;\nst.global.f32 [g], %f6;";
    static const char copied[] = "L: add.f32 %f6, %f6, %f7;\nld.global.f32 %f3, [g];\n"
                                 "mul.f32 %f5, %f3, %f2;\nmov.f32 %f7, %f5;\n@%p1 bra L;\n"
                                 "st.global.f32 [g], %f6;\nmov.f32 %f7, %f1;";
    static const char used_up[] = "L: ld.global.f32 %f3, [g];\nmul.f32 %f5, %f3, %f2;\n"
                                  "add.f32 %f6, %f6, %f5;\n@%p1 bra L;\nst.global.f32 [g], %f6;";
    assert_false(lists(carried, "ptx/unroll@k"));
    assert_false(lists(carried, "ptx/polarity@k"));
    assert_false(lists(carried, "ptx/frequency@k"));
    assert_false(lists(copied, "ptx/unroll@k"));
    assert_true(lists(used_up, "ptx/unroll@k"));
    assert_true(lists(used_up, "ptx/polarity@k"));
    assert_true(lists(used_up, "ptx/frequency@k"));
    /* Levels of optimisation differ in what they unroll, too. */
    assert_false(unrolling_is_exact(carried));
    assert_false(unrolling_is_exact(copied));
    assert_true(unrolling_is_exact(used_up));
}

/* Each of these ptxas 13.0 joins where it unrolls the loop, and not where it does not: compiled
   with and without `.pragma "nounroll"` the one has an FFMA where the other has FMUL and FADD. `4`
   turns: all of the loop becomes one block. */
static void unrolling_joins_across(void **state)
{
    (void)state;
#define TURNS4 "add.s32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 4;\n@%p1 bra L;\n"
#define LOAD "L: ld.global.f32 %f4, [%rd6];\n"
    static const char *const at_risk[] = {
        /* the sum behind the loop, in front of it, on both sides of it */
        LOAD "mul.f32 %f5, %f4, %f1;\n" TURNS4 "add.f32 %f6, %f5, %f2;\nst.global.f32 [g], %f6;",
        "mul.f32 %f6, %f1, %f2;\n" LOAD "add.f32 %f6, %f6, %f4;\n" TURNS4 "st.global.f32 [g], %f6;",
        "mul.f32 %f5, %f1, %f2;\n" LOAD "fma.rn.f32 %f6, %f6, %f4, %f4;\n" TURNS4
        "add.f32 %f6, %f6, %f5;\nst.global.f32 [g], %f6;",
        /* another reader that only the last turn has, or that goes with its value */
        LOAD "mul.f32 %f5, %f4, %f1;\nadd.f32 %f6, %f6, %f5;\n" TURNS4
             "st.global.f32 [g], %f6;\nst.global.f32 [g+4], %f5;",
        LOAD "mul.f32 %f5, %f4, %f1;\nadd.f32 %f6, %f6, %f5;\nmax.f32 %f9, %f5, %f1;\n" TURNS4
             "st.global.f32 [g], %f6;\nst.global.f32 [g+4], %f9;",
        /* an element of a local array, a condition, a mask, a divisor that become known */
        LOAD "mul.f32 %f5, %f4, %f1;\nst.local.f32 [%rd9], %f5;\n" TURNS4
             "ld.local.f32 %f7, [%rd9];\nadd.f32 %f6, %f7, %f2;\nst.global.f32 [g], %f6;",
        LOAD "mul.f32 %f5, %f4, %f1;\nsetp.eq.u32 %p2, %r6, 2;\n@%p2 bra M;\n"
             "add.f32 %f6, %f6, %f5;\nM: st.global.f32 [g], %f6;\n" TURNS4,
        LOAD "mul.f32 %f5, %f4, %f1;\nsetp.eq.u32 %p2, %r6, 2;\nselp.f32 %f5, %f5, %f4, %p2;\n"
             "add.f32 %f6, %f6, %f5;\nst.global.f32 [g], %f6;\n" TURNS4,
        LOAD "mul.f32 %f5, %f4, %f1;\nmov.b32 %r7, %f5;\nand.b32 %r7, %r7, %r6;\n"
             "mov.b32 %f5, %r7;\nadd.f32 %f6, %f6, %f5;\nst.global.f32 [g], %f6;\n" TURNS4,
        LOAD "mul.f32 %f5, %f4, %f1;\ncvt.rn.f32.u32 %f8, %r6;\ndiv.full.f32 %f5, %f5, %f8;\n"
             "add.f32 %f6, %f6, %f5;\nst.global.f32 [g], %f6;\n" TURNS4,
        LOAD "mul.f32 %f5, %f4, %f1;\nmax.f32 %f5, %f5, %f5;\nadd.f32 %f6, %f6, %f5;\n"
             "st.global.f32 [g], %f6;\n" TURNS4,
    };
    for (size_t i = 0; i < sizeof at_risk / sizeof *at_risk; i++) {
        if (unrolling_is_exact(at_risk[i]) || lists(at_risk[i], "ptx/frequency@k")) {
            fail_msg("called exact:\n%s", at_risk[i]);
        }
    }
}

/* What no unrolling brings together: stated roundings; products whose readers hand nothing on;
   pairs of one block without other readers than stores; no way back at all. */
static void unrolling_keeps_apart(void **state)
{
    (void)state;
    static const char *const exact[] = {
        LOAD "mul.rn.f32 %f5, %f4, %f1;\n" TURNS4 "add.f32 %f6, %f5, %f2;\n"
             "st.global.f32 [g], %f6;\nmul.f32 %f9, %f1, %f2;",
        LOAD "mul.f32 %f5, %f4, %f1;\n" TURNS4 "add.rn.f32 %f6, %f5, %f2;\n"
             "st.global.f32 [g], %f6;\nadd.f32 %f9, %f1, %f2;",
        LOAD "mul.f32 %f5, %f4, %f1;\nadd.f32 %f6, %f6, %f5;\nst.global.f32 [g+8], %f5;\n" TURNS4
             "st.global.f32 [g], %f6;",
        LOAD "mul.f32 %f5, %f4, %f1;\n" TURNS4 "ex2.approx.f32 %f7, %f5;\n"
             "add.f32 %f6, %f7, %f2;\nst.global.f32 [g], %f6;",
        /* as attention does: scores, their maximum, the difference to the one before */
        LOAD "mul.f32 %f5, %f4, %f1;\nmax.f32 %f7, %f8, %f5;\nsub.f32 %f9, %f8, %f7;\n"
             "ex2.approx.f32 %f9, %f9;\nmov.f32 %f8, %f7;\nst.global.f32 [g], %f9;\n" TURNS4,
        /* a register that something else had before */
        "ld.global.f32 %f5, [g];\nadd.f32 %f6, %f5, %f2;\nst.global.f32 [g], %f6;\n" LOAD
        "mul.f32 %f5, %f4, %f1;\nst.global.f32 [g], %f5;\n" TURNS4,
        "mul.f32 %f5, %f2, %f1;\n@%p1 bra DONE;\nadd.f32 %f6, %f5, %f2;\nst.global.f32 [g], %f6;",
    };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (!unrolling_is_exact(exact[i])) {
            fail_msg("called at risk:\n%s", exact[i]);
        }
    }
}

/* Where results may change the controls are there for those who allow it, and say so. */
static void at_risk_is_marked(void **state)
{
    (void)state;
    static const char *const names[] = {"ptx/frequency@k", "ptx/frequency@k.b1", "ptx/unroll@k",
                                        "ptx/polarity@k"};
    evocc_error error;
    evocc_space *space = NULL;
    char *text = kernel_of(LOAD "mul.f32 %f5, %f4, %f1;\n" TURNS4
                                "add.f32 %f6, %f5, %f2;\nst.global.f32 [g], %f6;");
    ptx_module *module = module_of(text);
    const ptx_limits limits = {.max_version = 90, .allow_numerics = true};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t found = space_find(space, names[i]);
        assert_true(found != (size_t)-1);
        assert_int_equal(space_get(space, found)->numerics, SPACE_ROUNDING);
    }
    size_t order = space_find(space, "ptx/order@k");
    assert_true(order != (size_t)-1);
    assert_int_equal(space_get(space, order)->numerics, SPACE_EXACT);
    space_free(space);
    ptx_free(module);
    mem_free(text);
}

/* The analysis gives up, and says "at risk", instead of following each of 4,000 products through
   all the others: followed to the end, none of them reaches the sum. */
static void the_analysis_is_bounded(void **state)
{
    (void)state;
    strbuf body = {0};
    strbuf_puts(&body, "L: ld.global.f32 %f4, [g];\n");
    for (int i = 0; i < 4000; i++) {
        strbuf_printf(&body, "mul.f32 %%f5, %%f5, %%f4;\n@%%p2 bra M%d;\nM%d:\n", i, i);
    }
    strbuf_puts(&body, "add.f32 %f6, %f6, %f4;\nst.global.f32 [g], %f5;\n@%p1 bra L;\n");
    char *text = strbuf_take(&body);
    assert_non_null(text);
    assert_false(unrolling_is_exact(text));
    mem_free(text);
}

/* Conversion makes one block of three: ptxas then joins what stood in two of them (the first two),
   and keeps apart what is guarded (the third). */
static void conversion_joins_no_blocks_of_products(void **state)
{
    (void)state;
    static const char *const kept[] = {
        LOADED "mul.f32 %f5, %f1, %f2;\n@%p1 bra M;\nadd.f32 %f2, %f5, %f2;\n"
               "M: st.global.f32 [g], %f2;",
        LOADED "mul.f32 %f5, %f1, %f2;\n@%p1 bra M;\nst.global.f32 [g+4], %f1;\n"
               "M: add.f32 %f2, %f5, %f2;\nst.global.f32 [g], %f2;",
        LOADED "@%p1 bra M;\nmul.f32 %f5, %f1, %f2;\nadd.f32 %f2, %f5, %f2;\n"
               "M: st.global.f32 [g], %f2;",
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char *free_body = stated(kept[i]);
        assert_kept(kept[i], "convert@k", "32");
        assert_changed(free_body, "convert@k", "32");
        mem_free(free_body);
    }
}

/* A lop3 that a comparison with 0 reads takes ptxas down (12.4 to 13.5). */
static void no_lop3_is_compared(void **state)
{
    (void)state;
    static const char joined[] =
        "ld.global.b32 %r1, [g];\nand.b32 %r2, %r1, 1023;\nand.b32 %r3, %r2, 31;\n";
    char compared[300];
    snprintf(compared, sizeof compared,
             "%ssetp.eq.b32 %%p2, %%r3, 0;\n@%%p2 st.global.b32 [g], %%r1;", joined);
    assert_kept(compared, "lop3@k", "join");
    snprintf(compared, sizeof compared, "%sst.global.b32 [g], %%r3;", joined);
    assert_changed(compared, "lop3@k", "join");
}

/* No text that parses takes a pass beyond its operands. */
static void arithmetic_without_operands(void **state)
{
    (void)state;
    assert_kept("mul.f32;\nadd.f32;\nneg.f32;\nadd.f32 %f1;\nmul.f32 %f1;\nmov.f32;", "remat@k",
                "all1");
    assert_false(lists("L: mul.f32;\nadd.f32;\nmov.f32;\n@%p1 bra L;", "ptx/frequency@k"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_not_copied),
        cmocka_unit_test(sums_are_not_copied),
        cmocka_unit_test(others_are_copied),
        cmocka_unit_test(sums_of_products_keep_their_order),
        cmocka_unit_test(nothing_comes_between),
        cmocka_unit_test(no_lop3_is_compared),
        cmocka_unit_test(arithmetic_without_operands),
        cmocka_unit_test(loops_that_carry_products_are_left_alone),
        cmocka_unit_test(unrolling_joins_across),
        cmocka_unit_test(unrolling_keeps_apart),
        cmocka_unit_test(at_risk_is_marked),
        cmocka_unit_test(the_analysis_is_bounded),
        cmocka_unit_test(conversion_joins_no_blocks_of_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
