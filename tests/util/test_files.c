#include "unit.h"

#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *scratch; /* a folder of its own for each test */

static int make_scratch(void **state)
{
    (void)state;
    return folder_temporary(&scratch, NULL) == EVOCC_OK ? 0 : -1;
}

static int remove_scratch(void **state)
{
    (void)state;
    folder_remove(scratch);
    bool gone = !file_exists(scratch);
    mem_free(scratch);
    return gone ? 0 : -1;
}

/* A path in the scratch folder; four may be in use at once. */
static const char *in_scratch(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    assert_int_equal(file_write(in_scratch(name), text, strlen(text), NULL), EVOCC_OK);
}

static void assert_contents(const char *path, const char *expected)
{
    char *text;
    size_t length;
    assert_int_equal(file_read(&text, &length, path, 1 << 20, NULL), EVOCC_OK);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    mem_free(text);
}

static size_t count_entries(void)
{
    char command[600];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", scratch);
    FILE *pipe = popen(command, "r");
    unsigned long count = 9999;
    assert_int_equal(fscanf(pipe, "%lu", &count), 1);
    pclose(pipe);
    return count;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void reading(void **state)
{
    (void)state;
    char *text;
    size_t length;
    assert_int_equal(file_write(in_scratch("a"), "x\0y", 3, NULL), EVOCC_OK);
    assert_int_equal(file_read(&text, &length, in_scratch("a"), 3, NULL), EVOCC_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "x\0y", 4);
    mem_free(text);
    write_text("empty", "");
    assert_int_equal(file_read(&text, &length, in_scratch("empty"), 0, NULL), EVOCC_OK);
    assert_string_equal(text, "");
    mem_free(text);
    /* Files whose size the system does not tell beforehand are read, too. */
    assert_int_equal(file_read(&text, &length, "/proc/self/status", 1 << 20, NULL), EVOCC_OK);
    assert_true(length > 100);
    mem_free(text);
}

static void reading_refusals(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    evocc_error error;
    char expected[700];
    write_text("four", "1234");
    assert_int_equal(file_read(&text, &length, in_scratch("four"), 3, &error),
                     EVOCC_INVALID_ARGUMENT);
    snprintf(expected, sizeof expected, "'%s/four' has more than the 3 bytes that are read",
             scratch);
    assert_string_equal(error.message, expected);
    assert_int_equal(file_read(&text, &length, in_scratch("none"), 3, &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "/none'"));
    assert_int_equal(file_read(&text, &length, in_scratch("four/x"), 3, &error), EVOCC_NOT_FOUND);
    assert_int_equal(file_read(&text, &length, scratch, 3, &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "is a folder, not a file"));
    assert_int_equal(file_read(&text, &length, "/dev/zero", 1000, &error), EVOCC_INVALID_ARGUMENT);
    assert_null(text);
    for (long n = 0; n < 2; n++) {
        mem_fail_after(n);
        evocc_status status = file_read(&text, &length, in_scratch("four"), 100, &error);
        mem_fail_after(-1);
        assert_int_equal(status, n == 0 ? EVOCC_NO_MEMORY : EVOCC_OK);
    }
    mem_free(text);
}

/* Runs a check in a child that is nobody, for root may do everything. True when it returned 0. */
static bool as_nobody(int (*check)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        bool changed = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
        _exit(changed ? check() : 100);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int check_permissions(void)
{
    char *text = NULL;
    size_t length;
    evocc_error error;
    if (file_read(&text, &length, in_scratch("secret"), 100, &error) != EVOCC_IO ||
        error.os_errno != EACCES || strstr(error.message, "secret': Permission denied") == NULL) {
        return 1;
    }
    if (file_write_atomic(in_scratch("new"), "x", 1, &error) != EVOCC_IO ||
        error.os_errno != EACCES) {
        return 2;
    }
    setenv("TMPDIR", scratch, 1);
    if (folder_temporary(&text, &error) != EVOCC_IO || error.os_errno != EACCES ||
        strstr(error.message, scratch) == NULL || strstr(error.message, "set TMPDIR to") == NULL) {
        return 3;
    }
    return file_is_executable(in_scratch("secret")) ? 4 : 0;
}

static void permissions(void **state)
{
    (void)state;
    write_text("secret", "x");
    assert_int_equal(chmod(in_scratch("secret"), 0), 0);
    assert_int_equal(chmod(scratch, 0555), 0);
    assert_true(as_nobody(check_permissions));
    assert_int_equal(chmod(scratch, 0700), 0);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void atomic_replaces(void **state)
{
    (void)state;
    const char *path = in_scratch("file");
    assert_int_equal(file_write_atomic(path, "one", 3, NULL), EVOCC_OK);
    assert_contents(path, "one");
    assert_int_equal(chmod(path, 0640), 0);
    struct stat before;
    struct stat after;
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(file_write_atomic(path, "two!", 4, NULL), EVOCC_OK);
    assert_contents(path, "two!");
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mode & 0777, 0640);
    assert_int_not_equal(before.st_ino, after.st_ino); /* another file under the name */
    assert_int_equal(count_entries(), 1);
    char long_name[256];
    memset(long_name, 'n', 255);
    long_name[255] = '\0';
    assert_int_equal(file_write_atomic(in_scratch(long_name), "x", 1, NULL), EVOCC_OK);
    assert_int_equal(count_entries(), 2);
}

static void atomic_through_links_and_devices(void **state)
{
    (void)state;
    write_text("target", "old");
    assert_int_equal(symlink("target", in_scratch("link")), 0);
    assert_int_equal(file_write_atomic(in_scratch("link"), "new", 3, NULL), EVOCC_OK);
    assert_contents(in_scratch("target"), "new");
    struct stat s;
    assert_int_equal(lstat(in_scratch("link"), &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(file_write_atomic("/dev/null", "x", 1, NULL), EVOCC_OK);
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));
}

static void writing_refusals(void **state)
{
    (void)state;
    evocc_error error;
    assert_int_equal(file_write_atomic(in_scratch("no/file"), "x", 1, &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "no/file': its folder does not exist"));
    assert_int_equal(file_write(in_scratch("no/file"), "x", 1, &error), EVOCC_NOT_FOUND);
    assert_int_equal(file_write_atomic(scratch, "x", 1, &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "is a folder"));
    assert_int_equal(file_write("/dev/full", "x", 1, &error), EVOCC_IO);
    assert_int_equal(error.os_errno, ENOSPC);
    assert_string_equal(error.message, "cannot write '/dev/full': No space left on device");
    assert_int_equal(file_write_atomic("/dev/full", "x", 1, &error), EVOCC_IO);
    assert_int_equal(error.os_errno, ENOSPC);
    mem_fail_after(0);
    evocc_status status = file_write_atomic(in_scratch("file"), "x", 1, &error);
    mem_fail_after(-1);
    assert_int_equal(status, EVOCC_NO_MEMORY);
    assert_int_equal(count_entries(), 0);
}

/* A disk that is full leaves the old file and no other. */
static void full_disk(void **state)
{
    (void)state;
    if (mount("evocc-test", scratch, "tmpfs", 0, "size=64k,nr_inodes=16") != 0) {
        print_message("no tiny file system can be mounted here\n");
        skip();
    }
    static char large[256 * 1024];
    evocc_error error;
    const char *path = in_scratch("best.acf");
    evocc_status first = file_write_atomic(path, "old", 3, &error);
    evocc_status second = file_write_atomic(path, large, sizeof large, &error);
    bool only_one = count_entries() == 1;
    char *text = NULL;
    size_t length = 0;
    file_read(&text, &length, path, 100, NULL);
    umount2(scratch, MNT_DETACH);
    assert_int_equal(first, EVOCC_OK);
    assert_int_equal(second, EVOCC_IO);
    assert_int_equal(error.os_errno, ENOSPC);
    assert_true(only_one);
    assert_string_equal(text, "old");
    mem_free(text);
}

/* Readers see the old text or the new one, and never a mixture, whenever the writer dies. */
static void killed_while_writing(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, ROUNDS = 30 };
    static char block[BYTES];
    const char *path = in_scratch("file");
    memset(block, 'a', sizeof block);
    assert_int_equal(file_write_atomic(path, block, BYTES, NULL), EVOCC_OK);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0;; i++) {
                memset(block, 'a' + i % 26, sizeof block);
                file_write_atomic(path, block, BYTES, NULL);
            }
        }
        usleep((useconds_t)(300 * round));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        char *text;
        size_t length;
        assert_int_equal(file_read(&text, &length, path, 2 * BYTES, NULL), EVOCC_OK);
        assert_int_equal(length, BYTES);
        for (size_t i = 0; i < BYTES; i++) {
            if (text[i] != text[0]) {
                fail_msg("byte %zu differs", i);
            }
        }
        mem_free(text);
    }
}

