/*
 * paths.c: shortest paths in a sparse graph (Dijkstra 1959) with a binary heap; pointers, branches
 * and scattered memory. Edges are in compressed rows; the heap knows where each node is, so that a
 * shorter way moves a node instead of adding it again.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 60000, DEGREE = 6, EDGES = NODES * DEGREE, SOURCES = 8 };
static const uint32_t far_away = UINT32_MAX;

typedef struct edge {
    uint32_t to, length;
} edge;

typedef struct graph {
    uint32_t first[NODES + 1];
    edge edges[EDGES];
} graph;

typedef struct heap {
    uint32_t nodes[NODES];
    uint32_t place[NODES]; /* far_away: not in the heap */
    uint32_t distance[NODES];
    uint32_t count;
} heap;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Most edges lead to near neighbours, some across. */
static void make_graph(graph *g)
{
    uint64_t state = 42;
    uint32_t count = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        g->first[node] = count;
        for (uint32_t i = 0; i < DEGREE; i++) {
            uint32_t span = i == 0 ? NODES : 200;
            uint32_t to = (node + next_random(&state) % span + NODES - span / 2) % NODES;
            g->edges[count++] = (edge){to, 1 + next_random(&state) % 1000};
        }
    }
    g->first[NODES] = count;
}

static void put(heap *h, uint32_t at, uint32_t node)
{
    h->nodes[at] = node;
    h->place[node] = at;
}

static void rise(heap *h, uint32_t at)
{
    uint32_t node = h->nodes[at];
    uint32_t distance = h->distance[node];
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (h->distance[h->nodes[parent]] <= distance) {
            break;
        }
        put(h, at, h->nodes[parent]);
        at = parent;
    }
    put(h, at, node);
}

static void sink(heap *h, uint32_t at)
{
    uint32_t node = h->nodes[at];
    uint32_t distance = h->distance[node];
    for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count &&
            h->distance[h->nodes[child + 1]] < h->distance[h->nodes[child]]) {
            child++;
        }
        if (h->distance[h->nodes[child]] >= distance) {
            break;
        }
        put(h, at, h->nodes[child]);
    }
    put(h, at, node);
}

static uint32_t take_nearest(heap *h)
{
    uint32_t nearest = h->nodes[0];
    h->place[nearest] = far_away;
    h->count--;
    if (h->count > 0) {
        put(h, 0, h->nodes[h->count]);
        sink(h, 0);
    }
    return nearest;
}

static void reach(heap *h, uint32_t node, uint32_t distance)
{
    if (distance >= h->distance[node]) {
        return;
    }
    if (h->place[node] == far_away) {
        put(h, h->count++, node);
    }
    h->distance[node] = distance;
    rise(h, h->place[node]);
}

static void find_paths(heap *h, const graph *g, uint32_t source)
{
    for (uint32_t node = 0; node < NODES; node++) {
        h->distance[node] = h->place[node] = far_away;
    }
    h->count = 0;
    reach(h, source, 0);
    while (h->count > 0) {
        uint32_t node = take_nearest(h);
        uint32_t distance = h->distance[node];
        for (uint32_t i = g->first[node]; i < g->first[node + 1]; i++) {
            reach(h, g->edges[i].to, distance + g->edges[i].length);
        }
    }
}

int main(void)
{
    static graph g;
    static heap h;
    make_graph(&g);
    for (uint32_t i = 0; i < SOURCES; i++) {
        uint64_t sum = 0;
        uint32_t most = 0;
        find_paths(&h, &g, i * (NODES / SOURCES));
        for (uint32_t node = 0; node < NODES; node++) {
            if (h.distance[node] != far_away) {
                sum += h.distance[node];
                most = h.distance[node] > most ? h.distance[node] : most;
            }
        }
        printf("%" PRIu32 ": sum %" PRIu64 ", farthest %" PRIu32 "\n", i, sum, most);
    }
    return EXIT_SUCCESS;
}
