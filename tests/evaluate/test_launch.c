/* No candidate may break a launch that the baseline allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evaluate/launch.h"

#include "util/mem.h"

#include <string.h>

/* From the occupancy tables: registers a thread, threads of the largest block. */
static void blocks_that_registers_allow(void **state)
{
    (void)state;
    static const struct {
        double registers;
        int threads;
    } rows[] = {{-1, 1024}, {0, 1024}, {16, 1024}, {64, 1024}, {65, 896},  {72, 896},
                {80, 768},  {96, 640}, {128, 512}, {168, 384}, {200, 256}, {255, 256}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(launch_max_threads(rows[i].registers), rows[i].threads);
    }
}

static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry free()\n{\n ret;\n}\n"
                           ".visible .entry bound()\n.maxntid 128 // .reqntid\n{\n ret;\n}\n"
                           ".visible .entry exact()\n.reqntid 128, 1, 1\n{\n ret;\n}\n"
                           ".visible .entry comment() // .maxntid 4\n{\n ret;\n}\n";

static compiler_stats stats_of(const char *entry, double registers)
{
    compiler_stats stats = {.entries = mem_alloc(1, sizeof *stats.entries), .count = 1};
    stats.entries[0] = (compiler_entry_stats){.entry = mem_strdup(entry), .registers = registers};
    return stats;
}

static bool allowed(const ptx_module *module, const char *entry, double before, double after)
{
    launch_limits limits = {0};
    compiler_stats baseline = stats_of(entry, before);
    compiler_stats now = stats_of(entry, after);
    char why[300] = "";
    assert_true(launch_allowed(&limits, module, &now, why, sizeof why)); /* no baseline yet */
    launch_limits_set(&limits, &baseline);
    bool answer = launch_allowed(&limits, module, &now, why, sizeof why);
    assert_int_equal(answer, why[0] == '\0');
    if (!answer) {
        assert_non_null(strstr(why, entry));
        assert_non_null(strstr(why, ".maxntid"));
    }
    launch_limits_dispose(&limits);
    compiler_stats_dispose(&now);
    return answer;
}

static void only_entries_without_a_bound_are_held_to_it(void **state)
{
    (void)state;
    ptx_module *module = NULL;
    evocc_error error;
    assert_int_equal(ptx_parse(&module, text, strlen(text), "t.ptx", &error), EVOCC_OK);
    assert_false(ptx_entry_bounds_threads(module, "free"));
    assert_true(ptx_entry_bounds_threads(module, "bound"));
    assert_true(ptx_entry_bounds_threads(module, "exact"));
    assert_false(ptx_entry_bounds_threads(module, "comment"));
    assert_false(ptx_entry_bounds_threads(module, "absent"));
    assert_false(allowed(module, "free", 64, 65));
    assert_false(allowed(module, "comment", 40, 96));
    assert_true(allowed(module, "free", 40, 64));
    assert_true(allowed(module, "free", 96, 64));
    assert_true(allowed(module, "free", 161, 168));
    assert_true(ptx_uses_opcode(module, "ret"));
    assert_false(ptx_uses_opcode(module, "re"));
    assert_true(allowed(module, "bound", 64, 255));
    assert_true(allowed(module, "exact", 64, 255));
    ptx_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_registers_allow),
        cmocka_unit_test(only_entries_without_a_bound_are_held_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
