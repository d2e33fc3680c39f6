/*
 * contraction.h: products and sums of which ptxas decides how often they round (PTX ISA 9.0, 9.7.3
 * add: "mul/add sequences with no rounding modifiers may be optimized to use fused-multiply-add").
 *
 * Seen of ptxas 13.0: it joins a product and a sum of one block when nothing but such sums reads
 * the product; of two products the sum's first operand is joined; it looks through mov and neg, and
 * from one iteration into the next where it unrolls. Fences and whatever it writes out as several
 * blocks (divisions, roots) part a block. So a product or sum that is copied, moved to another
 * block, or moved across such an instruction may round otherwise.
 */
#ifndef PTX_CONTRACTION_H
#define PTX_CONTRACTION_H

#include "ptx/module.h"

/* Types, as bits, of which the function has both products and sums without stated rounding. */
uint8_t ptx_contraction_types(const ptx_module *module, const ptx_function *function);

/* To be kept in order, where the types are not 0: READ for products and sums of these types, WRITE
   for what parts a block, NONE for all others. */
ptx_access ptx_contraction_access(const ptx_module *module, const ptx_statement *statement,
                                  uint8_t types);

#endif
