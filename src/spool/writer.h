/* What the writer's files share: a process's spool, its lanes, and how a file comes into being. */
#ifndef RIDGE_SPOOL_WRITER_H
#define RIDGE_SPOOL_WRITER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "spool/layout.h"
#include "spool/pages.h"

struct spool_folder {
    char path[1024];
    dev_t device; /* it stays this very folder: a chroot() may put another in its place */
    ino_t inode;
};

/* The absolute path that the environment gives, a folder of this user's that nobody else may enter.
 * Never for a program with more rights than its user. */
bool folder_find(struct spool_folder *folder);
/* Makes a file of `bytes` zeros, with its blocks allocated, and maps it; NULL when that cannot be.
 * No descriptor stays open. */
void *folder_map_file(const struct spool_folder *folder, const char *name, size_t bytes);

/* Texts that a lane has numbers for. A zeroed one is empty. */
struct lane_texts {
    struct known_text *known; /* by number - base - 1 */
    uint32_t *slots;          /* number - base, 0: free */
    uint32_t count, capacity; /* of `known`; there are twice as many slots */
    uint32_t base;
    struct page_arena bytes;
};

enum { LANE_SEGMENTS = 256, LANE_CONSTANTS = 128 };

struct spool_lane {
    unsigned char *records;  /* of the segment that is being filled */
    uint32_t used, capacity; /* room leaves the place of the END */
    uint32_t record_bytes;   /* bytes of the record that is being written; 0: none */
    uint32_t sequence;
    struct spool_segment *segment; /* NULL: there is no room, records are dropped */
    struct spool *spool;
    uint32_t number, next_segment;
    uint32_t failed_attempts; /* of room, since there was some */
    uint32_t segment_count;
    struct lane_texts texts;
    struct lane_constant {
        const char *address;
        uint32_t number;
    } constants[LANE_CONSTANTS];
    struct lane_segment {
        struct spool_segment *file;
        uint32_t bytes, sequence; /* not believed of the file, which others may write to */
    } segments[LANE_SEGMENTS];    /* all that are mapped */
    struct spool_lane *next, *next_free;
};

struct spool {
    struct spool_folder folder;
    struct spool_header *header; /* NULL: off */
    int64_t pid, start;
    _Atomic uint64_t bytes, limit;
    _Atomic uint32_t lock; /* of the lists of lanes */
    struct spool_lane *lanes, *free_lanes;
    uint32_t lane_count;
};

/* The lane's next segment becomes its segment; false when there is no room for one. */
bool lane_next_segment(struct spool_lane *lane);
/* Unmaps everything that the lane has and forgets its texts; files stay for the reader. */
void lane_reset(struct spool_lane *lane);

void lane_texts_finish(struct lane_texts *texts);

#endif
