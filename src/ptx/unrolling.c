/*
 * unrolling.c: whether unrolling may change how often products and sums round (contraction.h).
 *
 * Seen of ptxas 13.0: it unrolls before it joins products and sums, and it joins what is then in
 * one block. Where the bounds of a loop are known this reaches across the loop: what stood before,
 * within and behind it becomes one block, conditions that become constant make one of several, and
 * so do selections, masks and factors of one; and what only the last iteration hands on has no
 * reader left in the others, nor has an element of a local array that became a register. So, in a
 * function with loops, a product that some sum may read keeps its rounding only if every reader
 * stands behind it in its own block and always counts: a sum that it may be joined with, or a
 * store. All else is at risk. Not at risk are products that no sum may read: each reader is
 * followed through whatever may hand its operand on, up to what never does.
 */
#include "ptx/contraction.h"
#include "util/error.h"

#include <string.h>

/* A value: what one statement writes to one register. */
typedef struct value {
    uint32_t statement, register_id;
    bool here; /* in the product's own block, by mere copies */
} value;

typedef struct flow {
    const ptx_facts *f;
    /* Statements that write register r: writers[writer_start[r] ..], as use_start in facts.h. */
    uint32_t *writer_start, *writers;
    uint32_t *parted;     /* of a statement: how many before it part a block */
    bool *folds;          /* of a statement: a min or max that may come to be its operand */
    uint32_t *seen;       /* of a statement: the number of the walk that followed it */
    uint32_t *block_seen; /* of a block: the number of the scan that passed it */
    value *queue;         /* one for each statement and destination at most */
    size_t queue_count, queue_capacity;
    uint32_t *blocks; /* to be scanned */
    uint32_t walk, scan;
    uint64_t budget; /* steps left; with none, all is at risk: the analysis stays linear */
    bool failed;     /* out of memory */
    /* Of the product at hand. */
    uint32_t product;
    uint8_t type;
    uint32_t readers;
    bool joinable; /* some sum may read it */
    bool settled;  /* its readers stand in its block and always count */
    bool paired;   /* a sum that reads it may read another product */
} flow;

enum { STEPS_PER_STATEMENT = 32, STEPS_AT_LEAST = 4096 };

/* ---- What hands a value on ------------------------------------------------------------------- */

