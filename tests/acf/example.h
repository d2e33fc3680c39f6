/* example.h: one ACF in memory and as it is written. The digest comes from sha256sum over the lines
   that docs/acf.md describes, not from the code under test. */
#ifndef TEST_ACF_EXAMPLE_H
#define TEST_ACF_EXAMPLE_H

#include "acf/acf.h"

#define EXAMPLE_PTX "evocc-ptx-1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define EXAMPLE_DIGEST "sha256:9146936e289a5b9f29f1d15e2254d6c643198f1d98711bdb8c215542c6964acb"

#define EXAMPLE_HEAD                                                           \
    "evocc-acf: 1\n"                                                           \
    "for: {compiler: ptxas, version: \"13.0.88\", arch: sm_90a, kernel: fa,\n" \
    "      base: [\"--maxrregcount=128\", \"-O3\"],\n"                         \
    "      ptx: \"" EXAMPLE_PTX "\"}\n"

#define EXAMPLE_CONTROLS         \
    "controls:\n"                \
    "  ptx/frequency@fa.b4: 8\n" \
    "  ptx/order@fa.b4: late\n"  \
    "  ptxas/register-usage-level: 7\n"

#define EXAMPLE_FOUND                                                                         \
    "found:\n"                                                                                \
    "  spill_bytes: {baseline: 16, tuned: 0}\n"                                               \
    "  runtime: {baseline: 0.0018159, tuned: 0.0017264, speedup: 1.0519, low: 1.0497, high: " \
    "1.0541, pairs: 40}\n"                                                                    \
    "  device: \"NVIDIA H200\"\n"                                                             \
    "  trials: 488\n"

#define EXAMPLE_TEXT EXAMPLE_HEAD EXAMPLE_CONTROLS EXAMPLE_FOUND "digest: \"" EXAMPLE_DIGEST "\"\n"

/* Deliberately unsorted. */
static const char *const example_base[] = {"-O3", "--maxrregcount=128"};
static const acf_control example_controls[] = {
    {.full_name = "ptxas/register-usage-level", .value = "7"},
    {.full_name = "ptx/order@fa.b4", .value = "late"},
    {.full_name = "ptx/frequency@fa.b4", .value = "8"},
};
static const acf_metric example_metrics[] = {
    {.name = "spill_bytes", .baseline = 16, .tuned = 0},
    {.name = "runtime",
     .baseline = 1.8159e-3,
     .tuned = 1.7264e-3,
     .speedup = 1.0519,
     .low = 1.0497,
     .high = 1.0541,
     .pairs = 40},
};

static inline acf example(void)
{
    return (acf){
        .target = {.compiler = "ptxas",
                   .version = "13.0.88",
                   .arch = "sm_90a",
                   .kernel = "fa",
                   .base = example_base,
                   .base_count = 2,
                   .ptx = EXAMPLE_PTX},
        .controls = example_controls,
        .control_count = 3,
        .metrics = example_metrics,
        .metric_count = 2,
        .found_extra = "device: NVIDIA H200\ntrials: 488\n",
    };
}

#endif
