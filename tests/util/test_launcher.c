#define _GNU_SOURCE /* posix_openpt and friends */
#include "fakes.h"

#include "util/files.h"
#include "util/launcher.h"
#include "util/mem.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static launcher *new_launcher(void)
{
    launcher *l = NULL;
    evocc_error error = {0};
    if (launcher_new(&l, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return l;
}

static process_result run(launcher *l, process_request request)
{
    process_result result = {0};
    evocc_error error = {0};
    if (launcher_run(l, &result, &request, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return result;
}

/* The process numbers that /proc lists as children of one of ours. */
static size_t list_children(pid_t pid, pid_t *out, size_t capacity)
{
    char path[64];
    size_t count = 0;
    long child;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && count < capacity && fscanf(file, "%ld", &child) == 1) {
        out[count++] = (pid_t)child;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* The first children of a helper, once there are so many. */
static void wait_for_children(pid_t helper, pid_t *out, size_t count)
{
    double end_s = clock_now_s() + 20;
    while (list_children(helper, out, count) < count) {
        assert_true(clock_now_s() < end_s);
        usleep(1000);
    }
}

static bool leave_file(const char *folder)
{
    char *path = path_join(folder, "left");
    bool written = file_write(path, "x", 1, NULL) == EVOCC_OK;
    mem_free(path);
    return written;
}

static pid_t helper_of(pid_t owner)
{
    pid_t pid = 0;
    assert_int_equal(list_children(owner, &pid, 1), 1);
    return pid;
}

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

/* ---- Ends ------------------------------------------------------------------------------------ */

static pid_t printed_pid(const process_result *result)
{
    return (pid_t)strtol(result->output, NULL, 10);
}

/* Who leaves the group outlives the request, but not the launcher. */
static void free_finds_who_left_the_group(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    process_result result = run(l, fake("leave-session", "0"));
    pid_t pid = printed_pid(&result);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, 0), 0);
    process_result_dispose(&result);
    launcher_free(l);
    assert_true(ends_within(pid, 0.1));
}

static void free_kills_the_deaf(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    pid_t helper = helper_of(getpid());
    pid_t child = 0;
    process_request request = fake("ignore-term", NULL);
    request.grace_s = 100;
    assert_int_equal(launcher_submit(l, 1, &request, NULL), EVOCC_OK);
    wait_for_children(helper, &child, 1);
    double start_s = clock_now_s();
    launcher_free(l);
    assert_true(clock_now_s() - start_s < 5);
    assert_true(ends_within(child, 0.1));
}

/* A process that was forked from the owner holds the connection open, and may free what it has got
   of the launcher; neither must matter to the owner. */
static void heirs_do_not_matter(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    char *folder = mem_strdup(launcher_folder(l));
    pid_t guest = fork();
    if (guest == 0) {
        launcher_free(l);
        _exit(0);
    }
    assert_int_equal(waitpid(guest, NULL, 0), guest);
    process_result result = run(l, fake("exit", "3"));
    assert_int_equal(result.exit_status, 3);
    process_result_dispose(&result);
    guest = fork();
    if (guest == 0) {
        for (;;) {
            pause();
        }
    }
    double start_s = clock_now_s();
    launcher_free(l);
    assert_true(clock_now_s() - start_s < 5);
    assert_false(file_exists(folder));
    kill(guest, SIGKILL);
    assert_int_equal(waitpid(guest, NULL, 0), guest);
    mem_free(folder);
}

/* Whoever stopped the helper does not keep it from ending. */
static void a_stopped_helper(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    char *folder = mem_strdup(launcher_folder(l));
    pid_t helper = helper_of(getpid());
    assert_int_equal(kill(helper, SIGSTOP), 0);
    launcher_free(l);
    assert_true(ends_within(helper, 0.1));
    assert_false(file_exists(folder));
    mem_free(folder);
}

/* A process that starts a launcher with sleepers, tells of it, and waits to be killed. */
typedef struct owner {
    pid_t pid, helper;
    pid_t children[3];
    char folder[512];
} owner;

static void own_and_hang(int report)
{
    owner o = {.pid = getpid()};
    launcher *l;
    evocc_error error;
    static const char *const modes[] = {"hang", "ignore-term", "hang-with-grandchild"};
    if (launcher_new(&l, &error) != EVOCC_OK) {
        _exit(1);
    }
    snprintf(o.folder, sizeof o.folder, "%s", launcher_folder(l));
    for (uint64_t i = 0; i < COUNT(modes); i++) {
        process_request request = fake(modes[i], NULL);
        request.grace_s = 100;
        if (launcher_submit(l, i, &request, &error) != EVOCC_OK) {
            _exit(1);
        }
    }
    list_children(o.pid, &o.helper, 1);
    wait_for_children(o.helper, o.children, 3);
    if (!leave_file(o.folder) || write(report, &o, sizeof o) != (ssize_t)sizeof o) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

static owner start_owner(void)
{
    int channel[2];
    owner o;
    assert_int_equal(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        own_and_hang(channel[1]);
    }
    close(channel[1]);
    assert_int_equal(read(channel[0], &o, sizeof o), sizeof o);
    close(channel[0]);
    assert_int_equal(o.pid, pid);
    assert_true(file_exists(o.folder));
    return o;
}

static void assert_all_gone(const owner *o)
{
    assert_true(ends_within(o->helper, 10));
    for (size_t i = 0; i < COUNT(o->children); i++) {
        assert_true(o->children[i] > 1);
        assert_true(ends_within(o->children[i], 1));
    }
    assert_false(file_exists(o->folder));
}

static void kill_of_the_owner(void **state)
{
    (void)state;
    owner o = start_owner();
    assert_int_equal(kill(o.pid, SIGKILL), 0);
    assert_int_equal(waitpid(o.pid, NULL, 0), o.pid);
    assert_all_gone(&o);
}

/* Whoever forks from the owner inherits the connection; its end must be noticed all the same. */
static void kill_of_an_owner_with_heirs(void **state)
{
    (void)state;
    int channel[2];
    owner o;
    assert_int_equal(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        launcher *l;
        o = (owner){.pid = getpid()};
        if (launcher_new(&l, NULL) != EVOCC_OK) {
            _exit(1);
        }
        snprintf(o.folder, sizeof o.folder, "%s", launcher_folder(l));
        list_children(o.pid, &o.helper, 1);
        o.children[0] = fork();
        if (o.children[0] != 0 && write(channel[1], &o, sizeof o) != (ssize_t)sizeof o) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(channel[0], &o, sizeof o), sizeof o);
    assert_int_equal(kill(o.pid, SIGKILL), 0);
    assert_int_equal(waitpid(o.pid, NULL, 0), o.pid);
    assert_true(ends_within(o.helper, 10));
    assert_int_equal(kill(o.children[0], SIGKILL), 0);
    assert_false(file_exists(o.folder));
    close(channel[0]);
    close(channel[1]);
}

static void term_of_the_helper(void **state)
{
    (void)state;
    owner o = start_owner();
    assert_int_equal(kill(o.helper, SIGTERM), 0);
    assert_all_gone(&o);
    kill(o.pid, SIGKILL);
    assert_int_equal(waitpid(o.pid, NULL, 0), o.pid);
}

static void kill_of_the_helper(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    evocc_error error;
    uint64_t id;
    process_result result;
    pid_t helper = helper_of(getpid());
    pid_t child = 0;
    char *folder = mem_strdup(launcher_folder(l));
    process_request request = fake("ignore-term", NULL);
    assert_int_equal(launcher_submit(l, 1, &request, NULL), EVOCC_OK);
    wait_for_children(helper, &child, 1);
    assert_int_equal(kill(helper, SIGKILL), 0);
    assert_int_equal(launcher_wait(l, 10, -1, &id, &result, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "was killed by signal 9"));
    assert_true(ends_within(child, 1));
    assert_false(file_exists(folder));
    assert_int_equal(launcher_count(l), 0);
    assert_int_equal(launcher_wait(l, 10, -1, &id, &result, &error), EVOCC_PROCESS);
    assert_int_equal(launcher_submit(l, 1, &request, &error), EVOCC_PROCESS);
    assert_int_equal(launcher_cancel(l, &error), EVOCC_PROCESS);
    launcher_free(l);
    mem_free(folder);
}

/* Nor does a terminal's end (SIGHUP to its session) reach the helper. */
static void the_helper_has_its_own_session(void **state)
{
    (void)state;
    launcher *l = new_launcher();
    pid_t helper = helper_of(getpid());
    assert_int_equal(getsid(helper), helper);
    launcher_free(l);
}

/* Ctrl-C on the terminal reaches every process of the foreground group: the helper is not in it. */
static void control_c_leaves_the_helper_alone(void **state)
{
    (void)state;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        skip();
    }
    char name[128];
    snprintf(name, sizeof name, "%s", ptsname(terminal));
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int ours = open(name, O_RDWR);
        launcher *l;
        process_result result = {0};
        signal(SIGINT, SIG_IGN); /* as the study, which decides by itself */
        process_request request = fake("burn", "300");
        uint64_t id;
        bool good =
            ours >= 0 && ioctl(ours, TIOCSCTTY, 0) == 0 && launcher_new(&l, NULL) == EVOCC_OK &&
            launcher_submit(l, 1, &request, NULL) == EVOCC_OK && write(ours, "go", 2) == 2 &&
            launcher_wait(l, 20, -1, &id, &result, NULL) == EVOCC_OK &&
            result.end == PROCESS_EXITED;
        _exit(good ? 0 : 1);
    }
    char go[2];
    assert_int_equal(read(terminal, go, 2), 2);
    assert_int_equal(write(terminal, "\x03", 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(terminal);
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
        cmocka_unit_test(deadlines),
        cmocka_unit_test(memory_peaks_are_their_own),
        cmocka_unit_test(processor_seconds),
        cmocka_unit_test(free_finds_who_left_the_group),
        cmocka_unit_test(free_kills_the_deaf),
        cmocka_unit_test(heirs_do_not_matter),
        cmocka_unit_test(a_stopped_helper),
        cmocka_unit_test(kill_of_the_owner),
        cmocka_unit_test(kill_of_an_owner_with_heirs),
        cmocka_unit_test(term_of_the_helper),
        cmocka_unit_test(kill_of_the_helper),
        cmocka_unit_test(the_helper_has_its_own_session),
        cmocka_unit_test(control_c_leaves_the_helper_alone),
        cmocka_unit_test(without_a_temporary_folder),
        cmocka_unit_test(without_a_helper),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
