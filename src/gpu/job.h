/*
 * job.h: a workload with every expression resolved to numbers, as the study sends it to the worker;
 * what is asked of the worker for one candidate; and what it answers. With the wire's form of each.
 */
#ifndef GPU_JOB_H
#define GPU_JOB_H

#include "gpu/dtype.h"
#include "util/launcher_wire.h"
#include "util/mem.h"

/* ---- What is run ----------------------------------------------------------------------------- */

typedef enum gpu_init {
    GPU_ZEROS,
    GPU_CONSTANT, /* first */
    GPU_UNIFORM,  /* from first to second; integers: both included */
    GPU_NORMAL,   /* mean first, standard deviation second */
    GPU_IOTA,     /* first, first + second, ... */
    GPU_FILE      /* .npy */
} gpu_init;

typedef enum gpu_access { GPU_IN, GPU_OUT, GPU_INOUT } gpu_access;

/* An element is right when |value - reference| <= absolute + relative * |reference| + rms * the
   root mean square of the reference's finite elements. All 0: bit for bit. */
typedef struct gpu_tolerance {
    double absolute, relative, rms;
} gpu_tolerance;
bool gpu_tolerance_is_exact(const gpu_tolerance *tolerance);

typedef struct gpu_argument {
    const char *name;
    bool is_buffer;
    dtype type;
    unsigned char scalar[8]; /* its bytes, unless a buffer */
    uint64_t elements;
    gpu_init init;
    double first, second;
    const char *file;      /* of GPU_FILE; absolute path; NULL else */
    const char *reference; /* .npy of the right output; NULL: the baseline's */
    gpu_access access;
    gpu_tolerance tolerance;
} gpu_argument;

typedef struct gpu_launch {
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* all 0: none asked for */
    uint32_t shared_bytes;
} gpu_launch;

typedef struct gpu_shape {
    const char *name;
    double weight;
    gpu_launch launch;
    gpu_argument *arguments;
    size_t count;
} gpu_shape;

typedef struct gpu_check_plan {
    uint32_t seeds;     /* different inputs */
    uint32_t repeats;   /* runs of each, for races */
    uint32_t self_runs; /* of the baseline against itself before it is a reference */
    uint64_t seed;
} gpu_check_plan;

typedef struct gpu_measure_plan {
    bool flush_l2;  /* before each launch; else the cache is as warm as launches leave it */
    bool restore;   /* inout buffers before each launch; else they go on from launch to launch */
    bool graph;     /* launches of a batch are replayed as one CUDA graph */
    double batch_s; /* wanted length of one sample */
    uint32_t min_samples, max_samples;
    double width;      /* samples are enough when the median is known to this, relative */
    double slow;       /* a candidate slower than this times the bound is not measured further */
    double energy_s;   /* window of an energy measurement */
    double deadline_s; /* of one launch; then it hangs */
} gpu_measure_plan;

typedef struct gpu_job {
    const char *kernel;
    gpu_shape *shapes;
    size_t shape_count;
    gpu_check_plan check;
    gpu_measure_plan measure;
    arena memory; /* holds all texts and arrays when read from the wire or from a workload */
} gpu_job;
void gpu_job_dispose(gpu_job *job);
/* The documented defaults of both plans. */
void gpu_job_defaults(gpu_job *job);

/* ---- What is asked --------------------------------------------------------------------------- */

typedef struct gpu_request {
    const void *image; /* cubin (or PTX, for the driver to compile) */
    size_t image_length;
    const gpu_launch *launches; /* one a shape; NULL: the job's own */
    bool check, measure, energy;
    /* Above 0: baseline and candidate are sampled in turn, in this many pairs, in random order
       within each; `pair_seed` decides. Else the candidate is sampled, with the baseline at both
       ends. */
    uint32_t pairs;
    uint64_t pair_seed;
    double bound_s; /* of the best so far, weighted over the shapes; 0: none. For plan.slow. */
} gpu_request;

/* ---- What is answered ------------------------------------------------------------------------ */

/* Of one shape. Times are of one launch. Samples: medians are taken by the reader. */
typedef struct gpu_timing {
    double *samples, *baseline; /* s; with pairs, as many of both, pair by pair */
    uint32_t sample_count, baseline_count;
    uint32_t batch; /* launches in one sample */
} gpu_timing;

typedef struct gpu_conditions {
    double sm_clock_hz, memory_clock_hz, temperature_c, power_w; /* under load; NAN: not known */
    uint64_t throttle_reasons;                                   /* while measuring */
} gpu_conditions;

typedef struct gpu_energy {
    double per_launch_j; /* weighted over the shapes; NAN: not measured */
    double power_w;
    double window_s;     /* between the counter's edges, all shapes together */
    double resolution_j; /* of per_launch_j, from the counter's step */
} gpu_energy;

typedef struct gpu_result {
    evocc_outcome outcome;
    char *detail;        /* what a person can act on; "" when all is well */
    bool early;          /* clearly slow: fewer samples, or only the one run that was checked */
    double runtime_s;    /* of a launch, weighted over the shapes; NAN: not measured */
    gpu_timing *timings; /* one a shape; NULL: not measured */
    size_t timing_count;
    gpu_conditions conditions;
    gpu_energy energy;
    double wall_s, busy_s; /* of the request; of it, with the GPU at work */
} gpu_result;
void gpu_result_dispose(gpu_result *result);

/* ---- The GPU --------------------------------------------------------------------------------- */

typedef struct gpu_info {
    char uuid[64], name[128], driver[80]; /* driver: "580.159.04"; "" unknown */
    int cuda_version;                     /* 13000 for 13.0 */
    int capability_major, capability_minor, multiprocessors;
    uint64_t memory_bytes, l2_bytes;
    bool is_mig, has_nvml, has_energy;
} gpu_info;

/* ---- The wire -------------------------------------------------------------------------------- */

#define GPU_PROTOCOL 1U

/* Frames of launcher_wire.h. The worker greets; then each request has one answer. */
enum {
    GPU_WIRE_HELLO = WIRE_OTHER, /* protocol, error, info; with it, once, the lock's descriptor */
    GPU_WIRE_LOAD,               /* job, baseline's image; answered by GPU_WIRE_LOADED */
    GPU_WIRE_LOADED,             /* error, outcome, detail, hash of the reference outputs */
    GPU_WIRE_RUN,                /* request; answered by GPU_WIRE_RESULT or GPU_WIRE_LOST */
    GPU_WIRE_RESULT,             /* result, whether the worker goes on */
    GPU_WIRE_LOST                /* error: the machine's fault, not the candidate's */
};

void gpu_put_info(strbuf *b, const gpu_info *info);
bool gpu_read_info(wire_reader *r, gpu_info *info);
void gpu_put_job(strbuf *b, const gpu_job *job);
bool gpu_get_job(wire_reader *r, gpu_job *job); /* false: malformed, or no memory */
void gpu_put_request(strbuf *b, const gpu_request *request, size_t shape_count);
/* Image and launches are borrowed from the frame and from *launches, which the caller mem_frees. */
bool gpu_get_request(wire_reader *r, gpu_request *request, size_t shape_count,
                     gpu_launch **launches);
void gpu_put_result(strbuf *b, const gpu_result *result);
bool gpu_get_result(wire_reader *r, gpu_result *result);

#endif
