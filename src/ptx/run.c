#include "ptx/run.h"

#include "ptx/dependences.h"
#include "util/error.h"

#include <string.h>

static uint32_t local_id(const ptx_run *r, uint32_t id)
{
    return id - r->function->first_register;
}

/* ---- Facts ------------------------------------------------------------------------------------
 */

typedef struct fact_visit {
    ptx_run *r;
    uint32_t statement, block;
} fact_visit;

static void note_write(void *context, uint32_t id, bool write)
{
    fact_visit *v = context;
    ptx_register_facts *f = &v->r->facts[local_id(v->r, id)];
    if (write) {
        f->definitions++;
        f->definition = v->statement;
        f->block = v->block;
    }
}

/* A register's definition reaches the start of a block on every way there. */
static bool reaches(const ptx_run *r, const ptx_register_facts *f, uint32_t block)
{
    return f->definitions == 1 && !f->conditional && f->block != block &&
           ptx_cfg_dominates(r->cfg, f->block, block);
}

static void note_read(void *context, uint32_t id, bool write)
{
    fact_visit *v = context;
    ptx_register_facts *f = &v->r->facts[local_id(v->r, id)];
    ptx_register_state *s = &v->r->state[local_id(v->r, id)];
    if (write) {
        s->block = v->block + 1;
    } else if (s->block != v->block + 1) {
        f->read_above = true;
        f->read_loose = f->read_loose || !reaches(v->r, f, v->block);
    }
}

static bool is_partial(const ptx_module *m, const ptx_statement *s)
{
    const ptx_operand *first = &m->operands[s->first_operand];
    bool component = false;
    for (uint32_t l = 0; s->operand_count > 0 && l < first->leaf_count; l++) {
        component = component || m->leaves[first->first_leaf + l].component;
    }
    return s->guard != PTX_NONE || component;
}

static void visit_all(ptx_run *r, ptx_register_visitor *visit)
{
    const ptx_function *f = r->function;
    for (uint32_t b = 0; b < f->block_count; b++) {
        const ptx_block *block = &r->module->blocks[f->first_block + b];
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            fact_visit context = {r, i, b};
            ptx_visit_registers(r->module, &r->module->statements[i], visit, &context);
        }
    }
}

static void find_facts(ptx_run *r)
{
    visit_all(r, note_write);
    for (uint32_t i = 0; i < r->function->register_count; i++) {
        ptx_register_facts *f = &r->facts[i];
        f->conditional =
            f->definitions > 0 && is_partial(r->module, &r->module->statements[f->definition]);
    }
    visit_all(r, note_read);
    for (uint32_t i = 0; i < r->function->register_count; i++) {
        r->state[i].block = 0;
    }
}

/* ---- Names ------------------------------------------------------------------------------------
 */

static void number_scopes(ptx_run *r)
{
    const ptx_module *m = r->module;
    const ptx_function *f = r->function;
    uint64_t next = PTX_SCOPE_FIRST;
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_OPEN) {
            bool inside = ptx_block_of(m, f, i) == ptx_block_of(m, f, s->match);
            r->scope_numbers[s->scope] = inside ? PTX_SCOPE_IN_BLOCK : next++;
        }
    }
}

/* What a register holds at the start of the block at hand. Where one definition reaches, that is
   its value. */
static ptx_worlds unknown_register(const ptx_run *r, uint32_t id)
{
    const ptx_register *reg = &r->module->registers[id];
    ptx_worlds v = ptx_worlds_unknown("register", ptx_at(r->module, reg->name),
                                      ptx_span_length(reg->name), r->scope_numbers[reg->scope]);
    ptx_worlds_truncate(&v, ptx_register_width(r->module, id));
    return v;
}

/* ---- Reading and writing registers
 * --------------------------------------------------------------- */

/* What a read sees before in-flight registers are told apart. `whole`: as the function sees it, the
   expression that other blocks may compute again; else as the block at hand does. */
