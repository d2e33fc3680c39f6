/*
 * workload.h: the file in which a user describes one kernel and how to run it (docs/workload.md),
 * and its resolution to a job of plain numbers.
 */
#ifndef GPU_WORKLOAD_H
#define GPU_WORKLOAD_H

#include "gpu/job.h"
#include "space/space.h"

typedef struct workload workload;

/* Everything is checked, every expression evaluated at the parameters' defaults; an error names
   file, line and column. Files are relative to the workload's folder. */
evocc_status workload_read(workload **out, const char *path, evocc_error *error);
evocc_status workload_parse(workload **out, const char *text, size_t length, const char *name,
                            const char *folder, evocc_error *error);
void workload_free(workload *w);

/* What is compiled. Texts are borrowed from the workload. */
typedef struct workload_module {
    const char *path; /* .cu or .ptx; joined with the workload's folder */
    bool is_ptx;
    const char *kernel;
    const char *arch;                       /* "sm_90a"; "" not stated */
    const char *const *nvcc, *const *ptxas; /* the user's own options, NULL-terminated */
} workload_module;
const workload_module *workload_get_module(const workload *w);

/* Application parameters: -D NAME=VALUE for nvcc, and names in the launch's expressions. */
typedef struct workload_parameter {
    const char *name;
    const char *help; /* "" for none */
    const int64_t *values;
    size_t value_count;
    size_t default_index;
} workload_parameter;
size_t workload_parameter_count(const workload *w);
const workload_parameter *workload_get_parameter(const workload *w, size_t index);

/* The parameters as controls "define/NAME" with their constraints; the space is not finished. */
evocc_status workload_add_controls(evocc_space *space, const workload *w, evocc_error *error);

/* The job at these values of the parameters (NULL: their defaults); gpu_job_dispose. Buffers and
   scalars do not depend on parameters: outputs of all candidates must compare. EVOCC_PARSE with the
   place when an expression fails or a launch is impossible. */
evocc_status workload_resolve(gpu_job *out, const workload *w, const int64_t *values,
                              evocc_error *error);

#endif
