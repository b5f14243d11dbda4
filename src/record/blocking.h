/* What does a blocked thread wait for? By the kernel functions on its stack, or by its system call
 * where the kernel's stack is not visible.
 */
#ifndef RIDGE_RECORD_BLOCKING_H
#define RIDGE_RECORD_BLOCKING_H

#include "base/text.h"
#include "trace/schema.h"

/* Zero-initialized: nothing is known. */
struct blocking {
    enum blocked_on on;
    struct text call; /* the system call, or "page fault" */
};

/* Adds a kernel function of the stack, innermost first. `module` is "[kernel]" or a kernel module.
 * The texts must outlive the struct. */
void blocking_add_function(struct blocking *blocking, struct text function, struct text module);
/* The reason, after all functions were added; by the system call where no function tells. */
enum blocked_on blocking_reason(const struct blocking *blocking);

/* The name of a system call of this machine; "" when unknown. */
struct text blocking_call_name(long number);

#endif
