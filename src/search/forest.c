#include "search/forest.h"

#include "util/error.h"
#include "util/mem.h"

#include <string.h>

enum {
    LEAF_ROWS = 3, /* a node with fewer than twice as many is not split */
    /* A binary tree with FOREST_ROWS / LEAF_ROWS leaves at most. */
    TREE_NODES = 2 * FOREST_ROWS / LEAF_ROWS + 2,
    SPLITS = 6 /* random splits compared at a node, of different genes as far as there are any */
};

evocc_status forest_init(forest *f, const variation *vary, evocc_error *error)
{
    *f = (forest){.vary = vary};
    f->rows = mem_alloc(FOREST_ROWS, vary->count * sizeof *f->rows);
    f->targets = mem_alloc(FOREST_ROWS, sizeof *f->targets);
    f->order = mem_alloc(FOREST_ROWS, sizeof *f->order);
    f->nodes = mem_alloc(FOREST_TREES * TREE_NODES, sizeof *f->nodes);
    if (f->rows == NULL || f->targets == NULL || f->order == NULL || f->nodes == NULL) {
        forest_dispose(f);
        return error_no_memory(error);
    }
    return EVOCC_OK;
}

void forest_dispose(forest *f)
{
    mem_free(f->rows);
    mem_free(f->targets);
    mem_free(f->order);
    mem_free(f->nodes);
    *f = (forest){0};
}

double *forest_add(forest *f, const int32_t *genes)
{
    size_t row = f->next_row;
    for (size_t i = 0; i < f->vary->count; i++) {
        f->rows[row * f->vary->count + i] = variation_effective(f->vary, genes, i);
    }
    f->next_row = (row + 1) % FOREST_ROWS;
    f->row_count += f->row_count < FOREST_ROWS ? 1 : 0;
    return &f->targets[row];
}

typedef struct split {
    int32_t gene, value;
    double gain;
} split;

static bool goes_left(const forest *f, int32_t gene, int32_t value, int32_t x)
{
    return f->vary->domains[gene].ordered ? x <= value : x == value;
}

/* A random split of these rows by one gene; false when all rows agree on it. */
static bool draw_split(const forest *f, rng *r, const uint32_t *rows, size_t count, split *out)
{
    const int32_t *column = f->rows + out->gene;
    size_t width = f->vary->count;
    int32_t low = column[rows[0] * width];
    int32_t high = low;
    for (size_t i = 1; i < count; i++) {
        int32_t x = column[rows[i] * width];
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    if (low == high) {
        return false;
    }
    if (f->vary->domains[out->gene].ordered) {
        out->value = low + (int32_t)rng_below(r, (uint64_t)(high - low));
    } else {
        out->value = column[rows[rng_below(r, count)] * width];
    }
    double sums[2] = {0};
    size_t counts[2] = {0};
    for (size_t i = 0; i < count; i++) {
        bool left = goes_left(f, out->gene, out->value, column[rows[i] * width]);
        sums[left] += f->targets[rows[i]];
        counts[left]++;
    }
    if (counts[0] < LEAF_ROWS || counts[1] < LEAF_ROWS) {
        return false;
    }
    /* Maximal where the variance within the parts is minimal. */
    out->gain = sums[0] * sums[0] / (double)counts[0] + sums[1] * sums[1] / (double)counts[1];
    return true;
}

static bool best_split(const forest *f, rng *r, const uint32_t *rows, size_t count, split *best)
{
    bool found = false;
    int drawn = 0;
    for (size_t tries = 0; drawn < SPLITS && tries < 3 * SPLITS; tries++) {
        split s = {.gene = (int32_t)rng_below(r, f->vary->count)};
        if (!draw_split(f, r, rows, count, &s)) {
            continue;
        }
        drawn++;
        if (!found || s.gain > best->gain) {
            *best = s;
            found = true;
        }
    }
    return found;
}

static size_t partition(const forest *f, uint32_t *rows, size_t count, const split *s)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t x = f->rows[rows[i] * f->vary->count + (size_t)s->gene];
        if (goes_left(f, s->gene, s->value, x)) {
            uint32_t held = rows[left];
            rows[left++] = rows[i];
            rows[i] = held;
        }
    }
    return left;
}

static void grow_tree(forest *f, rng *r, uint32_t root)
{
    /* Nodes not yet split, with their rows; depth first, so at most one waits per level. */
    struct {
        uint32_t node, start, count;
    } waiting[FOREST_ROWS];
    size_t waiting_count = 1;
    waiting[0].node = root;
    waiting[0].start = 0;
    waiting[0].count = (uint32_t)f->row_count;
    uint32_t used = root + 1;
    while (waiting_count > 0) {
        uint32_t start = waiting[--waiting_count].start;
        uint32_t count = waiting[waiting_count].count;
        forest_node *node = &f->nodes[waiting[waiting_count].node];
        split s;
        if (count < 2 * LEAF_ROWS || !best_split(f, r, f->order + start, count, &s)) {
            double sum = 0;
            for (size_t i = 0; i < count; i++) {
                sum += f->targets[f->order[start + i]];
            }
            *node = (forest_node){.gene = -1, .mean = sum / (double)count};
            continue;
        }
        uint32_t left = (uint32_t)partition(f, f->order + start, count, &s);
        *node = (forest_node){.gene = s.gene, .value = s.value, .left = used};
        waiting[waiting_count].node = used;
        waiting[waiting_count].start = start;
        waiting[waiting_count++].count = left;
        waiting[waiting_count].node = used + 1;
        waiting[waiting_count].start = start + left;
        waiting[waiting_count++].count = count - left;
        used += 2;
    }
}

void forest_grow(forest *f, rng *r)
{
    f->grown = f->row_count > 0 && f->vary->count > 0;
    for (uint32_t t = 0; t < FOREST_TREES && f->grown; t++) {
        for (uint32_t i = 0; i < f->row_count; i++) {
            f->order[i] = i;
        }
        f->roots[t] = t * TREE_NODES;
        grow_tree(f, r, f->roots[t]);
    }
}

double forest_predict(const forest *f, const int32_t *genes)
{
    double sum = 0;
    for (size_t t = 0; t < FOREST_TREES; t++) {
        const forest_node *node = &f->nodes[f->roots[t]];
        while (node->gene >= 0) {
            int32_t x = variation_effective(f->vary, genes, (size_t)node->gene);
            bool left = goes_left(f, node->gene, node->value, x);
            node = &f->nodes[node->left + (left ? 0 : 1)];
        }
        sum += node->mean;
    }
    return sum / FOREST_TREES;
}
