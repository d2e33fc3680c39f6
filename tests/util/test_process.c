#include "fakes.h"

#include "util/files.h"
#include "util/mem.h"

#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static process_result run(const process_request *request)
{
    process_result result = {0};
    evocc_error error = {0};
    if (process_run(&result, request, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return result;
}

static process_result run_fake(const char *mode, const char *argument)
{
    process_request request = fake(mode, argument);
    return run(&request);
}

static pid_t printed_pid(const process_result *result)
{
    return (pid_t)strtol(result->output, NULL, 10);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void exit_statuses(void **state)
{
    (void)state;
    static const char *const statuses[] = {"0", "1", "42", "127", "255"};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        process_result result = run_fake("exit", statuses[i]);
        assert_int_equal(result.end, PROCESS_EXITED);
        assert_int_equal(result.exit_status, atoi(statuses[i]));
        assert_int_equal(result.signal, 0);
        assert_string_equal(result.output, "");
        assert_string_equal(result.errors, "");
        assert_true(result.wall_s > 0 && result.wall_s < 5);
        process_result_dispose(&result);
    }
    process_result_dispose(NULL);
}

static void crashes(void **state)
{
    (void)state;
    process_result result = run_fake("crash", NULL);
    assert_int_equal(result.end, PROCESS_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    process_result_dispose(&result);
}

static void assert_not_started(const process_request *request, int os_errno, const char *message)
{
    process_result result = run(request);
    assert_int_equal(result.end, PROCESS_NOT_STARTED);
    assert_int_equal(result.os_errno, os_errno);
    assert_string_equal(result.errors, message);
    assert_int_equal(result.errors_length, strlen(message));
    assert_string_equal(result.output, "");
    process_result_dispose(&result);
}

static void programs_that_cannot_run(void **state)
{
    (void)state;
    char *folder;
    char message[1000];
    assert_int_equal(folder_temporary(&folder, NULL), EVOCC_OK);
    const char *missing[] = {"/nowhere/ptxas", NULL};
    assert_not_started(&(process_request){.argv = missing}, ENOENT,
                       "cannot execute '/nowhere/ptxas': No such file or directory");
    char *plain = path_join(folder, "plain");
    assert_int_equal(file_write(plain, "text", 4, NULL), EVOCC_OK);
    const char *words[] = {plain, NULL};
    snprintf(message, sizeof message, "cannot execute '%s': Permission denied", plain);
    assert_not_started(&(process_request){.argv = words}, EACCES, message);
    assert_int_equal(chmod(plain, 0755), 0);
    snprintf(message, sizeof message, "cannot execute '%s': Exec format error", plain);
    assert_not_started(&(process_request){.argv = words}, ENOEXEC, message);
    process_request request = fake("exit", "0");
    request.folder = "/nowhere";
    assert_not_started(&request, ENOENT,
                       "cannot enter the folder '/nowhere': No such file or directory");
    mem_free(plain);
    folder_remove(folder);
    mem_free(folder);
}

static void arguments_too_long(void **state)
{
    (void)state;
    size_t length = (size_t)8 << 20;
    char *word = mem_alloc(length + 1, 1);
    memset(word, 'x', length);
    process_request request = fake("exit", word);
    char message[300];
    snprintf(message, sizeof message, "cannot execute '%s': Argument list too long", FAKE_PROGRAM);
    assert_not_started(&request, E2BIG, message);
    mem_free(word);
}

/* ---- Deadlines ------------------------------------------------------------------------------- */

static void deadline_by_term(void **state)
{
    (void)state;
    process_request request = fake("hang", NULL);
    request.deadline_s = 0.1;
    request.grace_s = 30;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_int_equal(result.signal, SIGTERM);
    assert_true(result.wall_s >= 0.1 && result.wall_s < 10);
    process_result_dispose(&result);
    request = fake("heed-term", NULL); /* an exit by itself does not undo the deadline */
    request.deadline_s = 0.3;
    request.grace_s = 30;
    result = run(&request);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_int_equal(result.exit_status, 7);
    assert_string_equal(result.output, "ready\n");
    process_result_dispose(&result);
}

static void deadline_by_kill(void **state)
{
    (void)state;
    process_request request = fake("ignore-term", NULL);
    request.deadline_s = 0.2;
    request.grace_s = 0.2;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_int_equal(result.signal, SIGKILL);
    assert_string_equal(result.output, "deaf\n");
    assert_true(result.wall_s >= 0.4 && result.wall_s < 10);
    process_result_dispose(&result);
}

static void deadline_of_a_stopped_program(void **state)
{
    (void)state;
    process_request request = fake("stop", "0");
    request.deadline_s = 0.1;
    request.grace_s = 30;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(result.wall_s < 10);
    process_result_dispose(&result);
}

static void deadline_reaches_the_group(void **state)
{
    (void)state;
    process_request request = fake("hang-with-grandchild", NULL);
    request.deadline_s = 0.3;
    request.grace_s = 30; /* TERM must do, for the grandchild as well */
    double start_s = clock_now_s();
    process_result result = run(&request);
    assert_true(clock_now_s() - start_s < 10);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(printed_pid(&result) > 1);
    assert_true(ends_within(printed_pid(&result), 0.1));
    process_result_dispose(&result);
}

static void no_deadline_missed(void **state)
{
    (void)state;
    process_request request = fake("exit", "3");
    request.deadline_s = 30;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 3);
    process_result_dispose(&result);
}

/* ---- What is left behind --------------------------------------------------------------------- */

static void a_grandchild_holds_the_pipe(void **state)
{
    (void)state;
    double start_s = clock_now_s();
    process_result result = run_fake("leave-grandchild", "5");
    assert_true(clock_now_s() - start_s < 5);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 5);
    assert_true(printed_pid(&result) > 1);
    assert_true(ends_within(printed_pid(&result), 0.1)); /* it was in the group */
    process_result_dispose(&result);
}

static void a_grandchild_left_the_group(void **state)
{
    (void)state;
    double start_s = clock_now_s();
    process_result result = run_fake("leave-session", "6");
    assert_true(clock_now_s() - start_s < 5);
    assert_int_equal(result.exit_status, 6);
    pid_t pid = printed_pid(&result);
    assert_true(pid > 1);
    kill(pid, SIGKILL); /* nobody else does, here: see the launcher */
    assert_true(ends_within(pid, 5));
    process_result_dispose(&result);
}

static void a_grandchild_floods_for_ever(void **state)
{
    (void)state;
    double start_s = clock_now_s();
    process_result result = run_fake("leave-flood", "0");
    assert_true(clock_now_s() - start_s < 5);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_true(result.output_length > 0);
    process_result_dispose(&result);
}

/* ---- Streams --------------------------------------------------------------------------------- */

static void floods_are_drained(void **state)
{
    (void)state;
    process_request request = fake("flood", "50000000");
    request.output_limit = 1000;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_length, 1000);
    assert_int_equal(result.errors_length, 1000);
    assert_true(result.output_truncated && result.errors_truncated);
    assert_int_equal(strlen(result.output), 1000);
    process_result_dispose(&result);
    request = fake("flood", "1000");
    request.output_limit = 1000;
    result = run(&request);
    assert_int_equal(result.output_length, 1000);
    assert_false(result.output_truncated || result.errors_truncated);
    process_result_dispose(&result);
    result = run_fake("flood", "3000000");
    assert_int_equal(result.output_length, 1 << 20);
    assert_true(result.output_truncated);
    process_result_dispose(&result);
}

