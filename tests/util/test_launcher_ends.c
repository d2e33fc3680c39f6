#define _GNU_SOURCE /* posix_openpt and friends */
#include "launchers.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

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

int main(void)
{
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    unsetenv("TMPDIR");
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
