/*
 * Properties over small kernels that look like what is found in the wild (data/corpus), and the
 * cases that a campaign over a large corpus (docs/bench-corpus.md) has found, reduced.
 */
#include "helpers.h"

#include "ptx/checker.h"

#include <stdio.h>

/* ---- What was found ---------------------------------------------------------------------------
 */

typedef struct found {
    const char *why;
    const char *body;     /* as kernel_of has it */
    const char *settings; /* "name=value name=value" */
} found;

static const found founds[] = {
    {"a first operand that is read is no definition: the value was a site twice",
     "mov.u32 %r1, 100;\n nanosleep.u32 %r1;\n st.global.u32 [g], %r1;", "remat@k=all1"},
    {"the index of a jump table, likewise",
     "ld.param.u32 %r2, [n];\n and.b32 %r1, %r2, 1;\n T: .branchtargets A, B;\n brx.idx %r1, T;\n"
     "A:\n st.global.u32 [g], %r1;\n B:",
     "remat@k=all2 slice@k=all"},
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
        char *text = kernel_of(founds[i].body), *words = mem_strdup(founds[i].settings);
        ptx_module *module = module_of(text);
        size_t count = settings_of(settings, 8, words);
        assert_good(module, founds[i].why, settings, count);
        ptx_free(module);
        mem_free(words);
        mem_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
