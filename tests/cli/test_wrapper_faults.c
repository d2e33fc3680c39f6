/* The ptxas wrapper when things go wrong: failures, disks, signals, company, its log. */
#include "wrapper_support.h"

#include "cli/wrapper_parts.h"
#include "util/files.h"
#include "util/mem.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- When the tuned compilation fails
 * ------------------------------------------------------------ */

static void failures_fall_back(void **state)
{
    bench *b = *state;
    static const struct {
        const char *mode, *reason;
    } list[] = {
        {"tuned:exit-3", "the compiler exited with status 3: fake error in kernel.ptx"},
        {"tuned:signal-9", "the compiler died of signal 9"},
        {"tuned:quiet", "the compiler wrote no output"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        b->mode = list[i].mode;
        TUNED_PLAIN(b);
        expect_original(b, list[i].reason);
        bench_write(b, "out.cubin", "old");
        TUNED_WITH(b, "--strict");
        assert_int_equal(b->result.exit_status, 1);
        assert_int_equal(bench_calls(b), 1);
        expect_file(b, "out.cubin", "old");
        unlink(b->log);
        TUNED_WITH(b, "--on-mismatch=error"); /* a failure is no mismatch */
        expect_original(b, list[i].reason);
    }
    /* Both fail: what is shown is the original's. */
    b->mode = "exit-3";
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 3);
    expect_said(b, "\nfake error in kernel.ptx\nsecond line\n");
}

static void inputs_that_cannot_be_read_pass(void **state)
{
    bench *b = *state;
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "absent.ptx", "-o", "out.cubin");
    assert_int_equal(b->result.exit_status, 255);
    expect_said(b, "ptxas fatal   : Input file 'absent.ptx' could not be opened");
    bench_write(b, "kernel.ptx", "caf\xc3\xa9\n");
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "kernel.ptx:1:4: ");
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "/dev/null", "-o", "out.cubin");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "'/dev/null' is not a regular file");
}

/* Every allocation of the planning fails in turn; what fails is a reason not to apply, no more. */
static void planning_survives_lack_of_memory(void **state)
{
    bench *b = *state;
    char *cache = bench_path(b, ".cache");
    char *kernel = bench_path(b, "kernel.ptx");
    char *text = bench_read(b, "best.acf");
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    assert_int_equal(acf_read(&file, text, strlen(text), "best.acf", &error), EVOCC_OK);
    char arch[] = "-arch=sm_90a";
    char *argv[] = {arch, kernel, NULL};
    evocc_status status = EVOCC_NO_MEMORY;
    for (long n = 0; status != EVOCC_OK; n++) {
        assert_true(n < 20000);
        wrapper_words words = {0};
        wrapper_plan plan = {0};
        error = (evocc_error){0};
        mem_fail_after(n);
        status = wrapper_words_read(&words, 2, argv, &error);
        if (status == EVOCC_OK) {
            status = wrapper_plan_make(&plan, &compiler_ptxas, FAKE_PTXAS, &words, file, &error);
        }
        mem_fail_after(-1);
        assert_true(status == EVOCC_OK || error.message[0] != '\0');
        wrapper_plan_dispose(&plan);
        wrapper_words_dispose(&words);
    }
    acf_free(file);
    mem_free(text);
    mem_free(kernel);
    mem_free(cache);
}

/* ---- The output ------------------------------------------------------------------------------ */

static void outputs_are_replaced_as_a_compiler_would(void **state)
{
    bench *b = *state;
    char text[4096];
    snprintf(text, sizeof text, "cubin of %s", bench_kernel);
    char *real_path = bench_path(b, "real.cubin");
    char *link_path = bench_path(b, "out.cubin");
    bench_write(b, "real.cubin", "old");
    assert_int_equal(chmod(real_path, 0640), 0);
    assert_int_equal(symlink("real.cubin", link_path), 0);
    TUNED_PLAIN(b);
    expect(b, 0, "", "");
    struct stat s;
    assert_int_equal(lstat(link_path, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat(real_path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    expect_file(b, "real.cubin", text);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "/dev/null");
    expect(b, 0, "", "");
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "no/such/folder");
    assert_int_equal(b->result.exit_status, 255);
    expect_said(b, "Output file 'no/such/folder' could not be opened");
    mem_free(real_path);
    mem_free(link_path);
}

/* A folder that takes no file any more: the compiler's own words and status are what comes out. */
static void full_and_read_only_disks(void **state)
{
    bench *b = *state;
    char *disk = bench_path(b, "disk");
    assert_int_equal(mkdir(disk, 0755), 0);
    if (mount("none", disk, "tmpfs", 0, "size=16k") != 0) {
        print_message("cannot mount a small disk: %s\n", strerror(errno));
        rmdir(disk);
        mem_free(disk);
        skip();
    }
    static char filling[65536];
    memset(filling, 'x', sizeof filling - 1);
    char *path = bench_path(b, "disk/filling");
    (void)file_write(path, filling, sizeof filling - 1, NULL);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "disk/out.cubin");
    int full_status = b->result.exit_status;
    bool full_said = strstr(b->result.errors, "not applied: cannot write 'disk/out.cubin'") != NULL;
    mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, NULL);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "disk/new.cubin");
    umount(disk);
    assert_int_equal(full_status, 255);
    assert_true(full_said);
    assert_int_equal(b->result.exit_status, 255);
    expect_said(b, "not applied: cannot write 'disk/new.cubin': Read-only file system");
    expect_said(b, "Output file 'disk/new.cubin' could not be opened");
    mem_free(path);
    mem_free(disk);
}

