#include "ptx/cfg.h"

#include "util/error.h"

#include <string.h>

uint32_t ptx_block_of(const ptx_module *module, const ptx_function *function, uint32_t statement)
{
    uint32_t low = 0, high = function->block_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (module->blocks[function->first_block + middle].first <= statement) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* ---- Edges ------------------------------------------------------------------------------------
 */

typedef struct edge_list {
    uint32_t *pairs; /* from, to, from, to, ... */
    size_t count, capacity;
    bool failed;
} edge_list;

static void add_edge(edge_list *e, uint32_t from, uint32_t to)
{
    if (!mem_grow(&e->pairs, &e->capacity, e->count + 2, sizeof *e->pairs)) {
        e->failed = true;
        return;
    }
    e->pairs[e->count++] = from;
    e->pairs[e->count++] = to;
}

static bool is_word(const ptx_module *m, const ptx_statement *s, const char *word)
{
    const char *text = m->opcodes[s->opcode].text;
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == '\0' || text[length] == '.');
}

/* The labels of `list: .branchtargets a, b;` */
static void add_listed(edge_list *e, const ptx_module *m, const ptx_function *f, uint32_t from,
                       const ptx_statement *list)
{
    for (uint32_t o = 0; o < list->operand_count; o++) {
        const ptx_leaf *leaf = &m->leaves[m->operands[list->first_operand + o].first_leaf];
        if (leaf->kind == PTX_LEAF_SYMBOL && leaf->id != PTX_NONE) {
            add_edge(e, from, ptx_block_of(m, f, leaf->id));
        }
    }
}

static void add_block_edges(edge_list *e, const ptx_module *m, const ptx_function *f, uint32_t b)
{
    const ptx_block *block = &m->blocks[f->first_block + b];
    bool falls = true;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind != PTX_INSTRUCTION || !ptx_effect_of(m, s)->terminator) {
            continue;
        }
        falls = s->guard != PTX_NONE;
        if (is_word(m, s, "bra") && s->target != PTX_NONE) {
            add_edge(e, b, ptx_block_of(m, f, s->target));
        } else if (is_word(m, s, "brx") && s->target != PTX_NONE) {
            add_listed(e, m, f, b, &m->statements[s->target + 1]);
        }
    }
    if (falls && b + 1 < f->block_count) {
        add_edge(e, b, b + 1);
    }
}

static bool compress(uint32_t **start, uint32_t **list, const edge_list *e, uint32_t count,
                     size_t side)
{
    *start = mem_alloc((size_t)count + 2, sizeof **start);
    *list = mem_alloc(e->count / 2 + 1, sizeof **list);
    if (*start == NULL || *list == NULL) {
        return false;
    }
    for (size_t i = 0; i < e->count; i += 2) {
        (*start)[e->pairs[i + side] + 2]++;
    }
    for (uint32_t i = 1; i < count + 2; i++) {
        (*start)[i] += (*start)[i - 1];
    }
    for (size_t i = 0; i < e->count; i += 2) {
        (*list)[(*start)[e->pairs[i + side] + 1]++] = e->pairs[i + 1 - side];
    }
    return true;
}

static bool make_edges(ptx_cfg *cfg, const ptx_module *m)
{
    edge_list e = {0};
    for (uint32_t b = 0; b < cfg->count; b++) {
        add_block_edges(&e, m, cfg->function, b);
    }
    bool good = !e.failed && compress(&cfg->successor_start, &cfg->successor, &e, cfg->count, 0) &&
                compress(&cfg->predecessor_start, &cfg->predecessor, &e, cfg->count, 1);
    mem_free(e.pairs);
    return good;
}

/* ---- Orders and dominators ---------------------------------------------------------------------
 */

