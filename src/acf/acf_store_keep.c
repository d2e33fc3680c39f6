/* Installing, listing, removing. */
#include "acf/acf_store.h"

#include "acf/store_folder.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parts of a path below a store: COMPILER, VERSION, ARCH, KEY; then the file. */
enum { FOLDER_DEPTH = 4, FILE_NAME_ROOM = 160, KERNEL_SHOWN = 100 };

/* ---- Installing ------------------------------------------------------------------------------ */

/* Kernel names are letters, digits, '_', '$' and '%', so that names with '-' are free for the two
   others: the whole module, and names too long for a file, told apart by their digest. */
static void file_name(char out[FILE_NAME_ROOM], const char *kernel)
{
    size_t length = strlen(kernel);
    if (strcmp(kernel, ACF_ALL_KERNELS) == 0) {
        snprintf(out, FILE_NAME_ROOM, "whole-module.acf");
    } else if (length <= KERNEL_SHOWN) {
        snprintf(out, FILE_NAME_ROOM, "%s.acf", kernel);
    } else {
        char digest[HASH_SHA256_TEXT];
        hash_sha256(digest, kernel, length);
        snprintf(out, FILE_NAME_ROOM, "%.*s-%.16s.acf", KERNEL_SHOWN, kernel, digest);
    }
}

/* Nobody but the owner may write, whatever the umask says: else the store would be ignored. */
static evocc_status make_folder(const char *path, evocc_error *error)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST
               ? EVOCC_OK
               : error_set_os(error, errno == ENOENT ? EVOCC_NOT_FOUND : EVOCC_IO, errno,
                              "cannot make the folder '%s'", path);
}

static evocc_status make_store(const char *folder, evocc_error *error)
{
    char *above = path_folder(folder);
    evocc_status status = above == NULL ? error_no_memory(error) : folder_make(above, error);
    mem_free(above);
    return status == EVOCC_OK ? make_folder(folder, error) : status;
}

/* *out: the folder that the file belongs into. */
static evocc_status make_folders(strbuf *out, const char *folder, const acf_target *target,
                                 evocc_error *error)
{
    char key[STORE_KEY_SIZE];
    evocc_status status = store_key(key, target, error);
    const char *const parts[FOLDER_DEPTH] = {target->compiler, target->version, target->arch, key};
    strbuf_clear(out);
    strbuf_puts(out, folder);
    for (size_t i = 0; status == EVOCC_OK && i < FOLDER_DEPTH; i++) {
        if (!store_is_name(parts[i])) {
            return error_set(error, EVOCC_INVALID_ARGUMENT, "'%.100s' cannot be part of a path",
                             parts[i]);
        }
        strbuf_printf(out, "/%s", parts[i]);
        status = out->failed ? error_no_memory(error) : make_folder(strbuf_text(out), error);
    }
    return status;
}

/* Readers see the old file or the new one, never one that may not be believed. */
static evocc_status put(const char *folder, const char *name, const strbuf *text,
                        evocc_error *error)
{
    strbuf hidden = {0};
    strbuf final = {0};
    strbuf_printf(&hidden, "%s/.%ld.new", folder, (long)getpid());
    strbuf_printf(&final, "%s/%s", folder, name);
    evocc_status status =
        hidden.failed || final.failed
            ? error_no_memory(error)
            : file_write_atomic(strbuf_text(&hidden), text->data, text->length, error);
    if (status == EVOCC_OK && (chmod(strbuf_text(&hidden), 0644) != 0 ||
                               rename(strbuf_text(&hidden), strbuf_text(&final)) != 0)) {
        evocc_status kind = errno == ENOENT ? EVOCC_NOT_FOUND : EVOCC_IO; /* removed meanwhile */
        status = error_set_os(error, kind, errno, "cannot write '%s'", strbuf_text(&final));
        unlink(strbuf_text(&hidden));
    }
    strbuf_dispose(&hidden);
    strbuf_dispose(&final);
    return status;
}

static evocc_status check_stages(const acf *file, evocc_error *error)
{
    for (size_t i = 0; i < file->control_count; i++) {
        if (strncmp(file->controls[i].full_name, "nvcc/", 5) == 0) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "'%s' has the control %s, which acts before there is PTX to find the "
                             "file by; name the file with --apply-controls instead",
                             file->name == NULL ? "the file" : file->name,
                             file->controls[i].full_name);
        }
    }
    return EVOCC_OK;
}

