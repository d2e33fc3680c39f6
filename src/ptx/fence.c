/*
 * fence.c: `bar.warp.sync 0xffffffff` between instructions: ptxas moves nothing across it, so it
 * cuts a block's schedule where the control says.
 *
 * Only in blocks that hold an unguarded instruction which the whole warp must execute together
 * (bar.sync, or anything .aligned): there every lane that has not exited runs the block from its
 * start to its end, and so meets every fence in it (PTX ISA 9.0, 9.7.13 bar.warp.sync: the mask
 * names all of them; it also orders their memory accesses, which only adds to what is promised).
 * And only where no lane can wait for another between the block's ends but in such an instruction:
 * not in blocks with calls or with anything that pins all.
 */
#include "ptx/facts.h"
#include "ptx/pass.h"
#include "util/error.h"
#include "util/hash.h"

#include <stdio.h>
#include <string.h>

static const char *const values[] = {"off",   "each8", "each16", "each32", "each64",
                                     "loads", "seed1", "seed2",  "seed3",  "seed4"};
enum {
    FENCE_OFF,
    FENCE_EACH8,
    FENCE_EACH64 = 4,
    FENCE_LOADS,
    FENCE_SEED1,
    FENCE_COUNT = sizeof values / sizeof *values,
    MAX_SITES = 96
};

static const char *opcode_of(const ptx_module *m, const ptx_statement *s)
{
    return m->opcodes[s->opcode].text;
}

static bool takes_whole_warp(const ptx_module *m, const ptx_statement *s)
{
    const char *opcode = opcode_of(m, s);
    return s->guard == PTX_NONE &&
           (strcmp(opcode, "bar.sync") == 0 || strcmp(opcode, "bar.cta.sync") == 0 ||
            ptx_opcode_has(opcode, ".aligned"));
}

/* A product ('*') or sum ('+') of floats that states no rounding, else 0. */
static char joined_part(const char *opcode)
{
    bool product = strncmp(opcode, "mul.", 4) == 0;
    bool sum = strncmp(opcode, "add.", 4) == 0 || strncmp(opcode, "sub.", 4) == 0;
    bool stated = ptx_opcode_has(opcode, ".rn") || ptx_opcode_has(opcode, ".rz") ||
                  ptx_opcode_has(opcode, ".rm") || ptx_opcode_has(opcode, ".rp");
    const char *type = strrchr(opcode, '.');
    bool is_float = type != NULL && (type[1] == 'f' || strncmp(type, ".bf", 3) == 0);
    return stated || !is_float ? 0 : product ? '*' : sum ? '+' : 0;
}

/* A block that states such fences itself keeps them as they are. Where ptxas does not see that a
   warp is together, it parts the block at a fence and no longer joins a product before it with a
   sum behind it (13.0.88, sm_75 and sm_80), which would round otherwise. */
static bool admits_fences(const ptx_module *m, const ptx_block *block)
{
    bool whole = false, products = false, sums = false;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind != PTX_INSTRUCTION) {
            continue;
        }
        const ptx_effect *effect = ptx_effect_of(m, s);
        if ((effect->barrier && !effect->terminator) ||
            strncmp(opcode_of(m, s), "bar.warp", 8) == 0) {
            return false;
        }
        whole = whole || takes_whole_warp(m, s);
        products = products || joined_part(opcode_of(m, s)) == '*';
        sums = sums || joined_part(opcode_of(m, s)) == '+';
    }
    return whole && !(products && sums);
}

static bool is_load(const ptx_module *m, const ptx_statement *s)
{
    const char *opcode = opcode_of(m, s);
    return strncmp(opcode, "ld.", 3) == 0 || strncmp(opcode, "ldmatrix.", 9) == 0;
}

/* Whether a fence goes in front of an instruction: `number` counts those of the block. */
static bool is_cut(const ptx_module *m, const ptx_statement *s, const ptx_statement *previous,
                   int32_t how, uint32_t block, uint32_t number)
{
    if (how >= FENCE_EACH8 && how <= FENCE_EACH64) {
        return number % (8U << (how - FENCE_EACH8)) == 0;
    }
    if (how == FENCE_LOADS) {
        return is_load(m, previous) && !is_load(m, s);
    }
    const uint32_t place[2] = {block, number};
    uint32_t share = how < FENCE_SEED1 + 2 ? 16 : 64;
    return hash64(place, sizeof place, (uint64_t)how) % share == 0;
}