static bool make_order(ptx_cfg *cfg)
{
    uint32_t n = cfg->count;
    uint32_t *stack = mem_alloc(n + 1, sizeof *stack), *next = mem_alloc(n + 1, sizeof *next);
    bool *seen = mem_alloc(n + 1, sizeof *seen);
    bool good = stack != NULL && next != NULL && seen != NULL;
    uint32_t depth = 0, place = n;
    if (good && n > 0) {
        stack[depth] = 0;
        next[depth++] = cfg->successor_start[0];
        seen[0] = true;
    }
    while (good && depth > 0) {
        uint32_t b = stack[depth - 1];
        if (next[depth - 1] < cfg->successor_start[b + 1]) {
            uint32_t to = cfg->successor[next[depth - 1]++];
            if (!seen[to]) {
                seen[to] = true;
                stack[depth] = to;
                next[depth++] = cfg->successor_start[to];
            }
            continue;
        }
        depth--;
        cfg->order[--place] = b;
    }
    if (good) {
        cfg->order_count = n - place;
        memmove(cfg->order, cfg->order + place, cfg->order_count * sizeof *cfg->order);
        for (uint32_t i = 0; i < cfg->order_count; i++) {
            cfg->number[cfg->order[i]] = i;
        }
    }
    mem_free(stack);
    mem_free(next);
    mem_free(seen);
    return good;
}

static uint32_t intersect(const ptx_cfg *cfg, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (cfg->number[a] > cfg->number[b]) {
            a = cfg->dominator[a];
        }
        while (cfg->number[b] > cfg->number[a]) {
            b = cfg->dominator[b];
        }
    }
    return a;
}

static void make_dominators(ptx_cfg *cfg)
{
    if (cfg->order_count > 0) {
        cfg->dominator[0] = 0;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < cfg->order_count; i++) {
            uint32_t b = cfg->order[i], dominator = PTX_NONE;
            for (uint32_t p = cfg->predecessor_start[b]; p < cfg->predecessor_start[b + 1]; p++) {
                uint32_t from = cfg->predecessor[p];
                if (cfg->dominator[from] != PTX_NONE) {
                    dominator = dominator == PTX_NONE ? from : intersect(cfg, from, dominator);
                }
            }
            if (cfg->dominator[b] != dominator) {
                cfg->dominator[b] = dominator;
                changed = true;
            }
        }
    }
}

/* Intervals of the dominator tree, so that a question is two comparisons however deep the tree: a
   chain of thousands of loops is as deep as it is long. A dominator comes before what it dominates
   in the order, so sizes add up backwards and places are handed out forwards. */
static void number_tree(ptx_cfg *cfg)
{
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        cfg->leave[cfg->order[i]] = 1; /* how many blocks it dominates, for now */
    }
    for (uint32_t i = cfg->order_count; i-- > 1;) {
        uint32_t b = cfg->order[i];
        cfg->leave[cfg->dominator[b]] += cfg->leave[b];
    }
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t b = cfg->order[i];
        uint32_t size = cfg->leave[b];
        uint32_t up = cfg->dominator[b];
        cfg->enter[b] = i == 0 ? 0 : cfg->leave[up];
        if (i > 0) {
            cfg->leave[up] += size; /* where the next block below `up` goes */
        }
        cfg->leave[b] = cfg->enter[b] + 1;
    }
}

bool ptx_cfg_dominates(const ptx_cfg *cfg, uint32_t a, uint32_t b)
{
    if (cfg->number[a] == PTX_NONE || cfg->number[b] == PTX_NONE) {
        return false;
    }
    return cfg->enter[a] <= cfg->enter[b] && cfg->enter[b] < cfg->leave[a];
}

/* ---- Loops ------------------------------------------------------------------------------------
 */

/* Collects the blocks from which a back edge of `header` is reached without passing the header;
   marks[b] == header: b is in. Returns how many. */
