/*
 * bench_space: what one candidate costs in src/space.
 *
 * usage: bench_space [SECONDS]      time given to each line (0.5)
 *
 * Spaces of 40, 200 and 600 controls: a sixth of each kind of domain, a third of the controls an
 * exception to a wide form, a fifth under a condition, one forbidden combination to ten controls.
 * Then evaluations of a constraint in Lua, and samples a second of a space of which 1 in 200,000
 * raw points is allowed, the listing of its knot included and apart.
 */
#include "space/space.h"
#include "util/clock.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *message)
{
    fprintf(stderr, "bench_space: %s\n", message);
    exit(1);
}

static evocc_space *make_space(size_t count)
{
    static const char *const kinds[] = {
        "type: flag",
        "type: bool, default: \"false\"",
        "type: choice, values: [a, b, c, d], default: a",
        "type: int, range: [0, 15], default: 0",
        "type: pow2, range: [1, 128], default: 1",
        "type: float, range: [0.1, 10], points: 9, default: 1",
    };
    strbuf yaml = {0};
    strbuf_puts(&yaml, "evocc-space: 1\nstage: define\ncontrols:\n");
    for (size_t i = 0; i < count; i++) {
        size_t kind = i % 6;
        bool site = i >= 6 && i % 3 == 0;
        bool condition = !site && i % 5 == 4 && i > 6;
        strbuf_printf(&yaml, "  c%zu: {%s", i, kinds[kind]);
        if (site) {
            strbuf_printf(&yaml, ", parent: c%zu", kind);
        }
        strbuf_printf(&yaml, condition ? ", when: {c%zu: [a, b]}}\n" : "}\n", (size_t)2);
    }
    strbuf_puts(&yaml, "forbid:\n");
    for (size_t i = 0; i + 9 < count; i += 10) {
        size_t bools = i / 6 * 6 + 1, choices = i / 6 * 6 + 2;
        strbuf_printf(&yaml, "  - {c%zu: \"true\", c%zu: [c, d]}\n", bools, choices);
    }
    evocc_space *space;
    evocc_error error;
    if (yaml.failed ||
        evocc_space_parse(&space, yaml.data, yaml.length, "bench", &error) != EVOCC_OK) {
        die(yaml.failed ? "out of memory" : error.message);
    }
    strbuf_dispose(&yaml);
    return space;
}

typedef struct workload {
    evocc_space *space;
    int32_t *raw; /* ROWS candidates to start from */
    int32_t *genes;
    rng random;
    uint64_t sink; /* keeps results in use */
} workload;

enum { ROWS = 256 };

static void canonicalise_hash_check(workload *w, size_t i)
{
    size_t count = space_count(w->space);
    memcpy(w->genes, w->raw + i % ROWS * count, count * sizeof *w->genes);
    space_canonicalise(w->space, w->genes);
    w->sink += space_hash(w->space, w->genes).low;
    w->sink += (uint64_t)space_check(w->space, w->genes, NULL);
}

static void canonicalise(workload *w, size_t i)
{
    size_t count = space_count(w->space);
    memcpy(w->genes, w->raw + i % ROWS * count, count * sizeof *w->genes);
    space_canonicalise(w->space, w->genes);
    w->sink += (uint64_t)w->genes[0];
}

static void check(workload *w, size_t i)
{
    w->sink += (uint64_t)space_check(w->space, w->raw + i % ROWS * space_count(w->space), NULL);
}

static void sample(workload *w, size_t i)
{
    w->sink += i + (uint64_t)space_sample(w->space, &w->random, w->genes, NULL);
}

static void repair(workload *w, size_t i)
{
    size_t count = space_count(w->space);
    memcpy(w->genes, w->raw + i % ROWS * count, count * sizeof *w->genes);
    w->sink += (uint64_t)space_repair(w->space, &w->random, w->genes);
}

/* One gene of an allowed candidate changed, as a mutation does. */
static void repair_one(workload *w, size_t i)
{
    size_t count = space_count(w->space);
    memcpy(w->genes, w->raw + i % ROWS * count, count * sizeof *w->genes);
    size_t k = (size_t)rng_below(&w->random, count);
    w->genes[k] = (int32_t)rng_below(&w->random, (uint64_t)space_get(w->space, k)->size);
    w->sink += (uint64_t)space_repair(w->space, &w->random, w->genes);
}

static void measure(const char *name, workload *w, void (*work)(workload *w, size_t i),
                    double seconds)
{
    size_t done = 0, batch = 16;
    double start_s = clock_now_s(), wall_s = 0;
    while (wall_s < seconds) {
        for (size_t i = 0; i < batch; i++) {
            work(w, done + i);
        }
        done += batch;
        wall_s = clock_now_s() - start_s;
        batch = wall_s < seconds / 10 ? batch * 2 : batch;
    }
    printf("  %-28s %12.0f /s %10.3f us\n", name, (double)done / wall_s,
           1e6 * wall_s / (double)done);
}

