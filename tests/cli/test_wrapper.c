/* The ptxas wrapper before a fake ptxas, which shows byte for byte what reached it. */
#include "wrapper_support.h"

#include "space/space.h"
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

static const control_text level = {"ptxas/register-usage-level", "10"};
static const control_text late = {"ptx/order@k", "late"};

/* best.acf applies to the kernel; the compiler's identity is in the cache. */
static int open_bench(void **state)
{
    bench *b = mem_alloc(1, sizeof *b);
    assert_non_null(b);
    bench_open(b);
    bench_write_acf(b, "best.acf", NULL, &level, 1);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "warm.cubin");
    expect(b, 0, "", "");
    unlink(b->log);
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

/* The original command ran: its words, its output, and nothing of ours but one notice. */
static void expect_original(bench *b, const char *reason)
{
    assert_int_equal(b->result.end, PROCESS_EXITED);
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, reason);
    const char *line_end = strchr(b->result.errors, '\n');
    assert_true(line_end != NULL && line_end[1] == '\0'); /* one line */
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    char text[4096];
    snprintf(text, sizeof text, "cubin of %s", bench_kernel);
    expect_file(b, "out.cubin", text);
}

/* ---- Words -------------------------------------------------------------------------------------
 */

static void words_arrive_byte_for_byte(void **state)
{
    bench *b = *state;
    static const char *const words[] = {"",
                                        " ",
                                        "a b",
                                        "'",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "a\nb\n",
                                        "\x01\xff",
                                        "*",
                                        "$(x)",
                                        "`x`",
                                        "-",
                                        "--",
                                        "---",
                                        "-o",
                                        "--",
                                        "=",
                                        "~",
                                        "%s",
                                        "--strictly",
                                        "-apply",
                                        "-Xapply-controls",
                                        "\xc3\xa4",
                                        "#",
                                        "a;b",
                                        "--strict=1",
                                        "--apply-controlsx",
                                        NULL};
    bench_call(b, words);
    expect(b, 255, "", "ptxas fatal   : Input file 'a;b' could not be opened\n");
    expect_words(b, words);
}

static void ten_thousand_words_arrive(void **state)
{
    bench *b = *state;
    enum { COUNT = 10000 };
    const char **words = mem_alloc(COUNT + 1, sizeof *words);
    static char texts[COUNT][8];
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "-w%d", i);
        words[i] = texts[i];
    }
    bench_call(b, words);
    expect(b, 0, "", "");
    expect_words(b, words);
    mem_free(words);
}

static void own_words_never_arrive(void **state)
{
    bench *b = *state;
    CALL(b, "--strict", "-arch=sm_90a", "-strict", "--on-mismatch=skip", "--on-mismatch", "error",
         "kernel.ptx", "-on-mismatch=skip", "--allow-numerics", "-o", "out.cubin",
         "-allow-numerics");
    expect(b, 0, "", "");
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    static const char *const forms[][3] = {{"--apply-controls", "best.acf", NULL},
                                           {"-apply-controls", "best.acf", NULL},
                                           {"--apply-controls=best.acf", NULL},
                                           {"-apply-controls=best.acf", NULL}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *words[8] = {"-arch=sm_90a", "kernel.ptx", "-o", "out.cubin"};
        memcpy(words + 4, forms[i], sizeof forms[i]);
        bench_call(b, words);
        expect(b, 0, "", "");
        WORDS(b, "-arch=sm_90a", "@", "-o", "@", "--register-usage-level=10");
    }
}

static void bad_words_of_ours_are_usage(void **state)
{
    bench *b = *state;
    CALL(b, "kernel.ptx", "--apply-controls");
    expect(b, 2, "", "evocc ptxas: --apply-controls lacks its value\n");
    CALL(b, "kernel.ptx", "--apply-controls=");
    expect(b, 2, "", "evocc ptxas: --apply-controls lacks its value\n");
    CALL(b, "kernel.ptx", "--on-mismatch=maybe");
    expect(b, 2, "", "evocc ptxas: --on-mismatch is 'skip' or 'error', not 'maybe'\n");
    bench_write_acf(b, "two.acf", NULL, &level, 1);
    CALL(b, "--apply-controls=best.acf", "kernel.ptx", "--apply-controls", "two.acf");
    expect(b, 2, "",
           "evocc ptxas: one controls file at a time: both 'best.acf' and 'two.acf' were given\n");
    assert_int_equal(bench_calls(b), 0);
}

