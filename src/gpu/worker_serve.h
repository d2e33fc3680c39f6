/* worker_serve.h: the helper program as the worker of one GPU. */
#ifndef GPU_WORKER_SERVE_H
#define GPU_WORKER_SERVE_H

#include <stdbool.h>

/* Takes requests from the connection until it ends or this process has become useless; returns the
   exit status. `device`: an index, a UUID, or "-" for the first. `lock`: a descriptor that already
   holds the GPU's lock, or -1: then it is taken here, and sent along with the greeting. The process
   must have one thread and do nothing else. */
int worker_serve(int connection, const char *device, int lock);

#endif
