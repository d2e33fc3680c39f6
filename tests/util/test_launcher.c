#include "launchers.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- Requests -------------------------------------------------------------------------------- */

static void one_request_after_the_other(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    char *folder = mem_strdup(launcher_folder(l));
    assert_true(file_exists(folder));
    assert_int_equal(launcher_count(l), 0);
    process_result result = run(l, fake("exit", "42"));
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 42);
    process_result_dispose(&result);
    const char *const environment[] = {"EVOCC_TEST=seen", NULL};
    process_request request = fake("where", "EVOCC_TEST");
    request.folder = folder;
    request.environment = environment;
    result = run(l, request);
    char expected[1000];
    snprintf(expected, sizeof expected, "%s\nseen\n", folder);
    assert_string_equal(result.output, expected);
    process_result_dispose(&result);
    request = fake("count-input", NULL);
    request.input = "abc";
    request.input_length = 3;
    result = run(l, request);
    assert_string_equal(result.output, "3 294\n");
    process_result_dispose(&result);
    result = run(l, fake("crash", NULL));
    assert_int_equal(result.end, PROCESS_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    process_result_dispose(&result);
    const char *const missing[] = {"/nowhere/ptxas", NULL};
    result = run(l, (process_request){.argv = missing});
    assert_int_equal(result.end, PROCESS_NOT_STARTED);
    assert_int_equal(result.os_errno, ENOENT);
    assert_string_equal(result.errors,
                        "cannot execute '/nowhere/ptxas': No such file or directory");
    process_result_dispose(&result);
    assert_true(leave_file(folder));
    launcher_free(l);
    assert_false(file_exists(folder));
    mem_free(folder);
    launcher_free(NULL);
}

static void a_clean_child(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    process_result result = run(l, fake("describe", NULL));
    assert_string_equal(result.output, "descriptors 0 1 2\nsignals\nleader 1\ncore 0\n");
    process_result_dispose(&result);
    launcher_free(l);
}

static void many_at_a_time(void **state)
{
    (void)state;
    enum { CHILDREN = 100 };
    launcher *l = new_launcher();
    bool seen[CHILDREN] = {false};
    evocc_error error;
    for (uint64_t i = 0; i < CHILDREN; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", (int)i);
        process_request request = fake("exit", number);
        assert_int_equal(launcher_submit(l, i, &request, NULL), EVOCC_OK);
    }
    assert_int_equal(launcher_count(l), CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        uint64_t id = CHILDREN;
        process_result result;
        assert_int_equal(launcher_wait(l, 60, -1, &id, &result, NULL), EVOCC_OK);
        assert_true(id < CHILDREN && !seen[id]);
        seen[id] = true;
        assert_int_equal(result.exit_status, (int)id);
        process_result_dispose(&result);
    }
    uint64_t id;
    process_result result;
    assert_int_equal(launcher_wait(l, -1, -1, &id, &result, &error), EVOCC_NOT_FOUND);
    launcher_free(l);
}

/* Both directions full at once: the helper must go on reading while nobody takes its results. */
static void large_both_ways(void **state)
{
    (void)state;
    enum { CHILDREN = 12 };
    size_t length = (size_t)4 << 20;
    char *input = mem_alloc(length, 1);
    launcher *l = new_launcher();
    for (uint64_t i = 0; i < CHILDREN; i++) {
        process_request request = fake(i % 2 == 0 ? "flood" : "count-input", "1500000");
        request.input = input;
        request.input_length = length;
        request.output_limit = (size_t)2 << 20;
        assert_int_equal(launcher_submit(l, i, &request, NULL), EVOCC_OK);
        usleep(20000); /* results pile up */
    }
    for (int i = 0; i < CHILDREN; i++) {
        uint64_t id;
        process_result result;
        assert_int_equal(launcher_wait(l, 60, -1, &id, &result, NULL), EVOCC_OK);
        if (id % 2 == 0) {
            assert_int_equal(result.output_length, 1500000);
            assert_int_equal(result.errors_length, 1500000);
            assert_int_equal(result.errors[1499999], 'x');
        } else {
            assert_string_equal(result.output, "4194304 0\n");
        }
        process_result_dispose(&result);
    }
    launcher_free(l);
    mem_free(input);
}

