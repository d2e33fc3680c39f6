/*
 * fake_driver: a shared library that stands in for libcuda and libnvidia-ml where there is no GPU.
 * It runs "kernels" on the host, keeps a clock of its own, and misbehaves on demand.
 *
 * A kernel's "machine code" is text: "fake NAME" and words after it, separated by blanks or
 * newlines; of an ELF file, what begins with its first "fake ". Every kernel computes y[i] = alpha
 * * x[i] for parameters (u32 n, f32 alpha, f32 *x, f32 *y), but:
 *
 * - accumulate: y[i] += alpha * x[i]
 * - time=US: a launch takes so many microseconds (100); noise=SHARE of it, evenly (0)
 * - aged=US: it takes so many less once the process has made 1000 launches
 * - wrong=I: y[I] is off in its last bit
 * - off=SHARE: all of y is off by that share
 * - nan=I: y[I] is NaN; unwritten=I: y[I] is left alone
 * - race=N: every Nth launch of it is wrong
 * - overrun: writes behind y; clobber: writes into x
 * - illegal: illegal access; hang: never ends; crash: the process dies
 * - lost: the driver is lost; lost_once=F: the same, if it can remove file F
 * - ecc: an uncorrectable memory error
 * - refuse: cannot be launched; invalid: cannot be loaded
 * - shared=BYTES: allows at most so much dynamic shared memory
 * - only_grid=N: computes only if grid.x is N
 *
 * Environment: EVOCC_FAKE_GPUS (2) GPUs; CUDA_VISIBLE_DEVICES as the real one (indexes);
 * EVOCC_FAKE_MIG: UUIDs are those of MIG instances; EVOCC_FAKE_MEMORY bytes (1 GiB);
 * EVOCC_FAKE_NO_ENERGY: no counter; EVOCC_FAKE_STUCK_ENERGY: a counter that stands still;
 * EVOCC_FAKE_INIT: what cuInit returns; EVOCC_FAKE_VERSION (999.1.2): of the driver.
 */
#include "gpu/driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))
enum { NAME_SIZE = 64, IMAGE_SIZE = 4096, NODES_MAX = 4096 };

struct cu_module_object {
    char text[IMAGE_SIZE];
    struct cu_function_object *function;
};

struct cu_function_object {
    char name[NAME_SIZE];
    const char *text; /* of its module; NULL: evocc_compare */
    unsigned long launches;
    int shared_allowed;
};

struct cu_event_object {
    double at_s;
};

typedef struct launch_node {
    struct cu_function_object *function;
    unsigned int grid_x;
    unsigned char values[4][8]; /* of the parameters */
} launch_node;

struct cu_graph_object {
    launch_node nodes[NODES_MAX];
    size_t count;
};

struct cu_stream_object {
    int unused;
};

static double clock_s; /* of the GPU */
static unsigned long launches_made;
static cu_result sticky;
static bool hangs;
static size_t memory_used;
static struct cu_graph_object *captured; /* being captured */
static unsigned long long ecc_errors;
static uint64_t noise_state = 88172645463325252U;

static long environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

/* ---- Words of the machine code --------------------------------------------------------------- */

/* The text behind "word=" or, for a bare word, ""; NULL: not there. */
static const char *word(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        bool begins = at > text && (at[-1] == ' ' || at[-1] == '\n');
        if (begins && at[length] == '=') {
            return at + length + 1;
        }
        if (begins && (at[length] == ' ' || at[length] == '\n' || at[length] == '\0')) {
            return at + length;
        }
    }
    return NULL;
}

