#include "helpers.h"

#include <stdio.h>

evocc_space *space_of(const char *yaml)
{
    evocc_space *space;
    evocc_error error;
    if (evocc_space_parse(&space, yaml, strlen(yaml), "test", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return space;
}

void assert_refused(const char *yaml, const char *message)
{
    evocc_space *space;
    evocc_error error;
    evocc_status status = evocc_space_parse(&space, yaml, strlen(yaml), "test", &error);
    if (status == EVOCC_OK) {
        space_free(space);
        fail_msg("accepted, but should be refused with: %s", message);
    }
    assert_string_equal(error.message, message);
    assert_int_equal(error.status, status);
    assert_null(space);
}

void genes_of(int32_t *genes, const evocc_space *space, const char *text)
{
    evocc_error error;
    strbuf full = {0};
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " ");
        size_t slash = strcspn(word, "/=");
        strbuf_puts(&full, word[slash] == '/' ? " " : " define/");
        strbuf_append(&full, word, length);
        word += length + strspn(word + length, " ");
    }
    if (space_candidate_parse(genes, space, strbuf_text(&full), &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    space_canonicalise(space, genes);
    strbuf_dispose(&full);
}

const char *text_of(const evocc_space *space, const int32_t *genes)
{
    static char result[4096];
    strbuf text = {0};
    space_candidate_text(&text, space, genes);
    size_t used = 0;
    for (const char *p = strbuf_text(&text); *p != '\0' && used + 1 < sizeof result;) {
        if (strncmp(p, "define/", 7) == 0) {
            p += 7;
        } else {
            result[used++] = *p++;
        }
    }
    result[used] = '\0';
    strbuf_dispose(&text);
    return result;
}

static void random_domain(space_control *c, rng *r)
{
    static const char *const words[] = {"x", "late", "7", "a=b", "-3", "ca", "true", "on", "9"};
    c->kind = (space_kind)rng_below(r, 6);
    switch (c->kind) {
    case SPACE_FLAG:
    case SPACE_BOOL:
        break;
    case SPACE_CHOICE:
        c->choices = words;
        c->size = 1 + (int32_t)rng_below(r, 9);
        break;
    case SPACE_INT:
        c->low = (int64_t)rng_below(r, 2000) - 1000;
        c->step = 1 + (int64_t)rng_below(r, 9);
        c->high = c->low + (int64_t)rng_below(r, 60);
        break;
    case SPACE_POW2:
        c->low = (int64_t)1 << rng_below(r, 10);
        c->high = c->low + (int64_t)rng_below(r, 5000);
        break;
    case SPACE_FLOAT:
        c->float_low = rng_unit(r) + 0.001;
        c->float_high = c->float_low + 100 * rng_unit(r) + 0.001;
        if (rng_chance(r, 0.5)) {
            c->float_step = (c->float_high - c->float_low) / (double)(1 + rng_below(r, 12));
        } else {
            c->size = 2 + (int32_t)rng_below(r, 20);
        }
        break;
    }
}

/* One of the values of a control, as text that lives in `buffer`. */
static void random_value(char *buffer, size_t size, const space_control *c, rng *r)
{
    strbuf text = {0};
    int32_t value = (int32_t)rng_below(r, (uint64_t)c->size + 1) - 1;
    space_value_text(&text, c, value);
    snprintf(buffer, size, "%s", strbuf_text(&text));
    strbuf_dispose(&text);
}

static void random_rules(evocc_space *space, rng *r)
{
    size_t count = space_count(space);
    char values[2][64];
    const char *pointers[2] = {values[0], values[1]};
    for (size_t i = 1; i < count; i++) {
        if (!rng_chance(r, 0.4)) {
            continue;
        }
        const space_control *on = space_get(space, (size_t)rng_below(r, i));
        random_value(values[0], sizeof values[0], on, r);
        random_value(values[1], sizeof values[1], on, r);
        space_term term = {on->full_name, pointers, 1 + (size_t)rng_below(r, 2)};
        assert_int_equal(space_add_condition(space, space_get(space, i)->full_name, &term, NULL),
                         EVOCC_OK);
    }
    for (size_t i = 1; i < count; i += 3) {
        const space_control *a = space_get(space, i - 1), *b = space_get(space, i);
        random_value(values[0], sizeof values[0], a, r);
        random_value(values[1], sizeof values[1], b, r);
        space_term terms[] = {{a->full_name, pointers, 1}, {b->full_name, pointers + 1, 1}};
        assert_int_equal(space_add_forbidden(space, terms, 2, NULL), EVOCC_OK);
    }
}

evocc_space *random_space(rng *r)
{
    evocc_space *space;
    evocc_error error;
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    size_t count = 1 + (size_t)rng_below(r, MAX_GENES);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%zu.%c-@", i, (int)('a' + i % 26));
        space_control c = {.stage = (space_stage)rng_below(r, 6),
                           .name = name,
                           .default_index = SPACE_ABSENT,
                           .parent = SPACE_ABSENT,
                           .knockout = rng_chance(r, 0.5) ? rng_unit(r) : 0};
        if (i > 0 && rng_chance(r, 0.3)) {
            c.parent = (int32_t)rng_below(r, i);
            const space_control *parent = space_get(space, (size_t)c.parent);
            space_control copy = *parent;
            copy.name = name;
            copy.parent = c.parent;
            c = copy;
        } else {
            random_domain(&c, r);
            c.default_index = rng_chance(r, 0.5) ? 0 : SPACE_ABSENT;
        }
        if (space_add(space, &c, &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
    }
    random_rules(space, r);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    return space;
}

void random_genes(int32_t *genes, const evocc_space *space, rng *r)
{
    for (size_t i = 0; i < space_count(space); i++) {
        genes[i] = (int32_t)rng_below(r, (uint64_t)space_get(space, i)->size + 1) - 1;
    }
}
