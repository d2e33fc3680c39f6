/* Directives of an entry: which values are offered for which block, that what is there is replaced,
   that no value asks for more registers than a block leaves, and what the real ptxas says. */
#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>

static char *with_header(const char *header, const char *target, const char *body)
{
    strbuf text = {0};
    strbuf_printf(&text,
                  ".version 7.8\n.target %s\n.address_size 64\n"
                  ".visible .entry k(.param .u64 a)\n%s{\n\t.reg .b32 %%r<200>;\n"
                  "\t.reg .b64 %%rd<4>;\n%s\n\tret;\n}\n",
                  target, header, body);
    return strbuf_take(&text);
}

/* "first..last" of a control's values, or "none". mem_free. */
static char *offered(const char *header, const char *target, const char *body, const char *name)
{
    evocc_error error;
    evocc_space *space;
    strbuf out = {0};
    char *text = with_header(header, target, body);
    ptx_module *module = module_of(text);
    const ptx_limits limits = {.max_version = 90};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    size_t found = space_find(space, name);
    if (found == (size_t)-1) {
        strbuf_puts(&out, "none");
    } else {
        const space_control *control = space_get(space, found);
        strbuf_printf(&out, "%s..%s", control->choices[0], control->choices[control->size - 1]);
    }
    space_free(space);
    ptx_free(module);
    mem_free(text);
    return strbuf_take(&out);
}

