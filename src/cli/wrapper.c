#include "cli/wrapper.h"

#include "cli/wrapper_parts.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the commands have them; wrappers also exit as their compiler does. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One call of the wrapper. */
typedef struct call {
    const char *name; /* "ptxas" */
    char *real;       /* path of the compiler */
    wrapper_words words;
} call;

static void say(const call *c, const char *format, ...) EVOCC_PRINTF(2, 3);
static void say(const call *c, const char *format, ...)
{
    char message[2 * EVOCC_ERROR_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* One call, one write: lines of builds that run side by side stay whole. */
    fprintf(stderr, "evocc %s: %s\n", c->name, message);
}

/* Becomes the compiler. Returns only when that fails. */
static int become(const call *c, char **words, size_t count)
{
    char **argv = mem_alloc(count + 2, sizeof *argv);
    if (argv == NULL) {
        say(c, "out of memory");
        return EXIT_FAILED;
    }
    argv[0] = c->real;
    memcpy(argv + 1, words, count * sizeof *argv);
    execv(c->real, argv);
    say(c, "cannot execute '%s': %s", c->real, strerror(errno));
    mem_free(argv);
    return EXIT_FAILED;
}

static int become_original(const call *c)
{
    return become(c, c->words.rest, c->words.rest_count);
}

/* ---- Files that are not ours ----------------------------------------------------------------- */

/* Looks at the few bytes that tell our files from others, and at nothing else of theirs. */
static evocc_status is_ours(bool *out, const char *path, evocc_error *error)
{
    char head[ACF_MAGIC_LENGTH];
    struct stat status_of;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0 || fstat(descriptor, &status_of) != 0) {
        evocc_status status = error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", path);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return status;
    }
    ssize_t count = S_ISREG(status_of.st_mode) ? pread(descriptor, head, sizeof head, 0) : -1;
    close(descriptor);
    *out = count > 0 && acf_is_ours(head, (size_t)count);
    return count >= 0
               ? EVOCC_OK
               : error_set(error, EVOCC_INVALID_ARGUMENT, "'%s' is not a regular file", path);
}

/* Compilers that know an --apply-controls of their own accept it beside --version; the others
   refuse the word, whatever stands beside it. */
static bool knows_controls(const call *c)
{
    const char *const argv[] = {c->real, "--apply-controls", "/dev/null", "--version", NULL};
    const process_request request = {.argv = argv, .deadline_s = 30};
    process_result result = {0};
    bool knows = process_run(&result, &request, NULL) == EVOCC_OK && result.end == PROCESS_EXITED &&
                 result.exit_status == 0;
    process_result_dispose(&result);
    return knows;
}

static int hand_on(const call *c)
{
    if (!knows_controls(c)) {
        say(c,
            "'%s' is not a controls file of evocc (those begin with '" ACF_MAGIC
            "'), and '%s' knows no --apply-controls of its own to hand it to",
            c->words.files[0], c->real);
        return EXIT_FAILED;
    }
    return become(c, c->words.handed, c->words.handed_count);
}

/* ---- Files that are ours --------------------------------------------------------------------- */

/* The controls were not applied: one notice and the original command, or an error. */
static int without_controls(const call *c, const char *event, const char *input, bool is_error,
                            const evocc_error *why)
{
    const char *path = c->words.files[0];
    wrapper_log(is_error ? "failed" : event, path, input, why->message);
    say(c, "%s not applied: %s%s", path, why->message, is_error ? "" : "; compiled without it");
    return is_error ? EXIT_FAILED : become_original(c);
}

/* The compiler at hand: under the name cc it is the one that the file is for, or no match. */
static const compiler *compiler_of(const call *c, const acf *file)
{
    return compiler_by_name(strcmp(c->name, "cc") == 0 ? file->target.compiler : c->name);
}

/* gcc and clang. Commands that make no machine code (a version, preprocessing, a link) have nothing
   to apply, which is worth no notice. */
