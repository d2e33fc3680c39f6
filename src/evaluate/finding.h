/* finding.h: what became of one compilation, and a memo of them. */
#ifndef EVALUATE_FINDING_H
#define EVALUATE_FINDING_H

#include "evaluate/evaluate.h"
#include "util/map.h"
#include "util/mem.h"

/* Results are made from it. */
typedef struct finding {
    hash128 key; /* of everything that the compiler was told */
    evocc_outcome outcome;
    double metrics[EVALUATE_STATIC_COUNT];
    char code_hash[HASH_SHA256_TEXT];
    const char *detail; /* borrowed; in the memo: its own */
    double wall_s;
} finding;

/* OK, without metrics, code and detail. */
void finding_init(finding *f);

/* Fills in the metrics that the compiler's own words give: of one entry, or of all added up. */
void finding_take_stats(finding *f, const compiler_stats *stats, const char *entry);

/* Zero-initialised: empty. */
typedef struct memo {
    map by_key;
    const finding **items;
    size_t count, capacity;
    arena texts;
} memo;

/* NULL when it is not there; lives as long as the memo. */
const finding *memo_find(const memo *m, hash128 key);

/* Copies it, unless its key is there or its outcome says nothing about the candidate (time or
   memory ran out, cancelled). */
evocc_status memo_add(memo *m, const finding *f, evocc_error *error);
void memo_dispose(memo *m);

#endif
