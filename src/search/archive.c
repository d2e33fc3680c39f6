#include "search/archive.h"

#include "search/ranking.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* Whether the values of one row are nowhere above those of the other: necessary for domination, and
   nearly always false. */
static bool is_below(const double *a, const double *b, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (a[k] > b[k]) {
            return false;
        }
    }
    return true;
}

static bool is_dominated(archive *a, const individual *one)
{
    size_t width = a->ranked_count;
    for (size_t k = 0; k < a->count; k++) {
        size_t i = a->hint + k < a->count ? a->hint + k : a->hint + k - a->count;
        if (is_below(a->rows + i * width, one->values, width) &&
            individual_dominates(&a->entries[i]->as, one, width)) {
            a->hint = i;
            return true;
        }
    }
    return false;
}

static void entry_free(archive_entry *entry)
{
    if (entry != NULL) {
        mem_free(entry->as.genes);
        mem_free(entry->as.values);
        mem_free(entry);
    }
}

static archive_entry *entry_new(const archive *a)
{
    archive_entry *entry = mem_alloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->as.genes = mem_alloc(a->gene_count, sizeof *entry->as.genes);
    entry->as.values = mem_alloc(a->objective_count, sizeof *entry->as.values);
    if (entry->as.genes == NULL || entry->as.values == NULL) {
        entry_free(entry);
        return NULL;
    }
    return entry;
}

evocc_status archive_reserve(archive *a, size_t offers, evocc_error *error)
{
    size_t count = a->count + offers;
    if (!mem_grow(&a->entries, &a->capacity, count, sizeof *a->entries) ||
        !mem_grow(&a->ids, &a->id_capacity, count, sizeof *a->ids) ||
        !mem_grow(&a->rows, &a->row_capacity, count, a->ranked_count * sizeof *a->rows) ||
        !mem_grow(&a->spare, &a->spare_capacity, offers, sizeof *a->spare)) {
        return error_no_memory(error);
    }
    while (a->spare_count < offers) {
        archive_entry *entry = entry_new(a);
        if (entry == NULL) {
            return error_no_memory(error);
        }
        a->spare[a->spare_count++] = entry;
    }
    return EVOCC_OK;
}

static archive_entry *entry_fill(archive *a, const individual *one)
{
    archive_entry *entry = a->spare[--a->spare_count];
    int32_t *genes = entry->as.genes;
    double *values = entry->as.values;
    entry->as = *one;
    entry->as.genes = memcpy(genes, one->genes, a->gene_count * sizeof *genes);
    entry->as.values = memcpy(values, one->values, a->objective_count * sizeof *values);
    return entry;
}

static void drop_dominated(archive *a, const individual *by)
{
    size_t width = a->ranked_count;
    size_t kept = 0;
    for (size_t i = 0; i < a->count; i++) {
        double *row = a->rows + i * width;
        if (is_below(by->values, row, width) &&
            individual_dominates(by, &a->entries[i]->as, width)) {
            entry_free(a->entries[i]);
            continue;
        }
        if (kept < i) {
            a->entries[kept] = a->entries[i];
            a->ids[kept] = a->ids[i];
            memmove(a->rows + kept * width, row, width * sizeof *row);
        }
        kept++;
    }
    a->count = kept;
}

/* First entry whose id is not below. */
static size_t lower_bound(const archive *a, uint64_t id)
{
    size_t low = 0;
    size_t high = a->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->entries[middle]->as.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void insert(archive *a, archive_entry *entry)
{
    size_t width = a->ranked_count;
    size_t at = lower_bound(a, entry->as.id);
    size_t behind = a->count - at;
    double *row = a->rows + at * width;
    memmove(a->entries + at + 1, a->entries + at, behind * sizeof *a->entries);
    memmove(a->ids + at + 1, a->ids + at, behind * sizeof *a->ids);
    memmove(row + width, row, behind * width * sizeof *row);
    a->entries[at] = entry;
    a->ids[at] = entry->as.id;
    memcpy(row, entry->as.values, width * sizeof *row);
    a->count++;
    a->hint = 0;
}

evocc_status archive_offer(archive *a, const individual *one, evocc_error *error)
{
    if (one->violation > 0 || is_dominated(a, one)) {
        return EVOCC_OK;
    }
    evocc_status status = archive_reserve(a, 1, error);
    if (status != EVOCC_OK) {
        return status;
    }
    drop_dominated(a, one);
    insert(a, entry_fill(a, one));
    return EVOCC_OK;
}

const archive_entry *archive_find(const archive *a, uint64_t id)
{
    size_t at = lower_bound(a, id);
    return at < a->count && a->entries[at]->as.id == id ? a->entries[at] : NULL;
}

void archive_remove(archive *a, uint64_t id)
{
    size_t width = a->ranked_count;
    size_t at = lower_bound(a, id);
    if (at == a->count || a->entries[at]->as.id != id) {
        return;
    }
    entry_free(a->entries[at]);
    a->count--;
    size_t behind = a->count - at;
    double *row = a->rows + at * width;
    memmove(a->entries + at, a->entries + at + 1, behind * sizeof *a->entries);
    memmove(a->ids + at, a->ids + at + 1, behind * sizeof *a->ids);
    memmove(row, row + width, behind * width * sizeof *row);
    a->hint = 0;
}

void archive_dispose(archive *a)
{
    for (size_t i = 0; i < a->count; i++) {
        entry_free(a->entries[i]);
    }
    for (size_t i = 0; i < a->spare_count; i++) {
        entry_free(a->spare[i]);
    }
    mem_free(a->spare);
    mem_free(a->entries);
    mem_free(a->ids);
    mem_free(a->rows);
    *a = (archive){0};
}
