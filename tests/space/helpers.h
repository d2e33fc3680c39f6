/* What the tests of this room share: spaces from text, candidates from text, random spaces. */
#ifndef TESTS_SPACE_HELPERS_H
#define TESTS_SPACE_HELPERS_H

#include "space/space.h"
#include "util/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_GENES = 64 };

/* A finished space; fails the test with the message otherwise. */
evocc_space *space_of(const char *yaml);

/* Asserts that the text is refused with exactly this message. */
void assert_refused(const char *yaml, const char *message);

/* Genes of "a=1 b=x" (full names, or short ones for stage define), canonical. */
void genes_of(int32_t *genes, const evocc_space *space, const char *text);

/* The candidate's text with "define/" cut away; lives until the next call. */
const char *text_of(const evocc_space *space, const int32_t *genes);

/* A space of up to MAX_GENES controls of all kinds with conditions, parents and combinations. */
evocc_space *random_space(rng *r);
/* Genes anywhere inside the domains, canonical or not. */
void random_genes(int32_t *genes, const evocc_space *space, rng *r);

#endif