static void questions_pass(void **state)
{
    bench *b = *state;
    CALL(b, "--apply-controls=absent.acf", "--version");
    assert_int_equal(b->result.exit_status, 0);
    assert_string_equal(b->result.errors, "");
    assert_non_null(strstr(b->result.output, "V13.0.88"));
    WORDS(b, "--version");
    CALL(b, "--help");
    assert_non_null(strstr(b->result.output, "--gpu-name"));
    CALL(b, "--apply-controls", "best.acf", "-V");
    expect(b, 0, "", "");
    WORDS(b, "-V");
}

static void the_end_of_the_compiler_is_ours(void **state)
{
    bench *b = *state;
    b->mode = "exit-3";
    CALL(b, "kernel.ptx");
    expect(b, 3, "", "fake error in kernel.ptx\nsecond line\n");
    b->mode = "signal-6";
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.end, PROCESS_SIGNALLED);
    assert_int_equal(b->result.signal, SIGABRT);
    b->mode = "print";
    CALL(b, "kernel.ptx");
    expect(b, 0, "stdout of the compiler\n",
           "ptxas kernel.ptx, line 5; warning : 'kernel.ptx' is odd, not kernel.ptx0\n");
}

static void a_missing_compiler_is_named(void **state)
{
    bench *b = *state;
    b->ptxas = "/nowhere/ptxas";
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "EVOCC_REAL_PTXAS names '/nowhere/ptxas'");
    b->ptxas = WRAPPER_TOOL; /* would call itself for ever */
    CALL(b, "kernel.ptx");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "evocc itself");
}

/* ---- Applying ----------------------------------------------------------------------------------
 */

static void controls_are_applied(void **state)
{
    bench *b = *state;
    const control_text both[] = {level, late};
    bench_write_acf(b, "both.acf", NULL, both, 2);
    b->mode = "print";
    CALL(b, "--apply-controls=both.acf", "-v", "-arch", "sm_90a", "kernel.ptx", "-o", "out.cubin");
    assert_int_equal(b->result.exit_status, 0);
    assert_string_equal(b->result.output, "stdout of the compiler\n");
    expect_said(b, "ptxas kernel.ptx, line 5; warning : 'kernel.ptx' is odd, not /proc/");
    WORDS(b, "-v", "-arch", "sm_90a", "@", "-o", "@", "--register-usage-level=10");
    char *cubin = bench_read(b, "out.cubin");
    assert_non_null(cubin);
    char plain[4096];
    snprintf(plain, sizeof plain, "cubin of %s", bench_kernel);
    assert_string_not_equal(cubin, plain); /* the order pass moved something */
    assert_non_null(strstr(cubin, ".visible .entry k"));
    mem_free(cubin);
    expect_file(b, "kernel.ptx", bench_kernel);
}

static void outputs_are_found_in_every_form(void **state)
{
    bench *b = *state;
    static const char *const forms[][3] = {{"-o", "a.out", NULL},
                                           {"-o=a.out", NULL},
                                           {"--output-file=a.out", NULL},
                                           {"--output-file", "a.out", NULL}};
    char text[4096];
    snprintf(text, sizeof text, "cubin of %s", bench_kernel);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *words[8] = {"--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx"};
        memcpy(words + 3, forms[i], sizeof forms[i]);
        bench_call(b, words);
        expect(b, 0, "", "");
        expect_file(b, "a.out", text);
        unlink(bench_path(b, "a.out"));
    }
    unlink(b->log);
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx");
    expect(b, 0, "", "");
    expect_file(b, "elf.o", text);
    WORDS(b, "-arch=sm_90a", "@", "-o", "@", "--register-usage-level=10");
}

