/*
 * vector.c: vector loads and stores as several narrower ones. A vector access is a set of scalar
 * ones in no stated order (PTX ISA 9.0, 8.2.2 Vector Data-types), so this is exact for weak
 * accesses.
 */
#include "ptx/forms.h"
#include "ptx/worlds.h"

#include <string.h>

static const char *const values[] = {"off", PTX_FORM_VALUES("scalar"), PTX_FORM_VALUES("halve")};
enum { MODE_SCALAR, MODE_HALVE };

/* A vector access taken apart. */
typedef struct access {
    const ptx_operand *data, *address;
    bool load;
    unsigned elements, bytes; /* bytes of one element */
    const ptx_leaf *base;
    int64_t offset;
} access;

/* Weak ld and st, of one part each ".v2" or ".v4"; the policy operand of a cache hint and 256-bit
   vectors with their own priorities stay as they are. */
static bool is_plain_vector(const char *opcode, unsigned *elements)
{
    static const char *const others[] = {".volatile", ".relaxed", ".acquire",
                                         ".release",  ".mmio",    ".async",
                                         ".bulk",     ".v8",      ".L2::cache_hint"};
    bool memory = strncmp(opcode, "ld.", 3) == 0 || strncmp(opcode, "st.", 3) == 0;
    *elements = ptx_opcode_has(opcode, ".v4") ? 4 : ptx_opcode_has(opcode, ".v2") ? 2 : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ptx_opcode_has(opcode, others[i])) {
            return false;
        }
    }
    return memory && *elements != 0 && strstr(opcode, ".L2::evict") == NULL;
}

static unsigned bytes_of(const char *opcode)
{
    static const char *const digits[] = {"8", "16", "32", "64"};
    const char *type = strrchr(opcode, '.');
    for (unsigned i = 0; i < 4; i++) {
        if (type != NULL && strchr("bsuf", type[1]) != NULL && strcmp(type + 2, digits[i]) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

/* [base], [base+12], [base+-12]; the number of bytes in *offset. */
static bool read_address(access *a, const ptx_module *m)
{
    uint64_t number = 0;
    a->base = &m->leaves[a->address->first_leaf];
    if (a->address->shape != PTX_SHAPE_ADDRESS || a->address->leaf_count < 1 ||
        a->address->leaf_count > 2 || a->base->component ||
        (a->base->kind != PTX_LEAF_REGISTER && a->base->kind != PTX_LEAF_SYMBOL)) {
        return false;
    }
    a->offset = 0;
    if (a->address->leaf_count == 2) {
        const ptx_leaf *leaf = a->base + 1;
        if (leaf->kind != PTX_LEAF_NUMBER ||
            !ptx_literal(&number, ptx_at(m, leaf->span), ptx_span_length(leaf->span)) ||
            number > INT32_MAX) {
            return false;
        }
        a->offset = leaf->sign == '-' ? -(int64_t)number : (int64_t)number;
    }
    return true;
}

/* A load that overwrites its own address, or one register twice, cannot be done in steps. */
static bool steps_are_safe(const access *a, const ptx_module *m)
{
    const ptx_leaf *data = &m->leaves[a->data->first_leaf];
    for (unsigned i = 0; i < a->elements; i++) {
        if (data[i].component ||
            (a->load && data[i].kind == PTX_LEAF_REGISTER && a->base->kind == PTX_LEAF_REGISTER &&
             data[i].id == a->base->id)) {
            return false;
        }
        for (unsigned j = 0; a->load && j < i; j++) {
            if (data[i].kind == PTX_LEAF_REGISTER && data[j].kind == PTX_LEAF_REGISTER &&
                data[i].id == data[j].id) {
                return false;
            }
        }
    }
    return true;
}

static bool take_apart(access *a, const ptx_module *m, const ptx_statement *s)
{
    const char *opcode = m->opcodes[s->opcode].text;
    bool spoken_of = s > m->statements && s[-1].kind == PTX_PRAGMA; /* "used_bytes_mask" */
    if (spoken_of || s->operand_count != 2 || !is_plain_vector(opcode, &a->elements)) {
        return false;
    }
    const ptx_operand *operands = &m->operands[s->first_operand];
    a->load = opcode[0] == 'l';
    a->data = &operands[a->load ? 0 : 1];
    a->address = &operands[a->load ? 1 : 0];
    a->bytes = bytes_of(opcode);
    return a->bytes != 0 && a->data->shape == PTX_SHAPE_VECTOR &&
           a->data->leaf_count == a->elements && read_address(a, m) && steps_are_safe(a, m);
}

/* The opcode with ".v4" gone, or ".v2" in its place. */
static void write_opcode(strbuf *out, const char *opcode, unsigned width)
{
    const char *vector = strstr(opcode, ".v4");
    vector = vector != NULL ? vector : strstr(opcode, ".v2");
    strbuf_append(out, opcode, (size_t)(vector - opcode));
    strbuf_puts(out, width == 2 ? ".v2" : "");
    strbuf_puts(out, vector + 3);
}

static void write_data(strbuf *out, const ptx_module *m, const access *a, unsigned first,
                       unsigned width)
{
    strbuf_puts(out, width > 1 ? "{" : "");
    for (unsigned i = first; i < first + width; i++) {
        const ptx_leaf *leaf = &m->leaves[a->data->first_leaf + i];
        strbuf_puts(out, i > first ? ", " : "");
        if (leaf->sign != 0) {
            strbuf_putc(out, leaf->sign);
        }
        strbuf_append(out, ptx_at(m, leaf->span), ptx_span_length(leaf->span));
    }
    strbuf_puts(out, width > 1 ? "}" : "");
}

static void write_address(strbuf *out, const ptx_module *m, const access *a, unsigned element)
{
    strbuf_printf(out, "[%.*s+%lld]", (int)ptx_span_length(a->base->span), ptx_at(m, a->base->span),
                  (long long)(a->offset + (int64_t)element * a->bytes));
}

static bool form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    access a;
    unsigned width = mode == MODE_HALVE ? 2 : 1;
    if (!take_apart(&a, m, s) || a.elements <= width) {
        return false;
    }
    for (unsigned i = 0; i < a.elements; i += width) {
        if (width == 1 && m->leaves[a.data->first_leaf + i].kind == PTX_LEAF_SINK) {
            continue;
        }
        strbuf_puts(out, i > 0 ? "\n\t" : "");
        ptx_form_guard(out, m, s);
        write_opcode(out, m->opcodes[s->opcode].text, width);
        strbuf_putc(out, ' ');
        if (a.load) {
            write_data(out, m, &a, i, width);
            strbuf_puts(out, ", ");
            write_address(out, m, &a, i);
        } else {
            write_address(out, m, &a, i);
            strbuf_puts(out, ", ");
            write_data(out, m, &a, i, width);
        }
        strbuf_puts(out, ";");
    }
    return true;
}

static const ptx_forms forms = {form, values, sizeof values / sizeof *values};

static evocc_status enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &forms);
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &forms, error);
}

const ptx_pass ptx_pass_vector = {
    .name = "vector",
    .help =
        "Vector loads and stores as scalar ones (scalar) or four as two and two (halve). Frees the "
        "registers from having to be neighbours; ptxas may join them again where it likes.",
    .source = "PTX ISA 9.0, 8.2.2 (Vector Data-types), 9.7.9 (ld, st)",
    .enumerate = enumerate,
    .apply = apply,
};
