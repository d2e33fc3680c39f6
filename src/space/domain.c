/* Values of each kind of domain: how many there are, what they are, their text and back. */
#include "space/internal.h"

#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = INT32_MAX - 1 };

static evocc_status refuse(evocc_error *error, const space_control *c, const char *why)
{
    return error_set(error, EVOCC_INVALID_ARGUMENT, "control %s: %s", c->name, why);
}

static evocc_status complete_int(space_control *c, evocc_error *error)
{
    if (c->step == 0) {
        c->step = 1;
    }
    if (c->low > c->high || c->step < 0) {
        return refuse(error, c, "the range needs low <= high and a positive step");
    }
    uint64_t last = ((uint64_t)c->high - (uint64_t)c->low) / (uint64_t)c->step;
    if (last >= MAX_SIZE) {
        return refuse(error, c, "the range has too many values; use a larger step");
    }
    c->size = (int32_t)last + 1;
    return EVOCC_OK;
}

static evocc_status complete_pow2(space_control *c, evocc_error *error)
{
    if (c->low < 1 || c->high < c->low || (c->low & (c->low - 1)) != 0) {
        return refuse(error, c, "the range needs a power of two as low, and low <= high");
    }
    c->size = 1;
    for (int64_t value = c->low; value <= c->high / 2; value *= 2) {
        c->size++;
    }
    return EVOCC_OK;
}

static evocc_status complete_float(space_control *c, evocc_error *error)
{
    c->float_low += 0.0; /* -0 has another text than 0 */
    c->float_high += 0.0;
    double low = c->float_low, high = c->float_high, step = c->float_step;
    if (!isfinite(low) || !isfinite(high) || !isfinite(step) || low > high || step < 0) {
        return refuse(error, c, "the range needs finite low <= high and a positive step");
    }
    double magnitude = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    if (step > 0) {
        double last = floor((high - low) / step + 1e-9);
        if (!(last < MAX_SIZE) || (last > 0 && step < 1e-10 * magnitude)) {
            return refuse(error, c, "the step is too small for the range");
        }
        c->size = (int32_t)last + 1;
        return EVOCC_OK;
    }
    if (low <= 0 || c->size < 1 || (c->size == 1) != (low == high)) {
        return refuse(error, c, "a logarithmic range needs low > 0 and at least two points");
    }
    if (!isfinite(high / low)) {
        return refuse(error, c, "a logarithmic range spans more than a double can");
    }
    /* Neighbours must stay apart after rounding to 12 digits. */
    if (c->size > 1 && (c->size > 1000000 || high / low < 1 + 1e-9 * c->size)) {
        return refuse(error, c, "a logarithmic range has too many points for its width");
    }
    return EVOCC_OK;
}

static evocc_status complete_choice(space_control *c, evocc_error *error)
{
    if (c->size < 1 || c->choices == NULL) {
        return refuse(error, c, "a choice needs at least one value");
    }
    map seen = {0};
    evocc_status status = EVOCC_OK;
    for (int32_t i = 0; i < c->size && status == EVOCC_OK; i++) {
        const char *word = c->choices[i];
        bool plain = *word != '\0' && strcmp(word, "absent") != 0;
        for (const char *p = word; *p != '\0'; p++) {
            plain = plain && *p > 0x20 && *p < 0x7f;
        }
        if (!plain) {
            status = error_set(error, EVOCC_INVALID_ARGUMENT,
                               "control %s: '%s' cannot be a value: values are ASCII words without "
                               "spaces, other than 'absent'",
                               c->name, word);
        } else if (map_get(&seen, word, strlen(word)) != MAP_NONE) {
            status = error_set(error, EVOCC_INVALID_ARGUMENT,
                               "control %s: value '%s' is there twice", c->name, word);
        } else if (!map_put(&seen, word, strlen(word), 0)) {
            status = error_no_memory(error);
        }
    }
    map_dispose(&seen);
    return status;
}

