#include "ptx/checker.h"

#include "ptx/outline.h"
#include "ptx/run.h"
#include "util/error.h"
#include "util/map.h"

#include <stdlib.h>
#include <string.h>

static int by_worlds(const void *left, const void *right)
{
    const ptx_deed *a = left, *b = right;
    return memcmp(a->worlds.in, b->worlds.in, sizeof a->worlds.in);
}

static evocc_status different(const ptx_run *r, uint32_t b, uint32_t statement, const char *what,
                              evocc_error *error)
{
    const ptx_module *m = r->module;
    ptx_span name = r->function->name, span = m->statements[statement].span;
    int line, column;
    ptx_locate(&line, &column, m->text, span.begin);
    int length = ptx_span_length(span) > 80 ? 80 : (int)ptx_span_length(span);
    return error_set(error, EVOCC_MISMATCH, "%s: block %.*s.b%u: %s: line %d: %.*s", m->name,
                     (int)ptx_span_length(name), ptx_at(m, name), b, what, line, length,
                     ptx_at(m, span));
}

/* Both sets of deeds, sorted; the first that only one side has. */
static evocc_status compare_deeds(ptx_run *a, ptx_run *b, uint32_t original, uint32_t block,
                                  evocc_error *error)
{
    if (a->deed_count > 1) {
        qsort(a->deeds, a->deed_count, sizeof *a->deeds, by_worlds);
    }
    if (b->deed_count > 1) {
        qsort(b->deeds, b->deed_count, sizeof *b->deeds, by_worlds);
    }
    uint32_t lost = PTX_NONE, added = PTX_NONE;
    for (size_t i = 0, j = 0; i < a->deed_count || j < b->deed_count;) {
        int order = i == a->deed_count   ? 1
                    : j == b->deed_count ? -1
                                         : by_worlds(&a->deeds[i], &b->deeds[j]);
        if (order < 0) {
            lost = a->deeds[i].statement < lost ? a->deeds[i].statement : lost;
        } else if (order > 0) {
            added = b->deeds[j].statement < added ? b->deeds[j].statement : added;
        }
        i += order <= 0;
        j += order >= 0;
    }
    if (lost != PTX_NONE) {
        return different(a, original, lost, "the rewritten block lacks or changes an effect",
                         error);
    }
    return added == PTX_NONE
               ? EVOCC_OK
               : different(b, block, added, "the original block lacks an effect", error);
}

/* Registers of the same name and scope in the other module; PTX_NONE: only here. */
typedef struct twin_map {
    uint32_t *in_original;  /* of each register of the rewritten function */
    uint32_t *in_rewritten; /* of each register of the original */
} twin_map;

static evocc_status compare_resources(const ptx_run *a, const ptx_run *b, uint32_t block,
                                      evocc_error *error)
{
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        if (!ptx_worlds_equal(&a->resources[i], &b->resources[i])) {
            return different(a, block, a->module->blocks[a->function->first_block + block].first,
                             "effects in another order", error);
        }
    }
    return EVOCC_OK;
}

/* Register i of the rewritten function, after a block that one side writes it in. Later reads that
   see its expression (find_facts, run_pure) need no value from here. */
static evocc_status compare_register(ptx_run *a, ptx_run *b, uint32_t i, uint32_t twin,
                                     uint32_t block, evocc_error *error)
{
    const ptx_register_facts *f = &b->facts[i];
    uint32_t id = b->function->first_register + i;
    bool local = b->scope_numbers[b->module->registers[id].scope] == PTX_SCOPE_IN_BLOCK;
    if (local || !f->read_above || (f->expandable && !f->read_loose)) {
        return EVOCC_OK;
    }
    ptx_worlds here = ptx_run_value(b, id), there = {.word = false};
    if (twin != PTX_NONE) {
        there = ptx_run_value(a, a->function->first_register + twin);
        if (ptx_worlds_equal(&here, &there)) {
            return EVOCC_OK;
        }
    }
    uint32_t at = f->definitions > 0 && f->block == block
                      ? f->definition
                      : b->module->blocks[b->function->first_block + block].first;
    return different(b, block, at, "a later block finds another value in a register", error);
}

