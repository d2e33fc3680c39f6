/*
 * launcher_serve.h: the helper's side of the launcher.
 */
#ifndef UTIL_LAUNCHER_SERVE_H
#define UTIL_LAUNCHER_SERVE_H

#include <sys/types.h>

/* Makes the temporary folder, carries out requests from the connection until it ends, `owner` (the
   process that started this one) dies or this process gets TERM, INT or HUP; then kills all that
   runs, whatever group it moved to, and removes the folder. Returns the exit status. The process
   must have one thread and do nothing else. */
int launcher_serve(int connection, pid_t owner);

#endif
