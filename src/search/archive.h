/*
 * archive: every non-dominated valid trial within the limits, however many there are; unlike the
 * pool it forgets none of them. With one objective that is the best trial.
 */
#ifndef SEARCH_ARCHIVE_H
#define SEARCH_ARCHIVE_H

#include "search/pool.h"

typedef struct archive_entry {
    individual as; /* genes and values are the entry's own */
} archive_entry;

/* Zero-initialised apart from the three counts is empty. */
typedef struct archive {
    size_t gene_count, objective_count;
    size_t ranked_count;     /* the first so many objectives decide */
    archive_entry **entries; /* by id */
    uint64_t *ids;           /* the same order, for search_front */
    double *rows;            /* the same order: ranked values side by side, for quick comparison */
    size_t count, capacity, id_capacity, row_capacity;
    archive_entry **spare; /* reserved, not used yet */
    size_t spare_count, spare_capacity;
    size_t hint; /* the entry that dominated the last loser: often dominates the next one, too */
} archive;

/* Makes the next `offers` offers unable to fail. EVOCC_NO_MEMORY: nothing changed. */
evocc_status archive_reserve(archive *a, size_t offers, evocc_error *error);

/* Takes a copy unless it is dominated, and drops what it dominates. The final set does not depend
   on the order of offers. On EVOCC_NO_MEMORY the archive is as before. */
evocc_status archive_offer(archive *a, const individual *one, evocc_error *error);

const archive_entry *archive_find(const archive *a, uint64_t id);
void archive_remove(archive *a, uint64_t id);
void archive_dispose(archive *a);

#endif
