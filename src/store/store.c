/*
 * One writer at a time is enforced with flock on the database file itself: SQLite uses fcntl locks,
 * which do not meet it. The locking descriptor is opened before SQLite opens the file and closed
 * after SQLite has closed it, because closing any descriptor of a file drops the process's fcntl
 * locks on it.
 */
#include "store/internal.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Version 1 had no samples; a file of it is read as one without any, and becomes one of version 2
   when it is opened for writing. */
enum {
    APPLICATION_ID = 0x45564f43, /* "EVOC" */
    SCHEMA_VERSION = 2,
    SCHEMA_OLDEST = 1
};

static const char schema[] = "CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL) "
                             "WITHOUT ROWID;"
                             "CREATE TABLE artifact(name TEXT PRIMARY KEY, data BLOB NOT NULL);"
                             "CREATE TABLE trial("
                             " id INTEGER PRIMARY KEY,"
                             " generation INTEGER NOT NULL,"
                             " outcome TEXT NOT NULL,"
                             " candidate TEXT NOT NULL,"
                             " code_hash TEXT NOT NULL,"
                             " detail TEXT NOT NULL,"
                             " command TEXT NOT NULL,"
                             " wall_s REAL NOT NULL,"
                             " shared INTEGER NOT NULL);"
                             "CREATE TABLE metric("
                             " trial INTEGER NOT NULL REFERENCES trial(id),"
                             " position INTEGER NOT NULL,"
                             " name TEXT NOT NULL,"
                             " value REAL,"
                             " PRIMARY KEY(trial, position)) WITHOUT ROWID;";

static const char schema_2[] = "CREATE TABLE sample("
                               " trial INTEGER NOT NULL REFERENCES trial(id),"
                               " metric TEXT NOT NULL,"
                               " purpose TEXT NOT NULL,"
                               " position INTEGER NOT NULL,"
                               " baseline REAL,"
                               " value REAL NOT NULL,"
                               " PRIMARY KEY(trial, metric, purpose, position)) WITHOUT ROWID;";

static const char *const statement_text[STORE_STATEMENT_COUNT] = {
    [STORE_SET] = "INSERT INTO setting VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2",
    [STORE_GET] = "SELECT value FROM setting WHERE name = ?1",
    [STORE_PUT_ARTIFACT] =
        "INSERT INTO artifact VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET data = ?2",
    [STORE_GET_ARTIFACT] = "SELECT data FROM artifact WHERE name = ?1",
    [STORE_ADD_TRIAL] = "INSERT INTO trial VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [STORE_ADD_METRIC] = "INSERT INTO metric VALUES(?1, ?2, ?3, ?4)",
    [STORE_EACH_TRIAL] =
        ("SELECT id, generation, outcome, candidate, code_hash, detail, command, wall_s, "
         "shared FROM trial ORDER BY id"),
    [STORE_EACH_SETTING] = "SELECT name, value FROM setting ORDER BY name",
    [STORE_EACH_ARTIFACT] = "SELECT name, length(data) FROM artifact ORDER BY name",
    [STORE_DROP_ARTIFACT] = "DELETE FROM artifact WHERE name = ?1",
    [STORE_ADD_SAMPLE] = "INSERT INTO sample VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [STORE_EACH_SAMPLE] = ("SELECT trial, metric, purpose, position, baseline, value FROM sample "
                           "ORDER BY trial, metric, purpose, position"),
    [STORE_EACH_METRIC] = "SELECT name, value FROM metric WHERE trial = ?1 ORDER BY position",
};

