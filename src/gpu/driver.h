/*
 * driver.h: NVIDIA's CUDA driver and NVML, found at run time by dlopen; no header of theirs is
 * needed to build. The declarations are our own and hold only what is used. Sources: "CUDA Driver
 * API" reference, version 13 (each group below names its section), and "NVML API Reference Guide".
 * Versioned names (_v2) are used where the unversioned one has another meaning.
 *
 * Only the worker process loads these: a study never holds a CUDA context, for contexts die of the
 * faults of their kernels.
 */
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include <evocc/evocc.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_pointer; /* in the device's memory */
typedef struct cu_context_object *cu_context;
typedef struct cu_module_object *cu_module;
typedef struct cu_function_object *cu_function;
typedef struct cu_stream_object *cu_stream;
typedef struct cu_event_object *cu_event;
typedef struct cu_graph_object *cu_graph;
typedef struct cu_graph_exec_object *cu_graph_exec;

/* CUresult: those that are told apart. */
enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_STUB_LIBRARY = 34,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_NO_DEVICE = 100,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_ECC_UNCORRECTABLE = 214,
    CU_INVALID_PTX = 218,
    CU_NVLINK_UNCORRECTABLE = 220,
    CU_CONTAINED = 226, /* an error of the memory, contained to this context */
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_LAUNCH_TIMEOUT = 702,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_LAUNCH_FAILED = 719,
    CU_TENSOR_MEMORY_LEAK = 721,
    CU_SYSTEM_NOT_READY = 802,
    CU_SYSTEM_DRIVER_MISMATCH = 803,
    CU_INVALID_CLUSTER_SIZE = 912,
    CU_UNKNOWN = 999
};

/* CUdevice_attribute, CUfunction_attribute and flags. */
enum {
    CU_DEVICE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_L2_CACHE_SIZE = 38,
    CU_DEVICE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_CAPABILITY_MINOR = 76,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES = 8,
    CU_FUNCTION_NON_PORTABLE_CLUSTER = 14,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_CAPTURE_THREAD_LOCAL = 1,
    CU_ATTRIBUTE_CLUSTER = 4
};

typedef struct cu_uuid {
    unsigned char bytes[16];
} cu_uuid;

/* CUlaunchAttribute: the value is a union of 64 bytes, of which only clusterDim is used. */
typedef struct cu_launch_attribute {
    int id;
    char pad[4];
    union {
        unsigned int cluster[3];
        uint64_t room[8];
    } value;
} cu_launch_attribute;

/* CUlaunchConfig */
typedef struct cu_launch_config {
    unsigned int grid[3], block[3];
    unsigned int shared_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned int attribute_count;
} cu_launch_config;