static ptx_worlds plain_read(const ptx_run *r, uint32_t id, bool whole)
{
    const ptx_register_facts *f = &r->facts[local_id(r, id)];
    const ptx_register_state *s = &r->state[local_id(r, id)];
    bool here = s->block == r->block + 1;
    if (here && !whole) {
        return s->value;
    }
    if (f->definitions == 1 && !f->conditional && (here || reaches(r, f, r->block))) {
        return f->expression;
    }
    return here ? s->value : unknown_register(r, id);
}

/* A register that wgmma or tcgen05 uses beyond the instruction means something else before and
   behind each wait, so the state of the waits is part of what is read. */
static ptx_worlds read_register(const ptx_run *r, uint32_t id, bool whole)
{
    ptx_worlds v = plain_read(r, id, whole);
    if (r->module->registers[id].in_flight) {
        v = ptx_worlds_mix(&v, &r->resources[PTX_IN_FLIGHT]);
        ptx_worlds_truncate(&v, ptx_register_width(r->module, id));
    }
    return v;
}

/* %tid.x is below 1024 or what the entry says. */
static void mask_thread(ptx_worlds *v, const ptx_run *r, const char *text, size_t length)
{
    if (length == 6 && memcmp(text, "%tid.", 5) == 0 && text[5] >= 'x' && text[5] <= 'z') {
        for (int w = 0; w < PTX_WORLDS; w++) {
            v->in[w] &= r->thread_mask[text[5] - 'x'];
        }
    }
}

static ptx_worlds read_leaf(const ptx_run *r, const ptx_leaf *leaf, bool whole, bool *constant)
{
    const ptx_module *m = r->module;
    ptx_worlds v;
    uint64_t bits;
    const char *text = ptx_at(m, leaf->span);
    size_t length = ptx_span_length(leaf->span);
    *constant = false;
    if (leaf->kind == PTX_LEAF_REGISTER) {
        v = read_register(r, leaf->id, whole);
        if (leaf->component) {
            const char *dot = memchr(text, '.', length);
            v = ptx_worlds_mix_number(&v, dot == NULL ? 0 : (uint64_t)(unsigned char)dot[1]);
        }
    } else if (leaf->kind == PTX_LEAF_NUMBER && ptx_literal(&bits, text, length)) {
        *constant = true;
        v = ptx_worlds_constant(leaf->sign == '-' ? 0 - bits : bits);
    } else {
        v = ptx_worlds_unknown("name", text, length, (uint64_t)(unsigned char)leaf->sign);
        mask_thread(&v, r, text, length);
    }
    if (leaf->sign == '!' || leaf->sign == '~') {
        for (int w = 0; w < PTX_WORLDS; w++) {
            v.in[w] = ~v.in[w];
        }
    }
    return v;
}

/* By its own guard or by that of the way here. Both at once do not occur: what is written under a
   predicate has none of its own (compare_chain). */
static bool is_guarded(const ptx_run *r, const ptx_statement *s)
{
    return s->guard != PTX_NONE || r->path != NULL;
}

static ptx_worlds guard_value(const ptx_run *r, const ptx_statement *s)
{
    if (s->guard == PTX_NONE) {
        return *r->path;
    }
    ptx_worlds v = read_register(r, s->guard, false);
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = s->guard_negated ? ~v.in[w] : v.in[w];
    }
    return v;
}

/* [base+offset] is the sum; anything longer all its parts in order. */
static ptx_worlds read_address(const ptx_run *r, const ptx_operand *operand, bool whole)
{
    bool constant;
    const ptx_leaf *leaves = &r->module->leaves[operand->first_leaf];
    ptx_worlds sum = ptx_worlds_constant(0);
    if (operand->leaf_count <= 2) {
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            ptx_worlds v = read_leaf(r, &leaves[l], whole, &constant);
            ptx_worlds_add(&sum, &v);
        }
        return sum;
    }
    for (uint32_t l = 0; l < operand->leaf_count; l++) {
        ptx_worlds v = read_leaf(r, &leaves[l], whole, &constant);
        sum = ptx_worlds_mix(&sum, &v);
    }
    return sum;
}