/* Registers that either block writes and the rewritten module may read further on. */
static evocc_status compare_registers(ptx_run *a, ptx_run *b, const twin_map *twins, uint32_t block,
                                      evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < b->written_count && status == EVOCC_OK; i++) {
        uint32_t r = b->written[i];
        status = compare_register(a, b, r, twins->in_original[r], block, error);
    }
    for (size_t i = 0; i < a->written_count && status == EVOCC_OK; i++) {
        uint32_t r = twins->in_rewritten[a->written[i]];
        if (r != PTX_NONE) {
            status = compare_register(a, b, r, a->written[i], block, error);
        }
    }
    return status;
}

/* ---- Which block is which
 * ------------------------------------------------------------------------ */

/* The conditional branch that ends a block; NULL when none does. */
static const ptx_statement *end_branch(const ptx_run *r, uint32_t b)
{
    const ptx_block *block = &r->module->blocks[r->function->first_block + b];
    const ptx_statement *last = NULL;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &r->module->statements[i];
        last = s->kind == PTX_INSTRUCTION ? s : last;
    }
    return last != NULL && last->guard != PTX_NONE && ptx_run_is_branch(r, last) ? last : NULL;
}

/* True when a block is nothing but an unconditional branch: a way, not a place. */
static bool is_way(const ptx_run *r, uint32_t b)
{
    const ptx_block *block = &r->module->blocks[r->function->first_block + b];
    uint32_t instructions = 0;
    bool branch = false;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &r->module->statements[i];
        if (s->kind == PTX_INSTRUCTION) {
            instructions++;
            branch = s->guard == PTX_NONE && ptx_run_is_branch(r, s);
        }
    }
    return instructions == 1 && branch;
}

/* Where a way from b ends. */
static uint32_t follow(const ptx_run *r, uint32_t b)
{
    const ptx_cfg *cfg = r->cfg;
    for (uint32_t steps = 0; steps < cfg->count && is_way(r, b) &&
                             cfg->successor_start[b + 1] == cfg->successor_start[b] + 1;
         steps++) {
        b = cfg->successor[cfg->successor_start[b]];
    }
    return b;
}

/* Successor k of a block, counted so that for a branch on a predicate the way taken when it holds
   comes first, however the branch is written. PTX_NONE: no more. */
static uint32_t successor(const ptx_run *r, uint32_t b, uint32_t k)
{
    const ptx_cfg *cfg = r->cfg;
    const ptx_statement *branch = end_branch(r, b);
    uint32_t count = cfg->successor_start[b + 1] - cfg->successor_start[b];
    if (k >= count) {
        return PTX_NONE;
    }
    if (branch != NULL && branch->guard_negated && count == 2) {
        k = 1 - k;
    }
    return follow(r, cfg->successor[cfg->successor_start[b] + k]);
}

/* ---- Chains: blocks that the rewritten text runs under a predicate
 * -------------------------------- */

static uint32_t instruction_count(const ptx_run *r, uint32_t b, bool *guarded)
{
    const ptx_block *block = &r->module->blocks[r->function->first_block + b];
    uint32_t count = 0;
    *guarded = false;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &r->module->statements[i];
        count += s->kind == PTX_INSTRUCTION;
        *guarded = *guarded || (s->kind == PTX_INSTRUCTION &&
                                (s->guard != PTX_NONE || ptx_run_is_branch(r, s)));
    }
    return count;
}

static uint32_t edges_in(const ptx_cfg *cfg, uint32_t b)
{
    return cfg->predecessor_start[b + 1] - cfg->predecessor_start[b];
}

/* Whether the branch at the end of block b jumps over the next block and nothing else leads there.
 */
static bool jumps_over(const ptx_run *r, uint32_t b)
{
    const ptx_cfg *cfg = r->cfg;
    bool guarded;
    if (end_branch(r, b) == NULL || b + 1 >= cfg->count || edges_in(cfg, b + 1) != 1 ||
        cfg->successor_start[b + 1] - cfg->successor_start[b] != 2 ||
        cfg->successor_start[b + 2] - cfg->successor_start[b + 1] != 1) {
        return false;
    }
    instruction_count(r, b + 1, &guarded);
    uint32_t taken = cfg->successor[cfg->successor_start[b]];
    return !guarded && taken != b + 1 && cfg->successor[cfg->successor_start[b + 1]] == taken;
}

