/*
 * The strict YAML reader: every node it hands out is whole and has a place inside the text, every
 * refusal is one line that names the text and a place.
 */
#include "fuzz.h"

#include <string.h>

#include "util/yaml.h"

static void visit(const yaml_document *document, const yaml_node *node, int lines, int depth)
{
    FUZZ_REQUIRE(depth <= 65);
    FUZZ_REQUIRE(node->line >= 1 && node->line <= lines && node->column >= 1);
    FUZZ_REQUIRE((node->kind == YAML_SCALAR) == (node->text != NULL));
    const char *text;
    int64_t integer;
    double number;
    bool truth;
    evocc_error error;
    bool is_integer = yaml_integer(&integer, document, node, &error) == EVOCC_OK;
    bool is_number = yaml_number(&number, document, node, &error) == EVOCC_OK;
    bool is_bool = yaml_bool(&truth, document, node, &error) == EVOCC_OK;
    bool is_text = yaml_text(&text, document, node, &error) == EVOCC_OK;
    FUZZ_REQUIRE(is_text || (!is_integer && !is_number && !is_bool));
    FUZZ_REQUIRE(!is_bool || (!is_integer && !is_number));
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == YAML_MAPPING) {
            FUZZ_REQUIRE(node->keys[i]->kind == YAML_SCALAR);
            FUZZ_REQUIRE(yaml_get(node, node->keys[i]->text) == node->items[i]);
            visit(document, node->keys[i], lines, depth + 1);
        }
        visit(document, node->items[i], lines, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    yaml_document *document = NULL;
    if (yaml_parse(&document, (const char *)data, size, "fuzz", &error)) {
        int line;
        int column;
        FUZZ_REQUIRE(document == NULL);
        FUZZ_REQUIRE(error.status == EVOCC_PARSE);
        FUZZ_REQUIRE(!strchr(error.message, '\n'));
        FUZZ_REQUIRE(sscanf(error.message, "fuzz:%d:%d: ", &line, &column) == 2);
        FUZZ_REQUIRE(line >= 1 && column >= 1);
        return 0;
    }
    int lines = 2; /* a value that is left out may be placed behind the last line end */
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r';
    visit(document, yaml_root(document), lines, 1);
    yaml_free(document);
    return 0;
}
