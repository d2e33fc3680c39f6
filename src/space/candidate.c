/* Candidates: canonical form, hash, text and back. */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

void space_canonicalise(const evocc_space *space, int32_t *genes)
{
    for (size_t i = 0; i < space->count; i++) {
        settle(space, genes, space->order[i]);
    }
}

hash128 space_hash(const evocc_space *space, const int32_t *genes)
{
    return hash128_of(genes, space->count * sizeof *genes, 0);
}

bool space_is_active(const evocc_space *space, const int32_t *genes, size_t index)
{
    return is_active(space, genes, (int32_t)index);
}

int32_t space_effective(const evocc_space *space, const int32_t *genes, size_t index)
{
    return effective(space->nodes, genes, (int32_t)index);
}

void space_candidate_text(strbuf *out, const evocc_space *space, const int32_t *genes)
{
    const char *separator = "";
    for (size_t i = 0; i < space->count; i++) {
        if (genes[i] == SPACE_ABSENT) {
            continue;
        }
        strbuf_puts(out, separator);
        strbuf_puts(out, space->controls[i].full_name);
        strbuf_putc(out, '=');
        space_value_text(out, &space->controls[i], genes[i]);
        separator = " ";
    }
}

static evocc_status parse_word(int32_t *genes, const evocc_space *space, char *word,
                               evocc_error *error)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        return error_set(error, EVOCC_PARSE, "'%.200s' is not stage/name=value", word);
    }
    *value++ = '\0';
    size_t index = space_find(space, word);
    if (index == MAP_NONE) {
        return error_set(error, EVOCC_NOT_FOUND, "there is no control '%.200s'", word);
    }
    if (genes[index] != SPACE_ABSENT) {
        return error_set(error, EVOCC_PARSE, "control %s is there twice", word);
    }
    return space_value_parse(&genes[index], &space->controls[index], value, error);
}

evocc_status space_candidate_parse(int32_t *genes, const evocc_space *space, const char *text,
                                   evocc_error *error)
{
    char *copy = mem_strdup(text);
    int32_t *parsed = mem_alloc(space->count, sizeof *parsed);
    evocc_status status = copy == NULL || parsed == NULL ? error_no_memory(error) : EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < space->count; i++) {
        parsed[i] = SPACE_ABSENT;
    }
    for (char *word = copy; status == EVOCC_OK && *word != '\0';) {
        char *end = word + strcspn(word, " ");
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        if (end != word) {
            status = parse_word(parsed, space, word, error);
        }
        word = next;
    }
    if (status == EVOCC_OK && space->count > 0) {
        memcpy(genes, parsed, space->count * sizeof *genes);
    }
    mem_free(parsed);
    mem_free(copy);
    return status;
}
