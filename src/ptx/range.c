/*
 * range.c: says how large %tid can be, as a mask that changes nothing: %tid.x and %tid.y are below
 * 1024, %tid.z is below 64 (PTX ISA 9.0, 10 Special Registers: %ntid), and none reaches the number
 * of threads that .reqntid or .maxntid states (11.4: a launch with more fails).
 */
#include "ptx/graft.h"
#include "ptx/pass.h"
#include "util/error.h"

#include <string.h>

static const char *const values[] = {"off", "isa", "bound"};
enum { RANGE_OFF, RANGE_ISA, RANGE_BOUND, RANGE_COUNT };

/* The letter behind "%tid." when the statement is an unguarded move of it to a register, else 0. */
static char moved_part(const ptx_module *m, const ptx_statement *s)
{
    if (s->kind != PTX_INSTRUCTION || s->guard != PTX_NONE || s->operand_count != 2 ||
        (strcmp(m->opcodes[s->opcode].text, "mov.u32") != 0 &&
         strcmp(m->opcodes[s->opcode].text, "mov.b32") != 0)) {
        return 0;
    }
    const ptx_operand *to = &m->operands[s->first_operand];
    const ptx_leaf *leaf = &m->leaves[to[1].first_leaf];
    bool plain = to[0].shape == PTX_SHAPE_PLAIN && to[1].shape == PTX_SHAPE_PLAIN;
    const char *text = ptx_at(m, leaf->span);
    return plain && leaf->kind == PTX_LEAF_SPECIAL && ptx_span_length(leaf->span) == 6 &&
                   memcmp(text, "%tid.", 5) == 0
               ? text[5]
               : 0;
}

/* All ones up to the highest bit that the part can have. */
static uint32_t mask_for(const ptx_module *m, const ptx_function *f, char part, int32_t value)
{
    uint32_t mask = part == 'z' ? 63 : 1023;
    uint32_t threads = ptx_block_threads(m, f);
    while (value == RANGE_BOUND && threads > 0 && mask > 0 && mask / 2 >= threads - 1) {
        mask /= 2;
    }
    return mask;
}

static evocc_status enumerate(ptx_catalogue *c)
{
    const ptx_module *m = c->module;
    const ptx_function *f = c->function;
    int32_t count = ptx_block_threads(m, f) == 0 ? RANGE_BOUND : RANGE_COUNT;
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        if (moved_part(m, &m->statements[i]) != 0) {
            return ptx_catalogue_add(c, "", values, count, RANGE_OFF, 1, c->pass->help);
        }
    }
    return EVOCC_OK;
}

static evocc_status mask_function(ptx_edits *edits, const ptx_module *m, const ptx_function *f,
                                  int32_t value, evocc_error *error)
{
    ptx_facts *facts;
    ptx_graft graft = {0};
    evocc_status status = ptx_facts_new(&facts, m, f, error);
    if (status != EVOCC_OK) {
        return status;
    }
    status = ptx_graft_init(&graft, edits, facts, error);
    for (uint32_t i = f->first_statement;
         status == EVOCC_OK && i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        char part = moved_part(m, s);
        if (part == 0) {
            continue;
        }
        ptx_span to = m->operands[s->first_operand].span;
        uint32_t t = ptx_graft_declare(&graft, ".b32");
        strbuf_printf(ptx_edits_begin(edits), "mov.u32 %s%u, %%tid.%c;\n\tand.b32 %.*s, %s%u, %u;",
                      graft.prefix, t, part, (int)ptx_span_length(to), ptx_at(m, to), graft.prefix,
                      t, mask_for(m, f, part, value));
        ptx_edits_finish(edits, s->span);
    }
    if (status == EVOCC_OK) {
        status = ptx_graft_finish(&graft, error);
    }
    ptx_graft_dispose(&graft);
    ptx_facts_free(facts);
    return status;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        int32_t value;
        if (choices[i].site[0] != '\0') {
            return ptx_no_site(m, choices[i].setting, error);
        }
        int32_t known = ptx_block_threads(m, choices[i].function) == 0 ? RANGE_BOUND : RANGE_COUNT;
        status = ptx_choice_value(&value, &choices[i], values, known, error);
        if (status == EVOCC_OK && value != RANGE_OFF) {
            status = mask_function(edits, m, choices[i].function, value, error);
        }
    }
    return status;
}

const ptx_pass ptx_pass_range = {
    .name = "range",
    .help = "Tells ptxas the largest thread index as a mask that changes nothing: what the ISA "
            "allows (isa), or what the entry's .reqntid or .maxntid says (bound). Known high bits "
            "let index arithmetic shrink.",
    .source = "PTX ISA 9.0, 10 (%tid, %ntid), 11.4 (.maxntid, .reqntid)",
    .enumerate = enumerate,
    .apply = apply,
};
