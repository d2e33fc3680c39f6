/*
 * The evaluate room: what a candidate is worth.
 *
 *   evaluate.c         the metrics
 *   evaluate_static.c  what the compiler and the machine code tell; no GPU
 *   evaluate_kernel.c  machine code on a GPU: checked and measured
 *   evaluate_workload.c  both, one behind the other: the evaluation of a workload
 *   compile_outcome.c  whose fault the end of a compilation is
 *   finding.c          what became of one compilation
 *   canary.c           whether controls reach the compiler at all
 *   evaluate_program.c a program of the host, built and run; program.c reads its file
 *   objective.c        what a study makes small or large
 *
 * Kinds of evaluation are vtables (evaluator_class); a new kind is one file. May use util, space,
 * ptx, acf, compiler and gpu; knows nothing of searching, storing or showing.
 */
#include "evaluate/evaluate.h"

#include "util/mem.h"

#include <string.h>

static const evaluate_metric_info metrics[] = {
    [EVALUATE_REGISTERS] = {"registers", "", "registers a thread uses", false, false},
    [EVALUATE_SPILL_BYTES] = {"spill_bytes", "bytes",
                              "spilled registers, stores and loads, as ptxas -v counts them", false,
                              false},
    [EVALUATE_STACK_BYTES] = {"stack_bytes", "bytes",
                              "stack a thread needs, called functions included", false, false},
    [EVALUATE_CODE_BYTES] = {"code_bytes", "bytes", "machine code of the entry", false, false},
    [EVALUATE_SHARED_BYTES] = {"shared_bytes", "bytes", "shared memory a block uses, static part",
                               false, false},
    [EVALUATE_COMPILE_TIME] = {"compile_time", "s", "CPU seconds of a compilation from scratch",
                               false, true},
    [EVALUATE_RUNTIME] = {"runtime", "s",
                          "of a launch; of several shapes the weighted geometric mean", false,
                          true},
    [EVALUATE_ENERGY] = {"energy", "J", "of a launch, by the GPU's own counter", false, true},
    [EVALUATE_POWER] = {"power", "W", "while launches follow each other without a gap", false,
                        true},
    [EVALUATE_SCORE] = {"score", "", "the number that a program prints of itself", true, true},
};
_Static_assert(sizeof metrics / sizeof *metrics == EVALUATE_METRIC_COUNT,
               "every metric has its row");

const evaluate_metric_info *evaluate_metrics(size_t *count)
{
    *count = EVALUATE_METRIC_COUNT;
    return metrics;
}

const evaluate_metric_info *evaluate_metric_find(const char *name)
{
    size_t length = strcspn(name, "@");
    for (size_t i = 0; i < EVALUATE_METRIC_COUNT; i++) {
        bool same = strncmp(metrics[i].name, name, length) == 0 && metrics[i].name[length] == '\0';
        if (same && (name[length] == '\0' || i == EVALUATE_RUNTIME)) {
            return &metrics[i];
        }
    }
    return NULL;
}

void evaluate_result_dispose(evaluate_result *result)
{
    if (result != NULL) {
        mem_free(result->detail);
        mem_free(result->command);
        mem_free(result->code);
        mem_free(result->samples);
        *result = (evaluate_result){0};
    }
}
