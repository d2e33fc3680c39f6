#include "search/marginal.h"

#include "search/exactmath.h"
#include "search/ranking.h"
#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

enum {
    /* Bounds the memory: neighbouring values share a slot where a control has more of them. */
    SLOTS_IN_ALL = 4096,
    SLOTS_LEAST = 4,
    SLOTS_MOST = 64,
    PICK_TRIES = 8
};

/* One slot for "no value" and up to `most` for the values. */
static size_t slots_of(const gene_domain *d, size_t most)
{
    return 1 + ((size_t)d->size < most ? (size_t)d->size : most);
}

static size_t slot_index(const marginal *m, size_t gene, int32_t value)
{
    size_t first = m->first_slots[gene];
    if (value == SPACE_ABSENT) {
        return first;
    }
    uint64_t values = m->first_slots[gene + 1] - first - 1;
    return first + 1 + (size_t)((uint64_t)value * values / (uint64_t)m->vary->domains[gene].size);
}

static bool take_memory(marginal *m, size_t slots)
{
    size_t genes = m->vary->count;
    size_t objectives = m->objective_count;
    m->slots = mem_alloc(slots, sizeof *m->slots);
    m->sums = mem_alloc(slots * objectives, sizeof *m->sums);
    m->rows = mem_alloc(slots + 1, sizeof *m->rows);
    m->references = mem_alloc(slots + 1, sizeof *m->references);
    m->spare = mem_alloc(slots + 1, sizeof(individual *));
    m->genes = mem_alloc(slots + 1, genes * sizeof *m->genes); /* touched as it is used */
    m->values = mem_alloc(slots + 1, objectives * sizeof *m->values);
    m->scales = mem_alloc(objectives, sizeof *m->scales);
    m->totals = mem_alloc(objectives, sizeof *m->totals);
    m->squares = mem_alloc(objectives, sizeof *m->squares);
    return m->slots != NULL && m->sums != NULL && m->rows != NULL && m->references != NULL &&
           m->spare != NULL && m->genes != NULL && m->values != NULL && m->scales != NULL &&
           m->totals != NULL && m->squares != NULL;
}

evocc_status marginal_init(marginal *m, const variation *vary, size_t objective_count,
                           size_t ranked_count, evocc_error *error)
{
    *m = (marginal){.vary = vary, .objective_count = objective_count, .ranked_count = ranked_count};
    size_t genes = vary->count;
    m->first_slots = mem_alloc(genes + 1, sizeof *m->first_slots);
    if (m->first_slots == NULL) {
        return error_no_memory(error);
    }
    size_t most = SLOTS_IN_ALL / (genes + 1);
    most = most < SLOTS_LEAST ? SLOTS_LEAST : most > SLOTS_MOST ? SLOTS_MOST : most;
    for (size_t i = 0; i < genes; i++) {
        m->first_slots[i + 1] = m->first_slots[i] + slots_of(&vary->domains[i], most);
    }
    size_t slots = m->first_slots[genes];
    if (!take_memory(m, slots)) {
        marginal_dispose(m);
        return error_no_memory(error);
    }
    for (size_t i = 0; i <= slots; i++) {
        m->rows[i].genes = m->genes + i * genes;
        m->rows[i].values = m->values + i * objective_count;
        m->spare[i] = &m->rows[i];
    }
    m->spare_count = slots + 1;
    return EVOCC_OK;
}

void marginal_dispose(marginal *m)
{
    mem_free(m->first_slots);
    mem_free(m->slots);
    mem_free(m->sums);
    mem_free(m->rows);
    mem_free(m->references);
    mem_free(m->spare);
    mem_free(m->genes);
    mem_free(m->values);
    mem_free(m->scales);
    mem_free(m->totals);
    mem_free(m->squares);
    *m = (marginal){0};
}

