/*
 * cfg.h: control flow of one function: edges, dominators, natural loops. Blocks are numbered from 0
 * within the function.
 * Dominators after K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
 */
#ifndef PTX_CFG_H
#define PTX_CFG_H

#include "ptx/module.h"

typedef struct ptx_cfg {
    const ptx_function *function;
    uint32_t count;
    /* Edges as compressed rows: successors of b are successor[successor_start[b] ..]. */
    uint32_t *successor_start, *successor, *predecessor_start, *predecessor;
    uint32_t *order; /* reachable blocks in reverse postorder */
    uint32_t order_count;
    uint32_t *number;    /* place of a block in `order`; PTX_NONE: unreachable */
    uint32_t *dominator; /* immediate dominator; of the first block itself; PTX_NONE: unreachable */
    uint32_t *enter;     /* place in a preorder of the dominator tree */
    uint32_t *leave;     /* first place behind the blocks that it dominates */
    uint32_t *loop;      /* header of the innermost loop around a block; PTX_NONE: none */
    uint32_t *parent_loop; /* of a header: header of the loop around its loop; PTX_NONE: none */
    uint32_t *depth;       /* number of loops around a block */
} ptx_cfg;

evocc_status ptx_cfg_new(ptx_cfg **out, const ptx_module *module, const ptx_function *function,
                         evocc_error *error);
void ptx_cfg_free(ptx_cfg *cfg);

/* True when every path to b goes through a. Both reachable; a block dominates itself. */
bool ptx_cfg_dominates(const ptx_cfg *cfg, uint32_t a, uint32_t b);

/* True when block b lies in the loop of this header. */
bool ptx_cfg_in_loop(const ptx_cfg *cfg, uint32_t header, uint32_t b);

/* The block, within the function, that holds a statement. */
uint32_t ptx_block_of(const ptx_module *module, const ptx_function *function, uint32_t statement);

#endif