/* ---- Paths and folders ----------------------------------------------------------------------- */

static void paths(void **state)
{
    (void)state;
    static const char *const joined[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}, {"a", "/b", "/b"}};
    for (size_t i = 0; i < COUNT(joined); i++) {
        char *path = path_join(joined[i][0], joined[i][1]);
        assert_string_equal(path, joined[i][2]);
        mem_free(path);
    }
    static const char *const split[][3] = {
        {"a/b", "a", "b"}, {"/b", "/", "b"}, {"b", ".", "b"},         {"a//b", "a", "b"},
        {"a/", "a", ""},   {"/", "/", ""},   {"/a/b.c", "/a", "b.c"}, {"", ".", ""}};
    for (size_t i = 0; i < COUNT(split); i++) {
        char *folder = path_folder(split[i][0]);
        assert_string_equal(folder, split[i][1]);
        assert_string_equal(path_base(split[i][0]), split[i][2]);
        mem_free(folder);
    }
}

static void making_folders(void **state)
{
    (void)state;
    evocc_error error;
    assert_int_equal(folder_make(in_scratch("a/b//c/"), NULL), EVOCC_OK);
    assert_int_equal(folder_make(in_scratch("a/b/c"), NULL), EVOCC_OK);
    assert_true(file_exists(in_scratch("a/b/c")));
    assert_false(file_is_executable(in_scratch("a/b/c")));
    write_text("file", "x");
    assert_int_equal(folder_make(in_scratch("file/d"), &error), EVOCC_IO);
    assert_int_equal(error.os_errno, ENOTDIR);
    assert_non_null(strstr(error.message, "/file'"));
}

