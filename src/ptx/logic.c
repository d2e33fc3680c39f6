/*
 * logic.c: other forms of bit operations, and commutative operands exchanged (PTX ISA 9.0, 9.7.1
 * and 9.7.8).
 */
#include "ptx/forms.h"

#include <string.h>

static const char *opcode_of(const ptx_module *m, const ptx_statement *s)
{
    return m->opcodes[s->opcode].text;
}

/* ---- field
 * ---------------------------------------------------------------------------------------- */

static const char *const field_values[] = {"off", PTX_FORM_VALUES("shift")};

static bool field_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    uint64_t position, length;
    bool narrow = strcmp(opcode_of(m, s), "bfe.u32") == 0;
    unsigned width = narrow ? 32 : 64;
    if ((!narrow && strcmp(opcode_of(m, s), "bfe.u64") != 0) || s->operand_count != 4 ||
        !ptx_form_literal(&position, m, s, 2) || !ptx_form_literal(&length, m, s, 3) ||
        length == 0 || position + length > width || length >= width) {
        return false;
    }
    uint32_t t = ptx_graft_declare(graft, narrow ? ".b32" : ".b64");
    strbuf_printf(out, "shr.u%u %s%u", width, graft->prefix, t);
    ptx_form_next(out, m, s, 1);
    strbuf_printf(out, ", %llu;\n\t", (unsigned long long)position);
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "and.b%u ", width);
    ptx_form_operand(out, m, s, 0);
    strbuf_printf(out, ", %s%u, %llu;", graft->prefix, t, (1ULL << length) - 1);
    return true;
}

static const ptx_forms field_forms = {field_form, field_values,
                                      sizeof field_values / sizeof *field_values};

static evocc_status field_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &field_forms);
}

static evocc_status field_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &field_forms, error);
}

const ptx_pass ptx_pass_field = {
    .name = "field",
    .help =
        "Bit-field extraction with constant bounds as a shift and a mask, which ptxas can share "
        "or fold further.",
    .source = "PTX ISA 9.0, 9.7.1 (bfe), 9.7.8 (shr, and)",
    .enumerate = field_enumerate,
    .apply = field_apply,
};

/* ---- lop3
 * ----------------------------------------------------------------------------------------- */

static const char *const lop3_values[] = {"off", PTX_FORM_VALUES("join")};

/* The truth table of an operation on two, over the rows of lop3's immediate. */
static bool table_of(unsigned *out, const ptx_module *m, const ptx_statement *s, unsigned a,
                     unsigned b)
{
    const char *opcode = opcode_of(m, s);
    if (s->operand_count != 3) {
        return false;
    }
    if (strcmp(opcode, "and.b32") == 0) {
        *out = a & b;
    } else if (strcmp(opcode, "or.b32") == 0) {
        *out = a | b;
    } else if (strcmp(opcode, "xor.b32") == 0) {
        *out = a ^ b;
    } else {
        return false;
    }
    return true;
}

/* ptxas 12.4 to 13.5 crashes on a lop3 that only `setp.eq x, 0` reads, where its predicate guards a
   store. */
static bool is_compared(const ptx_facts *f, const ptx_statement *s)
{
    const ptx_module *m = f->module;
    const ptx_operand *first = &m->operands[s->first_operand];
    const ptx_leaf *leaf = &m->leaves[first->first_leaf];
    if (first->leaf_count != 1 || leaf->kind != PTX_LEAF_REGISTER) {
        return false;
    }
    uint32_t local = leaf->id - f->function->first_register;
    for (uint32_t i = f->use_start[local]; i < f->use_start[local + 1]; i++) {
        if (strncmp(opcode_of(m, &m->statements[f->uses[i]]), "setp.", 5) == 0) {
            return true;
        }
    }
    return false;
}

