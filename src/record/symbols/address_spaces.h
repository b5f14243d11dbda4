/* What is mapped where: the executable mappings of each recorded process.
 *
 * The kernel tells of mappings that come, not of those that go; one that comes over others takes
 * their place.
 */
#ifndef RIDGE_RECORD_SYMBOLS_ADDRESS_SPACES_H
#define RIDGE_RECORD_SYMBOLS_ADDRESS_SPACES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/status.h"

struct mapping {
    uint64_t start, end, offset; /* offset: in the file */
    uint32_t file;               /* a number that whoever maps it gave, see symbols_files.h */
};

struct space {
    pid_t pid;
    pid_t parent;          /* that it was forked from and whose code it still runs; 0: none */
    uint64_t generation;   /* another one whenever the mappings are others */
    struct mapping *items; /* by start; they do not overlap */
    size_t count, capacity;
};

/* Zeroed ones are empty. */
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

/* NULL when nothing is known of it; good until the next call that adds one. */
const struct space *spaces_find(const struct spaces *spaces, pid_t pid);
const struct mapping *space_mapping(const struct space *space, uint64_t address);

#endif
