/*
 * arithmetic.c: other forms of integer arithmetic: mad, shifts, reassociation. All wrap around
 * modulo two to the width, so that they are exact (PTX ISA 9.0, 9.7.1 Integer Arithmetic).
 */
#include "ptx/forms.h"

#include <string.h>

static const char *opcode_of(const ptx_module *m, const ptx_statement *s)
{
    return m->opcodes[s->opcode].text;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* "add.s32", "add.u64", ...: without saturation or carry. */
static bool is_plain_add(const ptx_module *m, const ptx_statement *s)
{
    const char *type = ptx_form_integer_type(m, s);
    return type != NULL && begins(opcode_of(m, s), "add.") && opcode_of(m, s) + 3 == type &&
           s->operand_count == 3;
}

/* ---- mad
 * ----------------------------------------------------------------------------------------- */

static const char *const mad_values[] = {"off", PTX_FORM_VALUES("split"), PTX_FORM_VALUES("fuse")};
enum { MAD_SPLIT, MAD_FUSE };

/* ".s64" for ".s32": the type of a wide product. */
static const char *wide_type(const char *type)
{
    static const char *const pairs[][2] = {
        {".s16", ".s32"}, {".u16", ".u32"}, {".s32", ".s64"}, {".u32", ".u64"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(type, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    return NULL;
}

/* The type of the result of mul or mad: its own, or the wide one; NULL for .hi and the like. */
static const char *product_type(const ptx_module *m, const ptx_statement *s, const char *word)
{
    const char *opcode = opcode_of(m, s), *type = ptx_form_integer_type(m, s);
    size_t length = strlen(word);
    if (type == NULL || !begins(opcode, word)) {
        return NULL;
    }
    if (begins(opcode + length, ".lo.") && opcode + length + 3 == type) {
        return type;
    }
    return begins(opcode + length, ".wide.") && opcode + length + 5 == type ? wide_type(type)
                                                                            : NULL;
}

static bool split_mad(strbuf *out, ptx_graft *graft, const ptx_statement *s)
{
    const ptx_module *m = graft->facts->module;
    const char *type = product_type(m, s, "mad");
    if (type == NULL || s->operand_count != 4) {
        return false;
    }
    static const char *const types[] = {".b16", ".b32", ".b64"};
    unsigned width = ptx_form_width(type);
    uint32_t t = ptx_graft_declare(graft, types[width == 16 ? 0 : width == 32 ? 1 : 2]);
    strbuf_printf(out, "mul%s %s%u", opcode_of(m, s) + 3, graft->prefix, t);
    ptx_form_next(out, m, s, 1);
    ptx_form_next(out, m, s, 2);
    strbuf_puts(out, ";\n\t");
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "add%s ", type);
    ptx_form_operand(out, m, s, 0);
    strbuf_printf(out, ", %s%u", graft->prefix, t);
    ptx_form_next(out, m, s, 3);
    strbuf_puts(out, ";");
    return true;
}

static bool fuse_mad(strbuf *out, ptx_graft *graft, const ptx_statement *s)
{
    const ptx_module *m = graft->facts->module;
    if (!is_plain_add(m, s)) {
        return false;
    }
    const char *type = ptx_form_integer_type(m, s);
    for (uint32_t i = 1; i <= 2; i++) {
        const ptx_statement *product = ptx_form_source(graft->facts, s, i);
        const char *produced = product == NULL ? NULL : product_type(m, product, "mul");
        if (produced == NULL || ptx_form_width(produced) != ptx_form_width(type) ||
            product->operand_count != 3) {
            continue;
        }
        ptx_form_guard(out, m, s);
        strbuf_printf(out, "mad%s ", opcode_of(m, product) + 3);
        ptx_form_operand(out, m, s, 0);
        ptx_form_next(out, m, product, 1);
        ptx_form_next(out, m, product, 2);
        ptx_form_next(out, m, s, 3 - i);
        strbuf_puts(out, ";");
        return true;
    }
    return false;
}

static bool mad_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_statement *s = &graft->facts->module->statements[statement];
    return mode == MAD_SPLIT ? split_mad(out, graft, s) : fuse_mad(out, graft, s);
}

static const ptx_forms mad_forms = {mad_form, mad_values, sizeof mad_values / sizeof *mad_values};

static evocc_status mad_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &mad_forms);
}

static evocc_status mad_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                              size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &mad_forms, error);
}

const ptx_pass ptx_pass_mad = {
    .name = "mad",
    .help = "Integer multiply-add as two instructions (split), or a product and its sum as one "
            "(fuse). Moves address arithmetic between the units that do it.",
    .source = "PTX ISA 9.0, 9.7.1 (mad, mul, add)",
    .enumerate = mad_enumerate,
    .apply = mad_apply,
};

/* ---- shift
 * ---------------------------------------------------------------------------------------- */

static const char *const shift_values[] = {"off", PTX_FORM_VALUES("mul"), PTX_FORM_VALUES("shl")};
enum { SHIFT_TO_MUL, SHIFT_TO_SHL };