/* Appends the leaves of one operand to the sources. */
static size_t read_operand(ptx_run *r, const ptx_operand *operand, bool whole, size_t count)
{
    bool address = operand->shape == PTX_SHAPE_ADDRESS;
    size_t more = address ? 1 : operand->leaf_count;
    if (!mem_grow(&r->sources, &r->source_capacity, count + more, sizeof *r->sources) ||
        !mem_grow(&r->constant, &r->constant_capacity, count + more, sizeof *r->constant)) {
        r->failed = true;
        return count;
    }
    if (address) {
        r->sources[count] = read_address(r, operand, whole);
        r->constant[count++] = false;
        return count;
    }
    for (uint32_t l = 0; l < operand->leaf_count; l++) {
        const ptx_leaf *leaf = &r->module->leaves[operand->first_leaf + l];
        r->sources[count] = read_leaf(r, leaf, whole, &r->constant[count]);
        count++;
    }
    return count;
}

static void write_register(ptx_run *r, const ptx_statement *s, const ptx_leaf *leaf,
                           ptx_worlds value)
{
    ptx_worlds_truncate(&value, ptx_register_width(r->module, leaf->id));
    if (leaf->component) {
        ptx_worlds old = plain_read(r, leaf->id, false);
        const char *dot = memchr(ptx_at(r->module, leaf->span), '.', ptx_span_length(leaf->span));
        value = ptx_worlds_mix(&old, &value);
        value = ptx_worlds_mix_number(&value, dot == NULL ? 0 : (uint64_t)(unsigned char)dot[1]);
    }
    if (r->module->registers[leaf->id].in_flight) {
        value = ptx_worlds_mix(&value, &r->resources[PTX_IN_FLIGHT]);
        ptx_worlds_truncate(&value, ptx_register_width(r->module, leaf->id));
    }
    if (is_guarded(r, s)) {
        ptx_worlds guard = guard_value(r, s), old = plain_read(r, leaf->id, false);
        value = ptx_worlds_select(&guard, &value, &old);
        ptx_worlds_truncate(&value, ptx_register_width(r->module, leaf->id));
    }
    ptx_register_state *state = &r->state[local_id(r, leaf->id)];
    if (state->block != r->block + 1) {
        if (!mem_grow(&r->written, &r->written_capacity, r->written_count + 1,
                      sizeof *r->written)) {
            r->failed = true;
            return;
        }
        r->written[r->written_count++] = local_id(r, leaf->id);
    }
    state->value = value;
    state->block = r->block + 1;
}

/* ---- Instructions -----------------------------------------------------------------------------
 */

/* Whether every register operand stands for one value wherever this instruction does. */
static bool operands_are_stable(const ptx_run *r, const ptx_statement *s)
{
    for (uint32_t o = 1; o < s->operand_count; o++) {
        const ptx_operand *operand = &r->module->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &r->module->leaves[operand->first_leaf + l];
            if (leaf->kind != PTX_LEAF_REGISTER) {
                continue;
            }
            const ptx_register_facts *f = &r->facts[local_id(r, leaf->id)];
            bool here = r->state[local_id(r, leaf->id)].block == r->block + 1;
            if (f->definitions != 1 || f->conditional || r->module->registers[leaf->id].in_flight ||
                !(here || reaches(r, f, r->block))) {
                return false;
            }
        }
    }
    return true;
}

/* Parameters of an entry never change, so a plain load of one is as pure as arithmetic. */
static bool is_pure(const ptx_run *r, const ptx_statement *s)
{
    const ptx_effect *effect = ptx_effect_of(r->module, s);
    bool parameter = ptx_loads_entry_parameter(r->module, r->function, s);
    return s->operand_count > 0 && (effect->pure || parameter) &&
           !ptx_reads_varying_special(r->module, s);
}