static bool begins(const char *opcode, const char *const *words)
{
    size_t length = strcspn(opcode, ".");
    for (; *words != NULL; words++) {
        if (strlen(*words) == length && memcmp(opcode, *words, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_extreme(const char *opcode)
{
    static const char *const words[] = {"min", "max", NULL};
    const char *last = strrchr(opcode, '.');
    return begins(opcode, words) && last != NULL &&
           (strcmp(last, ".f32") == 0 || strcmp(last, ".f64") == 0);
}

/* The result is never one of the operands, whatever the others are. Of ptxas tried: fma with a
   factor of one, or adding zero, stays an fma; so does a sum with zero, and a maximum with NaN. */
static bool is_opaque(const flow *w, uint32_t statement)
{
    static const char *const words[] = {"ex2",  "lg2",   "sin",  "cos", "tanh", "rcp",
                                        "sqrt", "rsqrt", "setp", "set", "fma",  NULL};
    static const char *const narrow[] = {".f16",    ".f16x2",  ".bf16", ".bf16x2",
                                         ".e4m3x2", ".e5m2x2", ".s32",  ".u32"};
    const ptx_module *m = w->f->module;
    const char *opcode = m->opcodes[m->statements[statement].opcode].text;
    if (begins(opcode, words)) {
        return true;
    }
    if (is_extreme(opcode)) {
        return !w->folds[statement - w->f->function->first_statement];
    }
    const char *last = strrchr(opcode, '.');
    if (strncmp(opcode, "cvt.", 4) != 0 || strcmp(last, ".f32") != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        if (ptx_opcode_has(opcode, narrow[i])) {
            return true;
        }
    }
    return false;
}

/* ---- Minima and maxima -------------------------------------------------------------------------
   The larger of two equal values is the value: ptxas makes a copy of `max x, a, a`. So one counts
   as a copy when what its operands may stand for, through all that hands operands on, has a
   statement in common. Beginning with none and repeating until nothing changes is enough: the first
   that would ever fold is found while no other is taken for a copy. */

enum { ORIGINS = 24, ROUNDS = 8, MOST_EXTREMES = 8192 };

typedef struct origins {
    uint32_t statements[ORIGINS];
    uint32_t count;
    bool overflow;
} origins;

static void add_writers(origins *o, const flow *w, uint32_t id)
{
    uint32_t local = id - w->f->function->first_register;
    for (uint32_t i = w->writer_start[local]; i < w->writer_start[local + 1]; i++) {
        bool known = false;
        for (uint32_t k = 0; k < o->count; k++) {
            known = known || o->statements[k] == w->writers[i];
        }
        if (!known && o->count == ORIGINS) {
            o->overflow = true;
            return;
        }
        if (!known) {
            o->statements[o->count++] = w->writers[i];
        }
    }
}

/* Never a number known beforehand: what writes it reads memory, waits for other lanes, ... */
static bool is_variable(const flow *w, uint32_t id)
{
    const ptx_module *m = w->f->module;
    uint32_t local = id - w->f->function->first_register;
    for (uint32_t i = w->writer_start[local]; i < w->writer_start[local + 1]; i++) {
        if (ptx_effect_of(m, &m->statements[w->writers[i]])->pure) {
            return false;
        }
    }
    return w->writer_start[local] < w->writer_start[local + 1];
}

/* A product is one of its factors where the other one is known to be one. */
static void add_factors(origins *o, const flow *w, const ptx_statement *s)
{
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t id = ptx_plain_register(w->f->module, s, i);
        uint32_t other = ptx_plain_register(w->f->module, s, 3 - i);
        if (id != PTX_NONE && (other == PTX_NONE || !is_variable(w, other))) {
            add_writers(o, w, id);
        }
    }
}

static void add_operands(origins *o, const flow *w, const ptx_statement *s)
{
    const ptx_module *m = w->f->module;
    if (strncmp(m->opcodes[s->opcode].text, "mul.", 4) == 0) {
        add_factors(o, w, s);
        return;
    }
    for (uint32_t i = 1; i < s->operand_count; i++) {
        const ptx_operand *operand = &m->operands[s->first_operand + i];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER) {
                add_writers(o, w, leaf->id);
            }
        }
    }
}

static void find_origins(origins *o, flow *w, uint32_t id)
{
    const ptx_module *m = w->f->module;
    *o = (origins){.count = 0};
    add_writers(o, w, id);
    for (uint32_t i = 0; i < o->count && !o->overflow; i++) {
        const ptx_statement *s = &m->statements[o->statements[i]];
        uint8_t type;
        bool root = is_opaque(w, o->statements[i]) || !ptx_effect_of(m, s)->pure ||
                    ptx_rounding_form_of(&type, m, s) == PTX_SUM;
        if (!root) {
            add_operands(o, w, s);
        }
    }
}

/* A register that comes from nowhere (no writer) equals nothing. */
static bool may_be_same(flow *w, uint32_t a, uint32_t b)
{
    origins x, y;
    if (a == PTX_NONE || b == PTX_NONE) {
        return false; /* a literal: NaN is not folded, any other may be the result */
    }
    find_origins(&x, w, a);
    find_origins(&y, w, b);
    for (uint32_t i = 0; i < x.count; i++) {
        for (uint32_t k = 0; k < y.count; k++) {
            if (x.statements[i] == y.statements[k]) {
                return true;
            }
        }
    }
    return a == b || x.overflow || y.overflow;
}

static void find_folds(flow *w)
{
    const ptx_module *m = w->f->module;
    const ptx_function *function = w->f->function;
    bool changed = true;
    for (uint32_t round = 0, looked_at = 0; changed; round++) {
        changed = false;
        for (uint32_t i = 0; i < function->statement_count; i++) {
            uint32_t at = function->first_statement + i;
            const ptx_statement *s = &m->statements[at];
            if (s->kind != PTX_INSTRUCTION || w->folds[i] ||
                !is_extreme(m->opcodes[s->opcode].text)) {
                continue;
            }
            bool folds = round == ROUNDS || looked_at++ > MOST_EXTREMES || s->operand_count != 3 ||
                         s->guard != PTX_NONE ||
                         may_be_same(w, ptx_plain_register(m, s, 1), ptx_plain_register(m, s, 2));
            w->folds[i] = folds;
            changed = changed || folds;
        }
    }
}

/* ---- Readers --------------------------------------------------------------------------------- */

static void follow(flow *w, uint32_t statement, uint32_t register_id, bool here)
{
    if (!mem_grow(&w->queue, &w->queue_capacity, w->queue_count + 1, sizeof *w->queue)) {
        w->failed = true;
        return;
    }
    w->queue[w->queue_count++] = (value){statement, register_id, here};
}

typedef struct follow_context {
    flow *w;
    uint32_t statement;
    bool here;
} follow_context;

static void follow_written(void *context, uint32_t id, bool write)
{
    const follow_context *c = context;
    if (write) {
        follow(c->w, c->statement, id, c->here);
    }
}

/* Whatever the statement writes may be the value. */
static void follow_results(flow *w, uint32_t statement, bool here)
{
    uint32_t local = statement - w->f->function->first_statement;
    if (w->seen[local] == w->walk) {
        return;
    }
    w->seen[local] = w->walk;
    follow_context context = {w, statement, here};
    ptx_visit_registers(w->f->module, &w->f->module->statements[statement], follow_written,
                        &context);
}

static void read_by_sum(flow *w, uint32_t statement, uint8_t type)
{
    const ptx_module *m = w->f->module;
    const ptx_statement *s = &m->statements[statement];
    uint32_t first = w->f->function->first_statement, products = 0;
    w->joinable = true;
    for (uint32_t i = 1; i < s->operand_count; i++) {
        uint32_t id = ptx_plain_register(m, s, i);
        products += id != PTX_NONE && ptx_facts_from_product(w->f, id, type);
    }
    w->paired = w->paired || products > 1;
    if (type != w->type || statement < w->product ||
        w->parted[statement - first] != w->parted[w->product - first]) {
        w->settled = false;
    }
}

/* A store that surely goes to memory: local arrays become registers, parameters are inlined. */
static bool is_store(const char *opcode)
{
    return strncmp(opcode, "st.", 3) == 0 &&
           (ptx_opcode_has(opcode, ".global") || strstr(opcode, ".shared") != NULL);
}

static void read_by_other(flow *w, uint32_t statement)
{
    const ptx_module *m = w->f->module;
    const ptx_statement *s = &m->statements[statement];
    const ptx_effect *effect = ptx_effect_of(m, s);
    const char *opcode = m->opcodes[s->opcode].text;
    if (is_store(opcode)) {
        return;
    }
    w->settled = false;
    if (effect->barrier || strncmp(opcode, "st.", 3) == 0) {
        w->joinable = true; /* who knows */
    } else if (effect->pure ? !is_opaque(w, statement) : effect->access[PTX_CARRY] != 0) {
        follow_results(w, statement, false);
    }
}

/* One statement that reads the product, or what may be it. */
static void read_by(flow *w, uint32_t statement, bool here)
{
    uint8_t type;
    const ptx_module *m = w->f->module;
    const ptx_statement *s = &m->statements[statement];
    ptx_rounding_form form = ptx_rounding_form_of(&type, m, s);
    w->settled = w->settled && here && s->guard == PTX_NONE;
    if (form == PTX_COPY) {
        follow_results(w, statement, here);
        return;
    }
    w->readers++;
    if (form == PTX_SUM) {
        read_by_sum(w, statement, type);
    } else {
        read_by_other(w, statement);
    }
}

typedef struct scan_context {
    uint32_t register_id;
    bool reads, writes;
} scan_context;

static void note_access(void *context, uint32_t id, bool write)
{
    scan_context *c = context;
    if (id == c->register_id) {
        c->reads = c->reads || !write;
        c->writes = c->writes || write;
    }
}

/* True for a part of a vector register: a write leaves the rest. */
static bool names_part(const ptx_module *m, const ptx_statement *s, uint32_t id)
{
    for (uint32_t i = 0; i < s->operand_count; i++) {
        const ptx_operand *operand = &m->operands[s->first_operand + i];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER && leaf->id == id && leaf->component) {
                return true;
            }
        }
    }
    return false;
}