/* Between two instructions of the body, none of them within a nested scope, and not between a
   pragma and what it speaks about. */
static void cut_block(ptx_edits *edits, const ptx_module *m, const ptx_block *block, int32_t how,
                      uint32_t number_of_block)
{
    static const char text[] = "bar.warp.sync 0xffffffff;\n\t";
    const ptx_statement *previous = NULL;
    uint32_t number = 0;
    bool free = false; /* nothing but lines since the previous instruction */
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_LOC) {
            continue;
        }
        bool instruction = s->kind == PTX_INSTRUCTION && m->scopes[s->scope].depth == 0;
        if (instruction && free && is_cut(m, s, previous, how, number_of_block, number)) {
            ptx_edits_replace(edits, (ptx_span){s->span.begin, s->span.begin}, text,
                              sizeof text - 1);
        }
        number += instruction;
        previous = instruction ? s : previous;
        free = instruction || (free && s->kind == PTX_CLOSE);
    }
}

static evocc_status enumerate(ptx_catalogue *c)
{
    const ptx_module *m = c->module;
    const ptx_function *f = c->function;
    size_t sites = 0;
    bool offered;
    if (ptx_target_number(m) < 70) {
        return EVOCC_OK; /* before, lanes of a warp had to be together to meet */
    }
    /* A fence in a loop may keep ptxas from unrolling it (facts.h, contraction). */
    evocc_status status = ptx_catalogue_unrolling(&offered, c);
    if (status != EVOCC_OK || !offered) {
        return status;
    }
    for (uint32_t b = 0; b < f->block_count; b++) {
        sites += admits_fences(m, &m->blocks[f->first_block + b]);
    }
    if (sites > 0) {
        status = ptx_catalogue_add(c, "", values, FENCE_COUNT, FENCE_OFF, 1, c->pass->help);
    }
    size_t shown = sites < MAX_SITES ? sites : MAX_SITES, added = 0;
    for (uint32_t b = 0; b < f->block_count && status == EVOCC_OK && sites > 1; b++) {
        char site[24];
        if (added < shown && admits_fences(m, &m->blocks[f->first_block + b])) {
            snprintf(site, sizeof site, "b%u", b);
            status = ptx_catalogue_add(c, site, values, FENCE_COUNT, FENCE_OFF, shown,
                                       "The same for this block alone.");
            added++;
        }
    }
    return status;
}

/* The wide value first, then those of single blocks. */
static evocc_status choose(int32_t *chosen, const ptx_module *m, const ptx_choice *choices,
                           size_t count, evocc_error *error)
{
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count; i++) {
            const ptx_function *f = choices[i].function;
            int32_t value;
            uint32_t block = 0;
            if ((choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            evocc_status status = ptx_choice_value(&value, &choices[i], values, FENCE_COUNT, error);
            if (status == EVOCC_OK && own == 1) {
                status = ptx_choice_block(&block, m, &choices[i], error);
            }
            if (status != EVOCC_OK) {
                return status;
            }
            for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++) {
                chosen[b] = own == 0 || b == block ? value : chosen[b];
            }
        }
    }
    return EVOCC_OK;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    int32_t *chosen = mem_alloc(m->block_count + 1, sizeof *chosen);
    if (chosen == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = choose(chosen, m, choices, count, error);
    for (uint32_t b = 0; b < m->block_count && status == EVOCC_OK; b++) {
        const ptx_block *block = &m->blocks[b];
        if (chosen[b] != FENCE_OFF && admits_fences(m, block)) {
            cut_block(edits, m, block, chosen[b], b - m->functions[block->function].first_block);
        }
    }
    mem_free(chosen);
    return status;
}

const ptx_pass ptx_pass_fence = {
    .name = "fence",
    .help = "Fences for the scheduler in blocks that a whole warp runs together: every N "
            "instructions (eachN), behind each run of loads (loads), or at seeded places. ptxas "
            "moves nothing across them: less overlap, fewer registers. Costs an instruction each.",
    .source = "PTX ISA 9.0, 9.7.13 (bar.warp.sync); docs/ptx-safety.md",
    .min_version = 60,
    .enumerate = enumerate,
    .apply = apply,
};
