/*
 * wave.c: a damped wave on a square membrane, explicit in time, fourth order in space; single
 * precision. Two fields take turns; the grid fits a second-level cache. Prints samples and a
 * checksum of all bits, so that a build which rounds otherwise is seen.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 260, BORDER = 2, STEPS = 4000 };
static const float courant = 0.2f, damping = 1e-4f;

typedef struct field {
    float at[SIDE][SIDE];
} field;

static float laplacian(const field *f, int y, int x)
{
    float near = f->at[y - 1][x] + f->at[y + 1][x] + f->at[y][x - 1] + f->at[y][x + 1];
    float far = f->at[y - 2][x] + f->at[y + 2][x] + f->at[y][x - 2] + f->at[y][x + 2];
    return (16.0f * near - far - 60.0f * f->at[y][x]) / 12.0f;
}

/* `next` holds the step before `now` and becomes the one after it. */
static void advance(field *next, const field *now)
{
    for (int y = BORDER; y < SIDE - BORDER; y++) {
        for (int x = BORDER; x < SIDE - BORDER; x++) {
            float before = next->at[y][x];
            float speed = (now->at[y][x] - before) * (1.0f - damping);
            next->at[y][x] = now->at[y][x] + speed + courant * laplacian(now, y, x);
        }
    }
}

static void strike(field *f, int y, int x, float height)
{
    for (int dy = -8; dy <= 8; dy++) {
        for (int dx = -8; dx <= 8; dx++) {
            float square = (float)(dy * dy + dx * dx);
            f->at[y + dy][x + dx] += height / (1.0f + square);
        }
    }
}

static uint64_t checksum(const field *f)
{
    uint64_t sum = 14695981039346656037u;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            uint32_t bits;
            memcpy(&bits, &f->at[y][x], sizeof bits);
            sum = (sum ^ bits) * 1099511628211u;
        }
    }
    return sum;
}

int main(void)
{
    static field fields[2];
    strike(&fields[0], SIDE / 3, SIDE / 4, 1.0f);
    strike(&fields[0], SIDE / 2, 2 * SIDE / 3, -0.5f);
    fields[1] = fields[0];
    for (int i = 0; i < STEPS; i++) {
        advance(&fields[(i + 1) % 2], &fields[i % 2]);
        if (i % 1000 == 999) {
            printf("%d: %a %a\n", i + 1, (double)fields[0].at[SIDE / 2][SIDE / 2],
                   (double)fields[1].at[SIDE / 3][SIDE / 2]);
        }
    }
    printf("bits %016" PRIx64 "\n", checksum(&fields[STEPS % 2]));
    return EXIT_SUCCESS;
}
