#include "search/seen.h"

#include "util/mem.h"

enum { SEEN_FIRST = 1024 };

static hash128 stored(hash128 hash)
{
    if (hash.high == 0 && hash.low == 0) {
        hash.low = 1;
    }
    return hash;
}

/* The slot that holds the hash, or the free slot where it would go. Ends because the table is never
   more than three quarters full. */
static size_t slot_of(const hash128 *slots, size_t capacity, hash128 hash)
{
    size_t i = (size_t)hash.low & (capacity - 1);
    while ((slots[i].high != 0 || slots[i].low != 0) && !hash128_equal(slots[i], hash)) {
        i = (i + 1) & (capacity - 1);
    }
    return i;
}

bool seen_reserve(seen *s)
{
    if (s->count + 1 <= s->capacity / 4 * 3) {
        return true;
    }
    size_t capacity = s->capacity == 0 ? SEEN_FIRST : s->capacity * 2;
    hash128 *slots = mem_alloc(capacity, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < s->capacity; i++) {
        if (s->slots[i].high != 0 || s->slots[i].low != 0) {
            slots[slot_of(slots, capacity, s->slots[i])] = s->slots[i];
        }
    }
    mem_free(s->slots);
    s->slots = slots;
    s->capacity = capacity;
    return true;
}

bool seen_has(const seen *s, hash128 hash)
{
    if (s->capacity == 0) {
        return false;
    }
    hash = stored(hash);
    return hash128_equal(s->slots[slot_of(s->slots, s->capacity, hash)], hash);
}

void seen_add(seen *s, hash128 hash)
{
    hash = stored(hash);
    size_t i = slot_of(s->slots, s->capacity, hash);
    s->count += hash128_equal(s->slots[i], hash) ? 0 : 1;
    s->slots[i] = hash;
}

void seen_dispose(seen *s)
{
    mem_free(s->slots);
    *s = (seen){0};
}
