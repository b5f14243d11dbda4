/* Stacks as rows of the trace: addresses become functions, and each distinct stack a row. */
#ifndef RIDGE_RECORD_PERF_PERF_STACKS_H
#define RIDGE_RECORD_PERF_PERF_STACKS_H

#include "base/map.h"
#include "record/symbols/symbols.h"
#include "trace/writer.h"

enum { STACK_FRAMES_MAX = 512 };

/* Innermost first: first those in the kernel, then the user's. */
struct perf_chain {
    uint64_t addresses[STACK_FRAMES_MAX];
    size_t count, kernel_count;
};

/* All of these are caches, which start again when they are full. Zeroed ones are empty. */
struct stack_rows {
    struct map frames;       /* what is at an address of a process: its function and module */
    struct map rows;         /* of a frame called by a stack */
    struct map chains;       /* the row of a whole chain of callers, which come again and again */
    struct map python;       /* by row: its module, and enum stack_python */
    struct map modules;      /* strings of those that Python's calls run in */
    uint32_t evaluator;      /* string of the function that calls Python's perf trampolines */
    bool evaluator_is_known; /* it was seen: the interpreter's symbols are there */
};

/* What Python's perf trampolines have to do with a stack's innermost function. */
enum stack_python {
    STACK_NO_PYTHON,   /* not the interpreter's own code */
    STACK_INTERPRETER, /* it runs a Python function; trampolines may slow it down */
    STACK_TRAMPOLINE,  /* it would not have run without trampolines */
};

void stack_rows_finish(struct stack_rows *stacks);
/* The row of the stack, 0 for an empty one. */
uint32_t stack_rows_find(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                         const struct perf_chain *chain, struct trace_writer *writer);
/* Of a row that stack_rows_find() has given. */
enum stack_python stack_rows_python(const struct stack_rows *stacks, uint32_t row);

#endif
