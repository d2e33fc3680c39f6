/*
 * numerics.c: controls that may change results: approximate division and roots, denormals, and
 * where a product and a sum round once or twice. Listed only where ptx_limits.allow_numerics says
 * so. Only f32 and f64: what half precision loses is not measured by anyone's tolerance. (PTX ISA
 * 9.0, 9.7.3 Floating-Point Instructions.)
 *
 * Each changes nothing but the rounding of the instruction it rewrites: no comparison, conversion
 * or memory access is touched.
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

static bool ends(const char *text, const char *word)
{
    size_t length = strlen(text), tail = strlen(word);
    return length >= tail && strcmp(text + length - tail, word) == 0;
}

/* The statement with another opcode: `head` in the place of its first `skipped` bytes. */
static void write_opcode(strbuf *out, const ptx_module *m, const ptx_statement *s, const char *head,
                         size_t skipped)
{
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "%s%s ", head, opcode_of(m, s) + skipped);
    ptx_form_operand(out, m, s, 0);
    for (uint32_t i = 1; i < s->operand_count; i++) {
        ptx_form_next(out, m, s, i);
    }
    strbuf_puts(out, ";");
}

/* Replaces `from`, which the opcode begins with, when what follows it is the type alone. */
static bool replace_head(strbuf *out, const ptx_module *m, const ptx_statement *s, const char *from,
                         const char *to)
{
    const char *opcode = opcode_of(m, s);
    if (!begins(opcode, from)) {
        return false;
    }
    const char *rest = opcode + strlen(from);
    if (strcmp(rest, ".f32") != 0 && strcmp(rest, ".ftz.f32") != 0) {
        return false;
    }
    write_opcode(out, m, s, to, strlen(from));
    return true;
}

/* ---- divide
 * --------------------------------------------------------------------------------------- */

static const char *const divide_values[] = {"off", PTX_FORM_VALUES("full"),
                                            PTX_FORM_VALUES("approx")};
enum { DIVIDE_FULL, DIVIDE_APPROX };

static bool divide_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    if (mode == DIVIDE_FULL) {
        return replace_head(out, m, s, "div.rn", "div.full");
    }
    return replace_head(out, m, s, "div.rn", "div.approx") ||
           replace_head(out, m, s, "div.full", "div.approx");
}

static const ptx_forms divide_forms = {divide_form, divide_values,
                                       sizeof divide_values / sizeof *divide_values};

static evocc_status divide_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &divide_forms);
}

static evocc_status divide_apply(ptx_edits *edits, const ptx_module *module,
                                 const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &divide_forms, error);
}

const ptx_pass ptx_pass_divide = {
    .name = "divide",
    .help = "Single-precision division within 2 units in the last place: over the full range of "
            "divisors (full), or for divisors from 2^-126 to 2^126 only (approx; 0 or a wrong "
            "result beyond). A fraction of the instructions of the correctly rounded one.",
    .source = "PTX ISA 9.0, 9.7.3 (div)",
    .min_version = 14,
    .numerics = SPACE_APPROXIMATE,
    .enumerate = divide_enumerate,
    .apply = divide_apply,
};

/* ---- root
 * ----------------------------------------------------------------------------------------- */

static const char *const root_values[] = {"off", PTX_FORM_VALUES("approx")};

static bool root_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    (void)mode;
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    return replace_head(out, m, s, "rcp.rn", "rcp.approx") ||
           replace_head(out, m, s, "sqrt.rn", "sqrt.approx");
}

static const ptx_forms root_forms = {root_form, root_values,
                                     sizeof root_values / sizeof *root_values};

static evocc_status root_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &root_forms);
}

static evocc_status root_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &root_forms, error);
}

const ptx_pass ptx_pass_root = {
    .name = "root",
    .help = "Single-precision reciprocals and square roots by the hardware's approximation instead "
            "of correctly rounded: about 1 unit in the last place.",
    .source = "PTX ISA 9.0, 9.7.3 (rcp, sqrt)",
    .min_version = 14,
    .numerics = SPACE_APPROXIMATE,
    .enumerate = root_enumerate,
    .apply = root_apply,
};

/* ---- flush
 * ---------------------------------------------------------------------------------------- */

static const char *const flush_values[] = {"off", PTX_FORM_VALUES("ftz"), PTX_FORM_VALUES("keep")};
enum { FLUSH_FTZ, FLUSH_KEEP };

/* Arithmetic that takes .ftz. Comparisons do too, but they decide where a thread goes. */
static bool may_flush(const char *opcode)
{
    static const char *const words[] = {"add.", "sub.",  "mul.",   "fma.", "mad.", "div.",
                                        "rcp.", "sqrt.", "rsqrt.", "ex2.", "lg2.", "sin.",
                                        "cos.", "abs.",  "neg.",   "min.", "max."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (begins(opcode, words[i])) {
            return ends(opcode, ".f32");
        }
    }
    return false;
}

/* .ftz stands behind the rounding and before everything else. */
static size_t flush_place(const char *opcode)
{
    static const char *const later[] = {".sat", ".NaN", ".xorsign", ".f32"};
    size_t place = strlen(opcode);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        const char *at = strstr(opcode, later[i]);
        if (at != NULL && (size_t)(at - opcode) < place) {
            place = (size_t)(at - opcode);
        }
    }
    return place;
}

