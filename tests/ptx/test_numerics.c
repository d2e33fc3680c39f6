/* Controls that may change results: what they rewrite, what they leave alone, that they are absent
   unless allowed, and that the real ptxas takes every value. */
#include "helpers.h"

#include <stdio.h>

static const char *const names[] = {"divide", "root", "flush", "contract"};
enum { NAME_COUNT = sizeof names / sizeof *names };

static void assert_after(const char *body, const char *name, const char *value,
                         const char *expected)
{
    char *text = kernel_of(body), *wanted = kernel_of(expected == NULL ? body : expected);
    ptx_module *module = module_of(text);
    char control[32];
    snprintf(control, sizeof control, "%s@k", name);
    char *out = rewritten(module, control, value);
    if (expected == NULL || strncmp(expected, "mul.rn", 6) != 0) {
        assert_string_equal(out, wanted);
    } else if (strstr(out, expected) == NULL) { /* fresh registers are declared as well */
        fail_msg("%s=%s: expected\n%s\nin\n%s", name, value, expected, out);
    }
    ptx_free(module);
    mem_free(text);
    mem_free(wanted);
    mem_free(out);
}

static void test_rewritings(void **state)
{
    (void)state;
    static const struct {
        const char *body, *name, *value, *expected; /* NULL: untouched */
    } rows[] = {
        {"div.rn.f32 %f1, %f2, %f3;", "divide", "full", "div.full.f32 %f1, %f2, %f3;"},
        {"@!%p1 div.rn.ftz.f32 %f1, %f2, 0f40000000;", "divide", "approx",
         "@!%p1 div.approx.ftz.f32 %f1, %f2, 0f40000000;"},
        {"div.full.f32 %f1, %f2, %f3;", "divide", "approx", "div.approx.f32 %f1, %f2, %f3;"},
        {"div.full.f32 %f1, %f2, %f3;", "divide", "full", NULL},
        {"div.rz.f32 %f1, %f2, %f3;", "divide", "approx", NULL},
        {"div.rn.f64 %rd1, %rd2, %rd3;", "divide", "approx", NULL},
        {"div.s32 %r1, %r2, %r3;", "divide", "approx", NULL},
        {"rcp.rn.f32 %f1, %f2;", "root", "approx", "rcp.approx.f32 %f1, %f2;"},
        {"sqrt.rn.ftz.f32 %f1, %f2;", "root", "approx", "sqrt.approx.ftz.f32 %f1, %f2;"},
        {"sqrt.rp.f32 %f1, %f2;", "root", "approx", NULL},
        {"rcp.rn.f64 %rd1, %rd2;", "root", "approx", NULL},
        {"add.f32 %f1, %f2, %f3;", "flush", "ftz", "add.ftz.f32 %f1, %f2, %f3;"},
        {"fma.rn.sat.f32 %f1, %f2, %f3, %f4;", "flush", "ftz",
         "fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;"},
        {"max.NaN.f32 %f1, %f2, %f3;", "flush", "ftz", "max.ftz.NaN.f32 %f1, %f2, %f3;"},
        {"ex2.approx.ftz.f32 %f1, %f2;", "flush", "keep", "ex2.approx.f32 %f1, %f2;"},
        {"fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;", "flush", "keep",
         "fma.rn.sat.f32 %f1, %f2, %f3, %f4;"},
        {"ex2.approx.ftz.f32 %f1, %f2;", "flush", "ftz", NULL},
        {"setp.lt.f32 %p1, %f2, %f3;", "flush", "ftz", NULL},
        {"cvt.rn.f16.f32 %h1, %f2;", "flush", "ftz", NULL},
        {"add.s32 %r1, %r2, %r3;", "flush", "ftz", NULL},
        {"add.f16 %h1, %h2, %h3;", "flush", "ftz", NULL},
        {"add.rn.f32x2 %rd1, %rd2, %rd3;", "flush", "ftz", NULL},
        {"fma.rn.f32 %f1, %f2, %f3, %f4;", "contract", "split",
         "mul.rn.f32 %e0_0, %f2, %f3;\n\tadd.rn.f32 %f1, %e0_0, %f4;"},
        {"@%p1 fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;", "contract", "split",
         "mul.rn.ftz.f32 %e0_0, %f2, %f3;\n\t@%p1 add.rn.ftz.sat.f32 %f1, %e0_0, %f4;"},
        {"fma.rn.f64 %rd1, %rd2, %rd3, %rd4;", "contract", "split",
         "mul.rn.f64 %e0_0, %rd2, %rd3;\n\tadd.rn.f64 %rd1, %e0_0, %rd4;"},
        {"fma.rz.f32 %f1, %f2, %f3, %f4;", "contract", "split", NULL},
        {"fma.rn.f16x2 %r1, %r2, %r3, %r4;", "contract", "split", NULL},
        {"mul.f32 %f1, %f2, %f3;", "contract", "hold", "mul.rn.f32 %f1, %f2, %f3;"},
        {"sub.ftz.f32 %f1, %f2, %f3;", "contract", "hold", "sub.rn.ftz.f32 %f1, %f2, %f3;"},
        {"add.f64 %rd1, %rd2, %rd3;", "contract", "hold", "add.rn.f64 %rd1, %rd2, %rd3;"},
        {"add.rn.f32 %f1, %f2, %f3;", "contract", "hold", NULL},
        {"add.rz.f32 %f1, %f2, %f3;", "contract", "hold", NULL},
        {"add.s32 %r1, %r2, %r3;", "contract", "hold", NULL},
        {"mul.rn.ftz.f32 %f1, %f2, %f3;", "contract", "free", "mul.ftz.f32 %f1, %f2, %f3;"},
        {"mul.rm.f32 %f1, %f2, %f3;", "contract", "free", NULL},
        {"mul.lo.s32 %r1, %r2, %r3;", "contract", "free", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_after(rows[i].body, rows[i].name, rows[i].value, rows[i].expected);
    }
}

static const char everything[] =
    "ld.global.f32 %f2, [g];\nld.global.f32 %f3, [g+4];\nld.global.f32 %f4, [g+8];\n"
    "div.rn.f32 %f5, %f2, %f3;\ndiv.full.ftz.f32 %f6, %f5, %f4;\nrcp.rn.f32 %f7, %f6;\n"
    "sqrt.rn.ftz.f32 %f8, %f7;\nadd.f32 %f9, %f8, %f2;\nsub.ftz.f32 %f10, %f9, %f3;\n"
    "mul.rn.f32 %f11, %f10, %f9;\nfma.rn.sat.f32 %f12, %f11, %f10, %f9;\n"
    "fma.rn.ftz.f32 %f13, %f12, %f11, %f10;\nmul.f32 %f14, %f13, %f12;\n"
    "min.f32 %f15, %f14, %f13;\nmax.ftz.f32 %f16, %f15, %f14;\nmin.ftz.NaN.f32 %f17, %f16, %f15;\n"
    "max.NaN.f32 %f18, %f17, %f2;\nrsqrt.approx.f32 %f19, %f18;\nex2.approx.f32 %f20, %f19;\n"
    "lg2.approx.ftz.f32 %f21, %f20;\nsin.approx.f32 %f22, %f21;\ncos.approx.f32 %f23, %f22;\n"
    "abs.f32 %f24, %f23;\nneg.ftz.f32 %f25, %f24;\ndiv.approx.f32 %f26, %f25, %f4;\n"
    "max.xorsign.abs.f32 %f27, %f26, %f25;\nadd.sat.f32 %f28, %f27, %f26;\n"
    "mul.rn.ftz.sat.f32 %f29, %f28, %f27;\nst.global.f32 [g], %f29;";

static evocc_space *space_of(const ptx_module *module, bool allow)
{
    evocc_error error;
    evocc_space *space;
    const ptx_limits limits = {.max_version = 90, .allow_numerics = allow};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, ptx_entry_name(module, 0), &limits, &error),
                     EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    return space;
}

