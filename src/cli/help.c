#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 28 };

/* Words of `text`, folded to the width, from `column` on; the cursor stands at `column`. */
static void print_folded(const char *text, int column)
{
    int at = column;
    bool pending_space = false;
    while (*text != '\0') {
        int length = (int)strcspn(text, " \n");
        if (at + pending_space + length > WIDTH && at > column) {
            printf("\n%*s", column, "");
            at = column;
            pending_space = false;
        }
        printf("%s%.*s", pending_space ? " " : "", length, text);
        at += pending_space + length;
        pending_space = text[length] == ' ';
        text += length;
        if (*text == '\n') {
            printf("\n%*s", column, "");
            at = column;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void print_option(const cli_option *option)
{
    char head[64];
    char letter[8] = "    ";
    if (option->letter != 0) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    int used = snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name,
                        option->argument == NULL ? "" : " ",
                        option->argument == NULL ? "" : option->argument);
    printf("%-*s", OPTION_COLUMN, head);
    if (used >= OPTION_COLUMN) {
        printf("\n%*s", OPTION_COLUMN, "");
    }
    print_folded(option->help, OPTION_COLUMN);
}

static void print_overview(void)
{
    size_t count;
    const cli_command *const *commands = cli_commands(&count);
    printf("evocc %s: evolutionary auto-tuner for GPU compilers\n\nCommands\n", evocc_version());
    for (size_t i = 0; i < count; i++) {
        printf("  evocc %-10s", commands[i]->name);
        print_folded(commands[i]->summary, 18);
    }
    printf("  evocc %-10s", "ptxas");
    print_folded("stand in for ptxas in a build; --apply-controls FILE (evocc help ptxas)", 18);
    printf("\nevocc COMMAND --help    options and examples\n"
           "evocc --version         the version\n"
           "evocc --man             the manual page (roff)\n"
           "evocc --completions bash|zsh|fish\n");
}

void cli_print_wrapper_help(void)
{
    fputs("evocc ptxas: stands in for ptxas in a build\n\n"
          "  evocc ptxas [--apply-controls FILE] PTXAS WORDS...\n\n"
          "Every word that is not listed here reaches the real ptxas untouched, --help too. The\n"
          "controls of FILE are applied whole or not at all; when they do not fit, or the tuned\n"
          "compilation fails, the original command runs and one notice says why.\n\n"
          "Options\n"
          "  --apply-controls FILE     the ACF to apply\n"
          "  --on-mismatch skip|error  what to do when it is for another kernel, target,\n"
          "                            compiler or set of options; default skip\n"
          "  --strict                  every notice is an error\n"
          "  --allow-numerics          apply controls that may change rounding, too\n\n"
          "Examples\n"
          "  evocc ptxas --apply-controls best.acf -arch=sm_90a kernel.ptx -o kernel.cubin\n"
          "  ln -s $(which evocc) bin/ptxas    a build that runs bin/ptxas\n",
          stdout);
}

void cli_print_help(const cli_command *command)
{
    if (command == NULL) {
        print_overview();
        return;
    }
    printf("evocc %s: %s\n\n  evocc %s [OPTIONS]%s%s\n\n", command->name, command->summary,
           command->name, *command->operands == '\0' ? "" : " ", command->operands);
    print_folded(command->text, 0);
    printf("\nOptions\n");
    for (size_t i = 0; i < command->option_count; i++) {
        print_option(&command->options[i]);
    }
    printf("  -h, --help%*sthis text\n", OPTION_COLUMN - 12, "");
    printf("\nExamples\n%s", command->examples);
}

/* roff: a leading dot or quote and every backslash and hyphen need care. */
static void print_roff(const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", stdout);
        }
        if (*text == '\\' || *text == '-') {
            putchar('\\');
        }
        putchar(*text);
        line_start = *text == '\n';
    }
}

static void print_manual_command(const cli_command *command)
{
    printf(".SS evocc %s [options] ", command->name);
    print_roff(command->operands);
    printf("\n");
    print_roff(command->text);
    printf("\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        printf(".TP\n.B ");
        if (option->letter != 0) {
            printf("\\-%c, ", option->letter);
        }
        printf("\\-\\-");
        print_roff(option->name);
        printf(" %s\n", option->argument == NULL ? "" : option->argument);
        print_roff(option->help);
        printf("\n");
    }
    printf(".PP\nExamples:\n.nf\n");
    print_roff(command->examples);
    printf(".fi\n");
}

void cli_print_manual(void)
{
    size_t count;
    const cli_command *const *commands = cli_commands(&count);
    printf(".TH EVOCC 1 \"\" \"evocc %s\" \"User Commands\"\n"
           ".SH NAME\nevocc \\- evolutionary auto\\-tuner for GPU compilers\n"
           ".SH SYNOPSIS\n.B evocc\n.I command\n[options] [operands]\n.SH COMMANDS\n",
           evocc_version());
    for (size_t i = 0; i < count; i++) {
        print_manual_command(commands[i]);
    }
    printf(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 interrupted. A compiler wrapper "
           "exits as the compiler does.\n");
}

static void print_words(const cli_command *command)
{
    for (size_t i = 0; i < command->option_count; i++) {
        printf(" --%s", command->options[i].name);
    }
    printf(" --help");
}

static void complete_bash(const cli_command *const *commands, size_t count)
{
    printf("_evocc() {\n    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then words=\"");
    for (size_t i = 0; i < count; i++) {
        printf("%s ", commands[i]->name);
    }
    printf("ptxas --help --version\"\n    else case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < count; i++) {
        printf("        %s) words=\"", commands[i]->name);
        print_words(commands[i]);
        printf("\" ;;\n");
    }
    printf("        esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
           "complete -o default -F _evocc evocc\n");
}

static void complete_zsh(const cli_command *const *commands, size_t count)
{
    printf("#compdef evocc\nif (( CURRENT == 2 )); then compadd ");
    for (size_t i = 0; i < count; i++) {
        printf("%s ", commands[i]->name);
    }
    printf("ptxas; return; fi\ncase $words[2] in\n");
    for (size_t i = 0; i < count; i++) {
        printf("    %s) compadd --", commands[i]->name);
        print_words(commands[i]);
        printf(" ;;\n");
    }
    printf("esac\n_files\n");
}

static void complete_fish(const cli_command *const *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf("complete -c evocc -n __fish_use_subcommand -a %s -d '%s'\n", commands[i]->name,
               commands[i]->summary);
        for (size_t j = 0; j < commands[i]->option_count; j++) {
            printf("complete -c evocc -n '__fish_seen_subcommand_from %s' -l %s\n",
                   commands[i]->name, commands[i]->options[j].name);
        }
    }
}

int cli_print_completions(const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(const cli_command *const *commands, size_t count);
    } shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};
    size_t count;
    const cli_command *const *commands = cli_commands(&count);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print(commands, count);
            return CLI_DONE;
        }
    }
    fprintf(stderr, "evocc: completions are there for bash, zsh and fish, not for '%s'\n", shell);
    return CLI_USAGE;
}
