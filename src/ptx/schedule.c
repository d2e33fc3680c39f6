#include "ptx/schedule.h"

#include "util/rng.h"

#include <string.h>

/* A binary heap of nodes by key, smallest first; equal keys by node. */
typedef struct heap_entry {
    int64_t key;
    uint32_t node;
} heap_entry;

typedef struct heap {
    heap_entry *entries;
    size_t count, capacity;
} heap;

static bool entry_less(heap_entry a, heap_entry b)
{
    return a.key != b.key ? a.key < b.key : a.node < b.node;
}

static bool heap_push(heap *h, heap_entry entry)
{
    if (!mem_grow(&h->entries, &h->capacity, h->count + 1, sizeof *h->entries)) {
        return false;
    }
    size_t i = h->count++;
    for (; i > 0 && entry_less(entry, h->entries[(i - 1) / 2]); i = (i - 1) / 2) {
        h->entries[i] = h->entries[(i - 1) / 2];
    }
    h->entries[i] = entry;
    return true;
}

static heap_entry heap_pop(heap *h)
{
    heap_entry top = h->entries[0];
    heap_entry last = h->entries[--h->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->count) {
            break;
        }
        if (child + 1 < h->count && entry_less(h->entries[child + 1], h->entries[child])) {
            child++;
        }
        if (!entry_less(h->entries[child], last)) {
            break;
        }
        h->entries[i] = h->entries[child];
        i = child;
    }
    h->entries[i] = last;
    return top;
}

/* ---- Depth first: late and early ----------------------------------------------------------------
 */

typedef struct walk {
    const ptx_graph *graph;
    uint32_t items;
    uint32_t *order;
    uint32_t done;
    bool *visited;
    uint32_t *stack, *next; /* a node and how many of its predecessors were looked at */
} walk;

/* Emits all that `node` needs, in order, then the node. */
static void emit(walk *w, uint32_t node)
{
    if (w->visited[node]) {
        return;
    }
    size_t depth = 1;
    w->stack[0] = node;
    w->next[0] = 0;
    w->visited[node] = true;
    while (depth > 0) {
        uint32_t top = w->stack[depth - 1], count;
        const uint32_t *before = ptx_graph_predecessors(w->graph, top, &count);
        if (w->next[depth - 1] < count) {
            uint32_t p = before[w->next[depth - 1]++];
            if (!w->visited[p]) {
                w->visited[p] = true;
                w->stack[depth] = p;
                w->next[depth++] = 0;
            }
            continue;
        }
        depth--;
        if (top < w->items) {
            w->order[w->done++] = top;
        }
    }
}

/* Definitions stand just before the first thing that needs them; values for later blocks last. */
static void order_late(walk *w)
{
    const ptx_item *items = ptx_graph_items(w->graph);
    for (uint32_t i = 0; i < w->items; i++) {
        if (items[i].effect) {
            emit(w, i);
        }
    }
    for (uint32_t i = 0; i < w->items; i++) {
        emit(w, i);
    }
}

/* Loads and copies, with the addresses they need, before all else. */
static void order_early(walk *w)
{
    const ptx_item *items = ptx_graph_items(w->graph);
    for (uint32_t i = 0; i < w->items; i++) {
        if (items[i].load) {
            emit(w, i);
        }
    }
    for (uint32_t i = 0; i < w->items; i++) {
        emit(w, i);
    }
}

static bool order_by_walk(uint32_t *order, const ptx_graph *graph, ptx_order how)
{
    uint32_t nodes = ptx_graph_node_count(graph);
    walk w = {.graph = graph,
              .items = (uint32_t)ptx_graph_item_count(graph),
              .order = order,
              .visited = mem_alloc(nodes, sizeof(bool)),
              .stack = mem_alloc(nodes, sizeof(uint32_t)),
              .next = mem_alloc(nodes, sizeof(uint32_t))};
    bool good = w.visited != NULL && w.stack != NULL && w.next != NULL;
    if (good) {
        (how == PTX_ORDER_LATE ? order_late : order_early)(&w);
    }
    mem_free(w.visited);
    mem_free(w.stack);
    mem_free(w.next);
    return good;
}

/* ---- List scheduling: pressure and seeds
 * ---------------------------------------------------------- */

typedef struct list {
    const ptx_graph *graph;
    uint32_t items, nodes;
    uint32_t *order;
    uint32_t done;
    uint32_t *waiting; /* predecessors not yet emitted */
    bool *emitted;
    int64_t *keys;
    uint32_t *left, *left_xor; /* of each value: users not yet emitted */
    heap ready;
} list;

/* How many registers the item makes live, less those it is the last to read. */
static int64_t pressure_of(const list *l, uint32_t item)
{
    const ptx_value *values = ptx_graph_values(l->graph);
    uint32_t count;
    int64_t cost = 0;
    const uint32_t *made = ptx_graph_definitions(l->graph, item, &count);
    for (uint32_t i = 0; i < count; i++) {
        const ptx_value *v = &values[made[i]];
        cost += v->users > 0 || v->live_out ? v->weight : 0;
    }
    const uint32_t *used = ptx_graph_uses(l->graph, item, &count);
    for (uint32_t i = 0; i < count; i++) {
        const ptx_value *v = &values[used[i]];
        cost -= l->left[used[i]] == 1 && !v->live_out ? v->weight : 0;
    }
    return cost;
}

