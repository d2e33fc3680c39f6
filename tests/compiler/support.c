#include "support.h"

#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *support_read(const char *path, size_t *length)
{
    char *text = NULL;
    size_t ignored;
    evocc_error error;
    if (file_read(&text, length != NULL ? length : &ignored, path, 1 << 28, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return text;
}

void support_write(const char *folder, const char *name, const char *text)
{
    char *path = path_join(folder, name);
    assert_int_equal(file_write(path, text, strlen(text), NULL), EVOCC_OK);
    mem_free(path);
}

char *support_real_ptxas(void)
{
    char *path = NULL;
    return compiler_find(&path, "ptxas", NULL, NULL) == EVOCC_OK ? path : NULL;
}

char *support_folder(void)
{
    char *folder = NULL;
    char *script = support_read(EVOCC_SOURCE_DIR "/tests/compiler/fakes/fake-ptxas", NULL);
    assert_int_equal(folder_temporary(&folder, NULL), EVOCC_OK);
    support_write(folder, "ptxas", script);
    char *path = support_fake(folder);
    assert_int_equal(chmod(path, 0755), 0);
    char *cache = path_join(folder, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    mem_free(cache);
    mem_free(path);
    mem_free(script);
    return folder;
}

void support_remove(char *folder)
{
    folder_remove(folder);
    mem_free(folder);
}

char *support_fake(const char *folder)
{
    return path_join(folder, "ptxas");
}

size_t support_count_lines(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    char *text = NULL;
    size_t length = 0;
    size_t lines = 0;
    if (file_read(&text, &length, path, 1 << 28, NULL) == EVOCC_OK) {
        for (size_t i = 0; i < length; i++) {
            lines += text[i] == '\n';
        }
    }
    mem_free(text);
    mem_free(path);
    return lines;
}

process_result support_run(const char *folder, const char *const *argv)
{
    process_result result = {0};
    process_request request = {.argv = argv, .folder = folder, .deadline_s = 120.0};
    assert_int_equal(process_run(&result, &request, NULL), EVOCC_OK);
    return result;
}
