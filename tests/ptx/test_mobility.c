#include "helpers.h"

#include <stdio.h>

static ptx_mobility measure(const char *body)
{
    evocc_error error;
    char *text = kernel_of(body);
    memcpy(strstr(text, "DONE:"), "     ", 5); /* a label that nothing names could move as well */
    ptx_module *module = module_of(text);
    ptx_mobility result;
    if (ptx_measure_mobility(&result, module, "k", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    ptx_free(module);
    mem_free(text);
    return result;
}

/* "instructions movable reason:n reason:n" */
static void assert_mobility(const char *body, const char *expected)
{
    ptx_mobility m = measure(body);
    strbuf seen = {0};
    size_t pinned = 0;
    strbuf_printf(&seen, "%zu %zu", m.instructions, m.movable);
    for (size_t i = 0; i < m.pinned_count; i++) {
        strbuf_printf(&seen, " %s:%zu", m.pinned[i].reason, m.pinned[i].instructions);
        pinned += m.pinned[i].instructions;
    }
    assert_string_equal(strbuf_text(&seen), expected);
    assert_int_equal(m.movable + pinned, m.instructions);
    strbuf_dispose(&seen);
}

static void test_small(void **state)
{
    (void)state;
    assert_mobility("", "1 0 control flow:1");
    assert_mobility("mov.b32 %r1, 1;", "2 0 alone between barriers:1 control flow:1");
    assert_mobility("mov.b32 %r1, 1; mov.b32 %r2, 1;", "3 2 control flow:1");
    assert_mobility("mov.b32 %r1, 1; add.s32 %r2, %r1, 1; mul.lo.s32 %r3, %r2, 2;",
                    "4 0 data:3 control flow:1");
    /* The middle one may go to either side; that frees its neighbours as well. */
    assert_mobility("mov.b32 %r1, 1; mov.b32 %r5, 2; add.s32 %r2, %r1, 1;", "4 3 control flow:1");
    assert_mobility("st.shared.b32 [s], %r1; st.shared.b32 [s+4], %r2;",
                    "3 0 store:2 control flow:1");
    assert_mobility("bar.sync 0; mov.b32 %r1, 1; mov.u32 %r2, %clock; call foo;",
                    "5 2 varying special register:1 call:1 control flow:1");
    assert_mobility("{ .reg .b32 t; mov.b32 t, %r1; add.s32 %r2, t, 1; }",
                    "3 0 data:2 control flow:1");
    assert_mobility("frob %r1; frob %r2;", "3 0 unknown opcode:2 control flow:1");
}

static void test_examples(void **state)
{
    (void)state;
    static const char *const names[] = {"fa", "fa", "ln", "mm"};
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        evocc_error error;
        ptx_mobility m;
        ptx_module *module = module_of_file(example_paths[i]);
        assert_int_equal(ptx_measure_mobility(&m, module, names[i], &error), EVOCC_OK);
        size_t instructions = 0, pinned = 0;
        for (size_t s = 0; s < module->statement_count; s++) {
            instructions += module->statements[s].kind == PTX_INSTRUCTION;
        }
        for (size_t p = 0; p < m.pinned_count; p++) {
            pinned += m.pinned[p].instructions;
        }
        assert_int_equal(m.instructions, instructions);
        assert_int_equal(m.movable + pinned, instructions);
        assert_true(m.movable * 100 > 99 * instructions);
        print_message("%s: %zu of %zu instructions may move\n", example_paths[i], m.movable,
                      m.instructions);
        assert_int_equal(ptx_measure_mobility(&m, module, "nobody", &error), EVOCC_NOT_FOUND);
        ptx_free(module);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    ptx_module *module = module_of_file(example_paths[2]);
    for (long n = 0;; n++) {
        evocc_error error;
        ptx_mobility m;
        mem_fail_after(n);
        evocc_status status = ptx_measure_mobility(&m, module, "ln", &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    ptx_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_examples),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