static bool shift_to_mul(strbuf *out, const ptx_module *m, const ptx_statement *s)
{
    uint64_t amount;
    const char *type = ptx_form_integer_type(m, s);
    if (type == NULL || !begins(opcode_of(m, s), "shl.") || !ptx_form_literal(&amount, m, s, 2) ||
        amount >= ptx_form_width(type) - 1) {
        return false;
    }
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "mul.lo.u%u ", ptx_form_width(type));
    ptx_form_operand(out, m, s, 0);
    ptx_form_next(out, m, s, 1);
    strbuf_printf(out, ", %llu;", 1ULL << amount);
    return true;
}

static bool is_power(uint64_t value, unsigned *exponent)
{
    *exponent = 0;
    while (value > 1 && value % 2 == 0) {
        value /= 2;
        *exponent += 1;
    }
    return value == 1;
}

static bool mul_to_shift(strbuf *out, ptx_graft *graft, const ptx_statement *s)
{
    const ptx_module *m = graft->facts->module;
    const char *type = ptx_form_integer_type(m, s), *product = product_type(m, s, "mul");
    uint64_t factor;
    unsigned exponent;
    if (product == NULL || s->operand_count != 3 || !ptx_form_literal(&factor, m, s, 2) ||
        !is_power(factor, &exponent) || exponent >= ptx_form_width(type) - 1) {
        return false;
    }
    unsigned width = ptx_form_width(product);
    bool wide = product != type;
    uint32_t t = 0;
    if (wide) {
        t = ptx_graft_declare(graft, width == 32 ? ".b32" : ".b64");
        strbuf_printf(out, "cvt%s%s %s%u", product, type, graft->prefix, t);
        ptx_form_next(out, m, s, 1);
        strbuf_puts(out, ";\n\t");
    }
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "shl.b%u ", width);
    ptx_form_operand(out, m, s, 0);
    if (wide) {
        strbuf_printf(out, ", %s%u", graft->prefix, t);
    } else {
        ptx_form_next(out, m, s, 1);
    }
    strbuf_printf(out, ", %u;", exponent);
    return true;
}

static bool shift_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    return mode == SHIFT_TO_MUL ? shift_to_mul(out, m, s) : mul_to_shift(out, graft, s);
}

static const ptx_forms shift_forms = {shift_form, shift_values,
                                      sizeof shift_values / sizeof *shift_values};

static evocc_status shift_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &shift_forms);
}

static evocc_status shift_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &shift_forms, error);
}

const ptx_pass ptx_pass_shift = {
    .name = "shift",
    .help = "Shifts to the left as products (mul), or products by a power of two as shifts (shl). "
            "Decides what ptxas folds into addresses.",
    .source = "PTX ISA 9.0, 9.7.1 (mul), 9.7.8 (shl)",
    .enumerate = shift_enumerate,
    .apply = shift_apply,
};

/* ---- reassociate
 * ------------------------------------------------------------------------------------ */

static const char *const sum_values[] = {"off", PTX_FORM_VALUES("right"),
                                         PTX_FORM_VALUES("across")};
enum { SUM_RIGHT, SUM_ACROSS };

/* (a + b) + c becomes a + (b + c), or (a + c) + b when across. */
static bool sum_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    if (!is_plain_add(m, s)) {
        return false;
    }
    const char *type = ptx_form_integer_type(m, s);
    for (uint32_t i = 1; i <= 2; i++) {
        const ptx_statement *inner = ptx_form_source(graft->facts, s, i);
        if (inner == NULL || !is_plain_add(m, inner) ||
            ptx_form_width(ptx_form_integer_type(m, inner)) != ptx_form_width(type)) {
            continue;
        }
        static const char *const types[] = {".b16", ".b32", ".b64"};
        unsigned width = ptx_form_width(type);
        uint32_t t = ptx_graft_declare(graft, types[width == 16 ? 0 : width == 32 ? 1 : 2]);
        uint32_t taken = mode == SUM_RIGHT ? 2 : 1;
        strbuf_printf(out, "add%s %s%u", type, graft->prefix, t);
        ptx_form_next(out, m, inner, taken);
        ptx_form_next(out, m, s, 3 - i);
        strbuf_puts(out, ";\n\t");
        ptx_form_guard(out, m, s);
        strbuf_printf(out, "add%s ", type);
        ptx_form_operand(out, m, s, 0);
        strbuf_printf(out, ", %s%u", graft->prefix, t);
        ptx_form_next(out, m, inner, 3 - taken);
        strbuf_puts(out, ";");
        return true;
    }
    return false;
}

static const ptx_forms sum_forms = {sum_form, sum_values, sizeof sum_values / sizeof *sum_values};

static evocc_status sum_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &sum_forms);
}

static evocc_status sum_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                              size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &sum_forms, error);
}

const ptx_pass ptx_pass_reassociate = {
    .name = "reassociate",
    .help =
        "Integer sums of three in another order: (a+b)+c as a+(b+c) (right) or (a+c)+b (across). "
        "Changes which partial sums are shared and how long they live; strong either way.",
    .source = "PTX ISA 9.0, 9.7.1 (add)",
    .enumerate = sum_enumerate,
    .apply = sum_apply,
};