/* Reads of a register from a statement to the end of its block; true when all of it is written
   anew. */
static bool scan_block(flow *w, uint32_t id, uint32_t from, uint32_t end, bool here)
{
    const ptx_module *m = w->f->module;
    for (uint32_t i = from; i < end && w->budget > 0; i++) {
        const ptx_statement *s = &m->statements[i];
        scan_context c = {.register_id = id};
        ptx_visit_registers(m, s, note_access, &c);
        w->budget--;
        if (c.reads) {
            read_by(w, i, here);
        }
        if (c.writes && s->guard == PTX_NONE && !names_part(m, s, id)) {
            return true;
        }
    }
    return false;
}

/* Follows a value of a register that is written more than once along all ways. */
static void scan_ways(flow *w, const value *v)
{
    const ptx_facts *f = w->f;
    const ptx_cfg *cfg = f->cfg;
    uint32_t count = 0, b = ptx_facts_block(f, v->statement);
    const ptx_block *block = &f->module->blocks[f->function->first_block + b];
    bool dead =
        scan_block(w, v->register_id, v->statement + 1, block->first + block->count, v->here);
    w->scan++;
    while (!dead || count > 0) {
        for (uint32_t i = cfg->successor_start[b]; !dead && i < cfg->successor_start[b + 1]; i++) {
            uint32_t to = cfg->successor[i];
            if (w->block_seen[to] != w->scan) {
                w->block_seen[to] = w->scan;
                w->blocks[count++] = to;
            }
        }
        if (count == 0 || w->budget == 0) {
            return;
        }
        b = w->blocks[--count];
        block = &f->module->blocks[f->function->first_block + b];
        dead = scan_block(w, v->register_id, block->first, block->first + block->count, false);
    }
}

