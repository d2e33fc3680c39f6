/*
 * map.h: a hash map from strings to sizes. Iterate the caller's own array, never the map: nothing
 * may depend on its order.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>

#define MAP_NONE ((size_t)-1)

/* Zero-initialised is empty. Keys are borrowed: they must outlive the map. */
typedef struct map {
    struct map_slot *slots;
    size_t count, capacity;
} map;

bool map_put(map *m, const char *key, size_t key_length, size_t value); /* false: out of memory */
size_t map_get(const map *m, const char *key, size_t key_length);       /* MAP_NONE when absent */
void map_dispose(map *m);

#endif
