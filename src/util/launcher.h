/*
 * launcher.h: the study's side of the helper program, which starts compilers and measures them.
 *
 * The helper owns the work folder: it makes it, and removes it with everything in it when the
 * connection ends, however this process dies; it then also kills what still runs.
 */
#ifndef UTIL_LAUNCHER_H
#define UTIL_LAUNCHER_H

#include "util/process.h"

typedef struct launcher launcher;

/* Starts the helper (program_helper), in a session of its own: Ctrl-C on the terminal does not
   reach it or its children, so that the study decides what becomes of them. EVOCC_IO: no temporary
   folder (the message names TMPDIR); EVOCC_NOT_FOUND, EVOCC_PROCESS, EVOCC_MISMATCH: no helper, one
   that does not run, one of another version. */
evocc_status launcher_new(launcher **out, evocc_error *error);

/* The temporary folder; borrowed, lives as long as the launcher. */
const char *launcher_folder(const launcher *l);

/* At most `running` requests run at a time from now on (0: all of them); others wait in the helper,
   in the order of launcher_submit, and one begins the moment another ends. A deadline counts from
   there. */
evocc_status launcher_limit(launcher *l, size_t running, evocc_error *error);

/* As process_set_start and process_set_wait; requests are copied. No environment, no folder and a
   relative argv[0] mean those of this process when the launcher was made. What a full machine
   cannot start comes back from launcher_wait as EVOCC_PROCESS about *id. The helper's own death is
   EVOCC_PROCESS as well, from every call until launcher_free; launcher_count is then 0. */
evocc_status launcher_submit(launcher *l, uint64_t id, const process_request *request,
                             evocc_error *error);
evocc_status launcher_wait(launcher *l, double timeout_s, int wake_fd, uint64_t *id,
                           process_result *result, evocc_error *error);
/* Readable when launcher_wait may have something to do, besides what it has received already: ask
   without waiting first. -1 when the helper is gone. */
int launcher_descriptor(const launcher *l);
size_t launcher_count(const launcher *l); /* submitted and not yet returned */
evocc_status launcher_cancel(launcher *l, evocc_error *error);

/* Kills what runs, with what left its group; waits until it, the folder and the helper are gone. In
   a process forked from the one that made the launcher it only releases memory. */
void launcher_free(launcher *l);

/* One request from start to end; only while nothing else is in flight. */
evocc_status launcher_run(launcher *l, process_result *result, const process_request *request,
                          evocc_error *error);

#endif
