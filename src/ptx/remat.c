/*
 * remat.c: the passes that compute a value again next to where it is needed. A value qualifies when
 * a single unguarded pure instruction defines it and everything it is computed from is defined
 * once: then its definition gives the same result wherever it dominates (docs/ptx-safety.md).
 */
#include "ptx/remat.h"

#include "util/error.h"

#include <stdio.h>
#include <string.h>

/* ---- Values as sites ----------------------------------------------------------------------------
 */

static bool is_predicate(const ptx_module *m, uint32_t register_id)
{
    ptx_span type = m->registers[register_id].type;
    return ptx_span_length(type) == 5 && memcmp(ptx_at(m, type), ".pred", 5) == 0;
}

/* The register that statement i defines as a value; PTX_NONE for all others. Predicates stay:
   guards are not operands. */
static uint32_t value_at(const ptx_facts *f, uint32_t i)
{
    const ptx_module *m = f->module;
    const ptx_statement *s = &m->statements[f->function->first_statement + i];
    if (s->kind != PTX_INSTRUCTION || s->operand_count == 0) {
        return PTX_NONE;
    }
    const ptx_operand *first = &m->operands[s->first_operand];
    const ptx_leaf *leaf = &m->leaves[first->first_leaf];
    if (first->shape != PTX_SHAPE_PLAIN || leaf->kind != PTX_LEAF_REGISTER ||
        !ptx_facts_definition(f, leaf->id)->pure ||
        ptx_facts_definition(f, leaf->id)->statement != f->function->first_statement + i ||
        is_predicate(m, leaf->id)) {
        return PTX_NONE; /* the first operand of brx.idx and nanosleep is read, not written */
    }
    return leaf->id;
}

evocc_status ptx_remat_enumerate(ptx_catalogue *c, const char *const *values, int32_t value_count,
                                 ptx_remat_filter *filter, const char *site_help)
{
    ptx_facts *facts;
    evocc_status status = ptx_facts_new(&facts, c->module, c->function, c->error);
    if (status != EVOCC_OK) {
        return status;
    }
    uint32_t found = 0, number = 0;
    uint32_t sites[PTX_REMAT_SITES];
    for (uint32_t i = 0; i < c->function->statement_count && found < PTX_REMAT_SITES; i++) {
        uint32_t id = value_at(facts, i);
        if (id != PTX_NONE && filter(facts, id)) {
            sites[found++] = number;
        }
        number += id != PTX_NONE;
    }
    if (found > 0) {
        status = ptx_catalogue_add(c, "", values, value_count, 0, 1, c->pass->help);
    }
    for (uint32_t i = 0; i < found && status == EVOCC_OK; i++) {
        char site[24];
        snprintf(site, sizeof site, "v%u", sites[i]);
        status = ptx_catalogue_add(c, site, values, value_count, 0, found, site_help);
    }
    ptx_facts_free(facts);
    return status;
}

/* The register that value `number` of the original function is called by, looked up in this one. */
static evocc_status find_value(uint32_t *out, const ptx_facts *facts, const ptx_facts *original,
                               const ptx_choice *choice, uint32_t number, evocc_error *error)
{
    *out = PTX_NONE;
    for (uint32_t i = 0; i < original->function->statement_count; i++) {
        uint32_t id = value_at(original, i);
        if (id == PTX_NONE || number-- != 0) {
            continue;
        }
        ptx_span name = original->module->registers[id].name;
        *out = ptx_facts_find(facts, ptx_at(original->module, name), ptx_span_length(name));
        return EVOCC_OK;
    }
    return ptx_no_site(original->module, choice->setting, error);
}

static evocc_status choose(int32_t *modes, const ptx_facts *facts, const ptx_facts *original,
                           const ptx_choice *choices, size_t count, const char *const *values,
                           int32_t value_count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    uint32_t registers = facts->function->register_count;
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
            int32_t mode;
            uint32_t number, id;
            if (choices[i].function != facts->function ||
                (choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            status = ptx_choice_value(&mode, &choices[i], values, value_count, error);
            for (uint32_t r = 0; r < registers && own == 0 && status == EVOCC_OK; r++) {
                modes[r] = mode;
            }
            if (status == EVOCC_OK && own == 1) {
                status = ptx_choice_number(&number, original->module, &choices[i], "v", error);
            }
            if (status == EVOCC_OK && own == 1) {
                status = find_value(&id, facts, original, &choices[i], number, error);
                if (status == EVOCC_OK && id != PTX_NONE) {
                    modes[id - facts->function->first_register] = mode;
                }
            }
        }
    }
    return status;
}

