/*
 * lz.c: a compressor of the LZ77 kind with hash chains, and its decompressor; integers, branches
 * and bytes. Compresses a generated text, restores it and compares.
 *
 * A token is a byte: literal runs 0 .. 127 (that many plus one bytes follow), or matches 128 +
 * length
 * - 4 with a distance of two bytes behind it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_SIZE = 3 << 20,
    HASH_BITS = 15,
    WINDOW = 1 << 16,
    MATCH_MIN = 4,
    MATCH_MAX = MATCH_MIN + 127,
    LITERALS_MAX = 128,
    CHAIN_MAX = 16
};

typedef struct matcher {
    int32_t head[1 << HASH_BITS];
    int32_t previous[WINDOW];
} matcher;

static uint32_t read32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint32_t hash_of(const uint8_t *p)
{
    return (read32(p) * 2654435761u) >> (32 - HASH_BITS);
}

static int common_length(const uint8_t *a, const uint8_t *b, int limit)
{
    int length = 0;
    while (length < limit && a[length] == b[length]) {
        length++;
    }
    return length;
}

/* The longest match of the text at `at` among the latest places of its hash. */
static int find_match(const matcher *m, const uint8_t *text, int at, int limit, int *distance)
{
    int best = MATCH_MIN - 1;
    int place = m->head[hash_of(text + at)];
    for (int tries = 0; tries < CHAIN_MAX && place >= 0 && at - place < WINDOW; tries++) {
        if (text[place + best] == text[at + best]) {
            int length = common_length(text + place, text + at, limit);
            if (length > best) {
                best = length;
                *distance = at - place;
                if (length == limit) {
                    break;
                }
            }
        }
        int next = m->previous[place & (WINDOW - 1)];
        if (next >= place) {
            break;
        }
        place = next;
    }
    return best >= MATCH_MIN ? best : 0;
}

static void remember(matcher *m, const uint8_t *text, int at)
{
    uint32_t hash = hash_of(text + at);
    m->previous[at & (WINDOW - 1)] = m->head[hash];
    m->head[hash] = at;
}

static uint8_t *put_literals(uint8_t *out, const uint8_t *from, int count)
{
    while (count > 0) {
        int run = count < LITERALS_MAX ? count : LITERALS_MAX;
        *out++ = (uint8_t)(run - 1);
        memcpy(out, from, (size_t)run);
        out += run;
        from += run;
        count -= run;
    }
    return out;
}

static size_t compress(matcher *m, uint8_t *out, const uint8_t *text, int size)
{
    uint8_t *begin = out;
    int literals = 0;
    int at = 0;
    memset(m->head, 0xff, sizeof m->head);
    while (at + MATCH_MAX + MATCH_MIN < size) {
        int distance = 0;
        int length = find_match(m, text, at, MATCH_MAX, &distance);
        remember(m, text, at);
        if (length == 0) {
            literals++;
            at++;
            continue;
        }
        out = put_literals(out, text + at - literals, literals);
        literals = 0;
        *out++ = (uint8_t)(128 + length - MATCH_MIN);
        *out++ = (uint8_t)(distance & 0xff);
        *out++ = (uint8_t)(distance >> 8);
        for (int i = 1; i < length; i++) {
            remember(m, text, at + i);
        }
        at += length;
    }
    out = put_literals(out, text + at - literals, literals + size - at);
    return (size_t)(out - begin);
}

static size_t decompress(uint8_t *out, const uint8_t *packed, size_t size)
{
    uint8_t *begin = out;
    const uint8_t *end = packed + size;
    while (packed < end) {
        int token = *packed++;
        if (token < 128) {
            memcpy(out, packed, (size_t)token + 1);
            out += token + 1;
            packed += token + 1;
        } else {
            int length = token - 128 + MATCH_MIN;
            const uint8_t *from = out - (packed[0] | packed[1] << 8);
            packed += 2;
            for (int i = 0; i < length; i++) {
                *out++ = *from++;
            }
        }
    }
    return (size_t)(out - begin);
}

/* Words of a small vocabulary in skewed shares, with numbers between: compresses about as prose. */
static void write_text(uint8_t *text, int size)
{
    static const char *const words[] = {"the",  "of",    "search",  "and",    "compiler", "in",
                                        "time", "to",    "measure", "is",     "control",  "that",
                                        "for",  "value", "trial",   "result", "an",       "kernel"};
    uint64_t state = 1234567890123456789u;
    int at = 0;
    while (at < size) {
        char word[24];
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t pick = (uint32_t)(state >> 40);
        int count = (int)(sizeof words / sizeof *words);
        int index = (int)(pick % 97) * (int)(pick / 97 % 97) * count / 9409;
        int length = pick % 11 == 0 ? snprintf(word, sizeof word, "%" PRIu32 " ", pick)
                                    : snprintf(word, sizeof word, "%s ", words[index]);
        for (int i = 0; i < length && at < size; i++) {
            text[at++] = (uint8_t)word[i];
        }
    }
}

static uint32_t adler(const uint8_t *data, size_t size)
{
    uint32_t a = 1;
    uint32_t b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

int main(void)
{
    uint8_t *text = malloc(TEXT_SIZE);
    uint8_t *packed = malloc(TEXT_SIZE + TEXT_SIZE / 64 + 16);
    uint8_t *restored = malloc(TEXT_SIZE);
    matcher *m = malloc(sizeof *m);
    int status = EXIT_FAILURE;
    if (text != NULL && packed != NULL && restored != NULL && m != NULL) {
        write_text(text, TEXT_SIZE);
        size_t size = compress(m, packed, text, TEXT_SIZE);
        size_t back = decompress(restored, packed, size);
        bool same = back == TEXT_SIZE && memcmp(text, restored, TEXT_SIZE) == 0;
        printf("%d bytes to %zu, %s, %08" PRIx32 " %08" PRIx32 "\n", TEXT_SIZE, size,
               same ? "restored" : "damaged", adler(packed, size), adler(restored, back));
        status = same ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    free(text);
    free(packed);
    free(restored);
    free(m);
    return status;
}
