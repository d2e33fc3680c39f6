/* Small kernels from nvcc for sm_75 to sm_120 (data/nvcc): every value of every control that takes
   a whole entry, and of some single sites, passes the checker and the real ptxas. Candidate k sets
   every control to its value number k, so that as many candidates as the longest list has values
   cover them all. */
#include "helpers.h"

#include "ptx/checker.h"

#include <stdio.h>

static const struct {
    const char *path, *arch;
} files[] = {
    {"tests/ptx/data/nvcc/softmax_sm75.ptx", "sm_75"},
    {"tests/ptx/data/nvcc/copies_sm80.ptx", "sm_80"},
    {"tests/ptx/data/nvcc/product_sm90a.ptx", "sm_90a"},
    {"tests/ptx/data/nvcc/bodies_sm100.ptx", "sm_100"},
    {"tests/ptx/data/nvcc/mixer_sm120.ptx", "sm_120"},
};
enum { FILE_COUNT = sizeof files / sizeof *files, SITE_SHARE = 16 };

static evocc_space *space_of(const ptx_module *module, bool numerics)
{
    evocc_error error;
    evocc_space *space;
    const ptx_limits limits = {.max_version = 90, .allow_numerics = numerics};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    if (ptx_add_controls(space, module, ptx_entry_name(module, 0), &limits, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    return space;
}

/* Value k of every wide control that has one, and of every sixteenth site. */
static size_t candidate(ptx_setting *settings, const evocc_space *space, int32_t k)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        bool wide = control->parent == SPACE_ABSENT && strchr(control->name, '.') == NULL;
        if (wide ? k < control->size : i % SITE_SHARE == (size_t)k % SITE_SHARE) {
            settings[count++] = (ptx_setting){control->name, control->choices[k % control->size]};
        }
    }
    return count;
}

static int32_t longest(const evocc_space *space)
{
    int32_t most = 0;
    for (size_t i = 0; i < space_count(space); i++) {
        most = space_get(space, i)->size > most ? space_get(space, i)->size : most;
    }
    return most;
}

static void check_file(size_t file, bool numerics)
{
    char message[4096];
    evocc_error error;
    ptx_module *module = module_of_file(files[file].path);
    evocc_space *space = space_of(module, numerics);
    ptx_setting *settings = mem_alloc(space_count(space), sizeof *settings);
    size_t different = 0;
    for (int32_t k = 0; k < longest(space); k++) {
        strbuf out = {0}, again = {0};
        size_t count = candidate(settings, space, k);
        evocc_status status = numerics ? ptx_rewrite(&out, module, settings, count, &error)
                                       : ptx_rewrite_checked(&out, module, settings, count, &error);
        if (status != EVOCC_OK) {
            fail_msg("%s, candidate %d: %s", files[file].path, k, error.message);
        }
        assert_int_equal(ptx_rewrite(&again, module, settings, count, &error), EVOCC_OK);
        assert_string_equal(strbuf_text(&out), strbuf_text(&again));
        if (find_ptxas() != NULL &&
            !run_ptxas(strbuf_text(&out), files[file].arch, NULL, NULL, message)) {
            fail_msg("%s, candidate %d: %s", files[file].path, k, message);
        }
        different += strlen(strbuf_text(&out)) != module->length;
        strbuf_dispose(&out);
        strbuf_dispose(&again);
    }
    assert_true(different > 4);
    mem_free(settings);
    space_free(space);
    ptx_free(module);
}

static void test_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        check_file(i, false);
    }
}

static void test_numerics(void **state)
{
    (void)state;
    check_file(0, true); /* division and exponentials */
    check_file(3, true); /* roots */
}

/* What each target has: no 256-byte prefetch on sm_75, and asynchronous copies from sm_80 on. */
static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        size_t file;
        const char *name;
        bool there;
    } rows[] = {{0, "ptx/load-cache@softmax_rows", true},
                {0, "ptx/coherent@softmax_rows", true},
                {0, "ptx/copy-cache@softmax_rows", false},
                {1, "ptx/copy-cache@copies", true},
                {1, "ptx/smem-spill@copies", true},
                {2, "ptx/minnctapersm@product", true},
                {2, "ptx/fence@product", true},
                {3, "ptx/vector@bodies", true},
                {3, "ptx/smem-spill@bodies", false},
                {4, "ptx/lop3@mixer", true},
                {4, "ptx/fence@mixer", false},
                {4, "ptx/reassociate@mixer", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ptx_module *module = module_of_file(files[rows[i].file].path);
        evocc_space *space = space_of(module, false);
        if ((space_find(space, rows[i].name) != (size_t)-1) != rows[i].there) {
            fail_msg("%s: %s", files[rows[i].file].path, rows[i].name);
        }
        for (size_t c = 0; c < space_count(space) && rows[i].file == 0; c++) {
            for (int32_t v = 0; v < space_get(space, c)->size; v++) {
                assert_null(strstr(space_get(space, c)->choices[v], "256B"));
            }
        }
        space_free(space);
        ptx_free(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_exact),
                                       cmocka_unit_test(test_numerics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
