#include "unit.h"

#include "util/map.h"
#include "util/mem.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 5000 };

static void put_and_get(void **state)
{
    (void)state;
    static char names[KEYS][16];
    map m = {0};
    assert_int_equal(map_get(&m, "x", 1), MAP_NONE);
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof names[i], "key%zu", i);
        assert_true(map_put(&m, names[i], strlen(names[i]), i));
    }
    assert_int_equal(m.count, KEYS);
    assert_true(3 * m.count <= 2 * m.capacity);
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(map_get(&m, names[i], strlen(names[i])), i);
    }
    assert_int_equal(map_get(&m, "key", 3), MAP_NONE);
    assert_int_equal(map_get(&m, "key5000", 7), MAP_NONE);
    assert_true(map_put(&m, "key7", 4, 99));
    assert_int_equal(m.count, KEYS);
    assert_int_equal(map_get(&m, "key7", 4), 99);
    map_dispose(&m);
    assert_int_equal(m.count, 0);
    map_dispose(&m);
}

static void keys_are_bytes(void **state)
{
    (void)state;
    map m = {0};
    assert_true(map_put(&m, "a\0b", 3, 1));
    assert_true(map_put(&m, "a\0c", 3, 2));
    assert_true(map_put(&m, "", 0, 3));
    assert_int_equal(map_get(&m, "a\0b", 3), 1);
    assert_int_equal(map_get(&m, "a\0c", 3), 2);
    assert_int_equal(map_get(&m, "a", 1), MAP_NONE);
    assert_int_equal(map_get(&m, "", 0), 3);
    map_dispose(&m);
}

static void without_memory_it_stays(void **state)
{
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    map m = {0};
    mem_fail_after(0);
    assert_false(map_put(&m, letters, 1, 0));
    size_t kept = 0;
    for (size_t i = 0; i < 26; i++) {
        mem_fail_after(i == 0 ? -1 : 0); /* from now on every growth fails */
        kept += map_put(&m, letters + i, 1, i);
    }
    mem_fail_after(-1);
    assert_true(kept > 0 && kept < 26);
    for (size_t i = 0; i < 26; i++) {
        assert_int_equal(map_get(&m, letters + i, 1), i < kept ? i : MAP_NONE);
    }
    map_dispose(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_and_get),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(without_memory_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
