/*
 * keep.c: reading a text that differs from an older one by known edits. A statement whose bytes no
 * edit touches is copied from the old module and moved, not read again; everything else goes
 * through the parser as ever. The result is what reading the whole text would give (the tests
 * compare the two): numbers of registers, opcodes and scopes are handed out in the same order.
 *
 * Why the bytes decide: the parser stands at the first byte of a statement, so what precedes it
 * cannot change its tokens, and a statement ends in a token that what follows cannot lengthen
 * (; : { }), except .loc and its kin. What its names mean is the same as long as the function
 * declares the same names in the same scopes, which is what most of this file watches over.
 */
#define _GNU_SOURCE /* memmem */
#include "ptx/parse.h"

#include <string.h>

bool parse_kept_init(parser *p, const ptx_module *old, const ptx_edits *edits)
{
    parse_kept *k = &p->kept;
    ptx_module *m = p->module;
    *k = (parse_kept){.old = old, .shift = {.edits = edits}};
    k->registers = mem_alloc(old->register_count, sizeof *k->registers);
    k->opcodes = mem_alloc(old->opcode_count, sizeof *k->opcodes);
    bool good =
        k->registers != NULL && k->opcodes != NULL &&
        mem_grow(&m->statements, &m->statement_capacity, old->statement_count,
                 sizeof *m->statements) &&
        mem_grow(&m->operands, &m->operand_capacity, old->operand_count, sizeof *m->operands) &&
        mem_grow(&m->leaves, &m->leaf_capacity, old->leaf_count, sizeof *m->leaves) &&
        mem_grow(&m->registers, &m->register_capacity, old->register_count, sizeof *m->registers);
    if (!good) {
        return parse_no_memory(p);
    }
    memset(k->registers, 0xff, old->register_count * sizeof *k->registers); /* PTX_NONE */
    memset(k->opcodes, 0xff, old->opcode_count * sizeof *k->opcodes);
    return true;
}

void parse_kept_dispose(parser *p)
{
    mem_free(p->kept.registers);
    mem_free(p->kept.opcodes);
}

/* ---- Whether names mean the same ------------------------------------------------------------- */

static bool contains(const ptx_module *m, ptx_span where, const char *text, size_t length)
{
    return memmem(ptx_at(m, where), ptx_span_length(where), text, length) != NULL;
}

static bool shapes_names(const ptx_module *m, const ptx_statement *s)
{
    return s->kind == PTX_OPEN || s->kind == PTX_CLOSE ||
           (s->kind == PTX_DECLARATION && strncmp(ptx_at(m, s->span), ".reg", 4) == 0);
}

/* The old function's declarations and braces are all there still, and none are in its header. */
static bool keeps_names(const parser *p, const ptx_function *f, ptx_shift shift)
{
    const ptx_module *old = p->kept.old;
    if (contains(old, f->header, ".reg", 4) ||
        contains(p->module, p->function->header, ".reg", 4)) {
        return false;
    }
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &old->statements[i];
        if (shapes_names(old, s) && ptx_shift_place(&shift, s->span) == PTX_NONE) {
            return false;
        }
    }
    return true;
}

void parse_kept_enter(parser *p)
{
    parse_kept *k = &p->kept;
    uint32_t here = p->function->body.begin, place = PTX_NONE;
    k->active = false;
    while (k->old != NULL && k->next_function < k->old->function_count) {
        const ptx_function *f = &k->old->functions[k->next_function];
        place = ptx_shift_place(&k->shift, (ptx_span){f->body.begin, f->body.begin + 1});
        if (place != PTX_NONE && place > here) {
            return;
        }
        k->next_function++;
        if (place == here) {
            k->function = f;
            k->active = keeps_names(p, f, k->shift);
            k->absent = (ptx_span){0, 0};
            k->seen = PTX_NONE;
            k->statement = f->first_statement;
            k->end = f->first_statement + f->statement_count;
            return;
        }
    }
}