/* One row a function: result, the symbol, arguments. driver.c expands it to find them all. */
#define DRIVER_FUNCTIONS(X)                                                                  \
    /* 6.2 Error handling, 6.3 Initialization, 6.4 Version */                                \
    X(error_name, "cuGetErrorName", (cu_result, const char **))                              \
    X(error_text, "cuGetErrorString", (cu_result, const char **))                            \
    X(init, "cuInit", (unsigned int))                                                        \
    X(version, "cuDriverGetVersion", (int *))                                                \
    /* 6.5 Device management, 6.7 Primary context, 6.8 Context */                            \
    X(device_count, "cuDeviceGetCount", (int *))                                             \
    X(device_get, "cuDeviceGet", (cu_device *, int))                                         \
    X(device_name, "cuDeviceGetName", (char *, int, cu_device))                              \
    X(device_uuid, "cuDeviceGetUuid_v2", (cu_uuid *, cu_device))                             \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, cu_device))                     \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, cu_device))                           \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cu_context *, cu_device))                 \
    X(context_set, "cuCtxSetCurrent", (cu_context))                                          \
    /* 6.10 Modules */                                                                       \
    X(module_load, "cuModuleLoadData", (cu_module *, const void *))                          \
    X(module_unload, "cuModuleUnload", (cu_module))                                          \
    X(module_function, "cuModuleGetFunction", (cu_function *, cu_module, const char *))      \
    /* 6.13 Memory */                                                                        \
    X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                  \
    X(allocate, "cuMemAlloc_v2", (cu_pointer *, size_t))                                     \
    X(release, "cuMemFree_v2", (cu_pointer))                                                 \
    X(upload, "cuMemcpyHtoD_v2", (cu_pointer, const void *, size_t))                         \
    X(download, "cuMemcpyDtoH_v2", (void *, cu_pointer, size_t))                             \
    X(copy_async, "cuMemcpyDtoDAsync_v2", (cu_pointer, cu_pointer, size_t, cu_stream))       \
    X(fill_async, "cuMemsetD32Async", (cu_pointer, unsigned int, size_t, cu_stream))         \
    /* 6.18 Streams, 6.19 Events */                                                          \
    X(stream_create, "cuStreamCreate", (cu_stream *, unsigned int))                          \
    X(stream_query, "cuStreamQuery", (cu_stream))                                            \
    X(event_create, "cuEventCreate", (cu_event *, unsigned int))                             \
    X(event_record, "cuEventRecord", (cu_event, cu_stream))                                  \
    X(event_query, "cuEventQuery", (cu_event))                                               \
    X(event_elapsed, "cuEventElapsedTime", (float *, cu_event, cu_event))                    \
    /* 6.22 Execution control, 6.24 Graphs */                                                \
    X(function_attribute, "cuFuncGetAttribute", (int *, int, cu_function))                   \
    X(function_set, "cuFuncSetAttribute", (cu_function, int, int))                           \
    X(launch, "cuLaunchKernelEx", (const cu_launch_config *, cu_function, void **, void **)) \
    X(capture_begin, "cuStreamBeginCapture_v2", (cu_stream, int))                            \
    X(capture_end, "cuStreamEndCapture", (cu_stream, cu_graph *))                            \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                      \
      (cu_graph_exec *, cu_graph, unsigned long long))                                       \
    X(graph_launch, "cuGraphLaunch", (cu_graph_exec, cu_stream))                             \
    X(graph_exec_destroy, "cuGraphExecDestroy", (cu_graph_exec))                             \
    X(graph_destroy, "cuGraphDestroy", (cu_graph))

typedef struct driver {
    void *library;
    const char *path;
#define DRIVER_MEMBER(name, symbol, arguments) cu_result(*name) arguments;
    DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
    /* cuFuncGetParamInfo, of 12.4 and later; NULL before. */
    cu_result (*parameter_info)(cu_function, size_t index, size_t *offset, size_t *size);
} driver;

/* Loads libcuda.so.1, or what EVOCC_CUDA_DRIVER names, and initialises it. EVOCC_UNSUPPORTED: there
   is none, it is too old (the missing function is named), or it finds no GPU; the error says which.
 */
evocc_status driver_open(driver *out, evocc_error *error);

/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" */
void driver_describe(char *out, size_t size, const driver *d, cu_result result);

#define GPU_UUID_SIZE 48
/* "GPU-a1b2c3d4-...", the form of nvidia-smi; prefix "GPU" or "MIG". */
void gpu_uuid_text(char out[GPU_UUID_SIZE], const char *prefix, const cu_uuid *uuid);

/* ---- NVML ------------------------------------------------------------------------------------ */

typedef struct nvml nvml;

/* What NVML knows about one GPU now; NAN: it does not tell. */
typedef struct nvml_state {
    double sm_clock_hz, memory_clock_hz;
    double temperature_c, power_w, power_limit_w;
    double energy_j;           /* since the driver was loaded; moves in steps */
    uint64_t throttle_reasons; /* bits of nvmlClocksEventReasons */
    bool throttle_known;
} nvml_state;

/* The GPU of this UUID, whatever its index is here or there. NULL through *out, and no error, when
   there is no NVML (libnvidia-ml.so.1, or what EVOCC_NVML names): then nothing is known. *is_mig
   says that the UUID is that of a MIG instance, whose energy and clocks are those of the whole GPU.
 */
evocc_status nvml_open(nvml **out, bool *is_mig, const cu_uuid *uuid, evocc_error *error);
void nvml_close(nvml *n);
void nvml_read(nvml_state *out, const nvml *n);
double nvml_energy_j(const nvml *n);            /* NAN: unsupported */
uint64_t nvml_ecc_errors(const nvml *n);        /* uncorrected since boot; 0 when not told */
const char *nvml_driver_version(const nvml *n); /* "580.159.04", "" unknown */

/* "power cap, thermal": the reasons that slow a GPU down under load; "" for none. Idle and
   application clocks are no throttling. */
void nvml_throttle_text(char *out, size_t size, uint64_t reasons);

#endif