static uint32_t collect_loop(const ptx_cfg *cfg, uint32_t header, uint32_t *marks, uint32_t *body)
{
    uint32_t count = 0;
    marks[header] = header;
    body[count++] = header;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t b = body[i];
        for (uint32_t p = cfg->predecessor_start[b]; p < cfg->predecessor_start[b + 1]; p++) {
            uint32_t from = cfg->predecessor[p];
            bool enters = b == header && !ptx_cfg_dominates(cfg, header, from);
            if (cfg->number[from] != PTX_NONE && marks[from] != header && !enters) {
                marks[from] = header;
                body[count++] = from;
            }
        }
    }
    return count;
}

static bool is_header(const ptx_cfg *cfg, uint32_t b)
{
    for (uint32_t p = cfg->predecessor_start[b]; p < cfg->predecessor_start[b + 1]; p++) {
        uint32_t from = cfg->predecessor[p];
        if (cfg->number[from] != PTX_NONE && ptx_cfg_dominates(cfg, b, from)) {
            return true;
        }
    }
    return false;
}

/* Headers in reverse postorder: outer loops before the loops within them, so the last loop that
   claims a block is its innermost. */
static bool make_loops(ptx_cfg *cfg)
{
    uint32_t *marks = mem_alloc(cfg->count + 1, sizeof *marks);
    uint32_t *body = mem_alloc(cfg->count + 1, sizeof *body);
    bool good = marks != NULL && body != NULL;
    for (uint32_t b = 0; b < cfg->count && good; b++) {
        marks[b] = PTX_NONE;
    }
    for (uint32_t i = 0; i < cfg->order_count && good; i++) {
        uint32_t header = cfg->order[i];
        if (!is_header(cfg, header)) {
            continue;
        }
        cfg->parent_loop[header] = cfg->loop[header];
        uint32_t count = collect_loop(cfg, header, marks, body);
        for (uint32_t j = 0; j < count; j++) {
            cfg->loop[body[j]] = header;
            cfg->depth[body[j]]++;
        }
    }
    mem_free(marks);
    mem_free(body);
    return good;
}

bool ptx_cfg_in_loop(const ptx_cfg *cfg, uint32_t header, uint32_t b)
{
    uint32_t loop = cfg->loop[b];
    while (loop != PTX_NONE && loop != header) {
        loop = cfg->parent_loop[loop];
    }
    return loop == header;
}

evocc_status ptx_cfg_new(ptx_cfg **out, const ptx_module *module, const ptx_function *function,
                         evocc_error *error)
{
    ptx_cfg *cfg = mem_alloc(1, sizeof *cfg);
    if (cfg == NULL) {
        return error_no_memory(error);
    }
    uint32_t n = function->block_count;
    *cfg = (ptx_cfg){.function = function, .count = n};
    uint32_t **const arrays[] = {&cfg->order, &cfg->number, &cfg->dominator,   &cfg->enter,
                                 &cfg->leave, &cfg->loop,   &cfg->parent_loop, &cfg->depth};
    bool good = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = mem_alloc((size_t)n + 1, sizeof(uint32_t));
        good = good && *arrays[i] != NULL;
    }
    for (uint32_t b = 0; b < n && good; b++) {
        cfg->number[b] = cfg->dominator[b] = cfg->loop[b] = cfg->parent_loop[b] = PTX_NONE;
    }
    good = good && make_edges(cfg, module) && make_order(cfg);
    if (good) {
        make_dominators(cfg);
        number_tree(cfg);
        good = make_loops(cfg);
    }
    if (!good) {
        ptx_cfg_free(cfg);
        return error_no_memory(error);
    }
    *out = cfg;
    return EVOCC_OK;
}

void ptx_cfg_free(ptx_cfg *cfg)
{
    if (cfg == NULL) {
        return;
    }
    uint32_t *const owned[] = {
        cfg->successor_start, cfg->successor, cfg->predecessor_start, cfg->predecessor,
        cfg->order,           cfg->number,    cfg->dominator,         cfg->enter,
        cfg->leave,           cfg->loop,      cfg->parent_loop,       cfg->depth};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        mem_free(owned[i]);
    }
    mem_free(cfg);
}