static void large_input(void **state)
{
    (void)state;
    size_t length = 20000003;
    char *input = mem_alloc(length, 1);
    memset(input, 3, length);
    process_request request = fake("count-input", NULL);
    request.input = input;
    request.input_length = length;
    process_result result = run(&request);
    assert_string_equal(result.output, "20000003 60000009\n");
    process_result_dispose(&result);
    request = fake("exit", "4"); /* which reads nothing of it: no SIGPIPE, no error */
    request.input = input;
    request.input_length = length;
    result = run(&request);
    assert_int_equal(result.exit_status, 4);
    process_result_dispose(&result);
    request = fake("count-input", NULL);
    result = run(&request);
    assert_string_equal(result.output, "0 0\n");
    process_result_dispose(&result);
    mem_free(input);
}

/* ---- Surroundings ---------------------------------------------------------------------------- */

static void folder_and_environment(void **state)
{
    (void)state;
    const char *const environment[] = {"EVOCC_TEST=seen", NULL};
    process_request request = fake("where", "EVOCC_TEST");
    request.folder = "/";
    request.environment = environment;
    process_result result = run(&request);
    assert_string_equal(result.output, "/\nseen\n");
    process_result_dispose(&result);
    setenv("EVOCC_TEST", "inherited", 1);
    request = fake("where", "EVOCC_TEST");
    request.folder = "/";
    result = run(&request);
    assert_string_equal(result.output, "/\ninherited\n");
    process_result_dispose(&result);
    unsetenv("EVOCC_TEST");
}

