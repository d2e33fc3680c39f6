#include "wrapper_support.h"

#include "ptx/ptx.h"
#include "util/files.h"
#include "util/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char bench_kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .f32 %f<6>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    ld.global.f32 %f1, [%rd2];\n    ld.global.f32 %f2, [%rd2+4];\n"
    "    add.f32 %f3, %f1, %f2;\n    mul.f32 %f4, %f1, %f2;\n    add.f32 %f5, %f3, %f4;\n"
    "    st.global.f32 [%rd2+8], %f5;\n    ret;\n}\n";

void bench_open(bench *b)
{
    evocc_error error = {0};
    *b = (bench){0};
    if (folder_temporary(&b->folder, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    b->log = bench_path(b, "fake.log");
    bench_write(b, "kernel.ptx", bench_kernel);
}

void bench_close(bench *b)
{
    process_result_dispose(&b->result);
    folder_remove(b->folder);
    mem_free(b->folder);
    mem_free(b->log);
    *b = (bench){0};
}

char *bench_path(const bench *b, const char *name)
{
    char *path = name[0] == '/' ? mem_strdup(name) : path_join(b->folder, name);
    assert_non_null(path);
    return path;
}

void bench_write(const bench *b, const char *name, const char *text)
{
    char *path = bench_path(b, name);
    evocc_error error = {0};
    if (file_write(path, text, strlen(text), &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    mem_free(path);
}

void bench_remove(const bench *b, const char *name)
{
    char *path = bench_path(b, name);
    if (unlink(path) != 0) {
        folder_remove(path);
    }
    mem_free(path);
}

char *bench_read(const bench *b, const char *name)
{
    char *path = bench_path(b, name);
    char *text = NULL;
    size_t length = 0;
    (void)file_read(&text, &length, path, 1 << 26, NULL);
    mem_free(path);
    return text;
}

void expect_file(const bench *b, const char *name, const char *text)
{
    char *there = bench_read(b, name);
    if (text == NULL) {
        assert_null(there);
    } else {
        assert_non_null(there);
        assert_string_equal(there, text);
    }
    mem_free(there);
}

/* ---- Calling --------------------------------------------------------------------------------- */

enum { VARIABLES = 10 };

typedef struct environment {
    strbuf texts[VARIABLES];
    const char *list[VARIABLES + 1];
    size_t count;
} environment;

static void set(environment *e, const char *name, const char *value)
{
    if (value != NULL) {
        strbuf_printf(&e->texts[e->count], "%s=%s", name, value);
        e->list[e->count] = strbuf_text(&e->texts[e->count]);
        e->count++;
    }
}

static void make_environment(environment *e, const bench *b)
{
    *e = (environment){0};
    set(e, "HOME", b->folder);
    set(e, "PATH", "/usr/bin:/bin");
    set(e, "EVOCC_REAL_PTXAS", b->ptxas == NULL ? FAKE_PTXAS : b->ptxas);
    set(e, "FAKE_LOG", b->log);
    set(e, "FAKE_MODE", b->mode);
    set(e, "TMPDIR", b->tmpdir);
    set(e, "XDG_STATE_HOME", b->state_home);
    set(e, "ASAN_OPTIONS", getenv("ASAN_OPTIONS"));
}

static void dispose_environment(environment *e)
{
    for (size_t i = 0; i < e->count; i++) {
        strbuf_dispose(&e->texts[i]);
    }
}

/* The program in front of the words. mem_free. */
static const char **with_program(const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    const char **argv = mem_alloc(count + 2, sizeof *argv);
    assert_non_null(argv);
    argv[0] = WRAPPER_TOOL;
    memcpy(argv + 1, words, (count + 1) * sizeof *argv);
    return argv;
}

void bench_call(bench *b, const char *const *words)
{
    environment e;
    evocc_error error = {0};
    make_environment(&e, b);
    const char **argv = with_program(words);
    const process_request request = {
        .argv = argv, .environment = e.list, .folder = b->folder, .deadline_s = 60};
    process_result_dispose(&b->result);
    if (process_run(&b->result, &request, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    mem_free(argv);
    dispose_environment(&e);
}

int bench_start(bench *b, const char *const *words)
{
    environment e;
    make_environment(&e, b);
    const char **argv = with_program(words);
    int pid = (int)fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        if (chdir(b->folder) == 0) {
            execve(argv[0], (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)e.list);
        }
        _exit(127);
    }
    mem_free(argv);
    dispose_environment(&e);
    assert_true(pid > 0);
    return pid;
}

void expect(const bench *b, int exit_status, const char *output, const char *errors)
{
    const process_result *r = &b->result;
    if (r->end != PROCESS_EXITED || r->exit_status != exit_status ||
        strcmp(r->output, output) != 0 || strcmp(r->errors, errors) != 0) {
        fail_msg(
            "end %d, exit %d instead of %d\nstdout: %s\nexpected: %s\nstderr: %s\nexpected: %s",
            (int)r->end, r->exit_status, exit_status, r->output, output, r->errors, errors);
    }
}

void expect_said(const bench *b, const char *part)
{
    if (strstr(b->result.errors, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, b->result.errors);
    }
}

/* One line of the log, "LENGTH:WORD", with WORD perhaps of several lines; the next line. */
static const char *take_word(strbuf *word, const char *line)
{
    char *text = NULL;
    size_t length = (size_t)strtoull(line, &text, 10);
    assert_int_equal(*text, ':');
    strbuf_clear(word);
    strbuf_append(word, text + 1, length);
    return text + 1 + length + 1;
}

static bool is_word(const char *wanted, const char *word)
{
    size_t length = strlen(wanted);
    if (length == 0 || wanted[length - 1] != '@') {
        return strcmp(wanted, word) == 0;
    }
    int end = 0;
    bool same = strlen(word) >= length && memcmp(wanted, word, length - 1) == 0;
    return same && sscanf(word + length - 1, "/proc/%*d/fd/%*d%n", &end) == 0 && end > 0 &&
           word[length - 1 + (size_t)end] == '\0';
}

void expect_words(const bench *b, const char *const *words)
{
    char *log = bench_read(b, "fake.log");
    assert_non_null(log);
    strbuf word = {0};
    const char *line = log;
    size_t matched = 0;
    bool same = true;
    while (*line != '\0') {
        if (*line == '.') { /* the end of a call: was it the last one? */
            line += 2;
            same = *line == '\0' ? same && words[matched] == NULL : true;
            matched = 0;
            continue;
        }
        line = take_word(&word, line);
        same = same && words[matched] != NULL && is_word(words[matched], strbuf_text(&word));
        matched += same;
    }
    if (!same) {
        fail_msg("the compiler was told\n%s", log);
    }
    strbuf_dispose(&word);
    mem_free(log);
    unlink(b->log);
}

size_t bench_calls(const bench *b)
{
    char *log = bench_read(b, "fake.log");
    size_t calls = 0;
    for (const char *at = log; at != NULL && *at != '\0'; at = strchr(at, '\n') + 1) {
        calls += at[0] == '.' && at[1] == '\n';
    }
    mem_free(log);
    return calls;
}

bool bench_told(const bench *b, const char *part)
{
    char *log = bench_read(b, "fake.log");
    bool told = log != NULL && strstr(log, part) != NULL;
    mem_free(log);
    return told;
}

/* ---- Controls files -------------------------------------------------------------------------- */

static void name_kernel(char name[PTX_NAME_SIZE], const bench *b)
{
    char *text = bench_read(b, "kernel.ptx");
    ptx_module *module = NULL;
    evocc_error error = {0};
    if (ptx_parse(&module, text, strlen(text), "kernel.ptx", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    ptx_normal_name(name, module);
    ptx_free(module);
    mem_free(text);
}

static const char *either(const char *override, const char *usual)
{
    return override != NULL ? override : usual;
}

void bench_write_acf(const bench *b, const char *name, const acf_target *overrides,
                     const control_text *texts, size_t count)
{
    static const acf_target none = {0};
    const acf_target *o = overrides == NULL ? &none : overrides;
    char ptx[PTX_NAME_SIZE];
    name_kernel(ptx, b);
    acf_control controls[8] = {0};
    for (size_t i = 0; i < count; i++) {
        controls[i].full_name = texts[i].name;
        controls[i].value = texts[i].value;
    }
    const acf file = {
        .target = {.compiler = "ptxas",
                   .version = either(o->version, "13.0.88"),
                   .arch = either(o->arch, "sm_90a"),
                   .kernel = either(o->kernel, "k"),
                   .base = o->base,
                   .base_count = o->base_count,
                   .ptx = either(o->ptx, ptx)},
        .controls = controls,
        .control_count = count,
    };
    strbuf text = {0};
    evocc_error error = {0};
    if (acf_write(&text, &file, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    bench_write(b, name, strbuf_text(&text));
    strbuf_dispose(&text);
}

/* ---- The usual bench
 * ------------------------------------------------------------------------------ */

const control_text level = {"ptxas/register-usage-level", "10"};

int bench_setup(void **state)
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

int bench_teardown(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

void expect_original(bench *b, const char *reason)
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
