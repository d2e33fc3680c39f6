/*
 * parse.h: what the parts of the parser share: module.c (module level, functions, blocks), body.c
 * (statements, operands), names.c (what names mean) and keep.c (statements that were read before).
 */
#ifndef PTX_PARSE_H
#define PTX_PARSE_H

#include "ptx/edit.h"
#include "ptx/module.h"
#include "util/map.h"

/* A name with a count: ".reg .b32 %r<10>" stands for %r0 .. %r9. */
typedef struct parse_range {
    ptx_span prefix, type;
    uint64_t count;
    size_t next;   /* an older range of the same scope, or MAP_NONE */
    size_t family; /* the oldest range of this prefix in the scope: they share their registers */
} parse_range;

/* Names declared in one scope. Live only while its function is read. */
typedef struct parse_names {
    map registers; /* declared one by one: name -> register id */
    map labels;    /* name -> statement */
    size_t ranges; /* newest range, or MAP_NONE */
} parse_names;

/* Registers of ranges. */
typedef struct parse_numbers {
    struct parse_number *slots;
    size_t count, capacity;
} parse_numbers;

/* The statements of an older text, of which this one is an edition. See keep.c. */
typedef struct parse_kept {
    const ptx_module *old; /* NULL: there is none */
    ptx_shift shift;       /* where things of the old text are now */
    uint32_t next_function;
    const ptx_function *function; /* the old one that is read again, while active */
    bool active;
    uint32_t statement, end; /* its next statement; behind its last */
    uint32_t seen;           /* its declaration or brace that was read last */
    ptx_span absent;         /* of the text: is nowhere in its body */
    uint32_t *registers;     /* of an old register of this function: its id now, or PTX_NONE */
    uint32_t *opcodes;       /* likewise */
} parse_kept;

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
    parse_numbers numbers;
    map opcodes; /* text -> opcode */
    uint32_t loc;
    parse_kept kept;
} parser;

/* Room for one item more; most items need no call. */
#define PARSE_ROOM(array, count, capacity) \
    ((count) < (capacity) || mem_grow(&(array), &(capacity), (count) + 1, sizeof *(array)))

/* EVOCC_PARSE at a byte of the text; returns false for `return parse_fail(...)`. */
bool parse_fail(parser *p, uint32_t where, const char *format, ...) EVOCC_PRINTF(3, 4);
bool parse_no_memory(parser *p);

/* ---- names.c --------------------------------------------------------------------------------- */

/* Enters a scope whose parent is the current one; leaves it again. */
bool parse_enter_scope(parser *p);
void parse_leave_scope(parser *p);
/* At the end of a function. */
void parse_forget_names(parser *p);

/* In the current scope: one name, or a prefix with a count. */
bool parse_declare_one(parser *p, ptx_span name, ptx_span type);
bool parse_declare_range(parser *p, ptx_span prefix, ptx_span type, uint64_t count);

/* The register a name means here, or PTX_NONE in *id. False: out of memory. */
bool parse_resolve(parser *p, ptx_span name, uint32_t *id);

/* A label of the current scope that stands for the statement to come; and what a label names. */
bool parse_add_label(parser *p, ptx_span name);
uint32_t parse_find_label(const parser *p, uint32_t scope, ptx_span name);

/* ---- body.c ---------------------------------------------------------------------------------- */

/* `.reg .v2 .b32 %a, %b<4>` from behind `.reg` up to a token that is none of it. */
bool parse_registers(parser *p);

/* The statements of a body from behind its { to behind its }. */
bool parse_body(parser *p);

/* Resolves branch targets once the whole body is known. */
bool parse_targets(parser *p);

bool parse_add_statement(parser *p, const ptx_statement *statement);
/* The number of an opcode. Opcodes are few: each text is described once, by `effect` where that is
   known (else NULL). */
bool parse_opcode(parser *p, const char *text, size_t length, const ptx_effect *effect,
                  uint32_t *out);
/* What follows from a statement whose registers stay in use. */
void parse_mark_in_flight(parser *p, const ptx_statement *s);

/* ---- keep.c ---------------------------------------------------------------------------------- */

bool parse_kept_init(parser *p, const ptx_module *old, const ptx_edits *edits);
void parse_kept_dispose(parser *p);

/* At the { of a function's body: decides whether its old statements can be used. */
void parse_kept_enter(parser *p);

/* A brace at this byte, or a name that is declared. */
void parse_kept_brace(parser *p, uint32_t at);
void parse_kept_declares(parser *p, ptx_span name);

/* Takes the statement at the lexer's position from the old module if it stood there unchanged.
   False: it did not, or p->status says what is wrong. */
bool parse_keep(parser *p);

#endif
