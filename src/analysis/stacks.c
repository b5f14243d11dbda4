/* Callers come before whom they call (the reader checks), so one pass knows them all. */
#include "analysis/stacks.h"

#include "base/memory.h"

uint32_t *stacks_stand_for(const struct trace *trace, struct status *status) {
    const struct columns_stack *stack = &trace->stack;
    uint32_t *rows = memory_allocate(stack->count + 1, sizeof *rows, status);
    for (uint32_t i = 1; rows && i < stack->count; i++) {
        uint32_t above = rows[stack->parent[i]];
        bool in_python = text_is(trace_text(trace, stack->module[above]), STACK_PYTHON);
        bool named = !text_is(trace_text(trace, stack->function[i]), STACK_UNKNOWN);
        if (text_is(trace_text(trace, stack->module[i]), STACK_PYTHON))
            rows[i] = i;
        else if (above && (in_python || !named))
            rows[i] = above;
        else
            rows[i] = i;
    }
    return rows;
}
