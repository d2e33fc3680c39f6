#include "cli/cli.h"
#include "cli/wrapper.h"

#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_tune,     &cli_show,   &cli_diff,    &cli_explain, &cli_minimize,
    &cli_validate, &cli_report, &cli_export,  &cli_studies, &cli_spaces,
    &cli_run,      &cli_sample, &cli_compile, &cli_ptx,     &cli_doctor,
};

/* Names under which evocc stands in for a compiler: as a first word or as the program's own name.
 */
static const char *const wrapped[] = {"ptxas", "gcc", "clang", "cc"};

const cli_command *const *cli_commands(size_t *count)
{
    *count = sizeof commands / sizeof commands[0];
    return commands;
}

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

int cli_fail(const cli_command *command, const evocc_error *error)
{
    fprintf(stderr, "evocc %s: %s\n", command->name, error->message);
    switch ((int)error->status) {
    case EVOCC_INTERRUPTED:
        return CLI_INTERRUPTED;
    case EVOCC_INVALID_ARGUMENT:
        return CLI_USAGE;
    default:
        return CLI_FAILED;
    }
}

bool cli_is_terminal(int descriptor)
{
    const char *terminal = getenv("TERM");
    const char *plain = getenv("NO_COLOR");
    return isatty(descriptor) == 1 && (plain == NULL || *plain == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

int cli_print(const char *text, size_t length)
{
    if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0) {
        fprintf(stderr, "evocc: cannot write to standard output: %s\n", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_DONE;
}

/* The write end of the pipe that cli_catch_signals made; written by the handler only. */
static volatile sig_atomic_t wake_descriptor = -1;

static void on_signal(int number)
{
    int saved = errno;
    signal(number, SIG_DFL); /* a second one ends the process */
    char byte = (char)number;
    ssize_t written = write(wake_descriptor, &byte, 1);
    (void)written;
    errno = saved;
}

int cli_catch_signals(void)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    wake_descriptor = ends[1];
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
    }
    return ends[0];
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    void *values = mem_alloc(1, command->values_size);
    if (values == NULL) {
        fprintf(stderr, "evocc: out of memory\n");
        return CLI_FAILED;
    }
    int status;
    cli_operands operands;
    if (cli_parse(&status, values, &operands, command, argc, argv)) {
        status = command->run(values, &operands);
    }
    mem_free(values);
    return status;
}

static const char *wrapped_name(const char *word)
{
    for (size_t i = 0; i < sizeof wrapped / sizeof wrapped[0]; i++) {
        if (strcmp(wrapped[i], word) == 0) {
            return wrapped[i];
        }
    }
    return NULL;
}

static int run_word(int argc, char **argv)
{
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("evocc %s\n", evocc_version());
        return CLI_DONE;
    }
    if (strcmp(word, "--man") == 0) {
        cli_print_manual();
        return CLI_DONE;
    }
    if (strcmp(word, "--completions") == 0) {
        return cli_print_completions(argc > 2 ? argv[2] : "");
    }
    const cli_command *command = cli_command_find(word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        if (argc > 2 && wrapped_name(argv[2]) != NULL) {
            cli_print_wrapper_help();
        } else {
            cli_print_help(argc > 2 ? cli_command_find(argv[2]) : NULL);
        }
        return CLI_DONE;
    }
    if (command != NULL) {
        return run_command(command, argc - 2, argv + 2);
    }
    fprintf(stderr, "evocc: there is no command '%s'; evocc --help lists them\n", word);
    return CLI_USAGE;
}

static int run_words(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_help(NULL);
        return CLI_USAGE;
    }
    const char *name = wrapped_name(argv[1]);
    return name != NULL ? wrapper_main(name, argc - 2, argv + 2) : run_word(argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? wrapped_name(path_base(argv[0])) : NULL;
    int status = name != NULL ? wrapper_main(name, argc - 1, argv + 1) : run_words(argc, argv);
    /* Help and the like are printed without looking back; cli_print has said so itself. */
    if (status == CLI_DONE && (ferror(stdout) != 0 || fflush(stdout) != 0)) {
        fprintf(stderr, "evocc: cannot write to standard output: %s\n", strerror(errno));
        status = CLI_FAILED;
    }
    return status;
}
