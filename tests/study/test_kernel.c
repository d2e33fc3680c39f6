/* Kernels: what a caller of the public header gets of the compiler. With the real ptxas; skipped
   where there is none. */
#include "support.h"

#include <stdlib.h>

static const char *ptx_path(void)
{
    return EVOCC_SOURCE_DIR "/examples/triton_layernorm_8192_w8_sm90a.ptx";
}

static evocc_kernel *open_kernel(void)
{
    evocc_kernel_options o = EVOCC_KERNEL_OPTIONS;
    evocc_kernel *kernel;
    evocc_error error;
    o.path = ptx_path();
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_OK, &error);
    return kernel;
}

static double metric(const evocc_compilation *c, const char *name)
{
    for (size_t i = 0; i < c->metric_count; i++) {
        if (strcmp(c->metrics[i].name, name) == 0) {
            return c->metrics[i].value;
        }
    }
    return -1;
}

static int32_t *new_genes(const evocc_space *space, const char *text)
{
    evocc_error error;
    int32_t *genes = calloc(evocc_space_count(space), sizeof *genes);
    assert_non_null(genes);
    assert_status(evocc_candidate_parse(genes, space, text, &error), EVOCC_OK, &error);
    return genes;
}

static void test_compile_and_save(void **state)
{
    (void)state;
    evocc_error error;
    evocc_kernel *kernel = open_kernel();
    const evocc_space *space = evocc_kernel_space(kernel);
    assert_non_null(strstr(evocc_kernel_environment(kernel), "ptx evocc-ptx-1:"));
    int32_t *baseline = new_genes(space, "");
    int32_t *tuned = new_genes(space, "ptxas/register-usage-level=0");
    evocc_compilation c = EVOCC_COMPILATION;
    assert_status(evocc_kernel_compile(&c, kernel, baseline, true, &error), EVOCC_OK, &error);
    assert_int_equal(c.outcome, EVOCC_OUTCOME_OK);
    assert_true(metric(&c, "registers") > 0);
    assert_memory_equal(c.code, "\177ELF", 4);
    assert_non_null(strstr(c.command, "evocc compile"));
    char hash[65];
    snprintf(hash, sizeof hash, "%s", c.code_hash);
    assert_status(evocc_kernel_compile(&c, kernel, tuned, false, &error), EVOCC_OK, &error);
    assert_null(c.code);
    assert_string_not_equal(c.code_hash, "");

    const char *path = in_folder("tuned.acf");
    assert_status(evocc_kernel_save(kernel, baseline, path, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    assert_false(file_exists(path));
    assert_status(evocc_kernel_save(kernel, tuned, path, &error), EVOCC_OK, &error);
    assert_status(evocc_kernel_save(kernel, tuned, path, &error), EVOCC_OK, &error);
    int32_t *again = new_genes(space, "");
    assert_status(evocc_kernel_load(again, kernel, path, &error), EVOCC_OK, &error);
    assert_memory_equal(again, tuned, evocc_space_count(space) * sizeof *again);

    path = in_folder("notes.txt");
    assert_status(file_write(path, "mine\n", 5, &error), EVOCC_OK, &error);
    assert_status(evocc_kernel_save(kernel, tuned, path, &error), EVOCC_INVALID_ARGUMENT, &error);
    assert_says(&error, "is no ACF");
    assert_status(evocc_kernel_load(again, kernel, path, &error), EVOCC_PARSE, &error);
    free(baseline);
    free(tuned);
    free(again);
    evocc_kernel_free(kernel);
}

static void test_other_kernel(void **state)
{
    (void)state;
    evocc_error error;
    evocc_kernel *kernel = open_kernel();
    const evocc_space *space = evocc_kernel_space(kernel);
    int32_t *genes = new_genes(space, "ptxas/register-usage-level=0");
    char acf_path[512];
    snprintf(acf_path, sizeof acf_path, "%s", in_folder("arch.acf"));
    assert_status(evocc_kernel_save(kernel, genes, acf_path, &error), EVOCC_OK, &error);
    evocc_kernel_free(kernel);
    evocc_kernel_options o = EVOCC_KERNEL_OPTIONS;
    const char *const arguments[] = {"-O1"};
    o.path = ptx_path();
    o.arguments = arguments;
    o.argument_count = 1;
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_OK, &error);
    assert_status(evocc_kernel_load(genes, kernel, acf_path, &error), EVOCC_MISMATCH, &error);
    assert_says(&error, "base");
    evocc_kernel_free(kernel);
    free(genes);
}

static void test_what_is_missing(void **state)
{
    (void)state;
    evocc_error error;
    evocc_kernel_options o = EVOCC_KERNEL_OPTIONS;
    evocc_kernel *kernel;
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_INVALID_ARGUMENT, &error);
    o.path = in_folder("no.ptx");
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_NOT_FOUND, &error);
    assert_null(kernel);
    o.path = ptx_path();
    o.entry = "nobody";
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_INVALID_ARGUMENT, &error);
    assert_says(&error, "nobody");
    o.entry = NULL;
    o.arch = "sm_1";
    assert_status(evocc_kernel_open(&kernel, &o, &error), EVOCC_INVALID_ARGUMENT, &error);
    assert_says(&error, "sm_1");
}

static void test_probe(void **state)
{
    (void)state;
    evocc_error error;
    evocc_space *space;
    assert_status(evocc_space_probe(&space, "ptxas", NULL, "sm_90a", &error), EVOCC_OK, &error);
    int32_t *genes = new_genes(space, "ptxas/register-usage-level=0");
    char words[200];
    size_t length = evocc_candidate_arguments(words, sizeof words, space, genes, "ptxas");
    assert_string_equal(words, "--register-usage-level=0\n");
    assert_int_equal(length, strlen(words));
    assert_int_equal(evocc_candidate_arguments(words, 5, space, genes, "ptxas"), length);
    assert_string_equal(words, "--re");
    assert_int_equal(evocc_candidate_arguments(words, 5, space, genes, "cobol"), (size_t)-1);
    free(genes);
    evocc_space_free(space);
    assert_status(evocc_space_probe(&space, "cobol", NULL, NULL, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    assert_status(evocc_space_probe(&space, "ptxas", NULL, "sm_1", &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    assert_null(space);
}

static int set_up(void **state)
{
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    int status = make_folder(state);
    setenv("XDG_CACHE_HOME", folder, 1);
    return status;
}

int main(void)
{
    const char *ptxas = getenv("EVOCC_REAL_PTXAS");
    if (ptxas == NULL || *ptxas == '\0') {
        puts("skipped: EVOCC_REAL_PTXAS names no ptxas");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compile_and_save),
        cmocka_unit_test(test_other_kernel),
        cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
