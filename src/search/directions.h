/*
 * directions: reference directions on the unit simplex.
 * Sources: I. Das, J. Dennis, "Normal-boundary intersection", SIAM J. Optim. 8(3), 1998; the
 * second, inner layer for many objectives: K. Deb, H. Jain, IEEE TEVC 18(4), 2014, section IV-A.
 */
#ifndef SEARCH_DIRECTIONS_H
#define SEARCH_DIRECTIONS_H

#include <evocc/evocc.h>

/* About `wanted` directions (never more, except that there is always one per objective), each of
   unit length, count * dimensions numbers, the caller's (mem_free). A larger weight draws the
   directions towards small values of that objective; the axes stay where they are. */
evocc_status directions_new(double **out, size_t *count, size_t dimensions, size_t wanted,
                            const double *weights, evocc_error *error);

#endif
