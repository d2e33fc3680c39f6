/* The study file: what is written comes back, and no mishap loses or overwrites anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"
#include "util/files.h"
#include "util/mem.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    evocc_error error;
    return folder_temporary(&folder, &error) == EVOCC_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(folder);
    mem_free(folder);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static store_trial sample_trial(uint64_t id)
{
    return (store_trial){
        .id = id,
        .generation = (uint32_t)(id / 8),
        .outcome = id % 3 == 2 ? EVOCC_OUTCOME_COMPILE_FAILED : EVOCC_OUTCOME_OK,
        .candidate = "ptxas/opt-level=1 ptx/order@fa.b4=late",
        .code_hash = "abc",
        .detail = "it's \"odd\"; DROP TABLE trial",
        .command = "evocc compile 'a b.ptx'",
        .wall_s = 0.125,
        .shared = id % 2 == 1,
        .metric_count = 2,
        .metric_names = {"spill_bytes", "registers"},
        .metrics = {(double)id + 0.1, (double)NAN},
    };
}

typedef struct seen_trials {
    size_t count;
    uint64_t last;
} seen_trials;

static evocc_status check_trial(const store_trial *trial, void *context, evocc_error *error)
{
    (void)error;
    seen_trials *seen = context;
    store_trial expected = sample_trial(trial->id);
    assert_true(seen->count == 0 || trial->id > seen->last);
    assert_int_equal(trial->generation, expected.generation);
    assert_int_equal(trial->outcome, expected.outcome);
    assert_string_equal(trial->candidate, expected.candidate);
    assert_string_equal(trial->code_hash, expected.code_hash);
    assert_string_equal(trial->detail, expected.detail);
    assert_string_equal(trial->command, expected.command);
    assert_true(trial->wall_s == expected.wall_s);
    assert_int_equal(trial->shared, expected.shared);
    assert_int_equal(trial->metric_count, 2);
    assert_string_equal(trial->metric_names[0], "spill_bytes");
    assert_string_equal(trial->metric_names[1], "registers");
    assert_true(trial->metrics[0] == expected.metrics[0]);
    assert_true(isnan(trial->metrics[1]));
    seen->last = trial->id;
    seen->count++;
    return EVOCC_OK;
}

static size_t count_trials(store *s)
{
    seen_trials seen = {0};
    evocc_error error;
    assert_int_equal(store_each_trial(s, check_trial, &seen, &error), EVOCC_OK);
    return seen.count;
}

static void add_trials(store *s, uint64_t from, uint64_t to)
{
    for (uint64_t id = from; id < to; id++) {
        store_trial trial = sample_trial(id);
        evocc_error error = {0};
        if (store_add_trial(s, &trial, &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
    }
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    evocc_error error;
    store *s = NULL;
    const char *path = in_folder("a.db");
    assert_int_equal(store_create(&s, path, &error), EVOCC_OK);
    assert_int_equal(store_set(s, "seed", "7", &error), EVOCC_OK);
    assert_int_equal(store_set(s, "seed", "8", &error), EVOCC_OK);
    assert_int_equal(store_put_artifact(s, "code", "a\0b", 3, &error), EVOCC_OK);
    assert_int_equal(store_put_artifact(s, "none", NULL, 0, &error), EVOCC_OK);
    add_trials(s, 4, 9); /* ids may arrive in any order */
    add_trials(s, 0, 4);
    store_free(s);

    assert_int_equal(store_open(&s, path, &error), EVOCC_OK);
    char *text = NULL;
    assert_int_equal(store_get(&text, s, "seed", &error), EVOCC_OK);
    assert_string_equal(text, "8");
    mem_free(text);
    assert_int_equal(store_get(&text, s, "no such", &error), EVOCC_NOT_FOUND);
    size_t length = 0;
    assert_int_equal(store_get_artifact(&text, &length, s, "code", &error), EVOCC_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 3);
    mem_free(text);
    assert_int_equal(store_get_artifact(&text, &length, s, "none", &error), EVOCC_OK);
    assert_int_equal(length, 0);
    mem_free(text);
    assert_int_equal(count_trials(s), 9);
    store_trial again = sample_trial(3);
    assert_int_equal(store_add_trial(s, &again, &error), EVOCC_DAMAGED);
    assert_non_null(strstr(error.message, "trial 3"));
    assert_int_equal(count_trials(s), 9);
    store_free(s);
}

