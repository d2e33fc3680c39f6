/* store_folder.h: folders and files of a store, believed or not. Internal to acf_store*.c. */
#ifndef ACF_STORE_FOLDER_H
#define ACF_STORE_FOLDER_H

#include "acf/acf.h"

/* The stores that are looked at, in order. */
typedef struct store_folders {
    char **items;
    size_t count;
} store_folders;
evocc_status store_folders_list(store_folders *out, evocc_error *error);
void store_folders_dispose(store_folders *folders);
bool store_has_home(void); /* when acf_store_home is NULL all the same, memory is out */

/* Opens a folder. -1 with *why NULL: there is none; else what keeps it from being used. Only the
   store itself may be a symbolic link, which `follow` allows. */
int store_folder_open(int parent, const char *name, bool follow, const char **why);

/* Reads NAME in the open folder `path`. Not to be believed is EVOCC_REFUSED. */
evocc_status store_file_read(acf **out, int folder, const char *path, const char *name,
                             evocc_error *error);

/* The names in a folder, sorted; without those that begin with a dot. */
typedef struct store_names {
    char **items;
    size_t count, capacity;
} store_names;
evocc_status store_names_list(store_names *out, int folder, evocc_error *error);
void store_names_dispose(store_names *names);

bool store_is_name(const char *text);  /* can be one part of a path */
bool store_is_entry(const char *name); /* ends in .acf */

/* The KEY of a target: 32 hexadecimal digits of a digest over the PTX name and the base. */
#define STORE_KEY_SIZE 33
evocc_status store_key(char out[STORE_KEY_SIZE], const acf_target *target, evocc_error *error);

#endif
