/*
 * Properties over small kernels that look like what is found in the wild (data/corpus), and the
 * cases that a campaign over a large corpus (docs/bench-corpus.md) has found, reduced.
 */
#include "helpers.h"

#include "ptx/checker.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What was found ---------------------------------------------------------------------------
 */

typedef struct found {
    const char *why;
    const char *body;     /* as kernel_of has it, or a whole module */
    const char *settings; /* "name=value name=value" */
} found;

/* A call's result and its argument, as an entry names them itself. */
#define CALLS_HEAD                                                                          \
    ".version 7.8\n.target sm_80\n.address_size 64\n"                                       \
    ".func (.param .b32 r) f(.param .b32 n)\n{\n.reg .b32 %r<2>;\nld.param.b32 %r1, [n];\n" \
    "st.param.b32 [r], %r1;\nret;\n}\n"                                                     \
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n.reg .b32 %r<8>;\n"                \
    ".reg .b64 %rd<2>;\n.param .b32 p;\n.param .b32 q;\nld.param.u64 %rd1, [a];\n"          \
    "ld.param.u32 %r1, [n];\nst.param.b32 [p], %r1;\ncall (q), f, (p);\n"
#define CALLS CALLS_HEAD "ld.param.b32 %r2, [q];\n" CALLS_TAIL
#define CALLS_TAIL                                                      \
    "st.param.b32 [p], 5;\ncall (q), f, (p);\nld.param.b32 %r3, [q];\n" \
    "add.u32 %r4, %r2, %r3;\nst.global.u32 [%rd1], %r4;\nret;\n}\n"

static const found founds[] = {
    {"a first operand that is read is no definition: the value was a site twice",
     "mov.u32 %r1, 100;\n nanosleep.u32 %r1;\n st.global.u32 [g], %r1;", "remat@k=all1"},
    {"the index of a jump table, likewise",
     "ld.param.u32 %r2, [n];\n and.b32 %r1, %r2, 1;\n T: .branchtargets A, B;\n brx.idx %r1, T;\n"
     "A:\n st.global.u32 [g], %r1;\n B:",
     "remat@k=all2 slice@k=all"},
    {"names of scopes within a block are of that scope alone: no twins in the other module",
     "ld.global.u32 %r2, [g];\n{.reg .f16 low,high;\nmov.b16 %h1, high;}\n"
     "{.reg .f16 low,high;\nmov.b32 {low,high}, %r2;\nmov.b16 %h2, high;}\n"
     "{cvt.f32.f16 %f1, %h2;}\n{rcp.approx.ftz.f32 %f2, %f1;}\n@%p1 bra L;\n"
     "fma.rn.f32 %f3, %f2, %f4, %f5;\n{cvt.rn.f16.f32 %h3, %f3;}\nL:\n"
     "{mov.b32 %r3, {%h4,%h3};}\nst.global.u32 [g], %r3;",
     "maxnreg@k=64"},
    {"arithmetic without operands, which no compiler takes, is no arithmetic: it read behind the "
     "table",
     "mul.wide.uoba4;\nst.global.u32 [g], %r1;\nadd;", "maxnreg@k=64"},
    {"nor is a move of nothing: it divided by the number of its sources",
     "mov.u32 %r1;\nmov.b32 %r2, {};\nst.global.u32 [g], %r1;", "maxnreg@k=64"},
    {"a vector of parameters is its elements",
     "ld.param.v2.u32 {%r1, %r2}, [a];\nst.global.u32 [g], %r2;\nst.global.u32 [g+4], %r1;",
     "vector@k=scalar"},
    {"what a call returns is no parameter of the entry", CALLS, "remat@k=all1"},
    {"nor with every pass that moves values", CALLS, "remat@k=all2 sink@k=any order@k=late"},
};

/* Splits the words in place; at most `limit` settings. */
static size_t settings_of(ptx_setting *settings, size_t limit, char *words)
{
    size_t count = 0;
    for (char *word = strtok(words, " "); word != NULL && count < limit; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        assert_non_null(equals);
        *equals = '\0';
        settings[count++] = (ptx_setting){word, equals + 1};
    }
    return count;
}

static void assert_good(const ptx_module *module, const char *what, const ptx_setting *settings,
                        size_t count)
{
    evocc_error error;
    strbuf text = {0};
    if (ptx_rewrite_checked(&text, module, settings, count, &error) != EVOCC_OK) {
        fail_msg("%s: %s=%s: %s", what, settings[0].name, settings[0].value, error.message);
    }
    ptx_module *again = module_of(strbuf_text(&text));
    assert_int_equal(ptx_entry_count(again), ptx_entry_count(module));
    ptx_free(again);
    strbuf_dispose(&text);
}