/* The end of a chain. */
typedef struct chain_end {
    uint32_t last; /* its last block */
    uint32_t join; /* where it goes on; PTX_NONE: by the successors of `last` */
} chain_end;

/* The blocks of the original that block x of the rewritten text stands for, from `first` on: where
   x has more instructions than the original block, or no branch at its end, the block that was
   jumped over is part of it, under the predicate, and what follows when nothing else leads there.
   With `run` they are run. */
static chain_end walk_chain(ptx_run *a, const ptx_run *b, uint32_t first, uint32_t x, bool run)
{
    bool guarded, whole = a->cfg->count == b->cfg->count;
    uint32_t wanted = instruction_count(b, x, &guarded), before = 0;
    for (uint32_t at = first;;) {
        uint32_t here = before + instruction_count(a, at, &guarded);
        bool absorbs = !whole && jumps_over(a, at) && (wanted > here || end_branch(b, x) == NULL);
        if (run) {
            ptx_run_more(a, at, NULL, absorbs);
        }
        if (!absorbs) {
            return (chain_end){at, PTX_NONE};
        }
        if (run) {
            ptx_worlds path = ptx_run_not_taken(a, end_branch(a, at));
            ptx_run_more(a, at + 1, &path, false);
        }
        before = here - 1 + instruction_count(a, at + 1, &guarded);
        uint32_t join = a->cfg->successor[a->cfg->successor_start[at]];
        if (edges_in(a->cfg, join) != 2) {
            return (chain_end){at + 1, join};
        }
        at = join;
    }
}

/* Successor k of what x stands for. */
static uint32_t chain_successor(const ptx_run *a, chain_end end, uint32_t k)
{
    if (end.join != PTX_NONE) {
        return k == 0 ? follow(a, end.join) : PTX_NONE;
    }
    return successor(a, end.last, k);
}

/* Pairs the blocks of the rewritten function with those of the original they stand for, from the
   first on along equal ways: several copies may stand for one block. PTX_NONE: a mere way, or what
   no path reaches. EVOCC_MISMATCH when a block would have to stand for two. */
static evocc_status map_blocks(uint32_t *pairs, ptx_run *a, const ptx_run *b, evocc_error *error)
{
    uint32_t n = b->cfg->count;
    for (uint32_t i = 0; i < n; i++) {
        pairs[i] = PTX_NONE;
    }
    if (n > 0 && a->cfg->count > 0) {
        pairs[0] = 0;
    }
    /* In reverse postorder every block but the first has a predecessor before it. */
    for (uint32_t i = 0; i < b->cfg->order_count; i++) {
        uint32_t x = b->cfg->order[i], o = pairs[x];
        if (o == PTX_NONE) {
            continue; /* only ways lead to a way */
        }
        chain_end end = walk_chain(a, b, o, x, false);
        for (uint32_t k = 0;; k++) {
            uint32_t to = successor(b, x, k), original = chain_successor(a, end, k);
            if (to == PTX_NONE && original == PTX_NONE) {
                break;
            }
            if (to == PTX_NONE || original == PTX_NONE ||
                (pairs[to] != PTX_NONE && pairs[to] != original)) {
                const ptx_block *block = &b->module->blocks[b->function->first_block + x];
                return different(b, x, block->first + block->count - 1, "it leads elsewhere",
                                 error);
            }
            pairs[to] = original;
        }
    }
    return EVOCC_OK;
}

/* ---- Functions ----------------------------------------------------------------------------------
 */

