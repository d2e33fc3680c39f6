#include "compiler/gcc_lines.h"

#include "util/error.h"
#include "util/text.h"

#include <inttypes.h>
#include <string.h>

enum { FIELD_COUNT = 11, LINE_CHOICES_MAX = 64 };

void gcc_line_put(strbuf *out, const gcc_line *c)
{
    strbuf_printf(out, "%s\t%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s\t%d\t%s\t%s\t%s\n",
                  c->name, (int)c->kind, c->low, c->high, c->step, c->choices, c->initial,
                  (int)c->numerics, c->group, c->option, c->help);
}

static bool split(char *fields[FIELD_COUNT], char *text)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        fields[i] = text;
        char *tab = strchr(text, '\t');
        if ((tab == NULL) != (i + 1 == FIELD_COUNT)) {
            return false;
        }
        if (tab != NULL) {
            *tab = '\0';
            text = tab + 1;
        }
    }
    return true;
}

/* Cuts "a|b" into words. */
static int32_t split_choices(const char **out, char *text)
{
    int32_t count = 0;
    while (*text != '\0' && count < LINE_CHOICES_MAX) {
        out[count++] = text;
        char *bar = strchr(text, '|');
        if (bar == NULL) {
            break;
        }
        *bar = '\0';
        text = bar + 1;
    }
    return count;
}

/* The share of sampled candidates that leave a control alone. Of hundreds few should differ, some
   ten in all: with 0.85 and 0.93 a search of 248 trials for the size of examples/programs/lz.c
   ended at 1552 bytes, with these at 1496. */
static double knockout_of(const char *name)
{
    return strcmp(name, "O") == 0 ? 0.5 : strncmp(name, "param.", 6) == 0 ? 0.99 : 0.97;
}

static int32_t index_of_choice(const space_control *control, const char *text)
{
    for (int32_t i = 0; i < control->size; i++) {
        if (strcmp(control->choices[i], text) == 0) {
            return i;
        }
    }
    return SPACE_ABSENT;
}

/* The value of this text; SPACE_ABSENT for "". */
static int32_t index_of(const space_control *control, const char *text)
{
    int64_t value = 0;
    if (control->kind == SPACE_CHOICE) {
        return index_of_choice(control, text);
    }
    if (control->kind == SPACE_BOOL && text[0] != '\0') {
        return text[0] == 't';
    }
    if (!text_integer(&value, text) || value < control->low || value > control->high) {
        return SPACE_ABSENT;
    }
    if (control->kind == SPACE_INT && control->step > 0) {
        return (int32_t)((value - control->low) / control->step);
    }
    int32_t index = 0;
    for (int64_t at = control->low; at < value; at *= 2) {
        index++;
    }
    return index;
}

static evocc_status add_line(evocc_space *space, char *text, evocc_error *error)
{
    char *fields[FIELD_COUNT];
    const char *choices[LINE_CHOICES_MAX];
    int64_t kind = 0;
    int64_t numerics = 0;
    space_control control = {.stage = SPACE_STAGE_GCC,
                             .source = "gcc --help",
                             .parent = SPACE_ABSENT,
                             .default_index = SPACE_ABSENT};
    if (!split(fields, text) || !text_integer(&kind, fields[1]) ||
        !text_integer(&control.low, fields[2]) || !text_integer(&control.high, fields[3]) ||
        !text_integer(&control.step, fields[4]) || control.step < 0 ||
        !text_integer(&numerics, fields[7])) {
        return error_set(error, EVOCC_DAMAGED, "a line of gcc's controls cannot be read");
    }
    control.name = fields[0];
    control.kind = (space_kind)kind;
    control.numerics = (space_numerics)numerics;
    control.group = fields[8][0] != '\0' ? fields[8] : NULL;
    control.option = fields[9];
    control.help = fields[10];
    control.knockout = knockout_of(fields[0]);
    if (control.kind == SPACE_CHOICE) {
        control.size = split_choices(choices, fields[5]);
        control.choices = choices;
    } else if (control.kind == SPACE_BOOL) {
        control.size = 2;
    }
    control.default_index = index_of(&control, fields[6]);
    return space_add(space, &control, error);
}

evocc_status gcc_lines_add(evocc_space *space, char *text, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK && *text != '\0') {
        char *end = strchr(text, '\n');
        if (end == NULL) {
            return error_set(error, EVOCC_DAMAGED, "gcc's controls end in the middle of a line");
        }
        *end = '\0';
        status = add_line(space, text, error);
        text = end + 1;
    }
    return status;
}
