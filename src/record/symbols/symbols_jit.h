/* Which function is in code that a program made while it ran? The perf-PID.map files say, in which
 * Python 3.12 (with PYTHONPERFSUPPORT=1) and many JIT compilers write what they put where.
 *
 * They lie in /tmp, where anyone may write: only a regular file of the program's own user counts.
 */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_JIT_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_JIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"

/* Zeroed ones are empty. */
struct jit_maps {
    struct jit_map *items;
    size_t count, capacity;
    struct map by_pid;
    struct intern names;
};

void jit_maps_finish(struct jit_maps *maps);
/* The name as the file has it, "" when there is none; looks again, some times a second, whether
 * the file has grown. Lives as long as `maps`. */
struct text jit_maps_find(struct jit_maps *maps, pid_t pid, uint64_t address);
/* What the program of that process wrote is of no use to the one that it executes. */
void jit_maps_forget(struct jit_maps *maps, pid_t pid);

#endif
