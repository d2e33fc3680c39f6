#include "search/tuning.h"

#include <stddef.h>
#include <string.h>

const search_tuning search_tuning_default = {
    .near_share = 0.1,
    .crossover_rate = 0.7,
    .mutate_after_crossover = 0,
    .parent_share = 0.5,
    .mutation_one = 2,
    .mutation_three = 0,
    .mutation_rate = 0.5,
    .mutation_power = 0.5,
    .step_share = 0.5,
    .step_longer = 0.5,
    .stale_limit = 0,
    .hall_share = 0.25,
    .clearing = 0,
    .screened = 1,
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
    CONSTANT(near_share),    CONSTANT(crossover_rate), CONSTANT(mutate_after_crossover),
    CONSTANT(parent_share),  CONSTANT(mutation_one),   CONSTANT(mutation_three),
    CONSTANT(mutation_rate), CONSTANT(mutation_power), CONSTANT(step_share),
    CONSTANT(step_longer),   CONSTANT(stale_limit),    CONSTANT(hall_share),
    CONSTANT(clearing),      CONSTANT(screened),       CONSTANT(unscreened),
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
