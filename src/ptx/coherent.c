/*
 * coherent.c: `ld.global.nc` as an ordinary load. The program promised that nobody writes what such
 * a load reads while the kernel runs (PTX ISA 9.0, 9.7.9.9 ld.global.nc), so the ordinary one reads
 * the same. Never the other way round: that would need a proof of the promise.
 */
#include "ptx/forms.h"

#include <string.h>

static const char *const values[] = {"off", PTX_FORM_VALUES("ld")};

/* Only of registers that are written once: so the checker knows which load it was. */
static bool coherent_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    const char *opcode = m->opcodes[s->opcode].text;
    if (strncmp(opcode, "ld.global.", 10) != 0 || !ptx_opcode_has(opcode, ".nc") ||
        s->operand_count < 2) {
        return false;
    }
    const ptx_leaf *leaf = &m->leaves[m->operands[s->first_operand].first_leaf];
    if (leaf->kind != PTX_LEAF_REGISTER ||
        ptx_facts_definition(graft->facts, leaf->id)->count != 1) {
        return false;
    }
    const char *nc = strstr(opcode, ".nc");
    ptx_form_guard(out, m, s);
    strbuf_append(out, opcode, (size_t)(nc - opcode));
    strbuf_printf(out, "%s ", nc + strlen(".nc"));
    ptx_form_operand(out, m, s, 0);
    for (uint32_t i = 1; i < s->operand_count; i++) {
        ptx_form_next(out, m, s, i);
    }
    strbuf_puts(out, ";");
    return true;
}

static const ptx_forms forms = {coherent_form, values, sizeof values / sizeof *values};

static evocc_status enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &forms);
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &forms, error);
}

const ptx_pass ptx_pass_coherent = {
    .name = "coherent",
    .help = "Read-only loads (ld.global.nc) as ordinary ones, which other cache operators apply to "
            "and which ptxas moves less freely. Not searched by itself.",
    .off_because = "moved the run time of none of ten kernels on an H200 (1.000 to 1.002)",
    .source = "PTX ISA 9.0, 9.7.9.9 (ld.global.nc)",
    .enumerate = enumerate,
    .apply = apply,
};
