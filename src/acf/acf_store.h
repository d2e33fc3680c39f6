/*
 * acf_store.h: controls files that are installed, to be found by what is compiled and no flag at
 * all.
 *
 * A store is a folder. The user's own is ${XDG_DATA_HOME:-~/.local/share}/evocc/installed; projects
 * may keep others beside their kernels and name them in EVOCC_ACF_PATH (folders separated by
 * colons, looked at first). Inside, the path says what a file is for, so that one that does not
 * exist is found out without reading anything:
 *
 *     COMPILER/VERSION/ARCH/KEY/KERNEL.acf     ptxas/13.0.88/sm_90a/6c1f.../fa.acf
 *
 * KEY is made of the PTX name and the base options. The path only leads to a file; what decides is
 * acf_match on its contents. Files appear and go by rename and unlink: any number of builds and
 * installs may run at once.
 *
 * What another user could have written is not believed: a store, or a part of one, that belongs
 * neither to this user nor to root, or that group or others may write to, is ignored with a notice.
 */
#ifndef ACF_ACF_STORE_H
#define ACF_ACF_STORE_H

#include "acf/acf.h"

/* A file or folder that is there and was not used, and why. */
typedef void acf_store_notice(void *context, const char *path, const char *why);

/* The user's own store; NULL when neither XDG_DATA_HOME nor HOME names a home. mem_free. */
char *acf_store_home(void);

/* ---- Looking up ------------------------------------------------------------------------------ */

typedef struct acf_store acf_store;

/* *out is NULL when nothing at all is installed for this compiler. */
evocc_status acf_store_open(acf_store **out, const char *compiler, acf_store_notice *notice,
                            void *context, evocc_error *error);
void acf_store_free(acf_store *store);

/* Whether there may be something for this version and arch (NULL: any). Reads no file. */
bool acf_store_may_have(const acf_store *store, const char *version, const char *arch);

/* What is installed for this very compilation, or NULL. Files for several entries of the module
   come as one, for ACF_ALL_KERNELS; of two for the same entry the first store's counts, as it does
   of two that both set options for the whole module. `paths`, where the files lie, is appended to.
   Damaged, foreign and mismatching files are noticed and passed over. here->kernel is ignored. */
evocc_status acf_store_find(acf **out, strbuf *paths, const acf_store *store,
                            const acf_target *here, evocc_error *error);

/* ---- Keeping --------------------------------------------------------------------------------- */

/* Puts the file into the store of this folder (NULL: the user's own), in the place of an older one
   for the same target. *path, where it now lies, is mem_freed by the caller; may be NULL. A file
   with controls of nvcc's stage is EVOCC_UNSUPPORTED: they act before the PTX is there to look it
   up by. */
evocc_status acf_store_install(char **path, const char *folder, const acf *file,
                               evocc_error *error);

typedef struct acf_store_entry {
    const char *store, *path;
    const acf *file; /* NULL: not used; `why` says why not */
    const char *why;
} acf_store_entry;

/* Every file of one store, or of all that are looked at (folder NULL), in order of their paths. A
   store that does not exist has none. The visitor returns false to end the visit. */
typedef bool acf_store_visitor(void *context, const acf_store_entry *entry);
evocc_status acf_store_visit(const char *folder, acf_store_visitor *visit, void *context,
                             evocc_error *error);

/* Removes one file, by an entry's path, and the folders it leaves empty. */
evocc_status acf_store_remove(const acf_store_entry *entry, evocc_error *error);

#endif
