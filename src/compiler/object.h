/* object.h: the size and the identity of a host program or object file (ELF). */
#ifndef COMPILER_OBJECT_H
#define COMPILER_OBJECT_H

#include "util/hash.h"

#include <evocc/evocc.h>

/* Adds one file's bytes (every section that is loaded and takes room in the file: code, constants,
   data, unwind tables) to *code_bytes, and its loaded sections to the sum; build ids are left out,
   as they differ where the code does not. EVOCC_PARSE when it is no ELF file. */
evocc_status object_add(double *code_bytes, hash_sha256_state *sum, const void *data, size_t length,
                        const char *name, evocc_error *error);

#endif
