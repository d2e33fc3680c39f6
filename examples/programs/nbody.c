/*
 * nbody.c: gravity between some hundred bodies, leapfrog steps; double precision.
 *
 * Positions are kept as one array a coordinate and forces are summed body by body, so that the
 * inner loop reads memory in order. Prints the energy before and after and a checksum of all bits,
 * so that a build which rounds otherwise is seen.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 384, STEPS = 300 };
static const double softening = 1e-3, step_s = 1e-4;

typedef struct bodies {
    double x[BODIES], y[BODIES], z[BODIES];
    double vx[BODIES], vy[BODIES], vz[BODIES];
    double mass[BODIES];
} bodies;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double random_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static void scatter(bodies *b)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < BODIES; i++) {
        b->x[i] = random_unit(&state) - 0.5;
        b->y[i] = random_unit(&state) - 0.5;
        b->z[i] = random_unit(&state) - 0.5;
        b->vx[i] = b->vy[i] = b->vz[i] = 0.0;
        b->mass[i] = (0.5 + random_unit(&state)) / BODIES;
    }
}

static void accelerate(bodies *restrict b)
{
    for (int i = 0; i < BODIES; i++) {
        double ax = 0.0;
        double ay = 0.0;
        double az = 0.0;
        for (int k = 0; k < BODIES; k++) {
            double dx = b->x[k] - b->x[i];
            double dy = b->y[k] - b->y[i];
            double dz = b->z[k] - b->z[i];
            double square = dx * dx + dy * dy + dz * dz + softening;
            double pull = b->mass[k] / (square * sqrt(square));
            ax += pull * dx;
            ay += pull * dy;
            az += pull * dz;
        }
        b->vx[i] += step_s * ax;
        b->vy[i] += step_s * ay;
        b->vz[i] += step_s * az;
    }
}

static void move(bodies *restrict b)
{
    for (int i = 0; i < BODIES; i++) {
        b->x[i] += step_s * b->vx[i];
        b->y[i] += step_s * b->vy[i];
        b->z[i] += step_s * b->vz[i];
    }
}

static double energy(const bodies *b)
{
    double sum = 0.0;
    for (int i = 0; i < BODIES; i++) {
        double speed = b->vx[i] * b->vx[i] + b->vy[i] * b->vy[i] + b->vz[i] * b->vz[i];
        sum += 0.5 * b->mass[i] * speed;
        for (int k = i + 1; k < BODIES; k++) {
            double dx = b->x[k] - b->x[i];
            double dy = b->y[k] - b->y[i];
            double dz = b->z[k] - b->z[i];
            sum -= b->mass[i] * b->mass[k] / sqrt(dx * dx + dy * dy + dz * dz + softening);
        }
    }
    return sum;
}

static uint64_t checksum(const bodies *b)
{
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < BODIES; i++) {
        const double values[] = {b->x[i], b->y[i], b->z[i], b->vx[i], b->vy[i], b->vz[i]};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            uint64_t bits;
            memcpy(&bits, &values[k], sizeof bits);
            sum = (sum ^ bits) * 1099511628211u;
        }
    }
    return sum;
}

int main(void)
{
    static bodies all;
    scatter(&all);
    printf("energy %a\n", energy(&all));
    for (int i = 0; i < STEPS; i++) {
        accelerate(&all);
        move(&all);
    }
    printf("energy %a\nbits %016" PRIx64 "\n", energy(&all), checksum(&all));
    return EXIT_SUCCESS;
}
