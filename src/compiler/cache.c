#include "compiler/cache.h"

#include "util/files.h"
#include "util/hash.h"
#include "util/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A file:
 *     evocc-cache 1
 *     <key>
 *     <text, any number of lines>
 *     sum <hash of all before this line>
 */
static const char first_line[] = "evocc-cache 1\n";
enum { SUM_LENGTH = 4 + 16 + 1, SIZE_MAX_BYTES = 1 << 20 };

/* NULL when there is no place for a cache. A relative XDG_CACHE_HOME is to be ignored (XDG Base
   Directory Specification). */
static char *cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    if (cache != NULL && cache[0] == '/') {
        return path_join(cache, "evocc");
    }
    const char *home = getenv("HOME");
    return home != NULL && home[0] == '/' ? path_join(home, ".cache/evocc") : NULL;
}

static char *cache_file(const char *folder, const char *kind, const char *key)
{
    hash128 hash = hash128_of(key, strlen(key), 0);
    strbuf name = {0};
    strbuf_printf(&name, "%s-%016" PRIx64 "%016" PRIx64, kind, hash.high, hash.low);
    char *path = name.failed ? NULL : path_join(folder, strbuf_text(&name));
    strbuf_dispose(&name);
    return path;
}

static void add_sum(strbuf *text)
{
    strbuf_printf(text, "sum %016" PRIx64 "\n", hash64(strbuf_text(text), text->length, 0));
}

/* Ours alone: what another user can write is not believed. */
static bool is_trusted(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The text between key and sum, or NULL when the file is not whole or has another key. */
static char *checked_text(const char *file, size_t length, const char *key)
{
    size_t key_length = strlen(key);
    size_t head = sizeof first_line - 1 + key_length + 1;
    if (length < head + SUM_LENGTH || memcmp(file, first_line, sizeof first_line - 1) != 0 ||
        memcmp(file + sizeof first_line - 1, key, key_length) != 0 || file[head - 1] != '\n') {
        return NULL;
    }
    strbuf expected = {0};
    strbuf_append(&expected, file, length - SUM_LENGTH);
    add_sum(&expected);
    bool whole =
        !expected.failed && expected.length == length && memcmp(expected.data, file, length) == 0;
    strbuf_dispose(&expected);
    return whole ? mem_strndup(file + head, length - SUM_LENGTH - head) : NULL;
}

char *cache_load(const char *kind, const char *key)
{
    char *folder = cache_folder();
    char *path = folder != NULL ? cache_file(folder, kind, key) : NULL;
    char *file = NULL;
    char *text = NULL;
    size_t length = 0;
    if (path != NULL && is_trusted(path) &&
        file_read(&file, &length, path, SIZE_MAX_BYTES, NULL) == EVOCC_OK) {
        text = checked_text(file, length, key);
    }
    mem_free(file);
    mem_free(path);
    mem_free(folder);
    return text;
}

void cache_store(const char *kind, const char *key, const char *text)
{
    char *folder = cache_folder();
    char *path = folder != NULL ? cache_file(folder, kind, key) : NULL;
    strbuf file = {0};
    strbuf_puts(&file, first_line);
    strbuf_printf(&file, "%s\n%s", key, text);
    add_sum(&file);
    if (path != NULL && strchr(key, '\n') == NULL && !file.failed &&
        folder_make(folder, NULL) == EVOCC_OK) {
        (void)file_write_atomic(path, file.data, file.length, NULL);
    }
    strbuf_dispose(&file);
    mem_free(path);
    mem_free(folder);
}
