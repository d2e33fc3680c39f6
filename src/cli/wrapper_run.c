#define _GNU_SOURCE /* memmem */
#include "cli/wrapper_parts.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/process.h"
#include "util/spawn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The compiler reads its input and writes its output through /proc/PID/fd of this process: nameless
   files in memory. No temporary folder has to exist or has room, nothing is left behind however we
   end, and no half-written output is ever seen under its name. */
enum { PATH_ROOM = 64 };
/* What a compiler prints is kept up to here; more of it is no compilation to stand in for. */
static const size_t OUTPUT_LIMIT_BYTES = (size_t)1 << 26;
/* Where ptxas writes when it is not told. */
static const char DEFAULT_OUTPUT[] = "elf.o";

typedef struct memory_file {
    int descriptor;
    char path[PATH_ROOM];
} memory_file;

static evocc_status memory_file_open(memory_file *out, const char *data, size_t length,
                                     evocc_error *error)
{
    int os_errno = spawn_input(&out->descriptor, data, length);
    if (os_errno != 0) {
        out->descriptor = -1;
        return error_set_os(error, EVOCC_IO, os_errno, "cannot make a file in memory");
    }
    snprintf(out->path, sizeof out->path, "/proc/%ld/fd/%d", (long)getpid(), out->descriptor);
    return EVOCC_OK;
}

static void memory_file_close(const memory_file *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
}

/* ---- The command ----------------------------------------------------------------------------- */

/* What follows the '=' of an option, or the word itself. */
static const char *value_of(const char *word)
{
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    return equals == NULL ? word : equals + 1;
}

/* The user's words with the two paths replaced, then the words for the controls. */
static evocc_status make_command(compiler_command *out, const wrapper_plan *plan, const char *real,
                                 const wrapper_words *words, const char *input, const char *output,
                                 evocc_error *error)
{
    const char *given = plan->invocation.output; /* one of the words, or the end of one */
    strbuf joined = {0};
    bool replaced = false;
    compiler_command_add(out, real);
    for (size_t i = 0; i < words->rest_count; i++) {
        const char *word = words->rest[i];
        if (i == plan->invocation.input_index) {
            word = input;
        } else if (given != NULL && given == value_of(word)) {
            strbuf_append(&joined, word, (size_t)(given - word));
            strbuf_puts(&joined, output);
            word = strbuf_text(&joined);
            replaced = true;
        }
        compiler_command_add(out, word);
    }
    if (given == NULL) {
        compiler_command_add(out, "-o");
        compiler_command_add(out, output);
        replaced = true;
    }
    for (size_t i = 0; i < plan->rendered.count; i++) {
        compiler_command_add(out, plan->rendered.argv[i]);
    }
    bool failed = out->failed || joined.failed;
    strbuf_dispose(&joined);
    if (failed) {
        return error_no_memory(error);
    }
    return replaced ? EVOCC_OK
                    : error_set(error, EVOCC_UNSUPPORTED, "the output '%s' is not among the words",
                                given);
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* Those that end a compiler when it runs bare. Handlers can reach nothing but globals. */
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { ENDING_COUNT = sizeof ending_signals / sizeof ending_signals[0] };
static volatile sig_atomic_t caught_signal;
static volatile sig_atomic_t wake_write_end;

static void on_signal(int number)
{
    int saved = errno;
    caught_signal = number;
    ssize_t written = write((int)wake_write_end, "", 1);
    (void)written;
    errno = saved;
}

/* A signal that was ignored before (nohup) stays ignored. */
static void catch_signals(struct sigaction old[ENDING_COUNT], int write_end)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    caught_signal = 0;
    wake_write_end = write_end;
    for (int i = 0; i < ENDING_COUNT; i++) {
        sigaction(ending_signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) {
            sigaction(ending_signals[i], &action, NULL);
        }
    }
}

/* Dies of the signal that was caught meanwhile, so that whoever waits for us sees what it would see
   of the compiler. */
static void release_signals(const struct sigaction old[ENDING_COUNT])
{
    for (int i = 0; i < ENDING_COUNT; i++) {
        sigaction(ending_signals[i], &old[i], NULL);
    }
    if (caught_signal != 0) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(caught_signal, &action, NULL);
        raise(caught_signal);
    }
}

/* ---- Running --------------------------------------------------------------------------------- */

static evocc_status run_command(process_result *result, const compiler_command *command,
                                int wake_fd, evocc_error *error)
{
    process_set *set = NULL;
    uint64_t id;
    const process_request request = {
        .argv = (const char *const *)command->argv,
        .output_limit = OUTPUT_LIMIT_BYTES,
    };
    evocc_status status = process_set_new(&set, error);
    if (status == EVOCC_OK) {
        process_set_bind(set);
        status = process_set_start(set, 0, &request, error);
    }
    if (status == EVOCC_OK) {
        status = process_set_wait(set, -1, wake_fd, &id, result, error);
    }
    if (status == EVOCC_INTERRUPTED) {
        process_set_cancel(set);
        status = process_set_wait(set, -1, -1, &id, result, error);
    }
    process_set_free(set);
    return status;
}

