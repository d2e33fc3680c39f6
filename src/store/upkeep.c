#include "store/internal.h"

#include "util/error.h"

#include <sys/stat.h>

static uint64_t bytes_of(const char *path, const char *ending)
{
    strbuf name = {0};
    struct stat info;
    strbuf_printf(&name, "%s%s", path, ending);
    uint64_t bytes =
        !name.failed && stat(strbuf_text(&name), &info) == 0 ? (uint64_t)info.st_size : 0;
    strbuf_dispose(&name);
    return bytes;
}

uint64_t store_bytes(const store *s)
{
    return bytes_of(s->path, "") + bytes_of(s->path, "-wal");
}

evocc_status store_each_setting(store *s,
                                evocc_status (*each)(const char *name, const char *value,
                                                     void *context, evocc_error *error),
                                void *context, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_EACH_SETTING, error);
    if (statement == NULL) {
        return error->status;
    }
    evocc_status status = EVOCC_OK;
    int code = SQLITE_DONE;
    while (status == EVOCC_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        status =
            each(store_column_text(statement, 0), store_column_text(statement, 1), context, error);
    }
    sqlite3_reset(statement);
    if (status == EVOCC_OK && code != SQLITE_DONE) {
        status = store_error(s, code, error);
    }
    return status;
}

evocc_status store_each_artifact(store *s,
                                 evocc_status (*each)(const char *name, uint64_t bytes,
                                                      void *context, evocc_error *error),
                                 void *context, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_EACH_ARTIFACT, error);
    if (statement == NULL) {
        return error->status;
    }
    evocc_status status = EVOCC_OK;
    int code = SQLITE_DONE;
    while (status == EVOCC_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        status = each(store_column_text(statement, 0), (uint64_t)sqlite3_column_int64(statement, 1),
                      context, error);
    }
    sqlite3_reset(statement);
    if (status == EVOCC_OK && code != SQLITE_DONE) {
        status = store_error(s, code, error);
    }
    return status;
}

evocc_status store_drop_artifact(store *s, const char *name, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_DROP_ARTIFACT, error);
    if (statement == NULL) {
        return error->status;
    }
    store_bind_text(statement, 1, name);
    return store_finish(s, statement, error);
}

/* The log is emptied after VACUUM, which writes the new pages there. */
evocc_status store_compact(store *s, evocc_error *error)
{
    evocc_status status = store_execute(s, "VACUUM", error);
    return status == EVOCC_OK ? store_execute(s, "PRAGMA wal_checkpoint(TRUNCATE)", error) : status;
}
