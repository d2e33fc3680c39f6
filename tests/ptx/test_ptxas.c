/* The real ptxas accepts what the passes write. Skipped where there is none. */
#include "helpers.h"

#include <stdio.h>

static void assert_compiles(const ptx_module *module, const char *file, const ptx_setting *settings,
                            size_t count, long *spilled, long *registers)
{
    evocc_error error;
    char message[4096];
    strbuf out = {0};
    if (ptx_rewrite(&out, module, settings, count, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    if (!run_ptxas(strbuf_text(&out), "sm_90a", spilled, registers, message)) {
        fail_msg("%s: %s=%s: %s", file, settings[0].name, settings[0].value, message);
    }
    strbuf_dispose(&out);
}

static void test_examples(void **state)
{
    (void)state;
    static const char *const entries[] = {"fa", "fa", "ln", "mm"};
    static const char *const orders[] = {"original", "pressure", "seed8"};
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        ptx_module *module = module_of_file(example_paths[i]);
        long fewest = 0, base = 0;
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            char name[64], frequency[64];
            long spilled, registers;
            snprintf(name, sizeof name, "order@%s", entries[i]);
            snprintf(frequency, sizeof frequency, "frequency@%s", entries[i]);
            const ptx_setting settings[] = {{name, orders[o]},
                                            {frequency, o % 2 == 0 ? "flat" : "inverse16"}};
            assert_compiles(module, example_paths[i], settings, o == 0 ? 1 : 2, &spilled,
                            &registers);
            print_message("%s order %s%s: %ld spilled bytes, %ld registers\n", example_paths[i],
                          orders[o], o == 0 ? "" : (o % 2 == 0 ? ", flat" : ", inverse16"), spilled,
                          registers);
            fewest = o == 0 || spilled < fewest ? spilled : fewest;
            base = o == 0 ? spilled : base;
        }
        assert_true(base == 0 || fewest < base); /* the controls reach the compiler */
        ptx_free(module);
    }
}

static void test_odd(void **state)
{
    (void)state;
    ptx_module *module = module_of_file("tests/ptx/data/odd.ptx");
    static const char *const orders[] = {"late", "early", "pressure", "seed1", "seed8"};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        const ptx_setting settings[] = {{"order@odd", orders[o]}, {"frequency@odd", "loops16"}};
        assert_compiles(module, "odd.ptx", settings, 2, NULL, NULL);
    }
    ptx_free(module);
}

int main(void)
{
    if (find_ptxas() == NULL) {
        print_message("no ptxas: neither EVOCC_REAL_PTXAS nor CUDA_HOME/bin nor PATH has one\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_odd), cmocka_unit_test(test_examples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