/* EVOCC_PROCESS with the first line that the compiler itself gave as a reason. */
static evocc_status judge(const process_result *result, const char *errors, evocc_error *error)
{
    if (result->end == PROCESS_EXITED && result->exit_status == 0) {
        return result->output_truncated || result->errors_truncated
                   ? error_set(error, EVOCC_PROCESS, "the compiler printed too much")
                   : EVOCC_OK;
    }
    if (result->end == PROCESS_SIGNALLED) {
        return error_set(error, EVOCC_PROCESS, "the compiler died of signal %d", result->signal);
    }
    int length = (int)strcspn(errors, "\n");
    if (result->end == PROCESS_EXITED) {
        return error_set(error, EVOCC_PROCESS, "the compiler exited with status %d: %.*s",
                         result->exit_status, length, errors);
    }
    return error_set(error, EVOCC_PROCESS, "%.*s", length, errors);
}

/* ---- Delivering ------------------------------------------------------------------------------ */

static evocc_status deliver(const memory_file *from, const char *path, evocc_error *error)
{
    struct stat status_of;
    if (fstat(from->descriptor, &status_of) != 0 || status_of.st_size == 0) {
        return error_set(error, EVOCC_PROCESS, "the compiler wrote no output");
    }
    char *data = NULL;
    size_t length = 0;
    evocc_status status = file_read(&data, &length, from->path, (size_t)status_of.st_size, error);
    if (status == EVOCC_OK) {
        status = file_replace(path, data, length, error);
    }
    mem_free(data);
    return status;
}

/* Appends what the compiler printed, with the user's name for the input in place of ours. */
static void put_renamed(strbuf *out, const char *text, size_t length, const char *ours,
                        const char *theirs)
{
    size_t ours_length = strlen(ours);
    const char *end = text + length;
    const char *hit;
    while ((hit = memmem(text, (size_t)(end - text), ours, ours_length)) != NULL) {
        /* Every text of a result ends in a NUL, so that one more character can be looked at. */
        bool whole = !isdigit((unsigned char)hit[ours_length]);
        strbuf_append(out, text, (size_t)(hit - text));
        strbuf_puts(out, whole ? theirs : ours);
        text = hit + ours_length;
    }
    strbuf_append(out, text, (size_t)(end - text));
}

static void show(FILE *to, const strbuf *text)
{
    fwrite(strbuf_text(text), 1, text->length, to);
    fflush(to);
}

static evocc_status run(const wrapper_plan *plan, const compiler_command *command,
                        const memory_file *input, const memory_file *output, int wake_fd,
                        evocc_error *error)
{
    process_result result = {0};
    strbuf said = {0};
    strbuf errors = {0};
    const char *path = plan->invocation.output;
    const char *name = plan->invocation.input;
    evocc_status status = run_command(&result, command, wake_fd, error);
    if (status == EVOCC_OK) {
        put_renamed(&said, result.output, result.output_length, input->path, name);
        put_renamed(&errors, result.errors, result.errors_length, input->path, name);
        status = said.failed || errors.failed ? error_no_memory(error)
                                              : judge(&result, strbuf_text(&errors), error);
    }
    if (status == EVOCC_OK) {
        status = deliver(output, path == NULL ? DEFAULT_OUTPUT : path, error);
    }
    if (status == EVOCC_OK) {
        show(stdout, &said);
        show(stderr, &errors);
    }
    strbuf_dispose(&said);
    strbuf_dispose(&errors);
    process_result_dispose(&result);
    return status;
}

evocc_status wrapper_run(const wrapper_plan *plan, const char *real, const wrapper_words *words,
                         evocc_error *error)
{
    memory_file input = {.descriptor = -1};
    memory_file output = {.descriptor = -1};
    compiler_command command = {0};
    int wake[2] = {-1, -1};
    evocc_status status = memory_file_open(&input, plan->ptx.data, plan->ptx.length, error);
    if (status == EVOCC_OK) {
        status = memory_file_open(&output, "", 0, error);
    }
    if (status == EVOCC_OK) {
        status = make_command(&command, plan, real, words, input.path, output.path, error);
    }
    int os_errno = status == EVOCC_OK ? spawn_pipe(wake) : 0;
    if (os_errno != 0) {
        status = error_set_os(error, EVOCC_IO, os_errno, "cannot make a pipe");
    }
    if (status == EVOCC_OK) {
        struct sigaction old[ENDING_COUNT];
        catch_signals(old, wake[1]);
        status = run(plan, &command, &input, &output, wake[0], error);
        release_signals(old);
        close(wake[0]);
        close(wake[1]);
    }
    compiler_command_dispose(&command);
    memory_file_close(&input);
    memory_file_close(&output);
    return status;
}

evocc_status wrapper_run_whole(const compiler_command *command, evocc_error *error)
{
    int wake[2] = {-1, -1};
    struct sigaction old[ENDING_COUNT];
    process_result result = {0};
    int os_errno = spawn_pipe(wake);
    if (os_errno != 0) {
        return error_set_os(error, EVOCC_IO, os_errno, "cannot make a pipe");
    }
    catch_signals(old, wake[1]);
    evocc_status status = run_command(&result, command, wake[0], error);
    release_signals(old);
    close(wake[0]);
    close(wake[1]);
    if (status == EVOCC_OK) {
        status = judge(&result, result.errors != NULL ? result.errors : "", error);
    }
    if (status == EVOCC_OK) {
        fwrite(result.output, 1, result.output_length, stdout);
        fwrite(result.errors, 1, result.errors_length, stderr);
        fflush(stdout);
    }
    process_result_dispose(&result);
    return status;
}
