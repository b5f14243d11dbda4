/* Which function was at an address of a process at a time? From the files that a profiler saw being
 * mapped, and the symbols of those that are on this machine.
 *
 * All mappings are added first:
 *
 *   struct address_space space = {.written = time of the profile};
 *   address_space_map(&space, &mapping, path, &identity, status); ...
 *   address_space_ready(&space);
 *   address_space_find(&space, pid, time, address, &name, &module);
 *
 * A file that is here is the profiled one if it has the recorded build id or, where none was
 * recorded, the recorded inode and an older time stamp. Functions of other files are addresses. */
#ifndef RIDGE_IMPORT_ADDRESS_SPACE_H
#define RIDGE_IMPORT_ADDRESS_SPACE_H

#include "base/elf.h"
#include "base/intern.h"
#include "base/map.h"

/* What identifies a file; zero: not known. */
struct file_identity {
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_length;
    uint64_t device_major, device_minor, inode;
};

struct mapping {
    uint64_t start, end, offset; /* offset of the start in the file */
    uint64_t pid;
    uint64_t time;   /* 0: unknown */
    uint32_t module; /* set by address_space_map() */
};

/* Set `written`, zero the rest. */
struct address_space {
    int64_t written; /* the profile: Unix time in seconds */
    struct module *modules;
    size_t module_count, module_capacity;
    struct mapping *mappings; /* by process, then time, when ready */
    size_t mapping_count, mapping_capacity;
    struct intern paths; /* ids are 1 + index of the module */
    struct map parents;  /* pid -> pid of the process that forked it */
};

bool address_space_map(struct address_space *space, const struct mapping *mapping, struct text path,
                       const struct file_identity *identity, struct status *status);
/* The build id of a file, recorded elsewhere. */
bool address_space_build_id(struct address_space *space, struct text path, const void *id,
                            size_t length, struct status *status);
/* A process begins with the mappings of the one that forked it. */
bool address_space_fork(struct address_space *space, uint64_t pid, uint64_t parent,
                        struct status *status);
void address_space_ready(struct address_space *space);

/* Appends the function's name, demangled, or the address in its file as "0x1f"; *module is the name
 * of the file, "" if none was mapped there. Returns whether the function is known. */
bool address_space_find(struct address_space *space, uint64_t pid, uint64_t time, uint64_t address,
                        struct buffer *name, struct text *module);
void address_space_finish(struct address_space *space);

#endif