static const char clean[] = "descriptors 0 1 2\nsignals\nleader 1\ncore 0\n";

/* Whatever this process did to its signals, and whatever it has open, the child begins clean. */
static void a_clean_child(void **state)
{
    (void)state;
    sigset_t mask;
    sigset_t old;
    struct rlimit old_core;
    const struct rlimit core = {1 << 20, 1 << 20};
    getrlimit(RLIMIT_CORE, &old_core);
    setrlimit(RLIMIT_CORE, &core);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_SETMASK, &mask, &old);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    int open_one = open("/dev/null", O_RDONLY); /* not close-on-exec */
    int open_high = fcntl(open_one, F_DUPFD, 500);
    process_result result = run_fake("describe", NULL);
    sigset_t after;
    sigprocmask(SIG_SETMASK, &old, &after);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    close(open_one);
    close(open_high);
    setrlimit(RLIMIT_CORE, &old_core);
    assert_string_equal(result.output, clean);
    assert_memory_equal(&mask, &after, sizeof(unsigned long)); /* ours is as it was */
    process_result_dispose(&result);
}

/* A daemon may have closed 0, 1 and 2: pipes must not get lost among these numbers. */
static void with_closed_standard_streams(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        close(0);
        close(1);
        close(2);
        process_request request = fake("describe", NULL);
        request.input = "abc";
        request.input_length = 3;
        process_result result = {0};
        evocc_status status = process_run(&result, &request, NULL);
        bool good = status == EVOCC_OK && strcmp(result.output, clean) == 0;
        process_result_dispose(&result);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int i = 0; i < 1024; i++) {
        count += fcntl(i, F_GETFD) >= 0;
    }
    return count;
}

static void nothing_stays_open(void **state)
{
    (void)state;
    size_t before = open_descriptors();
    process_result result = run_fake("exit", "0");
    process_result_dispose(&result);
    const char *missing[] = {"/nowhere", NULL};
    process_request request = {.argv = missing, .input = "x", .input_length = 1};
    result = run(&request);
    process_result_dispose(&result);
    assert_int_equal(open_descriptors(), before);
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void processor_seconds(void **state)
{
    (void)state;
    process_result result = run_fake("burn", "300");
    assert_true(result.cpu_s >= 0.29 && result.cpu_s < 1);
    assert_true(result.wall_s >= 0.29);
    process_result_dispose(&result);
    result = run_fake("exit", "0");
    assert_true(result.cpu_s < 0.2);
    process_result_dispose(&result);
}

static void memory_peak(void **state)
{
    (void)state;
    process_result result = run_fake("allocate", "200");
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 0);
    assert_true(result.peak_bytes >= (uint64_t)200 << 20);
    assert_true(result.peak_bytes < (uint64_t)300 << 20);
    process_result_dispose(&result);
}

