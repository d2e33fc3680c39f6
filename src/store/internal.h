/*
 * internal.h: what the files of this room share.
 *
 *   store.c    the file itself: creating, opening, settings, artifacts, trials
 *   samples.c  the measurements behind a trial's numbers
 *   upkeep.c   what a file holds, and making it smaller
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>

enum store_statement {
    STORE_SET,
    STORE_GET,
    STORE_EACH_SETTING,
    STORE_PUT_ARTIFACT,
    STORE_GET_ARTIFACT,
    STORE_EACH_ARTIFACT,
    STORE_DROP_ARTIFACT,
    STORE_ADD_TRIAL,
    STORE_ADD_METRIC,
    STORE_EACH_TRIAL,
    STORE_EACH_METRIC,
    STORE_ADD_SAMPLE,
    STORE_EACH_SAMPLE,
    STORE_STATEMENT_COUNT
};

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STORE_STATEMENT_COUNT];
    char *path;
    int lock;    /* -1 for a reader */
    int version; /* of the schema in the file */
};

/* What SQLite said, in our terms and with what can be done about it. */
evocc_status store_error(const store *s, int code, evocc_error *error);

evocc_status store_execute(store *s, const char *sql, evocc_error *error);

/* The prepared statement, reset and without bindings; NULL with the error set, which must be there.
 */
sqlite3_stmt *store_prepare(store *s, enum store_statement which, evocc_error *error);

/* Runs a statement that returns no row, and resets it. */
evocc_status store_finish(store *s, sqlite3_stmt *statement, evocc_error *error);

void store_bind_text(sqlite3_stmt *statement, int index, const char *text); /* borrowed */
const char *store_column_text(sqlite3_stmt *statement, int column);         /* "" for NULL */

#endif
