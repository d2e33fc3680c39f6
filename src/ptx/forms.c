#include "ptx/forms.h"

#include "ptx/worlds.h"
#include "util/error.h"
#include "util/hash.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- The frame
 * ------------------------------------------------------------------------------------ */

/* A variant covers one in so many places. */
static const uint64_t shares[PTX_FORM_VARIANTS] = {1, 2, 2, 8, 8};

/* Whether the variant of a mode covers the statement: a fixed function of seed and place. */
static bool covers(int32_t variant, const ptx_facts *f, uint32_t statement)
{
    uint32_t place = statement - f->function->first_statement;
    return hash64(&place, sizeof place, (uint64_t)variant) % shares[variant] == 0;
}

enum { MAX_MODES = 4, MAX_VALUES = 1 + MAX_MODES * PTX_FORM_VARIANTS, MAX_SITES = 96 };

/* Where the forms apply. */
typedef struct places {
    uint32_t of_mode[MAX_MODES];
    uint32_t *in_block;
    uint32_t blocks; /* how many of them are not 0 */
} places;

/* `graft` is for asking only: its edits are dropped. */
static void find_places(places *p, ptx_graft *graft, const ptx_forms *forms)
{
    const ptx_facts *f = graft->facts;
    strbuf text = {0};
    int32_t modes = (forms->value_count - 1) / PTX_FORM_VARIANTS;
    assert(modes <= MAX_MODES);
    for (uint32_t b = 0; b < f->function->block_count; b++) {
        const ptx_block *block = &f->module->blocks[f->function->first_block + b];
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            bool instruction = f->module->statements[i].kind == PTX_INSTRUCTION;
            for (int32_t mode = 0; mode < modes && instruction; mode++) {
                strbuf_clear(&text);
                bool yes = forms->form(&text, graft, i, mode);
                p->of_mode[mode] += yes;
                p->in_block[b] += yes;
            }
        }
        p->blocks += p->in_block[b] > 0;
    }
    graft->failed = graft->failed || text.failed;
    strbuf_dispose(&text);
}

/* A mode without places is not offered, nor a share of its places where there are fewer than two
   for each: it would be all or nothing. */
static int32_t collect_values(const char **offered, const places *p, const ptx_forms *forms)
{
    int32_t count = 0;
    offered[count++] = forms->values[0];
    for (int32_t value = 1; value < forms->value_count; value++) {
        uint32_t here = p->of_mode[(value - 1) / PTX_FORM_VARIANTS];
        uint64_t share = shares[(value - 1) % PTX_FORM_VARIANTS];
        if (here > 0 && (share == 1 || here >= 2 * share)) {
            offered[count++] = forms->values[value];
        }
    }
    return count;
}

/* Of more blocks than there are sites those with the most places: all with at least `least` of
   them, and the first `more` of those with one less. */
typedef struct cut {
    uint32_t least, more;
} cut;

static cut find_cut(const places *p, uint32_t block_count)
{
    enum { ENOUGH = 512 };
    uint32_t with[ENOUGH] = {0}, sites = 0, least = ENOUGH;
    for (uint32_t b = 0; b < block_count; b++) {
        with[p->in_block[b] < ENOUGH ? p->in_block[b] : ENOUGH - 1]++;
    }
    for (; least > 1 && sites + with[least - 1] <= MAX_SITES; least--) {
        sites += with[least - 1];
    }
    return (cut){least, least > 1 ? MAX_SITES - sites : 0};
}

static bool is_site(const places *p, uint32_t block, cut *rest)
{
    if (p->in_block[block] + 1 == rest->least && rest->more > 0) {
        rest->more--;
        return true;
    }
    return p->in_block[block] >= rest->least;
}