static void no_temporary_folder_is_needed(void **state)
{
    bench *b = *state;
    b->tmpdir = "/nowhere";
    TUNED_PLAIN(b);
    expect(b, 0, "", "");
    assert_true(bench_told(b, "/proc/"));
    /* Only asking a compiler for the first time needs one. */
    bench_remove(b, ".cache");
    unlink(b->log);
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "TMPDIR");
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
}

/* ---- Signals and company
 * ------------------------------------------------------------------------- */

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The number of the compiler that hangs, once it does. */
static pid_t hanging(const bench *b)
{
    for (int i = 0; i < 2000; i++) {
        char *text = bench_read(b, "fake.log.hangs");
        pid_t pid = text == NULL ? 0 : (pid_t)atol(text);
        mem_free(text);
        if (pid > 0) {
            return pid;
        }
        pause_ms(5);
    }
    fail_msg("the compiler was not reached");
    return 0;
}

static bool is_gone(pid_t pid)
{
    for (int i = 0; i < 1000; i++) {
        if (kill(pid, 0) != 0 && errno == ESRCH) {
            return true;
        }
        pause_ms(5);
    }
    return false;
}

static size_t count_entries(const bench *b)
{
    size_t count = 0;
    DIR *folder = opendir(b->folder);
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static void signals_end_both(void **state)
{
    bench *b = *state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL};
    b->mode = "hang";
    bench_write(b, "out.cubin", "old");
    bench_write(b, "fake.log", "");
    bench_write(b, "fake.log.hangs", "");
    size_t entries = count_entries(b);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        bench_write(b, "fake.log.hangs", "");
        bench_write(b, "fake.log", "");
        static const char *const words[] = {
            "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin", NULL};
        pid_t wrapper = bench_start(b, words);
        pid_t fake = hanging(b);
        assert_int_equal(kill(wrapper, signals[i]), 0);
        int status = 0;
        assert_int_equal(waitpid(wrapper, &status, 0), wrapper);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_true(is_gone(fake));
        assert_int_equal(bench_calls(b), 1); /* the original command does not run */
        expect_file(b, "out.cubin", "old");
        assert_int_equal(count_entries(b), entries);
    }
}

static void many_at_once(void **state)
{
    bench *b = *state;
    enum { COUNT = 16 };
    static const char *const words[] = {
        "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin", NULL};
    char text[4096];
    snprintf(text, sizeof text, "cubin of %s", bench_kernel);
    bench_write(b, "out.cubin", text);
    size_t entries = count_entries(b);
    pid_t wrappers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        wrappers[i] = bench_start(b, words);
    }
    for (int i = 0; i < COUNT; i++) {
        expect_file(b, "out.cubin", text); /* whole at any moment */
        int status = -1;
        assert_int_equal(waitpid(wrappers[i], &status, 0), wrappers[i]);
        assert_int_equal(status, 0);
    }
    expect_file(b, "out.cubin", text);
    assert_int_equal(bench_calls(b), COUNT);
    assert_int_equal(count_entries(b), entries + 1); /* and fake.log */
}

/* ---- The log --------------------------------------------------------------------------------- */

static void expect_logged(const bench *b, const char *part)
{
    char *log = bench_read(b, ".local/state/evocc/wrapper.log");
    assert_non_null(log);
    if (strstr(log, part) == NULL) {
        fail_msg("'%s' is not in\n%s", part, log);
    }
    mem_free(log);
}

static void events_are_logged(void **state)
{
    bench *b = *state;
    expect_logged(b, "\tapplied\tbest.acf\tkernel.ptx\t\n");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_80", "kernel.ptx");
    expect_logged(b, "\tskipped\tbest.acf\tkernel.ptx\tarch: the file is for");
    b->mode = "tuned:exit-3";
    TUNED_PLAIN(b);
    expect_logged(b, "\tfell-back\tbest.acf\tkernel.ptx\tthe compiler exited with status 3");
    CALL(b, "--apply-controls=a\n\tb.acf", "kernel.ptx");
    expect_logged(b, "\tfailed\ta??b.acf\t\tcannot read 'a  b.acf'");
}

static void the_log_is_bounded_and_optional(void **state)
{
    bench *b = *state;
    static char filling[(1 << 20) + 2];
    memset(filling, '\n', sizeof filling - 1);
    bench_write(b, ".local/state/evocc/wrapper.log", filling);
    TUNED_PLAIN(b);
    expect(b, 0, "", "");
    char *log = bench_read(b, ".local/state/evocc/wrapper.log");
    assert_non_null(strstr(log, "\tapplied\t"));
    assert_true(strlen(log) < 200);
    mem_free(log);
    log = bench_read(b, ".local/state/evocc/wrapper.log.old");
    assert_int_equal(strlen(log), sizeof filling - 1);
    mem_free(log);
    b->state_home = "/dev/null";
    TUNED_PLAIN(b);
    expect(b, 0, "", "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(failures_fall_back),
        TEST(inputs_that_cannot_be_read_pass),
        TEST(planning_survives_lack_of_memory),
        TEST(outputs_are_replaced_as_a_compiler_would),
        TEST(full_and_read_only_disks),
        TEST(no_temporary_folder_is_needed),
        TEST(signals_end_both),
        TEST(many_at_once),
        TEST(events_are_logged),
        TEST(the_log_is_bounded_and_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
