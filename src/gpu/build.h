/*
 * build.h: the machine code of a workload, from its module. A .cu goes through nvcc to PTX once;
 * PTX goes through ptxas, plainly or with an ACF as a build would apply it (the wrapper, in error
 * mode).
 */
#ifndef GPU_BUILD_H
#define GPU_BUILD_H

#include "gpu/workload.h"
#include "util/launcher.h"

/* The PTX file: the module itself, or what nvcc makes of it in the launcher's folder at these
   values of the parameters (NULL: their defaults). EVOCC_PROCESS: the compiler's own first words.
   mem_free. */
evocc_status gpu_build_ptx(char **out, const workload *w, const int64_t *values, launcher *l,
                           evocc_error *error);

/* A module at other values of the parameters. */
typedef struct gpu_variant {
    const int64_t *values; /* the caller's */
    char *text;            /* its PTX, mem_free; NULL: it does not compile */
    size_t length;
    char *why; /* then the compiler's first words; mem_free */
} gpu_variant;

/* Several at once, `workers` of them at a time, in a launcher with nothing in flight.
   EVOCC_INTERRUPTED when wake_fd became readable. */
evocc_status gpu_build_variants(gpu_variant *variants, size_t count, const workload *w, launcher *l,
                                size_t workers, int wake_fd, evocc_error *error);

/* The cubin (NUL-terminated beyond *length, mem_free). `evocc`: the path of the evocc program,
   whose wrapper applies the ACF; needed only with one. */
evocc_status gpu_build_cubin(char **out, size_t *length, const workload *w, launcher *l,
                             const char *ptx, const char *evocc, const char *acf,
                             evocc_error *error);

#endif
