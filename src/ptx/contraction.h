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

#include "ptx/facts.h"

typedef enum ptx_rounding_form {
    PTX_ROUNDS_NOT,
    PTX_PRODUCT, /* mul without stated rounding */
    PTX_SUM,     /* add or sub without stated rounding */
    PTX_COPY     /* mov or neg, which ptxas looks through */
} ptx_rounding_form;

/* `*type`: a bit for the type of a product or sum, else 0. */
ptx_rounding_form ptx_rounding_form_of(uint8_t *type, const ptx_module *module,
                                       const ptx_statement *statement);

/* True for what keeps a product and a sum around it apart. */
bool ptx_rounding_parts_block(const char *opcode);

/* The register of a plain operand; PTX_NONE for others, and where there is none. */
uint32_t ptx_plain_register(const ptx_module *module, const ptx_statement *statement,
                            uint32_t operand);

/* The register may hold a product of the type, or what hands one on. */
bool ptx_facts_from_product(const ptx_facts *facts, uint32_t register_id, uint8_t type);

/* Types, as bits, of which the function has both products and sums without stated rounding. */
uint8_t ptx_contraction_types(const ptx_module *module, const ptx_function *function);

/* To be kept in order, where the types are not 0: READ for products and sums of these types, WRITE
   for what parts a block, NONE for all others. */
ptx_access ptx_contraction_access(const ptx_module *module, const ptx_statement *statement,
                                  uint8_t types);

#endif
