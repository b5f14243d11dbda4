/* Unwinds user stacks without frame pointers, from a sample's registers and a copy of the top of
 * its stack.
 */
#ifndef RIDGE_RECORD_SYMBOLS_PERF_UNWIND_H
#define RIDGE_RECORD_SYMBOLS_PERF_UNWIND_H

#include "record/symbols/symbols.h"

struct perf_unwinder;

struct perf_unwinder *perf_unwinder_create(struct symbols *symbols, struct status *status);
void perf_unwinder_destroy(struct perf_unwinder *unwinder); /* takes NULL */

/* Whether this processor architecture is supported. */
bool perf_unwind_is_supported(void);
/* The registers that a sample must contain: a mask for perf_event_attr.sample_regs_user. */
uint64_t perf_unwind_registers(void);

struct perf_stack_snapshot {
    pid_t pid;
    const uint64_t *registers; /* indexed by the bit in perf_unwind_registers() */
    const uint8_t *stack;      /* starts at the stack pointer */
    size_t stack_bytes;
    bool *in_signal_handler; /* set if a frame is a signal's; may be NULL */
};

/* Writes return addresses, innermost first, and returns their number. `complete`: the last one is
 * the outermost function. */
size_t perf_unwind(struct perf_unwinder *unwinder, const struct perf_stack_snapshot *snapshot,
                   uint64_t *addresses, size_t limit, bool *complete);

#endif
