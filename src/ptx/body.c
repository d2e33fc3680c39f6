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

static parse_names *names_of(parser *p, uint32_t scope)
{
    return &p->names[scope - p->first_scope];
}

static bool add_register(parser *p, uint32_t scope, ptx_span name, ptx_span type, uint32_t *id)
{
    ptx_module *m = p->module;
    if (!mem_grow(&m->registers, &m->register_capacity, m->register_count + 1,
                  sizeof *m->registers) ||
        !map_put(&names_of(p, scope)->registers, ptx_at(m, name), ptx_span_length(name),
                 m->register_count)) {
        return parse_no_memory(p);
    }
    *id = (uint32_t)m->register_count;
    m->registers[m->register_count++] = (ptx_register){.name = name, .type = type, .scope = scope};
    return true;
}

/* name or name<count> */
static bool declare_register(parser *p, ptx_token name, ptx_span type)
{
    ptx_span span = {name.begin, name.end};
    if (!is(p, ptx_lexer_peek(&p->lexer), "<")) {
        uint32_t id;
        return add_register(p, p->scope, span, type, &id);
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
    if (!mem_grow(&p->ranges, &p->range_capacity, p->range_count + 1, sizeof *p->ranges)) {
        return parse_no_memory(p);
    }
    parse_names *names = names_of(p, p->scope);
    p->ranges[p->range_count] = (parse_range){span, type, count, names->ranges};
    names->ranges = p->range_count++;
    return true;
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

/* Looks for prefix<count> among the ranges of a scope. */
static const parse_range *find_range(const parser *p, const parse_names *names, const char *text,
                                     size_t length)
{
    size_t digits = length;
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') {
        digits--;
    }
    if (digits == length || length - digits > 10 || (text[digits] == '0' && length - digits > 1)) {
        return NULL;
    }
    uint64_t index = 0;
    for (size_t i = digits; i < length; i++) {
        index = index * 10 + (uint64_t)(text[i] - '0');
    }
    for (size_t r = names->ranges; r != MAP_NONE; r = p->ranges[r].next) {
        const parse_range *range = &p->ranges[r];
        if (ptx_span_length(range->prefix) == digits && index < range->count &&
            memcmp(ptx_at(p->module, range->prefix), text, digits) == 0) {
            return range;
        }
    }
    return NULL;
}

/* The register a name means here, or PTX_NONE in *id. */
static bool resolve_register(parser *p, ptx_token name, uint32_t *id)
{
    const char *text = token_text(p, name);
    size_t length = token_length(name);
    for (uint32_t s = p->scope; s != PTX_NONE; s = p->module->scopes[s].parent) {
        parse_names *names = names_of(p, s);
        size_t found = map_get(&names->registers, text, length);
        if (found != MAP_NONE) {
            *id = (uint32_t)found;
            return true;
        }
        const parse_range *range =
            names->ranges == MAP_NONE ? NULL : find_range(p, names, text, length);
        if (range != NULL) {
            return add_register(p, s, (ptx_span){name.begin, name.end}, range->type, id);
        }
    }
    *id = PTX_NONE;
    return true;
}

/* ---- Operands -------------------------------------------------------------------------------- */

static bool add_leaf(parser *p, ptx_operand *operand, ptx_token token, char sign)
{
    ptx_module *m = p->module;
    if (!mem_grow(&m->leaves, &m->leaf_capacity, m->leaf_count + 1, sizeof *m->leaves)) {
        return parse_no_memory(p);
    }
    ptx_leaf leaf = {.span = {token.begin, token.end}, .id = PTX_NONE, .sign = sign};
    if (token.kind == PTX_TOKEN_NUMBER) {
        leaf.kind = PTX_LEAF_NUMBER;
    } else if (is(p, token, "_")) {
        leaf.kind = PTX_LEAF_SINK;
    } else if (!resolve_register(p, token, &leaf.id)) {
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
        if (s.depth <= 0 && (is(p, *token, ",") || is(p, *token, ";"))) {
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
    if (!mem_grow(&m->operands, &m->operand_capacity, m->operand_count + 1, sizeof *m->operands)) {
        return parse_no_memory(p);
    }
    m->operands[m->operand_count++] = operand;
    return true;
}

/* All operands from *token to the semicolon. */
static bool read_operands(parser *p, ptx_statement *s, ptx_token token)
{
    s->first_operand = (uint32_t)p->module->operand_count;
    while (!is(p, token, ";")) {
        if (!is(p, token, ",")) {
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

static bool add_statement(parser *p, const ptx_statement *statement)
{
    ptx_module *m = p->module;
    if (!mem_grow(&m->statements, &m->statement_capacity, m->statement_count + 1,
                  sizeof *m->statements)) {
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

/* Opcodes are few: each text is described once. */
static bool intern_opcode(parser *p, const char *text, size_t length, uint32_t *out)
{
    ptx_module *m = p->module;
    size_t known = map_get(&p->opcodes, text, length);
    if (known == MAP_NONE) {
        char *copy = arena_strndup(&m->texts, text, length);
        if (copy == NULL ||
            !mem_grow(&m->opcodes, &m->opcode_capacity, m->opcode_count + 1, sizeof *m->opcodes) ||
            !map_put(&p->opcodes, copy, length, m->opcode_count)) {
            return parse_no_memory(p);
        }
        known = m->opcode_count;
        m->opcodes[m->opcode_count++] = (ptx_opcode){copy, ptx_effect_lookup(copy)};
    }
    *out = (uint32_t)known;
    return true;
}

/* The opcode with its modifiers, which may be written apart; *token is then what follows. */
static bool read_opcode(parser *p, ptx_statement *s, ptx_token *token)
{
    strbuf joined = {0};
    ptx_span whole = {token->begin, token->end};
    s->opcode_at = token->begin;
    bool good = true, contiguous = true;
    strbuf_append(&joined, token_text(p, *token), token_length(*token));
    while ((good = next_token(p, token)) && token->kind == PTX_TOKEN_DOT_WORD) {
        contiguous = contiguous && token->begin == whole.end;
        whole.end = token->end;
        strbuf_append(&joined, token_text(p, *token), token_length(*token));
    }
    if (joined.failed) {
        good = parse_no_memory(p);
    }
    good = good && intern_opcode(p, strbuf_text(&joined), joined.length, &s->opcode);
    strbuf_dispose(&joined);
    return good;
}

static void mark_in_flight(parser *p, const ptx_statement *s)
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
    if (token->kind != PTX_TOKEN_WORD || !resolve_register(p, *token, &s->guard)) {
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
    if (is(p, token, "@") && !read_guard(p, &s, &token)) {
        return false;
    }
    if (token.kind != PTX_TOKEN_WORD) {
        return parse_fail(p, token.begin, "expected an instruction");
    }
    if (!read_opcode(p, &s, &token) || !read_operands(p, &s, token)) {
        return false;
    }
    if (ptx_effect_of(p->module, &s)->in_flight) {
        mark_in_flight(p, &s);
    }
    return add_statement(p, &s);
}

static bool read_label(parser *p, ptx_token name)
{
    ptx_statement s = new_statement(p, name, PTX_LABEL);
    s.span.end = ptx_lexer_next(&p->lexer).end; /* : */
    if (!map_put(&names_of(p, p->scope)->labels, token_text(p, name), token_length(name),
                 p->module->statement_count)) {
        return parse_no_memory(p);
    }
    return add_statement(p, &s);
}

static bool read_brace(parser *p, ptx_token token)
{
    ptx_module *m = p->module;
    uint32_t here = (uint32_t)m->statement_count;
    if (is(p, token, "{")) {
        if (m->scopes[p->scope].depth >= MAX_DEPTH) {
            return parse_fail(p, token.begin, "more than %d scopes within each other", MAX_DEPTH);
        }
        if (!parse_enter_scope(p)) {
            return false;
        }
        ptx_statement s = new_statement(p, token, PTX_OPEN);
        m->scopes[p->scope].open = here;
        return add_statement(p, &s);
    }
    ptx_statement s = new_statement(p, token, PTX_CLOSE);
    s.match = m->scopes[p->scope].open;
    m->statements[s.match].match = here;
    parse_leave_scope(p);
    return add_statement(p, &s);
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
        depth += is(p, token, "{") || is(p, token, "(");
        depth -= is(p, token, "}") || is(p, token, ")");
    } while (depth > 0 || !is(p, token, ";"));
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
        return add_statement(p, &s);
    }
    if (is(p, token, ".reg")) {
        s.kind = PTX_DECLARATION;
        return parse_registers(p) && skip_to_semicolon(p, &s) && add_statement(p, &s);
    }
    if (is(p, token, ".branchtargets") || is(p, token, ".calltargets")) {
        ptx_token next;
        return next_token(p, &next) && read_operands(p, &s, next) && add_statement(p, &s);
    }
    if (is(p, token, ".pragma")) {
        s.kind = PTX_PRAGMA;
    } else if (is_declaration(p, token)) {
        s.kind = PTX_DECLARATION;
        p->function->local_parameters = p->function->local_parameters || is(p, token, ".param");
    }
    return skip_to_semicolon(p, &s) && add_statement(p, &s);
}

static bool read_statement(parser *p, ptx_token token)
{
    if (is(p, token, "{") || is(p, token, "}")) {
        return read_brace(p, token);
    }
    if (token.kind == PTX_TOKEN_DOT_WORD) {
        return read_directive(p, token);
    }
    if (token.kind == PTX_TOKEN_WORD && is(p, ptx_lexer_peek(&p->lexer), ":")) {
        return read_label(p, token);
    }
    if (is(p, token, ";")) {
        ptx_statement s = new_statement(p, token, PTX_DIRECTIVE);
        return add_statement(p, &s);
    }
    return read_instruction(p, token);
}

bool parse_body(parser *p)
{
    uint32_t body = p->scope;
    for (;;) {
        ptx_token token;
        if (!next_token(p, &token)) {
            return false;
        }
        if (is(p, token, "}") && p->scope == body) {
            return true;
        }
        if (!read_statement(p, token)) {
            return false;
        }
    }
}

/* ---- Branch targets -------------------------------------------------------------------------- */

static uint32_t find_label(parser *p, uint32_t scope, ptx_span name)
{
    const ptx_module *m = p->module;
    for (; scope != PTX_NONE; scope = m->scopes[scope].parent) {
        size_t found = map_get(&names_of(p, scope)->labels, ptx_at(m, name), ptx_span_length(name));
        if (found != MAP_NONE) {
            return (uint32_t)found;
        }
    }
    return PTX_NONE;
}

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
            uint32_t label = find_label(p, s->scope, leaf->span);
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
