#include "compiler/probe.h"

#include "compiler/runs.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

static const double deadline_s = 60.0;
enum { CHOICES_MAX = 64 };

/* One value of one control. */
typedef struct probe {
    size_t control;
    int32_t value;
} probe;

typedef struct batch {
    probe *probes; /* borrowed from prober.probes */
    size_t count;
} batch;

typedef struct prober {
    const probe_plan *plan;
    launcher *launcher;
    probe *probes; /* ordered by batch */
    size_t probe_count;
    bool *rejected;
} prober;

/* Which values to try: all of a few, the ends of a range. */
static int32_t tried_count(const prober *p, const space_control *control)
{
    bool listed = control->kind == SPACE_CHOICE || control->kind == SPACE_BOOL;
    if (!p->plan->asks(p->plan->context, control)) {
        return 0;
    }
    if (listed) {
        return control->size < CHOICES_MAX ? control->size : CHOICES_MAX;
    }
    return control->size > 1 ? 2 : 1;
}

static int32_t tried_value(const space_control *control, int32_t which)
{
    bool listed = control->kind == SPACE_CHOICE || control->kind == SPACE_BOOL;
    return listed || which == 0 ? which : control->size - 1;
}

/* The batches of the first round, in one array; *count of them. The first is empty: the input has
   to compile by itself before an option can be blamed. */
static batch *first_round(prober *p, size_t *count)
{
    const evocc_space *space = p->plan->space;
    int32_t most = 0;
    size_t total = 0;
    for (size_t i = 0; i < space_count(space); i++) {
        int32_t tried = tried_count(p, space_get(space, i));
        most = tried > most ? tried : most;
        total += (size_t)tried;
    }
    p->probes = mem_alloc(total + 1, sizeof *p->probes);
    batch *batches = mem_alloc((size_t)most + 1, sizeof *batches);
    if (p->probes == NULL || batches == NULL) {
        mem_free(batches);
        return NULL;
    }
    batches[0] = (batch){p->probes, 0};
    for (int32_t which = 0; which < most; which++) {
        batch *b = &batches[which + 1];
        b->probes = p->probes + p->probe_count;
        for (size_t i = 0; i < space_count(space); i++) {
            const space_control *control = space_get(space, i);
            if (which < tried_count(p, control)) {
                b->probes[b->count++] = (probe){i, tried_value(control, which)};
            }
        }
        p->probe_count += b->count;
    }
    *count = (size_t)most + 1;
    return batches;
}

static void make_command(compiler_command *command, const prober *p, const batch *b, size_t number)
{
    const probe_plan *plan = p->plan;
    plan->begin(plan->context, command);
    for (size_t i = 0; i < b->count; i++) {
        plan->render(command, space_get(plan->space, b->probes[i].control), b->probes[i].value);
    }
    plan->end(plan->context, command, number);
}

/* Halves of the batches that failed, for the next round; culprits are marked. Returns how many. */
static size_t next_round(prober *p, batch *out, const batch *batches, const runs_item *runs,
                         size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        const batch *b = &batches[i];
        if (b->count == 0 || runs_succeeded(&runs[i].result)) {
            continue;
        }
        if (b->count == 1) {
            p->rejected[b->probes[0].control] = true;
            continue;
        }
        size_t half = b->count / 2;
        out[next++] = (batch){b->probes, half};
        out[next++] = (batch){b->probes + half, b->count - half};
    }
    return next;
}

static evocc_status cannot_compile(const runs_item *run, evocc_error *error)
{
    const process_result *r = &run->result;
    const char *said = r->errors != NULL ? r->errors : "";
    return error_set(error, EVOCC_UNSUPPORTED, "%s cannot compile a small input: %.*s",
                     run->command.argv[0], (int)strcspn(said, "\n"),
                     said[0] != '\0' ? said : "(it said nothing)");
}

static evocc_status run_round(prober *p, batch **batches, size_t *count, bool first,
                              evocc_error *error)
{
    size_t run_count = *count;
    runs_item *runs = mem_alloc(run_count, sizeof *runs);
    batch *next = mem_alloc(run_count * 2, sizeof *next);
    evocc_status status = EVOCC_OK;
    if (runs == NULL || next == NULL) {
        status = error_no_memory(error);
        goto cleanup;
    }
    for (size_t i = 0; i < run_count; i++) {
        make_command(&runs[i].command, p, &(*batches)[i], i);
    }
    status = runs_execute(p->launcher, runs, run_count, deadline_s, error);
    if (status == EVOCC_OK && first && !runs_succeeded(&runs[0].result)) {
        status = cannot_compile(&runs[0], error);
    }
    if (status != EVOCC_OK) {
        goto cleanup;
    }
    *count = next_round(p, next, *batches, runs, run_count);
    mem_free(*batches);
    *batches = next;
    next = NULL;

cleanup:
    runs_dispose(runs, run_count);
    mem_free(runs);
    mem_free(next);
    return status;
}

evocc_status probe_rejected(bool *rejected, const probe_plan *plan, launcher *l, evocc_error *error)
{
    prober p = {.plan = plan, .launcher = l, .rejected = rejected};
    size_t count = 0;
    batch *batches = first_round(&p, &count);
    evocc_status status = batches != NULL ? EVOCC_OK : error_no_memory(error);
    for (bool first = true; status == EVOCC_OK && count > 0; first = false) {
        status = run_round(&p, &batches, &count, first, error);
    }
    mem_free(batches);
    mem_free(p.probes);
    return status;
}
