/* Symbolizes call chains and writes each distinct stack as a row of the trace. */
#ifndef RIDGE_RECORD_PERF_PERF_STACKS_H
#define RIDGE_RECORD_PERF_PERF_STACKS_H

#include "base/map.h"
#include "record/python/python_samples.h"
#include "record/source_files.h"
#include "record/symbols/symbols.h"
#include "trace/writer.h"

enum { STACK_FRAMES_MAX = 512 };

/* Innermost first: kernel addresses, then user addresses. */
struct perf_chain {
    uint64_t addresses[STACK_FRAMES_MAX];
    size_t count, kernel_count;
    bool is_call;     /* a recorded call's, not a sample's: all are return addresses, and each
                         instruction is a frame of its own */
    bool is_complete; /* the last one is the outermost function */
};

/* The Python frames of the same thread, innermost first, by python_samples_find(). */
struct perf_python_stack {
    const struct python_samples *samples;
    const struct python_frame *frames;
    size_t count;
};

/* Caches, which are emptied when full. Zero-initialized: empty. */
struct stack_rows {
    struct map frames; /* address of a process -> index in `known` */
    struct stack_frame *known;
    size_t known_count, known_capacity;
    struct source_files sources;
    struct map rows;         /* frame and its caller's row -> row */
    struct map chains;       /* chain of callers -> row */
    struct map python;       /* row -> module and enum stack_python */
    struct map code_frames;  /* code and offset of a Python frame -> index in `known` */
    struct map modules;      /* string id -> kind of module */
    uint32_t evaluator;      /* string id of py_trampoline_evaluator() */
    bool evaluator_is_known; /* it was found: the interpreter has symbols */
};

/* How Python's perf trampolines affect a stack's innermost function. */
enum stack_python {
    STACK_NO_PYTHON,   /* not the interpreter */
    STACK_INTERPRETER, /* runs a Python function; may be slower with trampolines */
    STACK_TRAMPOLINE,  /* only runs with trampolines */
};

void stack_rows_finish(struct stack_rows *stacks);
/* The row of the stack, 0 for an empty one. `python` may be NULL. Its frames take the place of the
 * interpreter that runs them: the stack is that of Python's functions, and the native functions
 * that the innermost one calls. */
uint32_t stack_rows_find(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                         const struct perf_chain *chain, const struct perf_python_stack *python,
                         struct trace_writer *writer);
/* Of a row returned by stack_rows_find(). */
enum stack_python stack_rows_python(const struct stack_rows *stacks, uint32_t row);

#endif
