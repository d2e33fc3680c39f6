/*
 * dependences.h: what must stay in order within a block. docs/ptx-safety.md has the rules and their
 * sections of the PTX ISA; opcodes.c has them as a table; here they become a graph.
 *
 * A block is cut into regions: runs of items of one nesting level between full barriers (calls,
 * unknown opcodes, labels, declarations, clock reads, the terminator). An item is one instruction,
 * or a nested scope that lies within the run, moved as a whole. Within a region the graph says
 * which item must come before which; anything that follows it is the same program.
 *
 * Building is linear in the operands: each resource (a register, a memory space, ...) remembers
 * only its current group of commuting accesses. Two adjacent groups of many are joined through a
 * node of their own instead of all pairs.
 */
#ifndef PTX_DEPENDENCES_H
#define PTX_DEPENDENCES_H

#include "ptx/module.h"

typedef struct ptx_item {
    uint32_t first, count; /* statements; .loc among them do not count as contents */
    bool barrier;
    bool load;          /* reads memory and writes none */
    bool effect;        /* more than a value: a store, a barrier, an exchange, ... */
    const char *reason; /* why it is pinned; NULL: nothing but its data */
} ptx_item;

/* A value: one definition of a register in the region, or what it holds on entry. */
typedef struct ptx_value {
    uint32_t register_id;
    uint32_t definition; /* item, or PTX_NONE: from before the region */
    uint32_t users;      /* number of items that read it */
    uint32_t users_xor;  /* their numbers, xored: the last one left is known without a list */
    bool live_out;       /* may be read after the region */
    uint8_t weight;      /* 32-bit registers it takes */
} ptx_value;

typedef struct ptx_graph ptx_graph;

/* A graph for regions of one function; regions follow each other in it and share its memory. */
evocc_status ptx_graph_new(ptx_graph **out, const ptx_module *module, const ptx_function *function,
                           evocc_error *error);
void ptx_graph_free(ptx_graph *graph);

/* Starts a region without items. */
void ptx_graph_clear(ptx_graph *graph);

/* Describes the item that begins at statement `at` and lies before statement `end`. */
ptx_item ptx_graph_item(const ptx_graph *graph, uint32_t at, uint32_t end);
bool ptx_graph_add(ptx_graph *graph, const ptx_item *item); /* false: out of memory */

/* Computes nodes, edges and values of the items added. */
bool ptx_graph_build(ptx_graph *graph);

size_t ptx_graph_item_count(const ptx_graph *graph);
const ptx_item *ptx_graph_items(const ptx_graph *graph);

/* Nodes 0 .. items-1 are the items in their original order, the others joins. */
uint32_t ptx_graph_node_count(const ptx_graph *graph);
const uint32_t *ptx_graph_successors(const ptx_graph *graph, uint32_t node, uint32_t *count);
const uint32_t *ptx_graph_predecessors(const ptx_graph *graph, uint32_t node, uint32_t *count);

size_t ptx_graph_value_count(const ptx_graph *graph);
const ptx_value *ptx_graph_values(const ptx_graph *graph);
/* Indices of the values that an item reads and defines. */
const uint32_t *ptx_graph_uses(const ptx_graph *graph, uint32_t item, uint32_t *count);
const uint32_t *ptx_graph_definitions(const ptx_graph *graph, uint32_t item, uint32_t *count);

/* How one statement accesses registers, in operand order: calls `visit` for each access. Reads come
   before the write of the same operand. A guarded or partial write reads the old value. */
typedef void ptx_register_visitor(void *context, uint32_t register_id, bool write);
void ptx_visit_registers(const ptx_module *module, const ptx_statement *statement,
                         ptx_register_visitor *visit, void *context);

/* True when an operand is a special register whose value may change: %clock, %smid, ... */
bool ptx_reads_varying_special(const ptx_module *module, const ptx_statement *statement);

#endif
