/* Looking up installed files: what builds do in every compilation. */
#include "acf/acf_store.h"

#include "acf/store_folder.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most files that are put together for one module. */
enum { FOUND_LIMIT = 256 };

struct acf_store {
    char **folders; /* STORE/COMPILER */
    int *descriptors;
    size_t count;
    acf_store_notice *notice;
    void *context;
};

static void notice(const acf_store *store, const char *folder, const char *name, const char *why)
{
    char *path = name == NULL ? mem_strdup(folder) : path_join(folder, name);
    store->notice(store->context, path == NULL ? folder : path, why);
    mem_free(path);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Adds STORE/COMPILER, where it is and may be believed. */
static evocc_status add_store(acf_store *store, const char *folder, const char *compiler,
                              evocc_error *error)
{
    const char *why = NULL;
    int root = store_folder_open(AT_FDCWD, folder, true, &why);
    if (root < 0) {
        if (why != NULL) {
            notice(store, folder, NULL, why);
        }
        return EVOCC_OK;
    }
    int descriptor = store_folder_open(root, compiler, false, &why);
    close(root);
    if (descriptor < 0) {
        if (why != NULL) {
            notice(store, folder, compiler, why);
        }
        return EVOCC_OK;
    }
    char *path = path_join(folder, compiler);
    char **folders = mem_realloc(store->folders, store->count + 1, sizeof *folders);
    store->folders = folders != NULL ? folders : store->folders;
    int *descriptors = mem_realloc(store->descriptors, store->count + 1, sizeof *descriptors);
    store->descriptors = descriptors != NULL ? descriptors : store->descriptors;
    if (path == NULL || folders == NULL || descriptors == NULL) {
        mem_free(path);
        close(descriptor);
        return error_no_memory(error);
    }
    folders[store->count] = path;
    descriptors[store->count++] = descriptor;
    return EVOCC_OK;
}

evocc_status acf_store_open(acf_store **out, const char *compiler, acf_store_notice *notice_of,
                            void *context, evocc_error *error)
{
    *out = NULL;
    store_folders folders = {0};
    acf_store *store = mem_alloc(1, sizeof *store);
    evocc_status status = store == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK) {
        store->notice = notice_of;
        store->context = context;
        status = store_folders_list(&folders, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < folders.count; i++) {
        status = add_store(store, folders.items[i], compiler, error);
    }
    store_folders_dispose(&folders);
    if (status == EVOCC_OK && store->count > 0) {
        *out = store;
    } else {
        acf_store_free(store);
    }
    return status;
}

void acf_store_free(acf_store *store)
{
    for (size_t i = 0; store != NULL && i < store->count; i++) {
        mem_free(store->folders[i]);
        close(store->descriptors[i]);
    }
    if (store != NULL) {
        mem_free(store->folders);
        mem_free(store->descriptors);
        mem_free(store);
    }
}

bool acf_store_may_have(const acf_store *store, const char *version, const char *arch)
{
    strbuf path = {0};
    bool has = false;
    if (store_is_name(version) && (arch == NULL || store_is_name(arch))) {
        strbuf_printf(&path, "%s%s%s", version, arch == NULL ? "" : "/", arch == NULL ? "" : arch);
        for (size_t i = 0; !path.failed && !has && i < store->count; i++) {
            has = faccessat(store->descriptors[i], strbuf_text(&path), F_OK, 0) == 0;
        }
    }
    strbuf_dispose(&path);
    return has;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* The files taken so far. */
typedef struct finding {
    const acf_store *store;
    const acf_target *here;
    acf *files[FOUND_LIMIT];
    size_t count;
    strbuf *paths;
} finding;

static bool reaches_module(const acf *file)
{
    for (size_t i = 0; i < file->control_count; i++) {
        if (strncmp(file->controls[i].full_name, "ptx/", 4) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether the file can be applied together with those taken before it. */
static bool fits(const finding *f, const acf *file)
{
    bool whole = strcmp(file->target.kernel, ACF_ALL_KERNELS) == 0;
    if (f->count == FOUND_LIMIT || (whole && f->count > 0)) {
        return false;
    }
    for (size_t i = 0; i < f->count; i++) {
        const char *kernel = f->files[i]->target.kernel;
        if (strcmp(kernel, ACF_ALL_KERNELS) == 0 || strcmp(kernel, file->target.kernel) == 0 ||
            (reaches_module(file) && reaches_module(f->files[i]))) {
            return false;
        }
    }
    return true;
}

/* Only a lack of memory is an error. */
static evocc_status take(finding *f, int folder, const char *path, const char *name,
                         evocc_error *error)
{
    evocc_error reason = {0};
    acf *file = NULL;
    evocc_status status = store_file_read(&file, folder, path, name, &reason);
    if (status == EVOCC_OK) {
        status = acf_match(file, f->here, &reason);
    }
    if (status == EVOCC_OK && fits(f, file)) {
        f->files[f->count++] = file;
        strbuf_printf(f->paths, "%s%s/%s", f->count == 1 ? "" : ", ", path, name);
        return f->paths->failed ? error_no_memory(error) : EVOCC_OK;
    }
    acf_free(file);
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    if (status != EVOCC_OK && status != EVOCC_NOT_FOUND) { /* gone meanwhile: uninstalled */
        notice(f->store, path, name, reason.message);
    }
    return EVOCC_OK;
}

static evocc_status find_in_folder(finding *f, int folder, const char *path, evocc_error *error)
{
    store_names names = {0};
    evocc_status status = store_names_list(&names, folder, error);
    for (size_t i = 0; status == EVOCC_OK && i < names.count; i++) {
        if (store_is_entry(names.items[i])) {
            status = take(f, folder, path, names.items[i], error);
        }
    }
    store_names_dispose(&names);
    return status;
}

/* Down through VERSION, ARCH and KEY; where one of them is missing there is nothing. */
static evocc_status find_in_store(finding *f, size_t index, const char *const *parts,
                                  evocc_error *error)
{
    const acf_store *store = f->store;
    strbuf path = {0};
    strbuf_puts(&path, store->folders[index]);
    int descriptor = store->descriptors[index];
    for (size_t i = 0; parts[i] != NULL && descriptor >= 0; i++) {
        const char *why = NULL;
        int below = store_folder_open(descriptor, parts[i], false, &why);
        if (below < 0 && why != NULL) {
            notice(store, strbuf_text(&path), parts[i], why);
        }
        if (i > 0) {
            close(descriptor);
        }
        descriptor = below;
        strbuf_printf(&path, "/%s", parts[i]);
    }
    evocc_status status = EVOCC_OK;
    if (descriptor >= 0) {
        status = path.failed ? error_no_memory(error)
                             : find_in_folder(f, descriptor, strbuf_text(&path), error);
        close(descriptor);
    }
    strbuf_dispose(&path);
    return status;
}

/* One file for all of the entries. */
static evocc_status join(acf **out, const finding *f, evocc_error *error)
{
    acf from = {.target = f->files[0]->target};
    size_t count = 0;
    from.target.kernel = ACF_ALL_KERNELS;
    for (size_t i = 0; i < f->count; i++) {
        count += f->files[i]->control_count;
    }
    acf_control *controls = mem_alloc(count, sizeof *controls);
    if (controls == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < f->count; i++) {
        const acf *file = f->files[i];
        memcpy(controls + from.control_count, file->controls,
               file->control_count * sizeof *controls);
        from.control_count += file->control_count;
    }
    from.controls = controls;
    evocc_status status = acf_new(out, &from, error);
    mem_free(controls);
    return status;
}

evocc_status acf_store_find(acf **out, strbuf *paths, const acf_store *store,
                            const acf_target *here, evocc_error *error)
{
    acf_target any_kernel = *here;
    any_kernel.kernel = NULL;
    finding f = {.store = store, .here = &any_kernel, .paths = paths};
    char key[STORE_KEY_SIZE];
    *out = NULL;
    if (!store_is_name(here->version) || !store_is_name(here->arch)) {
        return EVOCC_OK;
    }
    evocc_status status = store_key(key, here, error);
    const char *const parts[] = {here->version, here->arch, key, NULL};
    for (size_t i = 0; status == EVOCC_OK && i < store->count; i++) {
        status = find_in_store(&f, i, parts, error);
    }
    if (status == EVOCC_OK && f.count == 1) {
        *out = f.files[0];
        return EVOCC_OK;
    }
    if (status == EVOCC_OK && f.count > 1) {
        status = join(out, &f, error);
    }
    for (size_t i = 0; i < f.count; i++) {
        acf_free(f.files[i]);
    }
    return status;
}
