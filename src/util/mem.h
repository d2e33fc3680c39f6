/*
 * mem.h: allocation with checked sizes, and arenas for what lives and dies together.
 *
 * Every allocation of the project comes through here, so that tests can make the nth one fail.
 */
#ifndef UTIL_MEM_H
#define UTIL_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* count * size bytes, zeroed; NULL when the product overflows or memory is out. Never NULL for 0.
 */
void *mem_alloc(size_t count, size_t size);

/* Grows or shrinks; new bytes are not zeroed. On failure NULL, and the old block stays valid. */
void *mem_realloc(void *old, size_t count, size_t size);

void mem_free(void *block);

char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t length);

/* Makes room for `needed` items in *items, doubling; false on failure, the old array then stays.
   Use: if (!mem_grow(&array, &capacity, count + 1, sizeof *array)) ... */
bool mem_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* Tests: the allocation after `count` more of them fails, once; negative switches it off. */
void mem_fail_after(long count);

/* An arena: many small blocks, released together. Zero-initialised is ready for use. With
   -DEVOCC_ARENA_MALLOC (the sanitizer builds) each block is its own malloc. */
typedef struct arena {
    struct arena_chunk *chunks;
} arena;

void *arena_alloc(arena *a, size_t count, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(arena *a, const char *text);
char *arena_strndup(arena *a, const char *text, size_t length);
void arena_dispose(arena *a);

#endif
