/*
 * mutation.c: how many genes change is drawn from a mixture, how each changes fits its domain.
 * Sources: power law: B. Doerr, H. Le, R. Makhmara, T. Nguyen, "Fast genetic algorithms", GECCO
 * 2017 (beta = 1.5). Steps of ordered domains: geometric, as G. Rudolph, "An evolutionary algorithm
 * for integer programming", PPSN 1994.
 */
#include "search/variation.h"

/* How many of n genes change if each does with the probability p, but at least one. */
static size_t binomial(rng *r, size_t n, double p)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        k += rng_chance(r, p) ? 1 : 0;
    }
    return k == 0 ? 1 : k;
}

static size_t power_law(const variation *v, rng *r)
{
    double x = rng_unit(r) * v->power_law[v->count - 1];
    size_t k = 1;
    while (k < v->count && v->power_law[k - 1] <= x) {
        k++;
    }
    return k;
}

/* The mixture: one gene, about three, the configured share, and now and then a leap. */
static size_t change_count(const variation *v, rng *r)
{
    const search_tuning *t = &v->tuning;
    double x =
        rng_unit(r) * (t->mutation_one + t->mutation_three + t->mutation_rate + t->mutation_power);
    if ((x -= t->mutation_one) < 0) {
        return 1;
    }
    if ((x -= t->mutation_three) < 0) {
        return binomial(r, v->count, 3.0 / (double)v->count);
    }
    if ((x -= t->mutation_rate) < 0) {
        return binomial(r, v->count, v->mutate_rate);
    }
    return power_law(v, r);
}

static int32_t other_value(rng *r, int32_t size, int32_t current)
{
    if (current == SPACE_ABSENT) {
        return (int32_t)rng_below(r, (uint64_t)size);
    }
    int32_t value = (int32_t)rng_below(r, (uint64_t)size - 1);
    return value >= current ? value + 1 : value;
}

/* One step most often, two half as often, and so on; turned round at the ends of the domain. */
static int32_t step_value(rng *r, int32_t size, int32_t current, double longer)
{
    int32_t step = 1;
    while (step < size - 1 && rng_chance(r, longer)) {
        step++;
    }
    if (rng_chance(r, 0.5)) {
        step = -step;
    }
    int32_t value = current + step;
    if (value < 0 || value >= size) {
        value = current - step;
    }
    if (value < 0 || value >= size) {
        return other_value(r, size, current);
    }
    return value;
}

/* The value whose number is `factor` times that of `current`; SPACE_ABSENT: the domain has none. */
static int32_t scaled_value(const space_control *c, int32_t current, double factor)
{
    double wanted = space_value_number(c, current) * factor;
    if (c->kind == SPACE_INT) {
        double index = (wanted - (double)c->low) / (double)c->step;
        bool fits = index >= 0 && index < (double)c->size && index == (double)(int32_t)index;
        return fits ? (int32_t)index : SPACE_ABSENT;
    }
    for (int32_t i = 0; c->kind == SPACE_CHOICE && i < c->size; i++) {
        double number = space_value_number(c, i);
        if (number >= wanted && number <= wanted) {
            return i;
        }
    }
    return SPACE_ABSENT;
}

/* Tile and block sizes are best at powers of two and their multiples, whatever lies between: from
   128 the way leads to 64 and 256 rather than to 112. SPACE_ABSENT where neither exists. */
static int32_t double_or_half(rng *r, const space_control *c, int32_t current)
{
    double factor = rng_chance(r, 0.5) ? 2 : 0.5;
    int32_t value = scaled_value(c, current, factor);
    value = value == SPACE_ABSENT ? scaled_value(c, current, 1 / factor) : value;
    return value == current ? SPACE_ABSENT : value; /* zero is its own double */
}

static int32_t ordered_move(const variation *v, rng *r, size_t index, int32_t current)
{
    const gene_domain *d = &v->domains[index];
    const search_tuning *t = &v->tuning;
    double x = rng_unit(r);
    if (x < t->double_share) {
        int32_t value = double_or_half(r, space_get(v->space, index), current);
        if (value != SPACE_ABSENT) {
            return value;
        }
    }
    if (x < t->double_share + t->step_share) {
        return step_value(r, d->size, current, t->step_longer);
    }
    return other_value(r, d->size, current);
}

void variation_move(const variation *v, rng *r, int32_t *genes, size_t index)
{
    const gene_domain *d = &v->domains[index];
    int32_t current = variation_effective(v, genes, index);
    bool distinct = d->fallback == SPACE_ABSENT || d->parent != SPACE_ABSENT;
    if (genes[index] != SPACE_ABSENT && distinct) {
        /* Absent is one more value, likelier where the space says so. */
        double absent = 1.0 / d->size;
        if (d->size == 1 || rng_chance(r, d->knockout > absent ? d->knockout : absent)) {
            genes[index] = SPACE_ABSENT;
            return;
        }
    }
    if (d->size == 1) {
        genes[index] = 0;
    } else if (d->ordered && d->size > 2 && current != SPACE_ABSENT) {
        genes[index] = ordered_move(v, r, index, current);
    } else {
        genes[index] = other_value(r, d->size, current);
    }
}

/* What belongs together at times has to move together: one step away all may be worse. */
static void move_group(const variation *v, rng *r, int32_t *genes, uint32_t group)
{
    for (size_t i = 0; i < v->count; i++) {
        if (v->domains[i].group == group) {
            variation_move(v, r, genes, i);
        }
    }
}

void variation_mutate(const variation *v, rng *r, int32_t *genes)
{
    if (v->count == 0) {
        return;
    }
    size_t changes = change_count(v, r);
    for (size_t i = 0; i < changes; i++) {
        size_t gene = variation_pick(v, r);
        uint32_t group = v->domains[gene].group;
        if (group != 0 && rng_chance(r, v->tuning.group_share)) {
            move_group(v, r, genes, group);
        } else {
            variation_move(v, r, genes, gene);
        }
    }
}
