/*
 * lock.h: one measuring process a GPU. The lock is an flock on a file named by the GPU's UUID in a
 * folder that all users of the machine share: EVOCC_RUNTIME_DIR, else /run/lock, else /tmp. It
 * lives as long as any process holds the descriptor: the study as well as its present worker.
 */
#ifndef GPU_LOCK_H
#define GPU_LOCK_H

#include <evocc/evocc.h>

/* EVOCC_BUSY: another study measures there; the message has its process number where known. */
evocc_status gpu_lock(int *out_descriptor, const char *uuid, evocc_error *error);

#endif
