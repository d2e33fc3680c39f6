/* workload_settings.c: how a workload is checked and measured. */
#include "gpu/workload_internal.h"

#include <math.h>
#include <string.h>

evocc_status resolve_setting(resolver *r, double *out, const yaml_node *mapping, const char *key,
                             double low, double high)
{
    const yaml_node *node = yaml_get(mapping, key);
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = resolve_number(r, out, node, 0);
    if (status == EVOCC_OK && (*out < low || *out > high)) {
        status = yaml_error(r->w->document, node, r->error, "'%s' lies between %.12g and %.12g",
                            key, low, high);
    }
    return status;
}

static evocc_status count_setting(resolver *r, uint32_t *out, const yaml_node *mapping,
                                  const char *key, double low, double high)
{
    double value = *out;
    evocc_status status = resolve_setting(r, &value, mapping, key, low, high);
    if (status == EVOCC_OK && value != floor(value)) {
        status = resolve_bad(r, yaml_get(mapping, key), "a whole number is expected here");
    }
    if (status == EVOCC_OK) {
        *out = (uint32_t)value;
    }
    return status;
}

static evocc_status flag(resolver *r, bool *out, const yaml_node *mapping, const char *key)
{
    const yaml_node *node = yaml_get(mapping, key);
    return node != NULL ? yaml_bool(out, r->w->document, node, r->error) : EVOCC_OK;
}

evocc_status resolve_check(resolver *r, const yaml_node *node)
{
    static const char *const keys[] = {"seeds", "repeats", "self_runs", "seed", NULL};
    gpu_check_plan *c = &r->job->check;
    double seed = (double)c->seed;
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = workload_expect(r->w, node, YAML_MAPPING, "a mapping", r->error);
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->w->document, node, keys, r->error);
    }
    if (status == EVOCC_OK) {
        status = count_setting(r, &c->seeds, node, "seeds", 1, 16);
    }
    if (status == EVOCC_OK) {
        status = count_setting(r, &c->repeats, node, "repeats", 1, 100);
    }
    if (status == EVOCC_OK) {
        status = count_setting(r, &c->self_runs, node, "self_runs", 1, 1000);
    }
    if (status == EVOCC_OK) {
        status = resolve_setting(r, &seed, node, "seed", 0, 9e15);
        c->seed = status == EVOCC_OK ? (uint64_t)seed : 0;
    }
    return status;
}

static evocc_status read_cache(resolver *r, gpu_measure_plan *m, const yaml_node *node)
{
    if (node == NULL) {
        return EVOCC_OK;
    }
    m->flush_l2 = node->kind == YAML_SCALAR && strcmp(node->text, "flush") == 0;
    return m->flush_l2 || (node->kind == YAML_SCALAR && strcmp(node->text, "warm") == 0)
               ? EVOCC_OK
               : resolve_bad(r, node, "'warm' or 'flush' is expected here");
}

evocc_status resolve_measure(resolver *r, const yaml_node *node)
{
    static const char *const keys[] = {"l2",          "restore",    "graph",       "batch_s",
                                       "min_samples", "width",      "max_samples", "slow",
                                       "energy_s",    "deadline_s", NULL};
    gpu_measure_plan *m = &r->job->measure;
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = workload_expect(r->w, node, YAML_MAPPING, "a mapping", r->error);
    if (status == EVOCC_OK) {
        status = yaml_only_keys(r->w->document, node, keys, r->error);
    }
    if (status == EVOCC_OK) {
        status = read_cache(r, m, yaml_get(node, "l2"));
    }
    if (status == EVOCC_OK) {
        status = flag(r, &m->restore, node, "restore");
    }
    if (status == EVOCC_OK) {
        status = flag(r, &m->graph, node, "graph");
    }
    const struct {
        const char *key;
        double *value;
        double low, high;
    } numbers[] = {{"batch_s", &m->batch_s, 1e-5, 10},
                   {"width", &m->width, 1e-5, 1},
                   {"slow", &m->slow, 1, 1000},
                   {"energy_s", &m->energy_s, 0.1, 600},
                   {"deadline_s", &m->deadline_s, 1e-3, 3600}};
    for (size_t i = 0; status == EVOCC_OK && i < sizeof numbers / sizeof *numbers; i++) {
        status = resolve_setting(r, numbers[i].value, node, numbers[i].key, numbers[i].low,
                                 numbers[i].high);
    }
    if (status == EVOCC_OK) {
        status = count_setting(r, &m->min_samples, node, "min_samples", 1, 256);
    }
    if (status == EVOCC_OK) {
        status = count_setting(r, &m->max_samples, node, "max_samples", 1, 256);
    }
    if (status == EVOCC_OK && m->min_samples > m->max_samples) {
        status = resolve_bad(r, node, "min_samples is larger than max_samples");
    }
    if (status == EVOCC_OK && m->graph && (m->flush_l2 || m->restore)) {
        status = resolve_bad(
            r, node, "a graph replays launches alone: neither flush nor restore goes with it");
    }
    return status;
}
