/*
 * order.c: the pass that reorders the instructions of basic blocks. Keeps every dependence
 * (dependences.h); the same instructions, so nothing but ptxas's choices can change.
 */
#include "ptx/pass.h"
#include "ptx/schedule.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

static const char *const values[] = {"original", "late",  "early", "pressure", "seed1", "seed2",
                                     "seed3",    "seed4", "seed5", "seed6",    "seed7", "seed8"};

_Static_assert(sizeof values / sizeof *values == PTX_ORDER_COUNT, "one name for each order");

static uint32_t instructions_in(const ptx_module *module, const ptx_block *block)
{
    uint32_t count = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        count += module->statements[i].kind == PTX_INSTRUCTION;
    }
    return count;
}

static evocc_status enumerate(ptx_catalogue *c)
{
    const ptx_module *m = c->module;
    const ptx_function *f = c->function;
    evocc_status status = ptx_catalogue_add(c, "", values, PTX_ORDER_COUNT, 0, 1, c->pass->help);
    for (uint32_t b = 0; b < f->block_count && status == EVOCC_OK; b++) {
        /* Two instructions and what ends the block: less than that has no order. */
        if (f->block_count > 1 && instructions_in(m, &m->blocks[f->first_block + b]) > 2) {
            char site[24];
            snprintf(site, sizeof site, "b%u", b);
            status = ptx_catalogue_add(c, site, values, PTX_ORDER_COUNT, 0, f->block_count,
                                       "The order of this block's instructions.");
        }
    }
    return status;
}

/* The new order of one block, as statements. */
typedef struct plan {
    const ptx_module *module;
    ptx_graph *graph;
    ptx_order how;
    uint64_t salt;
    uint32_t *statements;
    size_t count;
    bool failed;
} plan;

static void plan_level(plan *p, uint32_t first, uint32_t end);

static void plan_statements(plan *p, const ptx_item *item)
{
    const ptx_statement *s = &p->module->statements[item->first];
    if (s->kind == PTX_OPEN && item->count > 1) {
        p->statements[p->count++] = item->first;
        plan_level(p, item->first + 1, s->match);
        p->statements[p->count++] = s->match;
        return;
    }
    for (uint32_t i = item->first; i < item->first + item->count; i++) {
        if (p->module->statements[i].kind != PTX_LOC) {
            p->statements[p->count++] = i;
        }
    }
}

/* Orders the region collected in the graph and adds its statements. The graph is reused for nested
   scopes, so the items are copied out first. */
static void plan_region(plan *p)
{
    size_t count = ptx_graph_item_count(p->graph);
    if (count == 0 || p->failed) {
        return;
    }
    uint32_t *order = mem_alloc(count, sizeof *order);
    ptx_item *items = mem_alloc(count, sizeof *items);
    if (order == NULL || items == NULL || (count > 1 && !ptx_graph_build(p->graph)) ||
        !ptx_schedule(order, p->graph, count > 1 ? p->how : PTX_ORDER_ORIGINAL, p->salt)) {
        p->failed = true;
    } else {
        memcpy(items, ptx_graph_items(p->graph), count * sizeof *items);
        for (size_t i = 0; i < count; i++) {
            plan_statements(p, &items[order[i]]);
        }
    }
    mem_free(order);
    mem_free(items);
}

static void plan_level(plan *p, uint32_t first, uint32_t end)
{
    ptx_graph_clear(p->graph);
    for (uint32_t at = first; at < end && !p->failed;) {
        if (p->module->statements[at].kind == PTX_LOC) {
            at++;
            continue;
        }
        ptx_item item = ptx_graph_item(p->graph, at, end);
        if (item.barrier) {
            plan_region(p);
            plan_statements(p, &item);
            ptx_graph_clear(p->graph);
        } else if (!ptx_graph_add(p->graph, &item)) {
            p->failed = true;
        }
        at += item.count;
    }
    plan_region(p);
    ptx_graph_clear(p->graph);
}

static bool is_original(const plan *p, const ptx_block *block)
{
    size_t at = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        if (p->module->statements[i].kind != PTX_LOC && p->statements[at++] != i) {
            return false;
        }
    }
    return true;
}

static void write_statement(strbuf *text, const ptx_module *m, uint32_t statement, bool first)
{
    ptx_span span = m->statements[statement].span;
    if (!first) {
        strbuf_puts(text, "\n\t");
    }
    strbuf_append(text, ptx_at(m, span), ptx_span_length(span));
}

/* `inlined_at` refers to a line that a .loc further up must have stated (PTX ISA, ".loc"), so a
   block that has any begins with all its lines in their old order. The number written. */