static bool flush_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    const char *opcode = opcode_of(m, s);
    bool flushes = ptx_opcode_has(opcode, ".ftz");
    char head[64];
    if (!may_flush(opcode) || flushes == (mode == FLUSH_FTZ) || strlen(opcode) > 40) {
        return false;
    }
    size_t place = flushes ? (size_t)(strstr(opcode, ".ftz") - opcode) : flush_place(opcode);
    memcpy(head, opcode, place);
    strcpy(head + place, flushes ? "" : ".ftz");
    write_opcode(out, m, s, head, flushes ? place + strlen(".ftz") : place);
    return true;
}

static const ptx_forms flush_forms = {flush_form, flush_values,
                                      sizeof flush_values / sizeof *flush_values};

static evocc_status flush_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &flush_forms);
}

static evocc_status flush_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &flush_forms, error);
}

const ptx_pass ptx_pass_flush = {
    .name = "flush",
    .help =
        "Single-precision denormals (below 2^-126) as zero (ftz), which spares division, roots, "
        "exponentials and logarithms their scaling; or kept where they are flushed now (keep).",
    .source = "PTX ISA 9.0, 9.7.3 (.ftz)",
    .min_version = 14,
    .numerics = SPACE_ROUNDING,
    .enumerate = flush_enumerate,
    .apply = flush_apply,
};

/* ---- contract
 * ------------------------------------------------------------------------------------- */

static const char *const contract_values[] = {"off", PTX_FORM_VALUES("split"),
                                              PTX_FORM_VALUES("hold"), PTX_FORM_VALUES("free")};
enum { CONTRACT_SPLIT, CONTRACT_HOLD, CONTRACT_FREE };

/* "fma.rn[.ftz][.sat].f32": the suffixes of its product and of its sum. */
static bool split_fma(strbuf *out, ptx_graft *graft, const ptx_statement *s)
{
    const ptx_module *m = graft->facts->module;
    const char *opcode = opcode_of(m, s);
    bool narrow = ends(opcode, ".f32");
    if (!begins(opcode, "fma.rn.") || !(narrow || strcmp(opcode, "fma.rn.f64") == 0) ||
        s->operand_count != 4) {
        return false;
    }
    const char *type = narrow ? ".f32" : ".f64";
    const char *ftz = ptx_opcode_has(opcode, ".ftz") ? ".ftz" : "";
    uint32_t t = ptx_graft_declare(graft, type);
    strbuf_printf(out, "mul.rn%s%s %s%u", ftz, type, graft->prefix, t);
    ptx_form_next(out, m, s, 1);
    ptx_form_next(out, m, s, 2);
    strbuf_puts(out, ";\n\t");
    ptx_form_guard(out, m, s);
    strbuf_printf(out, "add%s ", opcode + strlen("fma"));
    ptx_form_operand(out, m, s, 0);
    strbuf_printf(out, ", %s%u", graft->prefix, t);
    ptx_form_next(out, m, s, 3);
    strbuf_puts(out, ";");
    return true;
}

/* add, sub and mul may be contracted by ptxas unless they state their rounding (9.7.3, add:
   "mul/add sequences with no rounding modifiers may be optimized to use fused-multiply-add"). */
static bool set_rounding(strbuf *out, const ptx_module *m, const ptx_statement *s, bool state)
{
    static const char *const words[] = {"add", "sub", "mul"};
    static const char *const tails[] = {".f32", ".ftz.f32", ".sat.f32", ".ftz.sat.f32", ".f64"};
    const char *opcode = opcode_of(m, s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool stated = begins(opcode + 3, ".rn.");
        if (!begins(opcode, words[i]) || stated == state) {
            continue;
        }
        size_t skipped = stated ? strlen("add.rn") : strlen("add");
        for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
            if (strcmp(opcode + skipped, tails[t]) == 0) {
                char head[8];
                memcpy(head, words[i], 4);
                strcpy(head + 3, state ? ".rn" : "");
                write_opcode(out, m, s, head, skipped);
                return true;
            }
        }
    }
    return false;
}

static bool contract_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    return mode == CONTRACT_SPLIT ? split_fma(out, graft, s)
                                  : set_rounding(out, m, s, mode == CONTRACT_HOLD);
}

static const ptx_forms contract_forms = {contract_form, contract_values,
                                         sizeof contract_values / sizeof *contract_values};

static evocc_status contract_enumerate(ptx_catalogue *c)
{
    return ptx_forms_enumerate(c, &contract_forms);
}

static evocc_status contract_apply(ptx_edits *edits, const ptx_module *module,
                                   const ptx_choice *choices, size_t count, evocc_error *error)
{
    return ptx_forms_apply(edits, module, choices, count, &contract_forms, error);
}

const ptx_pass ptx_pass_contract = {
    .name = "contract",
    .help = "Whether a product and its sum round once or twice: fused ones as two instructions "
            "(split), those that ptxas may fuse kept apart (hold), or those kept apart left to it "
            "(free).",
    .source = "PTX ISA 9.0, 9.7.3 (fma, add, sub, mul)",
    .min_version = 20,
    .numerics = SPACE_ROUNDING,
    .enumerate = contract_enumerate,
    .apply = contract_apply,
};