static void timeouts_wakes_and_cancel(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    evocc_error error;
    uint64_t id;
    process_result result;
    int wake[2];
    assert_int_equal(pipe(wake), 0);
    process_request request = fake("hang", NULL);
    assert_int_equal(launcher_submit(l, 7, &request, NULL), EVOCC_OK);
    request = fake("hang-with-grandchild", NULL);
    assert_int_equal(launcher_submit(l, 8, &request, NULL), EVOCC_OK);
    double start_s = clock_now_s();
    assert_int_equal(launcher_wait(l, 0.2, wake[0], &id, &result, &error), EVOCC_TIMEOUT);
    assert_true(clock_now_s() - start_s >= 0.2);
    assert_int_equal(write(wake[1], "x", 1), 1);
    assert_int_equal(launcher_wait(l, -1, wake[0], &id, &result, &error), EVOCC_INTERRUPTED);
    assert_int_equal(launcher_cancel(l, NULL), EVOCC_OK);
    uint64_t ids = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launcher_wait(l, 10, -1, &id, &result, NULL), EVOCC_OK);
        assert_int_equal(result.end, PROCESS_CANCELLED);
        ids += id;
        process_result_dispose(&result);
    }
    assert_int_equal(ids, 15);
    result = run(l, fake("exit", "1")); /* it goes on after a cancel */
    assert_int_equal(result.exit_status, 1);
    process_result_dispose(&result);
    close(wake[0]);
    close(wake[1]);
    launcher_free(l);
}

/* Requests beyond the limit wait in their order; the next begins when one ends. */
static void a_limit(void **state)
{
    (void)state;
    enum { CHILDREN = 7 };
    launcher *l = new_launcher();
    assert_int_equal(launcher_limit(l, 1, NULL), EVOCC_OK);
    const char *const missing[] = {"/nowhere/ptxas", NULL};
    for (uint64_t i = 0; i < CHILDREN; i++) {
        process_request request = fake("burn", "50");
        if (i == 2) {
            request = (process_request){.argv = missing}; /* does not hold up the others */
        }
        assert_int_equal(launcher_submit(l, i, &request, NULL), EVOCC_OK);
    }
    assert_int_equal(launcher_count(l), CHILDREN);
    double start_s = clock_now_s();
    double sum_s = 0;
    for (uint64_t i = 0; i < CHILDREN; i++) {
        uint64_t id = CHILDREN;
        process_result result;
        assert_int_equal(launcher_wait(l, 60, -1, &id, &result, NULL), EVOCC_OK);
        assert_int_equal(id, i);
        assert_int_equal(result.end, i == 2 ? PROCESS_NOT_STARTED : PROCESS_EXITED);
        sum_s += result.wall_s;
        process_result_dispose(&result);
    }
    /* One after the other: their times do not overlap. */
    assert_true(clock_now_s() - start_s >= sum_s - 0.06);
    launcher_free(l);
}

static void cancelled_before_they_began(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    assert_int_equal(launcher_limit(l, 1, NULL), EVOCC_OK);
    process_request request = fake("hang", NULL);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(launcher_submit(l, i, &request, NULL), EVOCC_OK);
    }
    assert_int_equal(launcher_cancel(l, NULL), EVOCC_OK);
    uint64_t ids = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t id;
        process_result result;
        assert_int_equal(launcher_wait(l, 10, -1, &id, &result, NULL), EVOCC_OK);
        assert_int_equal(result.end, PROCESS_CANCELLED);
        assert_string_equal(result.output, "");
        ids += 1U << id;
        process_result_dispose(&result);
    }
    assert_int_equal(ids, 31);
    /* A limit that is lifted lets all that wait begin. */
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(launcher_submit(l, i, &request, NULL), EVOCC_OK);
    }
    assert_int_equal(launcher_limit(l, 0, NULL), EVOCC_OK);
    assert_int_equal(launcher_cancel(l, NULL), EVOCC_OK);
    for (int i = 0; i < 3; i++) {
        uint64_t id;
        process_result result;
        assert_int_equal(launcher_wait(l, 10, -1, &id, &result, NULL), EVOCC_OK);
        assert_int_equal(result.end, PROCESS_CANCELLED);
        assert_true(result.wall_s > 0); /* it had begun */
        process_result_dispose(&result);
    }
    launcher_free(l);
}