static size_t write_inlined_lines(strbuf *text, const ptx_module *m, const ptx_block *block)
{
    static const char word[] = "inlined_at";
    bool inlined = false;
    size_t written = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        size_t length = ptx_span_length(s->span);
        for (size_t at = 0; s->kind == PTX_LOC && !inlined && at + sizeof word <= length; at++) {
            inlined = memcmp(ptx_at(m, s->span) + at, word, sizeof word - 1) == 0;
        }
    }
    for (uint32_t i = block->first; inlined && i < block->first + block->count; i++) {
        if (m->statements[i].kind == PTX_LOC) {
            write_statement(text, m, i, written++ == 0);
        }
    }
    return written;
}

/* The block in its new order. Comments between the instructions go; a .loc is written where the
   line changes, so that each instruction keeps its own. */
static void write_block(ptx_edits *edits, const plan *p, const ptx_block *block)
{
    const ptx_module *m = p->module;
    strbuf *text = ptx_edits_begin(edits);
    size_t lines = write_inlined_lines(text, m, block);
    uint32_t loc = lines > 0 ? PTX_NONE : m->statements[block->first].loc;
    for (size_t i = 0; i < p->count; i++) {
        const ptx_statement *s = &m->statements[p->statements[i]];
        bool first = i == 0 && lines == 0;
        if (s->loc != loc && s->loc != PTX_NONE && s->kind == PTX_INSTRUCTION) {
            loc = s->loc;
            write_statement(text, m, loc, first);
            first = false;
        }
        write_statement(text, m, p->statements[i], first);
    }
    uint32_t last = block->first + block->count - 1;
    uint32_t loc_after = m->statements[last].loc;
    if (loc_after != loc && loc_after != PTX_NONE) {
        write_statement(text, m, loc_after, false);
    }
    ptx_edits_finish(
        edits, (ptx_span){m->statements[block->first].span.begin, m->statements[last].span.end});
}

static bool reorder_block(ptx_edits *edits, const ptx_module *module, ptx_graph *graph,
                          const ptx_block *block, ptx_order how, uint64_t salt)
{
    plan p = {.module = module,
              .graph = graph,
              .how = how,
              .salt = salt,
              .statements = mem_alloc(block->count, sizeof(uint32_t))};
    p.failed = p.statements == NULL;
    if (!p.failed) {
        plan_level(&p, block->first, block->first + block->count);
    }
    if (!p.failed && !is_original(&p, block)) {
        write_block(edits, &p, block);
    }
    mem_free(p.statements);
    return !p.failed;
}

/* The order each block of `f` gets: the wide one, or its own. */
static evocc_status choose(int32_t *orders, const ptx_module *module, const ptx_function *f,
                           const ptx_choice *choices, size_t count, evocc_error *error)
{
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count; i++) {
            int32_t how;
            uint32_t block;
            if (choices[i].function != f || (choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            evocc_status status =
                ptx_choice_value(&how, &choices[i], values, PTX_ORDER_COUNT, error);
            if (status == EVOCC_OK && own == 1) {
                status = ptx_choice_block(&block, module, &choices[i], error);
            }
            if (status != EVOCC_OK) {
                return status;
            }
            for (uint32_t b = 0; b < f->block_count; b++) {
                if (own == 0 || f->first_block + b == block) {
                    orders[b] = how;
                }
            }
        }
    }
    return EVOCC_OK;
}

static evocc_status apply_function(ptx_edits *edits, const ptx_module *module,
                                   const ptx_function *f, const ptx_choice *choices, size_t count,
                                   evocc_error *error)
{
    int32_t *orders = mem_alloc(f->block_count + 1, sizeof *orders);
    ptx_graph *graph = NULL;
    evocc_status status = orders == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK) {
        status = choose(orders, module, f, choices, count, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_graph_new(&graph, module, f, error);
    }
    for (uint32_t b = 0; b < f->block_count && status == EVOCC_OK; b++) {
        if (orders[b] != PTX_ORDER_ORIGINAL &&
            !reorder_block(edits, module, graph, &module->blocks[f->first_block + b],
                           (ptx_order)orders[b], b)) {
            status = error_no_memory(error);
        }
    }
    ptx_graph_free(graph);
    mem_free(orders);
    return status;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || choices[j].function == choices[i].function;
        }
        if (!seen) {
            status = apply_function(edits, module, choices[i].function, choices, count, error);
        }
    }
    return status;
}

const ptx_pass ptx_pass_order = {
    .name = "order",
    .sampled = 0.5,
    .help =
        "The order of the instructions within each basic block: late puts definitions next to "
        "their first use, early puts loads first, pressure keeps few values live, seeds shuffle. "
        "Matters where registers are short: ptxas keeps much of the order it is given.",
    .source = "PTX ISA 9.0, 8 (memory consistency), 9.7.12.4 (convergence); docs/ptx-safety.md",
    .enumerate = enumerate,
    .apply = apply,
};