static double number(const char *text, const char *name, double otherwise)
{
    const char *value = word(text, name);
    return value != NULL ? strtod(value, NULL) : otherwise;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static void *host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static double noise(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return (double)(noise_state >> 11) * 0x1p-53 - 0.5;
}

static cu_result misbehave(const char *text)
{
    const char *file = word(text, "lost_once");
    char path[256] = "";
    if (file != NULL) {
        snprintf(path, sizeof path, "%.*s", (int)strcspn(file, " \n"), file);
    }
    if (word(text, "crash") != NULL) {
        abort();
    }
    if (word(text, "hang") != NULL) {
        hangs = true;
    }
    if (word(text, "ecc") != NULL) {
        ecc_errors++;
    }
    sticky = word(text, "illegal") != NULL          ? CU_ILLEGAL_ADDRESS
             : word(text, "lost") != NULL           ? CU_UNKNOWN
             : path[0] != '\0' && unlink(path) == 0 ? CU_UNKNOWN
             : word(text, "ecc") != NULL            ? CU_ECC_UNCORRECTABLE
                                                    : sticky;
    return CU_SUCCESS; /* faults show when one waits */
}

static void compute(const launch_node *node)
{
    const char *text = node->function->text;
    uint32_t n;
    float alpha;
    uint64_t addresses[2];
    memcpy(&n, node->values[0], sizeof n);
    memcpy(&alpha, node->values[1], sizeof alpha);
    memcpy(addresses, node->values[2], 8);
    memcpy(addresses + 1, node->values[3], 8);
    float *x = host(addresses[0]);
    float *y = host(addresses[1]);
    bool accumulate = word(text, "accumulate") != NULL;
    float off = 1 + (float)number(text, "off", 0);
    uint32_t unwritten = (uint32_t)number(text, "unwritten", -1.0 + 4294967296.0);
    for (uint32_t i = 0; i < n; i++) {
        if (i != unwritten) {
            y[i] = (accumulate ? y[i] : 0) + alpha * x[i] * off;
        }
    }
    double every = number(text, "race", 0);
    bool races = every > 0 && node->function->launches % (unsigned long)every == 0;
    if (word(text, "wrong") != NULL || races) {
        uint32_t bits;
        uint32_t at = (uint32_t)number(text, "wrong", 0);
        memcpy(&bits, &y[at], sizeof bits);
        bits ^= 1;
        memcpy(&y[at], &bits, sizeof bits);
    }
    if (word(text, "nan") != NULL) {
        y[(size_t)number(text, "nan", 0)] = NAN;
    }
    if (word(text, "overrun") != NULL) {
        y[n + 70] = 1;
    }
    if (word(text, "clobber") != NULL) {
        x[3] += 1;
    }
}

static void compare(const launch_node *node)
{
    uint64_t p[4];
    for (int i = 0; i < 4; i++) {
        memcpy(&p[i], node->values[i], 8);
    }
    const char *left = host(p[0]);
    const char *right = host(p[1]);
    uint64_t *verdict = host(p[3]);
    for (uint64_t i = 0; i < p[2]; i++) {
        if (memcmp(left + 16 * i, right + 16 * i, 16) != 0) {
            verdict[0]++;
            verdict[1] = ~i > verdict[1] ? ~i : verdict[1];
        }
    }
}

static cu_result execute(const launch_node *node)
{
    node->function->launches++;
    if (node->function->text == NULL) {
        compare(node);
        clock_s += 1e-6;
        return CU_SUCCESS;
    }
    const char *text = node->function->text;
    misbehave(text);
    double only = number(text, "only_grid", 0);
    if (sticky == CU_SUCCESS && !hangs && !(only > 0 && node->grid_x != (unsigned int)only)) {
        compute(node);
    }
    double us = number(text, "time", 100) - (launches_made > 1000 ? number(text, "aged", 0) : 0);
    launches_made++;
    clock_s += us * 1e-6 * (1 + number(text, "noise", 0) * noise());
    return CU_SUCCESS;
}

/* ---- The driver ------------------------------------------------------------------------------ */

#define EXPORT(symbol, arguments)    \
    FAKE cu_result symbol arguments; \
    cu_result symbol arguments

EXPORT(cuGetErrorName, (cu_result result, const char **out))
{
    *out = result == CU_ILLEGAL_ADDRESS           ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : result == CU_OUT_OF_MEMORY           ? "CUDA_ERROR_OUT_OF_MEMORY"
           : result == CU_ECC_UNCORRECTABLE       ? "CUDA_ERROR_ECC_UNCORRECTABLE"
           : result == CU_LAUNCH_OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
           : result == CU_INVALID_IMAGE           ? "CUDA_ERROR_INVALID_IMAGE"
                                                  : "CUDA_ERROR_UNKNOWN";
    return CU_SUCCESS;
}

EXPORT(cuGetErrorString, (cu_result result, const char **out))
{
    (void)result;
    *out = "the fake says so";
    return CU_SUCCESS;
}

EXPORT(cuInit, (unsigned int flags))
{
    (void)flags;
    return (cu_result)environment("EVOCC_FAKE_INIT", 0);
}

EXPORT(cuDriverGetVersion, (int *out))
{
    *out = 13000;
    return CU_SUCCESS;
}

EXPORT(cuDeviceGetCount, (int *out))
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *out = (int)environment("EVOCC_FAKE_GPUS", 2);
    if (visible != NULL) {
        *out = *visible != '\0';
        for (; *visible != '\0'; visible++) {
            *out += *visible == ',';
        }
    }
    return CU_SUCCESS;
}

