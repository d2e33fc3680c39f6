/*
 * Space files: a space that can be finished samples allowed candidates, whose text reads back as
 * the same genes; any genes have one canonical form; what repair returns is allowed.
 */
#include "fuzz.h"

#include <string.h>

#include "space/space.h"
#include "util/mem.h"

static void check_candidate(const evocc_space *space, const int32_t *genes)
{
    evocc_error error;
    size_t n = space_count(space);
    strbuf text = {0};
    int32_t *back = mem_alloc(n, sizeof *back);
    FUZZ_REQUIRE(back);
    FUZZ_REQUIRE(space_check(space, genes, &error) == EVOCC_OK);
    space_candidate_text(&text, space, genes);
    FUZZ_REQUIRE(space_candidate_parse(back, space, strbuf_text(&text), &error) == EVOCC_OK);
    FUZZ_REQUIRE(n == 0 || memcmp(genes, back, n * sizeof *genes) == 0);
    strbuf_dispose(&text);
    mem_free(back);
}

static void check_any_genes(const evocc_space *space, int32_t *genes, rng *random)
{
    size_t n = space_count(space);
    for (size_t i = 0; i < n; i++) {
        genes[i] = (int32_t)rng_below(random, (uint64_t)space_get(space, i)->size + 3) - 2;
    }
    space_canonicalise(space, genes);
    hash128 hash = space_hash(space, genes);
    space_canonicalise(space, genes);
    FUZZ_REQUIRE(hash128_equal(hash, space_hash(space, genes)));
    if (space_repair(space, random, genes)) {
        check_candidate(space, genes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    evocc_space *space = NULL;
    if (space_parse(&space, (const char *)data, size, "fuzz", &error)) {
        FUZZ_REQUIRE(space == NULL);
        FUZZ_REQUIRE(error.message[0] != '\0' && !strchr(error.message, '\n'));
        return 0;
    }
    if (space_finish(space, &error) == EVOCC_OK) {
        rng random;
        rng_seed(&random, hash64(data, size, 0));
        int32_t *genes = mem_alloc(space_count(space), sizeof *genes);
        FUZZ_REQUIRE(genes);
        for (int i = 0; i < 4; i++) {
            if (space_sample(space, &random, genes, &error) == EVOCC_OK)
                check_candidate(space, genes);
            check_any_genes(space, genes, &random);
        }
        mem_free(genes);
    }
    space_free(space);
    return 0;
}
