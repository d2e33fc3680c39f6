/*
 * frequency.c: `.pragma "frequency n"`, a hint of how often a basic block runs.
 */
#include "ptx/pass.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

static const char *const values[] = {"1", "10", "100", "1000", "10000"};
enum { VALUE_COUNT = sizeof values / sizeof *values };

static evocc_status enumerate(ptx_catalogue *c)
{
    const ptx_function *f = c->function;
    evocc_status status = EVOCC_OK;
    /* Only ratios between blocks matter: a single block has none. */
    for (uint32_t b = 0; b < f->block_count && f->block_count > 1 && status == EVOCC_OK; b++) {
        char site[24];
        snprintf(site, sizeof site, "b%u", b);
        status = ptx_catalogue_add(c, site, values, VALUE_COUNT, SPACE_ABSENT, f->block_count,
                                   c->pass->help);
    }
    return status;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value;
        uint32_t block;
        evocc_status status = ptx_choice_value(&value, &choices[i], values, VALUE_COUNT, error);
        if (status == EVOCC_OK) {
            status = ptx_choice_block(&block, module, &choices[i], error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
        uint32_t at = ptx_block_start(module, &module->blocks[block]);
        uint32_t place = module->statements[at].span.begin;
        strbuf_printf(ptx_edits_begin(edits), ".pragma \"frequency %s\";\n\t", values[value]);
        ptx_edits_finish(edits, (ptx_span){place, place});
    }
    return EVOCC_OK;
}

const ptx_pass ptx_pass_frequency = {
    .name = "frequency",
    .help =
        "How often this block runs, as a ratio to the others. Decides where ptxas spills and what "
        "it keeps in registers.",
    .source = "PTX ISA 9.0, 12.3 (Pragma Strings: \"frequency\")",
    .min_version = 90,
    .enumerate = enumerate,
    .apply = apply,
};
