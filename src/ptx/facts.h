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
        *uses;          /* statements that read register r: uses[use_start[r] ..], in order */
    uint32_t *block_of; /* block, within the function, of a statement of it */
    uint8_t contracted; /* as ptx_contraction_types says */
} ptx_facts;

evocc_status ptx_facts_new(ptx_facts **out, const ptx_module *module, const ptx_function *function,
                           evocc_error *error);
void ptx_facts_free(ptx_facts *facts);

const ptx_definition *ptx_facts_definition(const ptx_facts *facts, uint32_t register_id);
uint32_t ptx_facts_block(const ptx_facts *facts, uint32_t statement);

/* The statement is a product or sum without stated rounding that may be joined with another, or
   hands such a product on, or would stand between such (contraction.h). */
bool ptx_facts_may_contract(const ptx_facts *facts, uint32_t statement);

/* *out false: whether a loop is unrolled (by us or by ptxas) may change which such products are
   joined with sums, and so results. unrolling.c */
evocc_status ptx_unrolls_exactly(bool *out, const ptx_module *module, const ptx_function *function,
                                 evocc_error *error);

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
