#include "ptx/dependences.h"

#include "ptx/contraction.h"
#include "util/error.h"

#include <string.h>

typedef struct edge {
    uint32_t from, to;
} edge;

/* A member of a resource's current group. */
typedef struct member {
    uint32_t node, next;
} member;

/* What a resource remembers. The group's members commute; each of them comes after `gate`. */
typedef struct resource_state {
    uint32_t region; /* the region this was written in; any other: nothing happened yet */
    uint32_t gate;
    uint32_t head; /* members, newest first */
    uint32_t size;
    uint32_t value; /* of a register: its current value */
    uint32_t references;
    uint8_t access; /* ptx_access of the group */
} resource_state;

/* One row of a compressed adjacency list. */
typedef struct adjacency {
    uint32_t *start, *list;
    size_t start_capacity, list_capacity;
} adjacency;

struct ptx_graph {
    const ptx_module *module;
    const ptx_function *function;
    uint8_t contracted; /* as ptx_contraction_types says */
    ptx_item *items;
    edge *edges;
    member *members;
    uint32_t *marks; /* marks[from] == to: that edge is there already */
    resource_state *resources;
    uint32_t *references; /* of each register of the function, all statements */
    ptx_value *values;
    adjacency successors, predecessors, uses, definitions;
    size_t item_count, item_capacity, edge_count, edge_capacity, member_count, member_capacity;
    size_t mark_capacity, value_count, value_capacity;
    uint32_t node_count, region;
    bool failed; /* sticky while a region is built: out of memory */
};

/* ---- What a statement accesses ----------------------------------------------------------------
 */

static bool writes_operand(const ptx_effect *effect, uint32_t index, const ptx_operand *operand)
{
    if (effect->destination == PTX_UPDATES_ALL) {
        return operand->shape != PTX_SHAPE_ADDRESS;
    }
    if (effect->destination == PTX_WRITES_NOTHING || index != 0) {
        return false;
    }
    return operand->shape != PTX_SHAPE_ADDRESS;
}

void ptx_visit_registers(const ptx_module *module, const ptx_statement *statement,
                         ptx_register_visitor *visit, void *context)
{
    if (statement->kind != PTX_INSTRUCTION) {
        return;
    }
    const ptx_effect *effect = ptx_effect_of(module, statement);
    bool guarded = statement->guard != PTX_NONE;
    if (guarded) {
        visit(context, statement->guard, false);
    }
    /* Last operand first: sources are read before the destination is written. */
    for (uint32_t o = statement->operand_count; o-- > 0;) {
        const ptx_operand *operand = &module->operands[statement->first_operand + o];
        bool write = writes_operand(effect, o, operand);
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &module->leaves[operand->first_leaf + l];
            if (leaf->kind != PTX_LEAF_REGISTER) {
                continue;
            }
            if (!write || guarded || leaf->component || effect->destination != PTX_WRITES_FIRST) {
                visit(context, leaf->id, false);
            }
            if (write) {
                visit(context, leaf->id, true);
            }
        }
    }
}

