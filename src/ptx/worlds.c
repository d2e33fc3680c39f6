#include "ptx/worlds.h"

#include "util/hash.h"

#include <string.h>

/* ---- Values -----------------------------------------------------------------------------------
 */

static uint64_t scramble(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return scramble(scramble(a + UINT64_C(0x9e3779b97f4a7c15)) + b);
}

ptx_worlds ptx_worlds_unknown(const char *kind, const char *name, size_t length, uint64_t number)
{
    ptx_worlds v = {.word = false};
    uint64_t hash = mix(hash64(name, length, hash64(kind, strlen(kind), 0)), number);
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = mix(hash, (uint64_t)w);
    }
    return v;
}

ptx_worlds ptx_worlds_constant(uint64_t value)
{
    ptx_worlds v = {.word = false};
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = value;
    }
    return v;
}

bool ptx_worlds_equal(const ptx_worlds *a, const ptx_worlds *b)
{
    return memcmp(a->in, b->in, sizeof a->in) == 0;
}

ptx_worlds ptx_worlds_mix(const ptx_worlds *a, const ptx_worlds *b)
{
    ptx_worlds v = {.word = false};
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = mix(a->in[w], b->in[w]);
    }
    return v;
}

ptx_worlds ptx_worlds_mix_number(const ptx_worlds *a, uint64_t number)
{
    ptx_worlds v = {.word = false};
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = mix(a->in[w], number);
    }
    return v;
}

void ptx_worlds_add(ptx_worlds *sum, const ptx_worlds *a)
{
    for (int w = 0; w < PTX_WORLDS; w++) {
        sum->in[w] += a->in[w];
    }
    sum->word = true;
}

ptx_worlds ptx_worlds_select(const ptx_worlds *predicate, const ptx_worlds *yes,
                             const ptx_worlds *no)
{
    if (ptx_worlds_equal(yes, no)) {
        return *yes;
    }
    ptx_worlds v = {.word = false};
    for (int w = 0; w < PTX_WORLDS; w++) {
        uint64_t p = predicate->in[w], a = yes->in[w], b = no->in[w];
        if (p == 0 || p == UINT64_MAX) { /* a constant */
            v.in[w] = p != 0 ? a : b;
            continue;
        }
        /* Of p and its negation the smaller stands for both. */
        v.in[w] = p < ~p ? mix(mix(p, a), b) : mix(mix(~p, b), a);
    }
    return v;
}

static uint64_t low_bits(uint64_t x, unsigned width)
{
    return width == 0 || width >= 64 || width == 1 ? x : x & ((UINT64_C(1) << width) - 1);
}

static uint64_t extend(uint64_t x, unsigned width, bool is_signed)
{
    x = low_bits(x, width);
    if (is_signed && width > 1 && width < 64 && (x >> (width - 1)) != 0) {
        x |= ~((UINT64_C(1) << width) - 1);
    }
    return x;
}

void ptx_worlds_truncate(ptx_worlds *value, unsigned width)
{
    for (int w = 0; w < PTX_WORLDS; w++) {
        value->in[w] = low_bits(value->in[w], width);
    }
}

unsigned ptx_register_width(const ptx_module *module, uint32_t register_id)
{
    ptx_span type = module->registers[register_id].type;
    unsigned width;
    bool is_signed;
    size_t length = ptx_span_length(type);
    const char *text = ptx_at(module, type);
    if (length > 1 && ptx_integer_type(text + 1, length - 1, &width, &is_signed)) {
        return width;
    }
    if (length == 4 && memcmp(text, ".f32", 4) == 0) {
        return 32;
    }
    if (length == 4 && memcmp(text, ".f16", 4) == 0) {
        return 16;
    }
    return length == 6 && memcmp(text, ".f16x2", 6) == 0 ? 32 : 64;
}

/* ---- Arithmetic ---------------------------------------------------------------------------------
 */

static uint64_t shift_left(uint64_t a, uint64_t amount, unsigned width)
{
    return amount >= width ? 0 : a << amount;
}

/* `a` is extended to 64 bits already. */
static uint64_t shift_right(uint64_t a, uint64_t amount, unsigned width, bool is_signed)
{
    bool negative = is_signed && (a >> 63) != 0;
    if (amount >= width) {
        return negative ? UINT64_MAX : 0;
    }
    return negative && amount > 0 ? ~(~a >> amount) : a >> amount;
}

static uint64_t lookup(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t result = 0;
    for (unsigned row = 0; row < 8; row++) {
        if ((table >> row & 1) != 0) {
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
        }
    }
    return result;
}

