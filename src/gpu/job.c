#include "gpu/job.h"

#include <math.h>
#include <string.h>

bool gpu_tolerance_is_exact(const gpu_tolerance *t)
{
    return !(t->absolute > 0 || t->relative > 0 || t->rms > 0);
}

void gpu_job_defaults(gpu_job *job)
{
    job->check = (gpu_check_plan){.seeds = 2, .repeats = 2, .self_runs = 10, .seed = 1};
    job->measure = (gpu_measure_plan){
        .batch_s = 1e-3,
        .min_samples = 6,
        .max_samples = 20,
        .width = 0.002,
        .slow = 1.25,
        .energy_s = 1,
        .deadline_s = 10,
    };
}

void gpu_job_dispose(gpu_job *job)
{
    if (job != NULL) {
        arena_dispose(&job->memory);
        *job = (gpu_job){0};
    }
}

void gpu_result_dispose(gpu_result *result)
{
    if (result == NULL) {
        return;
    }
    for (size_t i = 0; result->timings != NULL && i < result->timing_count; i++) {
        mem_free(result->timings[i].samples);
        mem_free(result->timings[i].baseline);
    }
    mem_free(result->timings);
    mem_free(result->detail);
    *result = (gpu_result){0};
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_optional(strbuf *b, const char *text)
{
    wire_put_u32(b, text != NULL);
    if (text != NULL) {
        wire_put_string(b, text);
    }
}

static void put_triple(strbuf *b, const uint32_t values[3])
{
    for (int i = 0; i < 3; i++) {
        wire_put_u32(b, values[i]);
    }
}

static void put_launch(strbuf *b, const gpu_launch *launch)
{
    put_triple(b, launch->grid);
    put_triple(b, launch->block);
    put_triple(b, launch->cluster);
    wire_put_u32(b, launch->shared_bytes);
}

static void put_argument(strbuf *b, const gpu_argument *a)
{
    wire_put_string(b, a->name);
    wire_put_u32(b, a->is_buffer);
    wire_put_u32(b, a->type);
    wire_put_text(b, (const char *)a->scalar, sizeof a->scalar);
    wire_put_u64(b, a->elements);
    wire_put_u32(b, a->init);
    wire_put_double(b, a->first);
    wire_put_double(b, a->second);
    put_optional(b, a->file);
    put_optional(b, a->reference);
    wire_put_u32(b, a->access);
    wire_put_double(b, a->tolerance.absolute);
    wire_put_double(b, a->tolerance.relative);
    wire_put_double(b, a->tolerance.rms);
}

void gpu_put_job(strbuf *b, const gpu_job *job)
{
    wire_put_string(b, job->kernel);
    wire_put_u32(b, job->check.seeds);
    wire_put_u32(b, job->check.repeats);
    wire_put_u32(b, job->check.self_runs);
    wire_put_u64(b, job->check.seed);
    const gpu_measure_plan *m = &job->measure;
    wire_put_u32(b, m->flush_l2);
    wire_put_u32(b, m->restore);
    wire_put_u32(b, m->graph);
    wire_put_double(b, m->batch_s);
    wire_put_u32(b, m->min_samples);
    wire_put_u32(b, m->max_samples);
    wire_put_double(b, m->width);
    wire_put_double(b, m->slow);
    wire_put_double(b, m->energy_s);
    wire_put_double(b, m->deadline_s);
    wire_put_u32(b, (uint32_t)job->shape_count);
    for (size_t s = 0; s < job->shape_count; s++) {
        const gpu_shape *shape = &job->shapes[s];
        wire_put_string(b, shape->name);
        wire_put_double(b, shape->weight);
        put_launch(b, &shape->launch);
        wire_put_u32(b, (uint32_t)shape->count);
        for (size_t i = 0; i < shape->count; i++) {
            put_argument(b, &shape->arguments[i]);
        }
    }
}

void gpu_put_info(strbuf *b, const gpu_info *info)
{
    wire_put_string(b, info->uuid);
    wire_put_string(b, info->name);
    wire_put_string(b, info->driver);
    wire_put_u32(b, (uint32_t)info->cuda_version);
    wire_put_u32(b, (uint32_t)info->capability_major);
    wire_put_u32(b, (uint32_t)info->capability_minor);
    wire_put_u32(b, (uint32_t)info->multiprocessors);
    wire_put_u64(b, info->memory_bytes);
    wire_put_u64(b, info->l2_bytes);
    wire_put_u32(b, info->is_mig);
    wire_put_u32(b, info->has_nvml);
    wire_put_u32(b, info->has_energy);
}

void gpu_put_request(strbuf *b, const gpu_request *request, size_t shape_count)
{
    wire_put_u32(b, request->check);
    wire_put_u32(b, request->measure);
    wire_put_u32(b, request->energy);
    wire_put_u32(b, request->pairs);
    wire_put_u64(b, request->pair_seed);
    wire_put_double(b, request->bound_s);
    wire_put_u32(b, request->launches != NULL);
    for (size_t i = 0; request->launches != NULL && i < shape_count; i++) {
        put_launch(b, &request->launches[i]);
    }
    wire_put_text(b, request->image, request->image_length);
}

static void put_doubles(strbuf *b, const double *values, uint32_t count)
{
    wire_put_u32(b, count);
    for (uint32_t i = 0; i < count; i++) {
        wire_put_double(b, values[i]);
    }
}

void gpu_put_result(strbuf *b, const gpu_result *result)
{
    wire_put_u32(b, result->outcome);
    wire_put_string(b, result->detail != NULL ? result->detail : "");
    wire_put_u32(b, result->early);
    wire_put_double(b, result->runtime_s);
    const gpu_conditions *c = &result->conditions;
    wire_put_double(b, c->sm_clock_hz);
    wire_put_double(b, c->memory_clock_hz);
    wire_put_double(b, c->temperature_c);
    wire_put_double(b, c->power_w);
    wire_put_u64(b, c->throttle_reasons);
    wire_put_double(b, result->energy.per_launch_j);
    wire_put_double(b, result->energy.power_w);
    wire_put_double(b, result->energy.window_s);
    wire_put_double(b, result->energy.resolution_j);
    wire_put_double(b, result->wall_s);
    wire_put_double(b, result->busy_s);
    wire_put_u32(b, (uint32_t)result->timing_count);
    for (size_t i = 0; i < result->timing_count; i++) {
        const gpu_timing *t = &result->timings[i];
        wire_put_u32(b, t->batch);
        put_doubles(b, t->samples, t->sample_count);
        put_doubles(b, t->baseline, t->baseline_count);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

static const char *get_string(wire_reader *r, arena *memory)
{
    const char *copy = arena_strdup(memory, wire_get_string(r));
    r->failed = r->failed || copy == NULL;
    return copy;
}

static const char *get_optional(wire_reader *r, arena *memory)
{
    return wire_get_u32(r) != 0 ? get_string(r, memory) : NULL;
}

static void get_triple(wire_reader *r, uint32_t values[3])
{
    for (int i = 0; i < 3; i++) {
        values[i] = wire_get_u32(r);
    }
}

static void get_launch(wire_reader *r, gpu_launch *launch)
{
    get_triple(r, launch->grid);
    get_triple(r, launch->block);
    get_triple(r, launch->cluster);
    launch->shared_bytes = wire_get_u32(r);
}

static uint32_t get_below(wire_reader *r, uint32_t bound)
{
    uint32_t value = wire_get_u32(r);
    if (value >= bound) {
        r->failed = true;
        return 0;
    }
    return value;
}

/* How many things of at least `size` bytes may follow, at most. */
static uint32_t get_count(wire_reader *r, size_t size)
{
    uint32_t count = wire_get_u32(r);
    if (r->failed || count > (size_t)(r->end - r->at) / size) {
        r->failed = true;
        return 0;
    }
    return count;
}

static void get_argument(wire_reader *r, gpu_argument *a, arena *memory)
{
    size_t length;
    a->name = get_string(r, memory);
    a->is_buffer = wire_get_u32(r) != 0;
    a->type = (dtype)get_below(r, DTYPE_COUNT);
    const char *scalar = wire_get_text(r, &length);
    if (length == sizeof a->scalar) {
        memcpy(a->scalar, scalar, sizeof a->scalar);
    } else {
        r->failed = true;
    }
    a->elements = wire_get_u64(r);
    a->init = (gpu_init)get_below(r, GPU_FILE + 1);
    a->first = wire_get_double(r);
    a->second = wire_get_double(r);
    a->file = get_optional(r, memory);
    a->reference = get_optional(r, memory);
    a->access = (gpu_access)get_below(r, GPU_INOUT + 1);
    a->tolerance.absolute = wire_get_double(r);
    a->tolerance.relative = wire_get_double(r);
    a->tolerance.rms = wire_get_double(r);
}

static void get_shape(wire_reader *r, gpu_shape *shape, arena *memory)
{
    shape->name = get_string(r, memory);
    shape->weight = wire_get_double(r);
    get_launch(r, &shape->launch);
    uint32_t count = get_count(r, 64);
    shape->arguments = arena_alloc(memory, count, sizeof *shape->arguments);
    shape->count = shape->arguments != NULL ? count : 0;
    r->failed = r->failed || shape->arguments == NULL;
    for (size_t i = 0; i < shape->count && !r->failed; i++) {
        get_argument(r, &shape->arguments[i], memory);
    }
}

bool gpu_get_job(wire_reader *r, gpu_job *job)
{
    *job = (gpu_job){0};
    job->kernel = get_string(r, &job->memory);
    job->check.seeds = wire_get_u32(r);
    job->check.repeats = wire_get_u32(r);
    job->check.self_runs = wire_get_u32(r);
    job->check.seed = wire_get_u64(r);
    gpu_measure_plan *m = &job->measure;
    m->flush_l2 = wire_get_u32(r) != 0;
    m->restore = wire_get_u32(r) != 0;
    m->graph = wire_get_u32(r) != 0;
    m->batch_s = wire_get_double(r);
    m->min_samples = wire_get_u32(r);
    m->max_samples = wire_get_u32(r);
    m->width = wire_get_double(r);
    m->slow = wire_get_double(r);
    m->energy_s = wire_get_double(r);
    m->deadline_s = wire_get_double(r);
    uint32_t count = get_count(r, 64);
    job->shapes = arena_alloc(&job->memory, count, sizeof *job->shapes);
    job->shape_count = job->shapes != NULL ? count : 0;
    r->failed = r->failed || job->shapes == NULL || count == 0;
    for (size_t i = 0; i < job->shape_count && !r->failed; i++) {
        get_shape(r, &job->shapes[i], &job->memory);
    }
    if (r->failed) {
        gpu_job_dispose(job);
        return false;
    }
    return true;
}

static void get_into(wire_reader *r, char *out, size_t size)
{
    size_t length;
    const char *text = wire_get_text(r, &length);
    if (length >= size) {
        length = size - 1;
    }
    memcpy(out, text, length);
    out[length] = '\0';
}

bool gpu_read_info(wire_reader *r, gpu_info *info)
{
    *info = (gpu_info){0};
    get_into(r, info->uuid, sizeof info->uuid);
    get_into(r, info->name, sizeof info->name);
    get_into(r, info->driver, sizeof info->driver);
    info->cuda_version = (int)wire_get_u32(r);
    info->capability_major = (int)wire_get_u32(r);
    info->capability_minor = (int)wire_get_u32(r);
    info->multiprocessors = (int)wire_get_u32(r);
    info->memory_bytes = wire_get_u64(r);
    info->l2_bytes = wire_get_u64(r);
    info->is_mig = wire_get_u32(r) != 0;
    info->has_nvml = wire_get_u32(r) != 0;
    info->has_energy = wire_get_u32(r) != 0;
    return !r->failed;
}

bool gpu_get_request(wire_reader *r, gpu_request *request, size_t shape_count,
                     gpu_launch **launches)
{
    *request = (gpu_request){0};
    *launches = NULL;
    request->check = wire_get_u32(r) != 0;
    request->measure = wire_get_u32(r) != 0;
    request->energy = wire_get_u32(r) != 0;
    request->pairs = wire_get_u32(r);
    request->pair_seed = wire_get_u64(r);
    request->bound_s = wire_get_double(r);
    if (wire_get_u32(r) != 0) {
        *launches = mem_alloc(shape_count, sizeof **launches);
        for (size_t i = 0; *launches != NULL && i < shape_count; i++) {
            get_launch(r, &(*launches)[i]);
        }
        r->failed = r->failed || *launches == NULL;
    }
    request->launches = *launches;
    request->image = wire_get_text(r, &request->image_length);
    if (r->failed) {
        mem_free(*launches);
        *launches = NULL;
        return false;
    }
    return true;
}

static double *get_doubles(wire_reader *r, uint32_t *count)
{
    *count = get_count(r, sizeof(double));
    double *values = mem_alloc(*count, sizeof *values);
    for (uint32_t i = 0; values != NULL && i < *count; i++) {
        values[i] = wire_get_double(r);
    }
    r->failed = r->failed || values == NULL;
    return values;
}

bool gpu_get_result(wire_reader *r, gpu_result *result)
{
    *result = (gpu_result){0};
    result->outcome = (evocc_outcome)get_below(r, EVOCC_OUTCOME_COUNT);
    result->detail = mem_strdup(wire_get_string(r));
    result->early = wire_get_u32(r) != 0;
    result->runtime_s = wire_get_double(r);
    gpu_conditions *c = &result->conditions;
    c->sm_clock_hz = wire_get_double(r);
    c->memory_clock_hz = wire_get_double(r);
    c->temperature_c = wire_get_double(r);
    c->power_w = wire_get_double(r);
    c->throttle_reasons = wire_get_u64(r);
    result->energy.per_launch_j = wire_get_double(r);
    result->energy.power_w = wire_get_double(r);
    result->energy.window_s = wire_get_double(r);
    result->energy.resolution_j = wire_get_double(r);
    result->wall_s = wire_get_double(r);
    result->busy_s = wire_get_double(r);
    result->timing_count = get_count(r, 12);
    result->timings = mem_alloc(result->timing_count, sizeof *result->timings);
    r->failed = r->failed || result->timings == NULL || result->detail == NULL;
    for (size_t i = 0; i < result->timing_count && !r->failed; i++) {
        gpu_timing *t = &result->timings[i];
        t->batch = wire_get_u32(r);
        t->samples = get_doubles(r, &t->sample_count);
        t->baseline = get_doubles(r, &t->baseline_count);
    }
    if (r->failed) {
        gpu_result_dispose(result);
        return false;
    }
    return true;
}