static evocc_status visit_values(ptx_edits *edits, const ptx_facts *facts, const int32_t *modes,
                                 ptx_remat_visitor *visit, evocc_error *error)
{
    ptx_graft graft;
    evocc_status status = ptx_graft_init(&graft, edits, facts, error);
    for (uint32_t i = 0; i < facts->function->statement_count && status == EVOCC_OK; i++) {
        uint32_t id = value_at(facts, i);
        if (id != PTX_NONE && modes[id - facts->function->first_register] != 0) {
            visit(&graft, id, modes[id - facts->function->first_register]);
        }
    }
    if (status == EVOCC_OK) {
        status = ptx_graft_finish(&graft, error);
    }
    ptx_graft_dispose(&graft);
    return status;
}

static evocc_status apply_function(ptx_edits *edits, const ptx_module *module,
                                   const ptx_choice *first, const ptx_choice *choices, size_t count,
                                   const char *const *values, int32_t value_count,
                                   ptx_remat_visitor *visit, evocc_error *error)
{
    ptx_facts *facts = NULL, *original = NULL;
    int32_t *modes = mem_alloc(first->function->register_count, sizeof *modes);
    evocc_status status = modes == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK) {
        status = ptx_facts_new(&facts, module, first->function, error);
    }
    if (status == EVOCC_OK && first->original != module) {
        status = ptx_facts_new(&original, first->original, first->original_function, error);
    }
    if (status == EVOCC_OK) {
        status = choose(modes, facts, original != NULL ? original : facts, choices, count, values,
                        value_count, error);
    }
    if (status == EVOCC_OK) {
        status = visit_values(edits, facts, modes, visit, error);
    }
    ptx_facts_free(facts);
    ptx_facts_free(original);
    mem_free(modes);
    return status;
}

evocc_status ptx_remat_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                             size_t count, const char *const *values, int32_t value_count,
                             ptx_remat_visitor *visit, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || choices[j].function == choices[i].function;
        }
        if (!seen) {
            status = apply_function(edits, module, &choices[i], choices, count, values, value_count,
                                    visit, error);
        }
    }
    return status;
}

bool ptx_remat_is_deeper(const ptx_facts *facts, uint32_t definition_block, uint32_t b)
{
    uint32_t loop = facts->cfg->loop[b];
    return loop != PTX_NONE && !ptx_cfg_in_loop(facts->cfg, loop, definition_block);
}

/* Uses of a register in the blocks they are in, one block after the other. */
static uint32_t use_count(const ptx_facts *f, uint32_t id)
{
    uint32_t local = id - f->function->first_register;
    return f->use_start[local + 1] - f->use_start[local];
}

static const uint32_t *uses_of(const ptx_facts *f, uint32_t id)
{
    return f->uses + f->use_start[id - f->function->first_register];
}

/* ---- slice --------------------------------------------------------------------------------------
 */

static const char *const slice_values[] = {"off", "loop", "post", "all"};
enum { SLICE_OFF, SLICE_LOOP, SLICE_POST, SLICE_ALL, SLICE_VALUES };

static bool slice_filter(const ptx_facts *f, uint32_t id)
{
    const ptx_definition *d = ptx_facts_definition(f, id);
    ptx_slice slice;
    for (uint32_t i = 0; i < use_count(f, id); i++) {
        uint32_t block = ptx_facts_block(f, uses_of(f, id)[i]);
        if (block != d->block && ptx_remat_is_deeper(f, d->block, block)) {
            return ptx_facts_slice(&slice, f, id, PTX_SLICE_MAX);
        }
    }
    return false;
}

