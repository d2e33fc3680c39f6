/* workload_internal.h: what workload.c, workload_resolve.c and workload_settings.c share. */
#ifndef GPU_WORKLOAD_INTERNAL_H
#define GPU_WORKLOAD_INTERNAL_H

#include "gpu/workload.h"
#include "space/arithmetic.h"
#include "util/yaml.h"

struct workload {
    yaml_document *document;
    char *folder;
    arena memory; /* of what was read once */
    workload_module module;
    workload_parameter *parameters;
    size_t parameter_count;
};

/* EVOCC_PARSE with the node's place: "<what> is expected here". */
evocc_status workload_expect(const workload *w, const yaml_node *node, yaml_kind kind,
                             const char *what, evocc_error *error);
/* The value of a key that must be there. */
evocc_status workload_need(const yaml_node **out, const workload *w, const yaml_node *mapping,
                           const char *key, evocc_error *error);
evocc_status workload_check_name(const workload *w, const yaml_node *node, evocc_error *error);
/* A file named in the workload; NULL: out of memory. */
const char *workload_path(const workload *w, const char *name, arena *memory);

/* ---- From a workload to a job ---------------------------------------------------------------- */

enum { NAMES_MAX = 96 };

typedef struct resolver {
    const workload *w;
    gpu_job *job;
    arithmetic_name names[NAMES_MAX];
    size_t shape_names, name_count; /* the shape's variables first, then the parameters */
    evocc_error *error;
} resolver;

evocc_status resolve_bad(resolver *r, const yaml_node *node, const char *message);
/* Any scalar is an expression; `names` says how many of the names it may use. */
evocc_status resolve_number(resolver *r, double *out, const yaml_node *node, size_t names);
/* A number of a mapping of settings, between low and high; *out stays as it is when it is not
 * there. */
evocc_status resolve_setting(resolver *r, double *out, const yaml_node *mapping, const char *key,
                             double low, double high);
/* The mappings "check" and "measure"; NULL: the defaults that the job has. */
evocc_status resolve_check(resolver *r, const yaml_node *node);
evocc_status resolve_measure(resolver *r, const yaml_node *node);

#endif
