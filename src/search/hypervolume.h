/*
 * hypervolume: the volume that a set of points dominates up to a reference point, exactly.
 * Source: J. Knowles, "Local-search and hybrid evolutionary algorithms for Pareto optimization",
 * PhD thesis, 2002; L. While et al., "A faster algorithm for calculating hypervolume", IEEE TEVC
 * 10(1), 2006 (slicing objectives one by one). Meant for 2 to 4 objectives: n points cost about
 * n^(objectives - 1).
 */
#ifndef SEARCH_HYPERVOLUME_H
#define SEARCH_HYPERVOLUME_H

#include <stddef.h>

/* How many size_t of scratch hypervolume() needs. */
size_t hypervolume_scratch(size_t count, size_t objectives);

/* `points`: count rows of `objectives` numbers, minimised. Points beyond the reference count
   nothing. */
double hypervolume(const double *points, size_t count, size_t objectives, const double *reference,
                   size_t *scratch);

#endif