static int compile_on_host(const call *c, const compiler *which, const acf *file)
{
    evocc_error error = {0};
    compiler_command command = {0};
    compiler_invocation invocation = {0};
    const char *path = c->words.files[0];
    int exit_status = EXIT_DONE;
    evocc_status status =
        wrapper_host_command(&command, &invocation, which, c->real, &c->words, file, &error);
    if (status != EVOCC_OK) {
        exit_status = !invocation.understood && status == EVOCC_UNSUPPORTED
                          ? become_original(c)
                          : without_controls(c, "skipped", invocation.input,
                                             c->words.strict || c->words.error_on_mismatch, &error);
        goto cleanup;
    }
    if (wrapper_run_whole(&command, &error) != EVOCC_OK) {
        exit_status = without_controls(c, "fell-back", invocation.input, c->words.strict, &error);
        goto cleanup;
    }
    wrapper_log("applied", path, invocation.input, "");

cleanup:
    compiler_command_dispose(&command);
    compiler_invocation_dispose(&invocation);
    return exit_status;
}

static int compile_with(const call *c, const acf *file)
{
    evocc_error error = {0};
    wrapper_plan plan = {0};
    const wrapper_words *words = &c->words;
    const compiler *which = compiler_of(c, file);
    if (which != NULL && (which->stage == SPACE_STAGE_GCC || which->stage == SPACE_STAGE_CLANG)) {
        return compile_on_host(c, which, file);
    }
    evocc_status status = which == NULL
                              ? error_set(&error, EVOCC_UNSUPPORTED,
                                          "this evocc does not apply controls to %s", c->name)
                              : wrapper_plan_make(&plan, which, c->real, words, file, &error);
    const char *input = plan.invocation.input; /* points into argv */
    if (status != EVOCC_OK) {
        wrapper_plan_dispose(&plan);
        return without_controls(c, "skipped", input, words->strict || words->error_on_mismatch,
                                &error);
    }
    status = wrapper_run(&plan, c->real, words, &error);
    wrapper_plan_dispose(&plan);
    if (status != EVOCC_OK) {
        return without_controls(c, "fell-back", input, words->strict, &error);
    }
    wrapper_log("applied", words->files[0], input, "");
    return EXIT_DONE;
}

/* A file that was named and cannot be read is an error, not a mismatch: nothing is compiled. */
static int refuse_file(const call *c, const char *path, const evocc_error *why)
{
    wrapper_log("failed", path, NULL, why->message);
    say(c, "%s", why->message);
    return EXIT_FAILED;
}

static int apply_file(const call *c)
{
    const char *path = c->words.files[0];
    evocc_error error = {0};
    char *text = NULL;
    size_t length = 0;
    acf *file = NULL;
    evocc_status status = file_read(&text, &length, path, ACF_SIZE_LIMIT, &error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, text, length, path, &error);
    }
    mem_free(text);
    if (status != EVOCC_OK) {
        return refuse_file(c, path, &error);
    }
    int exit_status = compile_with(c, file);
    acf_free(file);
    return exit_status;
}

/* ---- The call -------------------------------------------------------------------------------- */

/* Every file named is looked at; ours must be alone. */
static int with_files(const call *c)
{
    const wrapper_words *words = &c->words;
    size_t ours = 0;
    for (size_t i = 0; i < words->file_count; i++) {
        evocc_error error = {0};
        bool is_one = false;
        if (is_ours(&is_one, words->files[i], &error) != EVOCC_OK) {
            return refuse_file(c, words->files[i], &error);
        }
        ours += is_one;
    }
    if (ours == 0) {
        return hand_on(c);
    }
    if (words->file_count > 1) {
        say(c, "one controls file at a time: both '%s' and '%s' were given", words->files[0],
            words->files[1]);
        return EXIT_USAGE;
    }
    return apply_file(c);
}

static int run_call(const call *c)
{
    if (wrapper_words_only_ask(&c->words)) {
        return become_original(c);
    }
    if (c->words.file_count > 0) {
        return with_files(c);
    }
    /* A store of installed files is looked up here, and nowhere else: what it finds goes the way of
       apply_file, with notices to the log alone. */
    return become_original(c);
}

int wrapper_main(const char *compiler_name, int argc, char **argv)
{
    call c = {.name = compiler_name};
    evocc_error error = {0};
    int exit_status = EXIT_USAGE;
    if (wrapper_words_read(&c.words, argc, argv, &error) != EVOCC_OK) {
        say(&c, "%s", error.message);
        return EXIT_USAGE;
    }
    if (compiler_find(&c.real, compiler_name, NULL, &error) != EVOCC_OK) {
        say(&c, "%s", error.message);
        exit_status = EXIT_FAILED;
    } else {
        exit_status = run_call(&c);
    }
    wrapper_words_dispose(&c.words);
    mem_free(c.real);
    return exit_status;
}