static evocc_status find_twins(twin_map *twins, const ptx_run *a, const ptx_run *b,
                               evocc_error *error)
{
    map names = {0};
    arena texts = {0};
    evocc_status status = EVOCC_OK;
    for (int side = 0; side < 2 && status == EVOCC_OK; side++) {
        const ptx_run *r = side == 0 ? a : b;
        for (uint32_t i = 0; i < r->function->register_count && status == EVOCC_OK; i++) {
            const ptx_register *reg = &r->module->registers[r->function->first_register + i];
            strbuf key = {0};
            strbuf_printf(&key, "%llu ", (unsigned long long)r->scope_numbers[reg->scope]);
            strbuf_append(&key, ptx_at(r->module, reg->name), ptx_span_length(reg->name));
            char *copy = key.failed ? NULL : arena_strndup(&texts, key.data, key.length);
            if (copy == NULL || (side == 0 && !map_put(&names, copy, key.length, i))) {
                status = error_no_memory(error);
            } else if (side == 0) {
                twins->in_rewritten[i] = PTX_NONE;
            } else {
                size_t found = map_get(&names, copy, key.length);
                /* Several scopes within blocks may use one name, and nothing outlives them. */
                bool local = r->scope_numbers[reg->scope] == PTX_SCOPE_IN_BLOCK;
                found = local ? MAP_NONE : found;
                twins->in_original[i] = found == MAP_NONE ? PTX_NONE : (uint32_t)found;
                if (found != MAP_NONE) {
                    twins->in_rewritten[found] = i;
                }
            }
            strbuf_dispose(&key);
        }
    }
    map_dispose(&names);
    arena_dispose(&texts);
    return status;
}

/* Which registers are expandable must be known everywhere before anything is compared. One that is
   so in one module only would be an expression here and a name there, so it is a name in both. */
