/*
 * checker.h: whether a rewritten module still computes what the original does. Knows none of the
 * passes: it runs both texts, block by block, in the random worlds of worlds.h.
 *
 * For each block it compares the effects (stores, barriers, ... with their operands, their guards
 * and the state of memory they meet), the values that later blocks may read, and the jump at the
 * end. A register that is defined once, by pure instructions from such registers, stands for its
 * expression everywhere below its definition, so that recomputing it elsewhere is seen to be the
 * same.
 *
 * Blocks are paired along the ways from the first one, so that a block of the original may have
 * several copies, as in an unrolled loop.
 *
 * Limits: between copies of blocks no value is known by its expression. What it calls different may
 * be equal for a reason it does not know; what it calls equal is equal but for a chance of about
 * 2^-16 for a single bit (worlds.h). Rules about memory are those of opcodes.c.
 */
#ifndef PTX_CHECKER_H
#define PTX_CHECKER_H

#include "ptx/module.h"

/* EVOCC_OK, or EVOCC_MISMATCH naming the entry, the block and the first difference. Allowed to
   differ: .nc of a load taken away, full warp fences where all lanes run together anyway (run.h),
   white space, comments, lines, pragmas, .version, register declarations, cache operators of loads
   and stores, and .maxnreg, .maxntid, .reqntid, .minnctapersm. */
evocc_status ptx_check(const ptx_module *original, const ptx_module *rewritten, evocc_error *error);

/* As ptx_rewrite, each pass checked against the text before it. */
evocc_status ptx_rewrite_checked(strbuf *out, const ptx_module *module, const ptx_setting *settings,
                                 size_t count, evocc_error *error);

#endif
