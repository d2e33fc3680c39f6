/*
 * nvml.c: clocks, temperature, power, energy of one GPU. Source: "NVML API Reference Guide": unit
 * commands (nvmlDeviceGet...), nvmlClocksEventReasons. All of it is optional: what a function that
 * is missing or refuses would tell stays unknown. Nothing is ever set.
 */
#include "gpu/driver.h"

#include "util/error.h"
#include "util/mem.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_object *nvml_device;

enum {
    NVML_SUCCESS = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_TEMPERATURE_GPU = 0,
    NVML_ERROR_UNCORRECTED = 1,
    NVML_COUNTER_VOLATILE = 0
};

#define NVML_FUNCTIONS(X)                                                                         \
    X(init, "nvmlInit_v2", (void))                                                                \
    X(shutdown, "nvmlShutdown", (void))                                                           \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *, nvml_device *))                        \
    X(of_mig, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", (nvml_device, nvml_device *))       \
    X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned int))                       \
    X(clock, "nvmlDeviceGetClockInfo", (nvml_device, int, unsigned int *))                        \
    X(temperature, "nvmlDeviceGetTemperature", (nvml_device, int, unsigned int *))                \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned int *))                            \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device, unsigned int *))              \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device, unsigned long long *))         \
    X(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", (nvml_device, unsigned long long *)) \
    X(ecc, "nvmlDeviceGetTotalEccErrors", (nvml_device, int, int, unsigned long long *))

struct nvml {
    void *library;
    nvml_device device;
    char version[80];
#define NVML_MEMBER(name, symbol, arguments) int(*name) arguments;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

static void *load(void)
{
    const char *variable = getenv("EVOCC_NVML");
    bool given = variable != NULL && *variable != '\0';
    return dlopen(given ? variable : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void find_symbols(nvml *n)
{
    void *found;
#define NVML_FIND(name, symbol, arguments) \
    found = dlsym(n->library, symbol);     \
    memcpy(&n->name, &found, sizeof found);
    NVML_FUNCTIONS(NVML_FIND)
#undef NVML_FIND
}

/* False: NVML does not show this GPU. */
static bool find_device(nvml *n, bool *is_mig, const cu_uuid *uuid)
{
    char text[GPU_UUID_SIZE];
    *is_mig = false;
    if (n->by_uuid == NULL) {
        return false;
    }
    gpu_uuid_text(text, "GPU", uuid);
    if (n->by_uuid(text, &n->device) == NVML_SUCCESS) {
        return true;
    }
    nvml_device instance;
    gpu_uuid_text(text, "MIG", uuid);
    *is_mig = n->of_mig != NULL && n->by_uuid(text, &instance) == NVML_SUCCESS &&
              n->of_mig(instance, &n->device) == NVML_SUCCESS;
    return *is_mig;
}

evocc_status nvml_open(nvml **out, bool *is_mig, const cu_uuid *uuid, evocc_error *error)
{
    *out = NULL;
    *is_mig = false;
    nvml *n = mem_alloc(1, sizeof *n);
    if (n == NULL) {
        return error_no_memory(error);
    }
    n->library = load();
    if (n->library != NULL) {
        find_symbols(n);
        if (n->init != NULL && n->init() == NVML_SUCCESS) {
            if (find_device(n, is_mig, uuid)) {
                if (n->driver_version == NULL ||
                    n->driver_version(n->version, sizeof n->version) != NVML_SUCCESS) {
                    n->version[0] = '\0';
                }
                *out = n;
                return EVOCC_OK;
            }
            if (n->shutdown != NULL) {
                n->shutdown();
            }
        }
        dlclose(n->library);
    }
    mem_free(n);
    return EVOCC_OK;
}

void nvml_close(nvml *n)
{
    if (n != NULL) {
        if (n->shutdown != NULL) {
            n->shutdown();
        }
        dlclose(n->library);
        mem_free(n);
    }
}

static double clock_hz(const nvml *n, int domain)
{
    unsigned int mhz;
    return n->clock != NULL && n->clock(n->device, domain, &mhz) == NVML_SUCCESS ? mhz * 1e6
                                                                                 : (double)NAN;
}

static double milliwatts(int (*get)(nvml_device, unsigned int *), nvml_device device)
{
    unsigned int mw;
    return get != NULL && get(device, &mw) == NVML_SUCCESS ? mw * 1e-3 : (double)NAN;
}

double nvml_energy_j(const nvml *n)
{
    unsigned long long mj;
    return n != NULL && n->energy != NULL && n->energy(n->device, &mj) == NVML_SUCCESS
               ? (double)mj * 1e-3
               : (double)NAN;
}

void nvml_read(nvml_state *out, const nvml *n)
{
    const double unknown = (double)NAN;
    *out = (nvml_state){unknown, unknown, unknown, unknown, unknown, unknown, 0, false};
    if (n == NULL) {
        return;
    }
    unsigned int degrees;
    unsigned long long reasons;
    out->sm_clock_hz = clock_hz(n, NVML_CLOCK_SM);
    out->memory_clock_hz = clock_hz(n, NVML_CLOCK_MEMORY);
    if (n->temperature != NULL &&
        n->temperature(n->device, NVML_TEMPERATURE_GPU, &degrees) == NVML_SUCCESS) {
        out->temperature_c = degrees;
    }
    out->power_w = milliwatts(n->power, n->device);
    out->power_limit_w = milliwatts(n->power_limit, n->device);
    out->energy_j = nvml_energy_j(n);
    if (n->throttle != NULL && n->throttle(n->device, &reasons) == NVML_SUCCESS) {
        out->throttle_reasons = reasons;
        out->throttle_known = true;
    }
}

uint64_t nvml_ecc_errors(const nvml *n)
{
    unsigned long long count;
    return n != NULL && n->ecc != NULL &&
                   n->ecc(n->device, NVML_ERROR_UNCORRECTED, NVML_COUNTER_VOLATILE, &count) ==
                       NVML_SUCCESS
               ? count
               : 0;
}

const char *nvml_driver_version(const nvml *n)
{
    return n != NULL ? n->version : "";
}

void nvml_throttle_text(char *out, size_t size, uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *text;
    } names[] = {
        {0x04, "power cap"}, {0x08, "hardware slowdown"}, {0x10, "sync boost"},
        {0x20, "thermal"},   {0x40, "hardware thermal"},  {0x80, "power brake"},
    };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((reasons & names[i].bit) != 0 && used < size) {
            int length =
                snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", names[i].text);
            used += length > 0 ? (size_t)length : 0;
        }
    }
}
