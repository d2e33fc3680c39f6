/*
 * What ptxas says and makes: the first byte decides whether the rest is read as the text of -v or
 * as a cubin. Both come from a program that may have crashed half-way.
 */
#include "fuzz.h"

#include <string.h>

#include "compiler/compiler.h"
#include "util/mem.h"

static void read_text(const uint8_t *data, size_t size)
{
    evocc_error error;
    char *text = mem_alloc(size + 1, 1);
    FUZZ_REQUIRE(text);
    memcpy(text, data, size);
    compiler_stats stats = {0};
    if (compiler_ptxas.read_stats(&stats, "", text, &error) == EVOCC_OK) {
        for (size_t i = 0; i < stats.count; i++)
            FUZZ_REQUIRE(stats.entries[i].entry);
    }
    compiler_stats_dispose(&stats);
    mem_free(text);
}

static void read_cubin(const uint8_t *data, size_t size)
{
    evocc_error error;
    cubin_info info;
    if (cubin_read(&info, data, size, NULL, &error) == EVOCC_OK)
        FUZZ_REQUIRE(info.code_bytes >= 0 && info.hash[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'T')
        read_text(data + 1, size - 1);
    else
        read_cubin(data + 1, size - 1);
    return 0;
}