static void memory_limit(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer maps terabytes */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    skip();
#endif
#endif
    process_request request = fake("allocate", "500");
    request.memory_limit = (uint64_t)100 << 20;
    process_result result = run(&request);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.exit_status, 3);
    assert_string_equal(result.output, "no memory\n");
    process_result_dispose(&result);
}

/* ---- Many at a time -------------------------------------------------------------------------- */

static void many_children(void **state)
{
    (void)state;
    enum { CHILDREN = 60 };
    process_set *set;
    evocc_error error;
    bool seen[CHILDREN] = {false};
    assert_int_equal(process_set_new(&set, NULL), EVOCC_OK);
    for (uint64_t i = 0; i < CHILDREN; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", (int)i);
        process_request request = fake("exit", number);
        assert_int_equal(process_set_start(set, i, &request, NULL), EVOCC_OK);
    }
    assert_int_equal(process_set_count(set), CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        uint64_t id = CHILDREN;
        process_result result;
        assert_int_equal(process_set_wait(set, 30, -1, &id, &result, NULL), EVOCC_OK);
        assert_true(id < CHILDREN && !seen[id]);
        seen[id] = true;
        assert_int_equal(result.exit_status, (int)id);
        process_result_dispose(&result);
    }
    uint64_t id;
    process_result result;
    assert_int_equal(process_set_wait(set, -1, -1, &id, &result, &error), EVOCC_NOT_FOUND);
    process_set_free(set);
    process_set_free(NULL);
}

static void timeouts_and_wakes(void **state)
{
    (void)state;
    process_set *set;
    evocc_error error;
    uint64_t id;
    process_result result;
    int wake[2];
    assert_int_equal(pipe(wake), 0);
    assert_int_equal(process_set_new(&set, NULL), EVOCC_OK);
    process_request request = fake("hang", NULL);
    assert_int_equal(process_set_start(set, 1, &request, NULL), EVOCC_OK);
    double start_s = clock_now_s();
    assert_int_equal(process_set_wait(set, 0.1, wake[0], &id, &result, &error), EVOCC_TIMEOUT);
    assert_true(clock_now_s() - start_s >= 0.1);
    assert_int_equal(process_set_wait(set, 0, wake[0], &id, &result, &error), EVOCC_TIMEOUT);
    assert_int_equal(write(wake[1], "x", 1), 1);
    assert_int_equal(process_set_wait(set, -1, wake[0], &id, &result, &error), EVOCC_INTERRUPTED);
    assert_int_equal(process_set_count(set), 1);
    process_set_cancel(set);
    assert_int_equal(process_set_wait(set, 10, -1, &id, &result, &error), EVOCC_OK);
    assert_int_equal(id, 1);
    assert_int_equal(result.end, PROCESS_CANCELLED);
    process_result_dispose(&result);
    process_set_free(set);
    close(wake[0]);
    close(wake[1]);
}

static void cancel_kills_the_deaf(void **state)
{
    (void)state;
    process_set *set;
    uint64_t id;
    process_result result;
    assert_int_equal(process_set_new(&set, NULL), EVOCC_OK);
    process_request request = fake("ignore-term", NULL);
    request.grace_s = 0.1;
    request.deadline_s = 60;
    assert_int_equal(process_set_start(set, 1, &request, NULL), EVOCC_OK);
    assert_int_equal(process_set_wait(set, 0.2, -1, &id, &result, NULL), EVOCC_TIMEOUT);
    process_set_cancel(set);
    process_set_cancel(set); /* twice is once */
    assert_int_equal(process_set_wait(set, 10, -1, &id, &result, NULL), EVOCC_OK);
    assert_int_equal(result.end, PROCESS_CANCELLED);
    assert_int_equal(result.signal, SIGKILL);
    process_result_dispose(&result);
    process_set_free(set);
}

static pid_t only_child(void)
{
    long pid = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &pid) != 1) {
            pid = 0;
        }
        fclose(file);
    }
    return (pid_t)pid;
}

