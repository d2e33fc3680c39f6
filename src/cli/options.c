#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option *find_long(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].letter == letter) {
            return &command->options[i];
        }
    }
    return NULL;
}

/* Letters at the same place from the front; good enough to catch endings and slips. */
static size_t likeness(const char *a, const char *b)
{
    size_t same = 0;
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        same += *a == *b;
    }
    return same;
}

static void complain_unknown(const cli_command *command, const char *word)
{
    const char *name = word + strspn(word, "-");
    const char *nearest = NULL;
    size_t best = strlen(name) / 2;
    for (size_t i = 0; i < command->option_count; i++) {
        size_t score = likeness(command->options[i].name, name);
        if (score > best) {
            best = score;
            nearest = command->options[i].name;
        }
    }
    fprintf(stderr, "evocc %s: unknown option %s", command->name, word);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean --%s?", nearest);
    }
    fprintf(stderr, " (evocc %s --help lists them)\n", command->name);
}

static bool complain_value(const cli_command *command, const cli_option *option, const char *text,
                           const char *expected)
{
    fprintf(stderr, "evocc %s: --%s wants %s, not '%s'\n", command->name, option->name, expected,
            text);
    return false;
}

static bool set_integer(const cli_command *command, const cli_option *option, void *place,
                        const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > SIZE_MAX) {
        return complain_value(command, option, text, "a whole number");
    }
    if (option->kind == CLI_COUNT && value == 0) {
        return complain_value(command, option, text, "a whole number of at least 1");
    }
    *(size_t *)place = (size_t)value;
    return true;
}

static bool set_number(const cli_command *command, const cli_option *option, void *place,
                       const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value <= 0) {
        return complain_value(command, option, text, "a number above 0");
    }
    *(double *)place = value;
    return true;
}

static bool add_to_list(const cli_command *command, const cli_option *option, cli_list *list,
                        const char *text)
{
    if (list->count == sizeof list->items / sizeof list->items[0]) {
        fprintf(stderr, "evocc %s: --%s is given too often\n", command->name, option->name);
        return false;
    }
    list->items[list->count++] = text;
    return true;
}

static bool set_value(const cli_command *command, const cli_option *option, void *values,
                      const char *text)
{
    void *place = (char *)values + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)place = true;
        return true;
    case CLI_TEXT:
        *(const char **)place = text;
        return true;
    case CLI_SIZE:
    case CLI_COUNT:
        return set_integer(command, option, place, text);
    case CLI_NUMBER:
        return set_number(command, option, place, text);
    case CLI_LIST:
        return add_to_list(command, option, place, text);
    }
    return false;
}

/* The option that a word names, and the value that stands in the same word (NULL: none). */
static const cli_option *match(const cli_command *command, const char *word, const char **value)
{
    *value = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        return find_long(command, word + 2, length);
    }
    const cli_option *option = find_letter(command, word[1]);
    if (option != NULL && word[2] != '\0') {
        *value = word + 2 + (word[2] == '=');
    }
    return option;
}

static bool parse_option(void *values, const cli_command *command, int argc, char **argv, int *at)
{
    const char *value;
    const cli_option *option = match(command, argv[*at], &value);
    if (option == NULL) {
        complain_unknown(command, argv[*at]);
        return false;
    }
    if (option->kind == CLI_FLAG && value != NULL) {
        fprintf(stderr, "evocc %s: --%s takes no value\n", command->name, option->name);
        return false;
    }
    if (option->kind != CLI_FLAG && value == NULL) {
        if (*at + 1 >= argc) {
            fprintf(stderr, "evocc %s: --%s wants a value: --%s %s\n", command->name, option->name,
                    option->name, option->argument);
            return false;
        }
        value = argv[++*at];
    }
    return set_value(command, option, values, value);
}

static bool check_operands(const cli_command *command, const cli_operands *operands)
{
    if (operands->count < command->operands_min) {
        fprintf(stderr, "evocc %s: something is missing: evocc %s %s\n", command->name,
                command->name, command->operands);
        return false;
    }
    if (operands->count > command->operands_max) {
        fprintf(stderr, "evocc %s: too many words at '%s': evocc %s %s\n", command->name,
                operands->items[command->operands_max], command->name, command->operands);
        return false;
    }
    return true;
}

bool cli_parse(int *status, void *values, cli_operands *operands, const cli_command *command,
               int argc, char **argv)
{
    *status = CLI_USAGE;
    *operands = (cli_operands){.items = argv};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            operands->rest = argv + i + 1;
            operands->rest_count = (size_t)(argc - i - 1);
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help(command);
            *status = CLI_DONE;
            return false;
        }
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            operands->items[operands->count++] = argv[i];
        } else if (!parse_option(values, command, argc, argv, &i)) {
            return false;
        }
    }
    return check_operands(command, operands);
}