static void run_pure(ptx_run *r, const ptx_statement *s)
{
    const ptx_module *m = r->module;
    const ptx_meaning *meaning = &r->meanings[s->opcode];
    const ptx_operand *first = &m->operands[s->first_operand];
    bool stable = !r->plain && s->guard == PTX_NONE && operands_are_stable(r, s);
    bool load = !ptx_effect_of(m, s)->pure; /* of a parameter */
    uint32_t bytes = load ? ptx_element_bytes(m->opcodes[s->opcode].text) : 0;
    for (int whole = stable ? 1 : 0; whole >= 0; whole--) {
        size_t count = 0;
        for (uint32_t o = 1; o < s->operand_count && !r->failed; o++) {
            count = read_operand(r, &m->operands[s->first_operand + o], whole == 1, count);
        }
        for (uint32_t l = 0; l < first->leaf_count && !r->failed; l++) {
            const ptx_leaf *leaf = &m->leaves[first->first_leaf + l];
            uint32_t number = l, results = first->leaf_count;
            if (bytes > 0 && count > 0) { /* each element as a scalar load of its own */
                ptx_worlds step = ptx_worlds_constant(l == 0 ? 0 : bytes);
                ptx_worlds_add(&r->sources[0], &step);
                number = 0;
                results = 1;
            }
            if (leaf->kind != PTX_LEAF_REGISTER) {
                continue;
            }
            unsigned width = ptx_register_width(m, leaf->id);
            ptx_worlds v =
                ptx_worlds_apply(meaning, r->sources, r->constant, count, width, number, results);
            ptx_register_facts *f = &r->facts[local_id(r, leaf->id)];
            if (whole == 0) {
                write_register(r, s, leaf, v);
            } else if (!f->opaque && f->definitions == 1 && !f->conditional &&
                       !m->registers[leaf->id].in_flight) {
                f->expandable = true;
                f->expression = v;
            }
        }
    }
}

ptx_worlds ptx_run_not_taken(const ptx_run *r, const ptx_statement *branch)
{
    ptx_worlds v = guard_value(r, branch);
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = ~v.in[w];
    }
    return v;
}

bool ptx_run_is_branch(const ptx_run *r, const ptx_statement *s)
{
    const char *opcode = r->module->opcodes[s->opcode].text;
    return strncmp(opcode, "bra", 3) == 0 && (opcode[3] == '.' || opcode[3] == '\0');
}

/* The state of a resource once asynchronous writes are over. */
static void settle(ptx_run *r, int resource)
{
    if (r->has_unordered[resource]) {
        r->resources[resource] = ptx_worlds_mix(&r->resources[resource], &r->unordered[resource]);
        r->unordered[resource] = ptx_worlds_constant(0);
        r->has_unordered[resource] = false;
    }
}

static bool add_deed(ptx_run *r, const ptx_worlds *worlds, uint32_t statement)
{
    if (!mem_grow(&r->deeds, &r->deed_capacity, r->deed_count + 1, sizeof *r->deeds)) {
        r->failed = true;
        return false;
    }
    r->deeds[r->deed_count++] = (ptx_deed){*worlds, statement};
    return true;
}

static uint8_t access_of(const ptx_effect *effect, int resource)
{
    return effect->barrier && resource != PTX_PLACE ? PTX_ACCESS_WRITE : effect->access[resource];
}

/* What the instruction is, does and meets, as one number a world. */
/* One element of a weak vector access, which is a set of scalar ones (PTX ISA 9.0, 8.2.2); `count`
   is 1 for everything else. */
typedef struct element {
    uint32_t index, count, bytes;
} element;

