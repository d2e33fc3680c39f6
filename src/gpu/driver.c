#include "gpu/driver.h"

#include "util/error.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The layouts of cuda.h (CUDA 12 and 13, 64-bit). */
_Static_assert(sizeof(cu_launch_config) == 56 && offsetof(cu_launch_config, stream) == 32 &&
                   offsetof(cu_launch_config, attributes) == 40,
               "CUlaunchConfig");
_Static_assert(sizeof(cu_launch_attribute) == 72 && offsetof(cu_launch_attribute, value) == 8,
               "CUlaunchAttribute");
_Static_assert(sizeof(cu_uuid) == 16, "CUuuid");

typedef struct symbol {
    const char *name;
    size_t offset; /* of its member in driver */
} symbol;

static const symbol symbols[] = {
#define DRIVER_SYMBOL(name, symbol, arguments) {symbol, offsetof(driver, name)},
    DRIVER_FUNCTIONS(DRIVER_SYMBOL)
#undef DRIVER_SYMBOL
};

void driver_describe(char *out, size_t size, const driver *d, cu_result result)
{
    const char *name = NULL;
    const char *text = NULL;
    if (d->error_name(result, &name) != CU_SUCCESS || name == NULL) {
        snprintf(out, size, "CUDA error %d", result);
        return;
    }
    d->error_text(result, &text);
    snprintf(out, size, "%s: %s", name, text != NULL ? text : "no description");
}

static evocc_status find_symbols(driver *d, evocc_error *error)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(d->library, symbols[i].name);
        if (found == NULL) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "'%s' has no %s; a CUDA driver of version 12.0 or newer is needed",
                             d->path, symbols[i].name);
        }
        /* POSIX: a pointer from dlsym may be copied into a function pointer. */
        memcpy((char *)d + symbols[i].offset, &found, sizeof found);
    }
    void *optional = dlsym(d->library, "cuFuncGetParamInfo");
    memcpy(&d->parameter_info, &optional, sizeof optional);
    return EVOCC_OK;
}

evocc_status driver_open(driver *out, evocc_error *error)
{
    driver d = {0};
    const char *variable = getenv("EVOCC_CUDA_DRIVER");
    d.path = variable != NULL && *variable != '\0' ? variable : "libcuda.so.1";
    d.library = dlopen(d.path, RTLD_NOW | RTLD_LOCAL);
    if (d.library == NULL) {
        return error_set(error, EVOCC_UNSUPPORTED,
                         "no CUDA driver: %s; install NVIDIA's driver, or use an objective that "
                         "needs no GPU",
                         dlerror());
    }
    evocc_status status = find_symbols(&d, error);
    cu_result result = status == EVOCC_OK ? d.init(0) : CU_SUCCESS;
    if (result == CU_NO_DEVICE) {
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        status =
            visible != NULL
                ? error_set(error, EVOCC_UNSUPPORTED,
                            "the CUDA driver shows no GPU under CUDA_VISIBLE_DEVICES='%s'", visible)
                : error_set(error, EVOCC_UNSUPPORTED, "the CUDA driver finds no GPU");
    } else if (result != CU_SUCCESS) {
        char text[200];
        driver_describe(text, sizeof text, &d, result);
        status = error_set(error, EVOCC_UNSUPPORTED, "the CUDA driver does not start: %s", text);
    }
    if (status != EVOCC_OK) {
        dlclose(d.library);
        return status;
    }
    *out = d;
    return EVOCC_OK;
}

void gpu_uuid_text(char out[GPU_UUID_SIZE], const char *prefix, const cu_uuid *uuid)
{
    const unsigned char *b = uuid->bytes;
    snprintf(out, GPU_UUID_SIZE,
             "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix,
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}