static bool lop3_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    unsigned inner_table, table;
    if (!table_of(&table, m, s, 0, 0) || is_compared(graft->facts, s)) {
        return false;
    }
    for (uint32_t i = 1; i <= 2 && s->operand_count == 3; i++) {
        const ptx_statement *inner = ptx_form_source(graft->facts, s, i);
        if (inner == NULL || !table_of(&inner_table, m, inner, 0xf0, 0xcc) ||
            !table_of(&table, m, s, inner_table, 0xaa)) {
            continue;
        }
        ptx_form_guard(out, m, s);
        strbuf_puts(out, "lop3.b32 ");
        ptx_form_operand(out, m, s, 0);
        ptx_form_next(out, m, inner, 1);
        ptx_form_next(out, m, inner, 2);
        ptx_form_next(out, m, s, 3 - i);
        strbuf_printf(out, ", %u;", table);
        return true;
    }
    return false;
}

static const ptx_forms lop3_forms = {lop3_form, lop3_values,
                                     sizeof lop3_values / sizeof *lop3_values};

static evocc_status lop3_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &lop3_forms);
}

static evocc_status lop3_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &lop3_forms, error);
}

const ptx_pass ptx_pass_lop3 = {
    .name = "lop3",
    .help = "Two bit operations joined into one on three operands.",
    .source = "PTX ISA 9.0, 9.7.8 (lop3)",
    .min_version = 43,
    .enumerate = lop3_enumerate,
    .apply = lop3_apply,
};

/* ---- swap
 * ------------------------------------------------------------------------------------------- */

static const char *const swap_values[] = {"off", PTX_FORM_VALUES("swap")};

/* Commutative in every bit of the result. Of floating point those whose NaN results are canonical
   (9.7.3: single precision). */
static bool is_commutative(const char *opcode)
{
    static const char *const words[] = {
        "add.s32",     "add.u32",       "add.s64",      "add.u64",      "mul.lo.s32",
        "mul.lo.u32",  "mul.lo.s64",    "mul.lo.u64",   "mul.wide.s32", "mul.wide.u32",
        "mad.lo.s32",  "mad.lo.u32",    "mad.wide.s32", "mad.wide.u32", "and.b32",
        "or.b32",      "xor.b32",       "and.b64",      "or.b64",       "xor.b64",
        "min.s32",     "max.s32",       "min.u32",      "max.u32",      "add.f32",
        "mul.f32",     "fma.rn.f32",    "add.rn.f32",   "mul.rn.f32",   "add.ftz.f32",
        "mul.ftz.f32", "fma.rn.ftz.f32"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(opcode, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool swap_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    /* Of two products, ptxas joins the first with the sum. */
    bool sum = strncmp(opcode_of(m, s), "add.", 4) == 0;
    if (!is_commutative(opcode_of(m, s)) || s->operand_count < 3 ||
        (sum && ptx_facts_may_contract(graft->facts, statement))) {
        return false;
    }
    for (uint32_t i = 1; i <= 2; i++) {
        const ptx_operand *operand = &m->operands[s->first_operand + i];
        if (operand->shape != PTX_SHAPE_PLAIN ||
            m->leaves[operand->first_leaf].kind != PTX_LEAF_REGISTER) {
            return false;
        }
    }
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "%s ", opcode_of(m, s));
    ptx_form_operand(out, m, s, 0);
    ptx_form_next(out, m, s, 2);
    ptx_form_next(out, m, s, 1);
    for (uint32_t i = 3; i < s->operand_count; i++) {
        ptx_form_next(out, m, s, i);
    }
    strbuf_puts(out, ";");
    return true;
}

static const ptx_forms swap_forms = {swap_form, swap_values,
                                     sizeof swap_values / sizeof *swap_values};

static evocc_status swap_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &swap_forms);
}

static evocc_status swap_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &swap_forms, error);
}

const ptx_pass ptx_pass_swap = {
    .name = "swap",
    .help = "Operands of commutative operations exchanged: decides which register banks meet.",
    .source = "PTX ISA 9.0, 9.7.1, 9.7.3, 9.7.8",
    .enumerate = swap_enumerate,
    .apply = swap_apply,
};