static evocc_status add_controls(ptx_catalogue *c, const places *p, const ptx_forms *forms)
{
    const char *values[MAX_VALUES];
    int32_t count = collect_values(values, p, forms);
    evocc_status status = EVOCC_OK;
    if (p->blocks > 0) {
        status = ptx_catalogue_add(c, "", values, count, 0, 1, c->pass->help);
    }
    cut rest = find_cut(p, c->function->block_count);
    uint32_t sites = p->blocks < MAX_SITES ? p->blocks : MAX_SITES;
    for (uint32_t b = 0; b < c->function->block_count && p->blocks > 1; b++) {
        char site[24];
        if (is_site(p, b, &rest) && status == EVOCC_OK) {
            snprintf(site, sizeof site, "b%u", b);
            status = ptx_catalogue_add(c, site, values, count, 0, sites,
                                       "The same for the instructions of this block.");
        }
    }
    return status;
}

evocc_status ptx_forms_enumerate(ptx_catalogue *c, const ptx_forms *forms)
{
    ptx_facts *facts;
    ptx_edits edits = {0};
    ptx_graft graft = {0};
    evocc_status status = ptx_facts_new(&facts, c->module, c->function, c->error);
    if (status != EVOCC_OK) {
        return status;
    }
    places p = {.in_block = mem_alloc((size_t)c->function->block_count + 1, sizeof *p.in_block)};
    status = p.in_block == NULL ? error_no_memory(c->error)
                                : ptx_graft_init(&graft, &edits, facts, c->error);
    if (status == EVOCC_OK) {
        find_places(&p, &graft, forms);
        status = graft.failed ? error_no_memory(c->error) : add_controls(c, &p, forms);
    }
    mem_free(p.in_block);
    ptx_graft_dispose(&graft);
    ptx_edits_dispose(&edits);
    ptx_facts_free(facts);
    return status;
}

static evocc_status choose(int32_t *values, const ptx_module *module, const ptx_function *f,
                           const ptx_choice *choices, size_t count, const ptx_forms *forms,
                           evocc_error *error)
{
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count; i++) {
            int32_t value;
            uint32_t block;
            if (choices[i].function != f || (choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            evocc_status status =
                ptx_choice_value(&value, &choices[i], forms->values, forms->value_count, error);
            if (status == EVOCC_OK && own == 1) {
                status = ptx_choice_block(&block, module, &choices[i], error);
            }
            if (status != EVOCC_OK) {
                return status;
            }
            for (uint32_t b = 0; b < f->block_count; b++) {
                if (own == 0 || f->first_block + b == block) {
                    values[b] = value;
                }
            }
        }
    }
    return EVOCC_OK;
}

static void rewrite_function(ptx_graft *graft, const int32_t *values, const ptx_forms *forms)
{
    const ptx_facts *f = graft->facts;
    const ptx_module *m = f->module;
    strbuf text = {0};
    for (uint32_t i = 0; i < f->function->statement_count; i++) {
        uint32_t at = f->function->first_statement + i;
        const ptx_statement *s = &m->statements[at];
        if (s->kind != PTX_INSTRUCTION || values[ptx_facts_block(f, at)] == 0) {
            continue;
        }
        int32_t value = values[ptx_facts_block(f, at)] - 1;
        strbuf_clear(&text);
        if (covers(value % PTX_FORM_VARIANTS, f, at) &&
            forms->form(&text, graft, at, value / PTX_FORM_VARIANTS)) {
            ptx_edits_replace(graft->edits, s->span, strbuf_text(&text), text.length);
        }
    }
    graft->failed = graft->failed || text.failed;
    strbuf_dispose(&text);
}