static void deadlines(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    process_request request = fake("ignore-term", NULL);
    request.deadline_s = 0.1;
    request.grace_s = 0.1;
    process_result result = run(l, request);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_int_equal(result.signal, SIGKILL);
    process_result_dispose(&result);
    launcher_free(l);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* Neither an earlier child nor this process, however large, shows in a small child's peak. */
static void memory_peaks_are_their_own(void **state)
{
    (void)state;
    size_t bytes = (size_t)300 << 20;
    char *ballast = mem_alloc(bytes, 1);
    assert_non_null(ballast);
    memset(ballast, 1, bytes);
    launcher *l = new_launcher();
    process_result result = run(l, fake("allocate", "200"));
    assert_int_equal(result.exit_status, 0);
    assert_true(result.peak_bytes >= (uint64_t)200 << 20);
    assert_true(result.peak_bytes < (uint64_t)290 << 20);
    process_result_dispose(&result);
    result = run(l, fake("exit", "0"));
    assert_true(result.peak_bytes > 0 && result.peak_bytes < (uint64_t)50 << 20);
    process_result_dispose(&result);
    assert_int_equal(((volatile char *)ballast)[bytes - 1], 1);
    mem_free(ballast);
    launcher_free(l);
}

static void processor_seconds(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    process_result result = run(l, fake("burn", "200"));
    assert_true(result.cpu_s >= 0.19 && result.cpu_s < 1);
    assert_true(result.wall_s >= 0.19);
    process_result_dispose(&result);
    launcher_free(l);
}

/* ---- What keeps it from starting ------------------------------------------------------------- */

static void without_a_temporary_folder(void **state)
{
    (void)state;
    launcher *l = NULL;
    evocc_error error;
    setenv("TMPDIR", "/nowhere", 1);
    evocc_status status = launcher_new(&l, &error);
    unsetenv("TMPDIR");
    assert_int_equal(status, EVOCC_IO);
    assert_int_equal(error.os_errno, ENOENT);
    assert_string_equal(error.message,
                        "no temporary folder in '/nowhere', which TMPDIR names (set TMPDIR to a "
                        "folder that can be written to): No such file or directory");
    assert_null(l);
    pid_t none;
    assert_int_equal(list_children(getpid(), &none, 1), 0);
}

static void without_a_helper(void **state)
{
    (void)state;
    launcher *l = NULL;
    evocc_error error;
    setenv("EVOCC_HELPER", "/nowhere/evocc-helper", 1);
    assert_int_equal(launcher_new(&l, &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "/nowhere/evocc-helper"));
    /* Programs that are something else. */
    setenv("EVOCC_HELPER", FAKE_PROGRAM, 1);
    assert_int_equal(launcher_new(&l, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "ended with status 99"));
    char *folder;
    assert_int_equal(folder_temporary(&folder, NULL), EVOCC_OK);
    char *script = path_join(folder, "helper");
    static const char strange[] =
        "#!/bin/sh\nprintf '\\4\\0\\0\\0\\1\\0\\0\\0\\377\\0\\0\\0' >&0\n";
    assert_int_equal(file_write(script, strange, sizeof strange - 1, NULL), EVOCC_OK);
    assert_int_equal(chmod(script, 0755), 0);
    setenv("EVOCC_HELPER", script, 1);
    assert_int_equal(launcher_new(&l, &error), EVOCC_MISMATCH);
    assert_non_null(strstr(error.message, "belongs to another version of evocc"));
    static const char garbage[] = "#!/bin/sh\necho garbage, garbage >&0\nexec sleep 100\n";
    assert_int_equal(file_write(script, garbage, sizeof garbage - 1, NULL), EVOCC_OK);
    assert_int_equal(launcher_new(&l, &error), EVOCC_PROCESS);
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    assert_null(l);
    mem_free(script);
    folder_remove(folder);
    mem_free(folder);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int i = 0; i < 1024; i++) {
        count += fcntl(i, F_GETFD) >= 0;
    }
    return count;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t before = open_descriptors();
    bool failed = true;
    long n;
    for (n = 0; failed; n++) {
        launcher *l = NULL;
        process_result result = {0};
        evocc_error error;
        process_request request = fake("flood", "1000");
        mem_fail_after(n);
        evocc_status status = launcher_new(&l, &error);
        if (status == EVOCC_OK) {
            status = launcher_run(l, &result, &request, &error);
        }
        mem_fail_after(-1);
        failed = status != EVOCC_OK;
        assert_true(!failed || status == EVOCC_NO_MEMORY);
        assert_true(failed || result.output_length == 1000);
        process_result_dispose(&result);
        launcher_free(l);
        pid_t none;
        assert_int_equal(list_children(getpid(), &none, 1), 0);
    }
    assert_true(n > 6);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    unsetenv("TMPDIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_after_the_other),
        cmocka_unit_test(a_clean_child),
        cmocka_unit_test(many_at_a_time),
        cmocka_unit_test(large_both_ways),
        cmocka_unit_test(timeouts_wakes_and_cancel),
        cmocka_unit_test(a_limit),
        cmocka_unit_test(cancelled_before_they_began),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(memory_peaks_are_their_own),
        cmocka_unit_test(processor_seconds),
        cmocka_unit_test(without_a_temporary_folder),
        cmocka_unit_test(without_a_helper),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