static void begin(workload *w, evocc_space *space, bool canonical)
{
    size_t count = space_count(space);
    *w = (workload){.space = space,
                    .raw = mem_alloc(ROWS * count, sizeof *w->raw),
                    .genes = mem_alloc(count, sizeof *w->genes)};
    if (w->raw == NULL || w->genes == NULL) {
        die("out of memory");
    }
    rng_seed(&w->random, 1);
    for (size_t i = 0; i < ROWS * count; i++) {
        const space_control *c = space_get(space, i % count);
        w->raw[i] = (int32_t)rng_below(&w->random, (uint64_t)c->size + 1) - 1;
    }
    for (size_t i = 0; canonical && i < ROWS; i++) {
        space_canonicalise(space, w->raw + i * count);
    }
}

static void end(workload *w)
{
    if (w->sink == 1) {
        printf("\n"); /* never, but the compiler does not know */
    }
    space_free(w->space);
    mem_free(w->raw);
    mem_free(w->genes);
}

static void bench_controls(size_t count, double seconds)
{
    workload w;
    begin(&w, make_space(count), false);
    printf("%zu controls\n", count);
    measure("canonicalise", &w, canonicalise, seconds);
    measure("canonicalise, hash, check", &w, canonicalise_hash_check, seconds);
    measure("sample", &w, sample, seconds);
    measure("repair", &w, repair, seconds);
    end(&w);
}

static evocc_space *parse(const char *yaml)
{
    evocc_space *space;
    evocc_error error;
    if (evocc_space_parse(&space, yaml, strlen(yaml), "bench", &error) != EVOCC_OK) {
        die(error.message);
    }
    return space;
}

static void bench_constraint(double seconds)
{
    workload w;
    begin(&w,
          parse("evocc-space: 1\nstage: define\ncontrols:\n"
                "  x: {type: int, range: [1, 64], default: 1}\n"
                "  y: {type: pow2, range: [1, 64], default: 1}\n"
                "  mode: {type: choice, values: [a, b], default: a}\n"
                "constraints:\n"
                "  - mode == 'a' or x % y == 0 and x * y <= 1024\n"),
          true);
    printf("one constraint in Lua over three controls\n");
    measure("check", &w, check, seconds);
    end(&w);
}

static void bench_tight(double seconds)
{
    workload w;
    begin(&w,
          parse("evocc-space: 1\nstage: define\ncontrols:\n"
                "  mwg: {type: int, range: [8, 256], step: 2, default: 8}\n"
                "  nwg: {type: int, range: [8, 256], step: 2, default: 8}\n"
                "  kwg: {type: int, range: [8, 64], step: 8, default: 8}\n"
                "  mdim: {type: int, range: [3, 64], default: 8}\n"
                "  ndim: {type: int, range: [4, 64], default: 8}\n"
                "  vwm: {type: pow2, range: [1, 8], default: 1}\n"
                "  vwn: {type: pow2, range: [1, 8], default: 1}\n"
                "  mdima: {type: int, range: [3, 64], default: 8}\n"
                "  sa: {type: bool, default: \"false\"}\n"
                "constraints:\n"
                "  - mwg % (mdim * vwm) == 0\n"
                "  - nwg % (ndim * vwn) == 0\n"
                "  - mwg % (mdima * vwm) == 0\n"
                "  - (mdim * ndim) % mdima == 0\n"
                "  - kwg % ((mdim * ndim) // mdima) == 0\n"
                "  - mdim * ndim >= 32 and mdim * ndim <= 1024\n"
                "  - not sa or mwg * kwg * 4 <= 49152\n"),
          true);
    printf("1 in 200,000 raw points allowed, seven constraints in Lua\n");
    double start_s = clock_now_s();
    for (size_t i = 0; i < 1000; i++) {
        sample(&w, i);
    }
    printf("  first 1,000 samples          %12.3f s\n", clock_now_s() - start_s);
    measure("sample, from then on", &w, sample, seconds);
    measure("repair of anything", &w, repair, seconds);
    for (size_t i = 0; i < ROWS; i++) {
        space_sample(w.space, &w.random, w.raw + i * space_count(w.space), NULL);
    }
    measure("repair after one change", &w, repair_one, seconds);
    end(&w);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    if (argc > 2 || !(seconds > 0)) {
        fprintf(stderr, "usage: bench_space [SECONDS]\n");
        return 2;
    }
    bench_controls(40, seconds);
    bench_controls(200, seconds);
    bench_controls(600, seconds);
    bench_constraint(seconds);
    bench_tight(seconds);
    return 0;
}