#define TUNED_PLAIN(b) \
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin")
#define TUNED_WITH(b, word) \
    CALL(b, "--apply-controls=best.acf", word, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin")

/* Not applied: skipped with one notice, or an error before the compiler is even called. */
static void expect_not_applied(bench *b, const char *reason)
{
    TUNED_PLAIN(b);
    expect_original(b, reason);
    expect_said(b, "evocc ptxas: best.acf not applied: ");
    expect_said(b, "; compiled without it\n");
    static const char *const refusing[] = {"--on-mismatch=error", "--strict"};
    for (size_t i = 0; i < 2; i++) {
        bench_write(b, "out.cubin", "old");
        TUNED_WITH(b, refusing[i]);
        assert_int_equal(b->result.exit_status, 1);
        assert_string_equal(b->result.output, "");
        expect_said(b, reason);
        assert_int_equal(bench_calls(b), 0);
        expect_file(b, "out.cubin", "old");
    }
}

static void every_mismatch_is_named(void **state)
{
    bench *b = *state;
    static const char *const base[] = {"--maxrregcount=64"};
    static const struct {
        acf_target overrides;
        const char *reason;
    } list[] = {
        {{.version = "13.0.99"}, "version: the file is for '13.0.99', this is '13.0.88'"},
        {{.arch = "sm_90"}, "arch: the file is for 'sm_90', this is 'sm_90a'"},
        {{.base = base, .base_count = 1},
         "base options: the file is for '--maxrregcount=64', this is ''"},
        {{.ptx = "evocc-ptx-1:0000000000000000000000000000000000000000000000000000000000000000"},
         "ptx: the file is for 'evocc-ptx-1:0000000000000000000000000000000000000000000000000000"},
        {{.kernel = "other"}, "other"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write_acf(b, "best.acf", &list[i].overrides, &level, 1);
        expect_not_applied(b, list[i].reason);
    }
}

static void the_command_decides_too(void **state)
{
    bench *b = *state;
    CALL(b, "--apply-controls=best.acf", "-arch=sm_80", "kernel.ptx", "-o", "x");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "arch: the file is for 'sm_90a', this is 'sm_80'");
    WORDS(b, "-arch=sm_80", "kernel.ptx", "-o", "x");
    CALL(b, "--apply-controls=best.acf", "kernel.ptx", "-o", "x"); /* the compiler's default */
    expect_said(b, "arch: the file is for 'sm_90a', this is 'sm_80'");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "-maxrregcount=32", "kernel.ptx");
    expect_said(b, "base options: the file is for '', this is '--maxrregcount=32'");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "second.ptx");
    expect_said(b, "not applied: ");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "--unheard-of", "kernel.ptx", "-o", "x");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "--unheard-of");
    WORDS(b, "-arch=sm_90a", "--unheard-of", "kernel.ptx", "-o", "x");
}