static void test_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof founds / sizeof *founds; i++) {
        ptx_setting settings[8];
        bool whole = strncmp(founds[i].body, ".version", 8) == 0;
        char *text = whole ? mem_strdup(founds[i].body) : kernel_of(founds[i].body);
        char *words = mem_strdup(founds[i].settings);
        ptx_module *module = module_of(text);
        size_t count = settings_of(settings, 8, words);
        assert_good(module, founds[i].why, settings, count);
        ptx_free(module);
        mem_free(words);
        mem_free(text);
    }
}

/* The checker must see it when the result of the first call is read behind the second. */
static void test_late_result(void **state)
{
    (void)state;
    evocc_error error;
    static const char rest[] = CALLS_TAIL;
    const char *tail = strstr(rest, "add");
    strbuf late = {0};
    strbuf_puts(&late, CALLS_HEAD);
    strbuf_append(&late, rest, (size_t)(tail - rest));
    strbuf_printf(&late, "ld.param.b32 %%r2, [q];\n%s", tail);
    ptx_module *module = module_of(CALLS), *moved = module_of(strbuf_text(&late));
    assert_int_equal(ptx_check(module, moved, &error), EVOCC_MISMATCH);
    ptx_free(module);
    ptx_free(moved);
    strbuf_dispose(&late);
}

/* ---- Properties -------------------------------------------------------------------------------
 */

static void assert_prints(const ptx_module *module, const char *text, size_t length)
{
    strbuf printed = {0}, normal = {0}, twice = {0};
    ptx_print(&printed, module);
    assert_int_equal(printed.length, length);
    assert_memory_equal(printed.data, text, length);
    ptx_normal_form(&normal, module);
    ptx_module *again = module_of(strbuf_text(&normal));
    ptx_normal_form(&twice, again);
    assert_string_equal(strbuf_text(&normal), strbuf_text(&twice));
    ptx_free(again);
    strbuf_dispose(&printed);
    strbuf_dispose(&normal);
    strbuf_dispose(&twice);
}

static evocc_space *controls_of(const ptx_module *module)
{
    evocc_error error;
    evocc_space *space = NULL;
    const ptx_limits limits = {.max_version = 90};
    assert_int_equal(space_new(&space, &error), EVOCC_OK);
    for (size_t i = 0; i < ptx_entry_count(module); i++) {
        assert_int_equal(
            ptx_add_controls(space, module, ptx_entry_name(module, i), &limits, &error), EVOCC_OK);
    }
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    return space;
}

/* As a search draws it, or every control uniformly. */
static bool draw(const evocc_space *space, rng *random, bool dense, int32_t *genes)
{
    evocc_error error;
    for (size_t i = 0; i < space_count(space) && dense; i++) {
        uint64_t size = (uint64_t)space_get(space, i)->size;
        genes[i] = (int32_t)rng_below(random, size + 1) - 1;
    }
    return dense ? space_repair(space, random, genes)
                 : space_sample(space, random, genes, &error) == EVOCC_OK;
}

static void assert_candidate(const ptx_module *module, const char *name, const evocc_space *space,
                             const int32_t *genes)
{
    strbuf words = {0};
    size_t limit = space_count(space), count = 0;
    ptx_setting *settings = mem_alloc(limit + 1, sizeof *settings);
    space_candidate_text(&words, space, genes);
    for (char *word = strtok(words.data, " "); word != NULL; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        settings[count++] = (ptx_setting){word + strlen("ptx/"), equals + 1};
    }
    if (count > 0) {
        assert_good(module, name, settings, count);
    }
    mem_free(settings);
    strbuf_dispose(&words);
}

static void assert_properties(const char *name)
{
    enum { CANDIDATES = 6 };
    evocc_error error;
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "tests/ptx/data/corpus/%s", name);
    char *text = text_of_file(path, &length);
    ptx_module *module = module_of(text);
    assert_prints(module, text, length);
    if (ptx_check(module, module, &error) != EVOCC_OK) {
        fail_msg("%s is not itself: %s", name, error.message);
    }
    evocc_space *space = controls_of(module);
    int32_t *genes = mem_alloc(space_count(space) + 1, sizeof *genes);
    rng random;
    rng_seed(&random, 4);
    for (int i = 0; i < CANDIDATES && space_count(space) > 0; i++) {
        if (draw(space, &random, i % 2 == 1, genes)) {
            assert_candidate(module, name, space, genes);
        }
    }
    mem_free(genes);
    space_free(space);
    ptx_free(module);
    mem_free(text);
}

static void test_properties(void **state)
{
    (void)state;
    size_t files = 0;
    DIR *folder = opendir(EVOCC_SOURCE_DIR "/tests/ptx/data/corpus");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, ".ptx") != NULL) {
            assert_properties(entry->d_name);
            files++;
        }
    }
    closedir(folder);
    assert_true(files >= 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found),
                                       cmocka_unit_test(test_late_result),
                                       cmocka_unit_test(test_properties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
