#include "util/map.h"

#include "util/hash.h"
#include "util/mem.h"

#include <string.h>

struct map_slot {
    const char *key; /* NULL: free */
    size_t key_length, value;
};

/* The slot that holds the key, or the free one where it belongs. Ends because the table is never
   more than two thirds full. */
static struct map_slot *find_slot(struct map_slot *slots, size_t capacity, const char *key,
                                  size_t key_length)
{
    size_t i = (size_t)hash64(key, key_length, 0) & (capacity - 1);
    while (slots[i].key != NULL &&
           (slots[i].key_length != key_length || memcmp(slots[i].key, key, key_length) != 0)) {
        i = (i + 1) & (capacity - 1);
    }
    return &slots[i];
}

static bool map_grow(map *m)
{
    size_t capacity = m->capacity == 0 ? 16 : m->capacity * 2;
    struct map_slot *slots = mem_alloc(capacity, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].key != NULL) {
            *find_slot(slots, capacity, m->slots[i].key, m->slots[i].key_length) = m->slots[i];
        }
    }
    mem_free(m->slots);
    m->slots = slots;
    m->capacity = capacity;
    return true;
}

bool map_put(map *m, const char *key, size_t key_length, size_t value)
{
    if (3 * (m->count + 1) > 2 * m->capacity && !map_grow(m)) {
        return false;
    }
    struct map_slot *slot = find_slot(m->slots, m->capacity, key, key_length);
    if (slot->key == NULL) {
        slot->key = key;
        slot->key_length = key_length;
        m->count++;
    }
    slot->value = value;
    return true;
}

size_t map_get(const map *m, const char *key, size_t key_length)
{
    if (m->capacity == 0) {
        return MAP_NONE;
    }
    const struct map_slot *slot = find_slot(m->slots, m->capacity, key, key_length);
    return slot->key == NULL ? MAP_NONE : slot->value;
}

void map_dispose(map *m)
{
    mem_free(m->slots);
    *m = (map){0};
}