/* bfe of PTX ISA 9.7.1: position and length constant. */
static uint64_t extract(uint64_t a, uint64_t position, uint64_t length, const ptx_meaning *m)
{
    unsigned width = m->width;
    position &= 0xff;
    length &= 0xff;
    if (length == 0) {
        return 0;
    }
    uint64_t top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    bool negative = m->is_signed && (low_bits(a, width) >> top & 1) != 0;
    uint64_t field = position >= width ? 0 : low_bits(a, width) >> position;
    uint64_t mask = length >= 64 ? UINT64_MAX : (UINT64_C(1) << length) - 1;
    uint64_t valid = position >= width ? 0 : low_bits(UINT64_MAX, width) >> position;
    return negative ? (field & mask) | ~(mask & valid) : field & mask;
}

/* Pack and unpack: {a, b} has a in its low bits. */
static uint64_t move(const ptx_worlds *s, size_t count, int w, unsigned result_width, size_t index,
                     size_t results)
{
    if (count == 0) {
        return mix(0, index); /* `mov.b32 %r1, {}`, which no compiler takes */
    }
    if (results > 1) {
        uint64_t whole = s[0].word ? mix(s[0].in[w], 64) : s[0].in[w];
        return count == 1 && index * result_width < 64 ? whole >> (index * result_width)
                                                       : s[index < count ? index : 0].in[w];
    }
    if (count == 1) {
        return s[0].in[w];
    }
    uint64_t packed = 0;
    unsigned part = result_width / (unsigned)count;
    for (size_t i = 0; i < count && part > 0; i++) {
        packed |= low_bits(s[i].in[w], part) << (i * part);
    }
    return packed;
}

static uint64_t opaque(const ptx_meaning *m, const ptx_worlds *s, size_t count, int w, size_t index,
                       bool commutes)
{
    uint64_t hash = mix(m->hash, index);
    for (size_t i = 0; i < count; i++) {
        size_t from = i;
        if (commutes && count >= 2 && i < 2 && s[1].in[w] < s[0].in[w]) {
            from = 1 - i;
        }
        hash = mix(hash, s[from].in[w]);
    }
    return hash;
}

static bool all_constant(const bool *constant, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!constant[i]) {
            return false;
        }
    }
    return true;
}

/* Whether a kind takes bits of its sources rather than whole words. */
static bool takes_bits(const ptx_meaning *m, size_t results)
{
    switch ((ptx_meaning_kind)m->kind) {
    case PTX_MEANS_AND:
    case PTX_MEANS_OR:
    case PTX_MEANS_XOR:
    case PTX_MEANS_NOT:
    case PTX_MEANS_LOOKUP:
    case PTX_MEANS_EXTRACT:
    case PTX_MEANS_SHIFT_RIGHT:
        return true;
    case PTX_MEANS_MOVE:
        return results > 1;
    case PTX_MEANS_OPAQUE:
    case PTX_MEANS_COMMUTATIVE:
    case PTX_MEANS_ADD:
    case PTX_MEANS_SUBTRACT:
    case PTX_MEANS_NEGATE:
    case PTX_MEANS_MULTIPLY:
    case PTX_MEANS_MULTIPLY_ADD:
    case PTX_MEANS_SHIFT_LEFT:
    case PTX_MEANS_CONVERT:
    case PTX_MEANS_SELECT:
    case PTX_MEANS_COMPARE:
    case PTX_MEANS_COUNT:
        break;
    }
    return false;
}

static bool makes_word(const ptx_meaning *m, const ptx_worlds *s, size_t count)
{
    switch ((ptx_meaning_kind)m->kind) {
    case PTX_MEANS_ADD:
    case PTX_MEANS_SUBTRACT:
    case PTX_MEANS_NEGATE:
    case PTX_MEANS_MULTIPLY:
    case PTX_MEANS_MULTIPLY_ADD:
    case PTX_MEANS_SHIFT_LEFT:
        return true;
    case PTX_MEANS_MOVE:
    case PTX_MEANS_CONVERT:
        for (size_t i = 0; i < count; i++) {
            if (s[i].word) {
                return true;
            }
        }
        break;
    case PTX_MEANS_AND:
    case PTX_MEANS_OR:
    case PTX_MEANS_XOR:
    case PTX_MEANS_NOT:
    case PTX_MEANS_LOOKUP:
    case PTX_MEANS_EXTRACT:
    case PTX_MEANS_SHIFT_RIGHT:
    case PTX_MEANS_OPAQUE:
    case PTX_MEANS_COMMUTATIVE:
    case PTX_MEANS_SELECT:
    case PTX_MEANS_COMPARE:
    case PTX_MEANS_COUNT:
        break;
    }
    return false;
}

/* Random bits in the place of a word. */
static uint64_t bits_of(const ptx_worlds *v, int w, unsigned width)
{
    return v->word ? mix(low_bits(v->in[w], width), width) : v->in[w];
}

