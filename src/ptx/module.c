#include "ptx/module.h"

#include "ptx/parse.h"
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_fail(parser *p, uint32_t where, const char *format, ...)
{
    char message[EVOCC_ERROR_SIZE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    int line, column;
    ptx_locate(&line, &column, p->module->text, where);
    p->status =
        error_set(p->error, EVOCC_PARSE, "%s:%d:%d: %s", p->module->name, line, column, message);
    return false;
}

bool parse_no_memory(parser *p)
{
    p->status = error_no_memory(p->error);
    return false;
}

/* Whether a statement begins a new block (design: sites). A label that nothing jumps to marks a
   place for debuggers and begins none. */
static bool begins_block(const ptx_statement *s, bool after_terminator)
{
    return after_terminator || (s->kind == PTX_LABEL && s->referenced);
}

static bool is_terminator(const ptx_module *m, const ptx_statement *s)
{
    return s->kind == PTX_INSTRUCTION && ptx_effect_of(m, s)->terminator;
}

/* Cuts the function's statements into blocks. Blocks without instructions join the next, or at the
   end the one before. */
static bool make_blocks(parser *p)
{
    ptx_module *m = p->module;
    ptx_function *f = p->function;
    f->first_block = (uint32_t)m->block_count;
    uint32_t end = f->first_statement + f->statement_count;
    uint32_t first = f->first_statement;
    bool filled = false, after_terminator = false;
    for (uint32_t i = first; i <= end; i++) {
        bool cut = i == end || begins_block(&m->statements[i], after_terminator);
        if (cut && filled) {
            if (!mem_grow(&m->blocks, &m->block_capacity, m->block_count + 1, sizeof *m->blocks)) {
                return parse_no_memory(p);
            }
            m->blocks[m->block_count++] = (ptx_block){
                .first = first, .count = i - first, .function = (uint32_t)m->function_count - 1};
            first = i;
            filled = false;
        }
        if (i < end) {
            filled = filled || m->statements[i].kind == PTX_INSTRUCTION;
            after_terminator = is_terminator(m, &m->statements[i]);
        }
    }
    f->block_count = (uint32_t)m->block_count - f->first_block;
    if (f->block_count > 0) {
        ptx_block *last = &m->blocks[m->block_count - 1];
        last->count = end - last->first;
    }
    return true;
}

static bool add_function(parser *p, bool entry, uint32_t begin)
{
    ptx_module *m = p->module;
    if (!mem_grow(&m->functions, &m->function_capacity, m->function_count + 1,
                  sizeof *m->functions)) {
        return parse_no_memory(p);
    }
    p->function = &m->functions[m->function_count++];
    *p->function = (ptx_function){.entry = entry,
                                  .header = {begin, begin},
                                  .first_statement = (uint32_t)m->statement_count,
                                  .first_register = (uint32_t)m->register_count};
    p->scope = PTX_NONE;
    p->loc = PTX_NONE;
    p->first_scope = (uint32_t)m->scope_count;
    return parse_enter_scope(p);
}

/* From behind .entry or .func to its { or ;. Registers among a function's parameters are declared
   in the scope of its body. */
static bool read_header(parser *p, ptx_token *brace)
{
    int depth = 0;
    for (;;) {
        ptx_token token = ptx_lexer_next(&p->lexer);
        if (token.kind == PTX_TOKEN_END) {
            return parse_fail(p, token.begin, "%s",
                              p->lexer.problem != NULL ? p->lexer.problem
                                                       : "the text ends within a function header");
        }
        if (depth == 0 &&
            (ptx_token_is(&p->lexer, token, "{") || ptx_token_is(&p->lexer, token, ";"))) {
            *brace = token;
            return true;
        }
        depth += ptx_token_is(&p->lexer, token, "(");
        depth -= ptx_token_is(&p->lexer, token, ")");
        if (depth == 0 && token.kind == PTX_TOKEN_WORD && p->function->name.end == 0) {
            p->function->name = (ptx_span){token.begin, token.end};
        }
        if (ptx_token_is(&p->lexer, token, ".reg") && !parse_registers(p)) {
            return false;
        }
    }
}

static bool add_entry_name(parser *p)
{
    ptx_module *m = p->module;
    ptx_span name = p->function->name;
    char *copy = arena_strndup(&m->texts, ptx_at(m, name), ptx_span_length(name));
    if (copy == NULL || !mem_grow(&m->entry_names, &m->entry_capacity, m->entry_count + 1,
                                  sizeof *m->entry_names)) {
        return parse_no_memory(p);
    }
    m->entry_names[m->entry_count++] = copy;
    return true;
}

static bool read_function(parser *p, bool entry, uint32_t begin)
{
    ptx_module *m = p->module;
    ptx_token brace = {PTX_TOKEN_END, 0, 0};
    if (!add_function(p, entry, begin) || !read_header(p, &brace)) {
        return false;
    }
    if (p->function->name.end == 0) {
        return parse_fail(p, brace.begin, "a function without a name");
    }
    if (ptx_token_is(&p->lexer, brace, ";")) {
        m->function_count--; /* a declaration */
        m->register_count = p->function->first_register;
        m->scope_count = p->first_scope;
        parse_forget_names(p);
        return true;
    }
    p->function->header.end = brace.begin;
    p->function->body.begin = brace.begin;
    if (!parse_body(p)) {
        return false;
    }
    p->function->body.end = p->lexer.position;
    p->function->statement_count = (uint32_t)m->statement_count - p->function->first_statement;
    p->function->register_count = (uint32_t)m->register_count - p->function->first_register;
    bool good = parse_targets(p) && make_blocks(p) && (!entry || add_entry_name(p));
    parse_forget_names(p);
    return good;
}

static bool read_version(parser *p)
{
    ptx_token number = ptx_lexer_next(&p->lexer);
    ptx_module *m = p->module;
    int major = 0, minor = 0;
    char text[16] = "";
    size_t length = number.end - number.begin;
    memcpy(text, m->text + number.begin, length < sizeof text ? length : sizeof text - 1);
    if (number.kind != PTX_TOKEN_NUMBER || sscanf(text, "%3d.%1d", &major, &minor) != 2) {
        return parse_fail(p, number.begin, ".version needs a number such as 8.7");
    }
    m->version = major * 10 + minor;
    m->version_number = (ptx_span){number.begin, number.end};
    return true;
}

static bool read_target(parser *p)
{
    ptx_token word = ptx_lexer_next(&p->lexer);
    if (word.kind != PTX_TOKEN_WORD) {
        return parse_fail(p, word.begin, ".target needs an architecture such as sm_90a");
    }
    ptx_module *m = p->module;
    if (m->target == NULL) {
        m->target = arena_strndup(&m->texts, m->text + word.begin, word.end - word.begin);
    }
    return m->target != NULL || parse_no_memory(p);
}

static bool skip_initialiser(parser *p, uint32_t begin)
{
    size_t depth = 1;
    while (depth > 0) {
        ptx_token token = ptx_lexer_next(&p->lexer);
        if (token.kind == PTX_TOKEN_END) {
            return parse_fail(p, begin, "a { that nothing closes");
        }
        depth += ptx_token_is(&p->lexer, token, "{");
        depth -= ptx_token_is(&p->lexer, token, "}");
    }
    return true;
}

/* One token at module level. `*begin` is where the directive at hand began, linkage included. */
static bool read_module_token(parser *p, ptx_token token, uint32_t *begin)
{
    uint32_t end;
    ptx_lexer *lexer = &p->lexer;
    bool linkage = ptx_token_is(lexer, token, ".visible") ||
                   ptx_token_is(lexer, token, ".extern") || ptx_token_is(lexer, token, ".weak") ||
                   ptx_token_is(lexer, token, ".common");
    if (*begin == PTX_NONE && token.kind == PTX_TOKEN_DOT_WORD) {
        *begin = token.begin;
    }
    bool good = true;
    if (ptx_token_is(lexer, token, ".version")) {
        good = read_version(p);
    } else if (ptx_token_is(lexer, token, ".target")) {
        good = read_target(p);
    } else if (ptx_token_is(lexer, token, ".entry") || ptx_token_is(lexer, token, ".func")) {
        good = read_function(p, ptx_token_is(lexer, token, ".entry"), *begin);
    } else if (ptx_token_is(lexer, token, "{")) {
        good = skip_initialiser(p, token.begin);
    } else if (ptx_token_is(lexer, token, "}")) {
        good = parse_fail(p, token.begin, "a } that closes nothing");
    } else {
        ptx_lexer_skip_debug(lexer, token, &end);
    }
    if (!linkage) {
        *begin = PTX_NONE;
    }
    return good;
}

static bool read_module(parser *p)
{
    uint32_t begin = PTX_NONE;
    for (;;) {
        ptx_token token = ptx_lexer_next(&p->lexer);
        if (p->lexer.problem != NULL) {
            return parse_fail(p, p->lexer.problem_at, "%s", p->lexer.problem);
        }
        if (token.kind == PTX_TOKEN_END) {
            break;
        }
        if (!read_module_token(p, token, &begin)) {
            return false;
        }
    }
    if (p->module->version == 0 || p->module->target == NULL) {
        return parse_fail(p, 0, "no .version and .target; is this PTX, as nvcc -ptx writes it?");
    }
    return true;
}

static bool is_ascii(const char *text, size_t length)
{
    uint64_t all = 0, word;
    size_t i = 0;
    for (; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        all |= word;
    }
    for (; i < length; i++) {
        all |= (unsigned char)text[i];
    }
    return (all & 0x8080808080808080u) == 0 && memchr(text, 0, length) == NULL;
}

static bool check_bytes(parser *p, size_t length)
{
    const char *text = p->module->text;
    if (!is_ascii(text, length)) {
        size_t i = 0;
        while (is_ascii(text + i, 1)) {
            i++;
        }
        return parse_fail(p, (uint32_t)i,
                          "byte 0x%02x is not ASCII, which ptxas refuses even in comments; "
                          "remove it",
                          (unsigned char)text[i]);
    }
    return strspn(text, " \t\n\v\f\r") < length ||
           parse_fail(p, 0, "the file is empty; is this PTX, as nvcc -ptx writes it?");
}

static void parser_dispose(parser *p)
{
    parse_forget_names(p);
    parse_kept_dispose(p);
    mem_free(p->names);
    mem_free(p->ranges);
    map_dispose(&p->opcodes);
}

/* Takes `text` over. */
static evocc_status parse(ptx_module **out, char *text, size_t length, const char *name,
                          const ptx_module *old, const ptx_edits *edits, evocc_error *error)
{
    ptx_module *m = mem_alloc(1, sizeof *m);
    if (m == NULL || text == NULL) {
        mem_free(m);
        mem_free(text);
        return error_no_memory(error);
    }
    m->text = text;
    m->name = mem_strdup(name);
    m->length = (uint32_t)length;
    parser p = {.module = m, .error = error, .status = EVOCC_OK};
    ptx_lexer_init(&p.lexer, m->text, m->length);
    bool good = (m->name != NULL || parse_no_memory(&p)) && check_bytes(&p, length) &&
                (old == NULL || parse_kept_init(&p, old, edits)) && read_module(&p);
    parser_dispose(&p);
    if (!good) {
        ptx_free(m);
        return p.status;
    }
    *out = m;
    return EVOCC_OK;
}

static evocc_status check_length(size_t length, const char *name, evocc_error *error)
{
    return length <= INT32_MAX ? EVOCC_OK
                               : error_set(error, EVOCC_UNSUPPORTED, "%s: larger than 2 GB", name);
}

evocc_status ptx_parse(ptx_module **out, const char *text, size_t length, const char *name,
                       evocc_error *error)
{
    evocc_status status = check_length(length, name, error);
    return status == EVOCC_OK
               ? parse(out, mem_strndup(text, length), length, name, NULL, NULL, error)
               : status;
}

evocc_status ptx_parse_edited(ptx_module **out, const ptx_module *old, const ptx_edits *edits,
                              strbuf *text, evocc_error *error)
{
    size_t length = text->length;
    evocc_status status = check_length(length, old->name, error);
    char *taken = strbuf_take(text);
    if (status != EVOCC_OK) {
        mem_free(taken);
        return status;
    }
    return parse(out, taken, length, old->name, old, edits, error);
}

void ptx_free(ptx_module *module)
{
    if (module == NULL) {
        return;
    }
    void *const owned[] = {module->text,       module->name,       module->functions,
                           module->statements, module->operands,   module->leaves,
                           module->registers,  module->scopes,     module->blocks,
                           module->opcodes,    module->entry_names};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        mem_free(owned[i]);
    }
    arena_dispose(&module->texts);
    mem_free(module);
}

