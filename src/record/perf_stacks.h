/* Stacks as rows of the trace: addresses become functions, and each distinct stack a row. */
#ifndef RIDGE_RECORD_PERF_STACKS_H
#define RIDGE_RECORD_PERF_STACKS_H

#include "base/map.h"
#include "record/symbols.h"
#include "trace/writer.h"

enum { STACK_FRAMES_MAX = 512 };

/* Innermost first: first those in the kernel, then the user's. */
struct perf_chain {
    uint64_t addresses[STACK_FRAMES_MAX];
    size_t count, kernel_count;
};

/* All of these are caches, which start again when they are full. Zeroed ones are empty. */
struct stack_rows {
    struct map frames; /* what is at an address of a process: its function and module */
    struct map rows;   /* of a frame called by a stack */
    struct map chains; /* the row of a whole chain of callers, which come again and again */
};

void stack_rows_finish(struct stack_rows *stacks);
/* The row of the stack, 0 for an empty one. */
uint32_t stack_rows_find(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                         const struct perf_chain *chain, struct trace_writer *writer);

#endif