/* The old statement that stands at or around this byte, as the next one; NULL: none does. A
   declaration or brace that was passed by without being read (the text before it made a comment of
   it, say) ends the use of old statements. */
static const ptx_statement *find_old(parser *p, uint32_t at, uint32_t *place)
{
    parse_kept *k = &p->kept;
    for (; k->statement < k->end; k->statement++) {
        const ptx_statement *s = &k->old->statements[k->statement];
        *place = ptx_shift_place(&k->shift, s->span);
        if (*place != PTX_NONE && *place + ptx_span_length(s->span) > at) {
            return *place <= at ? s : NULL;
        }
        if (k->statement != k->seen && shapes_names(k->old, s)) {
            k->active = false;
            return NULL;
        }
    }
    return NULL;
}

/* A brace that was not there before: what follows may be in another scope. */
void parse_kept_brace(parser *p, uint32_t at)
{
    parse_kept *k = &p->kept;
    uint32_t place;
    k->active = k->active && find_old(p, at, &place) != NULL;
    k->seen = k->statement;
}

/* A name that was not declared before may be the meaning of one that is used. Passes declare many
   that differ in their number: one look for all of them, less the number. */
void parse_kept_declares(parser *p, ptx_span name)
{
    parse_kept *k = &p->kept;
    uint32_t place;
    if (!k->active) {
        return;
    }
    if (find_old(p, name.begin, &place) != NULL) {
        k->seen = k->statement;
        return;
    }
    const char *text = ptx_at(p->module, name);
    size_t length = ptx_span_length(name);
    while (length > 1 && text[length - 1] >= '0' && text[length - 1] <= '9') {
        length--;
    }
    bool known = length == ptx_span_length(k->absent) &&
                 memcmp(ptx_at(p->module, k->absent), text, length) == 0;
    k->active = known || !contains(k->old, k->function->body, text, length);
    k->absent = (ptx_span){name.begin, name.begin + (uint32_t)length};
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static ptx_span moved(ptx_span span, uint32_t by)
{
    return (ptx_span){span.begin + by, span.end + by}; /* modulo 2^32: also backwards */
}

/* The first token from here on. */
static ptx_span first_token(const ptx_module *m, uint32_t begin, uint32_t end)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, end);
    lexer.position = begin;
    ptx_token token = ptx_lexer_next(&lexer);
    return (ptx_span){token.begin, token.end};
}

static bool keep_register(parser *p, uint32_t *id, ptx_span name)
{
    uint32_t *known = &p->kept.registers[*id];
    if (*known == PTX_NONE && !parse_resolve(p, name, known)) {
        return false;
    }
    *id = *known;
    return true;
}

/* The guard, whose place the statement does not hold. */
static bool keep_guard(parser *p, ptx_statement *s)
{
    ptx_span name = {0, 0};
    if (p->kept.registers[s->guard] == PTX_NONE) {
        name = first_token(p->module, s->span.begin + 1, s->span.end);
        if (s->guard_negated) {
            name = first_token(p->module, name.end, s->span.end);
        }
    }
    return keep_register(p, &s->guard, name);
}

static bool keep_opcode(parser *p, ptx_statement *s)
{
    uint32_t *known = &p->kept.opcodes[s->opcode];
    const ptx_opcode *old = &p->kept.old->opcodes[s->opcode];
    if (*known == PTX_NONE && !parse_opcode(p, old->text, strlen(old->text), &old->effect, known)) {
        return false;
    }
    s->opcode = *known;
    return true;
}

