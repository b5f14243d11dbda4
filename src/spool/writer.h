/* Shared by the writer's files: a process's spool, its lanes, and file creation. */
#ifndef RIDGE_SPOOL_WRITER_H
#define RIDGE_SPOOL_WRITER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "spool/layout.h"
#include "spool/pages.h"

struct spool_folder {
    char path[1024];
    dev_t device; /* identifies the folder: after chroot() the path may refer to another */
    ino_t inode;
};

/* Creates a file of `bytes` zeros with its blocks allocated, and maps it, in place of the pages
 * `at` unless that is NULL; NULL on failure. */
void *folder_map_file(const struct spool_folder *folder, const char *name, size_t bytes, void *at);

/* The numbered texts of a lane. Zero-initialized: empty. */
struct lane_texts {
    struct known_text *known; /* by number - base - 1 */
    uint32_t *slots;          /* number - base, 0: free */
    uint32_t count, capacity; /* of `known`; there are twice as many slots */
    uint32_t base;
    struct page_arena bytes;
};

/* After this time without a drain the recorder may be dead. */
static const int64_t spool_reader_timeout_ns = 10000000000;

enum { LANE_SEGMENTS = 256, LANE_CONSTANTS = 128 };

struct spool_lane {
    unsigned char *records;  /* of the current segment */
    uint32_t used, capacity; /* capacity excludes the final SPOOL_END */
    uint32_t record_bytes;   /* of the unpublished record; 0: none */
    uint32_t sequence;
    struct spool_segment *segment; /* NULL: no space, records are dropped */
    struct spool *spool;
    uint32_t number, next_segment;
    uint32_t failed_attempts; /* to get a segment, since the last success */
    uint32_t segment_count;
    struct lane_texts texts;
    struct lane_constant {
        const char *address;
        uint32_t number;
    } constants[LANE_CONSTANTS];
    struct lane_segment {
        struct spool_segment *file;
        uint32_t bytes, sequence; /* kept here, because others may write to the file */
    } segments[LANE_SEGMENTS];    /* all mapped ones */
    struct spool_lane *next, *next_free;
};

struct spool {
    struct spool_folder folder;
    struct spool_header *header; /* stays where it is; without a folder an anonymous page */
    int64_t pid, start;
    _Atomic uint64_t bytes, limit;
    _Atomic uint32_t lock; /* protects the lists of lanes */
    struct spool_lane *lanes, *free_lanes;
    uint32_t lane_count;
};

/* Advances the lane to its next segment; false when there is no space. */
bool lane_next_segment(struct spool_lane *lane);
/* Unmaps all segments and clears the texts. The files stay for the reader. */
void lane_reset(struct spool_lane *lane);

void lane_texts_finish(struct lane_texts *texts);

#endif
