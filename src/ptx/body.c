#include "ptx/parse.h"

#include "util/error.h"

#include <string.h>

/* Scopes within scopes: the passes recurse over them. */
enum { MAX_DEPTH = 200 };

static bool is(const parser *p, ptx_token token, const char *text)
{
    return ptx_token_is(&p->lexer, token, text);
}

static const char *token_text(const parser *p, ptx_token token)
{
    return p->module->text + token.begin;
}

static size_t token_length(ptx_token token)
{
    return token.end - token.begin;
}

/* For characters that begin no other token than themselves. */
static bool is_char(const parser *p, ptx_token token, char c)
{
    return token.kind == PTX_TOKEN_PUNCT && *token_text(p, token) == c;
}

/* The next token, where the text must not end. */
static bool next_token(parser *p, ptx_token *token)
{
    *token = ptx_lexer_next(&p->lexer);
    if (token->kind != PTX_TOKEN_END) {
        return true;
    }
    return p->lexer.problem != NULL
               ? parse_fail(p, p->lexer.problem_at, "%s", p->lexer.problem)
               : parse_fail(p, token->begin, "the text ends within a function body");
}

/* ---- Registers ------------------------------------------------------------------------------- */

/* name or name<count> */
static bool declare_register(parser *p, ptx_token name, ptx_span type)
{
    ptx_span span = {name.begin, name.end};
    parse_kept_declares(p, span);
    if (!is(p, ptx_lexer_peek(&p->lexer), "<")) {
        return parse_declare_one(p, span, type);
    }
    ptx_lexer_next(&p->lexer);
    ptx_token number;
    if (!next_token(p, &number)) {
        return false;
    }
    uint64_t count = 0;
    for (uint32_t i = number.begin; i < number.end && count < UINT32_MAX; i++) {
        char digit = p->module->text[i];
        if (digit < '0' || digit > '9') {
            return parse_fail(p, number.begin, "expected a number of registers");
        }
        count = count * 10 + (uint64_t)(digit - '0');
    }
    ptx_lexer_next(&p->lexer); /* > */
    return parse_declare_range(p, span, type, count);
}

bool parse_registers(parser *p)
{
    ptx_span type = {0, 0};
    for (;;) {
        ptx_token token = ptx_lexer_peek(&p->lexer);
        if (token.kind == PTX_TOKEN_DOT_WORD) {
            type =
                (ptx_span){token.begin, token.end}; /* the last one: ".v2" and ".align" precede */
        } else if (token.kind == PTX_TOKEN_WORD) {
            ptx_lexer_next(&p->lexer);
            if (!declare_register(p, token, type)) {
                return false;
            }
            continue;
        } else if (!is(p, token, ",") && token.kind != PTX_TOKEN_NUMBER) {
            return true;
        } else if (is(p, token, ",")) {
            ptx_lexer ahead = p->lexer;
            ptx_lexer_next(&ahead);
            if (ptx_lexer_peek(&ahead).kind != PTX_TOKEN_WORD) {
                return true; /* the comma of a parameter list */
            }
        }
        ptx_lexer_next(&p->lexer);
    }
}

/* ---- Operands -------------------------------------------------------------------------------- */

static bool add_leaf(parser *p, ptx_operand *operand, ptx_token token, char sign)
{
    ptx_module *m = p->module;
    if (!PARSE_ROOM(m->leaves, m->leaf_count, m->leaf_capacity)) {
        return parse_no_memory(p);
    }
    ptx_leaf leaf = {.span = {token.begin, token.end}, .id = PTX_NONE, .sign = sign};
    if (token.kind == PTX_TOKEN_NUMBER) {
        leaf.kind = PTX_LEAF_NUMBER;
    } else if (is(p, token, "_")) {
        leaf.kind = PTX_LEAF_SINK;
    } else if (!parse_resolve(p, leaf.span, &leaf.id)) {
        return false;
    } else if (leaf.id != PTX_NONE) {
        leaf.kind = PTX_LEAF_REGISTER;
    } else {
        leaf.kind = *token_text(p, token) == '%' ? PTX_LEAF_SPECIAL : PTX_LEAF_SYMBOL;
    }
    m->leaves[m->leaf_count++] = leaf;
    operand->leaf_count++;
    return true;
}

/* What the tokens of one operand told about its shape so far. */
typedef struct operand_shape {
    char opener;  /* first character: '{', '[', '(' or 0 */
    bool pair;    /* a | at depth 0 */
    bool strange; /* anything beyond leaf, sign, pair and one pair of brackets */
    int depth;
    char sign;
} operand_shape;

