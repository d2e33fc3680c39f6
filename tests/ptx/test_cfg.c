#include "helpers.h"

#include "ptx/cfg.h"

/* "b:dominator/loop/depth ..." with - for none. */
static void assert_cfg(const char *body, const char *expected)
{
    evocc_error error;
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    ptx_cfg *cfg;
    assert_int_equal(ptx_cfg_new(&cfg, module, &module->functions[0], &error), EVOCC_OK);
    strbuf seen = {0};
    for (uint32_t b = 0; b < cfg->count; b++) {
        strbuf_printf(&seen, "%s%u:", b > 0 ? " " : "", b);
        if (cfg->dominator[b] == PTX_NONE) {
            strbuf_puts(&seen, "-");
            continue;
        }
        strbuf_printf(&seen, "%u/", cfg->dominator[b]);
        if (cfg->loop[b] == PTX_NONE) {
            strbuf_printf(&seen, "-/%u", cfg->depth[b]);
        } else {
            strbuf_printf(&seen, "%u/%u", cfg->loop[b], cfg->depth[b]);
        }
    }
    assert_string_equal(strbuf_text(&seen), expected);
    strbuf_dispose(&seen);
    ptx_cfg_free(cfg);
    ptx_free(module);
    mem_free(text);
}

static void test_shapes(void **state)
{
    (void)state;
    assert_cfg("", "0:0/-/0");
    assert_cfg("@%p1 bra DONE; mov.b32 %r1, 1;", "0:0/-/0 1:0/-/0 2:0/-/0");
    /* DONE is named by nobody: it begins no block behind an unconditional branch's target. */
    assert_cfg("mov.b32 %r1, 1; L: @%p1 bra L;", "0:0/-/0 1:0/1/1 2:1/-/0");
    assert_cfg("O: mov.b32 %r1, 1; I: @%p1 bra I; @%p2 bra O;", "0:0/0/1 1:0/1/2 2:1/0/1 3:2/-/0");
    /* Two back edges of one header are one loop. */
    assert_cfg("mov.b32 %r1, 1; L: @%p1 bra L; @%p2 bra L;", "0:0/-/0 1:0/1/1 2:1/1/1 3:2/-/0");
    assert_cfg("bra E; mov.b32 %r1, 1; E: @%p1 bra DONE; trap;",
               "0:0/-/0 1:- 2:0/-/0 3:2/-/0 4:2/-/0");
    /* Entered in the middle: no natural loop. */
    assert_cfg("@%p1 bra B; A: mov.b32 %r1, 1; B: @%p2 bra A;", "0:0/-/0 1:0/-/0 2:0/-/0 3:2/-/0");
    assert_cfg(
        "T: .branchtargets X, Y; brx.idx %r1, T; X: mov.b32 %r1, 1; bra DONE; Y: @%p1 bra X;",
        "0:0/-/0 1:0/-/0 2:0/-/0 3:0/-/0");
    assert_cfg("mov.b32 %r1, 1; { L: add.s32 %r1, %r1, 1; @%p1 bra L; } { L: @%p2 bra L; }",
               "0:0/-/0 1:0/1/1 2:1/2/1 3:2/-/0");
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        evocc_error error;
        ptx_module *m = module_of_file(example_paths[i]);
        ptx_cfg *cfg;
        assert_int_equal(ptx_cfg_new(&cfg, m, &m->functions[0], &error), EVOCC_OK);
        for (uint32_t b = 0; b < cfg->count; b++) {
            assert_int_equal(cfg->depth[b], cfg->count == 4 && b == 2 ? 1 : 0);
            assert_true(ptx_cfg_dominates(cfg, 0, b));
            assert_true(ptx_cfg_dominates(cfg, b, b));
            assert_int_equal(ptx_cfg_in_loop(cfg, 2, b), cfg->count == 4 && b == 2);
        }
        ptx_cfg_free(cfg);
        ptx_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_examples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
