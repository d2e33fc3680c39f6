#include "search/walk.h"

/* Absent is a state of its own unless it means the default value. */
static bool absent_is_distinct(const space_control *c)
{
    return c->default_index == SPACE_ABSENT || c->parent != SPACE_ABSENT;
}

static uint64_t states_of(const space_control *c)
{
    return (uint64_t)c->size + (absent_is_distinct(c) ? 1 : 0);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void walk_init(walk *w, const evocc_space *space, uint64_t seed)
{
    *w = (walk){.size = 1};
    for (size_t i = 0; i < space_count(space); i++) {
        uint64_t states = states_of(space_get(space, i));
        if (states > WALK_LIMIT / w->size) {
            w->size = 0;
            return;
        }
        w->size *= states;
    }
    /* A stride without a common divisor visits every residue once; near the golden section its
       multiples are spread evenly. */
    w->stride = w->size * 618 / 1000 + 1;
    while (greatest_common_divisor(w->stride, w->size) != 1) {
        w->stride++;
    }
    w->position = seed % w->size;
}

bool walk_next(walk *w, const evocc_space *space, int32_t *genes)
{
    if (w->visited >= w->size) {
        return false;
    }
    uint64_t code = w->position;
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *c = space_get(space, i);
        uint64_t state = code % states_of(c);
        code /= states_of(c);
        genes[i] = state == (uint64_t)c->size ? SPACE_ABSENT : (int32_t)state;
    }
    w->position = (w->position + w->stride) % w->size;
    w->visited++;
    return true;
}
