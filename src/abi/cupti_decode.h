/* CUPTI's records as plain values, whatever the version that wrote them.
 *
 * Decoding neither allocates nor locks nor fails, so it can be done in a callback inside any
 * process. Texts are CUPTI's and live as long as it says: a kernel's name as long as its module.
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

/* What a kind does not have is 0. Times are those of the clock that CUPTI was given. */
struct cupti_record {
    enum cupti_record_kind kind;
    uint64_t start, end; /* equal for a moment; both 0: CUPTI does not know them */
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
    uint32_t from_device, to_device; /* of a copy between two; else `device` */

    /* Calls */
    bool runtime;      /* the runtime's, not the driver's */
    uint32_t function; /* its number (cbid) */
    uint32_t result;

    uint64_t external;

    /* Overhead and memory: CUPTI's number of their type */
    uint32_t type;
    uint64_t address;
    bool asynchronous;
};

/* False for a kind that is not of interest here. `version` is that of the library that wrote it. */
bool cupti_decode(uint32_t version, const void *raw, struct cupti_record *record);

#endif
