#include "support.h"

#include "compiler/cache.h"

#include "util/files.h"
#include "util/mem.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    char *folder, *ptxas;
    launcher *launcher;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.folder = support_folder();
    f.ptxas = support_fake(f.folder);
    char *good = path_join(f.folder, "good.cubin");
    size_t length = 0;
    char *data = support_read(FIXTURES "cubins/two-13.0.88.cubin", &length);
    assert_int_equal(file_write(good, data, length, NULL), EVOCC_OK);
    mem_free(data);
    mem_free(good);
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    evocc_error error;
    if (launcher_new(&f.launcher, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    launcher_free(f->launcher);
    mem_free(f->ptxas);
    support_remove(f->folder);
    return 0;
}

static compiler_identity identify(fixture *f, launcher *l, const char *path)
{
    (void)f;
    compiler_identity identity = {0};
    evocc_error error;
    if (compiler_ptxas.identify(&identity, l, path, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return identity;
}

static void test_fake(void **state)
{
    fixture *f = *state;
    compiler_identity c = identify(f, f->launcher, f->ptxas);
    assert_string_equal(c.version, "12.9.1");
    assert_string_equal(c.version_text, "Cuda compilation tools, release 12.9, V12.9.1 Build fake");
    assert_int_equal(c.max_ptx_version, 88);
    assert_string_equal(c.archs, "sm_80 sm_90a");
    assert_string_equal(c.default_arch, "sm_80");
    assert_true(c.size_bytes > 0 && c.modified_ns > 0 && c.path[0] == '/');
    compiler_identity_dispose(&c);
}

/* A script may call another compiler tomorrow: it is asked every time. */
static void test_script_is_not_cached(void **state)
{
    fixture *f = *state;
    for (size_t round = 1; round <= 2; round++) {
        compiler_identity c = identify(f, f->launcher, f->ptxas);
        compiler_identity_dispose(&c);
        assert_int_equal(support_count_lines(f->folder, "log"), 4 * round);
    }
}

static void expect_refused(fixture *f, const char *path, const char *word)
{
    compiler_identity c = {0};
    evocc_error error;
    assert_int_not_equal(compiler_ptxas.identify(&c, f->launcher, path, &error), EVOCC_OK);
    assert_null(c.path);
    if (strstr(error.message, word) == NULL || strstr(error.message, path) == NULL) {
        fail_msg("%s", error.message);
    }
}

static void test_not_a_ptxas(void **state)
{
    fixture *f = *state;
    expect_refused(f, "/bin/true", "is no ptxas");
    expect_refused(f, "/bin/false", "exit 1");
    expect_refused(f, "/no/such/file", "cannot find");
    support_write(f->folder, "ptxas", "#!/no/such/interpreter\n");
    expect_refused(f, f->ptxas, "cannot be run");
    support_write(f->folder, "ptxas", "#!/bin/sh\nkill -SEGV $$\n");
    expect_refused(f, f->ptxas, "signal 11");
}

static size_t count_controls(fixture *f, const compiler_identity *c, char *const *base,
                             size_t base_count)
{
    evocc_space *space = NULL;
    evocc_error error;
    if (compiler_ptxas.make_space(&space, f->launcher, c, "sm_80", base, base_count, &error) !=
        EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    size_t count = space_count(space);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(space_get(space, i)->stage, SPACE_STAGE_PTXAS);
    }
    space_free(space);
    return count;
}

/* The fake accepts everything: what is left out then is what versions and targets exclude. */
static void test_probe(void **state)
{
    fixture *f = *state;
    compiler_identity c = identify(f, f->launcher, f->ptxas);
    size_t asked = support_count_lines(f->folder, "log");
    size_t all = count_controls(f, &c, NULL, 0);
    assert_true(all >= 3);
    size_t runs = support_count_lines(f->folder, "log") - asked;
    assert_true(runs >= 2 && runs <= 64);

    /* Known by now: nothing is run. */
    asked += runs;
    assert_int_equal(count_controls(f, &c, NULL, 0), all);
    assert_int_equal(support_count_lines(f->folder, "log"), asked);

    /* The user's own options are not searched, in whatever form they are given. */
    char *base[] = {(char *)(uintptr_t) "-O1", (char *)(uintptr_t) "--register-usage-level",
                    (char *)(uintptr_t) "7"};
    /* opt-level and opt-level-0, which are one option, and register-usage-level */
    assert_int_equal(count_controls(f, &c, base, COUNT(base)), all - 3);
    assert_int_equal(support_count_lines(f->folder, "log"), asked);
    compiler_identity_dispose(&c);
}

static void test_probe_rejects(void **state)
{
    fixture *f = *state;
    compiler_identity c = identify(f, f->launcher, f->ptxas);
    size_t all = count_controls(f, &c, NULL, 0);
    /* Another target: asked anew, and now some options are unknown. A single value is enough. */
    support_write(f->folder, "rejects", "--register-usage-level=10\n-O1\n");
    mem_free(c.version_text);
    c.version_text = mem_strdup("another build");
    assert_int_equal(count_controls(f, &c, NULL, 0), all - 2);
    compiler_identity_dispose(&c);
}

static void test_probe_errors(void **state)
{
    fixture *f = *state;
    compiler_identity c = identify(f, f->launcher, f->ptxas);
    evocc_space *space = NULL;
    evocc_error error;
    assert_int_equal(compiler_ptxas.make_space(&space, f->launcher, &c, "sm_99", NULL, 0, &error),
                     EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sm_99"));
    assert_non_null(strstr(error.message, "sm_80 sm_90a"));
    support_write(f->folder, "mode", "fails\n");
    assert_int_equal(compiler_ptxas.make_space(&space, f->launcher, &c, "sm_90a", NULL, 0, &error),
                     EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "empty kernel"));
    assert_null(space);
    compiler_identity_dispose(&c);
}

/* ---- The cache --------------------------------------------------------------------------- */

static void expect_cached(const char *key, const char *expected)
{
    char *text = cache_load("kind", key);
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_string_equal(text, expected);
    }
    mem_free(text);
}

/* The one file of the cache folder; mem_free. */
static char *cache_file(const fixture *f)
{
    char *folder = path_join(f->folder, "cache/evocc");
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    char *path = NULL;
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (e->d_name[0] != '.') {
            assert_null(path);
            path = path_join(folder, e->d_name);
        }
    }
    closedir(entries);
    mem_free(folder);
    return path;
}

static void test_cache(void **state)
{
    fixture *f = *state;
    expect_cached("a key", NULL);
    cache_store("kind", "a key", "one\ntwo\n");
    expect_cached("a key", "one\ntwo\n");
    expect_cached("another", NULL);
    cache_store("kind", "a key", "");
    expect_cached("a key", "");
    cache_store("kind", "two\nlines", "x"); /* no key */
    expect_cached("two\nlines", NULL);

    /* Damaged anywhere, at any length: unknown; written again: known. */
    char *path = cache_file(f);
    size_t length = 0;
    char *data = support_read(path, &length);
    for (size_t i = 0; i < length; i++) {
        char was = data[i];
        data[i] = (char)(was ^ 1);
        assert_int_equal(file_write(path, data, length, NULL), EVOCC_OK);
        expect_cached("a key", NULL);
        data[i] = was;
        assert_int_equal(file_write(path, data, i, NULL), EVOCC_OK);
        expect_cached("a key", NULL);
    }
    cache_store("kind", "a key", "again");
    expect_cached("a key", "again");

    /* What others may have written is not believed. */
    assert_int_equal(chmod(path, 0666), 0);
    expect_cached("a key", NULL);
    mem_free(data);
    mem_free(path);
}

static void test_cache_without_a_place(void **state)
{
    fixture *f = *state;
    support_write(f->folder, "cache", "a file where the folder should be");
    cache_store("kind", "a key", "text");
    expect_cached("a key", NULL);
    compiler_identity c = identify(f, f->launcher, f->ptxas);
    assert_true(count_controls(f, &c, NULL, 0) >= 3);
    compiler_identity_dispose(&c);
    setenv("XDG_CACHE_HOME", "relative", 1);
    char *home = mem_strdup(getenv("HOME"));
    unsetenv("HOME");
    cache_store("kind", "a key", "text");
    expect_cached("a key", NULL);
    if (home != NULL) {
        setenv("HOME", home, 1);
    }
    mem_free(home);
}

/* ---- With the ptxas of this machine ------------------------------------------------------ */

static void test_real(void **state)
{
    fixture *f = *state;
    char *ptxas = support_real_ptxas();
    SKIP_WITHOUT_PTXAS(ptxas);
    compiler_identity c = identify(f, f->launcher, ptxas);
    assert_true(c.max_ptx_version >= 78);
    assert_true(strlen(c.version) >= 6 && strspn(c.version, "0123456789.") == strlen(c.version));
    assert_true(compiler_accepts_arch(&c, "sm_80") && !compiler_accepts_arch(&c, "sm_1"));
    assert_true(compiler_accepts_arch(&c, c.default_arch));
    assert_true(count_controls(f, &c, NULL, 0) >= 3);

    /* Without a launcher: from the cache, or with one of its own. */
    compiler_identity again = identify(f, NULL, ptxas);
    assert_string_equal(again.version_text, c.version_text);
    assert_string_equal(again.archs, c.archs);
    assert_int_equal(again.max_ptx_version, c.max_ptx_version);
    compiler_identity_dispose(&again);
    compiler_identity_dispose(&c);
    mem_free(ptxas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fake, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_script_is_not_cached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_a_ptxas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_probe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_probe_rejects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_probe_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_without_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_real, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
