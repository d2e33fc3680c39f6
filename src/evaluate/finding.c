#include "evaluate/finding.h"

#include "util/error.h"

#include <math.h>
#include <string.h>

void finding_init(finding *f)
{
    *f = (finding){.outcome = EVOCC_OUTCOME_OK, .detail = ""};
    for (size_t i = 0; i < EVALUATE_STATIC_COUNT; i++) {
        f->metrics[i] = (double)NAN;
    }
}

/* NAN from here on when one part is unknown. */
static double known_sum(double a, double b)
{
    return a + (b >= 0.0 ? b : (double)NAN);
}

/* One entry's numbers, or those of all entries added up. Spills of device functions are added: the
   compiler does not say who calls them, and an entry's frame does not hold them. */
void finding_take_stats(finding *f, const compiler_stats *stats, const char *entry)
{
    bool found = false;
    double sums[EVALUATE_STATIC_COUNT] = {0};
    for (size_t i = 0; i < stats->count; i++) {
        const compiler_entry_stats *s = &stats->entries[i];
        if (!s->is_function && entry != NULL && strcmp(s->entry, entry) != 0) {
            continue;
        }
        double *spills = &sums[EVALUATE_SPILL_BYTES];
        *spills = known_sum(known_sum(*spills, s->spill_store_bytes), s->spill_load_bytes);
        if (s->is_function) {
            continue;
        }
        found = true;
        sums[EVALUATE_REGISTERS] = known_sum(sums[EVALUATE_REGISTERS], s->registers);
        sums[EVALUATE_STACK_BYTES] = known_sum(sums[EVALUATE_STACK_BYTES], s->stack_bytes);
        sums[EVALUATE_SHARED_BYTES] = known_sum(sums[EVALUATE_SHARED_BYTES], s->shared_bytes);
    }
    static const int told[] = {EVALUATE_REGISTERS, EVALUATE_SPILL_BYTES, EVALUATE_STACK_BYTES,
                               EVALUATE_SHARED_BYTES};
    for (size_t i = 0; i < sizeof told / sizeof *told && found; i++) {
        f->metrics[told[i]] = sums[told[i]];
    }
}

/* ---- Memo --------------------------------------------------------------------------------- */

const finding *memo_find(const memo *m, hash128 key)
{
    size_t index = map_get(&m->by_key, (const char *)&key, sizeof key);
    return index != MAP_NONE ? m->items[index] : NULL;
}

static bool is_final(evocc_outcome outcome)
{
    return outcome == EVOCC_OUTCOME_OK || outcome == EVOCC_OUTCOME_COMPILE_FAILED ||
           outcome == EVOCC_OUTCOME_COMPILER_CRASHED;
}

evocc_status memo_add(memo *m, const finding *f, evocc_error *error)
{
    if (!is_final(f->outcome) || memo_find(m, f->key) != NULL) {
        return EVOCC_OK;
    }
    finding *copy = arena_alloc(&m->texts, 1, sizeof *copy);
    const char *detail = f->detail[0] == '\0' ? "" : arena_strdup(&m->texts, f->detail);
    if (copy == NULL || detail == NULL ||
        !mem_grow(&m->items, &m->capacity, m->count + 1, sizeof *m->items)) {
        return error_no_memory(error);
    }
    *copy = *f;
    copy->detail = detail;
    if (!map_put(&m->by_key, (const char *)&copy->key, sizeof copy->key, m->count)) {
        return error_no_memory(error);
    }
    m->items[m->count++] = copy;
    return EVOCC_OK;
}

void memo_dispose(memo *m)
{
    map_dispose(&m->by_key);
    mem_free(m->items);
    arena_dispose(&m->texts);
    *m = (memo){0};
}