static void strange_controls_are_not_applied(void **state)
{
    bench *b = *state;
    static const control_text list[] = {
        {"ptxas/shell", "1"},        {"ptxas/register-usage-level", "11"},
        {"ptx/order@k", "sideways"}, {"ptx/order@nobody", "late"},
        {"ptx/order@k.b77", "late"}, {"nvcc/register-usage-level", "10"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write_acf(b, "best.acf", NULL, &list[i], 1);
        expect_not_applied(b, list[i].name);
        expect_said(b, "best.acf:6:3: ");
    }
    /* Whole or not at all: one good control beside a bad one. */
    const control_text both[] = {level, {"ptx/order@k", "sideways"}};
    bench_write_acf(b, "best.acf", NULL, both, 2);
    expect_not_applied(b, "sideways");
}

static void numerics_need_permission(void **state)
{
    bench *b = *state;
    evocc_space *space = NULL;
    control_text control = {NULL, NULL};
    strbuf value = {0};
    assert_int_equal(space_builtin_load(&space, "ptxas", NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    for (size_t i = 0; i < space_count(space) && control.name == NULL; i++) {
        const space_control *c = space_get(space, i);
        if (c->numerics != SPACE_EXACT && c->parent == SPACE_ABSENT) {
            control.name = c->full_name;
            space_value_text(&value, c, c->default_index == 0 && c->size > 1 ? 1 : 0);
            control.value = strbuf_text(&value);
        }
    }
    if (control.name != NULL) {
        bench_write_acf(b, "best.acf", NULL, &control, 1);
        expect_not_applied(b, "--allow-numerics");
        unlink(b->log);
        TUNED_WITH(b, "--allow-numerics");
        expect(b, 0, "", "");
        assert_true(bench_told(b, "/proc/"));
    } else {
        print_message("no control of ptxas changes numerics\n");
    }
    strbuf_dispose(&value);
    space_free(space);
}

/* ---- Files -------------------------------------------------------------------------------------
 */

static void bad_files_are_errors(void **state)
{
    bench *b = *state;
    bench_write(b, "out.cubin", "old");
    char *path = bench_path(b, "best.acf");
    unlink(path);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: cannot read 'best.acf': No such file or directory\n");
    mkdir(path, 0755);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: 'best.acf' is not a regular file\n");
    rmdir(path);
    mkfifo(path, 0600);
    TUNED_PLAIN(b);
    expect(b, 1, "", "evocc ptxas: 'best.acf' is not a regular file\n");
    unlink(path);
    static const struct {
        const char *text, *message;
    } list[] = {
        {"evocc-acf: 2\n", "best.acf:1:12: format version 2; evocc "},
        {"evocc-acf: 1\nfor: {}\n", "best.acf:1:1: the key 'controls' is missing"},
        {"evocc-acf: 1\n\xff", "best.acf:2:1: byte 0xff"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bench_write(b, "best.acf", list[i].text);
        TUNED_PLAIN(b);
        assert_int_equal(b->result.exit_status, 1);
        expect_said(b, list[i].message);
    }
    bench_write_acf(b, "best.acf", NULL, &level, 1);
    char *text = bench_read(b, "best.acf");
    *strstr(text, "10") = '0';
    bench_write(b, "best.acf", text);
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "the digest does not fit");
    mem_free(text);
    mem_free(path);
    assert_int_equal(bench_calls(b), 0);
    expect_file(b, "out.cubin", "old");
}

static void other_files_are_handed_on(void **state)
{
    bench *b = *state;
    bench_write(b, "theirs",
                "\x7f"
                "ELF\x01\x02 anything");
    CALL(b, "--strict", "--apply-controls", "theirs", "-arch=sm_90a", "--on-mismatch=error",
         "kernel.ptx", "-o", "out.cubin", "--allow-numerics");
    expect(b, 0, "", "");
    WORDS(b, "--apply-controls", "theirs", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    CALL(b, "-apply-controls=theirs", "kernel.ptx", "--apply-controls=theirs");
    expect(b, 0, "", "");
    WORDS(b, "-apply-controls=theirs", "kernel.ptx", "--apply-controls=theirs");
    bench_write(b, "theirs", "");
    CALL(b, "kernel.ptx", "--apply-controls", "theirs");
    expect(b, 0, "", "");
    WORDS(b, "kernel.ptx", "--apply-controls", "theirs");
    b->mode = "no-controls";
    CALL(b, "kernel.ptx", "--apply-controls", "theirs");
    assert_int_equal(b->result.exit_status, 1);
    expect_said(b, "'theirs' is not a controls file of evocc");
    expect_said(b, "knows no --apply-controls of its own");
    /* Ours beside theirs. */
    b->mode = NULL;
    CALL(b, "kernel.ptx", "--apply-controls", "theirs", "--apply-controls", "best.acf");
    assert_int_equal(b->result.exit_status, 2);
}

/* ---- When the tuned compilation fails
 * ------------------------------------------------------------ */

static void failures_fall_back(void **state)
{
    bench *b = *state;
    static const struct {
        const char *mode, *reason;
    } list[] = {
        {"tuned:exit-3", "the compiler exited with status 3: fake error in kernel.ptx"},
        {"tuned:signal-11", "the compiler died of signal 11"},
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
    bench_write(b, "kernel.ptx", "// caf\xc3\xa9\n");
    TUNED_PLAIN(b);
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "kernel.ptx:1:7: ");
    WORDS(b, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin");
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "/dev/null", "-o", "out.cubin");
    assert_int_equal(b->result.exit_status, 0);
    expect_said(b, "'/dev/null' is not a regular file");
}

/* ---- The output --------------------------------------------------------------------------------
 */

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
    folder_remove(bench_path(b, ".cache"));
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
        pid_t compiler = hanging(b);
        assert_int_equal(kill(wrapper, signals[i]), 0);
        int status = 0;
        assert_int_equal(waitpid(wrapper, &status, 0), wrapper);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_true(is_gone(compiler));
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

/* ---- The log -----------------------------------------------------------------------------------
 */

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

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_arrive_byte_for_byte),
        TEST(ten_thousand_words_arrive),
        TEST(own_words_never_arrive),
        TEST(bad_words_of_ours_are_usage),
        TEST(questions_pass),
        TEST(the_end_of_the_compiler_is_ours),
        TEST(a_missing_compiler_is_named),
        TEST(controls_are_applied),
        TEST(outputs_are_found_in_every_form),
        TEST(every_mismatch_is_named),
        TEST(the_command_decides_too),
        TEST(strange_controls_are_not_applied),
        TEST(numerics_need_permission),
        TEST(bad_files_are_errors),
        TEST(other_files_are_handed_on),
        TEST(failures_fall_back),
        TEST(inputs_that_cannot_be_read_pass),
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
