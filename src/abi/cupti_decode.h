/* Decodes CUPTI's activity records of all versions.
 *
 * Decoding does not allocate, lock or fail, so it is safe in a callback. Strings belong to CUPTI: a
 * kernel's name lives as long as its module.
 */
#ifndef RIDGE_ABI_CUPTI_DECODE_H
#define RIDGE_ABI_CUPTI_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum cupti_record_kind {
    CUPTI_RECORD_KERNEL,
    CUPTI_RECORD_COPY,
    CUPTI_RECORD_SET,
    CUPTI_RECORD_CALL,     /* of the driver or the runtime */
    CUPTI_RECORD_EXTERNAL, /* the correlation belongs to the user's `external` */
    CUPTI_RECORD_MEMORY,
    CUPTI_RECORD_OVERHEAD,
    CUPTI_RECORD_GRAPH, /* a whole launch of a graph */
    CUPTI_RECORD_KINDS
};

/* Fields that a kind does not have are 0. Times are those of CUPTI's timestamp callback. */
struct cupti_record {
    enum cupti_record_kind kind;
    uint64_t start, end; /* equal for an instant; both 0: unknown */
    uint32_t correlation;
    uint32_t device, context, stream;
    uint32_t process, thread;

    /* Kernels */
    const char *name; /* mangled; of memory: the variable; may be NULL */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, shared_static, shared_dynamic, local_per_thread;

    /* Kernels, copies and sets in a graph; launches of a graph */
    uint32_t graph;
    uint64_t graph_node;

    /* Copies, sets and memory */
    uint64_t bytes;
    uint8_t direction;               /* CUPTI_ACTIVITY_MEMCPY_KIND_* */
    uint8_t from_memory, to_memory;  /* CUPTI_ACTIVITY_MEMORY_KIND_*; of a set and memory: to */
    uint32_t from_device, to_device; /* differ for peer copies; else `device` */

    /* Calls */
    bool runtime;      /* runtime API, not driver API */
    uint32_t function; /* callback id */
    uint32_t result;

    uint64_t external;

    /* Overhead and memory: CUPTI's number of their type */
    uint32_t type;
    uint64_t address;
    bool asynchronous;
};

/* False for other kinds. `version` is that of the library. */
bool cupti_decode(uint32_t version, const void *raw, struct cupti_record *record);

#endif