void ptx_print(strbuf *out, const ptx_module *module)
{
    strbuf_append(out, module->text, module->length);
}

int ptx_version(const ptx_module *module)
{
    return module->version;
}

const char *ptx_target(const ptx_module *module)
{
    return module->target;
}

size_t ptx_entry_count(const ptx_module *module)
{
    return module->entry_count;
}

const char *ptx_entry_name(const ptx_module *module, size_t index)
{
    return module->entry_names[index];
}

const ptx_function *ptx_find_entry(const ptx_module *module, const char *name, size_t length)
{
    for (size_t i = 0; i < module->function_count; i++) {
        const ptx_function *f = &module->functions[i];
        if (f->entry && ptx_span_length(f->name) == length &&
            memcmp(ptx_at(module, f->name), name, length) == 0) {
            return f;
        }
    }
    return NULL;
}

/* Whether the header has this name. A name of the header is not declared again at the level of the
   body: ptxas refuses that. */
static bool header_names(const ptx_module *module, const ptx_function *function, ptx_span name)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, function->header.end);
    lexer.position = function->header.begin;
    for (;;) {
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            return false;
        }
        if (token.end - token.begin == ptx_span_length(name) &&
            memcmp(module->text + token.begin, ptx_at(module, name), ptx_span_length(name)) == 0) {
            return true;
        }
    }
}

