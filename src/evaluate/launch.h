/*
 * launch.h: no candidate may break a launch that the baseline allows (design: PTX controls). An
 * entry without .maxntid and .reqntid may be launched with any block that its registers leave room
 * for; a candidate that takes more registers would make the largest of these fail.
 */
#ifndef EVALUATE_LAUNCH_H
#define EVALUATE_LAUNCH_H

#include "compiler/compiler.h"
#include "ptx/ptx.h"

/* The largest block, in threads, that so many registers a thread allow: registers are given to a
   warp in units of 256, warps to an SM's four quarters alike, 65,536 registers a block (CUDA C++
   Programming Guide, "Compute Capabilities", 5.0 and later but 5.3, 6.2). 1024 when the count is
   unknown (< 0). */
int launch_max_threads(double registers);

/* Zero-initialised: no baseline yet, nothing is refused. */
typedef struct launch_limits {
    compiler_stats baseline;
} launch_limits;

/* Takes the statistics over. */
void launch_limits_set(launch_limits *limits, compiler_stats *baseline);
void launch_limits_dispose(launch_limits *limits);

/* False when some entry of the module could no longer be launched with a block that its baseline
   allows; `why` (of `size` bytes) then names it. */
bool launch_allowed(const launch_limits *limits, const ptx_module *module,
                    const compiler_stats *stats, char *why, size_t size);

#endif
