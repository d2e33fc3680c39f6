/* workload_internal.h: what workload.c and workload_resolve.c share. */
#ifndef GPU_WORKLOAD_INTERNAL_H
#define GPU_WORKLOAD_INTERNAL_H

#include "gpu/workload.h"
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

#endif
