/*
 * fuzz: one program a parser. Each defines LLVMFuzzerTestOneInput and aborts when a promise of the
 * parser's header is broken; the sanitizers watch the rest. An input that was ever found to fail is
 * kept in corpus/<name> and replayed by every build (replay.c).
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert, which a build may have switched off. */
#define FUZZ_REQUIRE(condition)                                                            \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

#endif
