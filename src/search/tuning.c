#include "search/tuning.h"

#include <stddef.h>
#include <string.h>

const search_tuning search_tuning_default = {
    .near_share = 0.25,
    .crossover_rate = 0.9,
    .mutate_after_crossover = 1.0,
    .parent_share = 1.0,
    .mutation_one = 1,
    .mutation_three = 1,
    .mutation_rate = 1,
    .mutation_power = 1,
    .step_share = 0.75,
    .step_longer = 0.5,
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
    CONSTANT(step_longer),
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