static void find_readers(flow *w, const value *v)
{
    const ptx_facts *f = w->f;
    uint32_t local = v->register_id - f->function->first_register;
    if (ptx_facts_definition(f, v->register_id)->count != 1) {
        scan_ways(w, v);
        return;
    }
    for (uint32_t i = f->use_start[local]; i < f->use_start[local + 1] && w->budget > 0; i++) {
        uint32_t use = f->uses[i];
        bool below =
            use > v->statement && ptx_facts_block(f, use) == ptx_facts_block(f, v->statement);
        read_by(w, use, v->here && below);
        w->budget--;
    }
}

static bool is_at_risk(flow *w, uint32_t statement, uint8_t type)
{
    const ptx_statement *s = &w->f->module->statements[statement];
    uint32_t id = ptx_plain_register(w->f->module, s, 0);
    if (id == PTX_NONE) {
        return true;
    }
    w->product = statement;
    w->type = type;
    w->readers = 0;
    w->joinable = w->paired = false;
    w->settled = s->guard == PTX_NONE;
    w->walk++;
    w->queue_count = 0;
    follow(w, statement, id, true);
    for (size_t i = 0; i < w->queue_count && !w->failed; i++) {
        value v = w->queue[i]; /* the queue moves as it grows */
        find_readers(w, &v);
        if (w->budget == 0 || (w->joinable && !w->settled)) {
            return true;
        }
    }
    return w->joinable && w->paired && w->readers > 1;
}

static void note_writer(void *context, uint32_t id, bool write)
{
    follow_context *c = context;
    flow *w = c->w;
    if (write) {
        uint32_t local = id - w->f->function->first_register;
        if (c->here) {
            w->writers[w->writer_start[local + 1]++] = c->statement;
        } else {
            w->writer_start[local + 2]++;
        }
    }
}

static void visit_writers(flow *w, bool fill)
{
    const ptx_function *function = w->f->function;
    for (uint32_t i = 0; i < function->statement_count; i++) {
        follow_context context = {w, function->first_statement + i, fill};
        ptx_visit_registers(w->f->module, &w->f->module->statements[context.statement], note_writer,
                            &context);
    }
}

