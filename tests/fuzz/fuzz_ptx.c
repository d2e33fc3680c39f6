/*
 * PTX: a module prints back byte for byte; its normal form is a fixed point; a candidate sampled
 * from its own controls (the input decides which) rewrites it into a module with the same entries.
 */
#include "fuzz.h"

#include <string.h>

#include "ptx/ptx.h"
#include "util/mem.h"

static void check_normal_form(const ptx_module *module)
{
    evocc_error error;
    strbuf first = {0}, second = {0};
    ptx_module *normal = NULL;
    ptx_normal_form(&first, module);
    if (ptx_parse(&normal, strbuf_text(&first), first.length, "normal", &error) == EVOCC_OK) {
        ptx_normal_form(&second, normal);
        FUZZ_REQUIRE(first.length == second.length);
        FUZZ_REQUIRE(memcmp(strbuf_text(&first), strbuf_text(&second), first.length) == 0);
    }
    ptx_free(normal);
    strbuf_dispose(&first);
    strbuf_dispose(&second);
}

/* The genes as settings; texts live in `texts`, which holds one string a control. */
static size_t collect_settings(ptx_setting *settings, strbuf *texts, const evocc_space *space,
                               const int32_t *genes)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(space); i++) {
        if (genes[i] == SPACE_ABSENT)
            continue;
        space_value_text(&texts[i], space_get(space, i), genes[i]);
        settings[count].name = space_get(space, i)->name;
        settings[count++].value = strbuf_text(&texts[i]);
    }
    return count;
}

static void check_candidate(const ptx_module *module, const evocc_space *space, rng *random)
{
    evocc_error error;
    size_t n = space_count(space);
    int32_t *genes = mem_alloc(n, sizeof *genes);
    ptx_setting *settings = mem_alloc(n, sizeof *settings);
    strbuf *texts = mem_alloc(n, sizeof *texts);
    strbuf rewritten = {0};
    ptx_module *second = NULL;
    FUZZ_REQUIRE(genes && settings && texts);
    if (space_sample(space, random, genes, &error) == EVOCC_OK) {
        size_t count = collect_settings(settings, texts, space, genes);
        /* Two passes may meet in an instruction that no compiler would accept; then all is refused,
           and nothing written. The tests of the passes hold real kernels to success. */
        if (ptx_rewrite(&rewritten, module, settings, count, &error) == EVOCC_OK) {
            FUZZ_REQUIRE(ptx_parse(&second, strbuf_text(&rewritten), rewritten.length, "rewritten",
                                   &error) == EVOCC_OK);
            FUZZ_REQUIRE(ptx_entry_count(second) == ptx_entry_count(module));
        } else {
            FUZZ_REQUIRE(error.status == EVOCC_INVALID_ARGUMENT && rewritten.length == 0);
        }
    }
    ptx_free(second);
    strbuf_dispose(&rewritten);
    for (size_t i = 0; i < n; i++)
        strbuf_dispose(&texts[i]);
    mem_free(texts);
    mem_free(settings);
    mem_free(genes);
}

static void check_entry(const ptx_module *module, const char *entry, rng *random)
{
    evocc_error error;
    const ptx_limits limits = {.max_version = 90};
    evocc_space *space = NULL;
    FUZZ_REQUIRE(space_new(&space, &error) == EVOCC_OK);
    if (ptx_add_controls(space, module, entry, &limits, &error) == EVOCC_OK) {
        FUZZ_REQUIRE(space_finish(space, &error) == EVOCC_OK);
        check_candidate(module, space, random);
    }
    space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    ptx_module *module = NULL;
    if (ptx_parse(&module, (const char *)data, size, "fuzz", &error)) {
        FUZZ_REQUIRE(module == NULL);
        FUZZ_REQUIRE(error.message[0] != '\0' && !strchr(error.message, '\n'));
        return 0;
    }
    strbuf printed = {0};
    ptx_print(&printed, module);
    FUZZ_REQUIRE(printed.length == size && memcmp(strbuf_text(&printed), data, size) == 0);
    strbuf_dispose(&printed);
    check_normal_form(module);
    rng random;
    rng_seed(&random, hash64(data, size, 0));
    for (size_t i = 0; i < ptx_entry_count(module) && i < 4; i++)
        check_entry(module, ptx_entry_name(module, i), &random);
    ptx_free(module);
    return 0;
}