static void an_existing_file_is_never_created_over(void **state)
{
    (void)state;
    evocc_error error;
    store *s = NULL;
    const char *path = in_folder("precious");
    assert_int_equal(file_write(path, "precious", 8, &error), EVOCC_OK);
    assert_int_equal(store_create(&s, path, &error), EVOCC_REFUSED);
    assert_non_null(strstr(error.message, "--study"));
    char *text = NULL;
    size_t length;
    assert_int_equal(file_read(&text, &length, path, 100, &error), EVOCC_OK);
    assert_string_equal(text, "precious");
    mem_free(text);
    assert_int_equal(store_create(&s, in_folder("no/such/folder.db"), &error), EVOCC_IO);
    assert_non_null(strstr(error.message, "no/such/folder.db"));
}

static void other_files_are_left_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *name, *contents;
    } cases[] = {{"empty.db", ""},
                 {"text.db", "this is no database at all, just a longer text to read"},
                 {"half.db", "SQLite format 3"}};
    evocc_error error;
    store *s = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = in_folder(cases[i].name);
        size_t length = strlen(cases[i].contents);
        assert_int_equal(file_write(path, cases[i].contents, length, &error), EVOCC_OK);
        assert_int_equal(store_open(&s, path, &error), EVOCC_DAMAGED);
        assert_non_null(strstr(error.message, cases[i].name));
        assert_int_equal(store_open_read(&s, path, &error), EVOCC_DAMAGED);
        char *text = NULL;
        assert_int_equal(file_read(&text, &length, path, 1000, &error), EVOCC_OK);
        assert_string_equal(text, cases[i].contents);
        mem_free(text);
    }
    assert_int_equal(store_open(&s, in_folder("absent.db"), &error), EVOCC_NOT_FOUND);
    assert_false(file_exists(in_folder("absent.db")));
}

static void a_damaged_page_is_reported(void **state)
{
    (void)state;
    evocc_error error;
    store *s = NULL;
    const char *path = in_folder("damaged.db");
    assert_int_equal(store_create(&s, path, &error), EVOCC_OK);
    add_trials(s, 0, 200);
    store_free(s); /* the log is merged into the file */
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 4096, SEEK_SET);
    for (long at = 4096; at < info.st_size; at++) {
        fputc(0xa5, file);
    }
    fclose(file);
    evocc_status status = store_open(&s, path, &error);
    if (status == EVOCC_OK) {
        seen_trials seen = {0};
        status = store_each_trial(s, check_trial, &seen, &error);
        store_free(s);
    }
    assert_int_equal(status, EVOCC_DAMAGED);
    assert_non_null(strstr(error.message, "damaged.db"));
}

static void one_writer_at_a_time(void **state)
{
    (void)state;
    evocc_error error;
    const char *path = in_folder("shared.db");
    store *s = NULL;
    assert_int_equal(store_create(&s, path, &error), EVOCC_OK);
    add_trials(s, 0, 3);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store *other = NULL;
        bool busy = store_open(&other, path, &error) == EVOCC_BUSY &&
                    strstr(error.message, "--study") != NULL;
        bool readable = store_open_read(&other, path, &error) == EVOCC_OK;
        store_free(other);
        _exit(busy && readable ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    add_trials(s, 3, 5);
    assert_int_equal(count_trials(s), 5);
    store_free(s);
    assert_int_equal(store_open(&s, path, &error), EVOCC_OK);
    store_free(s);
}

/* The child reports each trial after the call that wrote it came back; then it is killed. */
static void kill_loses_nothing_that_was_written(void **state)
{
    (void)state;
    const char *path = in_folder("killed.db");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store *s = NULL;
        store_create(&s, path, NULL);
        for (uint64_t id = 0;; id++) {
            store_trial trial = sample_trial(id);
            if (store_add_trial(s, &trial, NULL) != EVOCC_OK ||
                write(ends[1], &id, sizeof id) != (ssize_t)sizeof id) {
                _exit(1);
            }
        }
    }
    close(ends[1]);
    uint64_t last = 0;
    while (last < 300) {
        assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    uint64_t id;
    while (read(ends[0], &id, sizeof id) == (ssize_t)sizeof id) {
        last = id;
    }
    close(ends[0]);
    evocc_error error;
    store *s = NULL;
    assert_int_equal(store_open(&s, path, &error), EVOCC_OK);
    assert_true(count_trials(s) >= last + 1);
    store_free(s);
}

static void a_full_disk_keeps_what_was_there(void **state)
{
    (void)state;
    char small[512];
    snprintf(small, sizeof small, "%s/small", folder);
    mkdir(small, 0700);
    if (mount("evocc-test", small, "tmpfs", 0, "size=256k") != 0) {
        skip(); /* needs the right to mount */
    }
    char path[600];
    snprintf(path, sizeof path, "%s/full.db", small);
    evocc_error error = {0};
    store *s = NULL;
    evocc_status status = store_create(&s, path, &error);
    uint64_t written = 0;
    while (status == EVOCC_OK && written < 100000) {
        store_trial trial = sample_trial(written);
        status = store_add_trial(s, &trial, &error);
        written += status == EVOCC_OK;
    }
    store_free(s);
    bool named = strstr(error.message, "disk is full") != NULL;
    evocc_status reopened = store_open(&s, path, &error);
    size_t kept = reopened == EVOCC_OK ? count_trials(s) : 0;
    store_free(reopened == EVOCC_OK ? s : NULL);
    umount(small);
    assert_int_equal(status, EVOCC_IO);
    assert_true(named);
    assert_true(written > 10);
    assert_int_equal(reopened, EVOCC_OK);
    assert_int_equal(kept, written);
}

static void odd_names_are_names_of_files(void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "file:x?mode=memory", "with space %41.db"};
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        evocc_error error;
        store *s = NULL;
        assert_int_equal(store_create(&s, names[i], &error), EVOCC_OK);
        add_trials(s, 0, 2);
        store_free(s);
        assert_true(file_exists(names[i]));
        assert_int_equal(store_open(&s, names[i], &error), EVOCC_OK);
        assert_int_equal(count_trials(s), 2);
        store_free(s);
    }
    assert_int_equal(chdir(before), 0);
    free(before);
}

