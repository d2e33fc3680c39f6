#include "evaluate/launch.h"

#include <stdio.h>

int launch_max_threads(double registers)
{
    enum { WARP = 32, UNIT = 8, FILE_SIZE = 65536, QUARTERS = 4, LARGEST = 1024 };
    if (registers < 1) {
        return LARGEST;
    }
    int per_warp = ((int)registers + UNIT - 1) / UNIT * UNIT * WARP;
    int warps = FILE_SIZE / per_warp / QUARTERS * QUARTERS;
    return warps * WARP < LARGEST ? warps * WARP : LARGEST;
}

void launch_limits_set(launch_limits *limits, compiler_stats *baseline)
{
    compiler_stats_dispose(&limits->baseline);
    limits->baseline = *baseline;
    *baseline = (compiler_stats){0};
}

void launch_limits_dispose(launch_limits *limits)
{
    compiler_stats_dispose(&limits->baseline);
}

bool launch_allowed(const launch_limits *limits, const ptx_module *module,
                    const compiler_stats *stats, char *why, size_t size)
{
    for (size_t i = 0; i < limits->baseline.count; i++) {
        const compiler_entry_stats *before = &limits->baseline.entries[i];
        const compiler_entry_stats *after = compiler_stats_find(stats, before->entry);
        if (before->is_function || after == NULL ||
            ptx_entry_bounds_threads(module, before->entry)) {
            continue;
        }
        int allowed = launch_max_threads(before->registers);
        int left = launch_max_threads(after->registers);
        if (left < allowed) {
            snprintf(
                why, size,
                "%s takes %.0f registers instead of %.0f: blocks of more than %d threads could "
                "no longer be launched (state the block size with .maxntid or .reqntid)",
                before->entry, after->registers, before->registers, left);
            return false;
        }
    }
    return true;
}