static bool flow_init(flow *w, const ptx_facts *f)
{
    const ptx_module *m = f->module;
    size_t statements = f->function->statement_count, registers = f->function->register_count;
    *w = (flow){.f = f, .budget = STEPS_AT_LEAST + STEPS_PER_STATEMENT * (uint64_t)statements};
    w->writer_start = mem_alloc(registers + 2, sizeof *w->writer_start);
    w->parted = mem_alloc(statements + 1, sizeof *w->parted);
    w->folds = mem_alloc(statements + 1, sizeof *w->folds);
    w->seen = mem_alloc(statements + 1, sizeof *w->seen);
    w->block_seen = mem_alloc((size_t)f->cfg->count + 1, sizeof *w->block_seen);
    w->blocks = mem_alloc((size_t)f->cfg->count + 1, sizeof *w->blocks);
    if (w->writer_start == NULL || w->parted == NULL || w->folds == NULL || w->seen == NULL ||
        w->block_seen == NULL || w->blocks == NULL) {
        return false;
    }
    visit_writers(w, false);
    for (size_t i = 2; i < registers + 2; i++) {
        w->writer_start[i] += w->writer_start[i - 1];
    }
    w->writers = mem_alloc((size_t)w->writer_start[registers + 1] + 1, sizeof *w->writers);
    if (w->writers == NULL) {
        return false;
    }
    visit_writers(w, true);
    for (uint32_t i = 0; i < statements; i++) {
        const ptx_statement *s = &m->statements[f->function->first_statement + i];
        w->parted[i + 1] = w->parted[i] + (s->kind == PTX_INSTRUCTION &&
                                           ptx_rounding_parts_block(m->opcodes[s->opcode].text));
    }
    find_folds(w);
    return true;
}

static void flow_dispose(flow *w)
{
    mem_free(w->writer_start);
    mem_free(w->writers);
    mem_free(w->parted);
    mem_free(w->folds);
    mem_free(w->seen);
    mem_free(w->block_seen);
    mem_free(w->queue);
    mem_free(w->blocks);
}

/* Any way back, natural loop or not. */
static bool has_cycle(const ptx_cfg *cfg)
{
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t b = cfg->order[i];
        for (uint32_t k = cfg->successor_start[b]; k < cfg->successor_start[b + 1]; k++) {
            if (cfg->number[cfg->successor[k]] <= i) {
                return true;
            }
        }
    }
    return false;
}

static evocc_status judge(bool *out, const ptx_facts *f, evocc_error *error)
{
    flow w;
    bool good = flow_init(&w, f);
    *out = true;
    for (uint32_t i = 0; i < f->function->statement_count && good && *out; i++) {
        uint8_t type;
        uint32_t statement = f->function->first_statement + i;
        const ptx_statement *s = &f->module->statements[statement];
        if (ptx_rounding_form_of(&type, f->module, s) == PTX_PRODUCT) {
            *out = !is_at_risk(&w, statement, type);
            good = !w.failed;
        }
    }
    flow_dispose(&w);
    return good ? EVOCC_OK : error_no_memory(error);
}

/* The module has products and sums at all. */
static bool has_both(const ptx_module *m)
{
    bool product = false, sum = false;
    for (uint32_t i = 0; i < m->opcode_count; i++) {
        uint8_t type;
        ptx_statement s = {.kind = PTX_INSTRUCTION, .opcode = i};
        ptx_rounding_form form = ptx_rounding_form_of(&type, m, &s);
        product = product || form == PTX_PRODUCT;
        sum = sum || form == PTX_SUM;
    }
    return product && sum;
}

static evocc_status judge_function(bool *out, const ptx_module *module,
                                   const ptx_function *function, bool inlined, evocc_error *error)
{
    ptx_facts *facts;
    evocc_status status = ptx_facts_new(&facts, module, function, error);
    if (status == EVOCC_OK) {
        *out = true;
        if (inlined || has_cycle(facts->cfg)) {
            status = judge(out, facts, error);
        }
        ptx_facts_free(facts);
    }
    return status;
}

evocc_status ptx_unrolling_is_exact(bool *out, const ptx_module *module, evocc_error *error)
{
    *out = true;
    bool calls = ptx_uses_opcode(module, "call"), both = has_both(module);
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < module->function_count && status == EVOCC_OK && *out && both; i++) {
        status = judge_function(out, module, &module->functions[i], calls, error);
    }
    return status;
}

/* What is called may be inlined, into a loop of the caller, so then all functions count. */
evocc_status ptx_unrolls_exactly(bool *out, const ptx_module *module, const ptx_function *function,
                                 evocc_error *error)
{
    if (ptx_uses_opcode(module, "call")) {
        return ptx_unrolling_is_exact(out, module, error);
    }
    *out = true;
    return has_both(module) ? judge_function(out, module, function, false, error) : EVOCC_OK;
}