/* How many sources a kind takes when it can be computed here; the rest is opaque. */
static bool is_computed(const ptx_meaning *m, const bool *constant, size_t count, size_t results)
{
    switch ((ptx_meaning_kind)m->kind) {
    case PTX_MEANS_MOVE:
        return true;
    case PTX_MEANS_ADD:
    case PTX_MEANS_SUBTRACT:
    case PTX_MEANS_MULTIPLY:
    case PTX_MEANS_AND:
    case PTX_MEANS_OR:
    case PTX_MEANS_XOR:
        return count == 2 && results == 1;
    case PTX_MEANS_MULTIPLY_ADD:
        return count == 3 && results == 1;
    case PTX_MEANS_NEGATE:
    case PTX_MEANS_NOT:
    case PTX_MEANS_CONVERT:
        return count == 1 && results == 1;
    case PTX_MEANS_SHIFT_LEFT:
    case PTX_MEANS_SHIFT_RIGHT:
        return count == 2 && results == 1 && constant[1];
    case PTX_MEANS_LOOKUP:
        return count == 4 && results == 1 && constant[3];
    case PTX_MEANS_EXTRACT:
        return count == 3 && results == 1 && all_constant(constant, 1, 3);
    case PTX_MEANS_OPAQUE:
    case PTX_MEANS_COMMUTATIVE:
    case PTX_MEANS_SELECT:
    case PTX_MEANS_COMPARE:
    case PTX_MEANS_COUNT:
        break;
    }
    return false;
}

/* One world of a computed kind; `a`, `b`, `c` extended from the source width. */
static uint64_t compute(const ptx_meaning *m, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                        uint64_t addend)
{
    switch ((ptx_meaning_kind)m->kind) {
    case PTX_MEANS_ADD:
        return a + b;
    case PTX_MEANS_SUBTRACT:
        return a - b;
    case PTX_MEANS_NEGATE:
        return 0 - a;
    case PTX_MEANS_MULTIPLY:
        return a * b;
    case PTX_MEANS_MULTIPLY_ADD:
        return a * b + addend;
    case PTX_MEANS_SHIFT_LEFT:
        return shift_left(a, b, m->width);
    case PTX_MEANS_SHIFT_RIGHT:
        return shift_right(a, low_bits(b, 32), m->width, m->is_signed);
    case PTX_MEANS_AND:
        return a & b;
    case PTX_MEANS_OR:
        return a | b;
    case PTX_MEANS_XOR:
        return a ^ b;
    case PTX_MEANS_NOT:
        return ~a;
    case PTX_MEANS_LOOKUP:
        return lookup(a, b, c, d);
    case PTX_MEANS_EXTRACT:
        return extract(a, b, c, m);
    case PTX_MEANS_CONVERT:
    case PTX_MEANS_OPAQUE:
    case PTX_MEANS_COMMUTATIVE:
    case PTX_MEANS_MOVE:
    case PTX_MEANS_SELECT:
    case PTX_MEANS_COMPARE:
    case PTX_MEANS_COUNT:
        break;
    }
    return a;
}

static ptx_worlds apply_special(const ptx_meaning *m, const ptx_worlds *s, size_t count,
                                size_t index, size_t results)
{
    ptx_worlds v = {.word = false};
    if (m->kind == PTX_MEANS_SELECT && count == 3) {
        return ptx_worlds_select(&s[2], &s[0], &s[1]);
    }
    /* setp p|q without a combining predicate: q is the negation of p. */
    bool negated = m->kind == PTX_MEANS_COMPARE && results == 2 && index == 1 && count == 2;
    for (int w = 0; w < PTX_WORLDS; w++) {
        v.in[w] = opaque(m, s, count, w, negated ? 0 : index, m->kind == PTX_MEANS_COMMUTATIVE);
        v.in[w] = negated ? ~v.in[w] : v.in[w];
    }
    return v;
}

ptx_worlds ptx_worlds_apply(const ptx_meaning *m, const ptx_worlds *s, const bool *constant,
                            size_t count, unsigned result_width, size_t index, size_t results)
{
    ptx_worlds v = {.word = false};
    if (!is_computed(m, constant, count, results)) {
        v = apply_special(m, s, count, index, results);
        ptx_worlds_truncate(&v, result_width);
        return v;
    }
    bool bits = takes_bits(m, results);
    v.word = makes_word(m, s, count) && !bits;
    for (int w = 0; w < PTX_WORLDS; w++) {
        if (m->kind == PTX_MEANS_MOVE) {
            v.in[w] = move(s, count, w, result_width, index, results);
            continue;
        }
        uint64_t x[4] = {0};
        for (size_t i = 0; i < count && i < 4; i++) {
            uint64_t source = bits ? bits_of(&s[i], w, m->width) : s[i].in[w];
            x[i] = extend(source, m->width, m->is_signed);
        }
        uint64_t addend = count > 2 ? low_bits(s[2].in[w], m->result_width) : 0;
        v.in[w] = compute(m, x[0], x[1], x[2], x[3], addend);
        v.in[w] = extend(v.in[w], m->result_width, m->is_signed);
    }
    ptx_worlds_truncate(&v, result_width);
    return v;
}
