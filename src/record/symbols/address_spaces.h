/* The executable mappings of each recorded process.
 *
 * The kernel reports new mappings, not removed ones. A new mapping replaces those that it overlaps.
 */
#ifndef RIDGE_RECORD_SYMBOLS_ADDRESS_SPACES_H
#define RIDGE_RECORD_SYMBOLS_ADDRESS_SPACES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/status.h"

struct mapping {
    uint64_t start, end, offset; /* offset: in the file */
    uint32_t file;               /* number in symbols_files.h */
};

struct space {
    pid_t pid;
    pid_t parent;          /* the process it was forked from, until exec; 0: none */
    uint64_t generation;   /* changes with the mappings */
    struct mapping *items; /* sorted by start, disjoint */
    size_t count, capacity;
};

/* Zero-initialised: empty. */
struct spaces {
    struct space *items;
    size_t count, capacity;
    struct map by_pid;
    uint64_t generations;
};

void spaces_finish(struct spaces *spaces);

bool spaces_map(struct spaces *spaces, pid_t pid, uint64_t start, uint64_t length, uint64_t offset,
                uint32_t file, struct status *status);
bool spaces_fork(struct spaces *spaces, pid_t parent, pid_t child, struct status *status);
void spaces_exec(struct spaces *spaces, pid_t pid);

/* NULL when unknown. Valid until the next process is added. */
const struct space *spaces_find(const struct spaces *spaces, pid_t pid);
const struct mapping *space_mapping(const struct space *space, uint64_t address);

#endif