static bool is_ours(const space_control *control)
{
    for (int i = 0; i < NAME_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(control->name, names[i], length) == 0 && control->name[length] == '@') {
            return true;
        }
    }
    return false;
}

static void test_absent_unless_allowed(void **state)
{
    (void)state;
    char *text = kernel_of(everything);
    ptx_module *module = module_of(text);
    for (int allow = 0; allow < 2; allow++) {
        evocc_space *space = space_of(module, allow == 1);
        size_t found = 0;
        for (size_t i = 0; i < space_count(space); i++) {
            const space_control *control = space_get(space, i);
            found += is_ours(control);
            assert_int_equal(control->numerics != SPACE_EXACT, is_ours(control));
        }
        assert_true(allow == 1 ? found >= NAME_COUNT : found == 0);
        space_free(space);
    }
    ptx_free(module);
    mem_free(text);
}

/* ftz and back again is the original, wherever nothing was flushed before: no other part of an
   opcode or operand is touched. */
static void test_round_trip(void **state)
{
    (void)state;
    for (size_t e = 0; e < EXAMPLE_COUNT; e++) {
        ptx_module *module = module_of_file(example_paths[e]);
        char control[32];
        snprintf(control, sizeof control, "flush@%s", ptx_entry_name(module, 0));
        char *kept = rewritten(module, control, "keep");
        ptx_module *without = module_of(kept);
        char *flushed = rewritten(without, control, "ftz");
        ptx_module *with = module_of(flushed);
        char *again = rewritten(with, control, "keep");
        assert_null(strstr(kept, ".ftz.f32"));
        strbuf first = {0}, second = {0};
        ptx_module *last = module_of(again);
        ptx_normal_form(&first, without);
        ptx_normal_form(&second, last);
        assert_string_equal(first.data, second.data);
        strbuf_dispose(&first);
        strbuf_dispose(&second);
        ptx_free(last);
        ptx_free(with);
        ptx_free(without);
        ptx_free(module);
        mem_free(kept);
        mem_free(flushed);
        mem_free(again);
    }
}

static void test_ptxas(void **state)
{
    (void)state;
    if (find_ptxas() == NULL) {
        skip();
    }
    char *text = kernel_of(everything);
    ptx_module *module = module_of(text);
    evocc_space *space = space_of(module, true);
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        for (int32_t v = 0; is_ours(control) && v < control->size; v++) {
            char message[4096];
            char *out = rewritten(module, control->name, control->choices[v]);
            if (!run_ptxas(out, "sm_90a", NULL, NULL, message)) {
                fail_msg("%s=%s: %s", control->name, control->choices[v], message);
            }
            mem_free(out);
        }
    }
    space_free(space);
    ptx_free(module);
    mem_free(text);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = kernel_of(everything);
    ptx_module *module = module_of(text);
    const ptx_setting settings[] = {
        {"divide@k", "approx"}, {"root@k", "approx"}, {"flush@k", "ftz"}, {"contract@k", "split"}};
    for (long n = 0;; n++) {
        evocc_error error;
        strbuf out = {0};
        mem_fail_after(n);
        evocc_status status = ptx_rewrite(&out, module, settings, 4, &error);
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
        cmocka_unit_test(test_rewritings), cmocka_unit_test(test_absent_unless_allowed),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_ptxas),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
