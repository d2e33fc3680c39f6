/*
 * meaning.h: what the checker knows of opcodes and literals.
 */
#ifndef PTX_MEANING_H
#define PTX_MEANING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the checker can compute. */
typedef enum ptx_meaning_kind {
    PTX_MEANS_OPAQUE,
    PTX_MEANS_COMMUTATIVE, /* opaque, but the first two sources may be exchanged */
    PTX_MEANS_MOVE,
    PTX_MEANS_ADD,
    PTX_MEANS_SUBTRACT,
    PTX_MEANS_NEGATE,
    PTX_MEANS_MULTIPLY, /* low half, or all of it when wide */
    PTX_MEANS_MULTIPLY_ADD,
    PTX_MEANS_SHIFT_LEFT,
    PTX_MEANS_SHIFT_RIGHT,
    PTX_MEANS_AND,
    PTX_MEANS_OR,
    PTX_MEANS_XOR,
    PTX_MEANS_NOT,
    PTX_MEANS_LOOKUP, /* lop3 */
    PTX_MEANS_EXTRACT,
    PTX_MEANS_CONVERT,
    PTX_MEANS_SELECT,
    PTX_MEANS_COMPARE,
    PTX_MEANS_COUNT
} ptx_meaning_kind;

/* What the checker knows about an opcode. */
typedef struct ptx_meaning {
    uint8_t kind;                /* ptx_meaning_kind */
    uint8_t width, result_width; /* bits of sources and of the result; 0: as the register */
    bool is_signed;
    uint64_t hash; /* of the opcode without what only concerns caches */
} ptx_meaning;

ptx_meaning ptx_meaning_of(const char *opcode);

/* Bytes of one element of a weak vector load or store; 0 for every other opcode. Its hash is that
   of the scalar opcode. */
uint32_t ptx_element_bytes(const char *opcode);

/* The width in bits of an integer type without its dot ("s32"), and whether it is signed; a
   predicate has width 1. False for all else. */
bool ptx_integer_type(const char *part, size_t length, unsigned *width, bool *is_signed);

/* The bits of a literal ("-12" without its sign, "0x1F", "0f3F800000"); false when not understood.
 */
bool ptx_literal(uint64_t *out, const char *text, size_t length);

#endif