static evocc_status apply_function(ptx_edits *edits, const ptx_module *module,
                                   const ptx_function *f, const ptx_choice *choices, size_t count,
                                   const ptx_forms *forms, evocc_error *error)
{
    ptx_facts *facts = NULL;
    ptx_graft graft = {0};
    int32_t *values = mem_alloc(f->block_count + 1, sizeof *values);
    evocc_status status = values == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK) {
        status = choose(values, module, f, choices, count, forms, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_facts_new(&facts, module, f, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_graft_init(&graft, edits, facts, error);
    }
    if (status == EVOCC_OK) {
        rewrite_function(&graft, values, forms);
        status = ptx_graft_finish(&graft, error);
    }
    ptx_graft_dispose(&graft);
    ptx_facts_free(facts);
    mem_free(values);
    return status;
}

evocc_status ptx_forms_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                             size_t count, const ptx_forms *forms, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || choices[j].function == choices[i].function;
        }
        if (!seen) {
            status =
                apply_function(edits, module, choices[i].function, choices, count, forms, error);
        }
    }
    return status;
}

/* ---- For the forms
 * --------------------------------------------------------------------------------- */

static const char *opcode_of(const ptx_module *m, const ptx_statement *s)
{
    return m->opcodes[s->opcode].text;
}

bool ptx_form_opcode(const ptx_module *m, const ptx_statement *s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(opcode_of(m, s), *words) == 0) {
            return true;
        }
    }
    return false;
}

unsigned ptx_form_width(const char *type)
{
    static const char *const words[] = {".s16", ".u16", ".b16", ".s32", ".u32",
                                        ".b32", ".s64", ".u64", ".b64"};
    static const unsigned widths[] = {16, 16, 16, 32, 32, 32, 64, 64, 64};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(type, words[i]) == 0) {
            return widths[i];
        }
    }
    return 0;
}

const char *ptx_form_integer_type(const ptx_module *m, const ptx_statement *s)
{
    const char *type = strrchr(opcode_of(m, s), '.');
    return type != NULL && ptx_form_width(type) != 0 ? type : NULL;
}

void ptx_form_guard(strbuf *out, const ptx_module *m, const ptx_statement *s)
{
    strbuf_append(out, m->text + s->span.begin, s->opcode_at - s->span.begin);
}

void ptx_form_operand(strbuf *out, const ptx_module *m, const ptx_statement *s, uint32_t i)
{
    ptx_span span = m->operands[s->first_operand + i].span;
    strbuf_append(out, ptx_at(m, span), ptx_span_length(span));
}

void ptx_form_next(strbuf *out, const ptx_module *m, const ptx_statement *s, uint32_t i)
{
    strbuf_puts(out, ", ");
    ptx_form_operand(out, m, s, i);
}

static const ptx_leaf *plain_leaf(const ptx_module *m, const ptx_statement *s, uint32_t i)
{
    if (i >= s->operand_count) {
        return NULL;
    }
    const ptx_operand *operand = &m->operands[s->first_operand + i];
    return operand->shape == PTX_SHAPE_PLAIN ? &m->leaves[operand->first_leaf] : NULL;
}

bool ptx_form_literal(uint64_t *out, const ptx_module *m, const ptx_statement *s, uint32_t i)
{
    const ptx_leaf *leaf = plain_leaf(m, s, i);
    return leaf != NULL && leaf->kind == PTX_LEAF_NUMBER && leaf->sign == 0 &&
           ptx_literal(out, ptx_at(m, leaf->span), ptx_span_length(leaf->span));
}

const ptx_statement *ptx_form_source(const ptx_facts *f, const ptx_statement *s, uint32_t i)
{
    const ptx_module *m = f->module;
    const ptx_leaf *leaf = plain_leaf(m, s, i);
    ptx_slice slice;
    if (leaf == NULL || leaf->kind != PTX_LEAF_REGISTER || leaf->sign != 0 ||
        m->scopes[s->scope].depth > 0) {
        return NULL;
    }
    const ptx_definition *d = ptx_facts_definition(f, leaf->id);
    uint32_t block = ptx_facts_block(f, (uint32_t)(s - m->statements));
    if (!ptx_facts_slice(&slice, f, leaf->id, 1)) {
        return NULL;
    }
    const ptx_statement *source = &m->statements[d->statement];
    bool above = d->block == block ? source < s : ptx_cfg_dominates(f->cfg, d->block, block);
    return above ? source : NULL;
}