EXPORT(cuDeviceGet, (cu_device * out, int index))
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *out = index;
    if (visible != NULL) {
        for (int i = 0; i < index && visible != NULL; i++) {
            visible = strchr(visible, ',') + 1;
        }
        *out = (int)strtol(visible, NULL, 10);
    }
    return CU_SUCCESS;
}

EXPORT(cuDeviceGetName, (char *out, int size, cu_device device))
{
    snprintf(out, (size_t)size, "Fake GPU %d", device);
    return CU_SUCCESS;
}

EXPORT(cuDeviceGetUuid_v2, (cu_uuid * out, cu_device device))
{
    memset(out, 0x11, sizeof *out);
    out->bytes[15] = (unsigned char)device;
    return CU_SUCCESS;
}

EXPORT(cuDeviceGetAttribute, (int *out, int attribute, cu_device device))
{
    (void)device;
    *out = attribute == CU_DEVICE_L2_CACHE_SIZE      ? 1 << 20
           : attribute == CU_DEVICE_CAPABILITY_MAJOR ? 9
           : attribute == CU_DEVICE_CAPABILITY_MINOR ? 0
                                                     : 4;
    return CU_SUCCESS;
}

EXPORT(cuDeviceTotalMem_v2, (size_t * out, cu_device device))
{
    (void)device;
    *out = (size_t)environment("EVOCC_FAKE_MEMORY", 1L << 30);
    return CU_SUCCESS;
}

EXPORT(cuDevicePrimaryCtxRetain, (cu_context * out, cu_device device))
{
    static char context;
    (void)device;
    *out = (cu_context)(void *)&context;
    return CU_SUCCESS;
}

EXPORT(cuCtxSetCurrent, (cu_context context))
{
    (void)context;
    return CU_SUCCESS;
}

/* The text in a cubin of the fake ptxas: a NUL ends it. "": there is none. */
static const char *text_of_elf(const char *image)
{
    uint64_t sections_at;
    uint16_t size_and_count[2];
    memcpy(&sections_at, image + 40, sizeof sections_at);
    memcpy(size_and_count, image + 58, sizeof size_and_count);
    size_t length = (size_t)sections_at + (size_t)size_and_count[0] * size_and_count[1];
    for (size_t i = 0; i + 5 < length; i++) {
        if (memcmp(image + i, "fake ", 5) == 0) {
            return image + i;
        }
    }
    return "";
}

EXPORT(cuModuleLoadData, (cu_module * out, const void *image))
{
    const char *text = image;
    if (memcmp(text, "\177ELF", 4) == 0) {
        text = text_of_elf(text);
    }
    bool ours = strncmp(text, ".version", 8) == 0 && strstr(text, "evocc_compare") != NULL;
    if (!ours && (strncmp(text, "fake ", 5) != 0 || word(text, "invalid") != NULL)) {
        return CU_INVALID_IMAGE;
    }
    *out = calloc(1, sizeof **out);
    snprintf((*out)->text, IMAGE_SIZE, "%s", ours ? "" : text);
    return CU_SUCCESS;
}

EXPORT(cuModuleUnload, (cu_module module))
{
    free(module->function);
    free(module);
    return CU_SUCCESS;
}

EXPORT(cuModuleGetFunction, (cu_function * out, cu_module module, const char *name))
{
    size_t length = strlen(name);
    bool ours = module->text[0] == '\0';
    if (!ours && (strncmp(module->text + 5, name, length) != 0 ||
                  strchr(" \n", module->text[5 + length]) == NULL)) {
        return CU_NOT_FOUND;
    }
    struct cu_function_object *f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->text = ours ? NULL : module->text;
    module->function = *out = f;
    return CU_SUCCESS;
}

EXPORT(cuMemGetInfo_v2, (size_t * available, size_t *total))
{
    *total = (size_t)environment("EVOCC_FAKE_MEMORY", 1L << 30);
    *available = *total - memory_used;
    return CU_SUCCESS;
}

