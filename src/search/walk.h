/*
 * walk: every assignment of a small space once, in a scattered order that depends on the seed only.
 * Finds what random variation no longer finds, and proves that nothing is left.
 */
#ifndef SEARCH_WALK_H
#define SEARCH_WALK_H

#include "space/space.h"

typedef struct walk {
    uint64_t size;    /* number of assignments; 0: too many to walk */
    uint64_t visited; /* those behind us: proposed before or forbidden, so never looked at again */
    uint64_t position, stride;
} walk;

/* Spaces of more than WALK_LIMIT assignments are not walked. */
#define WALK_LIMIT (UINT64_C(1) << 22)

void walk_init(walk *w, const evocc_space *space, uint64_t seed);

/* The next assignment, not canonical and perhaps forbidden; false at the end. */
bool walk_next(walk *w, const evocc_space *space, int32_t *genes);

#endif