static void slice_visit(ptx_graft *graft, uint32_t id, int32_t mode)
{
    const ptx_facts *f = graft->facts;
    const ptx_definition *d = ptx_facts_definition(f, id);
    ptx_slice slice;
    uint32_t copied = PTX_NONE, fresh = 0; /* the block that has a copy, and its register */
    if (!ptx_facts_slice(&slice, f, id, PTX_SLICE_MAX)) {
        return;
    }
    for (uint32_t i = 0; i < use_count(f, id); i++) {
        uint32_t use = uses_of(f, id)[i], block = ptx_facts_block(f, use);
        bool deeper = ptx_remat_is_deeper(f, d->block, block);
        bool wanted = mode == SLICE_ALL || (mode == SLICE_LOOP) == deeper;
        if (block == d->block || !wanted || !ptx_cfg_dominates(f->cfg, d->block, block) ||
            !ptx_graft_can_use(f, use, id)) {
            continue;
        }
        if (copied != block) {
            uint32_t place = ptx_graft_place(f, use);
            if (place == PTX_NONE) {
                continue;
            }
            fresh = ptx_graft_slice(graft, &slice, place);
            copied = block;
        }
        ptx_graft_use(graft, use, id, fresh);
    }
}

static evocc_status slice_enumerate(ptx_catalogue *c)
{
    return ptx_remat_enumerate(c, slice_values, SLICE_VALUES, slice_filter,
                               "Where this value is computed again with all it is computed from.");
}

static evocc_status slice_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_remat_apply(edits, module, choices, count, slice_values, SLICE_VALUES, slice_visit,
                           error);
}

const ptx_pass ptx_pass_slice = {
    .name = "slice",
    .sampled = 0.4,
    .help =
        "Values that are computed again, with all they are computed from, where another block "
        "first needs them: in loops that they are invariant in (loop), elsewhere (post), or both "
        "(all). A value that need not stay in a register across a loop can save a spill.",
    .source = "PTX ISA 9.0, 9.7 (instructions without effects); docs/ptx-safety.md",
    .enumerate = slice_enumerate,
    .apply = slice_apply,
};

/* ---- remat
 * --------------------------------------------------------------------------------------- */

static const char *const remat_values[] = {"off", "far1", "far2", "all1", "all2"};
enum { REMAT_OFF, REMAT_FAR1, REMAT_FAR2, REMAT_ALL1, REMAT_ALL2, REMAT_VALUES };

/* Farther apart than this many statements, or in another block, is far. */
enum { FAR = 100 };

static bool is_far(const ptx_facts *f, const ptx_definition *d, uint32_t use)
{
    return ptx_facts_block(f, use) != d->block || use - d->statement > FAR;
}

static bool remat_filter(const ptx_facts *f, uint32_t id)
{
    const ptx_definition *d = ptx_facts_definition(f, id);
    ptx_slice slice;
    for (uint32_t i = 0; i < use_count(f, id); i++) {
        if (is_far(f, d, uses_of(f, id)[i])) {
            return ptx_facts_slice(&slice, f, id, 1);
        }
    }
    return false;
}

static void remat_visit(ptx_graft *graft, uint32_t id, int32_t mode)
{
    const ptx_facts *f = graft->facts;
    const ptx_definition *d = ptx_facts_definition(f, id);
    ptx_slice slice;
    bool all = mode == REMAT_ALL1 || mode == REMAT_ALL2;
    if (!ptx_facts_slice(&slice, f, id, mode == REMAT_FAR2 || mode == REMAT_ALL2 ? 2 : 1)) {
        return;
    }
    for (uint32_t i = 0; i < use_count(f, id); i++) {
        uint32_t use = uses_of(f, id)[i], block = ptx_facts_block(f, use);
        bool below =
            block == d->block ? use > d->statement : ptx_cfg_dominates(f->cfg, d->block, block);
        uint32_t place = ptx_graft_place(f, use);
        if (!below || !(all || is_far(f, d, use)) || place == PTX_NONE ||
            (block == d->block && place <= d->statement) || !ptx_graft_can_use(f, use, id)) {
            continue;
        }
        ptx_graft_use(graft, use, id, ptx_graft_slice(graft, &slice, place));
    }
}

static evocc_status remat_enumerate(ptx_catalogue *c)
{
    return ptx_remat_enumerate(c, remat_values, REMAT_VALUES, remat_filter,
                               "Whether this value is computed again before each of its uses.");
}

