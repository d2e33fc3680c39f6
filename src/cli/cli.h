/*
 * cli: commands from tables. Data on stdout, everything else on stderr; exit status 0 done, 1
 * failed, 2 usage, 130 interrupted. May use every room; owns the terminal, the signals and the
 * words a user reads.
 *
 * A command is a row of the table in commands.c. Its options are rows of a table of its own, from
 * which the parser, --help, the manual page and the completions are all made.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <evocc/evocc.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* Where an option's value goes in the command's own struct, and so what it may be. */
typedef enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_SIZE,   /* size_t, 0 allowed */
    CLI_COUNT,  /* size_t, at least 1 */
    CLI_NUMBER, /* double, above 0 */
    CLI_LIST    /* cli_list, one entry a use */
} cli_kind;

typedef struct cli_list {
    const char *items[16];
    size_t count;
} cli_list;

typedef struct cli_option {
    const char *name;     /* "pool-size" */
    char letter;          /* 'o'; 0: none */
    const char *argument; /* "N" in the help; NULL for CLI_FLAG */
    cli_kind kind;
    size_t offset;
    const char *help;
} cli_option;

/* The words that are not options. */
typedef struct cli_operands {
    char **items;
    size_t count;
    char **rest; /* what follows "--" */
    size_t rest_count;
} cli_operands;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "KERNEL.ptx [-- PTXAS OPTIONS]" */
    const char *summary;  /* one line */
    const char *text;     /* paragraphs for --help and the manual */
    const char *examples; /* lines as typed */
    const cli_option *options;
    size_t option_count;
    size_t operands_min, operands_max;
    size_t values_size; /* of the struct that the offsets refer to */
    int (*run)(const void *values, const cli_operands *operands);
} cli_command;

extern const cli_command cli_tune, cli_compile, cli_sample, cli_spaces, cli_show, cli_report,
    cli_doctor, cli_ptx, cli_run, cli_export, cli_studies, cli_diff, cli_explain, cli_minimize,
    cli_validate;

const cli_command *const *cli_commands(size_t *count);
const cli_command *cli_command_find(const char *name);

/* argv after the command's name. Sets *status and returns false when there is nothing to run:
   --help was asked for, or the words are wrong (the reason is then on stderr). `values` is zeroed
   space of values_size with the defaults in place; operands' arrays point into argv, which is
   reordered. */
bool cli_parse(int *status, void *values, cli_operands *operands, const cli_command *command,
               int argc, char **argv);

void cli_print_help(const cli_command *command); /* NULL: the overview */
void cli_print_wrapper_help(void);               /* of evocc ptxas, whose --help is ptxas's own */
void cli_print_manual(void);                     /* roff, all commands */
int cli_print_completions(const char *shell);    /* "bash", "zsh", "fish" */

/* "evocc COMMAND: MESSAGE" on stderr; returns the exit status that goes with the error. */
int cli_fail(const cli_command *command, const evocc_error *error);

/* Colours and moving lines: a terminal, NO_COLOR unset, TERM not dumb. */
bool cli_is_terminal(int descriptor);

/* A descriptor that becomes readable on SIGINT, SIGTERM or SIGHUP, for wake_fd; a second signal
   ends the process at once. Negative when it could not be made. */
int cli_catch_signals(void);

/* EVOCC_INVALID_ARGUMENT when -o names the very file that is read, under whatever name: the result
   would replace it. NULL: no -o. */
evocc_status cli_check_output(const char *output, const char *input, evocc_error *error);

/* Writes all of it to stdout. A full disk or a closed pipe is CLI_FAILED, said on stderr. */
int cli_print(const char *text, size_t length);

#endif