static bool keep_leaf(parser *p, const ptx_leaf *old, uint32_t by)
{
    ptx_module *m = p->module;
    ptx_leaf leaf = *old;
    leaf.span = moved(leaf.span, by);
    if (leaf.kind != PTX_LEAF_REGISTER) {
        leaf.id = PTX_NONE;
    } else { /* a part of a vector: its name ends before the ".x" */
        ptx_span name = leaf.component ? first_token(m, leaf.span.begin, leaf.span.end) : leaf.span;
        if (!keep_register(p, &leaf.id, name)) {
            return false;
        }
    }
    if (!PARSE_ROOM(m->leaves, m->leaf_count, m->leaf_capacity)) {
        return parse_no_memory(p);
    }
    m->leaves[m->leaf_count++] = leaf;
    return true;
}

static bool keep_operands(parser *p, ptx_statement *s, uint32_t by)
{
    ptx_module *m = p->module;
    uint32_t first = s->first_operand; /* not a pointer: a module without operands has no array */
    s->first_operand = (uint32_t)m->operand_count;
    for (uint32_t o = 0; o < s->operand_count; o++) {
        ptx_operand operand = p->kept.old->operands[first + o];
        uint32_t first_leaf = operand.first_leaf;
        operand.span = moved(operand.span, by);
        operand.first_leaf = (uint32_t)m->leaf_count;
        for (uint32_t l = 0; l < operand.leaf_count; l++) {
            if (!keep_leaf(p, &p->kept.old->leaves[first_leaf + l], by)) {
                return false;
            }
        }
        if (!PARSE_ROOM(m->operands, m->operand_count, m->operand_capacity)) {
            return parse_no_memory(p);
        }
        m->operands[m->operand_count++] = operand;
    }
    return true;
}

static bool keep_instruction(parser *p, ptx_statement *s, uint32_t by)
{
    s->opcode_at += by;
    if ((s->guard != PTX_NONE && !keep_guard(p, s)) || !keep_opcode(p, s) ||
        !keep_operands(p, s, by)) {
        return false;
    }
    if (ptx_effect_of(p->module, s)->in_flight) {
        parse_mark_in_flight(p, s);
    }
    return true;
}

/* A .loc goes on as long as what follows can be a part of it: up to the next statement nothing may
   have changed. */
static bool ends_as_before(const parser *p, const ptx_statement *s)
{
    const parse_kept *k = &p->kept;
    uint32_t next = k->statement + 1 < k->end ? (s + 1)->span.begin : k->function->body.end - 1;
    return !ptx_shift_edited(&k->shift, next);
}

/* What a copy is besides the same text. */
static bool keep_contents(parser *p, ptx_statement *s, const ptx_statement *old, uint32_t by)
{
    switch ((ptx_statement_kind)s->kind) {
    case PTX_INSTRUCTION:
        return keep_instruction(p, s, by);
    case PTX_LABEL:
        return parse_add_label(p, first_token(p->module, s->span.begin, s->span.end));
    case PTX_LOC:
        if (!ends_as_before(p, old)) {
            return false;
        }
        if (old->loc == p->kept.statement) {
            s->loc = (uint32_t)p->module->statement_count;
        }
        p->loc = s->loc;
        return true;
    case PTX_PRAGMA:
        return true;
    case PTX_DECLARATION:
    case PTX_OPEN:
    case PTX_CLOSE:
    case PTX_DIRECTIVE:
        break; /* few, and what they do is done by reading them */
    }
    return false;
}

bool parse_keep(parser *p)
{
    parse_kept *k = &p->kept;
    uint32_t place;
    if (!k->active) {
        return false;
    }
    ptx_lexer_skip_trivia(&p->lexer);
    const ptx_statement *old = find_old(p, p->lexer.position, &place);
    if (old == NULL || place != p->lexer.position) {
        return false;
    }
    uint32_t by = place - old->span.begin;
    ptx_statement s = *old;
    s.span = moved(s.span, by);
    s.scope = p->scope;
    s.loc = p->loc;
    s.target = PTX_NONE;
    s.referenced = false;
    if (!keep_contents(p, &s, old, by)) {
        return false;
    }
    k->statement++;
    p->lexer.position = s.span.end;
    return parse_add_statement(p, &s);
}
