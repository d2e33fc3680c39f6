#include "unit.h"

#include "util/mem.h"

#include <stdalign.h>
#include <string.h>

static void sizes_are_checked(void **state)
{
    (void)state;
    assert_null(mem_alloc(SIZE_MAX, 2));
    assert_null(mem_alloc(SIZE_MAX / 2 + 1, 2));
    assert_null(mem_alloc((size_t)PTRDIFF_MAX + 1, 1));
    char *block = mem_alloc(1, 8);
    assert_null(mem_realloc(block, SIZE_MAX / 4, 8));
    assert_memory_equal(block, "\0\0\0\0\0\0\0\0", 8);
    mem_free(block);
    void *empty = mem_alloc(0, 8);
    assert_non_null(empty);
    empty = mem_realloc(empty, 0, 0);
    assert_non_null(empty);
    mem_free(empty);
}

static void copies(void **state)
{
    (void)state;
    char *copy = mem_strndup("abc\0d", 5);
    assert_memory_equal(copy, "abc\0d", 6);
    mem_free(copy);
    copy = mem_strdup("");
    assert_string_equal(copy, "");
    mem_free(copy);
    assert_null(mem_strndup("", SIZE_MAX));
}

static void the_nth_fails(void **state)
{
    (void)state;
    mem_fail_after(1);
    void *first = mem_alloc(1, 1);
    assert_non_null(first);
    assert_null(mem_alloc(1, 1));
    void *third = mem_alloc(1, 1);
    assert_non_null(third);
    mem_free(first);
    mem_free(third);
    mem_fail_after(0);
    mem_fail_after(-1);
    third = mem_alloc(1, 1);
    assert_non_null(third);
    mem_free(third);
}

static void growing(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(mem_grow(&items, &capacity, i + 1, sizeof *items));
        assert_true(capacity > i);
        items[i] = (int)i;
    }
    size_t before = capacity;
    mem_fail_after(0);
    assert_false(mem_grow(&items, &capacity, capacity + 1, sizeof *items));
    mem_fail_after(-1);
    assert_false(mem_grow(&items, &capacity, SIZE_MAX, sizeof *items));
    assert_int_equal(capacity, before);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(items[i], i);
    }
    mem_free(items);
}

static void arenas(void **state)
{
    (void)state;
    arena a = {0};
    unsigned char *blocks[2000];
    for (size_t i = 0; i < COUNT(blocks); i++) {
        size_t size = i % 97 * (i % 7 == 0 ? 100 : 1);
        blocks[i] = arena_alloc(&a, size, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(blocks[i][k], 0);
        }
        memset(blocks[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < COUNT(blocks); i++) {
        size_t size = i % 97 * (i % 7 == 0 ? 100 : 1);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(blocks[i][k], i & 0xff);
        }
    }
    assert_string_equal(arena_strdup(&a, "text"), "text");
    assert_string_equal(arena_strndup(&a, "text", 2), "te");
    assert_null(arena_alloc(&a, SIZE_MAX, 2));
    assert_null(arena_alloc(&a, PTRDIFF_MAX, 1));
    assert_null(arena_strndup(&a, "", SIZE_MAX));
    arena_dispose(&a);
    assert_null(a.chunks);
    mem_fail_after(0);
    assert_null(arena_alloc(&a, 1, 1));
    mem_fail_after(-1);
    arena_dispose(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(copies),
        cmocka_unit_test(the_nth_fails),
        cmocka_unit_test(growing),
        cmocka_unit_test(arenas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