/* What SQLite said, in our terms and with what can be done about it. */
evocc_status store_error(const store *s, int code, evocc_error *error)
{
    const char *path = s->path == NULL ? "study file" : s->path;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return error_no_memory(error);
    case SQLITE_FULL:
        return error_set(error, EVOCC_IO, "%s: the disk is full", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_set(error, EVOCC_DAMAGED,
                         "%s: not a study file, or damaged; it was left as it is: name another "
                         "with --study, or restore it from a copy",
                         path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(error, EVOCC_BUSY, "%s: in use by another process", path);
    case SQLITE_READONLY:
        return error_set(error, EVOCC_IO, "%s: no permission to write", path);
    default:
        return error_set(error, EVOCC_IO, "%s: %s", path,
                         s->database == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(s->database));
    }
}

evocc_status store_execute(store *s, const char *sql, evocc_error *error)
{
    int code = sqlite3_exec(s->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? EVOCC_OK : store_error(s, code, error);
}

/* The prepared statement, reset and without bindings; NULL with the error set. */
sqlite3_stmt *store_prepare(store *s, enum store_statement which, evocc_error *error)
{
    sqlite3_stmt *statement = s->statements[which];
    if (statement == NULL) {
        int code = sqlite3_prepare_v3(s->database, statement_text[which], -1,
                                      SQLITE_PREPARE_PERSISTENT, &statement, NULL);
        if (code != SQLITE_OK) {
            store_error(s, code, error);
            return NULL;
        }
        s->statements[which] = statement;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return statement;
}

/* Runs a statement that returns no row. */
evocc_status store_finish(store *s, sqlite3_stmt *statement, evocc_error *error)
{
    int code = sqlite3_step(statement);
    evocc_status status = code == SQLITE_DONE ? EVOCC_OK : store_error(s, code, error);
    sqlite3_reset(statement);
    return status;
}

void store_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static evocc_status integer_pragma(store *s, const char *sql, int *out, evocc_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(s->database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        *out = sqlite3_column_int(statement, 0);
    }
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? EVOCC_OK : store_error(s, code, error);
}

/* A file of a folder that cannot be written to, which nobody is writing: SQLite wants to be told
   so, since it cannot make its shared memory there. The path goes into a URI, hence the escapes. */
static int connect_immutable(store *s)
{
    strbuf uri = {0};
    strbuf log = {0};
    strbuf_printf(&log, "%s-wal", s->path);
    if (log.failed || file_exists(strbuf_text(&log))) {
        strbuf_dispose(&log);
        return SQLITE_READONLY;
    }
    strbuf_puts(&uri, s->path[0] == '/' ? "file://" : "file:");
    for (const char *c = s->path; *c != '\0'; c++) {
        strbuf_printf(&uri, strchr("%?#", *c) == NULL ? "%c" : "%%%02x", *c);
    }
    strbuf_puts(&uri, "?immutable=1");
    sqlite3_close(s->database);
    s->database = NULL;
    int code = uri.failed ? SQLITE_NOMEM
                          : sqlite3_open_v2(strbuf_text(&uri), &s->database,
                                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    strbuf_dispose(&uri);
    strbuf_dispose(&log);
    return code;
}

static evocc_status connect(store *s, int flags, evocc_error *error)
{
    /* A ':memory:' or 'file:' path would not mean a file of that name to SQLite. */
    strbuf path = {0};
    if (s->path[0] != '/') {
        strbuf_puts(&path, "./");
    }
    strbuf_puts(&path, s->path);
    if (path.failed) {
        strbuf_dispose(&path);
        return error_no_memory(error);
    }
    int code = sqlite3_open_v2(strbuf_text(&path), &s->database, flags, NULL);
    strbuf_dispose(&path);
    if (code != SQLITE_OK) {
        return store_error(s, code, error);
    }
    sqlite3_extended_result_codes(s->database, 1);
    sqlite3_busy_timeout(s->database, 5000);
    return EVOCC_OK;
}

static evocc_status check_format(store *s, evocc_error *error)
{
    int application = 0;
    int version = 0;
    evocc_status status = integer_pragma(s, "PRAGMA application_id", &application, error);
    if (status == EVOCC_OK) {
        status = integer_pragma(s, "PRAGMA user_version", &version, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    if (application != APPLICATION_ID) {
        return store_error(s, SQLITE_NOTADB, error);
    }
    if (version < SCHEMA_OLDEST || version > SCHEMA_VERSION) {
        return error_set(error, EVOCC_UNSUPPORTED,
                         "%s: study file format %d; this evocc reads formats up to %d: use the "
                         "evocc that wrote it",
                         s->path, version, SCHEMA_VERSION);
    }
    s->version = version;
    return EVOCC_OK;
}

static store *store_new(const char *path)
{
    store *s = mem_alloc(1, sizeof *s);
    if (s != NULL) {
        s->lock = -1;
        s->path = mem_strdup(path);
        if (s->path == NULL) {
            mem_free(s);
            s = NULL;
        }
    }
    return s;
}

/* What a new database holds. */
static evocc_status make_tables(store *s, evocc_error *error)
{
    char identity[96];
    sqlite3_snprintf(sizeof identity, identity, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                     APPLICATION_ID, SCHEMA_VERSION);
    const char *const steps[] = {identity, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                                 schema, schema_2};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < sizeof steps / sizeof steps[0]; i++) {
        status = store_execute(s, steps[i], error);
    }
    s->version = SCHEMA_VERSION;
    return status;
}

evocc_status store_create(store **out, const char *path, evocc_error *error)
{
    store *s = store_new(path);
    if (s == NULL) {
        return error_no_memory(error);
    }
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        int os_errno = errno;
        store_free(s);
        if (os_errno == EEXIST) {
            return error_set(error, EVOCC_REFUSED,
                             "%s exists already; continue it with evocc tune --resume %s, or name "
                             "another file with --study",
                             path, path);
        }
        return error_set_os(error, EVOCC_IO, os_errno, "cannot create the study file %s", path);
    }
    close(descriptor);
    evocc_status status = file_lock(&s->lock, path, error);
    if (status == EVOCC_OK) {
        status = connect(s, SQLITE_OPEN_READWRITE, error);
    }
    if (status == EVOCC_OK) {
        status = make_tables(s, error);
    }
    if (status != EVOCC_OK) {
        store_discard(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

/* From version 1: whole or not at all, and what was in the file stays as it was. */
static evocc_status upgrade(store *s, evocc_error *error)
{
    strbuf sql = {0};
    strbuf_printf(&sql, "BEGIN IMMEDIATE; %s PRAGMA user_version=%d; COMMIT;", schema_2,
                  SCHEMA_VERSION);
    evocc_status status =
        sql.failed ? error_no_memory(error) : store_execute(s, strbuf_text(&sql), error);
    if (status == EVOCC_OK) {
        s->version = SCHEMA_VERSION;
    } else if (sqlite3_get_autocommit(s->database) == 0) {
        store_execute(s, "ROLLBACK", NULL);
    }
    strbuf_dispose(&sql);
    return status;
}

evocc_status store_create_in_memory(store **out, evocc_error *error)
{
    store *s = store_new("the study in memory");
    if (s == NULL) {
        return error_no_memory(error);
    }
    int code = sqlite3_open_v2(":memory:", &s->database, SQLITE_OPEN_READWRITE, NULL);
    evocc_status status = code == SQLITE_OK ? make_tables(s, error) : store_error(s, code, error);
    if (status != EVOCC_OK) {
        store_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

evocc_status store_open(store **out, const char *path, evocc_error *error)
{
    if (!file_exists(path)) {
        return error_set(error, EVOCC_NOT_FOUND, "no study file %s", path);
    }
    store *s = store_new(path);
    if (s == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = file_lock(&s->lock, path, error);
    if (status == EVOCC_BUSY) {
        error_set(error, EVOCC_BUSY,
                  "%s is in use by another evocc; wait for it, or name another file with --study",
                  path);
    }
    if (status == EVOCC_OK) {
        status = connect(s, SQLITE_OPEN_READWRITE, error);
    }
    if (status == EVOCC_OK) {
        status = check_format(s, error);
    }
    if (status == EVOCC_OK) {
        status = store_execute(s, "PRAGMA synchronous=NORMAL;", error);
    }
    if (status == EVOCC_OK && s->version < SCHEMA_VERSION) {
        status = upgrade(s, error);
    }
    if (status != EVOCC_OK) {
        store_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

evocc_status store_open_read(store **out, const char *path, evocc_error *error)
{
    if (!file_exists(path)) {
        return error_set(error, EVOCC_NOT_FOUND, "no study file %s", path);
    }
    store *s = store_new(path);
    if (s == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = connect(s, SQLITE_OPEN_READONLY, error);
    if (status == EVOCC_OK) {
        status = check_format(s, error);
    }
    if (status == EVOCC_IO && connect_immutable(s) == SQLITE_OK) {
        status = check_format(s, error);
    }
    if (status != EVOCC_OK) {
        store_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

void store_free(store *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < STORE_STATEMENT_COUNT; i++) {
        sqlite3_finalize(s->statements[i]);
    }
    sqlite3_close(s->database);
    if (s->lock >= 0) {
        close(s->lock);
    }
    mem_free(s->path);
    mem_free(s);
}

void store_discard(store *s)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    strbuf names[3] = {{0}};
    for (size_t i = 0; i < 3; i++) {
        strbuf_printf(&names[i], "%s%s", s->path, endings[i]);
    }
    store_free(s);
    for (size_t i = 0; i < 3; i++) {
        if (!names[i].failed) {
            unlink(strbuf_text(&names[i]));
        }
        strbuf_dispose(&names[i]);
    }
}

evocc_status store_set(store *s, const char *name, const char *value, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_SET, error);
    if (statement == NULL) {
        return error->status;
    }
    store_bind_text(statement, 1, name);
    store_bind_text(statement, 2, value);
    return store_finish(s, statement, error);
}

/* Copies column 0 of the one row of a look-up by name. */
static evocc_status look_up(char **out, size_t *length, store *s, enum store_statement which,
                            const char *name, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, which, error);
    if (statement == NULL) {
        return error->status;
    }
    store_bind_text(statement, 1, name);
    int code = sqlite3_step(statement);
    evocc_status status = EVOCC_OK;
    if (code == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(statement, 0);
        size_t bytes = (size_t)sqlite3_column_bytes(statement, 0);
        char *copy = mem_strndup(data == NULL ? "" : data, bytes);
        if (copy == NULL) {
            status = error_no_memory(error);
        } else {
            *out = copy;
            *length = bytes;
        }
    } else if (code == SQLITE_DONE) {
        status = error_set(error, EVOCC_NOT_FOUND, "%s holds no '%s'", s->path, name);
    } else {
        status = store_error(s, code, error);
    }
    sqlite3_reset(statement);
    return status;
}

evocc_status store_get(char **out, store *s, const char *name, evocc_error *error)
{
    size_t length;
    return look_up(out, &length, s, STORE_GET, name, error);
}

evocc_status store_put_artifact(store *s, const char *name, const void *data, size_t length,
                                evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_PUT_ARTIFACT, error);
    if (statement == NULL) {
        return error->status;
    }
    store_bind_text(statement, 1, name);
    sqlite3_bind_blob64(statement, 2, length == 0 ? "" : data, length, SQLITE_STATIC);
    return store_finish(s, statement, error);
}

evocc_status store_get_artifact(char **out, size_t *length, store *s, const char *name,
                                evocc_error *error)
{
    return look_up(out, length, s, STORE_GET_ARTIFACT, name, error);
}

static evocc_status insert_trial(store *s, const store_trial *trial, evocc_error *error)
{
    sqlite3_stmt *statement = store_prepare(s, STORE_ADD_TRIAL, error);
    if (statement == NULL) {
        return error->status;
    }
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)trial->id);
    sqlite3_bind_int64(statement, 2, trial->generation);
    store_bind_text(statement, 3, evocc_outcome_name(trial->outcome));
    store_bind_text(statement, 4, trial->candidate);
    store_bind_text(statement, 5, trial->code_hash);
    store_bind_text(statement, 6, trial->detail);
    store_bind_text(statement, 7, trial->command);
    sqlite3_bind_double(statement, 8, trial->wall_s);
    sqlite3_bind_int(statement, 9, trial->shared);
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    if ((code & 0xff) == SQLITE_CONSTRAINT) {
        return error_set(error, EVOCC_DAMAGED, "%s holds trial %llu already", s->path,
                         (unsigned long long)trial->id);
    }
    return code == SQLITE_DONE ? EVOCC_OK : store_error(s, code, error);
}

static evocc_status insert_metrics(store *s, const store_trial *trial, evocc_error *error)
{
    for (size_t i = 0; i < trial->metric_count; i++) {
        sqlite3_stmt *statement = store_prepare(s, STORE_ADD_METRIC, error);
        if (statement == NULL) {
            return error->status;
        }
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)trial->id);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)i);
        store_bind_text(statement, 3, trial->metric_names[i]);
        if (isnan(trial->metrics[i])) {
            sqlite3_bind_null(statement, 4);
        } else {
            sqlite3_bind_double(statement, 4, trial->metrics[i]);
        }
        evocc_status status = store_finish(s, statement, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

evocc_status store_add_trial(store *s, const store_trial *trial, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    evocc_status status = store_execute(s, "BEGIN IMMEDIATE", error);
    if (status != EVOCC_OK) {
        return status;
    }
    status = insert_trial(s, trial, error);
    if (status == EVOCC_OK) {
        status = insert_metrics(s, trial, error);
    }
    if (status == EVOCC_OK) {
        status = store_execute(s, "COMMIT", error);
    }
    if (status != EVOCC_OK && sqlite3_get_autocommit(s->database) == 0) {
        store_execute(s, "ROLLBACK", NULL);
    }
    return status;
}

const char *store_column_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text == NULL ? "" : (const char *)text;
}

/* Metric names are borrowed from `names`, which lives as long as the trial. */
static evocc_status read_metrics(store *s, store_trial *trial, arena *names, evocc_error *error)
{
    sqlite3_stmt *statement = store_prepare(s, STORE_EACH_METRIC, error);
    if (statement == NULL) {
        return error->status;
    }
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)trial->id);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (trial->metric_count == STORE_METRICS_MAX) {
            sqlite3_reset(statement);
            return error_set(error, EVOCC_DAMAGED, "%s: trial %llu has too many metrics", s->path,
                             (unsigned long long)trial->id);
        }
        const char *name = arena_strdup(names, store_column_text(statement, 0));
        if (name == NULL) {
            sqlite3_reset(statement);
            return error_no_memory(error);
        }
        bool unknown = sqlite3_column_type(statement, 1) == SQLITE_NULL;
        trial->metric_names[trial->metric_count] = name;
        trial->metrics[trial->metric_count++] =
            unknown ? (double)NAN : sqlite3_column_double(statement, 1);
    }
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? EVOCC_OK : store_error(s, code, error);
}

evocc_status store_each_trial(store *s,
                              evocc_status (*each)(const store_trial *trial, void *context,
                                                   evocc_error *error),
                              void *context, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    sqlite3_stmt *statement = store_prepare(s, STORE_EACH_TRIAL, error);
    if (statement == NULL) {
        return error->status;
    }
    evocc_status status = EVOCC_OK;
    int code = SQLITE_DONE;
    while (status == EVOCC_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        store_trial trial = {
            .id = (uint64_t)sqlite3_column_int64(statement, 0),
            .generation = (uint32_t)sqlite3_column_int64(statement, 1),
            .candidate = store_column_text(statement, 3),
            .code_hash = store_column_text(statement, 4),
            .detail = store_column_text(statement, 5),
            .command = store_column_text(statement, 6),
            .wall_s = sqlite3_column_double(statement, 7),
            .shared = sqlite3_column_int(statement, 8) != 0,
        };
        arena names = {0};
        status = evocc_outcome_parse(&trial.outcome, store_column_text(statement, 2), error);
        if (status == EVOCC_OK) {
            status = read_metrics(s, &trial, &names, error);
        }
        if (status == EVOCC_OK) {
            status = each(&trial, context, error);
        }
        arena_dispose(&names);
    }
    sqlite3_reset(statement);
    if (status == EVOCC_OK && code != SQLITE_DONE) {
        status = store_error(s, code, error);
    }
    return status;
}
