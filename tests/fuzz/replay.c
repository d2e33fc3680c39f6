/*
 * Runs a fuzzer's function over files: replay FILE-OR-FOLDER... An empty corpus is an error, as a
 * test that ran nothing must not look like one that passed.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "util/files.h"
#include "util/mem.h"

static size_t replayed_count;

static int replay_file(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    evocc_error error;
    if (file_read(&text, &length, path, (size_t)64 << 20, &error)) {
        fprintf(stderr, "replay: %s\n", error.message);
        return 1;
    }
    /* A block of its own and of exactly this size, so that the sanitizer sees a read behind it. */
    uint8_t *data = mem_alloc(length, 1);
    if (!data) {
        mem_free(text);
        return 1;
    }
    memcpy(data, text, length);
    mem_free(text);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, length);
    mem_free(data);
    replayed_count++;
    return 0;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        return 1;
    }
    int status = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) && status == 0) {
        if (entry->d_name[0] == '.')
            continue;
        char *name = path_join(path, entry->d_name);
        status = name ? replay_file(name) : 1;
        mem_free(name);
    }
    closedir(folder);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;
        bool is_folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
        if (is_folder ? replay_folder(argv[i]) : replay_file(argv[i]))
            return 1;
    }
    printf("%zu inputs\n", replayed_count);
    return replayed_count == 0;
}