static evocc_status find_expressions(ptx_run *a, ptx_run *b, const twin_map *twins,
                                     evocc_error *error)
{
    ptx_run_learn(a);
    ptx_run_learn(b);
    for (uint32_t i = 0; i < b->function->register_count; i++) {
        uint32_t twin = twins->in_original[i];
        if (twin != PTX_NONE && a->facts[twin].expandable != b->facts[i].expandable) {
            a->facts[twin].opaque = b->facts[i].opaque = true;
        }
    }
    ptx_run_learn(a);
    ptx_run_learn(b);
    return a->failed || b->failed ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status compare_block(ptx_run *a, ptx_run *b, const twin_map *twins, uint32_t original,
                                  uint32_t block, evocc_error *error)
{
    ptx_run_start(a, original);
    walk_chain(a, b, original, block, true);
    ptx_run_end(a);
    b->skips_fences = ptx_run_admits_fences(a, original);
    ptx_run_block(b, block);
    if (a->failed || b->failed) {
        return error_no_memory(error);
    }
    evocc_status status = compare_deeds(a, b, original, block, error);
    if (status == EVOCC_OK) {
        status = compare_resources(a, b, original, error);
    }
    if (status == EVOCC_OK) {
        status = compare_registers(a, b, twins, block, error);
    }
    ptx_run_forget(a); /* it may run again for another copy */
    return status;
}

/* What check_function needs room for. */
typedef struct work {
    ptx_run a, b;
    twin_map twins;
    uint32_t *pairs;
} work;

static void work_dispose(work *w)
{
    ptx_run_dispose(&w->a);
    ptx_run_dispose(&w->b);
    mem_free(w->twins.in_original);
    mem_free(w->twins.in_rewritten);
    mem_free(w->pairs);
}

/* Hash of an opcode without ".nc"; 0 when it has none. */
static uint64_t hash_without_nc(const char *opcode, bool *failed)
{
    const char *nc = ptx_opcode_has(opcode, ".nc") ? strstr(opcode, ".nc") : NULL;
    if (nc == NULL) {
        return 0;
    }
    strbuf text = {0};
    strbuf_append(&text, opcode, (size_t)(nc - opcode));
    strbuf_puts(&text, nc + 3);
    uint64_t hash = ptx_meaning_of(strbuf_text(&text)).hash;
    *failed = *failed || text.failed;
    strbuf_dispose(&text);
    return hash;
}

/* ld.global.nc promises that nobody writes what it reads, so an ordinary load of it (same address:
   that is compared) finds the same wherever the other would: it is judged as the .nc it was. */
static evocc_status find_stand_ins(work *w, evocc_error *error)
{
    ptx_run *a = &w->a, *b = &w->b;
    const ptx_module *m = b->module;
    const ptx_function *f = b->function;
    bool failed = false;
    b->original = a;
    b->stand_in = mem_alloc((size_t)f->statement_count + 1, sizeof *b->stand_in);
    for (uint32_t i = 0; b->stand_in != NULL && i < f->statement_count; i++) {
        const ptx_statement *s = &m->statements[f->first_statement + i];
        b->stand_in[i] = PTX_NONE;
        if (s->kind != PTX_INSTRUCTION || s->operand_count < 2 ||
            strncmp(m->opcodes[s->opcode].text, "ld.", 3) != 0) {
            continue;
        }
        const ptx_leaf *leaf = &m->leaves[m->operands[s->first_operand].first_leaf];
        uint32_t twin = leaf->kind != PTX_LEAF_REGISTER
                            ? PTX_NONE
                            : w->twins.in_original[leaf->id - f->first_register];
        if (twin == PTX_NONE || a->facts[twin].definitions != 1) {
            continue;
        }
        uint32_t opcode = a->module->statements[a->facts[twin].definition].opcode;
        uint64_t hash = hash_without_nc(a->module->opcodes[opcode].text, &failed);
        if (hash != 0 && hash == b->meanings[s->opcode].hash) {
            b->stand_in[i] = opcode;
        }
    }
    return b->stand_in == NULL || failed ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status work_init(work *w, const ptx_module *original, const ptx_function *f,
                              const ptx_module *rewritten, const ptx_function *g,
                              evocc_error *error)
{
    *w = (work){.twins = {mem_alloc(g->register_count, sizeof(uint32_t)),
                          mem_alloc(f->register_count, sizeof(uint32_t))},
                .pairs = mem_alloc(g->block_count, sizeof(uint32_t))};
    if (w->twins.in_original == NULL || w->twins.in_rewritten == NULL || w->pairs == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = ptx_run_init(&w->a, original, f, error);
    if (status == EVOCC_OK) {
        status = ptx_run_init(&w->b, rewritten, g, error);
    }
    if (status == EVOCC_OK) {
        /* Launch bounds may differ; what the original's say holds for both. */
        memcpy(w->b.thread_mask, w->a.thread_mask, sizeof w->b.thread_mask);
        status = find_twins(&w->twins, &w->a, &w->b, error);
    }
    if (status == EVOCC_OK) {
        status = find_stand_ins(w, error);
    }
    return status;
}

static evocc_status check_function(const ptx_module *original, const ptx_function *f,
                                   const ptx_module *rewritten, const ptx_function *g,
                                   evocc_error *error)
{
    work w;
    evocc_status status = work_init(&w, original, f, rewritten, g, error);
    if (status == EVOCC_OK) {
        status = map_blocks(w.pairs, &w.a, &w.b, error);
    }
    /* A register that copies of a block define again has no expression of its own any more, so with
       copies all values are compared where they are made. */
    if (status == EVOCC_OK && f->block_count == g->block_count) {
        status = find_expressions(&w.a, &w.b, &w.twins, error);
    } else {
        w.a.plain = w.b.plain = true;
    }
    for (uint32_t i = 0; status == EVOCC_OK && i < w.b.cfg->order_count; i++) {
        uint32_t block = w.b.cfg->order[i];
        if (w.pairs[block] != PTX_NONE) {
            status = compare_block(&w.a, &w.b, &w.twins, w.pairs[block], block, error);
        }
    }
    work_dispose(&w);
    return status;
}

evocc_status ptx_check(const ptx_module *original, const ptx_module *rewritten, evocc_error *error)
{
    evocc_status status = ptx_compare_outlines(original, rewritten, error);
    if (status == EVOCC_OK) {
        status = ptx_compare_variables(original, rewritten, error);
    }
    for (size_t i = 0; i < original->function_count && status == EVOCC_OK; i++) {
        status = check_function(original, &original->functions[i], rewritten,
                                &rewritten->functions[i], error);
    }
    return status;
}