typedef struct seen_samples {
    store_sample items[16];
    char metrics[16][32];
    size_t count;
} seen_samples;

static evocc_status note_sample(const store_sample *sample, void *context, evocc_error *error)
{
    (void)error;
    seen_samples *seen = context;
    assert_true(seen->count < 16);
    snprintf(seen->metrics[seen->count], sizeof seen->metrics[0], "%s", sample->metric);
    seen->items[seen->count++] = *sample;
    return EVOCC_OK;
}

static void samples_come_back_in_order(void **state)
{
    (void)state;
    evocc_error error;
    store *s = NULL;
    const char *path = in_folder("samples.db");
    assert_int_equal(store_create(&s, path, &error), EVOCC_OK);
    add_trials(s, 0, 2);
    const store_sample samples[] = {
        {1, "runtime", STORE_FOR_ESTIMATE, 1, 2.5, 2.25},
        {1, "runtime", STORE_FOR_ESTIMATE, 0, 2.0, 1.75},
        {1, "runtime", STORE_FOR_CHOICE, 0, 3.0, 4.0},
        {0, "it's \"odd\"", STORE_FOR_SEARCH, 0, (double)NAN, 1e-300},
    };
    assert_int_equal(store_add_samples(s, samples, 4, &error), EVOCC_OK);
    /* All or nothing: the second is there already, so the first of this call is not kept. */
    const store_sample again[] = {{1, "runtime", STORE_FOR_ESTIMATE, 2, 1, 1}, samples[0]};
    assert_int_equal(store_add_samples(s, again, 2, &error), EVOCC_DAMAGED);
    const store_sample no_number = {1, "runtime", STORE_FOR_ESTIMATE, 3, 1, (double)NAN};
    assert_int_equal(store_add_samples(s, &no_number, 1, &error), EVOCC_INVALID_ARGUMENT);
    store_free(s);
    assert_int_equal(store_open_read(&s, path, &error), EVOCC_OK);
    seen_samples seen = {0};
    assert_int_equal(store_each_sample(s, note_sample, &seen, &error), EVOCC_OK);
    assert_int_equal(seen.count, 4);
    assert_string_equal(seen.metrics[0], "it's \"odd\"");
    assert_true(isnan(seen.items[0].baseline) && seen.items[0].value == 1e-300);
    assert_int_equal(seen.items[1].purpose, STORE_FOR_CHOICE);
    assert_int_equal(seen.items[2].position, 0);
    assert_true(seen.items[2].baseline == 2.0 && seen.items[2].value == 1.75);
    assert_int_equal(seen.items[3].position, 1);
    store_free(s);
}

/* A file of format 1 as an older evocc left it: no table of samples. */
static void make_old(const char *path)
{
    store *s = NULL;
    sqlite3 *database = NULL;
    assert_int_equal(store_create(&s, path, NULL), EVOCC_OK);
    add_trials(s, 0, 3);
    store_free(s);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database, "DROP TABLE sample; PRAGMA user_version=1", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(database);
}

