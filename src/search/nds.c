/*
 * nds.c: non-dominated sorting, the efficient one with sequential search.
 * Source: X. Zhang, Y. Tian, R. Cheng, Y. Jin, "An efficient approach to nondominated sorting for
 * evolutionary multiobjective optimization", IEEE TEVC 19(2), 2015 (ENS-SS).
 *
 * After a lexicographic sort an individual can be dominated only by earlier ones, so that each
 * needs comparing with the fronts built so far, and its front never changes again.
 */
#include "search/ranking.h"

#include <stdlib.h>
#include <string.h>

static int older(const individual *a, const individual *b)
{
    if (a->controls != b->controls) {
        return a->controls < b->controls ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

bool individual_dominates(const individual *a, const individual *b, size_t objective_count)
{
    if (a->violation < b->violation || a->violation > b->violation) {
        return a->violation < b->violation;
    }
    bool smaller = false;
    for (size_t m = 0; m < objective_count; m++) {
        if (a->values[m] > b->values[m]) {
            return false;
        }
        smaller = smaller || a->values[m] < b->values[m];
    }
    return smaller || older(a, b) < 0;
}

static int lexicographic(const individual *a, const individual *b, size_t objective_count)
{
    if (a->violation < b->violation || a->violation > b->violation) {
        return a->violation < b->violation ? -1 : 1;
    }
    for (size_t m = 0; m < objective_count; m++) {
        if (a->values[m] < b->values[m] || a->values[m] > b->values[m]) {
            return a->values[m] < b->values[m] ? -1 : 1;
        }
    }
    return older(a, b);
}

/* Merge sort, bottom up: stable, no recursion, no library whose order could differ. */
static void sort_lexicographic(individual **items, size_t count, size_t objective_count,
                               individual **scratch)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = middle + width < count ? middle + width : count;
            size_t i = start;
            size_t j = middle;
            for (size_t k = start; k < end; k++) {
                bool left = i < middle &&
                            (j >= end || lexicographic(items[i], items[j], objective_count) <= 0);
                scratch[k] = left ? items[i++] : items[j++];
            }
        }
        memcpy(items, scratch, count * sizeof(individual *));
    }
}

/* The first front none of whose members (all before `index`) dominates items[index]. */
static uint32_t front_of(individual *const *items, size_t index, size_t objective_count,
                         uint32_t front_count)
{
    for (uint32_t front = 0; front < front_count; front++) {
        bool dominated = false;
        for (size_t i = index; i-- > 0 && !dominated;) { /* the latest are the likeliest */
            dominated = items[i]->front == front &&
                        individual_dominates(items[i], items[index], objective_count);
        }
        if (!dominated) {
            return front;
        }
    }
    return front_count;
}

void non_dominated_sort(individual **items, size_t count, size_t objective_count,
                        individual **scratch)
{
    sort_lexicographic(items, count, objective_count, scratch);
    uint32_t fronts = 0;
    for (size_t i = 0; i < count; i++) {
        items[i]->front = front_of(items, i, objective_count, fronts);
        fronts = items[i]->front >= fronts ? items[i]->front + 1 : fronts;
    }
    size_t filled = 0;
    for (uint32_t front = 0; front < fronts; front++) {
        for (size_t i = 0; i < count; i++) {
            if (items[i]->front == front) {
                scratch[filled++] = items[i];
            }
        }
    }
    memcpy(items, scratch, count * sizeof(individual *));
}