bool ptx_loads_entry_parameter(const ptx_module *module, const ptx_function *function,
                               const ptx_statement *statement)
{
    if (!function->entry || statement->operand_count < 2 ||
        strncmp(module->opcodes[statement->opcode].text, "ld.param", 8) != 0) {
        return false;
    }
    if (!function->local_parameters) {
        return true;
    }
    const ptx_operand *address = &module->operands[statement->first_operand + 1];
    const ptx_leaf *leaf = &module->leaves[address->first_leaf];
    return module->scopes[statement->scope].depth == 0 && address->leaf_count > 0 &&
           leaf->kind == PTX_LEAF_SYMBOL && header_names(module, function, leaf->span);
}

bool ptx_pragma_is(const ptx_module *module, const ptx_statement *statement, const char *word)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, ptx_at(module, statement->span),
                   (uint32_t)ptx_span_length(statement->span));
    ptx_lexer_next(&lexer); /* .pragma */
    ptx_token text = ptx_lexer_next(&lexer);
    size_t length = strlen(word);
    return text.kind == PTX_TOKEN_STRING && text.end - text.begin >= length + 2 &&
           memcmp(lexer.text + text.begin + 1, word, length) == 0 &&
           strchr(" \t\"", lexer.text[text.begin + 1 + length]) != NULL;
}
