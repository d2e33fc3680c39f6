/* runs.h: several short runs of a compiler, as many at a time as there are cores. */
#ifndef COMPILER_RUNS_H
#define COMPILER_RUNS_H

#include "compiler/compiler.h"

typedef struct runs_item {
    compiler_command command;
    process_result result;
} runs_item;

/* Runs every command and fills in its result. Nothing else may be in flight. A program that cannot
   be executed is a result; an error is the launcher's. */
evocc_status runs_execute(launcher *l, runs_item *items, size_t count, double deadline_s,
                          evocc_error *error);

void runs_dispose(runs_item *items, size_t count); /* the items' contents */

/* Whether it ran to its end with exit status 0. */
bool runs_succeeded(const process_result *result);

#endif
