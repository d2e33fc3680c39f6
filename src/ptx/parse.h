/*
 * parse.h: what the two halves of the parser share: module.c (module level, functions, blocks) and
 * body.c (statements, operands, names).
 */
#ifndef PTX_PARSE_H
#define PTX_PARSE_H

#include "ptx/module.h"
#include "util/map.h"

/* A name with a count: ".reg .b32 %r<10>" stands for %r0 .. %r9. */
typedef struct parse_range {
    ptx_span prefix, type;
    uint64_t count;
    size_t next; /* an older range of the same scope, or MAP_NONE */
} parse_range;

/* Names declared in one scope. Live only while its function is read. */
typedef struct parse_names {
    map registers; /* name -> register id */
    map labels;    /* name -> statement */
    size_t ranges; /* newest range, or MAP_NONE */
} parse_names;

typedef struct parser {
    ptx_module *module;
    ptx_lexer lexer;
    evocc_error *error;
    evocc_status status; /* of the first thing that went wrong */
    ptx_function *function;
    parse_names
        *names; /* one for each scope of the function; names[i] is of scope first_scope + i */
    size_t name_count, name_capacity;
    uint32_t first_scope, scope;
    parse_range *ranges;
    size_t range_count, range_capacity;
    map opcodes; /* text -> opcode */
    uint32_t loc;
} parser;

/* EVOCC_PARSE at a byte of the text; returns false for `return parse_fail(...)`. */
bool parse_fail(parser *p, uint32_t where, const char *format, ...) EVOCC_PRINTF(3, 4);
bool parse_no_memory(parser *p);

/* Enters a scope whose parent is the current one; leaves it again. */
bool parse_enter_scope(parser *p);
void parse_leave_scope(parser *p);

/* `.reg .v2 .b32 %a, %b<4>` from behind `.reg` up to a token that is none of it. */
bool parse_registers(parser *p);

/* The statements of a body from behind its { to behind its }. */
bool parse_body(parser *p);

/* Resolves branch targets once the whole body is known. */
bool parse_targets(parser *p);

#endif
