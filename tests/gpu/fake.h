/* fake.h: a small workload on the fake driver, for the tests of the whole way through a worker. */
#ifndef TESTS_GPU_FAKE_H
#define TESTS_GPU_FAKE_H

#include "gpu/gpu.h"
#include "util/files.h"

#include <stdlib.h>
#include <string.h>

enum { FAKE_ELEMENTS = 1000 };

static char *fake_folder;

static inline int fake_begin(void **state)
{
    (void)state;
    evocc_error error;
    setenv("EVOCC_CUDA_DRIVER", FAKE_DRIVER, 1);
    setenv("EVOCC_NVML", FAKE_DRIVER, 1);
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    if (folder_temporary(&fake_folder, &error) != EVOCC_OK) {
        return -1;
    }
    return setenv("EVOCC_RUNTIME_DIR", fake_folder, 1);
}

static inline int fake_end(void **state)
{
    (void)state;
    folder_remove(fake_folder);
    mem_free(fake_folder);
    return 0;
}

typedef struct fake_job {
    gpu_job job;
    gpu_shape shape;
    gpu_argument arguments[4];
} fake_job;

/* y = alpha * x */
static inline void fake_job_make(fake_job *f)
{
    memset(f, 0, sizeof *f);
    uint32_t n = FAKE_ELEMENTS;
    float alpha = 1.5F;
    f->arguments[0] = (gpu_argument){.name = "n", .type = DTYPE_U32};
    memcpy(f->arguments[0].scalar, &n, sizeof n);
    f->arguments[1] = (gpu_argument){.name = "alpha", .type = DTYPE_F32};
    memcpy(f->arguments[1].scalar, &alpha, sizeof alpha);
    f->arguments[2] = (gpu_argument){.name = "x",
                                     .is_buffer = true,
                                     .type = DTYPE_F32,
                                     .elements = FAKE_ELEMENTS,
                                     .init = GPU_NORMAL,
                                     .second = 1,
                                     .access = GPU_IN};
    f->arguments[3] = (gpu_argument){.name = "y",
                                     .is_buffer = true,
                                     .type = DTYPE_F32,
                                     .elements = FAKE_ELEMENTS,
                                     .access = GPU_OUT};
    f->shape = (gpu_shape){.name = "small",
                           .weight = 1,
                           .launch = {.grid = {4, 1, 1}, .block = {256, 1, 1}},
                           .arguments = f->arguments,
                           .count = 4};
    f->job.kernel = "axpy";
    f->job.shapes = &f->shape;
    f->job.shape_count = 1;
    gpu_job_defaults(&f->job);
    f->job.measure.deadline_s = 0.3;
    f->job.measure.energy_s = 0.2;
}

static inline evocc_status fake_load(gpu *g, const fake_job *f, const char *image,
                                     evocc_error *error)
{
    return gpu_load(g, &f->job, image, strlen(image) + 1, error);
}

static inline evocc_status fake_run(gpu *g, gpu_request request, const char *image,
                                    gpu_result *result, evocc_error *error)
{
    request.image = image;
    request.image_length = strlen(image) + 1;
    return gpu_run(g, &request, result, error);
}

#endif