static evocc_status remat_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_remat_apply(edits, module, choices, count, remat_values, REMAT_VALUES, remat_visit,
                           error);
}

const ptx_pass ptx_pass_remat = {
    .name = "remat",
    .help =
        "Values that are computed again right before each use, one or two instructions deep: "
        "those used in another block or far down (far), or all. Trades instructions for registers.",
    .source = "PTX ISA 9.0, 9.7 (instructions without effects); docs/ptx-safety.md",
    .enumerate = remat_enumerate,
    .apply = remat_apply,
};

/* ---- sink
 * ---------------------------------------------------------------------------------------- */

static const char *const sink_values[] = {"off", "out", "any"};
enum { SINK_OFF, SINK_OUT, SINK_ANY, SINK_VALUES };

/* The one block, other than its own, that all uses are in; PTX_NONE otherwise. */
static uint32_t only_block(const ptx_facts *f, uint32_t id)
{
    const ptx_definition *d = ptx_facts_definition(f, id);
    ptx_slice slice;
    if (use_count(f, id) == 0 || !ptx_facts_slice(&slice, f, id, 1)) {
        return PTX_NONE;
    }
    uint32_t block = ptx_facts_block(f, uses_of(f, id)[0]);
    for (uint32_t i = 0; i < use_count(f, id); i++) {
        uint32_t use = uses_of(f, id)[i];
        if (ptx_facts_block(f, use) != block || f->module->statements[use].guard == id) {
            return PTX_NONE;
        }
    }
    return block != d->block && ptx_cfg_dominates(f->cfg, d->block, block) ? block : PTX_NONE;
}

/* A block keeps its last instruction, so that none becomes empty and the numbers of blocks stay. */
static bool ends_block(const ptx_facts *f, uint32_t statement)
{
    const ptx_block *block =
        &f->module->blocks[f->function->first_block + ptx_facts_block(f, statement)];
    for (uint32_t i = statement + 1; i < block->first + block->count; i++) {
        if (f->module->statements[i].kind == PTX_INSTRUCTION) {
            return false;
        }
    }
    return true;
}

static bool sink_filter(const ptx_facts *f, uint32_t id)
{
    return only_block(f, id) != PTX_NONE && !ends_block(f, ptx_facts_definition(f, id)->statement);
}

static void sink_visit(ptx_graft *graft, uint32_t id, int32_t mode)
{
    const ptx_facts *f = graft->facts;
    const ptx_module *m = f->module;
    const ptx_definition *d = ptx_facts_definition(f, id);
    uint32_t block = only_block(f, id);
    if (block == PTX_NONE || ends_block(f, d->statement) ||
        (mode == SINK_OUT && ptx_remat_is_deeper(f, d->block, block))) {
        return;
    }
    uint32_t place = ptx_graft_place(f, uses_of(f, id)[0]);
    if (place == PTX_NONE) {
        return;
    }
    ptx_span span = m->statements[d->statement].span;
    uint32_t at = m->statements[place].span.begin;
    strbuf *text = ptx_edits_begin(graft->edits);
    strbuf_append(text, ptx_at(m, span), ptx_span_length(span));
    strbuf_puts(text, "\n\t");
    ptx_edits_finish(graft->edits, (ptx_span){at, at});
    ptx_edits_replace(graft->edits, span, "", 0);
}

static evocc_status sink_enumerate(ptx_catalogue *c)
{
    return ptx_remat_enumerate(c, sink_values, SINK_VALUES, sink_filter,
                               "Whether this value's definition moves to the block that uses it.");
}

static evocc_status sink_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_remat_apply(edits, module, choices, count, sink_values, SINK_VALUES, sink_visit,
                           error);
}

const ptx_pass ptx_pass_sink = {
    .name = "sink",
    .help =
        "Definitions that move down to their first use when a single other block uses them: not "
        "into loops (out), or anywhere (any). Shortens the time a register is taken.",
    .source = "PTX ISA 9.0, 9.7 (instructions without effects); docs/ptx-safety.md",
    .enumerate = sink_enumerate,
    .apply = sink_apply,
};
