/*
 * outline.c: the checker's view of what is not code: module level, headers, variables.
 */
#include "ptx/outline.h"

#include "util/error.h"

#include <string.h>

/* Walks the tokens of a module that the checker compares literally: all but function bodies and
   what the header lets differ; of bodies the declarations other than .reg. */
typedef struct outline {
    const ptx_module *module;
    ptx_lexer lexer;
    size_t function;
} outline;

static bool is_header_directive(const outline *o, ptx_token token)
{
    static const char *const words[] = {".maxnreg", ".maxntid", ".reqntid", ".minnctapersm"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_token_is(&o->lexer, token, words[i])) {
            return true;
        }
    }
    return false;
}

static void skip_numbers(outline *o)
{
    for (;;) {
        ptx_token next = ptx_lexer_peek(&o->lexer);
        if (next.kind != PTX_TOKEN_NUMBER && !ptx_token_is(&o->lexer, next, ",")) {
            return;
        }
        ptx_lexer_next(&o->lexer);
    }
}

static ptx_token outline_next(outline *o)
{
    for (;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(&o->lexer);
        const ptx_module *m = o->module;
        if (o->function < m->function_count &&
            token.begin == m->functions[o->function].body.begin) {
            o->lexer.position = m->functions[o->function++].body.end;
            return token; /* its { stands for the body */
        }
        if (ptx_lexer_skip_debug(&o->lexer, token, &end)) {
            continue;
        }
        if (token.begin == m->version_number.begin) {
            continue;
        }
        if (is_header_directive(o, token)) {
            skip_numbers(o);
            continue;
        }
        return token;
    }
}

evocc_status ptx_compare_outlines(const ptx_module *a, const ptx_module *b, evocc_error *error)
{
    outline x = {.module = a}, y = {.module = b};
    ptx_lexer_init(&x.lexer, a->text, a->length);
    ptx_lexer_init(&y.lexer, b->text, b->length);
    for (;;) {
        ptx_token s = outline_next(&x), t = outline_next(&y);
        size_t length = s.end - s.begin;
        if (length != t.end - t.begin ||
            memcmp(a->text + s.begin, b->text + t.begin, length) != 0) {
            int line, column;
            ptx_locate(&line, &column, b->text, t.begin);
            return error_set(error, EVOCC_MISMATCH, "%s: line %d: %.*s instead of %.*s", b->name,
                             line, (int)(t.end - t.begin), b->text + t.begin, (int)length,
                             a->text + s.begin);
        }
        if (s.kind == PTX_TOKEN_END) {
            return EVOCC_OK;
        }
    }
}

static bool is_variable(const ptx_module *m, const ptx_statement *s)
{
    return s->kind == PTX_DECLARATION && strncmp(ptx_at(m, s->span), ".reg", 4) != 0;
}

/* Variables within a body: the same texts in the same order. */
evocc_status ptx_compare_variables(const ptx_module *a, const ptx_module *b, evocc_error *error)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a->statement_count && !is_variable(a, &a->statements[i])) {
            i++;
        }
        while (j < b->statement_count && !is_variable(b, &b->statements[j])) {
            j++;
        }
        bool first = i < a->statement_count, second = j < b->statement_count;
        if (!first && !second) {
            return EVOCC_OK;
        }
        ptx_span x = first ? a->statements[i].span : (ptx_span){0, 0};
        ptx_span y = second ? b->statements[j].span : (ptx_span){0, 0};
        if (ptx_span_length(x) != ptx_span_length(y) ||
            memcmp(ptx_at(a, x), ptx_at(b, y), ptx_span_length(x)) != 0) {
            return error_set(error, EVOCC_MISMATCH, "%s: the declaration \"%.*s\" became \"%.*s\"",
                             a->name, (int)ptx_span_length(x), ptx_at(a, x),
                             (int)ptx_span_length(y), ptx_at(b, y));
        }
        i++;
        j++;
    }
}
