#include "space/internal.h"
#include "util/error.h"

#include <stdlib.h>
#include <string.h>

static bool is_numeric(const space_control *c)
{
    return c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT;
}

/* The value of an ordered control that is nearest to a number; of two the lower. Values rise with
   their index, and there may be many. */
static int32_t nearest(const space_control *c, double wanted)
{
    int32_t low = 0;
    int32_t high = c->size - 1;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        *(space_value_number(c, middle) > wanted ? &high : &low) = middle;
    }
    double below = fabs(space_value_number(c, low) - wanted);
    return below <= fabs(space_value_number(c, high) - wanted) ? low : high;
}

static evocc_status adapt_word(int32_t *genes, strbuf *notes, const evocc_space *space, char *word,
                               evocc_error *error)
{
    char *equals = strrchr(word, '=');
    if (equals == NULL) {
        return error_set(error, EVOCC_PARSE, "'%.100s' is not CONTROL=VALUE", word);
    }
    *equals = '\0';
    const char *value = equals + 1;
    size_t index = space_find(space, word);
    if (index == MAP_NONE) {
        strbuf_printf(notes, "%s=%s: there is no such control here\n", word, value);
        return EVOCC_OK;
    }
    const space_control *c = space_get(space, index);
    evocc_status status = space_value_parse(&genes[index], c, value, NULL);
    if (status != EVOCC_INVALID_ARGUMENT) {
        return status == EVOCC_OK ? status : error_no_memory(error);
    }
    char *end;
    double number = strtod(value, &end);
    if (!is_numeric(c) || end == value || *end != '\0' || !isfinite(number)) {
        strbuf_printf(notes, "%s=%s: there is no such value here, left out\n", word, value);
        return EVOCC_OK;
    }
    genes[index] = nearest(c, number);
    strbuf_printf(notes, "%s=%s: taken as ", word, value);
    space_value_text(notes, c, genes[index]);
    strbuf_puts(notes, ", the nearest value here\n");
    return EVOCC_OK;
}

evocc_status space_candidate_adapt(int32_t *genes, strbuf *notes, const evocc_space *space,
                                   const char *text, evocc_error *error)
{
    char *copy = mem_strdup(text);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < space->count; i++) {
        genes[i] = SPACE_ABSENT;
    }
    evocc_status status = EVOCC_OK;
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word != NULL && status == EVOCC_OK;
         word = strtok_r(NULL, " ", &rest)) {
        status = adapt_word(genes, notes, space, word, error);
    }
    if (status == EVOCC_OK) {
        space_canonicalise(space, genes);
    }
    mem_free(copy);
    return status == EVOCC_OK && notes->failed ? error_no_memory(error) : status;
}