static uint8_t shape_of(const operand_shape *s, const ptx_operand *operand)
{
    if (s->opener == '[') {
        return PTX_SHAPE_ADDRESS;
    }
    if (s->strange || s->opener == '(') {
        return PTX_SHAPE_OTHER;
    }
    if (s->opener == '{') {
        return PTX_SHAPE_VECTOR;
    }
    if (s->pair && operand->leaf_count == 2) {
        return PTX_SHAPE_PAIR;
    }
    return operand->leaf_count == 1 && !s->pair ? PTX_SHAPE_PLAIN : PTX_SHAPE_OTHER;
}

static void see_punct(parser *p, operand_shape *s, ptx_token token, bool first)
{
    char c = *token_text(p, token);
    if (token_length(token) > 1) {
        s->strange = true;
        s->sign = 0;
        return;
    }
    if (c == '{' || c == '[' || c == '(') {
        if (first) {
            s->opener = c;
        } else if (s->opener != '[') {
            s->strange = true;
        }
        s->depth++;
    } else if (c == '}' || c == ']' || c == ')') {
        s->depth--;
    } else if (c == '|' && s->depth == 0) {
        s->pair = true;
    } else if (c != '-' && c != '!' && c != '~' && c != ',' && s->opener != '[') {
        s->strange = true;
    }
    s->sign = c == '-' || c == '!' || c == '~' ? c : 0;
}

/* A dotted word within an operand: ".x" of the leaf before it. */
static void see_component(parser *p, ptx_operand *operand, ptx_token token)
{
    if (operand->leaf_count > 0) {
        ptx_leaf *leaf = &p->module->leaves[p->module->leaf_count - 1];
        leaf->component = true;
        if (leaf->kind == PTX_LEAF_SPECIAL || leaf->kind == PTX_LEAF_REGISTER) {
            leaf->span.end = token.end;
        }
    }
}

/* One operand up to the comma or semicolon at depth 0, which is left in *token. */
static bool read_operand(parser *p, ptx_token *token)
{
    ptx_module *m = p->module;
    ptx_operand operand = {.span = {token->begin, token->end},
                           .first_leaf = (uint32_t)m->leaf_count};
    operand_shape s = {0};
    for (bool first = true;; first = false) {
        if (s.depth <= 0 && (is_char(p, *token, ',') || is_char(p, *token, ';'))) {
            break;
        }
        operand.span.end = token->end;
        if (token->kind == PTX_TOKEN_WORD || token->kind == PTX_TOKEN_NUMBER) {
            s.strange = s.strange || (s.depth == 0 && operand.leaf_count > (s.pair ? 1u : 0u));
            if (!add_leaf(p, &operand, *token, s.sign)) {
                return false;
            }
            s.sign = 0;
        } else if (token->kind == PTX_TOKEN_DOT_WORD) {
            see_component(p, &operand, *token);
        } else if (token->kind == PTX_TOKEN_PUNCT) {
            see_punct(p, &s, *token, first);
        } else {
            s.strange = true;
        }
        if (!next_token(p, token)) {
            return false;
        }
    }
    operand.shape = shape_of(&s, &operand);
    if (!PARSE_ROOM(m->operands, m->operand_count, m->operand_capacity)) {
        return parse_no_memory(p);
    }
    m->operands[m->operand_count++] = operand;
    return true;
}

/* All operands from *token to the semicolon. */
static bool read_operands(parser *p, ptx_statement *s, ptx_token token)
{
    s->first_operand = (uint32_t)p->module->operand_count;
    while (!is_char(p, token, ';')) {
        if (!is_char(p, token, ',')) {
            if (!read_operand(p, &token)) {
                return false;
            }
            s->operand_count++;
        } else if (!next_token(p, &token)) {
            return false;
        }
    }
    s->span.end = token.end;
    return true;
}

/* ---- Statements ------------------------------------------------------------------------------ */

bool parse_add_statement(parser *p, const ptx_statement *statement)
{
    ptx_module *m = p->module;
    if (!PARSE_ROOM(m->statements, m->statement_count, m->statement_capacity)) {
        return parse_no_memory(p);
    }
    m->statements[m->statement_count++] = *statement;
    return true;
}

static ptx_statement new_statement(const parser *p, ptx_token token, ptx_statement_kind kind)
{
    return (ptx_statement){.span = {token.begin, token.end},
                           .kind = (uint8_t)kind,
                           .scope = p->scope,
                           .guard = PTX_NONE,
                           .opcode = PTX_NONE,
                           .loc = p->loc,
                           .target = PTX_NONE,
                           .match = PTX_NONE};
}

