/*
 * The controls file: whatever is read can be written, and reads back as the same. Files come from
 * strangers, so this is the parser that matters most.
 */
#include "fuzz.h"

#include <string.h>

#include "acf/acf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    acf *file = NULL;
    if (acf_read(&file, (const char *)data, size, "fuzz", &error)) {
        FUZZ_REQUIRE(file == NULL);
        FUZZ_REQUIRE(error.message[0] != '\0' && !strchr(error.message, '\n'));
        return 0;
    }
    FUZZ_REQUIRE(acf_is_ours((const char *)data, size));
    strbuf text = {0}, again = {0}, shown = {0};
    FUZZ_REQUIRE(acf_write(&text, file, &error) == EVOCC_OK);
    for (size_t i = 0; i < text.length; i++)
        FUZZ_REQUIRE(text.data[i] == '\n' || (text.data[i] >= ' ' && text.data[i] <= '~'));
    acf *second = NULL;
    FUZZ_REQUIRE(acf_read(&second, text.data, text.length, "again", &error) == EVOCC_OK);
    FUZZ_REQUIRE(acf_write(&again, second, &error) == EVOCC_OK);
    FUZZ_REQUIRE(text.length == again.length && memcmp(text.data, again.data, text.length) == 0);
    acf_show(&shown, file, NULL);
    strbuf_dispose(&text);
    strbuf_dispose(&again);
    strbuf_dispose(&shown);
    acf_free(file);
    acf_free(second);
    return 0;
}
