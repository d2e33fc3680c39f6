/*
 * mobility.c: how much the order pass may move. An item has another legal place exactly when some
 * item is neither forced before nor forced after it; that is so exactly when the dependence graph,
 * with a source before and a sink behind it, has an edge that jumps over the item (a path from
 * source to sink that avoids it). One sweep over the edges finds all of them.
 */
#include "ptx/dependences.h"

#include "util/error.h"

#include <string.h>

typedef struct measure {
    const ptx_module *module;
    ptx_graph *graph;
    ptx_mobility *out;
    bool failed;
} measure;

static uint32_t instructions_of(const measure *me, const ptx_item *item)
{
    uint32_t count = 0;
    for (uint32_t i = item->first; i < item->first + item->count; i++) {
        count += me->module->statements[i].kind == PTX_INSTRUCTION;
    }
    return count;
}

static void count_pinned(measure *me, const char *reason, size_t instructions)
{
    ptx_mobility *out = me->out;
    size_t limit = sizeof out->pinned / sizeof *out->pinned;
    size_t i = 0;
    while (i < out->pinned_count && strcmp(out->pinned[i].reason, reason) != 0) {
        i++;
    }
    if (instructions == 0 || i == limit) {
        return;
    }
    if (i == out->pinned_count) {
        out->pinned[i].reason = reason;
        out->pinned[i].instructions = 0;
        out->pinned_count++;
    }
    out->pinned[i].instructions += instructions;
}

/* Items are at even places, a join behind the last item before it at an odd one. */
static void find_places(uint64_t *places, const ptx_graph *g)
{
    uint32_t items = (uint32_t)ptx_graph_item_count(g);
    for (uint32_t n = 0; n < ptx_graph_node_count(g); n++) {
        places[n] = 2 * (uint64_t)n;
        if (n >= items) {
            uint32_t count;
            const uint32_t *before = ptx_graph_predecessors(g, n, &count);
            places[n] = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint64_t place = 2 * (uint64_t)before[i] + 1;
                places[n] = place > places[n] ? place : places[n];
            }
        }
    }
}

/* Everything strictly between two places may move: starts and ends are counted, summed up later. */
static void cover(int64_t *changes, uint64_t from, uint64_t to)
{
    uint64_t first = from / 2 + 1, end = (to + 1) / 2;
    if (first < end) {
        changes[first]++;
        changes[end]--;
    }
}

static void cover_edges(int64_t *changes, const uint64_t *places, const ptx_graph *g)
{
    uint32_t items = (uint32_t)ptx_graph_item_count(g);
    for (uint32_t n = 0; n < ptx_graph_node_count(g); n++) {
        uint32_t count, before;
        const uint32_t *after = ptx_graph_successors(g, n, &count);
        ptx_graph_predecessors(g, n, &before);
        for (uint32_t i = 0; i < count; i++) {
            cover(changes, places[n], places[after[i]]);
        }
        if (count == 0) {
            cover(changes, places[n], 2 * (uint64_t)items);
        }
        if (before == 0 && places[n] > 0) {
            changes[0]++;
            changes[places[n] / 2]--;
        }
    }
}

static bool find_movable(bool *movable, const ptx_graph *g)
{
    uint32_t items = (uint32_t)ptx_graph_item_count(g);
    uint64_t *places = mem_alloc(ptx_graph_node_count(g), sizeof *places);
    int64_t *changes = mem_alloc((size_t)items + 1, sizeof *changes);
    bool good = places != NULL && changes != NULL;
    if (good) {
        find_places(places, g);
        cover_edges(changes, places, g);
        int64_t covering = 0;
        for (uint32_t i = 0; i < items; i++) {
            covering += changes[i];
            movable[i] = covering > 0;
        }
    }
    mem_free(places);
    mem_free(changes);
    return good;
}

static void measure_level(measure *me, uint32_t first, uint32_t end);

static void measure_region(measure *me)
{
    size_t count = ptx_graph_item_count(me->graph);
    bool *movable = mem_alloc(count, sizeof *movable);
    ptx_item *items = mem_alloc(count, sizeof *items);
    if (movable == NULL || items == NULL || (count > 1 && !ptx_graph_build(me->graph)) ||
        (count > 1 && !find_movable(movable, me->graph))) {
        me->failed = true;
    }
    for (size_t i = 0; i < count && !me->failed; i++) {
        items[i] = ptx_graph_items(me->graph)[i];
    }
    for (size_t i = 0; i < count && !me->failed; i++) {
        const ptx_item *item = &items[i];
        if (movable[i]) {
            me->out->instructions += instructions_of(me, item);
            me->out->movable += instructions_of(me, item);
        } else if (item->count > 1) {
            measure_level(me, item->first + 1, item->first + item->count - 1);
        } else {
            uint32_t instructions = instructions_of(me, item);
            const char *alone = count == 1 ? "alone between barriers" : "data";
            me->out->instructions += instructions;
            count_pinned(me, item->reason != NULL ? item->reason : alone, instructions);
        }
    }
    mem_free(movable);
    mem_free(items);
}

static void measure_level(measure *me, uint32_t first, uint32_t end)
{
    ptx_graph_clear(me->graph);
    for (uint32_t at = first; at < end && !me->failed;) {
        if (me->module->statements[at].kind == PTX_LOC) {
            at++;
            continue;
        }
        ptx_item item = ptx_graph_item(me->graph, at, end);
        if (!item.barrier) {
            me->failed = !ptx_graph_add(me->graph, &item);
        } else {
            measure_region(me);
            if (me->module->statements[at].kind == PTX_OPEN && item.count > 1) {
                measure_level(me, at + 1, at + item.count - 1);
            } else {
                uint32_t instructions = instructions_of(me, &item);
                me->out->instructions += instructions;
                count_pinned(me, item.reason, instructions);
            }
            ptx_graph_clear(me->graph);
        }
        at += item.count;
    }
    measure_region(me);
    ptx_graph_clear(me->graph);
}

evocc_status ptx_measure_mobility(ptx_mobility *out, const ptx_module *module, const char *entry,
                                  evocc_error *error)
{
    const ptx_function *f = ptx_find_entry(module, entry, strlen(entry));
    if (f == NULL) {
        return error_set(error, EVOCC_NOT_FOUND, "%s: no entry %s", module->name, entry);
    }
    ptx_graph *graph;
    evocc_status status = ptx_graph_new(&graph, module, f, error);
    if (status != EVOCC_OK) {
        return status;
    }
    ptx_mobility result = {0};
    measure me = {.module = module, .graph = graph, .out = &result};
    for (uint32_t b = 0; b < f->block_count && !me.failed; b++) {
        const ptx_block *block = &module->blocks[f->first_block + b];
        measure_level(&me, block->first, block->first + block->count);
    }
    ptx_graph_free(graph);
    if (me.failed) {
        return error_no_memory(error);
    }
    *out = result;
    return EVOCC_OK;
}