static element first_element(const ptx_run *r, const ptx_statement *s)
{
    const char *opcode = r->module->opcodes[s->opcode].text;
    element e = {0, 1, 0};
    uint32_t bytes = ptx_element_bytes(opcode);
    for (uint32_t o = 0; o < s->operand_count && bytes != 0; o++) {
        const ptx_operand *operand = &r->module->operands[s->first_operand + o];
        if (operand->shape == PTX_SHAPE_VECTOR) {
            e = (element){0, operand->leaf_count, bytes};
        }
    }
    return e;
}

/* Mixes operand o into h: of a vector access the element's address and datum alone. */
static void mix_operand(ptx_run *r, ptx_worlds *h, const ptx_statement *s, uint32_t o, element e)
{
    const ptx_operand *operand = &r->module->operands[s->first_operand + o];
    size_t count = read_operand(r, operand, false, 0), first = 0;
    if (r->failed) {
        return;
    }
    if (e.count > 1 && operand->shape == PTX_SHAPE_VECTOR) {
        first = e.index;
        count = first + 1;
    }
    for (size_t i = first; i < count; i++) {
        ptx_worlds source = r->sources[i];
        for (int w = 0; w < PTX_WORLDS && operand->shape == PTX_SHAPE_ADDRESS; w++) {
            source.in[w] += (uint64_t)e.index * e.bytes;
        }
        *h = ptx_worlds_mix(h, &source);
    }
    *h = ptx_worlds_mix_number(h, o); /* where one operand ends */
}

static uint32_t stand_in(const ptx_run *r, const ptx_statement *s)
{
    return r->stand_in == NULL
               ? PTX_NONE
               : r->stand_in[s - &r->module->statements[r->function->first_statement]];
}

static ptx_worlds describe_effect(ptx_run *r, const ptx_statement *s, const ptx_effect *effect,
                                  element e)
{
    const ptx_module *m = r->module;
    uint32_t other = stand_in(r, s);
    ptx_worlds h = ptx_worlds_constant(other != PTX_NONE ? r->original->meanings[other].hash
                                                         : r->meanings[s->opcode].hash);
    /* Where a branch leads is compared with the blocks: here it is its predicate alone. */
    bool branch = ptx_run_is_branch(r, s);
    if (is_guarded(r, s)) {
        ptx_worlds guard = branch ? read_register(r, s->guard, false) : guard_value(r, s);
        h = ptx_worlds_mix(&h, &guard);
    }
    bool policy = ptx_opcode_has(m->opcodes[s->opcode].text, ".L2::cache_hint");
    uint32_t end = branch ? 0 : s->operand_count - (policy && s->operand_count > 1 ? 1 : 0);
    for (uint32_t o = effect->destination == PTX_WRITES_FIRST ? 1 : 0; o < end; o++) {
        mix_operand(r, &h, s, o, e);
    }
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        uint8_t access = access_of(effect, i);
        if (access == PTX_ACCESS_READ || access == PTX_ACCESS_WRITE) {
            settle(r, i);
        }
        if (access != PTX_ACCESS_NONE) {
            h = ptx_worlds_mix(&h, &r->resources[i]);
        }
    }
    return h;
}

static void change_resources(ptx_run *r, const ptx_effect *effect, const ptx_worlds *h)
{
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        uint8_t access = access_of(effect, i);
        if (access == PTX_ACCESS_WRITE) {
            r->resources[i] = ptx_worlds_mix(h, &r->resources[i]);
        } else if (access == PTX_ACCESS_ASYNC) {
            ptx_worlds_add(&r->unordered[i], h);
            r->has_unordered[i] = true;
        }
    }
}