static void removing_folders(void **state)
{
    (void)state;
    write_text("outside", "kept");
    assert_int_equal(folder_make(in_scratch("tree/x/y"), NULL), EVOCC_OK);
    assert_int_equal(folder_make(in_scratch("elsewhere"), NULL), EVOCC_OK);
    write_text("elsewhere/kept", "kept");
    write_text("tree/x/y/file", "x");
    assert_int_equal(symlink(in_scratch("elsewhere"), in_scratch("tree/link")), 0);
    assert_int_equal(symlink(in_scratch("outside"), in_scratch("tree/x/link")), 0);
    assert_int_equal(mkfifo(in_scratch("tree/pipe"), 0600), 0);
    assert_int_equal(chmod(in_scratch("tree/x/y"), 0), 0);
    assert_int_equal(chmod(in_scratch("tree/x"), 0500), 0);
    folder_remove(in_scratch("tree"));
    assert_false(file_exists(in_scratch("tree")));
    assert_contents(in_scratch("outside"), "kept");
    assert_contents(in_scratch("elsewhere/kept"), "kept");
    folder_remove(in_scratch("absent"));
}

static void temporary_folders(void **state)
{
    (void)state;
    char *folder = NULL;
    evocc_error error;
    const char *old = getenv("TMPDIR");
    char *saved = old != NULL ? mem_strdup(old) : NULL;
    setenv("TMPDIR", scratch, 1);
    assert_int_equal(folder_temporary(&folder, NULL), EVOCC_OK);
    assert_int_equal(strncmp(folder, scratch, strlen(scratch)), 0);
    assert_int_equal(strncmp(path_base(folder), "evocc-", 6), 0);
    struct stat s;
    assert_int_equal(stat(folder, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    mem_free(folder);
    folder = NULL;
    setenv("TMPDIR", in_scratch("absent"), 1);
    assert_int_equal(folder_temporary(&folder, &error), EVOCC_IO);
    assert_int_equal(error.os_errno, ENOENT);
    char expected[1000];
    snprintf(expected, sizeof expected,
             "no temporary folder in '%s/absent', which TMPDIR names (set TMPDIR to a folder that "
             "can be written to): No such file or directory",
             scratch);
    assert_string_equal(error.message, expected);
    assert_null(folder);
    setenv("TMPDIR", "", 1);
    assert_int_equal(folder_temporary(&folder, NULL), EVOCC_OK);
    assert_int_equal(strncmp(folder, "/tmp/evocc-", 11), 0);
    folder_remove(folder);
    mem_free(folder);
    if (saved != NULL) {
        setenv("TMPDIR", saved, 1);
    } else {
        unsetenv("TMPDIR");
    }
    mem_free(saved);
}

/* ---- Identity, locks, programs --------------------------------------------------------------- */

static void identity(void **state)
{
    (void)state;
    evocc_error error;
    file_identity a;
    file_identity b;
    write_text("file", "12345");
    assert_int_equal(symlink("file", in_scratch("link")), 0);
    assert_int_equal(file_identify(&a, in_scratch("file"), NULL), EVOCC_OK);
    assert_int_equal(file_identify(&b, in_scratch("link"), NULL), EVOCC_OK);
    assert_string_equal(a.path, b.path);
    assert_int_equal(a.size_bytes, 5);
    assert_true(a.modified_ns > INT64_C(1600000000) * 1000000000);
    assert_int_equal(a.inode, b.inode);
    assert_int_equal(a.device, b.device);
    mem_free(a.path);
    mem_free(b.path);
    assert_int_equal(file_identify(&a, in_scratch("absent"), &error), EVOCC_NOT_FOUND);
    mem_fail_after(0);
    evocc_status status = file_identify(&a, in_scratch("file"), &error);
    mem_fail_after(-1);
    assert_int_equal(status, EVOCC_NO_MEMORY);
}

static void locks(void **state)
{
    (void)state;
    int first;
    int second = -1;
    evocc_error error;
    const char *path = in_scratch("lock");
    assert_int_equal(file_lock(&first, path, NULL), EVOCC_OK);
    assert_int_not_equal(fcntl(first, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_equal(file_lock(&second, path, &error), EVOCC_BUSY);
    assert_non_null(strstr(error.message, "in use by another process"));
    assert_int_equal(second, -1);
    close(first);
    assert_int_equal(file_lock(&second, path, NULL), EVOCC_OK);
    close(second);
    assert_int_equal(file_lock(&first, in_scratch("no/lock"), &error), EVOCC_NOT_FOUND);
}

static void make_program(const char *name)
{
    write_text(name, "#!/bin/sh\n");
    assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

static void finding_programs(void **state)
{
    (void)state;
    char *found = NULL;
    evocc_error error;
    char *old = mem_strdup(getenv("PATH"));
    assert_int_equal(folder_make(in_scratch("one"), NULL), EVOCC_OK);
    assert_int_equal(folder_make(in_scratch("two/ptxas"), NULL), EVOCC_OK); /* a folder is none */
    assert_int_equal(folder_make(in_scratch("three"), NULL), EVOCC_OK);
    assert_int_equal(folder_make(in_scratch("four"), NULL), EVOCC_OK);
    make_program("one/evocc");
    assert_int_equal(symlink("evocc", in_scratch("one/ptxas")), 0);
    write_text("three/ptxas", "not executable");
    make_program("four/ptxas");
    char path[2500];
    snprintf(path, sizeof path, "%s/one:%s/two:%s/none:%s/three:%s/four", scratch, scratch, scratch,
             scratch, scratch);
    setenv("PATH", path, 1);
    file_identity self;
    assert_int_equal(file_identify(&self, in_scratch("one/evocc"), NULL), EVOCC_OK);
    assert_int_equal(program_find(&found, "ptxas", NULL, NULL), EVOCC_OK);
    assert_string_equal(found, in_scratch("one/ptxas"));
    mem_free(found);
    assert_int_equal(program_find(&found, "ptxas", &self, NULL), EVOCC_OK);
    assert_string_equal(found, in_scratch("four/ptxas"));
    mem_free(found);
    assert_int_equal(program_find(&found, in_scratch("four/ptxas"), &self, NULL), EVOCC_OK);
    assert_string_equal(found, in_scratch("four/ptxas"));
    mem_free(found);
    found = NULL;
    assert_int_equal(program_find(&found, in_scratch("one/ptxas"), &self, &error), EVOCC_NOT_FOUND);
    assert_int_equal(program_find(&found, "nvcc", NULL, &error), EVOCC_NOT_FOUND);
    assert_string_equal(error.message,
                        "no program 'nvcc' on PATH; install it or add its folder to PATH");
    assert_null(found);
    setenv("PATH", old, 1);
    mem_free(old);
    mem_free(self.path);
}

static void own_program(void **state)
{
    (void)state;
    char *path;
    assert_int_equal(program_self(&path, NULL), EVOCC_OK);
    assert_int_equal(path[0], '/');
    assert_string_equal(path_base(path), "test_files");
    mem_free(path);
}

static void the_helper(void **state)
{
    (void)state;
    char *path = NULL;
    evocc_error error;
    make_program("my-helper");
    setenv("EVOCC_HELPER", in_scratch("my-helper"), 1);
    assert_int_equal(program_helper(&path, NULL), EVOCC_OK);
    assert_string_equal(path_base(path), "my-helper");
    mem_free(path);
    path = NULL;
    setenv("EVOCC_HELPER", in_scratch("absent"), 1);
    assert_int_equal(program_helper(&path, &error), EVOCC_NOT_FOUND);
    assert_non_null(strstr(error.message, "EVOCC_HELPER names '"));
    assert_null(path);
    unsetenv("EVOCC_HELPER");
    /* This test lies in the build folder, two folders beside bin/. */
    if (program_helper(&path, &error) == EVOCC_OK) {
        assert_string_equal(path_base(path), "evocc-helper");
        assert_true(file_is_executable(path));
        mem_free(path);
    } else {
        assert_non_null(strstr(error.message, "EVOCC_HELPER"));
    }
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(reading),
        IN_SCRATCH(reading_refusals),
        IN_SCRATCH(permissions),
        IN_SCRATCH(atomic_replaces),
        IN_SCRATCH(atomic_through_links_and_devices),
        IN_SCRATCH(writing_refusals),
        IN_SCRATCH(full_disk),
        IN_SCRATCH(killed_while_writing),
        cmocka_unit_test(paths),
        IN_SCRATCH(making_folders),
        IN_SCRATCH(removing_folders),
        IN_SCRATCH(temporary_folders),
        IN_SCRATCH(identity),
        IN_SCRATCH(locks),
        IN_SCRATCH(finding_programs),
        cmocka_unit_test(own_program),
        IN_SCRATCH(the_helper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
