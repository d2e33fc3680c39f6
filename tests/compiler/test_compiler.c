#include "support.h"

#include "util/files.h"
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with programs named ptxas in several places; `bin` of CUDA_HOME and of PATH. */
typedef struct places {
    char *folder, *real, *given, *home, *home_ptxas, *path, *path_ptxas;
} places;

static char *make_program(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    char *parent = path_folder(path);
    assert_int_equal(folder_make(parent, NULL), EVOCC_OK);
    assert_int_equal(file_write(path, "#!/bin/sh\n", 10, NULL), EVOCC_OK);
    assert_int_equal(chmod(path, 0755), 0);
    mem_free(parent);
    return path;
}

static int set_up(void **state)
{
    static places p;
    p.folder = support_folder();
    p.real = make_program(p.folder, "real/ptxas");
    p.given = make_program(p.folder, "given/ptxas");
    p.home = path_join(p.folder, "home");
    p.home_ptxas = make_program(p.folder, "home/bin/ptxas");
    p.path = path_join(p.folder, "path");
    p.path_ptxas = make_program(p.folder, "path/ptxas");
    setenv("EVOCC_REAL_PTXAS", p.real, 1);
    setenv("CUDA_HOME", p.home, 1);
    setenv("PATH", p.path, 1);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    places *p = *state;
    mem_free(p->real);
    mem_free(p->given);
    mem_free(p->home);
    mem_free(p->home_ptxas);
    mem_free(p->path);
    mem_free(p->path_ptxas);
    support_remove(p->folder);
    return 0;
}

static void expect_found(const char *given, const char *expected)
{
    char *path = NULL;
    evocc_error error;
    if (compiler_find(&path, "ptxas", given, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(path, expected);
    mem_free(path);
}

static void test_order(void **state)
{
    places *p = *state;
    expect_found(p->given, p->given);
    expect_found(NULL, p->real);
    setenv("EVOCC_REAL_PTXAS", "", 1);
    expect_found(p->given, p->given);
    expect_found(NULL, p->home_ptxas);
    unlink(p->home_ptxas);
    expect_found("", p->path_ptxas);
    unsetenv("CUDA_HOME");
    expect_found(NULL, p->path_ptxas);
}

static void expect_error(const char *given, evocc_status expected, const char *const *words)
{
    char *path = NULL;
    evocc_error error;
    assert_int_equal(compiler_find(&path, "ptxas", given, &error), expected);
    assert_null(path);
    for (; *words != NULL; words++) {
        if (strstr(error.message, *words) == NULL) {
            fail_msg("'%s' is not in: %s", *words, error.message);
        }
    }
}

static void test_nothing_found(void **state)
{
    places *p = *state;
    unsetenv("EVOCC_REAL_PTXAS");
    unlink(p->home_ptxas);
    unlink(p->path_ptxas);
    expect_error(NULL, EVOCC_NOT_FOUND,
                 (const char *[]){"EVOCC_REAL_PTXAS", p->home, p->path, "--ptxas",
                                  "pip install nvidia-cuda-nvcc", NULL});
    unsetenv("CUDA_HOME");
    expect_error(NULL, EVOCC_NOT_FOUND, (const char *[]){"CUDA_HOME is not set", NULL});
}

/* What a person named is taken or refused; there is no silent second choice. */
static void test_named_wrongly(void **state)
{
    places *p = *state;
    setenv("EVOCC_REAL_PTXAS", "/no/such/ptxas", 1);
    expect_error(NULL, EVOCC_NOT_FOUND,
                 (const char *[]){"EVOCC_REAL_PTXAS", "/no/such/ptxas", NULL});
    unsetenv("EVOCC_REAL_PTXAS");
    expect_error("/no/such", EVOCC_NOT_FOUND, (const char *[]){"--ptxas", "/no/such", NULL});
    expect_error(p->folder, EVOCC_NOT_FOUND, (const char *[]){"--ptxas", p->folder, NULL});
}

/* The wrapper must not call itself: by PATH or CUDA_HOME it is passed over, by name refused. */
static void test_ourselves(void **state)
{
    places *p = *state;
    unsetenv("EVOCC_REAL_PTXAS");
    unlink(p->home_ptxas);
    unlink(p->path_ptxas);
    assert_int_equal(symlink("/proc/self/exe", p->given), -1);
    char *self = NULL;
    assert_int_equal(program_self(&self, NULL), EVOCC_OK);
    unlink(p->given);
    assert_int_equal(symlink(self, p->given), 0);
    assert_int_equal(symlink(self, p->home_ptxas), 0);
    assert_int_equal(symlink(self, p->path_ptxas), 0);
    expect_error(NULL, EVOCC_NOT_FOUND, (const char *[]){p->path, NULL});
    expect_error(p->given, EVOCC_REFUSED, (const char *[]){"evocc itself", NULL});
    setenv("EVOCC_REAL_PTXAS", p->given, 1);
    expect_error(NULL, EVOCC_REFUSED, (const char *[]){"EVOCC_REAL_PTXAS", NULL});
    mem_free(self);
}

/* A relative path means the same file after the caller has gone elsewhere. */
static void test_relative(void **state)
{
    places *p = *state;
    unsetenv("EVOCC_REAL_PTXAS");
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir(p->folder), 0);
    char *resolved = getcwd(NULL, 0);
    char *expected = path_join(resolved, "given/ptxas");
    expect_found("given/ptxas", expected);
    assert_int_equal(chdir(here), 0);
    mem_free(expected);
    free(resolved);
    free(here);
}

static void test_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(compiler_by_name("ptxas"), &compiler_ptxas);
    assert_null(compiler_by_name("cc"));
}

static void test_command_text(void **state)
{
    (void)state;
    compiler_command command = {0};
    static const char *const words[] = {"/opt/x y/ptxas", "-O1", "it's.ptx", ""};
    for (size_t i = 0; i < COUNT(words); i++) {
        compiler_command_add(&command, words[i]);
    }
    assert_int_equal(command.count, COUNT(words));
    assert_null(command.argv[command.count]);
    strbuf text = {0};
    compiler_command_text(&text, &command);
    assert_string_equal(strbuf_text(&text), "'/opt/x y/ptxas' -O1 'it'\\''s.ptx' ''");
    strbuf_dispose(&text);
    mem_fail_after(0);
    compiler_command_add(&command, "lost");
    mem_fail_after(-1);
    compiler_command_add(&command, "too late");
    assert_true(command.failed && command.count == COUNT(words));
    compiler_command_dispose(&command);
}

static void test_accepts_arch(void **state)
{
    (void)state;
    compiler_identity identity = {.archs = (char *)(uintptr_t) "sm_75 sm_90 sm_90a"};
    assert_true(compiler_accepts_arch(&identity, "sm_90"));
    assert_true(compiler_accepts_arch(&identity, "sm_90a"));
    assert_false(compiler_accepts_arch(&identity, "sm_9"));
    assert_false(compiler_accepts_arch(&identity, "sm_100"));
    assert_false(compiler_accepts_arch(&identity, ""));
    identity.archs = (char *)(uintptr_t) ""; /* an unknown list forbids nothing */
    assert_true(compiler_accepts_arch(&identity, "sm_100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_named_wrongly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ourselves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_relative, set_up, tear_down),
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_command_text),
        cmocka_unit_test(test_accepts_arch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
