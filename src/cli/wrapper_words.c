#include "cli/wrapper_parts.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* The words that are ours, with one dash or two, as the compilers of CUDA write theirs. */
typedef enum own_word { NOT_OURS, CONTROLS, ON_MISMATCH, STRICT, ALLOW_NUMERICS } own_word;

static const struct {
    const char *name;
    own_word word;
    bool takes_value;
} own_words[] = {
    {"apply-controls", CONTROLS, true},
    {"on-mismatch", ON_MISMATCH, true},
    {"strict", STRICT, false},
    {"allow-numerics", ALLOW_NUMERICS, false},
};

/* *value: what follows '=', NULL when the word has none. *takes_value: it must have one. */
static own_word identify(const char *word, const char **value, bool *takes_value)
{
    *value = NULL;
    if (word[0] != '-') {
        return NOT_OURS;
    }
    const char *name = word + (word[1] == '-' ? 2 : 1);
    for (size_t i = 0; i < sizeof own_words / sizeof own_words[0]; i++) {
        size_t length = strlen(own_words[i].name);
        bool same = strncmp(name, own_words[i].name, length) == 0;
        *takes_value = own_words[i].takes_value;
        if (same && name[length] == '\0') {
            return own_words[i].word;
        }
        if (same && name[length] == '=' && own_words[i].takes_value) {
            *value = name + length + 1;
            return own_words[i].word;
        }
    }
    return NOT_OURS;
}

static evocc_status take(wrapper_words *words, own_word word, const char *value, evocc_error *error)
{
    if (word == STRICT) {
        words->strict = true;
    } else if (word == ALLOW_NUMERICS) {
        words->allow_numerics = true;
    } else if (value == NULL || value[0] == '\0') {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "%s lacks its value",
                         word == CONTROLS ? "--apply-controls" : "--on-mismatch");
    } else if (word == CONTROLS) {
        words->files[words->file_count++] = value;
    } else if (strcmp(value, "skip") != 0 && strcmp(value, "error") != 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "--on-mismatch is 'skip' or 'error', not '%.200s'", value);
    } else {
        words->error_on_mismatch = value[0] == 'e';
    }
    return EVOCC_OK;
}

static evocc_status read_words(wrapper_words *words, int argc, char **argv, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (int i = 0; status == EVOCC_OK && i < argc; i++) {
        const char *value;
        bool takes_value = false;
        own_word word = identify(argv[i], &value, &takes_value);
        int first = i;
        if (word == NOT_OURS) {
            words->rest[words->rest_count++] = argv[i];
        } else {
            if (takes_value && value == NULL && i + 1 < argc) {
                value = argv[++i];
            }
            status = take(words, word, value, error);
        }
        for (int k = first; (word == NOT_OURS || word == CONTROLS) && k <= i; k++) {
            words->handed[words->handed_count++] = argv[k];
        }
    }
    return status;
}

evocc_status wrapper_words_read(wrapper_words *out, int argc, char **argv, evocc_error *error)
{
    size_t room = (size_t)argc + 1;
    wrapper_words words = {
        .files = mem_alloc(room, sizeof *words.files),
        .rest = mem_alloc(room, sizeof *words.rest),
        .handed = mem_alloc(room, sizeof *words.handed),
    };
    evocc_status status = words.files == NULL || words.rest == NULL || words.handed == NULL
                              ? error_no_memory(error)
                              : read_words(&words, argc, argv, error);
    if (status == EVOCC_OK) {
        *out = words;
    } else {
        wrapper_words_dispose(&words);
    }
    return status;
}

void wrapper_words_dispose(wrapper_words *words)
{
    mem_free(words->files);
    mem_free(words->rest);
    mem_free(words->handed);
    *words = (wrapper_words){0};
}

bool wrapper_words_only_ask(const wrapper_words *words)
{
    static const char *const asking[] = {
        "--version",      "-V",          "--help",      "-h",
        "--list-version", "-version-ls", "--list-arch", "-arch-ls"};
    for (size_t i = 0; i < words->rest_count; i++) {
        for (size_t k = 0; k < sizeof asking / sizeof asking[0]; k++) {
            if (strcmp(words->rest[i], asking[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}