/* Results: each leaf of the operands written, or the one of the element. */
static void write_results(ptx_run *r, const ptx_statement *s, const ptx_effect *effect,
                          const ptx_worlds *h, element e)
{
    const ptx_module *m = r->module;
    uint32_t operands = effect->destination == PTX_UPDATES_ALL      ? s->operand_count
                        : effect->destination == PTX_WRITES_NOTHING ? 0
                                                                    : 1;
    for (uint32_t o = 0; o < operands && o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        bool address = operand->shape == PTX_SHAPE_ADDRESS;
        for (uint32_t l = 0; !address && l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == PTX_LEAF_REGISTER && (e.count == 1 || l == e.index)) {
                uint32_t number = e.count > 1 ? 0 : o * 65536 + l;
                write_register(r, s, leaf, ptx_worlds_mix_number(h, number));
            }
        }
    }
}

/* An element of a load that goes nowhere is not loaded. */
static bool is_dropped(const ptx_run *r, const ptx_statement *s, const ptx_effect *effect,
                       element e)
{
    if (e.count == 1 || effect->destination != PTX_WRITES_FIRST) {
        return false;
    }
    const ptx_operand *first = &r->module->operands[s->first_operand];
    return r->module->leaves[first->first_leaf + e.index].kind == PTX_LEAF_SINK;
}

static void run_effect(ptx_run *r, const ptx_statement *s, uint32_t statement)
{
    ptx_effect varying = {.barrier = true, .destination = PTX_WRITES_FIRST};
    uint32_t other = stand_in(r, s);
    const ptx_effect *effect = ptx_reads_varying_special(r->module, s) ? &varying
                               : other != PTX_NONE ? &r->original->module->opcodes[other].effect
                                                   : ptx_effect_of(r->module, s);
    /* All elements are described before any is written: the address may be among them. */
    ptx_worlds elements[8];
    element e = first_element(r, s);
    e.count = e.count > 8 ? 1 : e.count;
    for (e.index = 0; e.index < e.count && !r->failed; e.index++) {
        elements[e.index] = describe_effect(r, s, effect, e);
        if (!is_dropped(r, s, effect, e) && add_deed(r, &elements[e.index], statement)) {
            change_resources(r, effect, &elements[e.index]);
        }
    }
    for (e.index = 0; e.index < e.count && !r->failed; e.index++) {
        write_results(r, s, effect, &elements[e.index], e);
    }
}

/* ---- Blocks -------------------------------------------------------------------------------------
 */

/* bar.warp.sync of all lanes, unconditional. */
static bool is_full_fence(const ptx_run *r, const ptx_statement *s)
{
    const ptx_module *m = r->module;
    bool constant;
    if (strcmp(m->opcodes[s->opcode].text, "bar.warp.sync") != 0 || s->guard != PTX_NONE ||
        s->operand_count != 1) {
        return false;
    }
    const ptx_operand *mask = &m->operands[s->first_operand];
    ptx_worlds lanes = read_leaf(r, &m->leaves[mask->first_leaf], false, &constant);
    return mask->shape == PTX_SHAPE_PLAIN && constant && (lanes.in[0] & UINT32_MAX) == UINT32_MAX;
}

bool ptx_run_admits_fences(const ptx_run *r, uint32_t b)
{
    const ptx_module *m = r->module;
    const ptx_block *block = &m->blocks[r->function->first_block + b];
    bool together = false;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind != PTX_INSTRUCTION) {
            continue;
        }
        const char *opcode = m->opcodes[s->opcode].text;
        const ptx_effect *effect = ptx_effect_of(m, s);
        if (strcmp(opcode, "bar.warp.sync") == 0 || (effect->barrier && !effect->terminator)) {
            return false;
        }
        bool whole = strcmp(opcode, "bar.sync") == 0 || strcmp(opcode, "bar.cta.sync") == 0 ||
                     ptx_opcode_has(opcode, ".aligned");
        together = together || (whole && s->guard == PTX_NONE);
    }
    return together;
}

void ptx_run_start(ptx_run *r, uint32_t b)
{
    r->block = b;
    r->deed_count = r->written_count = 0;
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        r->resources[i] = ptx_worlds_unknown("resource", "", 0, (uint64_t)i);
        r->unordered[i] = ptx_worlds_constant(0);
        r->has_unordered[i] = false;
    }
}