bool parse_opcode(parser *p, const char *text, size_t length, const ptx_effect *effect,
                  uint32_t *out)
{
    ptx_module *m = p->module;
    size_t known = map_get(&p->opcodes, text, length);
    if (known == MAP_NONE) {
        char *copy = arena_strndup(&m->texts, text, length);
        if (copy == NULL || !PARSE_ROOM(m->opcodes, m->opcode_count, m->opcode_capacity) ||
            !map_put(&p->opcodes, copy, length, m->opcode_count)) {
            return parse_no_memory(p);
        }
        known = m->opcode_count;
        m->opcodes[m->opcode_count++] =
            (ptx_opcode){copy, effect != NULL ? *effect : ptx_effect_lookup(copy)};
    }
    *out = (uint32_t)known;
    return true;
}

/* An opcode whose modifiers are written apart. */
static bool join_opcode(parser *p, ptx_span whole, uint32_t *out)
{
    strbuf joined = {0};
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, p->module->text, whole.end);
    lexer.position = whole.begin;
    for (ptx_token t = ptx_lexer_next(&lexer); t.kind != PTX_TOKEN_END;
         t = ptx_lexer_next(&lexer)) {
        strbuf_append(&joined, token_text(p, t), token_length(t));
    }
    bool good = joined.failed ? parse_no_memory(p)
                              : parse_opcode(p, strbuf_text(&joined), joined.length, NULL, out);
    strbuf_dispose(&joined);
    return good;
}

/* The opcode with its modifiers; *token is then what follows. */
static bool read_opcode(parser *p, ptx_statement *s, ptx_token *token)
{
    ptx_span whole = {token->begin, token->end};
    bool contiguous = true;
    s->opcode_at = token->begin;
    while (next_token(p, token)) {
        if (token->kind != PTX_TOKEN_DOT_WORD) {
            return contiguous ? parse_opcode(p, ptx_at(p->module, whole), ptx_span_length(whole),
                                             NULL, &s->opcode)
                              : join_opcode(p, whole, &s->opcode);
        }
        contiguous = contiguous && token->begin == whole.end;
        whole.end = token->end;
    }
    return false;
}

void parse_mark_in_flight(parser *p, const ptx_statement *s)
{
    ptx_module *m = p->module;
    for (uint32_t o = 0; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER) {
                m->registers[leaf->id].in_flight = true;
            }
        }
    }
}

static bool read_guard(parser *p, ptx_statement *s, ptx_token *token)
{
    if (!next_token(p, token)) {
        return false;
    }
    if (is(p, *token, "!")) {
        s->guard_negated = true;
        if (!next_token(p, token)) {
            return false;
        }
    }
    if (token->kind != PTX_TOKEN_WORD ||
        !parse_resolve(p, (ptx_span){token->begin, token->end}, &s->guard)) {
        return p->status == EVOCC_OK ? parse_fail(p, token->begin, "expected a predicate") : false;
    }
    if (s->guard == PTX_NONE) {
        return parse_fail(p, token->begin, "the predicate %.*s is not declared",
                          (int)token_length(*token), token_text(p, *token));
    }
    return next_token(p, token);
}

static bool read_instruction(parser *p, ptx_token token)
{
    ptx_statement s = new_statement(p, token, PTX_INSTRUCTION);
    if (is_char(p, token, '@') && !read_guard(p, &s, &token)) {
        return false;
    }
    if (token.kind != PTX_TOKEN_WORD) {
        return parse_fail(p, token.begin, "expected an instruction");
    }
    if (!read_opcode(p, &s, &token) || !read_operands(p, &s, token)) {
        return false;
    }
    if (ptx_effect_of(p->module, &s)->in_flight) {
        parse_mark_in_flight(p, &s);
    }
    return parse_add_statement(p, &s);
}

static bool read_label(parser *p, ptx_token name)
{
    ptx_statement s = new_statement(p, name, PTX_LABEL);
    s.span.end = ptx_lexer_next(&p->lexer).end; /* : */
    return parse_add_label(p, (ptx_span){name.begin, name.end}) && parse_add_statement(p, &s);
}

static bool read_brace(parser *p, ptx_token token)
{
    ptx_module *m = p->module;
    uint32_t here = (uint32_t)m->statement_count;
    parse_kept_brace(p, token.begin);
    if (is_char(p, token, '{')) {
        if (m->scopes[p->scope].depth >= MAX_DEPTH) {
            return parse_fail(p, token.begin, "more than %d scopes within each other", MAX_DEPTH);
        }
        if (!parse_enter_scope(p)) {
            return false;
        }
        ptx_statement s = new_statement(p, token, PTX_OPEN);
        m->scopes[p->scope].open = here;
        return parse_add_statement(p, &s);
    }
    ptx_statement s = new_statement(p, token, PTX_CLOSE);
    s.match = m->scopes[p->scope].open;
    m->statements[s.match].match = here;
    parse_leave_scope(p);
    return parse_add_statement(p, &s);
}

