#include "evaluate/program.h"

#include "util/error.h"
#include "util/files.h"
#include "util/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char here[] = "{here}";
static const char compiler_word[] = "{compiler}";
static const char options_word[] = "{options}";
enum { FILE_LIMIT = 1 << 20, INPUT_LIMIT = 256 << 20, PEEK = 4096, REPEATS = 5, REPEATS_MAX = 100 };

extern char **environ;

typedef struct reader {
    program *p;
    yaml_document *document;
    strbuf sum; /* digests of all files */
    evocc_error *error;
} reader;

void program_free(program *p)
{
    if (p != NULL) {
        arena texts = p->texts; /* p itself is not in it */
        arena_dispose(&texts);
        mem_free(p);
    }
}

bool program_is_one(const char *path)
{
    static const char key[] = "evocc-program:";
    char head[PEEK + 1];
    FILE *file = fopen(path, "rbe");
    size_t length = file != NULL ? fread(head, 1, PEEK, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    head[length] = '\0';
    for (const char *line = head; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, sizeof key - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Words ------------------------------------------------------------------------------- */

/* "{here}" becomes the file's folder. */
static const char *expand(reader *r, const char *text)
{
    strbuf out = {0};
    for (const char *at; (at = strstr(text, here)) != NULL; text = at + sizeof here - 1) {
        strbuf_append(&out, text, (size_t)(at - text));
        strbuf_puts(&out, r->p->folder);
    }
    strbuf_puts(&out, text);
    const char *kept = out.failed ? NULL : arena_strdup(&r->p->texts, strbuf_text(&out));
    strbuf_dispose(&out);
    return kept;
}

static evocc_status read_words(program_words *out, reader *r, const yaml_node *node)
{
    if (node->kind != YAML_SEQUENCE) {
        return yaml_error(r->document, node, r->error,
                          "a list of words was expected: one command as [word, word, ...]");
    }
    const char **items = arena_alloc(&r->p->texts, node->count + 1, sizeof *items);
    evocc_status status = items != NULL ? EVOCC_OK : error_no_memory(r->error);
    for (size_t i = 0; status == EVOCC_OK && i < node->count; i++) {
        const char *text = NULL;
        status = yaml_text(&text, r->document, node->items[i], r->error);
        if (status == EVOCC_OK) {
            items[i] = expand(r, text);
            status = items[i] != NULL ? EVOCC_OK : error_no_memory(r->error);
        }
    }
    *out = (program_words){items, node->count};
    return status;
}

static evocc_status read_optional_words(program_words *out, reader *r, const yaml_node *root,
                                        const char *key)
{
    const yaml_node *node = yaml_get(root, key);
    return node != NULL ? read_words(out, r, node) : EVOCC_OK;
}

/* ---- Build ------------------------------------------------------------------------------- */

static bool has_word(const program_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->items[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static evocc_status read_build(reader *r, const yaml_node *node)
{
    program *p = r->p;
    bool tuned = false;
    if (node->kind != YAML_SEQUENCE || node->count == 0) {
        return yaml_error(r->document, node, r->error,
                          "a list of commands was expected, each a list of words");
    }
    program_words *build = arena_alloc(&p->texts, node->count, sizeof *build);
    evocc_status status = build != NULL ? EVOCC_OK : error_no_memory(r->error);
    for (size_t i = 0; status == EVOCC_OK && i < node->count; i++) {
        status = read_words(&build[i], r, node->items[i]);
        if (status == EVOCC_OK && build[i].count == 0) {
            status = yaml_error(r->document, node->items[i], r->error, "a command without words");
        }
        tuned = tuned || (status == EVOCC_OK && has_word(&build[i], options_word));
    }
    if (status == EVOCC_OK && !tuned) {
        status = yaml_error(r->document, node, r->error,
                            "no command has the word \"{options}\", so nothing could be tuned");
    }
    p->build = build;
    p->build_count = node->count;
    return status;
}

/* compiler, options, sources, -o program, link. */
static evocc_status build_of_sources(reader *r, const yaml_node *node, const yaml_node *link)
{
    program *p = r->p;
    program_words sources = {0};
    program_words libraries = {0};
    evocc_status status = read_words(&sources, r, node);
    if (status == EVOCC_OK && link != NULL) {
        status = read_words(&libraries, r, link);
    }
    program_words *build = arena_alloc(&p->texts, 1, sizeof *build);
    const char **items = arena_alloc(&p->texts, sources.count + libraries.count + 5, sizeof *items);
    if (status == EVOCC_OK && (build == NULL || items == NULL)) {
        status = error_no_memory(r->error);
    }
    if (status == EVOCC_OK && sources.count == 0) {
        status = yaml_error(r->document, node, r->error, "no source files");
    }
    size_t count = 0;
    if (status == EVOCC_OK) {
        items[count++] = compiler_word;
        items[count++] = options_word;
        for (size_t i = 0; status == EVOCC_OK && i < sources.count; i++) {
            char *path = path_join(p->folder, sources.items[i]);
            items[count] = path != NULL ? arena_strdup(&p->texts, path) : NULL;
            status = items[count++] != NULL ? EVOCC_OK : error_no_memory(r->error);
            mem_free(path);
        }
        items[count++] = "-o";
        items[count++] = "program";
        for (size_t i = 0; i < libraries.count; i++) {
            items[count++] = libraries.items[i];
        }
        *build = (program_words){items, count};
        p->build = build;
        p->build_count = 1;
    }
    return status;
}

static evocc_status add_digest(reader *r, const char *path)
{
    char *data = NULL;
    size_t length = 0;
    char digest[HASH_SHA256_TEXT];
    evocc_status status = file_read(&data, &length, path, INPUT_LIMIT, r->error);
    if (status == EVOCC_OK) {
        hash_sha256(digest, data, length);
        strbuf_puts(&r->sum, digest);
    }
    mem_free(data);
    return status;
}

/* Files in the program's folder that commands name: what a resumed study must find unchanged. */
static evocc_status digest_words(reader *r, const program_words *words)
{
    size_t folder = strlen(r->p->folder);
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < words->count; i++) {
        const char *word = words->items[i];
        if (strncmp(word, r->p->folder, folder) == 0 && word[folder] == '/' &&
            access(word, R_OK) == 0 && file_exists(word)) {
            status = add_digest(r, word);
        }
    }
    return status;
}

static evocc_status read_commands(reader *r, const yaml_node *root)
{
    static const char *const default_run[] = {"./program", NULL};
    static const char *const default_code[] = {"program", NULL};
    program *p = r->p;
    const yaml_node *sources = yaml_get(root, "sources");
    const yaml_node *build = yaml_get(root, "build");
    if ((sources == NULL) == (build == NULL)) {
        return yaml_error(r->document, root, r->error,
                          "either `sources` or `build` says how the program is built");
    }
    if (sources != NULL) {
        p->run = (program_words){default_run, 1};
        p->code = (program_words){default_code, 1};
    }
    evocc_status status = sources != NULL ? build_of_sources(r, sources, yaml_get(root, "link"))
                                          : read_build(r, build);
    if (status == EVOCC_OK) {
        status = read_optional_words(&p->run, r, root, "run");
    }
    if (status == EVOCC_OK) {
        status = read_optional_words(&p->code, r, root, "code");
    }
    if (status == EVOCC_OK && p->code.count == 0) {
        status = yaml_error(r->document, root, r->error,
                            "`code` must name the files that the build makes, such as [program]");
    }
    for (size_t i = 0; status == EVOCC_OK && i < p->build_count; i++) {
        status = digest_words(r, &p->build[i]);
    }
    return status == EVOCC_OK ? digest_words(r, &p->run) : status;
}

/* ---- Running ----------------------------------------------------------------------------- */

static bool is_name_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* This process's own environment with the file's names set. */
static evocc_status read_environment(reader *r, const yaml_node *node)
{
    program *p = r->p;
    size_t own = 0;
    while (environ[own] != NULL) {
        own++;
    }
    if (node->kind != YAML_MAPPING) {
        return yaml_error(r->document, node, r->error, "names with values were expected");
    }
    const char **items = arena_alloc(&p->texts, own + node->count + 1, sizeof *items);
    evocc_status status = items != NULL ? EVOCC_OK : error_no_memory(r->error);
    size_t count = 0;
    for (size_t i = 0; status == EVOCC_OK && i < own; i++) {
        bool set = false;
        for (size_t k = 0; k < node->count; k++) {
            set = set || is_name_of(environ[i], node->keys[k]->text);
        }
        if (!set) {
            items[count] = arena_strdup(&p->texts, environ[i]);
            status = items[count++] != NULL ? EVOCC_OK : error_no_memory(r->error);
        }
    }
    for (size_t k = 0; status == EVOCC_OK && k < node->count; k++) {
        const char *value = NULL;
        strbuf entry = {0};
        status = yaml_text(&value, r->document, node->items[k], r->error);
        if (status == EVOCC_OK) {
            strbuf_printf(&entry, "%s=%s", node->keys[k]->text, value);
            items[count] = entry.failed ? NULL : arena_strdup(&p->texts, strbuf_text(&entry));
            status = items[count++] != NULL ? EVOCC_OK : error_no_memory(r->error);
        }
        strbuf_dispose(&entry);
    }
    p->environment = (program_words){items, count};
    return status;
}

static evocc_status read_input(reader *r, const yaml_node *node)
{
    const char *name = NULL;
    char *data = NULL;
    evocc_status status = yaml_text(&name, r->document, node, r->error);
    char *path = status == EVOCC_OK ? path_join(r->p->folder, name) : NULL;
    if (status == EVOCC_OK && path == NULL) {
        status = error_no_memory(r->error);
    }
    if (status == EVOCC_OK) {
        status = file_read(&data, &r->p->input_length, path, INPUT_LIMIT, r->error);
    }
    if (status == EVOCC_OK) {
        char *kept = arena_alloc(&r->p->texts, r->p->input_length + 1, 1);
        if (kept != NULL) {
            memcpy(kept, data, r->p->input_length);
        }
        r->p->input = kept;
        status = kept != NULL ? add_digest(r, path) : error_no_memory(r->error);
    }
    mem_free(data);
    mem_free(path);
    return status;
}

/* "stdout" is one of the outputs by itself. */
static evocc_status read_outputs(reader *r, const yaml_node *node)
{
    program *p = r->p;
    program_words all = {0};
    evocc_status status = read_words(&all, r, node);
    const char **files = arena_alloc(&p->texts, all.count + 1, sizeof *files);
    if (status == EVOCC_OK && files == NULL) {
        status = error_no_memory(r->error);
    }
    size_t count = 0;
    p->compare_stdout = false;
    for (size_t i = 0; status == EVOCC_OK && i < all.count; i++) {
        if (strcmp(all.items[i], "stdout") == 0) {
            p->compare_stdout = true;
        } else if (all.items[i][0] == '/' || strstr(all.items[i], "..") != NULL) {
            status = yaml_error(r->document, node->items[i], r->error,
                                "outputs are files in the folder in which the program runs");
        } else {
            files[count++] = all.items[i];
        }
    }
    p->outputs = (program_words){files, count};
    return status;
}

static evocc_status read_number(double *out, reader *r, const yaml_node *root, const char *key)
{
    const yaml_node *node = yaml_get(root, key);
    if (node == NULL) {
        return EVOCC_OK;
    }
    evocc_status status = yaml_number(out, r->document, node, r->error);
    return status == EVOCC_OK && *out < 0
               ? yaml_error(r->document, node, r->error, "%s cannot be below 0", key)
               : status;
}

static evocc_status read_clock(reader *r, const yaml_node *node)
{
    const char *text = NULL;
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status != EVOCC_OK) {
        return status;
    }
    r->p->cpu_clock = strcmp(text, "cpu") == 0;
    return r->p->cpu_clock || strcmp(text, "wall") == 0
               ? EVOCC_OK
               : yaml_error(r->document, node, r->error, "clock is wall or cpu, not '%s'", text);
}

static evocc_status read_repeats(reader *r, const yaml_node *node)
{
    int64_t count = 0;
    evocc_status status = yaml_integer(&count, r->document, node, r->error);
    if (status == EVOCC_OK && (count < 1 || count > REPEATS_MAX)) {
        return yaml_error(r->document, node, r->error, "repeats are 1 to %d", REPEATS_MAX);
    }
    r->p->repeats = (size_t)count;
    return status;
}

static evocc_status read_score(reader *r, const yaml_node *node)
{
    const char *text = NULL;
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status == EVOCC_OK && text[0] == '\0') {
        return yaml_error(r->document, node, r->error,
                          "score is the text before the number on stdout");
    }
    r->p->score = status == EVOCC_OK ? arena_strdup(&r->p->texts, text) : NULL;
    return status == EVOCC_OK && r->p->score == NULL ? error_no_memory(r->error) : status;
}

static evocc_status read_run(reader *r, const yaml_node *root)
{
    static const struct {
        const char *key;
        evocc_status (*read)(reader *r, const yaml_node *node);
    } parts[] = {{"env", read_environment}, {"stdin", read_input},     {"outputs", read_outputs},
                 {"clock", read_clock},     {"repeats", read_repeats}, {"score", read_score}};
    program *p = r->p;
    p->repeats = REPEATS;
    p->compare_stdout = yaml_get(root, "score") == NULL; /* the number differs each time */
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < sizeof parts / sizeof *parts; i++) {
        const yaml_node *node = yaml_get(root, parts[i].key);
        status = node != NULL ? parts[i].read(r, node) : EVOCC_OK;
    }
    if (status == EVOCC_OK) {
        status = read_number(&p->tolerance, r, root, "tolerance");
    }
    if (status == EVOCC_OK) {
        status = read_number(&p->timeout_s, r, root, "timeout");
    }
    if (status == EVOCC_OK) {
        status = read_number(&p->build_timeout_s, r, root, "build-timeout");
    }
    if (status == EVOCC_OK && p->run.count > 0 && !p->compare_stdout && p->outputs.count == 0) {
        status = yaml_error(r->document, root, r->error,
                            "nothing tells whether the program is right: name its `outputs`");
    }
    return status;
}

/* ---- The file ---------------------------------------------------------------------------- */

static evocc_status read_compiler(reader *r, const yaml_node *root)
{
    program *p = r->p;
    const yaml_node *node = yaml_get(root, "compiler");
    const yaml_node *path = yaml_get(root, "compiler-path");
    const char *text = NULL;
    if (node == NULL) {
        return yaml_error(r->document, root, r->error, "`compiler` is missing: gcc or clang");
    }
    evocc_status status = yaml_text(&text, r->document, node, r->error);
    if (status == EVOCC_OK && strcmp(text, "gcc") != 0 && strcmp(text, "clang") != 0) {
        status =
            yaml_error(r->document, node, r->error, "compiler is gcc or clang, not '%s'", text);
    }
    if (status == EVOCC_OK) {
        p->compiler = strcmp(text, "gcc") == 0 ? "gcc" : "clang";
    }
    if (status == EVOCC_OK && path != NULL) {
        status = yaml_text(&text, r->document, path, r->error);
        p->compiler_path = status == EVOCC_OK ? arena_strdup(&p->texts, text) : NULL;
        status =
            status == EVOCC_OK && p->compiler_path == NULL ? error_no_memory(r->error) : status;
    }
    return status == EVOCC_OK ? read_optional_words(&p->base, r, root, "base") : status;
}

static evocc_status read_root(reader *r)
{
    static const char *const keys[] = {
        "evocc-program", "compiler", "compiler-path", "base",  "sources", "link",      "build",
        "code",          "run",      "stdin",         "env",   "outputs", "tolerance", "timeout",
        "build-timeout", "clock",    "repeats",       "score", NULL};
    const yaml_node *root = yaml_root(r->document);
    int64_t version = 0;
    if (root->kind != YAML_MAPPING) {
        return yaml_error(r->document, root, r->error, "a program file is a map of keys");
    }
    evocc_status status = yaml_only_keys(r->document, root, keys, r->error);
    const yaml_node *node = yaml_get(root, "evocc-program");
    if (status == EVOCC_OK && node == NULL) {
        status = yaml_error(r->document, root, r->error, "`evocc-program: 1` is missing");
    }
    if (status == EVOCC_OK) {
        status = yaml_integer(&version, r->document, node, r->error);
    }
    if (status == EVOCC_OK && version != 1) {
        status = yaml_error(r->document, node, r->error, "this evocc reads version 1");
    }
    if (status == EVOCC_OK) {
        status = read_compiler(r, root);
    }
    if (status == EVOCC_OK) {
        status = read_commands(r, root);
    }
    return status == EVOCC_OK ? read_run(r, root) : status;
}

static evocc_status set_place(program *p, const char *path, evocc_error *error)
{
    char *folder = path_folder(path);
    if (folder == NULL) {
        return error_no_memory(error);
    }
    char *resolved = realpath(folder, NULL);
    mem_free(folder);
    if (resolved == NULL) {
        return error_set(error, EVOCC_NOT_FOUND, "there is no folder of '%s'", path);
    }
    p->folder = arena_strdup(&p->texts, resolved);
    p->path = arena_strdup(&p->texts, path);
    free(resolved);
    return p->folder != NULL && p->path != NULL ? EVOCC_OK : error_no_memory(error);
}

evocc_status program_read(program **out, const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    reader r = {.p = mem_alloc(1, sizeof *r.p), .error = error};
    evocc_status status = r.p != NULL ? set_place(r.p, path, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = file_read(&text, &length, path, FILE_LIMIT, error);
    }
    if (status == EVOCC_OK) {
        strbuf_append(&r.sum, text, length);
        status = yaml_parse(&r.document, text, length, path, error);
    }
    if (status == EVOCC_OK) {
        status = read_root(&r);
    }
    if (status == EVOCC_OK) {
        hash_sha256(r.p->digest, strbuf_text(&r.sum), r.sum.length);
        status = r.sum.failed ? error_no_memory(error) : EVOCC_OK;
    }
    yaml_free(r.document);
    mem_free(text);
    strbuf_dispose(&r.sum);
    if (status != EVOCC_OK) {
        program_free(r.p);
        return status;
    }
    *out = r.p;
    return EVOCC_OK;
}

/* ---- Use --------------------------------------------------------------------------------- */

void program_build_command(compiler_command *out, const program *p, size_t step,
                           const char *compiler_path, const compiler_command *tuned)
{
    const program_words *words = &p->build[step];
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        if (strcmp(word, options_word) == 0) {
            for (size_t k = 0; k < p->base.count; k++) {
                compiler_command_add(out, p->base.items[k]);
            }
            for (size_t k = 0; k < tuned->count; k++) {
                compiler_command_add(out, tuned->argv[k]);
            }
        } else {
            compiler_command_add(out, strcmp(word, compiler_word) == 0 ? compiler_path : word);
        }
    }
}
