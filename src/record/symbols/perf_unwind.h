/* Who called whom, when the code keeps no frame pointers? The tables that debuggers and exceptions
 * use say it, with a copy of the top of the stack and the registers.
 */
#ifndef RIDGE_RECORD_SYMBOLS_PERF_UNWIND_H
#define RIDGE_RECORD_SYMBOLS_PERF_UNWIND_H

#include "record/symbols/symbols.h"

struct perf_unwinder;

struct perf_unwinder *perf_unwinder_create(struct symbols *symbols, struct status *status);
void perf_unwinder_destroy(struct perf_unwinder *unwinder); /* takes NULL */

/* Whether this processor's registers are known. */
bool perf_unwind_is_supported(void);
/* The registers that a sample must bring, as perf_event_open() wants them: one bit each. */
uint64_t perf_unwind_registers(void);

struct perf_stack_snapshot {
    pid_t pid;
    const uint64_t *registers; /* those of perf_unwind_registers(), by bit */
    const uint8_t *stack;      /* from the stack pointer up */
    size_t stack_bytes;
};

/* Addresses, innermost first; gives how many. `complete`: the last is the outermost function, which
 * has no caller. */
size_t perf_unwind(struct perf_unwinder *unwinder, const struct perf_stack_snapshot *snapshot,
                   uint64_t *addresses, size_t limit, bool *complete);

#endif
