#include "search/tuning.h"

#include <string.h>

const search_tuning search_tuning_default = {
    .near_share = 0.1,
    .spread = 8,
    .parent_share = 0.25,
    .stale_spread = 0.5,
    .marginal_share = 0.2,
    .crossover_rate = 0.7,
    .mutate_after_crossover = 0,
    .mutation_one = 2,
    .mutation_three = 0,
    .mutation_rate = 0.5,
    .mutation_power = 0.5,
    .step_share = 0.5,
    .step_longer = 0.5,
    .double_share = 0.2,
    .group_share = 0.2,
    .mutate_on_stale = 20,
    .stale_limit = 8,
    .elder_share = 0.5,
    .screened = 4,
    .unscreened = 0.2,
};

#define CONSTANT(name)                       \
    {                                        \
#name, offsetof(search_tuning, name) \
    }

static const struct {
    const char *name;
    size_t offset;
} constants[] = {
    CONSTANT(near_share),
    CONSTANT(spread),
    CONSTANT(parent_share),
    CONSTANT(stale_spread),
    CONSTANT(marginal_share),
    CONSTANT(crossover_rate),
    CONSTANT(mutate_after_crossover),
    CONSTANT(mutation_one),
    CONSTANT(mutation_three),
    CONSTANT(mutation_rate),
    CONSTANT(mutation_power),
    CONSTANT(step_share),
    CONSTANT(step_longer),
    CONSTANT(double_share),
    CONSTANT(group_share),
    CONSTANT(mutate_on_stale),
    CONSTANT(stale_limit),
    CONSTANT(elder_share),
    CONSTANT(screened),
    CONSTANT(unscreened),
};

_Static_assert(sizeof constants / sizeof *constants == sizeof(search_tuning) / sizeof(double),
               "every constant has a name");

bool search_tuning_set(search_tuning *tuning, const char *name, size_t length, double value)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strlen(constants[i].name) == length && strncmp(constants[i].name, name, length) == 0) {
            memcpy((char *)tuning + constants[i].offset, &value, sizeof value);
            return true;
        }
    }
    return false;
}
