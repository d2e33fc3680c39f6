#include "store/internal.h"

#include "util/error.h"

#include <math.h>
#include <string.h>

static const char *const purposes[] = {
    [STORE_FOR_SEARCH] = "search",
    [STORE_FOR_CHOICE] = "choice",
    [STORE_FOR_ESTIMATE] = "estimate",
};
enum { PURPOSE_COUNT = sizeof purposes / sizeof purposes[0] };

const char *store_purpose_name(store_purpose purpose)
{
    return purposes[purpose];
}

static evocc_status insert_sample(store *s, const store_sample *sample, evocc_error *error)
{
    sqlite3_stmt *statement = store_prepare(s, STORE_ADD_SAMPLE, error);
    if (statement == NULL) {
        return error->status;
    }
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)sample->trial);
    store_bind_text(statement, 2, sample->metric);
    store_bind_text(statement, 3, purposes[sample->purpose]);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)sample->position);
    if (isnan(sample->baseline)) {
        sqlite3_bind_null(statement, 5);
    } else {
        sqlite3_bind_double(statement, 5, sample->baseline);
    }
    sqlite3_bind_double(statement, 6, sample->value);
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    if ((code & 0xff) == SQLITE_CONSTRAINT) {
        return error_set(error, EVOCC_DAMAGED, "%s holds sample %zu of %s of trial %llu already",
                         s->path, sample->position, sample->metric,
                         (unsigned long long)sample->trial);
    }
    return code == SQLITE_DONE ? EVOCC_OK : store_error(s, code, error);
}

evocc_status store_add_samples(store *s, const store_sample *samples, size_t count,
                               evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    evocc_status status = store_execute(s, "BEGIN IMMEDIATE", error);
    if (status != EVOCC_OK) {
        return status;
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        /* SQLite has no NaN: it would come back as NULL, and a sample is a number. */
        status = isfinite(samples[i].value)
                     ? insert_sample(s, &samples[i], error)
                     : error_set(error, EVOCC_INVALID_ARGUMENT, "sample %zu of %s is not a number",
                                 samples[i].position, samples[i].metric);
    }
    if (status == EVOCC_OK) {
        status = store_execute(s, "COMMIT", error);
    }
    if (status != EVOCC_OK && sqlite3_get_autocommit(s->database) == 0) {
        store_execute(s, "ROLLBACK", NULL);
    }
    return status;
}

static evocc_status read_sample(store_sample *out, store *s, sqlite3_stmt *statement,
                                evocc_error *error)
{
    const char *purpose = store_column_text(statement, 2);
    size_t which = 0;
    while (which < PURPOSE_COUNT && strcmp(purposes[which], purpose) != 0) {
        which++;
    }
    if (which == PURPOSE_COUNT) {
        return error_set(error, EVOCC_DAMAGED, "%s: a sample is there for '%s', which is unknown",
                         s->path, purpose);
    }
    *out = (store_sample){
        .trial = (uint64_t)sqlite3_column_int64(statement, 0),
        .metric = store_column_text(statement, 1),
        .purpose = (store_purpose)which,
        .position = (size_t)sqlite3_column_int64(statement, 3),
        .baseline = sqlite3_column_type(statement, 4) == SQLITE_NULL
                        ? (double)NAN
                        : sqlite3_column_double(statement, 4),
        .value = sqlite3_column_double(statement, 5),
    };
    return EVOCC_OK;
}

evocc_status store_each_sample(store *s,
                               evocc_status (*each)(const store_sample *sample, void *context,
                                                    evocc_error *error),
                               void *context, evocc_error *error)
{
    evocc_error local;
    error = error == NULL ? &local : error;
    if (s->version < 2) {
        return EVOCC_OK;
    }
    sqlite3_stmt *statement = store_prepare(s, STORE_EACH_SAMPLE, error);
    if (statement == NULL) {
        return error->status;
    }
    evocc_status status = EVOCC_OK;
    int code = SQLITE_DONE;
    while (status == EVOCC_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        store_sample sample;
        status = read_sample(&sample, s, statement, error);
        if (status == EVOCC_OK) {
            status = each(&sample, context, error);
        }
    }
    sqlite3_reset(statement);
    if (status == EVOCC_OK && code != SQLITE_DONE) {
        status = store_error(s, code, error);
    }
    return status;
}
