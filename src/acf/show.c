#include "acf/acf.h"

#include "ptx/ptx.h"

#include <string.h>

enum { TEXT_WIDTH = 78 };

/* Words of a help text under a control, broken at the width of a terminal. */
static void put_wrapped(strbuf *out, const char *text, size_t indent)
{
    size_t column = 0;
    while (*text != '\0') {
        text += strspn(text, " \t\n");
        size_t length = strcspn(text, " \t\n");
        if (length == 0) {
            break;
        }
        if (column == 0 || column + 1 + length > TEXT_WIDTH) {
            strbuf_printf(out, "%s%*s", column == 0 ? "" : "\n", (int)indent, "");
            column = indent;
        } else {
            strbuf_putc(out, ' ');
            column++;
        }
        strbuf_append(out, text, length);
        column += length;
        text += length;
    }
    strbuf_puts(out, column == 0 ? "" : "\n");
}

static void put_target(strbuf *out, const acf_target *target)
{
    strbuf_printf(out, "For\n  compiler  %s %s\n  target    %s\n  kernel    %s\n  options  ",
                  target->compiler, target->version, target->arch, target->kernel);
    for (size_t i = 0; i < target->base_count; i++) {
        strbuf_putc(out, ' ');
        strbuf_shell_word(out, target->base[i]);
    }
    strbuf_puts(out, target->base_count == 0 ? " (none)\n" : "\n");
    if (target->ptx[0] != '\0') {
        strbuf_printf(out, "  code      %s\n", target->ptx);
    }
}

static void put_metric(strbuf *out, const acf_metric *metric, int width)
{
    strbuf_printf(out, "  %-*s  ", width, metric->name);
    strbuf_number(out, metric->baseline);
    strbuf_puts(out, " -> ");
    strbuf_number(out, metric->tuned);
    if (metric->baseline > 0) {
        strbuf_printf(out, "  (%+.2f %%)", 100 * (metric->tuned / metric->baseline - 1));
    }
    if (metric->pairs > 0) {
        strbuf_printf(out, "  speed-up %.4f, interval %.4f to %.4f, %lld pairs", metric->speedup,
                      metric->low, metric->high, (long long)metric->pairs);
    }
    strbuf_putc(out, '\n');
}

static void put_found(strbuf *out, const acf *file)
{
    size_t width = 0;
    for (size_t i = 0; i < file->metric_count; i++) {
        size_t length = strlen(file->metrics[i].name);
        width = length > width ? length : width;
    }
    if (file->metric_count > 0) {
        strbuf_puts(out, "\nGained\n");
    }
    for (size_t i = 0; i < file->metric_count; i++) {
        put_metric(out, &file->metrics[i], (int)width);
    }
    const char *extra = file->found_extra == NULL ? "" : file->found_extra;
    strbuf_puts(out, *extra == '\0' ? "" : "\nFound\n");
    while (*extra != '\0') {
        size_t length = strcspn(extra, "\n");
        strbuf_puts(out, "  ");
        strbuf_append(out, extra, length);
        strbuf_putc(out, '\n');
        extra += length + (extra[length] == '\n');
    }
}

static void put_default(strbuf *out, const space_control *known)
{
    strbuf_puts(out, "  (default ");
    if (known->default_index == SPACE_ABSENT) {
        strbuf_puts(out, "not given");
    } else {
        space_value_text(out, known, known->default_index);
    }
    strbuf_putc(out, ')');
}

/* The help of the control, or NULL; of several rewritings of a kind only the first has it. */
static const char *help_of(const acf_control *control, const space_control *known,
                           const char *previous_help)
{
    if (known != NULL) {
        return known->help;
    }
    ptx_kind kind;
    if (strncmp(control->full_name, "ptx/", 4) != 0 ||
        !ptx_kind_of(&kind, control->full_name + 4)) {
        return NULL;
    }
    return kind.help == previous_help ? "" : kind.help;
}

static const char *put_control(strbuf *out, const acf_control *control, const evocc_space *space,
                               const char *previous_help)
{
    size_t index = space == NULL ? (size_t)-1 : space_find(space, control->full_name);
    const space_control *known = index == (size_t)-1 ? NULL : space_get(space, index);
    const char *help = help_of(control, known, previous_help);
    strbuf_printf(out, "  %s = %s", control->full_name, control->value);
    if (known != NULL) {
        put_default(out, known);
        strbuf_puts(out, known->numerics == SPACE_EXACT ? "" : "  may change results");
    } else if (help == NULL && space != NULL) {
        strbuf_puts(out, "  (not known here)");
    }
    strbuf_putc(out, '\n');
    if (help != NULL && *help != '\0') {
        put_wrapped(out, help, 6);
        return help;
    }
    return previous_help;
}

void acf_show(strbuf *out, const acf *file, const evocc_space *space)
{
    put_target(out, &file->target);
    put_found(out, file);
    strbuf_printf(out, "\nControls (%zu)\n", file->control_count);
    const char *help = NULL;
    for (size_t i = 0; i < file->control_count; i++) {
        help = put_control(out, &file->controls[i], space, help);
    }
}
