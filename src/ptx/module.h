/*
 * module.h: the module model behind ptx.h. A module is its text plus an index over it: functions,
 * statements, operands, registers, blocks. Nothing here changes after ptx_parse.
 */
#ifndef PTX_MODULE_H
#define PTX_MODULE_H

#include "ptx/lexer.h"
#include "ptx/opcodes.h"
#include "ptx/ptx.h"
#include "util/mem.h"

#define PTX_NONE UINT32_MAX

/* Bytes begin .. end-1 of the module's text. */
typedef struct ptx_span {
    uint32_t begin, end;
} ptx_span;

typedef enum ptx_leaf_kind {
    PTX_LEAF_REGISTER,
    PTX_LEAF_SPECIAL, /* %tid.x and other predefined identifiers */
    PTX_LEAF_NUMBER,
    PTX_LEAF_SYMBOL, /* variable, parameter, function, label */
    PTX_LEAF_SINK    /* _ */
} ptx_leaf_kind;

/* One register, number or name within an operand. */
typedef struct ptx_leaf {
    ptx_span span;
    uint32_t id; /* of a register: index into module->registers; of a symbol that a jump or a list
                    of targets names: the label's statement; else PTX_NONE */
    uint8_t kind;
    bool component; /* ".x" of a vector register: a write changes a part of it */
    char sign;      /* '-', '!' or '~' before it, else 0 */
} ptx_leaf;

typedef enum ptx_shape {
    PTX_SHAPE_PLAIN,   /* one leaf */
    PTX_SHAPE_PAIR,    /* p|q */
    PTX_SHAPE_VECTOR,  /* {a, b} */
    PTX_SHAPE_ADDRESS, /* [base+offset], [map, {x, y}] */
    PTX_SHAPE_OTHER    /* (a, b), expressions, anything else */
} ptx_shape;

typedef struct ptx_operand {
    ptx_span span;
    uint32_t first_leaf, leaf_count;
    uint8_t shape;
} ptx_operand;

typedef enum ptx_statement_kind {
    PTX_INSTRUCTION,
    PTX_LABEL,
    PTX_DECLARATION, /* .reg, .local, .shared, .param, ... */
    PTX_LOC,
    PTX_PRAGMA,
    PTX_OPEN,     /* { of a nested scope */
    PTX_CLOSE,    /* } */
    PTX_DIRECTIVE /* .branchtargets, .callprototype and what is unknown */
} ptx_statement_kind;

typedef struct ptx_statement {
    ptx_span span; /* with guard and semicolon, without comments before it */
    uint8_t kind;
    bool guard_negated;
    bool referenced;    /* a label that some instruction may jump to */
    uint32_t scope;     /* index into module->scopes; of a brace: the scope it opens or closes */
    uint32_t guard;     /* register id or PTX_NONE */
    uint32_t opcode;    /* index into module->opcodes; PTX_NONE unless an instruction */
    uint32_t opcode_at; /* byte where the opcode begins, behind the guard */
    uint32_t first_operand, operand_count;
    uint32_t loc;    /* statement of the .loc in force, or PTX_NONE */
    uint32_t target; /* bra: the label's statement; brx: the label of its list; else PTX_NONE */
    uint32_t match;  /* of a brace: the statement of its partner */
} ptx_statement;

typedef struct ptx_register {
    ptx_span name, type; /* type: ".b32"; empty when not understood */
    uint32_t scope;
    bool in_flight; /* an operand of wgmma or tcgen05 somewhere in the function */
} ptx_register;

typedef struct ptx_scope {
    uint32_t parent; /* PTX_NONE for a body */
    uint32_t open;   /* statement of its { ; PTX_NONE for a body */
    uint32_t depth;  /* 0 for a body */
} ptx_scope;

/* A basic block (design: sites): statements first .. first+count-1 of the module, all of one
   function. Instructions after which a block ends stand only at its end. */
typedef struct ptx_block {
    uint32_t first, count;
    uint32_t function;
} ptx_block;

typedef struct ptx_function {
    bool entry;
    ptx_span name;
    ptx_span header; /* from .entry or .func to the byte before the { */
    ptx_span body;   /* from { to the byte behind } */
    uint32_t first_statement, statement_count;
    uint32_t first_block, block_count;
    uint32_t first_register, register_count;
    bool local_parameters; /* declares .param variables in its body, for calls */
} ptx_function;

/* A distinct opcode with its modifiers, in canonical form without white space. */
typedef struct ptx_opcode {
    const char *text; /* NUL-terminated: "ld.global.v4.b32" */
    ptx_effect effect;
} ptx_opcode;

struct ptx_module {
    char *text;
    uint32_t length;
    char *name;
    int version;
    ptx_span version_number;
    char *target;
    ptx_function *functions;
    ptx_statement *statements;
    ptx_operand *operands;
    ptx_leaf *leaves;
    ptx_register *registers;
    ptx_scope *scopes;
    ptx_block *blocks;
    ptx_opcode *opcodes;
    char **entry_names;
    size_t function_count, function_capacity;
    size_t statement_count, statement_capacity;
    size_t operand_count, operand_capacity;
    size_t leaf_count, leaf_capacity;
    size_t register_count, register_capacity;
    size_t scope_count, scope_capacity;
    size_t block_count, block_capacity;
    size_t opcode_count, opcode_capacity;
    size_t entry_count, entry_capacity;
    arena texts;
};

/* The function of an entry's name; NULL when there is none with a body. */
const ptx_function *ptx_find_entry(const ptx_module *module, const char *name, size_t length);

/* Threads that a block has (.reqntid) or has at most (.maxntid); 0: the entry does not say. */
uint32_t ptx_block_threads(const ptx_module *module, const ptx_function *function);

/* 90 for sm_90a; 0 when the target is not of that form. */
int ptx_target_number(const ptx_module *module);

/* True for a load of a parameter of the entry itself, which never changes, and not of what a call
   returns (PTX ISA 9.0, 5.1.6). */
bool ptx_loads_entry_parameter(const ptx_module *module, const ptx_function *function,
                               const ptx_statement *statement);

/* True for `.pragma "word ...";`. */
bool ptx_pragma_is(const ptx_module *module, const ptx_statement *statement, const char *word);

static inline const char *ptx_at(const ptx_module *module, ptx_span span)
{
    return module->text + span.begin;
}

static inline size_t ptx_span_length(ptx_span span)
{
    return span.end - span.begin;
}

static inline const ptx_effect *ptx_effect_of(const ptx_module *module,
                                              const ptx_statement *statement)
{
    return &module->opcodes[statement->opcode].effect;
}

#endif
