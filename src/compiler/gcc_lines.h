/*
 * gcc_lines.h: gcc's controls as text, one a line, as the cache keeps them:
 *
 * NAME KIND LOW HIGH STEP CHOICES DEFAULT NUMERICS GROUP OPTION HELP, with tabs between. CHOICES is
 * "a|b", DEFAULT the value's text, or "" where the default has no value of its own.
 */
#ifndef COMPILER_GCC_LINES_H
#define COMPILER_GCC_LINES_H

#include "compiler/compiler.h"

typedef struct gcc_line {
    const char *name, *option, *help, *choices, *initial, *group; /* none NULL */
    space_kind kind;
    int64_t low, high, step;
    space_numerics numerics;
} gcc_line;

void gcc_line_put(strbuf *out, const gcc_line *c);

/* Adds the controls of all lines; cuts `text` apart. EVOCC_DAMAGED when a line is none. */
evocc_status gcc_lines_add(evocc_space *space, char *text, evocc_error *error);

#endif
