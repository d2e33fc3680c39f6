/*
 * probe.h: which controls the compiler at hand rejects. It decides, not its documentation: a small
 * input is compiled with the options of the space. Batch v of the first round holds the v-th value
 * of every control, so that a compiler that knows them all is done after a handful of runs; a batch
 * that fails is halved until the culprits stand alone.
 */
#ifndef COMPILER_PROBE_H
#define COMPILER_PROBE_H

#include "compiler/compiler.h"

typedef struct probe_plan {
    const evocc_space *space; /* need not be finished */
    void *context;
    /* Whether a control is worth a question; the others stay unrejected. */
    bool (*asks)(void *context, const space_control *control);
    /* The whole command but for the options: before them, and after them. `number` tells runs apart
       that go on at the same time, for the names of their outputs. */
    void (*begin)(void *context, compiler_command *command);
    void (*render)(compiler_command *command, const space_control *control, int32_t index);
    void (*end)(void *context, compiler_command *command, size_t number);
} probe_plan;

/* Marks what is rejected; `rejected` has an entry a control. EVOCC_UNSUPPORTED when the input does
   not compile without any option, with the compiler's own words. */
evocc_status probe_rejected(bool *rejected, const probe_plan *plan, launcher *l,
                            evocc_error *error);

#endif
