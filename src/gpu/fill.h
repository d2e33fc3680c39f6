/*
 * fill.h: the contents that buffers begin with. A function of (seed, place of the buffer) and
 * nothing else: the same numbers on every machine and in every process.
 */
#ifndef GPU_FILL_H
#define GPU_FILL_H

#include "gpu/job.h"

/* Writes argument->elements elements. `stream` tells buffers and input seeds apart. Of GPU_FILE the
   file is read, and is the same for every stream. */
evocc_status fill_buffer(void *out, const gpu_argument *argument, uint64_t seed, uint64_t stream,
                         evocc_error *error);

#endif
