/*
 * Workload files: one that is accepted resolves to a job that can be launched, at the defaults and
 * at every value of each parameter that resolves at all; the job survives the wire byte for byte.
 */
#include "fuzz.h"

#include <string.h>

#include "gpu/workload.h"

static void check_job(const gpu_job *job)
{
    FUZZ_REQUIRE(job->shape_count > 0 && job->check.seeds > 0 && job->check.repeats > 0);
    for (size_t i = 0; i < job->shape_count; i++) {
        const gpu_shape *shape = &job->shapes[i];
        const uint32_t *block = shape->launch.block;
        FUZZ_REQUIRE(shape->weight > 0 && shape->count <= 64);
        FUZZ_REQUIRE(shape->launch.grid[0] > 0 && shape->launch.grid[1] > 0 &&
                     shape->launch.grid[2] > 0);
        FUZZ_REQUIRE((uint64_t)block[0] * block[1] * block[2] - 1 < 1024);
        for (size_t k = 0; k < shape->count; k++) {
            FUZZ_REQUIRE(!shape->arguments[k].is_buffer || shape->arguments[k].elements > 0);
        }
    }
    strbuf there = {0};
    strbuf again = {0};
    gpu_job back;
    gpu_put_job(&there, job);
    wire_reader r = {there.data, there.data + there.length, false};
    FUZZ_REQUIRE(!there.failed && gpu_get_job(&r, &back));
    gpu_put_job(&again, &back);
    FUZZ_REQUIRE(there.length == again.length && !memcmp(there.data, again.data, there.length));
    gpu_job_dispose(&back);
    strbuf_dispose(&there);
    strbuf_dispose(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    workload *w = NULL;
    if (workload_parse(&w, (const char *)data, size, "fuzz", "/nonexistent", &error)) {
        FUZZ_REQUIRE(w == NULL);
        FUZZ_REQUIRE(error.message[0] != '\0' && !strchr(error.message, '\n'));
        return 0;
    }
    int64_t values[16];
    size_t count = workload_parameter_count(w);
    for (size_t p = 0; p < count && count <= 16; p++) {
        const workload_parameter *parameter = workload_get_parameter(w, p);
        for (size_t v = 0; v < parameter->value_count && v < 8; v++) {
            for (size_t i = 0; i < count; i++) {
                const workload_parameter *other = workload_get_parameter(w, i);
                values[i] = other->values[i == p ? v : other->default_index];
            }
            gpu_job job;
            if (workload_resolve(&job, w, values, &error) == EVOCC_OK) {
                check_job(&job);
                gpu_job_dispose(&job);
            }
        }
    }
    gpu_job job;
    FUZZ_REQUIRE(workload_resolve(&job, w, NULL, &error) == EVOCC_OK);
    check_job(&job);
    gpu_job_dispose(&job);
    workload_free(w);
    return 0;
}
