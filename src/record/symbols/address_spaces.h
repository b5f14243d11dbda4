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

struct address_space {
    pid_t pid;
    pid_t parent;          /* the process it was forked from, until exec; 0: none */
    uint64_t generation;   /* changes with the mappings */
    struct mapping *items; /* sorted by start, disjoint */
    size_t count, capacity;
};

/* Zero-initialized: empty. */
struct address_spaces {
    struct address_space *items;
    size_t count, capacity;
    struct map by_pid;
    uint64_t generations;
};

void address_spaces_finish(struct address_spaces *spaces);

bool address_spaces_map(struct address_spaces *spaces, pid_t pid, uint64_t start, uint64_t length,
                        uint64_t offset, uint32_t file, struct status *status);
bool address_spaces_fork(struct address_spaces *spaces, pid_t parent, pid_t child,
                         struct status *status);
void address_spaces_exec(struct address_spaces *spaces, pid_t pid);

/* NULL when unknown. Valid until the next process is added. */
const struct address_space *address_spaces_find(const struct address_spaces *spaces, pid_t pid);
const struct mapping *address_space_mapping(const struct address_space *space, uint64_t address);

#endif