/* A free row always exists: with every slot holding another row, one is still left. */
static individual *copy_row(marginal *m, const individual *one)
{
    individual *row = m->spare[--m->spare_count];
    int32_t *genes = row->genes;
    double *values = row->values;
    *row = *one;
    row->genes = memcpy(genes, one->genes, m->vary->count * sizeof *genes);
    row->values = memcpy(values, one->values, m->objective_count * sizeof *values);
    m->references[row - m->rows] = 0;
    return row;
}

static void hold(marginal *m, marginal_slot *slot, individual *row)
{
    individual *before = slot->best;
    if (before != NULL && --m->references[before - m->rows] == 0) {
        m->spare[m->spare_count++] = before;
    }
    slot->best = row;
    m->references[row - m->rows]++;
}

/* Of several objectives: what dominates goes in; of two that do not, the newer one in half of the
   cases, so that a slot does not stick to one end of the front. */
static bool replaces(const marginal *m, const individual *one, const individual *held, bool toss)
{
    if (held == NULL) {
        return true;
    }
    if (m->ranked_count == 1) {
        return individual_compare(one, held) < 0;
    }
    return individual_dominates(one, held, m->ranked_count) ||
           (toss && !individual_dominates(held, one, m->ranked_count));
}

/* Logarithmic beyond the magnitude of the first trial, linear near zero, and odd: a metric may be
   zero or negative, and a candidate that is fifty times slower must not count fifty times. */
static double score(double value, double scale)
{
    double size = exact_log(1 + fabs(value) / scale);
    return value < 0 ? -size : size;
}

void marginal_add(marginal *m, const individual *one, rng *r)
{
    double scores[16];
    for (size_t k = 0; k < m->objective_count; k++) {
        if (m->count == 0) {
            m->scales[k] = fabs(one->values[k]) > 0 ? fabs(one->values[k]) : 1;
        }
        scores[k] = score(one->values[k], m->scales[k]);
        m->totals[k] += scores[k];
        m->squares[k] += scores[k] * scores[k];
    }
    m->count++;
    bool toss = rng_chance(r, 0.5);
    individual *row = NULL;
    for (size_t i = 0; i < m->vary->count; i++) {
        size_t at = slot_index(m, i, variation_effective(m->vary, one->genes, i));
        marginal_slot *slot = &m->slots[at];
        slot->count++;
        for (size_t k = 0; k < m->objective_count; k++) {
            m->sums[at * m->objective_count + k] += scores[k];
        }
        if (replaces(m, one, slot->best, toss)) {
            row = row != NULL ? row : copy_row(m, one);
            hold(m, slot, row);
        }
    }
}

const individual *marginal_pick(const marginal *m, rng *r)
{
    for (int i = 0; i < PICK_TRIES && m->vary->count > 0; i++) {
        size_t gene = variation_pick(m->vary, r);
        size_t first = m->first_slots[gene];
        const marginal_slot *slot =
            &m->slots[first + rng_below(r, m->first_slots[gene + 1] - first)];
        if (slot->best != NULL) {
            return slot->best;
        }
    }
    return NULL;
}

void marginal_importance(const marginal *m, size_t objective, double *out)
{
    double n = (double)m->count;
    double total = m->totals[objective];
    double spread = n > 0 ? m->squares[objective] - total * total / n : 0;
    for (size_t i = 0; i < m->vary->count; i++) {
        double between = n > 0 ? -(total * total / n) : 0;
        double levels = 0;
        for (size_t at = m->first_slots[i]; at < m->first_slots[i + 1]; at++) {
            double sum = m->sums[at * m->objective_count + objective];
            if (m->slots[at].count > 0) {
                between += sum * sum / (double)m->slots[at].count;
                levels++;
            }
        }
        out[i] = 0;
        if (levels > 1 && n > levels && spread > 1e-12 * m->squares[objective]) {
            double share = 1 - (1 - between / spread) * (n - 1) / (n - levels);
            out[i] = share > 0 ? share : 0;
        }
    }
}
