/* The store of installed files: found by what is compiled, safe from others, whole at any time. */
#include "example.h"

#include "acf/acf_store.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* One test's home; what was noticed. */
typedef struct fixture {
    char *folder;
    char notices[8][1024];
    size_t notice_count;
} fixture;

static void on_notice(void *context, const char *path, const char *why)
{
    fixture *f = context;
    assert_true(f->notice_count < 8);
    snprintf(f->notices[f->notice_count++], sizeof f->notices[0], "%s: %s", path, why);
}

static int open_fixture(void **state)
{
    fixture *f = mem_alloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(folder_temporary(&f->folder, NULL), EVOCC_OK);
    setenv("XDG_DATA_HOME", f->folder, 1);
    unsetenv("EVOCC_ACF_PATH");
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    folder_remove(f->folder);
    mem_free(f->folder);
    mem_free(f);
    return 0;
}

static char *inside(const fixture *f, const char *name)
{
    char *path = path_join(f->folder, name);
    assert_non_null(path);
    return path;
}

/* A file for the example's target with one control of `kernel`, or of the whole module. */
static acf *file_for(const char *kernel, const char *control, const char *value)
{
    acf from = example();
    const acf_control one = {.full_name = control, .value = value};
    from.target.kernel = kernel;
    from.controls = &one;
    from.control_count = 1;
    from.metric_count = 0;
    acf *file = NULL;
    assert_int_equal(acf_new(&file, &from, NULL), EVOCC_OK);
    return file;
}

