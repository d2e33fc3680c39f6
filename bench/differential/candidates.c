#include "differential.h"

#include "util/error.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

enum { TRIES = 50 };

void trials_dispose(trial_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mem_free(list->items[i].genes);
        mem_free(list->items[i].detail);
        mem_free(list->items[i].code);
    }
    mem_free(list->items);
    *list = (trial_list){0};
}

static bool is_known(const trial_list *list, const subject *s, const int32_t *genes)
{
    size_t bytes = space_count(s->space) * sizeof *genes;
    for (size_t i = 0; i < list->count; i++) {
        if (memcmp(list->items[i].genes, genes, bytes) == 0) {
            return true;
        }
    }
    return false;
}

evocc_status trials_add(trial_list *list, const subject *s, const int32_t *genes, size_t of_kind,
                        bool *added, evocc_error *error)
{
    size_t count = space_count(s->space);
    int32_t *own = mem_alloc(count + 1, sizeof *own);
    *added = false;
    if (own == NULL ||
        !mem_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        mem_free(own);
        return error_no_memory(error);
    }
    memcpy(own, genes, count * sizeof *own);
    space_canonicalise(s->space, own);
    if (is_known(list, s, own) || space_check(s->space, own, NULL) != EVOCC_OK) {
        mem_free(own);
        return EVOCC_OK;
    }
    list->items[list->count++] =
        (trial){.genes = own, .kind = of_kind, .ratio = (double)NAN, .outcome = EVOCC_OUTCOME_OK};
    *added = true;
    return EVOCC_OK;
}

static void clear(const subject *s, int32_t *genes)
{
    for (size_t i = 0; i < space_count(s->space); i++) {
        genes[i] = SPACE_ABSENT;
    }
}

static bool is_site(const space_control *control)
{
    const char *at = strchr(control->name, '@');
    return control->stage == SPACE_STAGE_PTX && at != NULL && strchr(at, '.') != NULL;
}

evocc_status trials_add_wide(trial_list *list, const subject *s, evocc_error *error)
{
    bool added;
    evocc_status status = EVOCC_OK;
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    if (genes == NULL) {
        return error_no_memory(error);
    }
    clear(s, genes);
    for (size_t k = 0; k < s->kind_count; k++) {
        for (size_t i = 0; i < s->kinds[k].count; i++) {
            size_t index = s->kinds[k].controls[i];
            const space_control *control = space_get(s->space, index);
            for (int32_t v = 0; status == EVOCC_OK && !is_site(control) && v < control->size; v++) {
                genes[index] = v;
                status = trials_add(list, s, genes, k, &added, error);
            }
            genes[index] = SPACE_ABSENT;
        }
    }
    mem_free(genes);
    return status;
}

static void set_random(const subject *s, rng *r, int32_t *genes, size_t control)
{
    const space_control *c = space_get(s->space, control);
    genes[control] = (int32_t)rng_below(r, (uint64_t)c->size);
}

/* The wide form in half the cases: it is one of many otherwise. */
static void set_of_kind(const subject *s, rng *r, int32_t *genes, const kind *k)
{
    size_t first = rng_below(r, 2) == 0 ? 0 : rng_below(r, k->count);
    set_random(s, r, genes, k->controls[first]);
}

static void set_many(const subject *s, rng *r, int32_t *genes)
{
    static const double shares[] = {0.02, 0.1, 0.4, 0.9};
    double share = shares[rng_below(r, 4)];
    for (size_t i = 0; i < space_count(s->space); i++) {
        if (rng_chance(r, share)) {
            set_random(s, r, genes, i);
        }
    }
}

/* Two in five of one control (each kind in turn), one of a few, one as a search samples, one of
   many. */
static evocc_status random_genes(const subject *s, rng *r, size_t number, int32_t *genes,
                                 size_t *of_kind, evocc_error *error)
{
    clear(s, genes);
    *of_kind = MIXED;
    switch (number % 5) {
    case 0:
    case 1:
        *of_kind = number / 5 * 2 % s->kind_count + number % 5;
        *of_kind = *of_kind < s->kind_count ? *of_kind : 0;
        set_of_kind(s, r, genes, &s->kinds[*of_kind]);
        return EVOCC_OK;
    case 2:
        for (size_t i = 2 + rng_below(r, 5); i > 0; i--) {
            set_of_kind(s, r, genes, &s->kinds[rng_below(r, s->kind_count)]);
        }
        return EVOCC_OK;
    case 3:
        return space_sample(s->space, r, genes, error);
    default:
        set_many(s, r, genes);
        return EVOCC_OK;
    }
}

evocc_status trials_add_random(trial_list *list, const subject *s, rng *r, size_t count,
                               evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    if (genes == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        bool added = false;
        for (int tries = 0; status == EVOCC_OK && !added && tries < TRIES; tries++) {
            size_t of_kind;
            /* A kind may be used up: the next then. */
            status = random_genes(s, r, i + (size_t)(tries / 5) * 5, genes, &of_kind, error);
            if (status == EVOCC_OK && space_repair(s->space, r, genes)) {
                status = trials_add(list, s, genes, of_kind, &added, error);
            }
        }
    }
    mem_free(genes);
    return status;
}

evocc_status trials_add_sites(trial_list *list, const subject *s, rng *r, size_t count,
                              evocc_error *error)
{
    static const double shares[] = {0.1, 0.3, 0.5, 1.0};
    bool added;
    evocc_status status = EVOCC_OK;
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    if (genes == NULL) {
        return error_no_memory(error);
    }
    for (size_t k = 0; k < s->kind_count; k++) {
        const kind *of = &s->kinds[k];
        for (size_t i = 0; status == EVOCC_OK && of->count > 1 && i < count; i++) {
            clear(s, genes);
            set_random(s, r, genes, of->controls[rng_below(r, of->count)]);
            status = trials_add(list, s, genes, k, &added, error);
        }
        for (size_t i = 0; status == EVOCC_OK && of->count > 1 && i < count; i++) {
            clear(s, genes);
            for (size_t c = 0; c < of->count; c++) {
                if (rng_chance(r, shares[i % 4])) {
                    set_random(s, r, genes, of->controls[c]);
                }
            }
            if (space_repair(s->space, r, genes)) {
                status = trials_add(list, s, genes, k, &added, error);
            }
        }
    }
    mem_free(genes);
    return status;
}
