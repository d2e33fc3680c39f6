/*
 * arithmetic.h: the number that an expression gives, in the language of constraints (space.h): for
 * sizes and launch dimensions that depend on shapes and parameters.
 */
#ifndef SPACE_ARITHMETIC_H
#define SPACE_ARITHMETIC_H

#include <evocc/evocc.h>

typedef struct arithmetic_name {
    const char *name;
    double value; /* whole numbers are integers to the expression: 7 // 2 is 3 */
} arithmetic_name;

/* EVOCC_PARSE: the text is no expression, or names something else than `names`;
   EVOCC_INVALID_ARGUMENT: it gives no finite number (a division by zero, true). The message names
   neither the text nor its place beyond "line 1, column 4: ": the caller knows them. */
evocc_status arithmetic_value(double *out, const char *text, const arithmetic_name *names,
                              size_t count, evocc_error *error);

#endif