/* Installs it; the path. mem_free. */
static char *installed(const char *folder, const char *kernel, const char *control,
                       const char *value)
{
    acf *file = file_for(kernel, control, value);
    evocc_error error = {0};
    char *path = NULL;
    if (acf_store_install(&path, folder, file, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    acf_free(file);
    return path;
}

/* What is found for this target: "control=value ..." of the kernel, or "". */
static const char *found_for(fixture *f, const acf_target *here)
{
    static char text[8192];
    evocc_error error = {0};
    acf_store *store = NULL;
    acf *file = NULL;
    strbuf paths = {0};
    text[0] = '\0';
    f->notice_count = 0;
    assert_int_equal(acf_store_open(&store, "ptxas", on_notice, f, &error), EVOCC_OK);
    if (store != NULL) {
        if (acf_store_find(&file, &paths, store, here, &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
    }
    if (file != NULL) {
        assert_true(paths.length > 0);
        size_t used = (size_t)snprintf(text, sizeof text, "%s:", file->target.kernel);
        for (size_t i = 0; i < file->control_count; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s",
                                     file->controls[i].full_name, file->controls[i].value);
        }
    }
    acf_free(file);
    strbuf_dispose(&paths);
    acf_store_free(store);
    return text;
}

static const char *found(fixture *f)
{
    acf_target here = example().target;
    return found_for(f, &here);
}

static void nothing_is_found_in_nothing(void **state)
{
    fixture *f = *state;
    acf_store *store = (acf_store *)f;
    assert_int_equal(acf_store_open(&store, "ptxas", on_notice, f, NULL), EVOCC_OK);
    assert_null(store);
    assert_int_equal(f->notice_count, 0);
}

static void a_file_is_found_by_its_target(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    char *folder = inside(f, "evocc/installed/ptxas/13.0.88/sm_90a/");
    assert_memory_equal(path, folder, strlen(folder));
    assert_string_equal(path_base(path), "fa.acf");
    acf_store *store = NULL;
    assert_int_equal(acf_store_open(&store, "ptxas", on_notice, f, NULL), EVOCC_OK);
    assert_true(acf_store_may_have(store, "13.0.88", "sm_90a"));
    assert_true(acf_store_may_have(store, "13.0.88", NULL));
    assert_false(acf_store_may_have(store, "13.0.88", "sm_90"));
    assert_false(acf_store_may_have(store, "12.9.86", NULL));
    assert_false(acf_store_may_have(store, "..", NULL));
    acf_store_free(store);
    assert_string_equal(found(f), "fa: ptx/order@fa=late");
    const char *const sorted[] = {"--maxrregcount=128", "-O3"};
    acf_target here = example().target;
    here.base = sorted;
    here.kernel = "whatever";
    assert_string_equal(found_for(f, &here), "fa: ptx/order@fa=late");
    mem_free(path);
    mem_free(folder);
}

static void every_field_decides(void **state)
{
    fixture *f = *state;
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    static const char *const bases[] = {"-O3"};
    acf_target others[6];
    for (int i = 0; i < 6; i++) {
        others[i] = example().target;
    }
    others[0].version = "13.0.89";
    others[1].arch = "sm_90";
    others[2].ptx = "evocc-ptx-1:"
                    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    others[3].base = bases;
    others[3].base_count = 1;
    others[4].arch = "..";
    others[5].version = "";
    for (int i = 0; i < 6; i++) {
        assert_string_equal(found_for(f, &others[i]), "");
        assert_int_equal(f->notice_count, 0);
    }
}

static void the_last_one_installed_counts(void **state)
{
    fixture *f = *state;
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    mem_free(installed(NULL, "fa", "ptx/order@fa", "early"));
    assert_string_equal(found(f), "fa: ptx/order@fa=early");
}

static void kernels_of_one_module_come_together(void **state)
{
    fixture *f = *state;
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    mem_free(installed(NULL, "fb", "ptx/order@fb", "early"));
    assert_string_equal(found(f), "*: ptx/order@fa=late ptx/order@fb=early");
    /* One for the whole module stands alone, after those that came before it. */
    char *path = installed(NULL, "*", "ptxas/register-usage-level", "10");
    assert_string_equal(path_base(path), "whole-module.acf");
    assert_string_equal(found(f), "*: ptx/order@fa=late ptx/order@fb=early");
    mem_free(path);
}

static void only_one_sets_options_of_the_module(void **state)
{
    fixture *f = *state;
    mem_free(installed(NULL, "fa", "ptxas/register-usage-level", "10"));
    mem_free(installed(NULL, "fb", "ptxas/register-usage-level", "0"));
    assert_string_equal(found(f), "fa: ptxas/register-usage-level=10");
}

static void long_names_of_kernels_have_short_files(void **state)
{
    fixture *f = *state;
    char name[3000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    char *path = installed(NULL, name, "ptxas/register-usage-level", "10");
    assert_true(strlen(path_base(path)) < 200);
    assert_string_not_equal(found(f), "");
    mem_free(path);
}

static void projects_go_first(void **state)
{
    fixture *f = *state;
    char *project = inside(f, "project");
    char *other = inside(f, "other");
    char *path = inside(f, "project:");
    char *both = mem_alloc(3, 4096);
    snprintf(both, 3 * 4096, "%s::%s", other, project);
    setenv("EVOCC_ACF_PATH", both, 1);
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    mem_free(installed(NULL, "fb", "ptx/order@fb", "late"));
    mem_free(installed(project, "fa", "ptx/order@fa", "early"));
    assert_string_equal(found(f), "*: ptx/order@fa=early ptx/order@fb=late");
    mem_free(installed(other, "fa", "ptx/order@fa", "pressure"));
    assert_string_equal(found(f), "*: ptx/order@fa=pressure ptx/order@fb=late");
    mem_free(both);
    mem_free(path);
    mem_free(other);
    mem_free(project);
}

static void expect_notice(const fixture *f, const char *part)
{
    assert_int_equal(f->notice_count, 1);
    if (strstr(f->notices[0], part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, f->notices[0]);
    }
}

static void damaged_files_are_passed_over(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    mem_free(installed(NULL, "fb", "ptx/order@fb", "early"));
    static const char *const damages[] = {"", "evocc-acf: 1\n", "evocc-acf: 2\n", "\177ELF"};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        assert_int_equal(file_write(path, damages[i], strlen(damages[i]), NULL), EVOCC_OK);
        assert_string_equal(found(f), "fb: ptx/order@fb=early");
        expect_notice(f, "fa.acf");
    }
    mem_free(path);
}

/* Somebody renamed it, or the format of keys changed: contents decide. */
static void files_at_a_wrong_place_are_passed_over(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    acf from = example();
    from.target.arch = "sm_80";
    acf *file = NULL;
    strbuf text = {0};
    assert_int_equal(acf_new(&file, &from, NULL), EVOCC_OK);
    assert_int_equal(acf_write(&text, file, NULL), EVOCC_OK);
    assert_int_equal(file_write(path, text.data, text.length, NULL), EVOCC_OK);
    assert_string_equal(found(f), "");
    expect_notice(f, "arch: the file is for 'sm_80', this is 'sm_90a'");
    strbuf_dispose(&text);
    acf_free(file);
    mem_free(path);
}

static void what_others_can_write_is_ignored(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    char *folder = mem_strdup(path);
    /* The file, then every folder up to the store. */
    for (int i = 0; i < 6; i++) {
        struct stat s;
        assert_int_equal(stat(folder, &s), 0);
        assert_int_equal(chmod(folder, s.st_mode | (i % 2 == 0 ? S_IWGRP : S_IWOTH)), 0);
        assert_string_equal(found(f), "");
        expect_notice(f, "others may write to it");
        assert_int_equal(chmod(folder, s.st_mode), 0);
        assert_string_equal(found(f), "fa: ptx/order@fa=late");
        char *above = path_folder(folder);
        mem_free(folder);
        folder = above;
    }
    mem_free(folder);
    mem_free(path);
}

static void what_belongs_to_others_is_ignored(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    if (geteuid() != 0 || chown(path, 12345, 12345) != 0) {
        mem_free(path);
        skip();
    }
    assert_string_equal(found(f), "");
    expect_notice(f, "belongs to another user");
    mem_free(path);
}

static void links_are_followed_to_a_store_only(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    char *target = inside(f, "elsewhere.acf");
    char *store = inside(f, "evocc/installed");
    char *moved = inside(f, "moved");
    assert_int_equal(rename(store, moved), 0);
    assert_int_equal(symlink(moved, store), 0);
    assert_string_equal(found(f), "fa: ptx/order@fa=late");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_string_equal(found(f), "");
    expect_notice(f, "fa.acf");
    mem_free(moved);
    mem_free(store);
    mem_free(target);
    mem_free(path);
}

/* Whatever the umask of who installs. */
static void what_was_installed_is_believed(void **state)
{
    fixture *f = *state;
    mode_t old = umask(0);
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    umask(old);
    char *data = inside(f, "evocc");
    assert_int_equal(chmod(data, 0755), 0);
    assert_string_equal(found(f), "fa: ptx/order@fa=late");
    mem_free(data);
}

static void controls_of_nvcc_are_not_installed(void **state)
{
    (void)state;
    acf *file = file_for("fa", "nvcc/dopt", "on");
    evocc_error error = {0};
    assert_int_equal(acf_store_install(NULL, NULL, file, &error), EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "nvcc/dopt"));
    assert_non_null(strstr(error.message, "--apply-controls"));
    acf_free(file);
}

static void a_missing_home_is_named(void **state)
{
    (void)state;
    char *home = mem_strdup(getenv("HOME") != NULL ? getenv("HOME") : "");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    acf *file = file_for("fa", "ptx/order@fa", "late");
    evocc_error error = {0};
    assert_int_equal(acf_store_install(NULL, NULL, file, &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "HOME"));
    acf_store *store = NULL;
    assert_int_equal(acf_store_open(&store, "ptxas", on_notice, NULL, &error), EVOCC_OK);
    assert_null(store);
    setenv("HOME", home, 1);
    mem_free(home);
    acf_free(file);
}

/* ---- Listing and removing -------------------------------------------------------------------- */

static bool remove_all(void *context, const acf_store_entry *entry)
{
    size_t *count = context;
    ++*count;
    assert_non_null(entry->file);
    assert_int_equal(acf_store_remove(entry, NULL), EVOCC_OK);
    assert_int_equal(acf_store_remove(entry, NULL), EVOCC_NOT_FOUND);
    return true;
}

static bool count_entries(void *context, const acf_store_entry *entry)
{
    size_t *counts = context;
    counts[entry->file == NULL]++;
    assert_true(entry->file != NULL || entry->why != NULL);
    return true;
}

static bool stop_at_first(void *context, const acf_store_entry *entry)
{
    (void)entry;
    ++*(size_t *)context;
    return false;
}

static void what_is_there_is_listed_and_removed(void **state)
{
    fixture *f = *state;
    char *path = installed(NULL, "fa", "ptx/order@fa", "late");
    mem_free(installed(NULL, "fb", "ptx/order@fb", "late"));
    size_t counts[2] = {0};
    assert_int_equal(acf_store_visit(NULL, count_entries, counts, NULL), EVOCC_OK);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(acf_store_visit(NULL, count_entries, counts, NULL), EVOCC_OK);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 1);
    assert_int_equal(chmod(path, 0644), 0);
    size_t count = 0;
    assert_int_equal(acf_store_visit(NULL, stop_at_first, &count, NULL), EVOCC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(acf_store_visit(NULL, remove_all, &count, NULL), EVOCC_OK);
    assert_int_equal(count, 3);
    assert_string_equal(found(f), "");
    assert_int_equal(f->notice_count, 0);
    char *version = inside(f, "evocc/installed/ptxas");
    assert_false(file_exists(version)); /* no empty folders stay */
    char *none = inside(f, "no-such-store");
    assert_int_equal(acf_store_visit(none, count_entries, counts, NULL), EVOCC_OK);
    mem_free(none);
    mem_free(version);
    mem_free(path);
}

/* ---- Many at once ---------------------------------------------------------------------------- */

/* One child installs, removes and installs again; the others read: never half a file, never an
   error. */
static int hammer(const fixture *f, bool writes)
{
    static const char *const values[] = {"late", "early"};
    for (int i = 0; i < 100; i++) {
        if (writes) {
            acf *file = file_for("fa", "ptx/order@fa", values[i % 2]);
            char *path = NULL;
            evocc_error error = {0};
            if (acf_store_install(&path, NULL, file, &error) != EVOCC_OK) {
                fprintf(stderr, "%s\n", error.message);
                return 1;
            }
            const acf_store_entry entry = {.path = path};
            (void)acf_store_remove(&entry, NULL);
            mem_free(path);
            acf_free(file);
        } else {
            fixture own = *f;
            const char *text = found(&own);
            if (own.notice_count != 0 ||
                (text[0] != '\0' && strcmp(text, "fa: ptx/order@fa=late") != 0 &&
                 strcmp(text, "fa: ptx/order@fa=early") != 0)) {
                fprintf(stderr, "%s / %s\n", text, own.notices[0]);
                return 1;
            }
        }
    }
    return 0;
}

static void many_may_work_at_once(void **state)
{
    const fixture *f = *state;
    pid_t children[5];
    for (int i = 0; i < 5; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(hammer(f, i < 3));
        }
    }
    for (int i = 0; i < 5; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

/* ---- Lack of memory -------------------------------------------------------------------------- */

static void lack_of_memory_is_reported(void **state)
{
    fixture *f = *state;
    mem_free(installed(NULL, "fa", "ptx/order@fa", "late"));
    mem_free(installed(NULL, "fb", "ptx/order@fb", "late"));
    acf_target here = example().target;
    bool done = false;
    for (long nth = 0; !done; nth++) {
        acf_store *store = NULL;
        acf *file = NULL;
        strbuf paths = {0};
        assert_true(nth < 5000);
        mem_fail_after(nth);
        evocc_status status = acf_store_open(&store, "ptxas", on_notice, f, NULL);
        if (status == EVOCC_OK && store != NULL) {
            status = acf_store_find(&file, &paths, store, &here, NULL);
        }
        mem_fail_after(-1);
        done = status == EVOCC_OK && file != NULL && file->control_count == 2;
        assert_true(done || status == EVOCC_NO_MEMORY);
        assert_int_equal(f->notice_count, 0);
        acf_free(file);
        strbuf_dispose(&paths);
        acf_store_free(store);
    }
    acf *file = file_for("fa", "ptx/order@fa", "early");
    done = false;
    for (long nth = 0; !done; nth++) {
        char *path = NULL;
        assert_true(nth < 5000);
        mem_fail_after(nth);
        evocc_status status = acf_store_install(&path, NULL, file, NULL);
        mem_fail_after(-1);
        done = status == EVOCC_OK;
        if (!done) {
            /* Writing reports it as the system's own error. */
            assert_true(status == EVOCC_NO_MEMORY || status == EVOCC_IO);
        }
        mem_free(path);
    }
    acf_free(file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_found_in_nothing),
        TEST(a_file_is_found_by_its_target),
        TEST(every_field_decides),
        TEST(the_last_one_installed_counts),
        TEST(kernels_of_one_module_come_together),
        TEST(only_one_sets_options_of_the_module),
        TEST(long_names_of_kernels_have_short_files),
        TEST(projects_go_first),
        TEST(damaged_files_are_passed_over),
        TEST(files_at_a_wrong_place_are_passed_over),
        TEST(what_others_can_write_is_ignored),
        TEST(what_belongs_to_others_is_ignored),
        TEST(links_are_followed_to_a_store_only),
        TEST(what_was_installed_is_believed),
        TEST(controls_of_nvcc_are_not_installed),
        TEST(a_missing_home_is_named),
        TEST(what_is_there_is_listed_and_removed),
        TEST(many_may_work_at_once),
        TEST(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
