/*
 * names.c: what names of registers mean while a function is read.
 */
#include "ptx/parse.h"

#include <string.h>

/* A register of a range that was mentioned. */
struct parse_number {
    uint64_t key; /* range and number; 0: free */
    uint32_t id;
};

/* ---- Scopes ---------------------------------------------------------------------------------- */

static parse_names *names_of(const parser *p, uint32_t scope)
{
    return &p->names[scope - p->first_scope];
}

bool parse_enter_scope(parser *p)
{
    ptx_module *m = p->module;
    if (!mem_grow(&m->scopes, &m->scope_capacity, m->scope_count + 1, sizeof *m->scopes) ||
        !mem_grow(&p->names, &p->name_capacity, p->name_count + 1, sizeof *p->names)) {
        return parse_no_memory(p);
    }
    m->scopes[m->scope_count] =
        (ptx_scope){.parent = p->scope,
                    .open = PTX_NONE,
                    .depth = p->scope == PTX_NONE ? 0 : m->scopes[p->scope].depth + 1};
    p->names[p->name_count++] = (parse_names){.ranges = MAP_NONE};
    p->scope = (uint32_t)m->scope_count++;
    return true;
}

void parse_leave_scope(parser *p)
{
    p->scope = p->module->scopes[p->scope].parent;
}

void parse_forget_names(parser *p)
{
    for (size_t i = 0; i < p->name_count; i++) {
        map_dispose(&p->names[i].registers);
        map_dispose(&p->names[i].labels);
    }
    mem_free(p->numbers.slots);
    p->numbers = (parse_numbers){0};
    p->name_count = 0;
    p->range_count = 0;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

bool parse_add_label(parser *p, ptx_span name)
{
    return map_put(&names_of(p, p->scope)->labels, ptx_at(p->module, name), ptx_span_length(name),
                   p->module->statement_count) ||
           parse_no_memory(p);
}

uint32_t parse_find_label(const parser *p, uint32_t scope, ptx_span name)
{
    const ptx_module *m = p->module;
    for (; scope != PTX_NONE; scope = m->scopes[scope].parent) {
        size_t found = map_get(&names_of(p, scope)->labels, ptx_at(m, name), ptx_span_length(name));
        if (found != MAP_NONE) {
            return (uint32_t)found;
        }
    }
    return PTX_NONE;
}

/* ---- Registers ------------------------------------------------------------------------------- */

static bool add_register(parser *p, uint32_t scope, ptx_span name, ptx_span type, uint32_t *id)
{
    ptx_module *m = p->module;
    if (!PARSE_ROOM(m->registers, m->register_count, m->register_capacity)) {
        return parse_no_memory(p);
    }
    *id = (uint32_t)m->register_count;
    m->registers[m->register_count++] = (ptx_register){.name = name, .type = type, .scope = scope};
    return true;
}

bool parse_declare_one(parser *p, ptx_span name, ptx_span type)
{
    uint32_t id = PTX_NONE;
    return add_register(p, p->scope, name, type, &id) &&
           (map_put(&names_of(p, p->scope)->registers, ptx_at(p->module, name),
                    ptx_span_length(name), id) ||
            parse_no_memory(p));
}

/* The newest range of the scope that has this prefix and reaches beyond `number`; MAP_NONE. */
static size_t find_range(const parser *p, const parse_names *names, const char *prefix,
                         size_t length, uint64_t number)
{
    for (size_t r = names->ranges; r != MAP_NONE; r = p->ranges[r].next) {
        const parse_range *range = &p->ranges[r];
        if (ptx_span_length(range->prefix) == length && number < range->count &&
            memcmp(ptx_at(p->module, range->prefix), prefix, length) == 0) {
            return r;
        }
    }
    return MAP_NONE;
}

bool parse_declare_range(parser *p, ptx_span prefix, ptx_span type, uint64_t count)
{
    if (!mem_grow(&p->ranges, &p->range_capacity, p->range_count + 1, sizeof *p->ranges)) {
        return parse_no_memory(p);
    }
    parse_names *names = names_of(p, p->scope);
    size_t older = find_range(p, names, ptx_at(p->module, prefix), ptx_span_length(prefix), 0);
    p->ranges[p->range_count] =
        (parse_range){.prefix = prefix,
                      .type = type,
                      .count = count,
                      .next = names->ranges,
                      .family = older == MAP_NONE ? p->range_count : p->ranges[older].family};
    names->ranges = p->range_count++;
    return true;
}

static struct parse_number *find_number(const parse_numbers *n, uint64_t key)
{
    size_t mask = n->capacity - 1;
    size_t i = (size_t)(key * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (n->slots[i].key != 0 && n->slots[i].key != key) {
        i = (i + 1) & mask;
    }
    return &n->slots[i];
}

static bool grow_numbers(parse_numbers *n)
{
    size_t capacity = n->capacity == 0 ? 64 : 4 * n->capacity;
    parse_numbers larger = {mem_alloc(capacity, sizeof *n->slots), n->count, capacity};
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < n->capacity; i++) {
        if (n->slots[i].key != 0) {
            *find_number(&larger, n->slots[i].key) = n->slots[i];
        }
    }
    mem_free(n->slots);
    *n = larger;
    return true;
}

/* The register of a range and a number, made when it is mentioned for the first time. */
static bool number_of(parser *p, uint32_t scope, ptx_span name, const parse_range *range,
                      uint64_t number, uint32_t *id)
{
    parse_numbers *n = &p->numbers;
    if (2 * (n->count + 1) > n->capacity && !grow_numbers(n)) {
        return parse_no_memory(p);
    }
    /* Numbers have at most ten digits, 34 bits. */
    uint64_t key = ((uint64_t)range->family << 34 | number) + 1;
    struct parse_number *slot = find_number(n, key);
    if (slot->key == 0) {
        if (!add_register(p, scope, name, range->type, id)) {
            return false;
        }
        *slot = (struct parse_number){key, *id};
        n->count++;
    }
    *id = slot->id;
    return true;
}

/* Splits "%r12" into its prefix, whose length is returned, and its number; 0: it is not of that
   form. A number has no leading zeros. */
static size_t split_number(const char *text, size_t length, uint64_t *number)
{
    size_t digits = length;
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') {
        digits--;
    }
    if (digits == length || length - digits > 10 || (text[digits] == '0' && length - digits > 1)) {
        return 0;
    }
    *number = 0;
    for (size_t i = digits; i < length; i++) {
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return digits;
}

bool parse_resolve(parser *p, ptx_span name, uint32_t *id)
{
    const char *text = ptx_at(p->module, name);
    size_t length = ptx_span_length(name);
    uint64_t number = 0;
    size_t prefix = split_number(text, length, &number);
    for (uint32_t s = p->scope; s != PTX_NONE; s = p->module->scopes[s].parent) {
        const parse_names *names = names_of(p, s);
        size_t found = map_get(&names->registers, text, length);
        if (found != MAP_NONE) {
            *id = (uint32_t)found;
            return true;
        }
        size_t range = prefix == 0 ? MAP_NONE : find_range(p, names, text, prefix, number);
        if (range != MAP_NONE) {
            return number_of(p, s, name, &p->ranges[range], number, id);
        }
    }
    *id = PTX_NONE;
    return true;
}