/* To the semicolon, over initialisers. */
static bool skip_to_semicolon(parser *p, ptx_statement *s)
{
    ptx_token token;
    int depth = 0;
    do {
        if (!next_token(p, &token)) {
            return false;
        }
        depth += is_char(p, token, '{') || is_char(p, token, '(');
        depth -= is_char(p, token, '}') || is_char(p, token, ')');
    } while (depth > 0 || !is_char(p, token, ';'));
    s->span.end = token.end;
    return true;
}

static bool is_declaration(const parser *p, ptx_token token)
{
    static const char *const words[] = {".local", ".shared", ".param", ".const",    ".global",
                                        ".align", ".extern", ".tex",   ".attribute"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is(p, token, words[i])) {
            return true;
        }
    }
    return false;
}

static bool read_directive(parser *p, ptx_token token)
{
    ptx_statement s = new_statement(p, token, PTX_DIRECTIVE);
    if (is(p, token, ".loc") || is(p, token, ".file") || is(p, token, ".section")) {
        if (!ptx_lexer_skip_debug(&p->lexer, token, &s.span.end)) {
            return parse_fail(p, token.begin, "a section within a function");
        }
        s.kind = PTX_LOC;
        s.loc = is(p, token, ".loc") ? (uint32_t)p->module->statement_count : p->loc;
        p->loc = s.loc;
        return parse_add_statement(p, &s);
    }
    if (is(p, token, ".reg")) {
        s.kind = PTX_DECLARATION;
        return parse_registers(p) && skip_to_semicolon(p, &s) && parse_add_statement(p, &s);
    }
    if (is(p, token, ".branchtargets") || is(p, token, ".calltargets")) {
        ptx_token next;
        return next_token(p, &next) && read_operands(p, &s, next) && parse_add_statement(p, &s);
    }
    if (is(p, token, ".pragma")) {
        s.kind = PTX_PRAGMA;
    } else if (is_declaration(p, token)) {
        s.kind = PTX_DECLARATION;
        p->function->local_parameters = p->function->local_parameters || is(p, token, ".param");
    }
    return skip_to_semicolon(p, &s) && parse_add_statement(p, &s);
}

static bool read_statement(parser *p, ptx_token token)
{
    if (is_char(p, token, '{') || is_char(p, token, '}')) {
        return read_brace(p, token);
    }
    if (token.kind == PTX_TOKEN_DOT_WORD) {
        return read_directive(p, token);
    }
    /* Most words are opcodes with a modifier. The text ends in a NUL. */
    if (token.kind == PTX_TOKEN_WORD && p->module->text[token.end] != '.' &&
        is_char(p, ptx_lexer_peek(&p->lexer), ':')) {
        return read_label(p, token);
    }
    if (is_char(p, token, ';')) {
        ptx_statement s = new_statement(p, token, PTX_DIRECTIVE);
        return parse_add_statement(p, &s);
    }
    return read_instruction(p, token);
}

bool parse_body(parser *p)
{
    uint32_t body = p->scope;
    parse_kept_enter(p);
    for (;;) {
        ptx_token token;
        while (parse_keep(p)) {
        }
        if (p->status != EVOCC_OK || !next_token(p, &token)) {
            return false;
        }
        if (is_char(p, token, '}') && p->scope == body) {
            return true;
        }
        if (!read_statement(p, token)) {
            return false;
        }
    }
}

/* ---- Branch targets -------------------------------------------------------------------------- */

/* Every label that an instruction or a list of targets names is referenced; the last one is the
   target (`brx.idx index, list`). A label in front of a list of targets is no place in the code. */
bool parse_targets(parser *p)
{
    ptx_module *m = p->module;
    uint32_t first = p->function->first_statement;
    for (uint32_t i = first; i < first + p->function->statement_count; i++) {
        ptx_statement *s = &m->statements[i];
        bool jump = s->kind == PTX_INSTRUCTION && ptx_effect_of(m, s)->terminator;
        if (!jump && s->kind != PTX_DIRECTIVE) {
            continue;
        }
        for (uint32_t o = 0; o < s->operand_count; o++) {
            const ptx_operand *operand = &m->operands[s->first_operand + o];
            if (operand->leaf_count == 0) {
                continue;
            }
            ptx_leaf *leaf = &m->leaves[operand->first_leaf];
            if (leaf->kind != PTX_LEAF_SYMBOL) {
                continue;
            }
            uint32_t label = parse_find_label(p, s->scope, leaf->span);
            if (label == PTX_NONE && jump) {
                return parse_fail(p, leaf->span.begin, "no label %.*s in this function",
                                  (int)ptx_span_length(leaf->span), ptx_at(m, leaf->span));
            }
            if (label != PTX_NONE) {
                s->target = leaf->id = label;
                bool list = label + 1 < first + p->function->statement_count &&
                            m->statements[label + 1].kind == PTX_DIRECTIVE;
                m->statements[label].referenced = !list;
            }
        }
    }
    return true;
}
