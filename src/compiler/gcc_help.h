/* gcc_help.h: the options that `gcc --help=CLASS` lists, with and without -Q. */
#ifndef COMPILER_GCC_HELP_H
#define COMPILER_GCC_HELP_H

#include "util/strbuf.h"

enum { GCC_NAME_SIZE = 96, GCC_VALUES_SIZE = 160 };

/*
 * One entry of a list, such as
 *     -fira-region=[one|all|mixed] Set regions for IRA.
 *     --param=align-threshold=<1,65536> Select fraction of the maximal frequency of
 *                                 executions of basic block in function ...
 *     -fipa-cp                    [enabled]                                          (with -Q)
 */
typedef struct gcc_row {
    char name[GCC_NAME_SIZE]; /* "-fira-region", "--param=align-threshold" */
    bool joined;              /* a value follows '=' */
    bool bounded;             /* between low and high */
    int64_t low, high;
    char choices[GCC_VALUES_SIZE]; /* "one|all|mixed"; "" when none are listed */
    strbuf text;                   /* of help, on one line; with -Q: the value */
} gcc_row;

/* Reads the next entry and moves *at behind it; false at the end. `row` is zero-initialised before
   the first call and its text disposed of after the last. Names and lists too long for their place
   are skipped. */
bool gcc_help_next(gcc_row *row, const char **at);

#endif