static void files_of_format_1_are_read_and_upgraded(void **state)
{
    (void)state;
    evocc_error error;
    store *s = NULL;
    seen_samples seen = {0};
    const char *path = in_folder("old.db");
    make_old(path);
    assert_int_equal(store_open_read(&s, path, &error), EVOCC_OK);
    assert_int_equal(count_trials(s), 3);
    assert_int_equal(store_each_sample(s, note_sample, &seen, &error), EVOCC_OK);
    assert_int_equal(seen.count, 0);
    store_free(s);
    assert_int_equal(store_open(&s, path, &error), EVOCC_OK);
    const store_sample sample = {1, "runtime", STORE_FOR_SEARCH, 0, (double)NAN, 1};
    assert_int_equal(store_add_samples(s, &sample, 1, &error), EVOCC_OK);
    assert_int_equal(count_trials(s), 3);
    store_free(s);
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA user_version=3", NULL, NULL, NULL);
    sqlite3_close(database);
    assert_int_equal(store_open_read(&s, path, &error), EVOCC_UNSUPPORTED);
    assert_non_null(strstr(error.message, "format 3"));
}

static evocc_status add_bytes(const char *name, uint64_t bytes, void *context, evocc_error *error)
{
    (void)error;
    assert_true(strncmp(name, "code_", 5) == 0);
    *(uint64_t *)context += bytes;
    return EVOCC_OK;
}

static evocc_status count_setting(const char *name, const char *value, void *context,
                                  evocc_error *error)
{
    (void)error;
    assert_string_equal(name, value);
    ++*(size_t *)context;
    return EVOCC_OK;
}

static void a_file_is_listed_and_made_smaller(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    evocc_error error;
    store *s = NULL;
    char *data = mem_alloc(BYTES, 1);
    assert_non_null(data);
    assert_int_equal(store_create(&s, in_folder("large.db"), &error), EVOCC_OK);
    assert_int_equal(store_set(s, "b", "b", &error), EVOCC_OK);
    assert_int_equal(store_set(s, "a", "a", &error), EVOCC_OK);
    assert_int_equal(store_put_artifact(s, "code_0", data, BYTES, &error), EVOCC_OK);
    assert_int_equal(store_put_artifact(s, "code_7", data, 5, &error), EVOCC_OK);
    mem_free(data);
    size_t settings = 0;
    uint64_t bytes = 0;
    assert_int_equal(store_each_setting(s, count_setting, &settings, &error), EVOCC_OK);
    assert_int_equal(settings, 2);
    assert_int_equal(store_each_artifact(s, add_bytes, &bytes, &error), EVOCC_OK);
    assert_int_equal(bytes, BYTES + 5);
    assert_true(store_bytes(s) >= BYTES);
    assert_int_equal(store_drop_artifact(s, "code_0", &error), EVOCC_OK);
    assert_int_equal(store_drop_artifact(s, "absent", &error), EVOCC_OK);
    assert_int_equal(store_compact(s, &error), EVOCC_OK);
    assert_true(store_bytes(s) < BYTES / 4);
    bytes = 0;
    assert_int_equal(store_each_artifact(s, add_bytes, &bytes, &error), EVOCC_OK);
    assert_int_equal(bytes, 5);
    store_free(s);
}

static void no_memory_is_an_error_and_no_leak(void **state)
{
    (void)state;
    const char *path = in_folder("memory.db");
    for (long nth = 0; nth < 20; nth++) {
        evocc_error error = {0};
        store *s = NULL;
        mem_fail_after(nth);
        evocc_status status = store_create(&s, path, &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            store_free(s);
            unlink(path);
            assert_true(nth > 0);
            return;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        assert_false(file_exists(path));
    }
    fail_msg("creating a store needs more than 20 allocations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(an_existing_file_is_never_created_over),
        cmocka_unit_test(other_files_are_left_as_they_are),
        cmocka_unit_test(a_damaged_page_is_reported),
        cmocka_unit_test(one_writer_at_a_time),
        cmocka_unit_test(kill_loses_nothing_that_was_written),
        cmocka_unit_test(a_full_disk_keeps_what_was_there),
        cmocka_unit_test(odd_names_are_names_of_files),
        cmocka_unit_test(samples_come_back_in_order),
        cmocka_unit_test(files_of_format_1_are_read_and_upgraded),
        cmocka_unit_test(a_file_is_listed_and_made_smaller),
        cmocka_unit_test(no_memory_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
