#include "compiler/gcc_help.h"

#include "util/text.h"

#include <stdio.h>
#include <string.h>

/* "1,65536" */
static bool read_bounds(gcc_row *row, const char *text, size_t length)
{
    char copy[64];
    const char *comma = memchr(text, ',', length);
    if (comma == NULL || length >= sizeof copy) {
        return false;
    }
    size_t first = (size_t)(comma - text);
    memcpy(copy, text, length);
    copy[first] = copy[length] = '\0';
    return text_integer(&row->low, copy) && text_integer(&row->high, copy + first + 1) &&
           row->low <= row->high;
}

/* What an option's word says of its values: "=<1,5>", "=[a|b]", "=<number>", "=". */
static bool read_domain(gcc_row *row, const char *text, size_t length)
{
    row->joined = length > 0;
    if (length < 3) {
        return true;
    }
    const char *inside = text + 2;
    size_t inside_length = length - 3;
    row->bounded = text[1] == '<' && read_bounds(row, inside, inside_length);
    if (text[1] == '[' && inside_length >= sizeof row->choices) {
        return false;
    }
    if (text[1] == '[') {
        memcpy(row->choices, inside, inside_length);
        row->choices[inside_length] = '\0';
    }
    return true;
}

/* "-fira-region=[one|all]" apart. */
static bool read_word(gcc_row *row, const char *word, size_t length)
{
    static const char param[] = "--param=";
    size_t skipped = strncmp(word, param, sizeof param - 1) == 0 ? sizeof param - 1 : 0;
    const char *equals = memchr(word + skipped, '=', length - skipped);
    size_t name = equals != NULL ? (size_t)(equals - word) : length;
    if (name >= sizeof row->name) {
        return false;
    }
    memcpy(row->name, word, name);
    row->name[name] = '\0';
    row->bounded = false;
    row->choices[0] = '\0';
    return read_domain(row, word + name, length - name);
}

/* Words wrapped at a hyphen go on without a blank. */
static void put_text(strbuf *out, const char *text, size_t length)
{
    text += strspn(text, " \t");
    if (out->length > 0 && out->data[out->length - 1] != '-') {
        strbuf_putc(out, ' ');
    }
    strbuf_append(out, text, length);
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    size_t length = line_length(line);
    return line + length + (line[length] == '\n');
}

static void put_line(strbuf *out, const char *line)
{
    size_t blanks = strspn(line, " \t");
    size_t length = line_length(line);
    while (length > blanks && line[length - 1] == ' ') {
        length--;
    }
    if (length > blanks) {
        put_text(out, line + blanks, length - blanks);
    }
}

/* "--param=evrp-mode=[legacy|ranger] Specifies ...": parameters say it again in their text. */
static void read_choices_of_text(gcc_row *row)
{
    const char *text = strbuf_text(&row->text);
    size_t name = strlen(row->name);
    if (!row->joined || strncmp(text, row->name, name) != 0 || text[name] != '=' ||
        text[name + 1] != '[') {
        return;
    }
    const char *inside = text + name + 2;
    size_t length = strcspn(inside, "]");
    if (inside[length] == ']' && length < sizeof row->choices) {
        memcpy(row->choices, inside, length);
        row->choices[length] = '\0';
    }
}

static bool is_entry(const char *line)
{
    return line[0] == ' ' && line[1] == ' ' && line[2] == '-';
}

bool gcc_help_next(gcc_row *row, const char **at)
{
    for (const char *line = *at; *line != '\0';) {
        const char *word = line + 2;
        const char *rest = next_line(line);
        if (!is_entry(line)) {
            line = rest;
            continue;
        }
        size_t length = strcspn(word, " \t\n");
        strbuf_clear(&row->text);
        put_line(&row->text, word + length);
        while (rest[0] == ' ' && rest[1] == ' ' && rest[2] == ' ') {
            put_line(&row->text, rest);
            rest = next_line(rest);
        }
        line = rest;
        if (read_word(row, word, length)) {
            read_choices_of_text(row);
            *at = rest;
            return true;
        }
    }
    *at = "";
    return false;
}
