/*
 * schedule.h: orders of the items of one region that keep its dependences.
 */
#ifndef PTX_SCHEDULE_H
#define PTX_SCHEDULE_H

#include "ptx/dependences.h"

typedef enum ptx_order {
    PTX_ORDER_ORIGINAL,
    PTX_ORDER_LATE,
    PTX_ORDER_EARLY,
    PTX_ORDER_PRESSURE,
    PTX_ORDER_SEED1, /* seed2 is PTX_ORDER_SEED1 + 1, and so on */
    PTX_ORDER_COUNT = PTX_ORDER_SEED1 + 8
} ptx_order;

/* Writes ptx_graph_item_count() item numbers. Near-linear in the size of the graph. False: out of
   memory. `salt` sets apart regions that a seed orders. */
bool ptx_schedule(uint32_t *order, const ptx_graph *graph, ptx_order how, uint64_t salt);

#endif
