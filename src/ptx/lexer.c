#include "ptx/lexer.h"

#include <string.h>

/* Classes of characters. A table entry is '0' plus classes, so a class can be tested in it as it
   stands: none of these bits is in '0'. */
enum { CLASS_SPACE = 1, CLASS_WORD_START = 2, CLASS_WORD = 4, CLASS_DIGIT = 8 };

/* Sixteen characters a row; the second half is not ASCII. */
static const char classes[] = // clang-format off
    "0000000001111100" "0000000000000000" "1000620000000000" "<<<<<<<<<<000000"
    "0666666666666666" "6666666666600006" "0666666666666666" "6666666666600000"
    "0000000000000000" "0000000000000000" "0000000000000000" "0000000000000000"
    "0000000000000000" "0000000000000000" "0000000000000000" "0000000000000000";
// clang-format on

static bool in_class(char c, int mask)
{
    return (classes[(unsigned char)c] & mask) != 0;
}

static char at(const ptx_lexer *lexer, uint32_t position)
{
    return position < lexer->length ? lexer->text[position] : '\0';
}

void ptx_lexer_init(ptx_lexer *lexer, const char *text, uint32_t length)
{
    *lexer = (ptx_lexer){.text = text, .length = length};
}

static void fail(ptx_lexer *lexer, uint32_t where, const char *problem)
{
    lexer->problem = problem;
    lexer->problem_at = where;
    lexer->position = lexer->length;
}

static void skip_line(ptx_lexer *lexer)
{
    const char *rest = lexer->text + lexer->position;
    const char *end = memchr(rest, '\n', lexer->length - lexer->position);
    lexer->position = end == NULL ? lexer->length : (uint32_t)(end - lexer->text);
}

static void skip_block_comment(ptx_lexer *lexer)
{
    const char *end = lexer->text + lexer->length;
    const char *star = lexer->text + lexer->position + 1;
    while ((star = memchr(star + 1, '*', (size_t)(end - star - 1))) != NULL && star + 1 < end) {
        if (star[1] == '/') {
            lexer->position = (uint32_t)(star + 2 - lexer->text);
            return;
        }
    }
    fail(lexer, lexer->position, "a comment that nothing ends");
}

/* Over white space, comments, and "@@DWARF ...", the debug data of old compilers, which reaches to
   the end of the line. */
void ptx_lexer_skip_trivia(ptx_lexer *lexer)
{
    const char *text = lexer->text;
    for (;;) {
        uint32_t p = lexer->position;
        while (p < lexer->length && in_class(text[p], CLASS_SPACE)) {
            p++;
        }
        lexer->position = p;
        char c = at(lexer, p), second = c == '/' || c == '@' ? at(lexer, p + 1) : '\0';
        if (c == '/' && second == '*') {
            skip_block_comment(lexer);
        } else if (c == second && c != '\0') {
            skip_line(lexer);
        } else {
            return;
        }
    }
}

static uint32_t word_end(const ptx_lexer *lexer, uint32_t p)
{
    while (p < lexer->length && in_class(lexer->text[p], CLASS_WORD)) {
        p++;
    }
    return p;
}

static uint32_t number_end(const ptx_lexer *lexer, uint32_t begin)
{
    uint32_t p = word_end(lexer, begin);
    char next = at(lexer, p);
    if (next != '.' && next != '+' && next != '-') {
        return p;
    }
    char second = at(lexer, begin + 1);
    bool radix = at(lexer, begin) == '0' && second != '\0' && strchr("xXfFdDbB", second) != NULL;
    if (!radix && next == '.' && in_class(at(lexer, p + 1), CLASS_DIGIT)) {
        p = word_end(lexer, p + 1);
    }
    char last = at(lexer, p - 1);
    if (!radix && (last == 'e' || last == 'E') && (at(lexer, p) == '+' || at(lexer, p) == '-')) {
        p = word_end(lexer, p + 1);
    }
    return p;
}

/* A string has no escapes: ptxas takes "C:\" as it stands. */
static uint32_t string_end(ptx_lexer *lexer, uint32_t begin)
{
    for (uint32_t p = begin + 1; p < lexer->length && lexer->text[p] != '\n'; p++) {
        if (lexer->text[p] == '"') {
            return p + 1;
        }
    }
    fail(lexer, begin, "a string that nothing ends");
    return begin;
}

static uint32_t dot_word_end(const ptx_lexer *lexer, uint32_t begin)
{
    uint32_t p = word_end(lexer, begin + 1);
    while (at(lexer, p) == ':' && at(lexer, p + 1) == ':' &&
           in_class(at(lexer, p + 2), CLASS_WORD)) {
        p = word_end(lexer, p + 2);
    }
    return p;
}

static uint32_t punct_end(const ptx_lexer *lexer, uint32_t begin)
{
    char c = lexer->text[begin], second = at(lexer, begin + 1);
    bool doubled = (c == '<' || c == '>' || c == '=' || c == '&' || c == '|') && second == c;
    bool compares = (c == '<' || c == '>' || c == '!') && second == '=';
    return begin + (doubled || compares ? 2 : 1);
}