/* Sizes are remembered before the block, for the account. */
EXPORT(cuMemAlloc_v2, (cu_pointer * out, size_t bytes))
{
    if (bytes + memory_used > (size_t)environment("EVOCC_FAKE_MEMORY", 1L << 30)) {
        return CU_OUT_OF_MEMORY;
    }
    char *block = NULL;
    if (posix_memalign((void **)&block, 256, bytes + 256) != 0) {
        return CU_OUT_OF_MEMORY;
    }
    memcpy(block, &bytes, sizeof bytes);
    memset(block + 256, 0xee, bytes);
    memory_used += bytes;
    *out = (uintptr_t)(block + 256);
    return CU_SUCCESS;
}

EXPORT(cuMemFree_v2, (cu_pointer address))
{
    size_t bytes;
    char *block = (char *)host(address) - 256;
    memcpy(&bytes, block, sizeof bytes);
    memory_used -= bytes;
    free(block);
    return CU_SUCCESS;
}

EXPORT(cuMemcpyHtoD_v2, (cu_pointer to, const void *from, size_t bytes))
{
    memcpy(host(to), from, bytes);
    return sticky;
}

EXPORT(cuMemcpyDtoH_v2, (void *to, cu_pointer from, size_t bytes))
{
    memcpy(to, host(from), bytes);
    return sticky;
}

EXPORT(cuMemcpyDtoDAsync_v2, (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))
{
    (void)stream;
    memcpy(host(to), host(from), bytes);
    return sticky;
}

EXPORT(cuMemsetD32Async, (cu_pointer to, unsigned int value, size_t count, cu_stream stream))
{
    (void)stream;
    uint32_t *words = host(to);
    for (size_t i = 0; i < count; i++) {
        words[i] = value;
    }
    return sticky;
}

EXPORT(cuStreamCreate, (cu_stream * out, unsigned int flags))
{
    static struct cu_stream_object stream;
    (void)flags;
    *out = &stream;
    return CU_SUCCESS;
}

EXPORT(cuStreamQuery, (cu_stream stream))
{
    (void)stream;
    return hangs ? CU_NOT_READY : sticky;
}

EXPORT(cuEventCreate, (cu_event * out, unsigned int flags))
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    return CU_SUCCESS;
}

EXPORT(cuEventRecord, (cu_event event, cu_stream stream))
{
    (void)stream;
    event->at_s = clock_s;
    return sticky;
}

EXPORT(cuEventQuery, (cu_event event))
{
    (void)event;
    return hangs ? CU_NOT_READY : sticky;
}

EXPORT(cuEventElapsedTime, (float *out, cu_event begin, cu_event end))
{
    *out = (float)((end->at_s - begin->at_s) * 1e3);
    return sticky;
}

EXPORT(cuFuncGetAttribute, (int *out, int attribute, cu_function function))
{
    (void)attribute;
    (void)function;
    *out = 0;
    return CU_SUCCESS;
}

EXPORT(cuFuncGetParamInfo, (cu_function function, size_t index, size_t *offset, size_t *size))
{
    if (index >= 4) {
        return 1; /* CUDA_ERROR_INVALID_VALUE */
    }
    *offset = index < 2 ? 4 * index : 8 * (index - 1);
    *size = function->text != NULL && index < 2 ? 4 : 8;
    return CU_SUCCESS;
}

EXPORT(cuFuncSetAttribute, (cu_function function, int attribute, int value))
{
    if (attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES) {
        if (function->text != NULL && value > (int)number(function->text, "shared", 232448)) {
            return 1; /* CUDA_ERROR_INVALID_VALUE */
        }
        function->shared_allowed = value;
    }
    return CU_SUCCESS;
}

EXPORT(cuLaunchKernelEx,
       (const cu_launch_config *config, cu_function function, void **parameters, void **extra))
{
    (void)extra;
    if (function->text != NULL && word(function->text, "refuse") != NULL) {
        return CU_LAUNCH_OUT_OF_RESOURCES;
    }
    if ((int)config->shared_bytes > function->shared_allowed && config->shared_bytes > 49152) {
        return 1;
    }
    launch_node node = {.function = function, .grid_x = config->grid[0]};
    for (int i = 0; i < 4; i++) {
        bool narrow = function->text != NULL && i < 2;
        memcpy(node.values[i], parameters[i], narrow ? 4 : 8);
    }
    if (captured != NULL) {
        if (captured->count == NODES_MAX) {
            return CU_OUT_OF_MEMORY;
        }
        captured->nodes[captured->count++] = node;
        return CU_SUCCESS;
    }
    return sticky != CU_SUCCESS ? sticky : execute(&node);
}

