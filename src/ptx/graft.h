/*
 * graft.h: copies of instructions under fresh register names, put somewhere else in a function.
 */
#ifndef PTX_GRAFT_H
#define PTX_GRAFT_H

#include "ptx/edit.h"
#include "ptx/facts.h"

typedef struct ptx_graft {
    const ptx_facts *facts;
    ptx_edits *edits;
    char prefix[24];   /* fresh names are prefix + number; the module has no such text, not even
                             without the % */
    uint32_t next;     /* number of the next one */
    uint32_t *renamed; /* of each register of the function: its fresh number, or PTX_NONE */
    strbuf declarations;
    bool failed;
} ptx_graft;

evocc_status ptx_graft_init(ptx_graft *graft, ptx_edits *edits, const ptx_facts *facts,
                            evocc_error *error);
/* Declares the fresh registers at the start of the body. */
evocc_status ptx_graft_finish(ptx_graft *graft, evocc_error *error);
void ptx_graft_dispose(ptx_graft *graft);

/* Where something may be put in front of a statement: at the level of the body, not between a
   pragma and its instruction, in the same block. PTX_NONE when there is no such place. */
uint32_t ptx_graft_place(const ptx_facts *facts, uint32_t statement);

/* Inserts a copy of the slice before `place`; the number of the register that holds its value. */
uint32_t ptx_graft_slice(ptx_graft *graft, const ptx_slice *slice, uint32_t place);

/* The number of a fresh register of this type (".b32"). */
uint32_t ptx_graft_declare(ptx_graft *graft, const char *type);

/* Every read of the register in the statement reads the fresh one instead. */
void ptx_graft_use(ptx_graft *graft, uint32_t statement, uint32_t register_id, uint32_t fresh);

/* False when a read of the register in the statement cannot be replaced: a guard, a part of a
   vector, or an operand that is also written. */
bool ptx_graft_can_use(const ptx_facts *facts, uint32_t statement, uint32_t register_id);

#endif
