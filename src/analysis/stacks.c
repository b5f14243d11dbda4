/* Callers precede callees (the reader checks), so one pass suffices. */
#include "analysis/stacks.h"

#include "analysis/input_names.h"
#include "base/memory.h"

static bool is_python(const struct trace *trace, uint32_t row) {
    return text_is(trace_text(trace, trace->stack.module[row]), STACK_PYTHON);
}

static bool is_loader(const struct trace *trace, uint32_t row) {
    return is_python(trace, row) && name_is_input(trace_text(trace, trace->stack.function[row]));
}

static bool is_named(const struct trace *trace, uint32_t row) {
    return !text_is(trace_text(trace, trace->stack.function[row]), STACK_UNKNOWN);
}

uint32_t *stacks_stand_for(const struct trace *trace, enum stack_view view, struct status *status) {
    uint32_t *rows = memory_allocate(trace->stack.count + 1, sizeof *rows, status);
    for (uint32_t i = 1; rows && i < trace->stack.count; i++) {
        uint32_t above = rows[trace->stack.parent[i]];
        bool of_python = above && is_python(trace, above);
        rows[i] = i;
        if (of_python && view == STACK_PURPOSE && is_loader(trace, above))
            rows[i] = above;
        else if (!is_python(trace, i) && above && (of_python || !is_named(trace, i)))
            rows[i] = above;
    }
    return rows;
}
