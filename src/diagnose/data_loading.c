/* What belongs to preparing the input? Ranges and functions that say so by their name, and what has
 * most of its turns inside one of them: a loader's operators and the program's own functions that
 * it calls are the input's, not the host's own code. */
#include "base/memory.h"
#include "diagnose/diagnosis.h"
#include "whatif/names.h"

/* Turns of one name. */
struct turns {
    uint32_t all, inside;
    uint32_t around; /* string id of the input range around the last of those */
    bool asked, input;
};

static bool is_input(const struct trace *trace, struct turns *turns, uint32_t name) {
    if (!turns[name].asked) {
        turns[name].asked = true;
        turns[name].input = name_is_input(trace_text(trace, name));
    }
    return turns[name].input;
}

static void count_turns(const struct model *model, size_t thread, struct turns *turns) {
    const struct trace *trace = model->trace;
    int64_t until = INT64_MIN; /* end of the input range that is open */
    uint32_t around = 0;
    for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
        uint32_t name = trace->range.name[i];
        turns[name].all++;
        if (trace->range.start[i] < until) {
            turns[name].inside++;
            turns[name].around = around;
        } else if (trace->range.category[i] != RANGE_OP && is_input(trace, turns, name)) {
            until = model_range_end(model, i);
            around = name;
        }
    }
}

void diagnose_inputs(struct diagnosis *diagnosis) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    struct turns *turns =
        memory_allocate(trace->strings.count + 1, sizeof *turns, diagnosis->status);
    diagnosis->data_loading_range = memory_allocate(
        trace->strings.count + 1, sizeof *diagnosis->data_loading_range, diagnosis->status);
    diagnosis->failed |= !turns || !diagnosis->data_loading_range;
    for (size_t thread = 1; !diagnosis->failed && thread < trace->thread.count; thread++)
        count_turns(model, thread, turns);
    for (size_t name = 0; !diagnosis->failed && name < trace->strings.count; name++)
        if (2 * (uint64_t)turns[name].inside > turns[name].all)
            diagnosis->data_loading_range[name] = turns[name].around;
    memory_free(turns);
}

uint32_t data_loading_range(const struct diagnosis *diagnosis, uint32_t name) {
    if (name == 0)
        return 0;
    return name_is_input(trace_text(diagnosis->trace, name)) ? name
                                                             : diagnosis->data_loading_range[name];
}
