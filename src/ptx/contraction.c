#include "ptx/contraction.h"

#include "ptx/facts.h"

#include <string.h>

/* Bit of an opcode's type, its last part; 0 for none that contracts. */
static uint8_t type_bit(const char *opcode)
{
    static const char *const types[] = {".f32",  ".f64",    ".f16",  ".f16x2",
                                        ".bf16", ".bf16x2", ".f32x2"};
    const char *last = strrchr(opcode, '.');
    for (size_t i = 0; last != NULL && i < sizeof types / sizeof *types; i++) {
        if (strcmp(last, types[i]) == 0) {
            return (uint8_t)(1U << i);
        }
    }
    return 0;
}

static bool states_rounding(const char *opcode)
{
    return ptx_opcode_has(opcode, ".rn") || ptx_opcode_has(opcode, ".rz") ||
           ptx_opcode_has(opcode, ".rm") || ptx_opcode_has(opcode, ".rp");
}

ptx_rounding_form ptx_rounding_form_of(uint8_t *type, const ptx_module *m, const ptx_statement *s)
{
    *type = 0;
    if (s->kind != PTX_INSTRUCTION) {
        return PTX_ROUNDS_NOT;
    }
    const char *opcode = m->opcodes[s->opcode].text;
    if (strncmp(opcode, "mov.", 4) == 0 || strncmp(opcode, "neg.", 4) == 0) {
        return PTX_COPY;
    }
    bool product = strncmp(opcode, "mul.", 4) == 0;
    bool sum = strncmp(opcode, "add.", 4) == 0 || strncmp(opcode, "sub.", 4) == 0;
    *type = (product || sum) && !states_rounding(opcode) ? type_bit(opcode) : 0;
    return *type == 0 ? PTX_ROUNDS_NOT : product ? PTX_PRODUCT : PTX_SUM;
}

uint8_t ptx_contraction_types(const ptx_module *module, const ptx_function *function)
{
    uint8_t products = 0, sums = 0;
    for (uint32_t i = 0; i < function->statement_count; i++) {
        uint8_t type;
        ptx_rounding_form what =
            ptx_rounding_form_of(&type, module, &module->statements[function->first_statement + i]);
        products |= what == PTX_PRODUCT ? type : 0;
        sums |= what == PTX_SUM ? type : 0;
    }
    return products & sums;
}

/* Tried one by one. rem.u32 did not, but might. */
bool ptx_rounding_parts_block(const char *opcode)
{
    static const char *const always[] = {"membar", "fence", "rem", "setmaxnreg", "griddepcontrol"};
    static const char *const exact[] = {"div", "rcp", "sqrt"};
    size_t length = strcspn(opcode, ".");
    bool approximate = ptx_opcode_has(opcode, ".approx") || ptx_opcode_has(opcode, ".full");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (strlen(always[i]) == length && memcmp(opcode, always[i], length) == 0) {
            return true;
        }
    }
    for (size_t i = 0; !approximate && i < sizeof exact / sizeof *exact; i++) {
        if (strlen(exact[i]) == length && memcmp(opcode, exact[i], length) == 0) {
            return true;
        }
    }
    return false;
}

ptx_access ptx_contraction_access(const ptx_module *m, const ptx_statement *s, uint8_t types)
{
    uint8_t type;
    if (types == 0 || s->kind != PTX_INSTRUCTION) {
        return PTX_ACCESS_NONE;
    }
    ptx_rounding_form_of(&type, m, s);
    return (type & types) != 0                                    ? PTX_ACCESS_READ
           : ptx_rounding_parts_block(m->opcodes[s->opcode].text) ? PTX_ACCESS_WRITE
                                                                  : PTX_ACCESS_NONE;
}

uint32_t ptx_plain_register(const ptx_module *m, const ptx_statement *s, uint32_t operand)
{
    if (operand >= s->operand_count) {
        return PTX_NONE;
    }
    const ptx_operand *o = &m->operands[s->first_operand + operand];
    return o->shape == PTX_SHAPE_PLAIN && o->leaf_count == 1 &&
                   m->leaves[o->first_leaf].kind == PTX_LEAF_REGISTER
               ? m->leaves[o->first_leaf].id
               : PTX_NONE;
}

/* Something that reads the register is a sum of the type, or hands it on to who knows whom. */
static bool reaches_sum(const ptx_facts *f, uint32_t id, uint8_t wanted)
{
    uint32_t local = id - f->function->first_register;
    for (uint32_t i = f->use_start[local]; i < f->use_start[local + 1]; i++) {
        uint8_t type;
        ptx_rounding_form what =
            ptx_rounding_form_of(&type, f->module, &f->module->statements[f->uses[i]]);
        if (what == PTX_COPY || (what == PTX_SUM && type == wanted)) {
            return true;
        }
    }
    return false;
}

bool ptx_facts_from_product(const ptx_facts *f, uint32_t id, uint8_t wanted)
{
    uint8_t type;
    const ptx_definition *d = ptx_facts_definition(f, id);
    if (d->count != 1) {
        return d->count > 1; /* not known */
    }
    ptx_rounding_form what =
        ptx_rounding_form_of(&type, f->module, &f->module->statements[d->statement]);
    return what == PTX_COPY || (what == PTX_PRODUCT && type == wanted);
}

/* What hands a product on takes part, too. */
static bool copies_product(const ptx_facts *f, const ptx_statement *s)
{
    uint8_t type = 0;
    uint32_t id = s->operand_count == 2 ? ptx_plain_register(f->module, s, 1) : PTX_NONE;
    const ptx_definition *d = id != PTX_NONE ? ptx_facts_definition(f, id) : NULL;
    return d != NULL && d->count == 1 &&
           ptx_rounding_form_of(&type, f->module, &f->module->statements[d->statement]) ==
               PTX_PRODUCT &&
           (type & f->contracted) != 0;
}

bool ptx_facts_may_contract(const ptx_facts *f, uint32_t statement)
{
    uint8_t type;
    const ptx_module *m = f->module;
    const ptx_statement *s = &m->statements[statement];
    ptx_rounding_form what = ptx_rounding_form_of(&type, m, s);
    if (what == PTX_COPY) {
        return copies_product(f, s);
    }
    if ((type & f->contracted) == 0) {
        return ptx_contraction_access(m, s, f->contracted) == PTX_ACCESS_WRITE;
    }
    if (what == PTX_PRODUCT) {
        uint32_t id = ptx_plain_register(m, s, 0);
        return id == PTX_NONE || reaches_sum(f, id, type);
    }
    for (uint32_t i = 1; i < s->operand_count; i++) {
        uint32_t id = ptx_plain_register(m, s, i);
        if (id != PTX_NONE && ptx_facts_from_product(f, id, type)) {
            return true;
        }
    }
    return false;
}
