/*
 * worlds.h: values for the checker. A value is what a register holds in each of several random
 * worlds: in every world the unknowns (what a block finds in registers and memory) are independent
 * random numbers, and integer arithmetic on them is carried out. Two expressions that are equal
 * give equal numbers in all worlds. No identity of algebra has to be taught: a rewriting either
 * computes the same or it does not.
 *
 * Arithmetic alone would hide what only rare numbers show: (x+255)>>8 and (x+256)>>8 are the same
 * for nearly all x. So the result of addition or multiplication is a word, and where single bits of
 * a word are taken (shifts to the right, masks, bit fields) it is first replaced by random bits
 * that are a function of the whole word. Words that differ then differ in each bit with probability
 * 1/2, and what differs in a single bit is taken for equal with probability 2^-PTX_WORLDS. The
 * price: identities between words and bits (or for add, say) are not seen.
 *
 * What is not plain integer arithmetic (floating point, comparisons, shifts by a register, loads)
 * is a fixed random function of opcode and operands. A predicate is 64 random outcomes a world.
 */
#ifndef PTX_WORLDS_H
#define PTX_WORLDS_H

#include "ptx/meaning.h"
#include "ptx/module.h"

enum { PTX_WORLDS = 16 };

typedef struct ptx_value_worlds {
    uint64_t in[PTX_WORLDS];
    bool word; /* a result of arithmetic; else its bits are independent of each other */
} ptx_worlds;

/* An unknown: the same for the same words. */
ptx_worlds ptx_worlds_unknown(const char *kind, const char *name, size_t length, uint64_t number);
ptx_worlds ptx_worlds_constant(uint64_t value);
bool ptx_worlds_equal(const ptx_worlds *a, const ptx_worlds *b);

/* A fixed random function of two values. */
ptx_worlds ptx_worlds_mix(const ptx_worlds *a, const ptx_worlds *b);
ptx_worlds ptx_worlds_mix_number(const ptx_worlds *a, uint64_t number);
/* Commutes and associates. */
void ptx_worlds_add(ptx_worlds *sum, const ptx_worlds *a);
/* `yes` where the predicate holds, else `no`. Symmetric under negation of the predicate. */
ptx_worlds ptx_worlds_select(const ptx_worlds *predicate, const ptx_worlds *yes,
                             const ptx_worlds *no);
/* The lowest `width` bits. */
void ptx_worlds_truncate(ptx_worlds *value, unsigned width);

/* The bits a register of this type holds: 1 means a predicate; 64 for what is not understood. */
unsigned ptx_register_width(const ptx_module *module, uint32_t register_id);

/* Result of a pure instruction: `sources` are its operands behind the first, in order, each leaf of
   a vector on its own. `constant[i]` says that source i is a literal. Result `index` of `results`
   (more than one for a vector or a pair p|q). */
ptx_worlds ptx_worlds_apply(const ptx_meaning *meaning, const ptx_worlds *sources,
                            const bool *constant, size_t count, unsigned result_width, size_t index,
                            size_t results);

#endif
