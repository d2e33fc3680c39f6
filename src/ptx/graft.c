#include "ptx/graft.h"

#include "ptx/pass.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

static bool text_has(const ptx_module *m, const char *word)
{
    size_t length = strlen(word);
    const char *end = m->text + m->length;
    for (const char *p = m->text; (p = memchr(p, *word, (size_t)(end - p))) != NULL; p++) {
        if ((size_t)(end - p) >= length && memcmp(p, word, length) == 0) {
            return true;
        }
    }
    return false;
}

evocc_status ptx_graft_init(ptx_graft *graft, ptx_edits *edits, const ptx_facts *facts,
                            evocc_error *error)
{
    *graft = (ptx_graft){.facts = facts, .edits = edits};
    uint32_t registers = facts->function->register_count;
    graft->renamed = mem_alloc(registers, sizeof *graft->renamed);
    if (graft->renamed == NULL) {
        return error_no_memory(error);
    }
    for (uint32_t i = 0; i < registers; i++) {
        graft->renamed[i] = PTX_NONE;
    }
    unsigned attempt = 0;
    do {
        snprintf(graft->prefix, sizeof graft->prefix, "%%e%u_", attempt++);
    } while (text_has(facts->module, graft->prefix + 1)); /* labels are made of it, too */
    return EVOCC_OK;
}

evocc_status ptx_graft_finish(ptx_graft *graft, evocc_error *error)
{
    if (graft->failed || graft->declarations.failed) {
        return error_no_memory(error);
    }
    if (graft->declarations.length > 0) {
        uint32_t place = graft->facts->function->body.begin + 1;
        ptx_edits_replace(graft->edits, (ptx_span){place, place}, graft->declarations.data,
                          graft->declarations.length);
    }
    return EVOCC_OK;
}

void ptx_graft_dispose(ptx_graft *graft)
{
    mem_free(graft->renamed);
    strbuf_dispose(&graft->declarations);
}

uint32_t ptx_graft_place(const ptx_facts *facts, uint32_t statement)
{
    const ptx_module *m = facts->module;
    uint32_t block = ptx_facts_block(facts, statement);
    uint32_t first = ptx_block_body(m, &m->blocks[facts->function->first_block + block]);
    uint32_t at = statement;
    while (m->scopes[m->statements[at].scope].depth > 0) {
        uint32_t open = m->scopes[m->statements[at].scope].open;
        if (open < first) {
            return PTX_NONE;
        }
        /* A brace belongs to the scope it opens: its place is in the one around that. */
        at = open;
        if (m->scopes[m->statements[at].scope].depth == 1) {
            break;
        }
        at = m->scopes[m->scopes[m->statements[at].scope].parent].open;
    }
    while (at > first && (m->statements[at - 1].kind == PTX_PRAGMA ||
                          (m->statements[at - 1].kind == PTX_LOC && at - 1 > first &&
                           m->statements[at - 2].kind == PTX_PRAGMA))) {
        at--;
    }
    return at;
}

static void declare(ptx_graft *graft, uint32_t register_id, uint32_t number)
{
    const ptx_module *m = graft->facts->module;
    ptx_span type = m->registers[register_id].type;
    strbuf_printf(&graft->declarations, "\n\t.reg %.*s %s%u;", (int)ptx_span_length(type),
                  ptx_at(m, type), graft->prefix, number);
}

uint32_t ptx_graft_declare(ptx_graft *graft, const char *type)
{
    strbuf_printf(&graft->declarations, "\n\t.reg %s %s%u;", type, graft->prefix, graft->next);
    return graft->next++;
}

static uint32_t local(const ptx_graft *graft, uint32_t register_id)
{
    return register_id - graft->facts->function->first_register;
}

/* The statement's text with the renamed registers in the places of the old. */
static void write_renamed(strbuf *out, const ptx_graft *graft, const ptx_statement *s)
{
    const ptx_module *m = graft->facts->module;
    uint32_t done = s->span.begin;
    for (uint32_t o = 0; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind != PTX_LEAF_REGISTER ||
                graft->renamed[local(graft, leaf->id)] == PTX_NONE) {
                continue;
            }
            strbuf_append(out, m->text + done, leaf->span.begin - done);
            strbuf_printf(out, "%s%u", graft->prefix, graft->renamed[local(graft, leaf->id)]);
            done = leaf->span.end;
        }
    }
    strbuf_append(out, m->text + done, s->span.end - done);
}

static uint32_t destination_of(const ptx_module *m, const ptx_statement *s)
{
    return m->leaves[m->operands[s->first_operand].first_leaf].id;
}

uint32_t ptx_graft_slice(ptx_graft *graft, const ptx_slice *slice, uint32_t place)
{
    const ptx_module *m = graft->facts->module;
    uint32_t at = m->statements[place].span.begin;
    strbuf *text = ptx_edits_begin(graft->edits);
    for (uint32_t i = 0; i < slice->count; i++) {
        const ptx_statement *s = &m->statements[slice->statements[i]];
        uint32_t id = destination_of(m, s);
        graft->renamed[local(graft, id)] = graft->next;
        declare(graft, id, graft->next++);
        write_renamed(text, graft, s);
        strbuf_puts(text, "\n\t");
    }
    ptx_edits_finish(graft->edits, (ptx_span){at, at});
    for (uint32_t i = 0; i < slice->count; i++) {
        uint32_t id = destination_of(m, &m->statements[slice->statements[i]]);
        graft->renamed[local(graft, id)] = PTX_NONE;
    }
    return graft->next - 1;
}

void ptx_graft_use(ptx_graft *graft, uint32_t statement, uint32_t register_id, uint32_t fresh)
{
    const ptx_module *m = graft->facts->module;
    const ptx_statement *s = &m->statements[statement];
    char name[40];
    snprintf(name, sizeof name, "%s%u", graft->prefix, fresh);
    for (uint32_t o = 0; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER && leaf->id == register_id) {
                ptx_edits_replace(graft->edits, leaf->span, name, strlen(name));
            }
        }
    }
}

bool ptx_graft_can_use(const ptx_facts *facts, uint32_t statement, uint32_t register_id)
{
    const ptx_module *m = facts->module;
    const ptx_statement *s = &m->statements[statement];
    if (s->guard == register_id) {
        return false;
    }
    const ptx_effect *effect = ptx_effect_of(m, s);
    for (uint32_t o = 0; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        bool written = effect->destination == PTX_UPDATES_ALL ||
                       (o == 0 && effect->destination != PTX_WRITES_NOTHING &&
                        operand->shape != PTX_SHAPE_ADDRESS);
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER && leaf->id == register_id &&
                (written || leaf->component)) {
                return false;
            }
        }
    }
    return true;
}