static evocc_status install(char **path, const char *folder, const acf *file, const strbuf *text,
                            evocc_error *error)
{
    enum { ATTEMPTS = 1000 };
    char name[FILE_NAME_ROOM];
    strbuf place = {0};
    file_name(name, file->target.kernel);
    evocc_status status = make_store(folder, error);
    /* A removal at the same time may take away a folder that was empty until now. */
    evocc_status placed = EVOCC_NOT_FOUND;
    for (int i = 0; status == EVOCC_OK && placed == EVOCC_NOT_FOUND && i < ATTEMPTS; i++) {
        placed = make_folders(&place, folder, &file->target, error);
        if (placed == EVOCC_OK) {
            placed = put(strbuf_text(&place), name, text, error);
        }
    }
    status = status == EVOCC_OK ? placed : status;
    if (status == EVOCC_OK && path != NULL) {
        *path = path_join(strbuf_text(&place), name);
        status = *path == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    strbuf_dispose(&place);
    return status;
}

static evocc_status no_home(evocc_error *error)
{
    if (store_has_home()) {
        return error_no_memory(error);
    }
    return error_set(
        error, EVOCC_NOT_FOUND,
        "neither XDG_DATA_HOME nor HOME names a folder for the store; set one, or name "
        "a store with --store");
}

evocc_status acf_store_install(char **path, const char *folder, const acf *file, evocc_error *error)
{
    char *home = folder == NULL ? acf_store_home() : NULL;
    strbuf text = {0};
    evocc_status status = check_stages(file, error);
    if (status == EVOCC_OK) {
        status = acf_write(&text, file, error);
    }
    if (status == EVOCC_OK) {
        folder = folder == NULL ? home : folder;
        status = folder == NULL ? no_home(error) : install(path, folder, file, &text, error);
    }
    strbuf_dispose(&text);
    mem_free(home);
    return status;
}

/* ---- Listing --------------------------------------------------------------------------------- */

typedef struct visit {
    const char *store;
    acf_store_visitor *visitor;
    void *context;
    bool ended;
} visit;

static void show(visit *v, const char *path, const acf *file, const char *why)
{
    const acf_store_entry entry = {.store = v->store, .path = path, .file = file, .why = why};
    v->ended = !v->visitor(v->context, &entry);
}

static evocc_status visit_file(visit *v, int folder, const char *path, const char *name,
                               evocc_error *error)
{
    acf *file = NULL;
    evocc_error reason = {0};
    evocc_status status = store_file_read(&file, folder, path, name, &reason);
    char *full = path_join(path, name);
    if (full == NULL || status == EVOCC_NO_MEMORY) {
        status = error_no_memory(error);
    } else {
        if (status != EVOCC_NOT_FOUND) {
            show(v, full, file, file == NULL ? reason.message : NULL);
        }
        status = EVOCC_OK;
    }
    mem_free(full);
    acf_free(file);
    return status;
}

static evocc_status visit_folder(visit *v, int descriptor, const char *path, int depth,
                                 evocc_error *error);

static evocc_status visit_below(visit *v, int descriptor, const char *path, const char *name,
                                int depth, evocc_error *error)
{
    const char *why = NULL;
    int below = store_folder_open(descriptor, name, false, &why);
    char *full = path_join(path, name);
    evocc_status status = EVOCC_OK;
    if (full == NULL) {
        status = error_no_memory(error);
    } else if (below >= 0) {
        status = visit_folder(v, below, full, depth + 1, error);
    } else if (why != NULL) {
        show(v, full, NULL, why);
    }
    if (below >= 0) {
        close(below);
    }
    mem_free(full);
    return status;
}

static evocc_status visit_folder(visit *v, int descriptor, const char *path, int depth,
                                 evocc_error *error)
{
    store_names names = {0};
    evocc_status status = store_names_list(&names, descriptor, error);
    for (size_t i = 0; status == EVOCC_OK && !v->ended && i < names.count; i++) {
        const char *name = names.items[i];
        if (depth < FOLDER_DEPTH) {
            status = visit_below(v, descriptor, path, name, depth, error);
        } else if (store_is_entry(name)) {
            status = visit_file(v, descriptor, path, name, error);
        }
    }
    store_names_dispose(&names);
    return status;
}

static evocc_status visit_store(visit *v, evocc_error *error)
{
    const char *why = NULL;
    int descriptor = store_folder_open(AT_FDCWD, v->store, true, &why);
    evocc_status status = EVOCC_OK;
    if (descriptor >= 0) {
        status = visit_folder(v, descriptor, v->store, 0, error);
        close(descriptor);
    } else if (why != NULL) {
        show(v, v->store, NULL, why);
    }
    return status;
}

evocc_status acf_store_visit(const char *folder, acf_store_visitor *visitor, void *context,
                             evocc_error *error)
{
    visit v = {.store = folder, .visitor = visitor, .context = context};
    if (folder != NULL) {
        return visit_store(&v, error);
    }
    store_folders folders = {0};
    evocc_status status = store_folders_list(&folders, error);
    for (size_t i = 0; status == EVOCC_OK && !v.ended && i < folders.count; i++) {
        v.store = folders.items[i];
        status = visit_store(&v, error);
    }
    store_folders_dispose(&folders);
    return status;
}

/* ---- Removing -------------------------------------------------------------------------------- */

evocc_status acf_store_remove(const acf_store_entry *entry, evocc_error *error)
{
    if (unlink(entry->path) != 0) {
        return error_set_os(error, errno == ENOENT ? EVOCC_NOT_FOUND : EVOCC_IO, errno,
                            "cannot remove '%s'", entry->path);
    }
    char *folder = path_folder(entry->path);
    for (int i = 0; i < FOLDER_DEPTH && folder != NULL && rmdir(folder) == 0; i++) {
        char *above = path_folder(folder);
        mem_free(folder);
        folder = above;
    }
    mem_free(folder);
    return EVOCC_OK;
}
