/*
 * polarity.c: conditional branches written the other way round: `@p bra L;` as `@!p bra NEXT; bra
 * L; NEXT:`. The same ways under the same conditions (PTX ISA 9.0, 9.7.12 bra).
 */
#include "ptx/forms.h"

#include <string.h>

static const char *const values[] = {"off", PTX_FORM_VALUES("invert")};

static bool is_branch(const char *opcode)
{
    return strcmp(opcode, "bra") == 0 || strcmp(opcode, "bra.uni") == 0;
}

static bool form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_facts *f = graft->facts;
    const ptx_module *m = f->module;
    const ptx_statement *s = &m->statements[statement];
    const char *opcode = m->opcodes[s->opcode].text;
    /* Something must follow for the new label to stand before. */
    if (!is_branch(opcode) || s->guard == PTX_NONE ||
        ptx_facts_block(f, statement) + 1 >= f->function->block_count) {
        return false;
    }
    ptx_span guard = {s->span.begin, s->opcode_at};
    const char *text = ptx_at(m, guard);
    const char *predicate = memchr(text, s->guard_negated ? '!' : '@', ptx_span_length(guard));
    size_t length = ptx_span_length(guard) - (size_t)(predicate + 1 - text);
    strbuf_puts(out, s->guard_negated ? "@" : "@!");
    strbuf_append(out, predicate + 1, length);
    strbuf_printf(out, "%s $%sn%u;\n\t%s ", opcode, graft->prefix + 1, statement, opcode);
    ptx_form_operand(out, m, s, 0);
    strbuf_printf(out, ";\n$%sn%u:", graft->prefix + 1, statement);
    return true;
}

static const ptx_forms forms = {form, values, sizeof values / sizeof *values};

/* The wide form only: inverting adds blocks. */
static evocc_status enumerate(ptx_catalogue *c)
{
    bool offered;
    const ptx_module *m = c->module;
    const ptx_function *f = c->function;
    evocc_status status = ptx_catalogue_unrolling(&offered, c);
    if (status != EVOCC_OK || !offered) {
        return status;
    }
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_INSTRUCTION && s->guard != PTX_NONE &&
            is_branch(m->opcodes[s->opcode].text)) {
            return ptx_catalogue_add(c, "", forms.values, forms.value_count, 0, 1, c->pass->help);
        }
    }
    return EVOCC_OK;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (choices[i].site[0] != '\0') {
            return ptx_no_site(module, choices[i].setting, error);
        }
    }
    return ptx_forms_apply(edits, module, choices, count, &forms, error);
}

const ptx_pass ptx_pass_polarity = {
    .name = "polarity",
    .help =
        "Conditional branches inverted, so that the other way falls through. Mostly changes what "
        "ptxas takes for a loop it may unroll.",
    .source = "PTX ISA 9.0, 9.7.12 (bra)",
    .enumerate = enumerate,
    .apply = apply,
};