static void free_kills_at_once(void **state)
{
    (void)state;
    process_set *set;
    assert_int_equal(process_set_new(&set, NULL), EVOCC_OK);
    process_request request = fake("ignore-term", NULL);
    request.grace_s = 100;
    assert_int_equal(process_set_start(set, 1, &request, NULL), EVOCC_OK);
    pid_t pid = only_child();
    double start_s = clock_now_s();
    process_set_free(set);
    assert_true(clock_now_s() - start_s < 3);
    assert_true(pid == 0 || kill(pid, 0) != 0);
    assert_int_equal(only_child(), 0);
}

/* Another part of this program may have children, too: theirs are theirs. */
static void others_children_are_left_alone(void **state)
{
    (void)state;
    pid_t other = fork();
    if (other == 0) {
        _exit(9);
    }
    assert_true(ends_within(other, 5));
    process_result result = run_fake("exit", "0");
    process_result_dispose(&result);
    int status;
    assert_int_equal(waitpid(other, &status, WNOHANG), other);
    assert_int_equal(WEXITSTATUS(status), 9);
}

static void ignore_signal(int number)
{
    (void)number;
}

static void signals_do_not_disturb(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = ignore_signal}; /* no SA_RESTART */
    struct sigaction old;
    sigaction(SIGUSR1, &action, &old);
    pid_t parent = getpid();
    pid_t sender = fork();
    if (sender == 0) {
        for (int i = 0; i < 300; i++) {
            kill(parent, SIGUSR1);
            usleep(1000);
        }
        _exit(0);
    }
    process_result result = run_fake("burn", "200");
    assert_int_equal(result.end, PROCESS_EXITED);
    process_result_dispose(&result);
    while (waitpid(sender, NULL, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGUSR1, &old, NULL);
}

static void lost_statuses_are_told(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    process_request request = fake("exit", "0");
    process_result result = {0};
    evocc_error error;
    evocc_status status = process_run(&result, &request, &error);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "do not ignore SIGCHLD"));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t before = open_descriptors();
    bool failed = true;
    long n;
    for (n = 0; failed; n++) {
        process_request request = fake("flood", "10000");
        process_result result = {0};
        evocc_error error;
        mem_fail_after(n);
        evocc_status status = process_run(&result, &request, &error);
        mem_fail_after(-1);
        failed = status != EVOCC_OK;
        assert_true(!failed || status == EVOCC_NO_MEMORY);
        assert_true(failed || result.output_length == 10000);
        process_result_dispose(&result);
        assert_int_equal(only_child(), 0);
    }
    assert_true(n > 6);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(crashes),
        cmocka_unit_test(programs_that_cannot_run),
        cmocka_unit_test(arguments_too_long),
        cmocka_unit_test(deadline_by_term),
        cmocka_unit_test(deadline_by_kill),
        cmocka_unit_test(deadline_of_a_stopped_program),
        cmocka_unit_test(deadline_reaches_the_group),
        cmocka_unit_test(no_deadline_missed),
        cmocka_unit_test(a_grandchild_holds_the_pipe),
        cmocka_unit_test(a_grandchild_left_the_group),
        cmocka_unit_test(a_grandchild_floods_for_ever),
        cmocka_unit_test(floods_are_drained),
        cmocka_unit_test(large_input),
        cmocka_unit_test(folder_and_environment),
        cmocka_unit_test(a_clean_child),
        cmocka_unit_test(with_closed_standard_streams),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(processor_seconds),
        cmocka_unit_test(memory_peak),
        cmocka_unit_test(memory_limit),
        cmocka_unit_test(many_children),
        cmocka_unit_test(timeouts_and_wakes),
        cmocka_unit_test(cancel_kills_the_deaf),
        cmocka_unit_test(free_kills_at_once),
        cmocka_unit_test(others_children_are_left_alone),
        cmocka_unit_test(signals_do_not_disturb),
        cmocka_unit_test(lost_statuses_are_told),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