static bool make_ready(list *l, uint32_t node)
{
    return heap_push(&l->ready, (heap_entry){l->keys[node], node});
}

/* After `item` was emitted, the last user of a value may have become cheaper. Keys only fall, so a
   stale heap entry is recognised by a key that is not the node's. */
static bool update_users(list *l, uint32_t item)
{
    uint32_t count;
    const uint32_t *used = ptx_graph_uses(l->graph, item, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = used[i];
        l->left[v]--;
        l->left_xor[v] ^= item;
        if (l->left[v] != 1) {
            continue;
        }
        uint32_t user = l->left_xor[v];
        int64_t key = pressure_of(l, user);
        if (key != l->keys[user]) {
            l->keys[user] = key;
            if (l->waiting[user] == 0 && !make_ready(l, user)) {
                return false;
            }
        }
    }
    return true;
}

static bool release_successors(list *l, uint32_t node)
{
    uint32_t count;
    const uint32_t *after = ptx_graph_successors(l->graph, node, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (--l->waiting[after[i]] == 0 && !make_ready(l, after[i])) {
            return false;
        }
    }
    return true;
}

static bool run_list(list *l, bool by_pressure)
{
    for (uint32_t n = 0; n < l->nodes; n++) {
        uint32_t count;
        ptx_graph_predecessors(l->graph, n, &count);
        l->waiting[n] = count;
    }
    for (uint32_t n = 0; n < l->nodes; n++) {
        if (l->waiting[n] == 0 && !make_ready(l, n)) {
            return false;
        }
    }
    while (l->ready.count > 0) {
        heap_entry top = heap_pop(&l->ready);
        if (l->emitted[top.node] || top.key != l->keys[top.node]) {
            continue;
        }
        l->emitted[top.node] = true;
        if (top.node < l->items) {
            l->order[l->done++] = top.node;
            if (by_pressure && !update_users(l, top.node)) {
                return false;
            }
        }
        if (!release_successors(l, top.node)) {
            return false;
        }
    }
    return true;
}

/* Keys for a seed: the place in the original order, blurred. Seeds 1 and 2 move things by a few
   places, later ones farther, the last two anywhere. */
static void seed_keys(list *l, unsigned seed, uint64_t salt)
{
    static const uint64_t reach[] = {4, 8, 16, 32, 64, 256, 0, 0};
    rng r;
    rng_seed(&r, salt * 64 + seed);
    uint64_t range = reach[seed - 1] == 0 ? l->items : reach[seed - 1];
    for (uint32_t i = 0; i < l->items; i++) {
        l->keys[i] = (int64_t)i * 16 + (int64_t)rng_below(&r, range * 16 + 1);
    }
}

static void pressure_keys(list *l)
{
    const ptx_value *values = ptx_graph_values(l->graph);
    size_t count = ptx_graph_value_count(l->graph);
    for (size_t v = 0; v < count; v++) {
        l->left[v] = values[v].users;
        l->left_xor[v] = values[v].users_xor;
    }
    for (uint32_t i = 0; i < l->items; i++) {
        l->keys[i] = pressure_of(l, i);
    }
}

static bool order_by_list(uint32_t *order, const ptx_graph *graph, ptx_order how, uint64_t salt)
{
    uint32_t nodes = ptx_graph_node_count(graph);
    size_t values = ptx_graph_value_count(graph) + 1;
    list l = {.graph = graph,
              .items = (uint32_t)ptx_graph_item_count(graph),
              .nodes = nodes,
              .order = order,
              .waiting = mem_alloc(nodes, sizeof(uint32_t)),
              .emitted = mem_alloc(nodes, sizeof(bool)),
              .keys = mem_alloc(nodes, sizeof(int64_t)),
              .left = mem_alloc(values, sizeof(uint32_t)),
              .left_xor = mem_alloc(values, sizeof(uint32_t))};
    bool good = l.waiting != NULL && l.emitted != NULL && l.keys != NULL && l.left != NULL &&
                l.left_xor != NULL;
    if (good) {
        for (uint32_t n = l.items; n < nodes; n++) {
            l.keys[n] = INT64_MIN; /* a join costs nothing */
        }
        if (how == PTX_ORDER_PRESSURE) {
            pressure_keys(&l);
        } else {
            seed_keys(&l, (unsigned)(how - PTX_ORDER_SEED1) + 1, salt);
        }
        good = run_list(&l, how == PTX_ORDER_PRESSURE);
    }
    void *const owned[] = {l.waiting, l.emitted, l.keys, l.left, l.left_xor, l.ready.entries};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        mem_free(owned[i]);
    }
    return good;
}

bool ptx_schedule(uint32_t *order, const ptx_graph *graph, ptx_order how, uint64_t salt)
{
    if (how == PTX_ORDER_ORIGINAL) {
        for (uint32_t i = 0; i < ptx_graph_item_count(graph); i++) {
            order[i] = i;
        }
        return true;
    }
    if (how == PTX_ORDER_LATE || how == PTX_ORDER_EARLY) {
        return order_by_walk(order, graph, how);
    }
    return order_by_list(order, graph, how, salt);
}
