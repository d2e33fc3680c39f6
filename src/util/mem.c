#include "util/mem.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Test-only state; the library itself never writes it. */
static long failures_due = -1;

void mem_fail_after(long count)
{
    failures_due = count;
}

static bool fails_now(void)
{
    return failures_due >= 0 && failures_due-- == 0;
}

static bool product_fits(size_t count, size_t size)
{
    return size == 0 || count <= PTRDIFF_MAX / size;
}

void *mem_alloc(size_t count, size_t size)
{
    if (fails_now() || !product_fits(count, size)) {
        return NULL;
    }
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

void *mem_realloc(void *old, size_t count, size_t size)
{
    if (fails_now() || !product_fits(count, size)) {
        return NULL;
    }
    return realloc(old, count == 0 || size == 0 ? 1 : count * size);
}

void mem_free(void *block)
{
    free(block);
}

char *mem_strndup(const char *text, size_t length)
{
    char *copy = length < PTRDIFF_MAX ? mem_alloc(length + 1, 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

bool mem_grow(void *items, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity) {
        return true;
    }
    size_t larger = *capacity < 8 ? 8 : *capacity;
    while (larger < needed) {
        if (larger > PTRDIFF_MAX / 2) {
            return false;
        }
        larger *= 2;
    }
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = mem_realloc(old, larger, size);
    if (grown == NULL) {
        return false;
    }
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

/* Chunks grow with the arena: a small one costs one page, a large one few mallocs. */
enum { ARENA_FIRST = 4096 - 64, ARENA_LARGEST = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used;
    alignas(max_align_t) unsigned char data[];
};

static struct arena_chunk *chunk_new(arena *a, size_t bytes)
{
    size_t size = a->chunks == NULL ? ARENA_FIRST : a->chunks->size * 2;
#ifdef EVOCC_ARENA_MALLOC
    size = bytes;
#endif
    size = size > ARENA_LARGEST ? ARENA_LARGEST : size;
    size = size < bytes ? bytes : size;
    if (size > PTRDIFF_MAX - sizeof(struct arena_chunk)) {
        return NULL;
    }
    struct arena_chunk *chunk = mem_alloc(1, sizeof *chunk + size);
    if (chunk != NULL) {
        chunk->size = size;
        chunk->next = a->chunks;
        a->chunks = chunk;
    }
    return chunk;
}

void *arena_alloc(arena *a, size_t count, size_t size)
{
    size_t alignment = alignof(max_align_t);
    if (!product_fits(count, size) || count * size > PTRDIFF_MAX - alignment) {
        return NULL;
    }
    size_t bytes = (count * size + alignment - 1) / alignment * alignment;
    bytes = bytes == 0 ? alignment : bytes;
    struct arena_chunk *chunk = a->chunks;
    if (chunk == NULL || chunk->size - chunk->used < bytes) {
        chunk = chunk_new(a, bytes);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *block = chunk->data + chunk->used;
    chunk->used += bytes;
    return block;
}

char *arena_strndup(arena *a, const char *text, size_t length)
{
    char *copy = length < PTRDIFF_MAX ? arena_alloc(a, length + 1, 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *arena_strdup(arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

void arena_dispose(arena *a)
{
    while (a->chunks != NULL) {
        struct arena_chunk *next = a->chunks->next;
        mem_free(a->chunks);
        a->chunks = next;
    }
}
