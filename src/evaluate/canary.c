#include "evaluate/evaluate.h"

#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* So many controls of a stage are tried; one that changes nothing may just not concern this kernel.
 */
enum { TRIES_PER_STAGE = 8 };

/* Controls that change most kernels, before all others. */
static const char *const strong[] = {"ptxas/opt-level",
                                     "ptxas/Ofast-compile",
                                     "ptxas/maxrregcount",
                                     "ptxas/register-usage-level",
                                     "ptxas/dont-merge-basicblocks",
                                     "gcc/O",
                                     "clang/O"};

/* 0 for the strongest; wide PTX controls come before those of single sites, order before others. */
static int rank(const space_control *control)
{
    int count = (int)(sizeof strong / sizeof *strong);
    for (int i = 0; i < count; i++) {
        if (strcmp(control->full_name, strong[i]) == 0) {
            return i;
        }
    }
    bool wide = control->parent == SPACE_ABSENT;
    bool order = strncmp(control->name, "order@", 6) == 0;
    return count + (order ? 0 : 1) + (wide ? 0 : 2);
}

/* A value far from the default: the last one for a shuffle or a limit, the first when the last is
   the default. */
static int32_t far_value(const space_control *control)
{
    int32_t last = control->size - 1;
    return control->default_index >= 0 && control->default_index * 2 > last ? 0 : last;
}

/* The next control of this stage by rank, then by place; not tried so far. (size_t)-1: none. */
static size_t next_control(const evocc_space *space, space_stage stage, const bool *tried)
{
    size_t best = (size_t)-1;
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        if (control->stage == stage && !tried[i] &&
            (best == (size_t)-1 || rank(control) < rank(space_get(space, best)))) {
            best = i;
        }
    }
    return best;
}

typedef struct canary {
    evaluator *evaluator;
    const evocc_space *space;
    const char *baseline_hash;
    bool *tried;
    int32_t *genes;
    strbuf names; /* of what changed nothing */
    size_t count;
    bool changed;
} canary;

static evocc_status try_genes(canary *c, evocc_error *error)
{
    evaluate_result result = {0};
    evocc_status status = c->evaluator->class->submit(c->evaluator, 0, c->genes, error);
    if (status == EVOCC_OK) {
        status = c->evaluator->class->wait(c->evaluator, -1.0, -1, &result, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (result.code_hash[0] != '\0') { /* it was compiled, whatever became of it then */
        c->changed = strcmp(result.code_hash, c->baseline_hash) != 0;
        strbuf_puts(&c->names, c->count > 0 ? ", " : "");
        space_candidate_text(&c->names, c->space, c->genes);
        c->count++;
    }
    evaluate_result_dispose(&result);
    return EVOCC_OK;
}

static evocc_status try_stage(canary *c, space_stage stage, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (int tries = 0; tries < TRIES_PER_STAGE && !c->changed && status == EVOCC_OK;) {
        size_t index = next_control(c->space, stage, c->tried);
        if (index == (size_t)-1) {
            break;
        }
        c->tried[index] = true;
        for (size_t i = 0; i < space_count(c->space); i++) {
            c->genes[i] = SPACE_ABSENT;
        }
        c->genes[index] = far_value(space_get(c->space, index));
        space_canonicalise(c->space, c->genes);
        if (c->genes[index] != SPACE_ABSENT && space_check(c->space, c->genes, NULL) == EVOCC_OK) {
            status = try_genes(c, error);
            tries++;
        }
    }
    return status;
}

evocc_status evaluate_canary(evaluator *e, const evocc_space *space, const char *baseline_hash,
                             evocc_error *error)
{
    if (e->in_flight > 0) {
        return error_set(error, EVOCC_BUSY, "%zu candidates are still in flight", e->in_flight);
    }
    canary c = {.evaluator = e, .space = space, .baseline_hash = baseline_hash};
    c.tried = mem_alloc(space_count(space) + 1, sizeof *c.tried);
    c.genes = mem_alloc(space_count(space) + 1, sizeof *c.genes);
    evocc_status status = c.tried != NULL && c.genes != NULL ? EVOCC_OK : error_no_memory(error);
    static const space_stage stages[] = {SPACE_STAGE_PTXAS, SPACE_STAGE_PTX, SPACE_STAGE_GCC,
                                         SPACE_STAGE_CLANG};
    for (size_t i = 0; status == EVOCC_OK && !c.changed && i < sizeof stages / sizeof *stages;
         i++) {
        status = try_stage(&c, stages[i], error);
    }
    if (status == EVOCC_OK && !c.changed && c.count > 0) {
        status = error_set(error, EVOCC_PROCESS,
                           "the controls do not reach the compiler: the machine code stayed the "
                           "same under %s; is the compiler a wrapper that drops options?",
                           strbuf_text(&c.names));
    }
    strbuf_dispose(&c.names);
    mem_free(c.genes);
    mem_free(c.tried);
    return status;
}