bool ptx_reads_varying_special(const ptx_module *module, const ptx_statement *statement)
{
    for (uint32_t o = 0; o < statement->operand_count; o++) {
        const ptx_operand *operand = &module->operands[statement->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &module->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_SPECIAL &&
                !ptx_special_is_constant(ptx_at(module, leaf->span), ptx_span_length(leaf->span))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Items ------------------------------------------------------------------------------------
 */

static void describe_instruction(ptx_item *item, const ptx_module *m, const ptx_statement *s)
{
    const ptx_effect *effect = ptx_effect_of(m, s);
    if (effect->barrier) {
        item->barrier = true;
        item->reason = effect->reason;
    } else if (ptx_reads_varying_special(m, s)) {
        item->barrier = true;
        item->reason = "varying special register";
    } else if (!effect->pure) {
        bool reads = false, more = false;
        for (int r = 0; r < PTX_RESOURCE_COUNT; r++) {
            reads = reads || effect->access[r] == PTX_ACCESS_READ;
            more = more || effect->access[r] > PTX_ACCESS_READ;
        }
        item->load = item->load || reads;
        item->effect = item->effect || more;
        item->reason = item->reason == NULL || more ? effect->reason : item->reason;
    }
}

/* `nounroll` and its kin speak about the place where they stand; any other pragma may speak about
   the next instruction (PTX ISA, "used_bytes_mask") and keeps it behind itself. */
static bool pragma_is_about_place(const ptx_module *m, const ptx_statement *s)
{
    static const char *const words[] = {"nounroll", "frequency", "enable_smem_spilling"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_pragma_is(m, s, words[i])) {
            return true;
        }
    }
    return false;
}

static ptx_item pragma_item(const ptx_module *m, uint32_t at, uint32_t end)
{
    ptx_item item = {.first = at, .count = 1, .barrier = true, .reason = "pragma"};
    if (pragma_is_about_place(m, &m->statements[at])) {
        return item;
    }
    for (uint32_t i = at + 1; i < end; i++) {
        uint8_t kind = m->statements[i].kind;
        if (kind == PTX_INSTRUCTION) {
            item.count = i - at + 1;
            return item;
        }
        if (kind != PTX_LOC && kind != PTX_PRAGMA) {
            return item;
        }
    }
    return item;
}

/* A label that only debug sections name. One in front of a list of targets belongs to the list. */
static bool is_mark(const ptx_module *m, uint32_t at, uint32_t end)
{
    const ptx_statement *s = &m->statements[at];
    return s->kind == PTX_LABEL && !s->referenced &&
           (at + 1 >= end || m->statements[at + 1].kind != PTX_DIRECTIVE);
}

ptx_item ptx_graph_item(const ptx_graph *graph, uint32_t at, uint32_t end)
{
    const ptx_module *m = graph->module;
    const ptx_statement *s = &m->statements[at];
    ptx_item item = {.first = at, .count = 1};
    if (s->kind == PTX_INSTRUCTION) {
        describe_instruction(&item, m, s);
    } else if (s->kind == PTX_PRAGMA) {
        item = pragma_item(m, at, end);
    } else if (s->kind == PTX_OPEN && s->match < end) {
        item.count = s->match - at + 1;
        for (uint32_t i = at + 1; i < s->match; i++) {
            const ptx_statement *inner = &m->statements[i];
            if (inner->kind == PTX_INSTRUCTION) {
                describe_instruction(&item, m, inner);
            } else if (inner->kind == PTX_PRAGMA || inner->kind == PTX_DIRECTIVE) {
                item.barrier = true;
            }
        }
    } else if (is_mark(m, at, end)) {
        item.effect = true;
        item.reason = "label";
    } else {
        item.barrier = true;
        item.reason = "scope or declaration";
    }
    return item;
}

/* ---- Edges ------------------------------------------------------------------------------------
 */

static void add_edge(ptx_graph *g, uint32_t from, uint32_t to)
{
    if (from == to || g->marks[from] == to) {
        return;
    }
    if (!mem_grow(&g->edges, &g->edge_capacity, g->edge_count + 1, sizeof *g->edges)) {
        g->failed = true;
        return;
    }
    g->marks[from] = to;
    g->edges[g->edge_count++] = (edge){from, to};
}

static uint32_t new_join(ptx_graph *g)
{
    if (!mem_grow(&g->marks, &g->mark_capacity, g->node_count + 1, sizeof *g->marks)) {
        g->failed = true;
        return 0;
    }
    g->marks[g->node_count] = PTX_NONE;
    return g->node_count++;
}

static void start_group(resource_state *r, ptx_access access, uint32_t gate)
{
    r->access = (uint8_t)access;
    r->gate = gate;
    r->head = PTX_NONE;
    r->size = 0;
}

static void join_group(ptx_graph *g, resource_state *r, uint32_t node)
{
    if (!mem_grow(&g->members, &g->member_capacity, g->member_count + 1, sizeof *g->members)) {
        g->failed = true;
        return;
    }
    g->members[g->member_count] = (member){node, r->head};
    r->head = (uint32_t)g->member_count++;
    r->size++;
    if (r->gate != PTX_NONE) {
        add_edge(g, r->gate, node);
    }
}

static void edges_from_members(ptx_graph *g, const resource_state *r, uint32_t to)
{
    for (uint32_t i = r->head; i != PTX_NONE; i = g->members[i].next) {
        add_edge(g, g->members[i].node, to);
    }
}

static resource_state *state_of(ptx_graph *g, uint32_t resource)
{
    resource_state *r = &g->resources[resource];
    if (r->region != g->region) {
        *r = (resource_state){.region = g->region,
                              .gate = PTX_NONE,
                              .head = PTX_NONE,
                              .value = PTX_NONE,
                              .access = PTX_ACCESS_NONE};
    }
    return r;
}

/* `node` accesses a resource. All accesses of one node follow each other, so that only the newest
   member can be the node itself. */
static void access_resource(ptx_graph *g, uint32_t resource, uint32_t node, ptx_access access)
{
    resource_state *r = state_of(g, resource);
    bool again = r->head != PTX_NONE && g->members[r->head].node == node;
    if (again && (r->access == access || r->access == PTX_ACCESS_WRITE)) {
        return;
    }
    if (r->access == access && access != PTX_ACCESS_WRITE) {
        join_group(g, r, node);
        return;
    }
    if (again) {
        access = PTX_ACCESS_WRITE; /* both kinds in one item: it commutes with nothing */
    }
    if (r->access == PTX_ACCESS_NONE || access == PTX_ACCESS_WRITE || r->size == 1) {
        uint32_t gate = r->size == 1 ? g->members[r->head].node : PTX_NONE;
        if (access == PTX_ACCESS_WRITE) {
            edges_from_members(g, r, node);
            gate = PTX_NONE;
        }
        start_group(r, access, gate);
    } else {
        uint32_t join = new_join(g);
        edges_from_members(g, r, join);
        start_group(r, access, join);
    }
    join_group(g, r, node);
}

/* ---- Values -----------------------------------------------------------------------------------
 */

static uint8_t register_weight(const ptx_module *m, uint32_t id)
{
    ptx_span type = m->registers[id].type;
    const char *text = ptx_at(m, type);
    size_t length = ptx_span_length(type);
    if (length >= 3 && memcmp(text + length - 3, "128", 3) == 0) {
        return 4;
    }
    if (length >= 2 && memcmp(text + length - 2, "64", 2) == 0) {
        return 2;
    }
    return length == 5 && memcmp(text, ".pred", 5) == 0 ? 0 : 1;
}

static uint32_t new_value(ptx_graph *g, uint32_t id, uint32_t definition)
{
    if (!mem_grow(&g->values, &g->value_capacity, g->value_count + 1, sizeof *g->values)) {
        g->failed = true;
        return 0;
    }
    g->values[g->value_count] = (ptx_value){
        .register_id = id, .definition = definition, .weight = register_weight(g->module, id)};
    return (uint32_t)g->value_count++;
}

static void add_to_list(ptx_graph *g, adjacency *a, uint32_t row, uint32_t item)
{
    uint32_t end = a->start[row + 1];
    if (end > a->start[row] && a->list[end - 1] == item) {
        return;
    }
    if (!mem_grow(&a->list, &a->list_capacity, (size_t)end + 1, sizeof *a->list)) {
        g->failed = true;
        return;
    }
    a->list[end] = item;
    a->start[row + 1] = end + 1;
}

typedef struct visit_context {
    ptx_graph *graph;
    uint32_t node;
} visit_context;

static void visit_register(void *context, uint32_t id, bool write)
{
    visit_context *c = context;
    ptx_graph *g = c->graph;
    if (g->failed) {
        return;
    }
    uint32_t resource = PTX_RESOURCE_COUNT + id - g->function->first_register;
    if (g->module->registers[id].in_flight) {
        access_resource(g, PTX_IN_FLIGHT, c->node, PTX_ACCESS_READ);
    }
    access_resource(g, resource, c->node, write ? PTX_ACCESS_WRITE : PTX_ACCESS_READ);
    resource_state *r = &g->resources[resource];
    r->references++;
    if (write) {
        r->value = new_value(g, id, c->node);
        add_to_list(g, &g->definitions, c->node, r->value);
        return;
    }
    if (r->value == PTX_NONE) {
        r->value = new_value(g, id, PTX_NONE);
    }
    if (g->values[r->value].definition == c->node) {
        return; /* within one item */
    }
    uint32_t before = g->uses.start[c->node + 1];
    add_to_list(g, &g->uses, c->node, r->value);
    if (!g->failed && g->uses.start[c->node + 1] != before) {
        g->values[r->value].users++;
        g->values[r->value].users_xor ^= c->node;
    }
}

/* The last value of a register stays live unless the region holds every reference to it and begins
   with a definition: otherwise another block, or the next turn of a loop, may read it. */
static void mark_live_out(ptx_graph *g)
{
    for (size_t i = 0; i < g->value_count; i++) {
        ptx_value *v = &g->values[i];
        uint32_t local = v->register_id - g->function->first_register;
        const resource_state *r = &g->resources[PTX_RESOURCE_COUNT + local];
        bool last = r->value == i;
        bool enters = v->definition == PTX_NONE;
        v->live_out = last && (enters || r->references < g->references[local]);
        if (enters && !last) {
            g->values[r->value].live_out = true;
        }
    }
}

/* ---- Building ---------------------------------------------------------------------------------
 */

static void access_item(ptx_graph *g, uint32_t node)
{
    const ptx_item *item = &g->items[node];
    visit_context context = {g, node};
    for (uint32_t i = item->first; i < item->first + item->count && !g->failed; i++) {
        const ptx_statement *s = &g->module->statements[i];
        if (s->kind == PTX_LABEL) {
            access_resource(g, PTX_PLACE, node, PTX_ACCESS_WRITE);
        }
        if (s->kind != PTX_INSTRUCTION) {
            continue;
        }
        const ptx_effect *effect = ptx_effect_of(g->module, s);
        for (uint32_t r = 0; r < PTX_RESOURCE_COUNT; r++) {
            if (effect->access[r] != PTX_ACCESS_NONE) {
                access_resource(g, r, node, (ptx_access)effect->access[r]);
            }
        }
        ptx_access rounding = ptx_contraction_access(g->module, s, g->contracted);
        if (rounding != PTX_ACCESS_NONE) {
            access_resource(g, PTX_ROUNDING, node, rounding);
        }
        ptx_visit_registers(g->module, s, visit_register, &context);
    }
}

/* Compresses the edges into rows by their `from`, or by their `to` when reversed. */
static bool compress(adjacency *a, const ptx_graph *g, bool reversed)
{
    size_t nodes = g->node_count;
    if (!mem_grow(&a->start, &a->start_capacity, nodes + 2, sizeof *a->start) ||
        !mem_grow(&a->list, &a->list_capacity, g->edge_count + 1, sizeof *a->list)) {
        return false;
    }
    memset(a->start, 0, (nodes + 2) * sizeof *a->start);
    for (size_t i = 0; i < g->edge_count; i++) {
        a->start[(reversed ? g->edges[i].to : g->edges[i].from) + 2]++;
    }
    for (size_t i = 1; i < nodes + 2; i++) {
        a->start[i] += a->start[i - 1];
    }
    for (size_t i = 0; i < g->edge_count; i++) {
        uint32_t row = reversed ? g->edges[i].to : g->edges[i].from;
        a->list[a->start[row + 1]++] = reversed ? g->edges[i].from : g->edges[i].to;
    }
    return true;
}

static bool prepare(ptx_graph *g)
{
    size_t count = g->item_count;
    g->region++;
    g->failed = false;
    g->edge_count = g->member_count = g->value_count = 0;
    g->node_count = (uint32_t)count;
    if (!mem_grow(&g->marks, &g->mark_capacity, count + 1, sizeof *g->marks) ||
        !mem_grow(&g->uses.start, &g->uses.start_capacity, count + 1, sizeof *g->uses.start) ||
        !mem_grow(&g->definitions.start, &g->definitions.start_capacity, count + 1,
                  sizeof *g->definitions.start)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        g->marks[i] = PTX_NONE;
    }
    g->uses.start[0] = g->definitions.start[0] = 0;
    return true;
}

bool ptx_graph_build(ptx_graph *g)
{
    if (!prepare(g)) {
        return false;
    }
    for (uint32_t i = 0; i < g->item_count && !g->failed; i++) {
        g->uses.start[i + 1] = g->uses.start[i];
        g->definitions.start[i + 1] = g->definitions.start[i];
        access_item(g, i);
    }
    if (g->failed) {
        return false;
    }
    mark_live_out(g);
    return compress(&g->successors, g, false) && compress(&g->predecessors, g, true);
}

static void count_reference(void *context, uint32_t id, bool write)
{
    (void)write;
    ptx_graph *g = context;
    g->references[id - g->function->first_register]++;
}

evocc_status ptx_graph_new(ptx_graph **out, const ptx_module *module, const ptx_function *function,
                           evocc_error *error)
{
    ptx_graph *g = mem_alloc(1, sizeof *g);
    if (g == NULL) {
        return error_no_memory(error);
    }
    g->module = module;
    g->function = function;
    g->contracted = ptx_contraction_types(module, function);
    g->resources = mem_alloc(PTX_RESOURCE_COUNT + function->register_count, sizeof *g->resources);
    g->references = mem_alloc(function->register_count + 1, sizeof *g->references);
    if (g->resources == NULL || g->references == NULL) {
        ptx_graph_free(g);
        return error_no_memory(error);
    }
    for (uint32_t i = 0; i < function->statement_count; i++) {
        ptx_visit_registers(module, &module->statements[function->first_statement + i],
                            count_reference, g);
    }
    *out = g;
    return EVOCC_OK;
}

void ptx_graph_free(ptx_graph *g)
{
    if (g == NULL) {
        return;
    }
    void *const owned[] = {g->items,
                           g->edges,
                           g->members,
                           g->marks,
                           g->resources,
                           g->references,
                           g->values,
                           g->successors.start,
                           g->successors.list,
                           g->predecessors.start,
                           g->predecessors.list,
                           g->uses.start,
                           g->uses.list,
                           g->definitions.start,
                           g->definitions.list};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        mem_free(owned[i]);
    }
    mem_free(g);
}

void ptx_graph_clear(ptx_graph *graph)
{
    graph->item_count = 0;
}

bool ptx_graph_add(ptx_graph *g, const ptx_item *item)
{
    if (!mem_grow(&g->items, &g->item_capacity, g->item_count + 1, sizeof *g->items)) {
        return false;
    }
    g->items[g->item_count++] = *item;
    return true;
}

size_t ptx_graph_item_count(const ptx_graph *graph)
{
    return graph->item_count;
}

const ptx_item *ptx_graph_items(const ptx_graph *graph)
{
    return graph->items;
}

uint32_t ptx_graph_node_count(const ptx_graph *graph)
{
    return graph->node_count;
}

static const uint32_t *row_of(const adjacency *a, uint32_t row, uint32_t *count)
{
    *count = a->start[row + 1] - a->start[row];
    return *count == 0 ? NULL : a->list + a->start[row];
}

const uint32_t *ptx_graph_successors(const ptx_graph *graph, uint32_t node, uint32_t *count)
{
    return row_of(&graph->successors, node, count);
}

const uint32_t *ptx_graph_predecessors(const ptx_graph *graph, uint32_t node, uint32_t *count)
{
    return row_of(&graph->predecessors, node, count);
}

size_t ptx_graph_value_count(const ptx_graph *graph)
{
    return graph->value_count;
}

const ptx_value *ptx_graph_values(const ptx_graph *graph)
{
    return graph->values;
}

const uint32_t *ptx_graph_uses(const ptx_graph *graph, uint32_t item, uint32_t *count)
{
    return row_of(&graph->uses, item, count);
}

const uint32_t *ptx_graph_definitions(const ptx_graph *graph, uint32_t item, uint32_t *count)
{
    return row_of(&graph->definitions, item, count);
}