static ptx_token end_at(uint32_t place)
{
    return (ptx_token){PTX_TOKEN_END, place, place};
}

ptx_token ptx_lexer_next(ptx_lexer *lexer)
{
    ptx_lexer_skip_trivia(lexer);
    uint32_t begin = lexer->position;
    if (begin >= lexer->length) {
        return end_at(begin);
    }
    char c = lexer->text[begin];
    ptx_token token = {PTX_TOKEN_PUNCT, begin, begin};
    if (in_class(c, CLASS_DIGIT)) {
        token.kind = PTX_TOKEN_NUMBER;
        token.end = number_end(lexer, begin);
    } else if (in_class(c, CLASS_WORD_START) &&
               (c != '%' || in_class(at(lexer, begin + 1), CLASS_WORD))) {
        token.kind = PTX_TOKEN_WORD; /* "%" alone is the remainder of constant expressions */
        token.end = word_end(lexer, begin + 1);
    } else if (c == '.' && in_class(at(lexer, begin + 1), CLASS_WORD)) {
        token.kind = PTX_TOKEN_DOT_WORD;
        token.end = dot_word_end(lexer, begin);
    } else if (c == '"') {
        token.kind = PTX_TOKEN_STRING;
        token.end = string_end(lexer, begin);
    } else if (c == '#' || c == '\\' || c == '`' || c < ' ' || c > '~') {
        fail(lexer, begin,
             c == '#' ? "a preprocessor line; run the preprocessor first"
                      : "a character that PTX does not use");
    } else {
        token.end = punct_end(lexer, begin);
    }
    if (lexer->problem != NULL) {
        return end_at(begin);
    }
    lexer->position = token.end;
    return token;
}

ptx_token ptx_lexer_peek(const ptx_lexer *lexer)
{
    ptx_lexer copy = *lexer;
    return ptx_lexer_next(&copy);
}

/* Numbers and strings separated by white space or commas, as `.file` and `.loc` have them. */
static void skip_values(ptx_lexer *lexer, uint32_t *end)
{
    for (;;) {
        ptx_token next = ptx_lexer_peek(lexer);
        bool comma = ptx_token_is(lexer, next, ",");
        bool value = next.kind == PTX_TOKEN_NUMBER || next.kind == PTX_TOKEN_STRING;
        if (!value && !comma) {
            return;
        }
        if (comma) {
            ptx_lexer ahead = *lexer;
            ptx_lexer_next(&ahead);
            if (ptx_lexer_peek(&ahead).kind != PTX_TOKEN_NUMBER) {
                return; /* ", function_name ..." and ", inlined_at ..." are the caller's */
            }
        }
        *end = ptx_lexer_next(lexer).end;
    }
}

/* .loc file line column [, function_name label [+ offset], inlined_at file line column] */
static void skip_loc(ptx_lexer *lexer, uint32_t *end)
{
    skip_values(lexer, end);
    while (ptx_token_is(lexer, ptx_lexer_peek(lexer), ",")) {
        ptx_lexer_next(lexer);
        *end = ptx_lexer_next(lexer).end; /* function_name or inlined_at */
        ptx_token next = ptx_lexer_peek(lexer);
        if (next.kind == PTX_TOKEN_WORD) {
            *end = ptx_lexer_next(lexer).end;
            if (ptx_token_is(lexer, ptx_lexer_peek(lexer), "+")) {
                ptx_lexer_next(lexer);
                *end = ptx_lexer_next(lexer).end;
            }
        } else {
            skip_values(lexer, end);
        }
    }
}

static void skip_braces(ptx_lexer *lexer, uint32_t *end)
{
    size_t depth = 0;
    do {
        ptx_token token = ptx_lexer_next(lexer);
        if (token.kind == PTX_TOKEN_END) {
            return;
        }
        *end = token.end;
        depth += ptx_token_is(lexer, token, "{");
        depth -= ptx_token_is(lexer, token, "}");
    } while (depth > 0);
}

bool ptx_lexer_skip_debug(ptx_lexer *lexer, ptx_token token, uint32_t *end)
{
    *end = token.end;
    if (token.kind != PTX_TOKEN_DOT_WORD) {
        return false;
    }
    if (ptx_token_is(lexer, token, ".loc")) {
        skip_loc(lexer, end);
        return true;
    }
    if (ptx_token_is(lexer, token, ".file")) {
        skip_values(lexer, end);
        return true;
    }
    if (!ptx_token_is(lexer, token, ".section")) {
        return false;
    }
    ptx_token name = ptx_lexer_peek(lexer);
    if (name.end - name.begin < 6 || memcmp(lexer->text + name.begin, ".debug", 6) != 0) {
        return false;
    }
    *end = ptx_lexer_next(lexer).end;
    if (ptx_token_is(lexer, ptx_lexer_peek(lexer), "{")) {
        skip_braces(lexer, end);
    }
    return true;
}

void ptx_locate(int *line, int *column, const char *text, uint32_t where)
{
    *line = 1;
    uint32_t start = 0;
    for (uint32_t i = 0; i < where; i++) {
        if (text[i] == '\n') {
            *line += 1;
            start = i + 1;
        }
    }
    *column = (int)(where - start) + 1;
}
