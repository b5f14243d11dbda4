/* Finds functions in generated code, from the perf-PID.map files that Python 3.12 (with
 * PYTHONPERFSUPPORT=1) and many JIT compilers write.
 *
 * The files are in /tmp, where anyone may write: only a regular file of the program's user is read.
 */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_JIT_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_JIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"

/* Zero-initialized: empty. */
struct jit_maps {
    struct jit_map *items;
    size_t count, capacity;
    struct map by_pid;
    struct intern names;
};

void jit_maps_finish(struct jit_maps *maps);
/* The name in the file, or "". For an unknown address the file is read again, a few times a second
 * at most. Lives as long as `maps`. */
struct text jit_maps_find(struct jit_maps *maps, pid_t pid, uint64_t address);
/* After exec: discards the entries of the process. */
void jit_maps_forget(struct jit_maps *maps, pid_t pid);

#endif
