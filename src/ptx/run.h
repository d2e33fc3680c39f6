/*
 * run.h: for the checker: one function run block by block in the random worlds of worlds.h.
 */
#ifndef PTX_RUN_H
#define PTX_RUN_H

#include "ptx/cfg.h"
#include "ptx/worlds.h"

/* What is known of a register over a whole function. */
typedef struct ptx_register_facts {
    uint32_t definitions;
    uint32_t definition;   /* statement of the last one */
    uint32_t block;        /* of that one, within the function */
    bool conditional;      /* some write was guarded or partial */
    bool expandable;       /* stands for its expression wherever its definition dominates */
    bool opaque;           /* never expandable: the other module's is not */
    bool read_above;       /* some block reads it before writing it */
    bool read_loose;       /* and is not below its only definition */
    ptx_worlds expression; /* once its definition was run; an unknown unless expandable */
} ptx_register_facts;

/* A register within the block at hand. */
typedef struct ptx_register_state {
    uint32_t block; /* it was written in this block (number + 1), else stale */
    ptx_worlds value;
} ptx_register_state;

/* An instruction that does more than compute: what it is, does and meets, as one number a world. */
typedef struct ptx_deed {
    ptx_worlds worlds;
    uint32_t statement;
} ptx_deed;

/* One module while it is run. */
typedef struct ptx_run {
    const ptx_module *module;
    const ptx_function *function;
    ptx_cfg *cfg;
    ptx_meaning *meanings;     /* of module->opcodes */
    ptx_register_facts *facts; /* of the function's registers */
    ptx_register_state *state;
    ptx_worlds resources[PTX_RESOURCE_COUNT];
    ptx_worlds unordered[PTX_RESOURCE_COUNT]; /* sum of asynchronous writes since the last other */
    bool has_unordered[PTX_RESOURCE_COUNT];
    ptx_deed *deeds;
    size_t deed_count, deed_capacity;
    uint32_t *written; /* registers that the block at hand wrote, function-local numbers */
    size_t written_count, written_capacity;
    uint64_t *scope_numbers; /* of each scope of the module, see number_scopes */
    ptx_worlds *sources;     /* operands of the instruction at hand */
    bool *constant;
    size_t source_capacity, constant_capacity;
    uint32_t block;
    uint64_t
        thread_mask[3];     /* bits that %tid.x, .y, .z can have: by the ISA and the launch bound */
    const ptx_worlds *path; /* when the block at hand is run at all; NULL: always */
    bool plain;             /* no register stands for its expression */
    bool skips_fences;      /* full warp fences add nothing in the block at hand */
    bool failed;            /* out of memory */
    /* Of the rewritten side: the other one, and for each statement of the function the opcode over
       there that it is judged by, PTX_NONE for its own. NULL: all by their own. */
    const struct ptx_run *original;
    uint32_t *stand_in;
} ptx_run;

/* A scope's name: 0 for the body; 1 for all that lie within one block, whose registers nothing
   outlives; the others, which never move, are counted from 2. */
enum { PTX_SCOPE_BODY = 0, PTX_SCOPE_IN_BLOCK = 1, PTX_SCOPE_FIRST = 2 };

/* Fills in what does not depend on values. */
evocc_status ptx_run_init(ptx_run *r, const ptx_module *m, const ptx_function *f,
                          evocc_error *error);
void ptx_run_dispose(ptx_run *r);

/* Runs one block; blocks whose dominators come later see less. r->failed: out of memory. */
void ptx_run_block(ptx_run *r, uint32_t block);

/* Runs a block as if its statements stood behind those of the block before, under the predicate
   `path` (NULL: always); a branch at its end is left out when asked to. */
void ptx_run_start(ptx_run *r, uint32_t block);
void ptx_run_more(ptx_run *r, uint32_t block, const ptx_worlds *path, bool without_branch);
void ptx_run_end(ptx_run *r);

/* When the branch falls through, as worlds. */
ptx_worlds ptx_run_not_taken(const ptx_run *r, const ptx_statement *branch);
/* Learns which registers are expandable, from all blocks that can be reached; what is opaque is
 * not. */
void ptx_run_learn(ptx_run *r);

/* Forgets what the block at hand wrote, but not which registers are expandable. */
void ptx_run_forget(ptx_run *r);

/* True when more `bar.warp.sync` of all lanes would add nothing to block b: an instruction in it is
   executed by the whole warp together, so all lanes that have not exited run it from its start to
   its end, and it states no such fence and has nothing that pins all. docs/ptx-safety.md. */
bool ptx_run_admits_fences(const ptx_run *r, uint32_t b);

/* True for bra, conditional or not. */
bool ptx_run_is_branch(const ptx_run *r, const ptx_statement *s);

/* What register `id` holds after the block at hand. */
ptx_worlds ptx_run_value(const ptx_run *r, uint32_t id);

#endif