evocc_status domain_complete(space_control *c, evocc_error *error)
{
    switch (c->kind) {
    case SPACE_FLAG:
        c->size = 1;
        return EVOCC_OK;
    case SPACE_BOOL:
        c->size = 2;
        return EVOCC_OK;
    case SPACE_CHOICE:
        return complete_choice(c, error);
    case SPACE_INT:
        return complete_int(c, error);
    case SPACE_POW2:
        return complete_pow2(c, error);
    case SPACE_FLOAT:
        return complete_float(c, error);
    }
    return refuse(error, c, "unknown kind of domain");
}

bool domain_equal(const space_control *a, const space_control *b)
{
    if (a->kind != b->kind || a->size != b->size) {
        return false;
    }
    switch (a->kind) {
    case SPACE_FLAG:
    case SPACE_BOOL:
        return true;
    case SPACE_CHOICE:
        for (int32_t i = 0; i < a->size; i++) {
            if (strcmp(a->choices[i], b->choices[i]) != 0) {
                return false;
            }
        }
        return true;
    case SPACE_INT:
        return a->low == b->low && a->step == b->step;
    case SPACE_POW2:
        return a->low == b->low;
    case SPACE_FLOAT:
        return a->float_low == b->float_low && a->float_high == b->float_high &&
               a->float_step == b->float_step;
    }
    return false;
}

int64_t domain_int(const space_control *c, int32_t index)
{
    if (c->kind == SPACE_POW2) {
        return c->low << index;
    }
    return (int64_t)((uint64_t)c->low + (uint64_t)c->step * (uint64_t)index);
}

/* The nearest number of 12 significant decimal digits, so that 0.1 * 3 is 0.3 and texts are short.
   m / 10^k and m * 10^k are correctly rounded while m < 2^53 and k <= 22 (W. Clinger, "How to read
   floating point numbers accurately", PLDI 1990), which makes the result the double of that
   decimal; numbers outside that range stay as they are. */
static double round_decimal(double x)
{
    double magnitude = fabs(x);
    if (!(magnitude >= 1e-10 && magnitude <= 1e30)) {
        return x;
    }
    double scale = 1; /* 10^places, places >= 0 to the left of the point or to the right of it */
    if (magnitude < 1e11) {
        while (magnitude * scale < 1e11) {
            scale *= 10; /* exact up to 10^22 */
        }
        return rint(x * scale) / scale;
    }
    while (magnitude / scale >= 1e12) {
        scale *= 10;
    }
    return rint(x / scale) * scale;
}

/* ratio^(numerator/denominator) for 0 < numerator < denominator: the binary digits of the fraction
   select repeated square roots. sqrt, * and / are correctly rounded by IEEE 754, pow and exp are
   not: the values are the same on every machine. */
static double power_fraction(double ratio, int64_t numerator, int64_t denominator)
{
    double result = 1, root = ratio;
    for (int bit = 0; bit < 56 && numerator != 0; bit++) {
        root = sqrt(root);
        numerator *= 2;
        if (numerator >= denominator) {
            numerator -= denominator;
            result *= root;
        }
    }
    return result;
}

double domain_float(const space_control *c, int32_t index)
{
    if (index == 0) {
        return c->float_low;
    }
    if (c->float_step > 0) {
        return round_decimal(c->float_low + index * c->float_step);
    }
    if (index == c->size - 1) {
        return c->float_high;
    }
    double ratio = c->float_high / c->float_low;
    return round_decimal(c->float_low * power_fraction(ratio, index, c->size - 1));
}

void space_value_text(strbuf *out, const space_control *c, int32_t index)
{
    if (index < 0 || index >= c->size) {
        strbuf_puts(out, "absent");
        return;
    }
    switch (c->kind) {
    case SPACE_FLAG:
        strbuf_puts(out, "on");
        break;
    case SPACE_BOOL:
        strbuf_puts(out, index == 1 ? "true" : "false");
        break;
    case SPACE_CHOICE:
        strbuf_puts(out, c->choices[index]);
        break;
    case SPACE_INT:
    case SPACE_POW2:
        strbuf_printf(out, "%lld", (long long)domain_int(c, index));
        break;
    case SPACE_FLOAT:
        strbuf_number(out, domain_float(c, index));
        break;
    }
}

