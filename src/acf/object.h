/* object.h: what lies behind an acf. Internal to acf. */
#ifndef ACF_OBJECT_H
#define ACF_OBJECT_H

#include "acf/acf.h"
#include "util/mem.h"

/* Most entries of base, metrics and found_extra. Doubles among them are found by comparing each
   with each, which this keeps under a millisecond. */
enum { ACF_LIST_LIMIT = 500 };

/* One line of found_extra. */
typedef struct acf_extra {
    const char *key, *value;
} acf_extra;

/* The public part comes first: a pointer to the one is a pointer to the other. */
typedef struct acf_object {
    acf file;
    const acf_extra *extras; /* found_extra, line by line */
    size_t extra_count;
    arena memory; /* all texts and arrays */
} acf_object;

/* acf_new, for those who need what lies behind it; acf_free(&object->file). */
evocc_status acf_object_new(acf_object **out, const acf *from, evocc_error *error);

/* "sha256:..." over the target and the controls, both sorted; docs/acf.md has the serialisation. */
void acf_digest(char out[HASH_SHA256_TEXT + 8], const acf *file);

#endif
