/*
 * facts.h: definitions and uses of the registers of one function, for passes that copy or move what
 * computes a value.
 */
#ifndef PTX_FACTS_H
#define PTX_FACTS_H

#include "ptx/cfg.h"
#include "ptx/dependences.h"

typedef struct ptx_definition {
    uint32_t count;     /* statements that write the register */
    uint32_t statement; /* the last of them */
    uint32_t block;     /* its block, within the function */
    /* Written once, without condition, by a pure instruction with one plain destination, at the
       level of the body; no asynchronous instruction names it. */
    bool pure;
    /* Written once and without condition: below its definition it is one value. */
    bool single;
} ptx_definition;

typedef struct ptx_facts {
    const ptx_module *module;
    const ptx_function *function;
    ptx_cfg *cfg;
    ptx_definition *definitions; /* by register id less function->first_register */
    uint32_t *use_start,
        *uses;              /* statements that read register r: uses[use_start[r] ..], in order */
    uint32_t *block_of;     /* block, within the function, of a statement of it */
    uint8_t products, sums; /* types of those whose rounding ptxas decides (contraction.c), bits */
} ptx_facts;

evocc_status ptx_facts_new(ptx_facts **out, const ptx_module *module, const ptx_function *function,
                           evocc_error *error);
void ptx_facts_free(ptx_facts *facts);

const ptx_definition *ptx_facts_definition(const ptx_facts *facts, uint32_t register_id);
uint32_t ptx_facts_block(const ptx_facts *facts, uint32_t statement);

/*
 * Contraction (PTX ISA 9.0, 9.7.3 add: "mul/add sequences with no rounding modifiers may be
 * optimized to use fused-multiply-add"). ptxas 13.0 joins a product and a sum of one block when
 * nothing but such sums reads the product; of two products the sum's first operand is joined; it
 * looks through mov and neg, and from one iteration into the next where it unrolls. So a product or
 * sum copied, or moved to another block, may round otherwise.
 */

/* The statement is a product or sum without stated rounding that may be joined with another, or
   hands such a product on. */
bool ptx_facts_may_contract(const ptx_facts *facts, uint32_t statement);

/* *out false: some such product is read in a later iteration of a loop than made it, so that
   whether a loop is unrolled (by us or by ptxas) changes results. */
evocc_status ptx_unrolls_exactly(bool *out, const ptx_module *module, const ptx_function *function,
                                 evocc_error *error);

/* Called by ptx_facts_new. */
void ptx_facts_note_contraction(ptx_facts *facts);

/* A value's pure backward slice: the definitions to repeat, each after those it needs, the value's
   own last. Stops at registers that are written once, but not purely, and at what may contract. */
enum { PTX_SLICE_MAX = 20 };
typedef struct ptx_slice {
    uint32_t statements[PTX_SLICE_MAX];
    uint32_t count;
} ptx_slice;

/* Down to `depth` levels of definitions (at least 1). False when the value has no slice of at most
   PTX_SLICE_MAX instructions that may be repeated. */
bool ptx_facts_slice(ptx_slice *out, const ptx_facts *facts, uint32_t register_id, uint32_t depth);

/* Values as sites: "v0", "v1", ... are the single pure definitions of a function in their order.
   PTX_NONE when there is no such value. */
uint32_t ptx_facts_value(const ptx_facts *facts, uint32_t number);
/* The register of that name at the level of the body; PTX_NONE when there is none. */
uint32_t ptx_facts_find(const ptx_facts *facts, const char *name, size_t length);

#endif
