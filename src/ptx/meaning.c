#include "ptx/meaning.h"

#include "ptx/opcodes.h"
#include "util/hash.h"

#include <string.h>

static bool starts(const char *opcode, const char *word)
{
    size_t length = strlen(word);
    return strncmp(opcode, word, length) == 0 && (opcode[length] == '.' || opcode[length] == '\0');
}

/* The width of a type modifier such as ".s32", and whether it is an integer. */
bool ptx_integer_type(const char *part, size_t length, unsigned *width, bool *is_signed)
{
    static const struct {
        const char *text;
        unsigned width;
    } types[] = {{"b8", 8},   {"u8", 8},   {"s8", 8},   {"b16", 16}, {"u16", 16},
                 {"s16", 16}, {"b32", 32}, {"u32", 32}, {"s32", 32}, {"b64", 64},
                 {"u64", 64}, {"s64", 64}, {"pred", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].text) == length && memcmp(types[i].text, part, length) == 0) {
            *width = types[i].width;
            *is_signed = part[0] == 's';
            return true;
        }
    }
    return false;
}

/* The types among an opcode's parts, in order. Returns how many; floats count as width 0. */
static size_t types_of(const char *opcode, unsigned widths[4], bool is_signed[4])
{
    size_t count = 0;
    for (const char *dot = strchr(opcode, '.'); dot != NULL && count < 4;
         dot = strchr(dot + 1, '.')) {
        size_t length = strcspn(dot + 1, ".");
        if (ptx_integer_type(dot + 1, length, &widths[count], &is_signed[count])) {
            count++;
        } else if (dot[1] == 'f' || dot[1] == 'e' || strncmp(dot + 1, "bf16", 4) == 0 ||
                   strncmp(dot + 1, "tf32", 4) == 0) {
            if (dot[2] >= '0' && dot[2] <= '9') {
                widths[count] = 0;
                is_signed[count++] = false;
            }
        }
    }
    return count;
}

static bool is_cache_modifier(const char *part, size_t length)
{
    static const char *const words[] = {"ca", "cg", "cs", "lu", "wb"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == length && memcmp(words[i], part, length) == 0) {
            return true;
        }
    }
    return length > 4 && (memcmp(part, "L1::", 4) == 0 || memcmp(part, "L2::", 4) == 0);
}

uint32_t ptx_element_bytes(const char *opcode)
{
    static const char *const strong[] = {".volatile", ".relaxed", ".acquire", ".release",
                                         ".mmio",     ".async",   ".bulk"};
    bool vector = ptx_opcode_has(opcode, ".v2") || ptx_opcode_has(opcode, ".v4") ||
                  ptx_opcode_has(opcode, ".v8");
    if (!vector || (!starts(opcode, "ld") && !starts(opcode, "st"))) {
        return 0;
    }
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++) {
        if (ptx_opcode_has(opcode, strong[i])) {
            return 0;
        }
    }
    const char *type = strrchr(opcode, '.') + 1;
    static const char *const bits[] = {"8", "16", "32", "64", "128"};
    for (uint32_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        if (strchr("bsuf", *type) != NULL && strcmp(type + 1, bits[i]) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

static uint64_t hash_opcode(const char *opcode)
{
    bool memory = starts(opcode, "ld") || starts(opcode, "st") || starts(opcode, "cp.async");
    bool scalar = ptx_element_bytes(opcode) != 0;
    uint64_t hash = 0;
    for (const char *part = opcode;;) {
        size_t length = strcspn(part, ".");
        bool split = scalar && length == 2 && part[0] == 'v';
        if (!split && (!memory || !is_cache_modifier(part, length))) {
            hash = hash64(part, length, hash + 1);
        }
        if (part[length] == '\0') {
            return hash;
        }
        part += length + 1;
    }
}

static const struct {
    const char *word;
    uint8_t kind;
} integer_rows[] = {
    {"mov", PTX_MEANS_MOVE},    {"add", PTX_MEANS_ADD},         {"sub", PTX_MEANS_SUBTRACT},
    {"neg", PTX_MEANS_NEGATE},  {"shl", PTX_MEANS_SHIFT_LEFT},  {"shr", PTX_MEANS_SHIFT_RIGHT},
    {"and", PTX_MEANS_AND},     {"or", PTX_MEANS_OR},           {"xor", PTX_MEANS_XOR},
    {"not", PTX_MEANS_NOT},     {"lop3", PTX_MEANS_LOOKUP},     {"bfe", PTX_MEANS_EXTRACT},
    {"cvt", PTX_MEANS_CONVERT}, {"min", PTX_MEANS_COMMUTATIVE}, {"max", PTX_MEANS_COMMUTATIVE}};

static bool has_rare(const char *opcode)
{
    static const char *const words[] = {".sat", ".cc", ".hi", ".relu", ".pack", ".v2", ".v4"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_opcode_has(opcode, words[i])) {
            return true;
        }
    }
    return false;
}

static uint8_t kind_of(const char *opcode, bool integer)
{
    if (starts(opcode, "selp")) {
        return PTX_MEANS_SELECT;
    }
    if (starts(opcode, "setp")) {
        return PTX_MEANS_COMPARE;
    }
    if (starts(opcode, "mov") && !has_rare(opcode)) {
        return PTX_MEANS_MOVE;
    }
    bool multiply = starts(opcode, "mul"), fused = starts(opcode, "mad") || starts(opcode, "fma");
    if (!integer || has_rare(opcode)) {
        bool commutes = multiply || fused || starts(opcode, "add") || starts(opcode, "min") ||
                        starts(opcode, "max");
        return commutes ? PTX_MEANS_COMMUTATIVE : PTX_MEANS_OPAQUE;
    }
    if (multiply || fused) {
        return multiply ? PTX_MEANS_MULTIPLY : PTX_MEANS_MULTIPLY_ADD;
    }
    for (size_t i = 0; i < sizeof integer_rows / sizeof *integer_rows; i++) {
        if (starts(opcode, integer_rows[i].word)) {
            return integer_rows[i].kind;
        }
    }
    return PTX_MEANS_OPAQUE;
}

ptx_meaning ptx_meaning_of(const char *opcode)
{
    unsigned widths[4] = {0};
    bool is_signed[4] = {false};
    size_t types = types_of(opcode, widths, is_signed);
    size_t expected = starts(opcode, "cvt") ? 2 : 1;
    bool integer = types == expected && widths[0] != 0 && (expected == 1 || widths[1] != 0) &&
                   strstr(opcode, "x2") == NULL;
    ptx_meaning m = {.kind = kind_of(opcode, integer), .hash = hash_opcode(opcode)};
    if (integer) {
        size_t source = expected - 1;
        m.width = (uint8_t)widths[source];
        m.is_signed = is_signed[source];
        m.result_width = (uint8_t)(ptx_opcode_has(opcode, ".wide") ? 2 * widths[0] : widths[0]);
    }
    return m;
}

bool ptx_literal(uint64_t *out, const char *text, size_t length)
{
    unsigned base = 10;
    size_t at = 0;
    if (length > 2 && text[0] == '0' && strchr("xXfFdD", text[1]) != NULL) {
        base = 16;
        at = 2;
    } else if (length > 2 && text[0] == '0' && strchr("bB", text[1]) != NULL) {
        base = 2;
        at = 2;
    } else if (length > 1 && text[0] == '0') {
        base = 8;
        at = 1;
    }
    uint64_t value = 0;
    for (; at < length; at++) {
        char c = text[at];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 99;
        if (digit >= base) {
            if (at + 1 == length && (c == 'u' || c == 'U')) {
                break;
            }
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}