EXPORT(cuStreamBeginCapture_v2, (cu_stream stream, int mode))
{
    (void)stream;
    (void)mode;
    captured = calloc(1, sizeof *captured);
    return CU_SUCCESS;
}

EXPORT(cuStreamEndCapture, (cu_stream stream, cu_graph *out))
{
    (void)stream;
    *out = captured;
    captured = NULL;
    return CU_SUCCESS;
}

EXPORT(cuGraphInstantiateWithFlags, (cu_graph_exec * out, cu_graph graph, unsigned long long flags))
{
    (void)flags;
    struct cu_graph_object *copy = malloc(sizeof *copy);
    memcpy(copy, graph, sizeof *copy);
    *out = (cu_graph_exec)(void *)copy;
    return CU_SUCCESS;
}

EXPORT(cuGraphLaunch, (cu_graph_exec graph, cu_stream stream))
{
    (void)stream;
    const struct cu_graph_object *nodes = (const struct cu_graph_object *)(const void *)graph;
    for (size_t i = 0; i < nodes->count && sticky == CU_SUCCESS; i++) {
        execute(&nodes->nodes[i]);
    }
    return CU_SUCCESS;
}

EXPORT(cuGraphExecDestroy, (cu_graph_exec graph))
{
    free(graph);
    return CU_SUCCESS;
}

EXPORT(cuGraphDestroy, (cu_graph graph))
{
    free(graph);
    return CU_SUCCESS;
}

/* ---- NVML ------------------------------------------------------------------------------------ */

EXPORT(nvmlInit_v2, (void))
{
    return 0;
}

EXPORT(nvmlShutdown, (void))
{
    return 0;
}

EXPORT(nvmlDeviceGetHandleByUUID, (const char *uuid, void **out))
{
    static char device;
    *out = &device;
    bool mig = getenv("EVOCC_FAKE_MIG") != NULL;
    return strncmp(uuid, mig ? "MIG-1111" : "GPU-1111", 8) == 0 ? 0 : 6;
}

EXPORT(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (void *instance, void **out))
{
    *out = instance;
    return 0;
}

EXPORT(nvmlSystemGetDriverVersion, (char *out, unsigned int size))
{
    const char *version = getenv("EVOCC_FAKE_VERSION");
    snprintf(out, size, "%s", version != NULL ? version : "999.1.2");
    return 0;
}

EXPORT(nvmlDeviceGetClockInfo, (void *device, int domain, unsigned int *mhz))
{
    (void)device;
    *mhz = domain == 1 ? 1980 : 3201;
    return 0;
}

EXPORT(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned int *degrees))
{
    (void)device;
    (void)sensor;
    *degrees = 41;
    return 0;
}

EXPORT(nvmlDeviceGetPowerUsage, (void *device, unsigned int *mw))
{
    (void)device;
    *mw = 300000;
    return 0;
}

EXPORT(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned int *mw))
{
    (void)device;
    *mw = 700000;
    return 0;
}

/* 300 W of wall time, told every 20 ms. */
EXPORT(nvmlDeviceGetTotalEnergyConsumption, (void *device, unsigned long long *mj))
{
    struct timespec now;
    (void)device;
    if (getenv("EVOCC_FAKE_NO_ENERGY") != NULL) {
        return 3; /* NVML_ERROR_NOT_SUPPORTED */
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long ms =
        (unsigned long long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000;
    *mj = getenv("EVOCC_FAKE_STUCK_ENERGY") != NULL ? 7 : ms / 20 * 20 * 300;
    return 0;
}

EXPORT(nvmlDeviceGetCurrentClocksThrottleReasons, (void *device, unsigned long long *reasons))
{
    (void)device;
    *reasons = 4;
    return 0;
}

EXPORT(nvmlDeviceGetTotalEccErrors,
       (void *device, int type, int counter, unsigned long long *count))
{
    (void)device;
    (void)type;
    (void)counter;
    *count = ecc_errors;
    return 0;
}