bool domain_is_integer(const char *text, int64_t *value)
{
    const char *digits = *text == '-' ? text + 1 : text;
    size_t length = strlen(digits);
    if (length == 0 || length > 18 || digits[strspn(digits, "0123456789")] != '\0' ||
        (*digits == '0' && (length > 1 || digits != text))) {
        return false;
    }
    *value = strtoll(text, NULL, 10);
    return true;
}

double space_value_number(const space_control *c, int32_t index)
{
    int64_t integer;
    if (index < 0 || index >= c->size) {
        return c->kind == SPACE_FLAG ? 0 : (double)NAN;
    }
    switch (c->kind) {
    case SPACE_FLAG:
        return 1;
    case SPACE_BOOL:
        return index;
    case SPACE_CHOICE:
        return domain_is_integer(c->choices[index], &integer) ? (double)integer : (double)NAN;
    case SPACE_INT:
    case SPACE_POW2:
        return (double)domain_int(c, index);
    case SPACE_FLOAT:
        return domain_float(c, index);
    }
    return (double)NAN;
}

/* Whether a value of an ordered domain lies below the number written in `text`. */
static bool is_below(const space_control *c, int32_t index, double real, int64_t integer)
{
    return c->kind == SPACE_FLOAT ? domain_float(c, index) < real : domain_int(c, index) < integer;
}

/* The only index whose text this can be, or c->size. */
static int32_t guess_index(const space_control *c, const char *text)
{
    int32_t low = 0, high = c->size;
    double real = 0;
    int64_t integer = 0;
    if (c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT) {
        if (c->kind == SPACE_FLOAT ? !text_number(&real, text) : !text_integer(&integer, text)) {
            return c->size;
        }
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (is_below(c, middle, real, integer)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    static const char *const truth[] = {"false", "true"};
    static const char *const on[] = {"on"};
    const char *const *words = c->kind == SPACE_CHOICE ? c->choices
                               : c->kind == SPACE_BOOL ? truth
                                                       : on;
    while (low < c->size && strcmp(words[low], text) != 0) {
        low++;
    }
    return low;
}

static void describe(strbuf *out, const space_control *c)
{
    if (c->kind == SPACE_FLAG || c->kind == SPACE_BOOL || c->kind == SPACE_CHOICE) {
        strbuf_puts(out, "one of");
        for (int32_t i = 0; i < c->size && i < 24; i++) {
            strbuf_putc(out, ' ');
            space_value_text(out, c, i);
        }
        strbuf_puts(out, c->size > 24 ? " ..." : "");
        return;
    }
    space_value_text(out, c, 0);
    if (c->size > 1) {
        strbuf_puts(out, ", ");
        space_value_text(out, c, 1);
    }
    if (c->size > 2) {
        strbuf_puts(out, c->size > 3 ? ", ... " : ", ");
        space_value_text(out, c, c->size - 1);
    }
}

evocc_status space_value_parse(int32_t *out, const space_control *c, const char *text,
                               evocc_error *error)
{
    int32_t index = guess_index(c, text);
    strbuf message = {0};
    evocc_status status = EVOCC_OK;
    if (index < c->size) {
        space_value_text(&message, c, index);
    }
    if (index < c->size && !message.failed && strcmp(strbuf_text(&message), text) == 0) {
        *out = index;
    } else {
        strbuf_clear(&message);
        describe(&message, c);
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "control %s: value '%.100s' is not %s",
                           c->full_name, text, strbuf_text(&message));
    }
    if (message.failed) {
        status = error_no_memory(error);
    }
    strbuf_dispose(&message);
    return status;
}
