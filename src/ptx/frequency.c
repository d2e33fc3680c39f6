/*
 * frequency.c: `.pragma "frequency n"`, a hint of how often a basic block runs.
 *
 * Observed with ptxas 13.0: a block without the pragma takes its frequency from its neighbours, so
 * absence is a value of its own; the same number in every block is the same as any other number in
 * every block (only ratios count), but not the same as no pragma at all.
 */
#include "ptx/cfg.h"
#include "ptx/facts.h"
#include "ptx/pass.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

/* Of one block. Absent: as ptxas infers it. */
static const char *const values[] = {"1", "10", "100", "1000", "10000"};
enum { VALUE_COUNT = sizeof values / sizeof *values };

/* Of all blocks, from the loops around each: "loops16" is 16 to the power of their number. */
static const char *const wide_values[] = {"flat", "loops4", "loops16", "loops64", "inverse16"};
static const uint32_t wide_bases[] = {1, 4, 16, 64, 16};
enum { WIDE_COUNT = sizeof wide_values / sizeof *wide_values, WIDE_INVERSE = WIDE_COUNT - 1 };

/* Beyond this, ratios move nothing any more. */
enum { MAX_FREQUENCY = 1 << 24 };

static evocc_status enumerate(ptx_catalogue *c)
{
    const ptx_function *f = c->function;
    if (f->block_count < 2) {
        return EVOCC_OK; /* only ratios between blocks matter: a single block has none */
    }
    bool offered; /* it decides how often ptxas unrolls */
    evocc_status status = ptx_catalogue_unrolling(&offered, c);
    if (status != EVOCC_OK || !offered) {
        return status;
    }
    status = ptx_catalogue_add(c, "", wide_values, WIDE_COUNT, SPACE_ABSENT, 1, c->pass->help);
    c->wide = SPACE_ABSENT; /* other values than the blocks' */
    for (uint32_t b = 0; b < f->block_count && status == EVOCC_OK; b++) {
        char site[24];
        snprintf(site, sizeof site, "b%u", b);
        status = ptx_catalogue_add(c, site, values, VALUE_COUNT, SPACE_ABSENT, f->block_count,
                                   "How often this block runs, as a ratio to the others.");
    }
    return status;
}

static uint32_t power(uint32_t base, uint32_t exponent)
{
    uint32_t result = 1;
    for (uint32_t i = 0; i < exponent && result < MAX_FREQUENCY; i++) {
        result *= base;
    }
    return result < MAX_FREQUENCY ? result : MAX_FREQUENCY;
}

static evocc_status set_wide(uint32_t *frequencies, const ptx_module *module, const ptx_function *f,
                             int32_t value, evocc_error *error)
{
    ptx_cfg *cfg;
    evocc_status status = ptx_cfg_new(&cfg, module, f, error);
    if (status != EVOCC_OK) {
        return status;
    }
    uint32_t deepest = 0;
    for (uint32_t b = 0; b < f->block_count; b++) {
        deepest = cfg->depth[b] > deepest ? cfg->depth[b] : deepest;
    }
    for (uint32_t b = 0; b < f->block_count; b++) {
        uint32_t exponent = value == WIDE_INVERSE ? deepest - cfg->depth[b] : cfg->depth[b];
        frequencies[f->first_block + b] = power(wide_bases[value], exponent);
    }
    ptx_cfg_free(cfg);
    return EVOCC_OK;
}

/* Wide forms first, then single blocks over them; 0: no pragma. */
static evocc_status collect(uint32_t *frequencies, const ptx_module *module,
                            const ptx_choice *choices, size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        int32_t value;
        if (choices[i].site[0] == '\0') {
            status = ptx_choice_value(&value, &choices[i], wide_values, WIDE_COUNT, error);
            if (status == EVOCC_OK) {
                status = set_wide(frequencies, module, choices[i].function, value, error);
            }
        }
    }
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        int32_t value;
        uint32_t block;
        if (choices[i].site[0] == '\0') {
            continue;
        }
        status = ptx_choice_value(&value, &choices[i], values, VALUE_COUNT, error);
        if (status == EVOCC_OK) {
            status = ptx_choice_block(&block, module, &choices[i], error);
        }
        if (status == EVOCC_OK) {
            frequencies[block] = power(10, (uint32_t)value);
        }
    }
    return status;
}

/* A frequency that the block states already is replaced, never doubled. */
static bool replace_stated(ptx_edits *edits, const ptx_module *module, const ptx_block *block,
                           uint32_t frequency)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &module->statements[i];
        if (s->kind == PTX_INSTRUCTION) {
            return false;
        }
        if (s->kind == PTX_PRAGMA && ptx_pragma_is(module, s, "frequency")) {
            strbuf_printf(ptx_edits_begin(edits), ".pragma \"frequency %u\";", frequency);
            ptx_edits_finish(edits, s->span);
            return true;
        }
    }
    return false;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    uint32_t *frequencies = mem_alloc(module->block_count + 1, sizeof *frequencies);
    if (frequencies == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = collect(frequencies, module, choices, count, error);
    for (size_t b = 0; b < module->block_count && status == EVOCC_OK; b++) {
        const ptx_block *block = &module->blocks[b];
        if (frequencies[b] == 0 || replace_stated(edits, module, block, frequencies[b])) {
            continue;
        }
        uint32_t place = module->statements[ptx_block_start(module, block)].span.begin;
        strbuf_printf(ptx_edits_begin(edits), ".pragma \"frequency %u\";\n\t", frequencies[b]);
        ptx_edits_finish(edits, (ptx_span){place, place});
    }
    mem_free(frequencies);
    return status;
}

const ptx_pass ptx_pass_frequency = {
    .name = "frequency",
    .sampled = 0.5,
    .help =
        "How often each block runs, from the loops around it: flat (all the same), loopsN (N times "
        "as often for each loop), inverse16 (loops rarest). Decides what ptxas spills and keeps in "
        "registers; single blocks can say otherwise.",
    .source = "PTX ISA 9.0, 12 (Descriptions of .pragma Strings: \"frequency\")",
    .min_version = 90,
    .enumerate = enumerate,
    .apply = apply,
};
