/*
 * opcodes.h: what an instruction does besides computing its result: which memory it touches, what
 * it waits for, which operands it writes. One table; an opcode that is not in it counts as a full
 * barrier, so nothing unknown ever moves. docs/ptx-safety.md explains the rules.
 */
#ifndef PTX_OPCODES_H
#define PTX_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What instructions can conflict over besides registers. */
typedef enum ptx_resource {
    PTX_CARRY,  /* the condition code of add.cc and its kin */
    PTX_GLOBAL, /* memory by state space; a generic access touches all but PTX_CONSTANT */
    PTX_SHARED, /* shared::cta and shared::cluster */
    PTX_LOCAL,
    PTX_PARAM,       /* parameters of calls; an entry's own are constant, see effects_of */
    PTX_READ_ONLY,   /* ld.global.nc, tex: constant while no one synchronises */
    PTX_CONVERGENCE, /* which threads execute together */
    PTX_COPIES,      /* cp.async groups */
    PTX_MATRIX,      /* order of wgmma.* */
    PTX_IN_FLIGHT,   /* registers that wgmma and tcgen05 read and write after the instruction */
    PTX_TENSOR,      /* tensor memory and order of tcgen05.* */
    PTX_PLACE,       /* labels that only debuggers know: in order with each other */
    PTX_ROUNDING, /* how products and sums round; of no effect's own, see ptx_contraction_access */
    PTX_RESOURCE_COUNT
} ptx_resource;

/* Accesses of one kind commute with each other, except writes. */
typedef enum ptx_access {
    PTX_ACCESS_NONE,
    PTX_ACCESS_READ,
    PTX_ACCESS_ASYNC, /* writes that the ISA leaves unordered among themselves */
    PTX_ACCESS_WRITE
} ptx_access;

/* Which top-level operands an instruction writes. */
typedef enum ptx_destination {
    PTX_WRITES_NOTHING,
    PTX_WRITES_FIRST,
    PTX_UPDATES_FIRST, /* reads and writes it; also where it is not certain that it writes */
    PTX_UPDATES_ALL    /* of opcodes that are not known */
} ptx_destination;

typedef struct ptx_effect {
    bool barrier; /* nothing moves across, not even arithmetic */
    bool pure;    /* result depends on the operands alone; no effect; may be repeated or dropped */
    bool terminator;                    /* ends a basic block */
    bool in_flight;                     /* its registers stay in use after it, until a wait */
    uint8_t destination;                /* ptx_destination */
    uint8_t access[PTX_RESOURCE_COUNT]; /* ptx_access */
    const char *reason; /* why it is pinned, one or two words; NULL for pure instructions */
} ptx_effect;

/* `opcode` with all modifiers: "ld.global.v4.b32". */
ptx_effect ptx_effect_lookup(const char *opcode);

/* Special registers whose value is the same throughout a thread's life: %tid.x, %laneid, ... */
bool ptx_special_is_constant(const char *name, size_t length);

/* True when `modifier` (".volatile") is one of the dotted parts of `opcode`. */
bool ptx_opcode_has(const char *opcode, const char *modifier);

#endif