static void test_offered(void **state)
{
    (void)state;
    static const struct {
        const char *header, *target, *body, *name, *values;
    } rows[] = {
        {"", "sm_80", "", "ptx/maxnreg@k", "32..255"},
        {".maxntid 128\n", "sm_80", "", "ptx/maxnreg@k", "32..255"},
        {".maxntid 256, 1, 1\n", "sm_80", "", "ptx/maxnreg@k", "32..255"},
        /* 10 warps are as good as 12: 65,536 / 12 / 256 * 8 is 168. */
        {".reqntid 320\n", "sm_80", "", "ptx/maxnreg@k", "32..168"},
        {".reqntid 32, 16\n", "sm_80", "", "ptx/maxnreg@k", "32..128"},
        {".maxntid 1024\n", "sm_80", "", "ptx/maxnreg@k", "32..64"},
        {".maxntid 1024\n.maxnreg 64\n", "sm_80", "", "ptx/maxnreg@k", "32..64"},
        {"", "sm_80", "setmaxnreg.dec.sync.aligned.u32 24;", "ptx/maxnreg@k", "none"},
        {"", "sm_80", "", "ptx/minnctapersm@k", "none"},
        {".reqntid 256\n", "sm_80", "", "ptx/minnctapersm@k", "1..8"},
        {".reqntid 256\n", "sm_86", "", "ptx/minnctapersm@k", "1..6"},
        {".maxntid 256\n", "sm_75", "", "ptx/minnctapersm@k", "1..4"},
        {".maxntid 1024\n", "sm_75", "", "ptx/minnctapersm@k", "1..1"},
        {".reqntid 256\n", "sm_90a", "setmaxnreg.dec.sync.aligned.u32 24;", "ptx/minnctapersm@k",
         "none"},
        {".reqntid 256\n", "sm_80", "", "ptx/smem-spill@k", "on..on"},
        {"", "sm_80", "", "ptx/smem-spill@k", "none"},
        {".reqntid 256\n", "sm_90a", "setmaxnreg.dec.sync.aligned.u32 24;", "ptx/smem-spill@k",
         "none"},
        {".reqntid 256\n", "sm_80", ".pragma \"enable_smem_spilling\";", "ptx/smem-spill@k",
         "none"},
        /* What could break a launch is not there. */
        {"", "sm_80", "", "ptx/maxntid@k", "none"},
        {"", "sm_80", "", "ptx/reqntid@k", "none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *values = offered(rows[i].header, rows[i].target, rows[i].body, rows[i].name);
        if (strcmp(values, rows[i].values) != 0) {
            fail_msg("%s, %s, %s: %s instead of %s", rows[i].header, rows[i].target, rows[i].name,
                     values, rows[i].values);
        }
        mem_free(values);
    }
    /* wgmma needs 128 registers and 26 more in the matrix product, 64, 4 and 26 in the attention.
     */
    static const struct {
        int example;
        const char *name, *first;
    } files[] = {{3, "ptx/maxnreg@mm", "160"}, {0, "ptx/maxnreg@fa", "96"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        evocc_error e;
        evocc_space *space;
        ptx_module *m = module_of_file(example_paths[files[i].example]);
        assert_int_equal(space_new(&space, &e), EVOCC_OK);
        assert_int_equal(ptx_add_controls(space, m, ptx_entry_name(m, 0), NULL, &e), EVOCC_OK);
        assert_int_equal(space_finish(space, &e), EVOCC_OK);
        assert_string_equal(space_get(space, space_find(space, files[i].name))->choices[0],
                            files[i].first);
        space_free(space);
        ptx_free(m);
    }
    /* The examples have dynamic shared memory. */
    ptx_module *module = module_of_file(example_paths[0]);
    evocc_error error;
    strbuf out = {0};
    const ptx_setting setting = {"smem-spill@fa", "on"};
    assert_int_equal(ptx_rewrite(&out, module, &setting, 1, &error), EVOCC_NOT_FOUND);
    ptx_free(module);
}

static void assert_after(const char *header, const char *name, const char *value,
                         const char *expected)
{
    char *text = with_header(header, "sm_80", "");
    ptx_module *module = module_of(text);
    char *out = rewritten(module, name, value);
    if (strstr(out, expected) == NULL) {
        fail_msg("%s=%s: expected\n%s\nin\n%s", name, value, expected, out);
    }
    ptx_free(module);
    mem_free(text);
    mem_free(out);
}

static void test_replaced(void **state)
{
    (void)state;
    assert_after("", "maxnreg@k", "40", "a)\n.maxnreg 40\n{");
    assert_after(".maxnreg 64\n", "maxnreg@k", "40", "a)\n.maxnreg 40\n{");
    assert_after(".maxntid 256 .maxnreg 64 .minnctapersm 2\n", "maxnreg@k", "40",
                 "a)\n.maxntid 256 .maxnreg 40 .minnctapersm 2\n{");
    assert_after(".minnctapersm 3\n.reqntid 64, 2 // .minnctapersm 9\n", "minnctapersm@k", "4",
                 "a)\n.minnctapersm 4\n.reqntid 64, 2 // .minnctapersm 9\n{");
    assert_after(".reqntid 64\n", "smem-spill@k", "on",
                 "{\n\t.pragma \"enable_smem_spilling\";\n\t.reg");
    assert_after(".reqntid 64\n", "smem-spill@k", "on", ".version 9.0");
}

/* 160 values live at once. */
static char *wide_kernel(const char *header)
{
    strbuf body = {0};
    strbuf_puts(&body, "\tld.param.u64 %rd1, [a];\n");
    for (int i = 0; i < 160; i++) {
        strbuf_printf(&body, "\tld.global.b32 %%r%d, [%%rd1+%d];\n", i, 4 * i);
    }
    strbuf_puts(&body, "\tbar.sync 0;\n");
    for (int i = 0; i < 160; i++) {
        strbuf_printf(&body, "\txor.b32 %%r%d, %%r%d, %%r%d;\n", i, i, (i * 7 + 3) % 160);
    }
    for (int i = 0; i < 160; i++) {
        strbuf_printf(&body, "\tst.global.b32 [%%rd1+%d], %%r%d;\n", 4 * i, i);
    }
    char *text = with_header(header, "sm_80", strbuf_text(&body));
    strbuf_dispose(&body);
    return text;
}

/* Every value compiles, and a block of the stated size fits under what ptxas then takes: 65,536
   registers, in units of 8 a thread, warps in fours. */
static void test_ptxas(void **state)
{
    (void)state;
    if (find_ptxas() == NULL) {
        skip();
    }
    static const struct {
        const char *header;
        long threads;
    } rows[] = {{".reqntid 320\n", 384}, {".maxntid 32, 32\n", 1024}, {".maxntid 128\n", 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        evocc_error error;
        evocc_space *space;
        char *text = wide_kernel(rows[i].header);
        ptx_module *module = module_of(text);
        const ptx_limits limits = {.max_version = 90};
        assert_int_equal(space_new(&space, &error), EVOCC_OK);
        assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
        assert_int_equal(space_finish(space, &error), EVOCC_OK);
        static const char *const names[] = {"ptx/maxnreg@k", "ptx/minnctapersm@k",
                                            "ptx/smem-spill@k"};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            const space_control *control = space_get(space, space_find(space, names[n]));
            for (int32_t v = 0; v < control->size; v++) {
                char message[4096];
                long registers;
                char *out = rewritten(module, control->name, control->choices[v]);
                if (!run_ptxas(out, "sm_80", NULL, &registers, message)) {
                    fail_msg("%s=%s: %s", names[n], control->choices[v], message);
                }
                if ((registers + 7) / 8 * 8 * rows[i].threads > 65536) {
                    fail_msg("%s %s=%s: %ld registers", rows[i].header, names[n],
                             control->choices[v], registers);
                }
                mem_free(out);
            }
        }
        space_free(space);
        ptx_free(module);
        mem_free(text);
    }
}

/* The tightest bounds that are offered compile where wgmma sets the limit, and one register below
   it ptxas gives up: so nothing that works is kept back. */
static void test_wgmma(void **state)
{
    (void)state;
    if (find_ptxas() == NULL) {
        skip();
    }
    static const struct {
        int example;
        const char *name, *tightest, *limit;
    } rows[] = {{3, "maxnreg@mm", "160", "153"},
                {0, "maxnreg@fa", "96", "93"},
                {1, "maxnreg@fa", "96", "93"},
                {3, "minnctapersm@mm", "1", NULL},
                {1, "minnctapersm@fa", "5", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[4096], directive[32];
        ptx_module *module = module_of_file(example_paths[rows[i].example]);
        char *out = rewritten(module, rows[i].name, rows[i].tightest);
        if (!run_ptxas(out, "sm_90a", NULL, NULL, message)) {
            fail_msg("%s=%s: %s", rows[i].name, rows[i].tightest, message);
        }
        snprintf(directive, sizeof directive, ".maxnreg %s", rows[i].tightest);
        char *at = rows[i].limit != NULL ? strstr(out, directive) : NULL;
        if (at != NULL) {
            /* Three digits and a line's end, or two and one. */
            memcpy(at + strlen(".maxnreg "), rows[i].limit, strlen(rows[i].limit));
            assert_false(run_ptxas(out, "sm_90a", NULL, NULL, message));
            assert_non_null(strstr(message, "C7602"));
        }
        assert_int_equal(at != NULL, rows[i].limit != NULL);
        mem_free(out);
        ptx_free(module);
    }
}

/* What never moved anything is listed with the reason, and left out of searches. */
static void test_off(void **state)
{
    (void)state;
    static const char *const names[] = {"ptx/smem-spill@k", "ptx/coherent@k"};
    char *text = with_header(".reqntid 64\n", "sm_90a", "ld.global.nc.b32 %r1, [%rd1];");
    ptx_module *module = module_of(text);
    for (int searched = 0; searched < 2; searched++) {
        evocc_error error;
        evocc_space *space;
        const ptx_limits limits = {.max_version = 90, .searched_only = searched == 1};
        assert_int_equal(space_new(&space, &error), EVOCC_OK);
        assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t found = space_find(space, names[i]);
            assert_int_equal(found == (size_t)-1, searched == 1);
            if (searched == 0) {
                assert_non_null(space_get(space, found)->off_because);
            }
        }
        size_t on = space_find(space, "ptx/maxnreg@k");
        assert_null(space_get(space, on)->off_because);
        space_free(space);
    }
    ptx_free(module);
    mem_free(text);
}

/* Fatal together, so never a candidate. */
static void test_forbidden(void **state)
{
    (void)state;
    static const struct {
        const char *candidate;
        evocc_status status;
    } rows[] = {{"ptxas/Ofast-compile=mid ptx/smem-spill@k=on", EVOCC_REFUSED},
                {"ptx/smem-spill@k=on", EVOCC_OK},
                {"ptxas/Ofast-compile=mid", EVOCC_OK}};
    static const char *const levels[] = {"0", "mid"};
    const space_control fast = {.stage = SPACE_STAGE_PTXAS,
                                .name = "Ofast-compile",
                                .kind = SPACE_CHOICE,
                                .choices = levels,
                                .size = 2,
                                .parent = SPACE_ABSENT};
    const ptx_limits limits = {.max_version = 90};
    char *text = with_header(".reqntid 64\n", "sm_90a", "");
    ptx_module *module = module_of(text);
    evocc_error error;
    evocc_space *space;
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    assert_int_equal(space_add(space, &fast, &error), EVOCC_OK);
    assert_int_equal(ptx_add_controls(space, module, "k", &limits, &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    int32_t *genes = mem_alloc(space_count(space), sizeof *genes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(space_candidate_parse(genes, space, rows[i].candidate, &error), EVOCC_OK);
        assert_int_equal(space_check(space, genes, &error), rows[i].status);
    }
    mem_free(genes);
    space_free(space);
    ptx_free(module);
    mem_free(text);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = with_header(".reqntid 64\n", "sm_80", "");
    ptx_module *module = module_of(text);
    const ptx_setting settings[] = {
        {"maxnreg@k", "40"}, {"minnctapersm@k", "2"}, {"smem-spill@k", "on"}};
    for (long n = 0;; n++) {
        evocc_error error;
        strbuf out = {0};
        mem_fail_after(n);
        evocc_status status = ptx_rewrite(&out, module, settings, 3, &error);
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
        cmocka_unit_test(test_offered),   cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_ptxas),     cmocka_unit_test(test_wgmma),
        cmocka_unit_test(test_off),       cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
