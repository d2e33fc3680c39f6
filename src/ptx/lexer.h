/*
 * lexer.h: the tokens of PTX (PTX ISA, "Syntax"). Streaming: one token at a time, nothing
 * allocated.
 */
#ifndef PTX_LEXER_H
#define PTX_LEXER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum ptx_token_kind {
    PTX_TOKEN_END,  /* the end of the text, or a problem: see ptx_lexer.problem */
    PTX_TOKEN_WORD, /* identifier or opcode: letters, digits, _ $ %, not starting with a digit */
    PTX_TOKEN_DOT_WORD, /* ".global", ".shared::cta", ".m64n64k16" */
    PTX_TOKEN_NUMBER,   /* "12", "0x1F", "0f3F800000", "8.7", "1e-3" */
    PTX_TOKEN_STRING,   /* with its quotes */
    PTX_TOKEN_PUNCT     /* one character, or one of << >> <= >= == != && || */
} ptx_token_kind;

/* Bytes begin .. end-1 of the text. */
typedef struct ptx_token {
    ptx_token_kind kind;
    uint32_t begin, end;
} ptx_token;

typedef struct ptx_lexer {
    const char *text; /* borrowed; `length` bytes, need not end in NUL */
    uint32_t length;
    uint32_t position;
    const char *problem; /* NULL, or what is wrong at problem_at; it ends the tokens */
    uint32_t problem_at;
} ptx_lexer;

void ptx_lexer_init(ptx_lexer *lexer, const char *text, uint32_t length);

/* The next token. Comments, white space and "@@DWARF" lines are passed over. */
ptx_token ptx_lexer_next(ptx_lexer *lexer);

/* The next token without consuming it. */
ptx_token ptx_lexer_peek(const ptx_lexer *lexer);

/* Passes over what stands before the next token; `position` is then where that begins. */
void ptx_lexer_skip_trivia(ptx_lexer *lexer);

/* In the header so that the length of a literal is a constant. */
static inline bool ptx_token_is(const ptx_lexer *lexer, ptx_token token, const char *text)
{
    size_t length = strlen(text);
    return token.kind != PTX_TOKEN_END && token.end - token.begin == length &&
           memcmp(lexer->text + token.begin, text, length) == 0;
}

/* When `token` begins a `.loc`, a `.file` or a `.section .debug*`, consumes the rest of it, sets
   *end to the byte behind it and returns true. These carry line information and nothing else (PTX
   ISA, "Debugging Directives"); none of them ends in a semicolon. */
bool ptx_lexer_skip_debug(ptx_lexer *lexer, ptx_token token, uint32_t *end);

/* Line and column, from 1, of a byte. */
void ptx_locate(int *line, int *column, const char *text, uint32_t at);

#endif