void ptx_run_more(ptx_run *r, uint32_t b, const ptx_worlds *path, bool without_branch)
{
    const ptx_block *block = &r->module->blocks[r->function->first_block + b];
    r->path = path;
    for (uint32_t i = block->first; i < block->first + block->count && !r->failed; i++) {
        const ptx_statement *s = &r->module->statements[i];
        if (s->kind != PTX_INSTRUCTION || (without_branch && ptx_run_is_branch(r, s))) {
            continue;
        }
        if (is_pure(r, s)) {
            run_pure(r, s);
        } else if (!r->skips_fences || !is_full_fence(r, s)) {
            run_effect(r, s, i);
        }
    }
    r->path = NULL;
}

void ptx_run_end(ptx_run *r)
{
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        settle(r, i);
    }
}

void ptx_run_block(ptx_run *r, uint32_t b)
{
    ptx_run_start(r, b);
    ptx_run_more(r, b, NULL, false);
    ptx_run_end(r);
}

void ptx_run_forget(ptx_run *r)
{
    for (size_t i = 0; i < r->written_count; i++) {
        r->state[r->written[i]].block = 0;
    }
}

ptx_worlds ptx_run_value(const ptx_run *r, uint32_t id)
{
    return plain_read(r, id, false);
}

/* PTX ISA, chapter 10 (%ntid) and ".maxntid": all ones up to the highest bit. */
static void find_thread_masks(ptx_run *r)
{
    uint32_t threads = ptx_block_threads(r->module, r->function);
    for (int part = 0; part < 3; part++) {
        uint64_t mask = part == 2 ? 63 : 1023;
        while (threads != 0 && mask != 0 && mask / 2 >= threads - 1) {
            mask /= 2;
        }
        r->thread_mask[part] = mask;
    }
}

void ptx_run_learn(ptx_run *r)
{
    for (uint32_t i = 0; i < r->function->register_count; i++) {
        r->facts[i].expandable = false;
        r->facts[i].expression = unknown_register(r, r->function->first_register + i);
    }
    for (uint32_t i = 0; i < r->cfg->order_count && !r->failed; i++) {
        ptx_run_block(r, r->cfg->order[i]);
        ptx_run_forget(r);
    }
}

void ptx_run_dispose(ptx_run *r)
{
    ptx_cfg_free(r->cfg);
    mem_free(r->meanings);
    mem_free(r->facts);
    mem_free(r->state);
    mem_free(r->written);
    mem_free(r->scope_numbers);
    mem_free(r->stand_in);
    mem_free(r->deeds);
    mem_free(r->sources);
    mem_free(r->constant);
    *r = (ptx_run){0};
}

evocc_status ptx_run_init(ptx_run *r, const ptx_module *m, const ptx_function *f,
                          evocc_error *error)
{
    *r = (ptx_run){.module = m, .function = f};
    r->meanings = mem_alloc(m->opcode_count, sizeof *r->meanings);
    r->facts = mem_alloc(f->register_count, sizeof *r->facts);
    r->state = mem_alloc(f->register_count, sizeof *r->state);
    r->scope_numbers = mem_alloc(m->scope_count, sizeof *r->scope_numbers);
    if (r->meanings == NULL || r->facts == NULL || r->state == NULL || r->scope_numbers == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < m->opcode_count; i++) {
        r->meanings[i] = ptx_meaning_of(m->opcodes[i].text);
    }
    evocc_status status = ptx_cfg_new(&r->cfg, m, f, error);
    if (status == EVOCC_OK) {
        number_scopes(r);
        find_thread_masks(r);
        find_facts(r);
        for (uint32_t i = 0; i < f->register_count; i++) {
            r->facts[i].expression = unknown_register(r, f->first_register + i);
        }
    }
    return status;
}
