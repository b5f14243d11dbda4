/* The host: steps, ranges, synchronization, API calls, memory, samples and hardware counters. */
#include "base/format.h"
#include "report/sections.h"
#include "report/wording.h"
#include "trace/writer.h"

#define REPORT(source) (((const struct report_source *)(source))->report)

/* ---- steps ---- */

static bool steps_note(const void *source, struct buffer *line) {
    const struct steps *steps = &REPORT(source)->steps;
    char text[FORMAT_PLURAL_SIZE];
    buffer_printf(line, "%s, found by %s%s", format_plural(steps->count, "step", "steps", text),
                  steps_source_name(steps->source),
                  steps->settled ? "" : "; step times never settle");
    return steps->count > 0;
}

/* "Loop: train.py:42 for batch in loader: 1,200 iterations", indented by depth. */
static bool loop_sentence(const struct report *report, size_t index, struct buffer *line) {
    const struct loops *loops = &report->steps.loops;
    char count[FORMAT_PLURAL_SIZE];
    for (size_t i = 0; i < loops->count; i++) {
        const struct program_loop *loop = &loops->list[i];
        if (!loop->turns || index-- > 0)
            continue;
        buffer_string(line, loops_depth(loops, loop) ? "Inside: " : "Loop: ");
        loops_format(&report->model, loop, line);
        buffer_printf(line, " (%s%s)", format_plural(loop->turns, "iteration", "iterations", count),
                      loops->steps == i + 1 && report->steps.source == STEPS_LOOP ? ", the steps"
                                                                                  : "");
        return true;
    }
    return false;
}

static bool steps_sentence(const void *source, size_t index, struct buffer *line) {
    const struct steps *steps = &REPORT(source)->steps;
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], d[FORMAT_SIZE];
    index += steps->source != STEPS_PERIODIC;
    if (index == 0) {
        buffer_printf(line, "A step is %s.",
                      format_plural(steps->period, "activity", "activities", a));
        return true;
    }
    index += steps->warm_up == 0;
    if (index == 1) {
        int64_t time = steps->list[steps->warm_up - 1].end - steps->list[0].start;
        buffer_printf(line, "Warm-up: %s, %s.", format_plural(steps->warm_up, "step", "steps", a),
                      format_duration(time, b));
        return true;
    }
    if (index == 2)
        buffer_printf(line, "%s steps: median %s, min %s, max %s, coefficient of variation %s.",
                      steps->warm_up ? "Steady" : "All", format_duration(steps->median, a),
                      format_duration(steps->min, b), format_duration(steps->max, c),
                      format_percent(steps->variation, d));
    if (index == 2)
        return true;
    index += !steps->partial_first && !steps->partial_last;
    if (index == 3)
        buffer_printf(line, "The recording %s%s%s within an iteration, which is not counted.",
                      steps->partial_first ? "starts" : "",
                      steps->partial_first && steps->partial_last ? " and " : "",
                      steps->partial_last ? "ends" : "");
    return index == 3 || (index > 3 && loop_sentence(REPORT(source), index - 4, line));
}

const struct section section_steps = {
    .key = "steps", .title = "Steps", .note = steps_note, .sentence = steps_sentence};

/* ---- ranges ---- */

#define RANGE(name, ...) REPORT_VALUE(name, struct range_group, __VA_ARGS__)
RANGE(range_name, report_text(of, at->name))
RANGE(range_category, value_string(range_category_name(at->category)))
RANGE(range_depth, value_integer((int64_t)at->depth))
RANGE(range_count, value_integer((int64_t)at->count))
RANGE(range_host, value_integer(at->host_time))
RANGE(range_host_self, value_integer(at->host_self))
RANGE(range_device, value_integer(at->device_time))
RANGE(range_device_self, value_integer(at->device_self))
RANGE(range_backward, at->backward ? value_integer(at->backward) : value_none())
RANGE(range_activities, value_integer((int64_t)at->activities))
/* Columns without a device are left out. */
RANGE(range_device_shown,
      of->report->ranges.device_time ? value_integer(at->device_time) : value_none())
RANGE(range_share, value_ratio(at->device_time, of->report->ranges.device_time))
RANGE(range_launched,
      of->report->ranges.device_time ? value_integer((int64_t)at->activities) : value_none())

static const struct column range_columns[] = {
    {"name", "range", UNIT_TEXT, COLUMN_FLEXIBLE, range_name},
    {"category", NULL, UNIT_TEXT, 0, range_category},
    {"depth", NULL, UNIT_COUNT, 0, range_depth},
    {NULL, "device", UNIT_NS, 0, range_device_shown},
    {NULL, "share", UNIT_SHARE, 0, range_share},
    {"backward_ns", "backward", UNIT_NS, COLUMN_OPTIONAL, range_backward},
    {"host_ns", "host", UNIT_NS, 0, range_host},
    {"host_self_ns", "host self", UNIT_NS, 0, range_host_self},
    {"count", "count", UNIT_COUNT, 0, range_count},
    {NULL, "launched", UNIT_COUNT, 0, range_launched},
    {"device_ns", NULL, UNIT_NS, 0, range_device},
    {"device_self_ns", NULL, UNIT_NS, 0, range_device_self},
    {"activities", NULL, UNIT_COUNT, 0, range_activities},
    {0},
};

static const void *range_row(const void *source, size_t index) {
    const struct ranges *ranges = &REPORT(source)->ranges;
    return index < ranges->count ? &ranges->groups[index] : NULL;
}

const struct section section_ranges = {
    .key = "ranges", .title = "Ranges", .columns = range_columns, .row = range_row};

/* Those of a category; by device time as they are ranked, or by host time where no device worked.
 */
static const void *category_row(const void *source, unsigned category, size_t index) {
    const struct ranges *ranges = &REPORT(source)->ranges;
    const struct range_group *last = NULL;
    if (ranges->device_time) {
        for (size_t i = 0; i < ranges->count; i++)
            if (ranges->groups[i].category == category && index-- == 0)
                return &ranges->groups[i];
        return NULL;
    }
    for (size_t rank = 0; rank <= index; rank++) {
        const struct range_group *best = NULL;
        for (size_t i = 0; i < ranges->count; i++) {
            const struct range_group *group = &ranges->groups[i];
            bool later = !last || group->host_time < last->host_time ||
                         (group->host_time == last->host_time && group > last);
            if (group->category == category && later &&
                (!best || group->host_time > best->host_time))
                best = group;
        }
        if (!best)
            return NULL;
        last = best;
    }
    return last;
}

static size_t category_count(const void *source, unsigned category) {
    const struct ranges *ranges = &REPORT(source)->ranges;
    size_t count = 0;
    for (size_t i = 0; i < ranges->count; i++)
        count += ranges->groups[i].category == category;
    return count;
}

static bool category_note(const void *source, unsigned category, struct buffer *line) {
    const struct ranges *ranges = &REPORT(source)->ranges;
    if (ranges->device_time)
        buffer_string(line, "device time of what was launched inside");
    return category_count(source, category) > 0;
}

#define CATEGORY(name, number, words)                                                              \
    static const void *name##_row(const void *source, size_t index) {                              \
        return category_row(source, number, index);                                                \
    }                                                                                              \
    static size_t name##_count(const void *source) {                                               \
        return category_count(source, number);                                                     \
    }                                                                                              \
    static bool name##_note(const void *source, struct buffer *line) {                             \
        return category_note(source, number, line);                                                \
    }                                                                                              \
    const struct section section_##name = {.key = #name,                                           \
                                           .title = words,                                         \
                                           .columns = range_columns,                               \
                                           .row = name##_row,                                      \
                                           .count = name##_count,                                  \
                                           .note = name##_note,                                    \
                                           .rows = "names"};
CATEGORY(annotations, RANGE_ANNOTATION, "Annotated ranges")
CATEGORY(operators, RANGE_OP, "Operators")
CATEGORY(python_ranges, RANGE_PYTHON, "Python ranges")
CATEGORY(other_ranges, RANGE_OTHER, "Other ranges")

/* ---- synchronization ---- */

static const void *sync_row(const void *source, size_t index) {
    const struct syncs *syncs = &REPORT(source)->syncs;
    return index < syncs->site_count ? &syncs->sites[index] : NULL;
}

#define SYNC(name, ...) REPORT_VALUE(name, struct sync_site, __VA_ARGS__)
SYNC(sync_call, report_text(of, at->call))
SYNC(sync_range, report_text(of, at->range))
SYNC(sync_inside, at->range ? report_text(of, at->range) : value_none())
SYNC(sync_count, value_integer((int64_t)at->count))
SYNC(sync_total, value_integer(at->total))
SYNC(sync_max, value_integer(at->max))

static const struct column sync_columns[] = {
    {"total_ns", "time", UNIT_NS, 0, sync_total},
    {"count", "count", UNIT_COUNT, 0, sync_count},
    {"max_ns", "max", UNIT_NS, 0, sync_max},
    {"call", "call", UNIT_TEXT, 0, sync_call},
    {"range", NULL, UNIT_TEXT, 0, sync_range},
    {NULL, "inside", UNIT_TEXT, COLUMN_FLEXIBLE, sync_inside},
    {0},
};

static bool syncs_note(const void *source, struct buffer *line) {
    const struct syncs *syncs = &REPORT(source)->syncs;
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    buffer_printf(line, "%s, %s over all threads",
                  format_plural(syncs->count, "call", "calls", count),
                  format_duration(syncs->total, time));
    return syncs->count > 0;
}

const struct section section_syncs = {.key = "syncs",
                                      .title = "Synchronization",
                                      .columns = sync_columns,
                                      .row = sync_row,
                                      .note = syncs_note,
                                      .rows = "call sites"};

/* ---- API calls by class and by name ---- */

/* A row points at the class's time; its place there is the class. */
static const void *class_row(const void *source, size_t index) {
    const struct calls *calls = &REPORT(source)->calls;
    for (unsigned i = 1; i <= CALL_CLASSES; i++) {
        unsigned class = i % CALL_CLASSES; /* "other" last */
        if (calls->class_count[class] && index-- == 0)
            return &calls->class_time[class];
    }
    return NULL;
}

static unsigned class_of(const struct report_source *of, const int64_t *row) {
    return (unsigned)(row - of->report->calls.class_time);
}

#define CLASS(name, ...) REPORT_VALUE(name, int64_t, __VA_ARGS__)
CLASS(class_name, value_string(call_class_name(class_of(of, at))))
CLASS(class_count, value_integer((int64_t)of->report->calls.class_count[class_of(of, at)]))
CLASS(class_time, value_integer(*at))
CLASS(class_share, value_real(wording_share(*at, of->report->calls.total)))

static const struct column class_columns[] = {
    {"class", "class", UNIT_TEXT, 0, class_name},
    {"count", "count", UNIT_COUNT, 0, class_count},
    {"time_ns", "time", UNIT_NS, 0, class_time},
    {"share", "share", UNIT_SHARE, 0, class_share},
    {0},
};

static bool classes_note(const void *source, struct buffer *line) {
    const struct calls *calls = &REPORT(source)->calls;
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    buffer_printf(line, "%s, %s over all threads",
                  format_plural(calls->count, "call", "calls", count),
                  format_duration(calls->total, time));
    return calls->count > 0;
}

const struct section section_call_classes = {.key = "call_classes",
                                             .title = "API time by class",
                                             .columns = class_columns,
                                             .row = class_row,
                                             .note = classes_note};

static const void *call_row(const void *source, size_t index) {
    const struct calls *calls = &REPORT(source)->calls;
    return index < calls->name_count ? &calls->names[index] : NULL;
}

#define CALL(name, ...) REPORT_VALUE(name, struct call_name, __VA_ARGS__)
CALL(call_name_text, report_text(of, at->name))
CALL(call_class, value_string(call_class_name(at->class)))
CALL(call_count, value_integer((int64_t)at->count))
CALL(call_total, value_integer(at->total))
CALL(call_mean, value_ratio(at->total, (int64_t)at->count))
CALL(call_median, value_integer(at->median))
CALL(call_min, value_integer(at->min))
CALL(call_max, value_integer(at->max))

static const struct column call_columns[] = {
    {"name", "call", UNIT_TEXT, COLUMN_FLEXIBLE, call_name_text},
    {"total_ns", "time", UNIT_NS, 0, call_total},
    {"count", "count", UNIT_COUNT, 0, call_count},
    {"mean_ns", "mean", UNIT_NS_MEAN, COLUMN_WIDE, call_mean},
    {"median_ns", "median", UNIT_NS, 0, call_median},
    {"min_ns", "min", UNIT_NS, COLUMN_WIDE, call_min},
    {"max_ns", "max", UNIT_NS, 0, call_max},
    {"class", "class", UNIT_TEXT, 0, call_class},
    {0},
};

static bool calls_note(const void *source, struct buffer *line) {
    (void)line;
    return REPORT(source)->calls.count > 0;
}

const struct section section_calls = {.key = "calls",
                                      .title = "API calls",
                                      .columns = call_columns,
                                      .row = call_row,
                                      .note = calls_note,
                                      .rows = "calls"};

/* ---- memory ---- */

static const void *memory_row(const void *source, size_t index) {
    const struct report *report = REPORT(source);
    for (uint32_t id = 0; id < report->model.trace->device.count; id++)
        if (report->memory[id].allocations + report->memory[id].frees && index-- == 0)
            return &report->memory[id];
    return NULL;
}

static struct value memory_owner(const struct report_source *of, const struct memory_use *use,
                                 struct buffer *words) {
    uint32_t id = (uint32_t)(use - of->report->memory);
    if (id == 0)
        return value_string("host");
    buffer_printf(words, "device %.*s", TEXT_ARGS(model_device_key(&of->report->model, id)));
    return value_text(buffer_as_text(words));
}

/* A source that does not record totals gives a lower bound. */
static struct value high_water(const struct memory_use *use, struct buffer *words) {
    char text[FORMAT_SIZE];
    buffer_printf(words, "%s%s", use->absolute ? "" : ">= ", format_bytes(use->high_water, text));
    return value_text(buffer_as_text(words));
}

#define MEMORY(name, ...) REPORT_VALUE(name, struct memory_use, __VA_ARGS__)
MEMORY(memory_of, memory_owner(of, at, words))
MEMORY(memory_high_water, high_water(at, words))
MEMORY(memory_reserved, at->reserved_max ? value_integer((int64_t)at->reserved_max) : value_none())
MEMORY(memory_allocations, value_integer((int64_t)at->allocations))
MEMORY(memory_allocated, value_integer((int64_t)at->allocated_bytes))
MEMORY(memory_reused,
       at->compared ? value_ratio((int64_t)at->reused, (int64_t)at->compared) : value_none())
MEMORY(memory_frees, value_integer((int64_t)at->frees))
MEMORY(memory_freed, value_integer((int64_t)at->freed_bytes))

static const struct column memory_columns[] = {
    {"memory", "memory", UNIT_TEXT, 0, memory_of},
    {NULL, "peak", UNIT_TEXT, 0, memory_high_water},
    {"reserved_max_bytes", "reserved", UNIT_BYTES, 0, memory_reserved},
    {"allocations", "allocations", UNIT_COUNT, 0, memory_allocations},
    {"allocated_bytes", "allocated", UNIT_BYTES, 0, memory_allocated},
    {"reused_share", "reused", UNIT_SHARE, 0, memory_reused},
    {"frees", "frees", UNIT_COUNT, COLUMN_WIDE, memory_frees},
    {"freed_bytes", "freed", UNIT_BYTES, 0, memory_freed},
    {0},
};

static bool memory_note(const void *source, struct buffer *line) {
    (void)line;
    return memory_row(source, 0) != NULL;
}

const struct section section_memory = {.key = "memory",
                                       .title = "Memory",
                                       .columns = memory_columns,
                                       .row = memory_row,
                                       .note = memory_note};

/* ---- device memory by line ---- */

static const void *memory_line_row(const void *source, size_t index) {
    const struct memory_lines *lines = &REPORT(source)->memory_lines;
    return index < lines->count ? &lines->lines[index] : NULL;
}

static size_t memory_line_count(const void *source) {
    return REPORT(source)->memory_lines.count;
}

static struct value memory_line_place(const struct report_source *of, uint32_t frame,
                                      struct buffer *words) {
    const struct trace *trace = of->report->model.trace;
    struct text file = trace_text(trace, trace->stack.file[frame]);
    if (!frame)
        return value_unknown();
    buffer_text(words, trace_text(trace, trace->stack.function[frame]));
    if (file.length)
        buffer_printf(words, " (%.*s:%u)", TEXT_ARGS(file), trace->stack.line[frame]);
    return value_text(buffer_as_text(words));
}

#define MEMORY_LINE(name, ...) REPORT_VALUE(name, struct memory_line, __VA_ARGS__)
MEMORY_LINE(memory_line_device, value_text(model_device_key(&of->report->model, at->device)))
MEMORY_LINE(memory_line_bytes, value_integer((int64_t)at->bytes))
MEMORY_LINE(memory_line_share,
            value_ratio((int64_t)at->bytes, (int64_t)of->report->memory_lines.peak[at->device]))
MEMORY_LINE(memory_line_allocations, value_integer((int64_t)at->count))
MEMORY_LINE(memory_line_words, memory_line_place(of, at->frame, words))

static const struct column memory_line_columns[] = {
    {"device", "device", UNIT_TEXT, COLUMN_RANK(1), memory_line_device},
    {"share", "share", UNIT_SHARE, 0, memory_line_share},
    {"bytes", "bytes", UNIT_BYTES, 0, memory_line_bytes},
    {"allocations", "allocations", UNIT_COUNT, 0, memory_line_allocations},
    {"line", "line", UNIT_TEXT, COLUMN_FLEXIBLE, memory_line_words},
    {0},
};

static bool memory_lines_note(const void *source, struct buffer *line) {
    buffer_string(line, "in use at the peak, by the line that allocated it");
    return memory_line_row(source, 0) != NULL;
}

/* "8 % of the memory that the allocator of device 0 holds is fragmented: ..." */
static bool memory_lines_sentence(const void *source, size_t index, struct buffer *line) {
    const struct report *report = REPORT(source);
    const struct trace *trace = report->model.trace;
    size_t length = sizeof META_FRAGMENTED - 1;
    char bytes[FORMAT_SIZE];
    for (size_t i = 0; i < trace->meta.count; i++) {
        struct text key = trace_text(trace, trace->meta.key[i]);
        int64_t value;
        if (!text_starts(key, META_FRAGMENTED) ||
            !text_to_i64(trace_text(trace, trace->meta.value[i]), &value) || value <= 0 ||
            index-- > 0)
            continue;
        buffer_printf(line,
                      "Device %.*s: %s are free at the end in segments that are in use "
                      "(fragmentation).",
                      (int)(key.length - length), key.data + length,
                      format_bytes((uint64_t)value, bytes));
        return true;
    }
    return false;
}

const struct section section_memory_lines = {.key = "memory_lines",
                                             .title = "Device memory by line",
                                             .columns = memory_line_columns,
                                             .row = memory_line_row,
                                             .count = memory_line_count,
                                             .note = memory_lines_note,
                                             .sentence = memory_lines_sentence,
                                             .rows = "lines"};

/* ---- samples ---- */

static struct value weight(const struct report_source *of, int64_t time) {
    return value_if(of->report->samples.weight > 0, value_integer(time));
}
static struct value share(const struct report_source *of, int64_t time, uint64_t count) {
    return value_real(samples_share(&of->report->samples, time, count));
}

#define FUNCTION(name, ...) REPORT_VALUE(name, struct sample_function, __VA_ARGS__)
FUNCTION(function_name, report_text(of, at->function))
FUNCTION(function_module, report_text(of, at->module))
FUNCTION(function_self_samples, value_integer((int64_t)at->self_samples))
FUNCTION(function_total_samples, value_integer((int64_t)at->total_samples))
FUNCTION(function_own_samples, value_integer((int64_t)at->own_samples))
FUNCTION(function_self, weight(of, at->self))
FUNCTION(function_total, weight(of, at->total))
FUNCTION(function_own, weight(of, at->own))
FUNCTION(function_self_share, share(of, at->self, at->self_samples))
FUNCTION(function_total_share, share(of, at->total, at->total_samples))
FUNCTION(function_own_share, share(of, at->own, at->own_samples))

static const void *function_row(const void *source, size_t index) {
    const struct samples *samples = &REPORT(source)->samples;
    return index < samples->function_count ? &samples->functions[index] : NULL;
}

static const struct column function_columns[] = {
    {"function", "function", UNIT_TEXT, COLUMN_FLEXIBLE, function_name},
    {"module", "module", UNIT_TEXT, COLUMN_FLEXIBLE, function_module},
    {NULL, "self", UNIT_SHARE, 0, function_self_share},
    {NULL, "with callees", UNIT_SHARE, 0, function_total_share},
    {"self_samples", "samples", UNIT_COUNT, COLUMN_WIDE, function_self_samples},
    {"total_samples", NULL, UNIT_COUNT, 0, function_total_samples},
    {"own_samples", NULL, UNIT_COUNT, 0, function_own_samples},
    {"self_ns", NULL, UNIT_NS, 0, function_self},
    {"total_ns", NULL, UNIT_NS, 0, function_total},
    {"own_ns", NULL, UNIT_NS, 0, function_own},
    {0},
};

static bool samples_note(const void *source, struct buffer *line) {
    const struct samples *samples = &REPORT(source)->samples;
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    buffer_string(line, format_plural(samples->count, "sample", "samples", count));
    if (samples->weight)
        buffer_printf(line, ", %s of %s", format_duration(samples->weight, time),
                      samples_time_name(samples));
    return samples->count > 0;
}

const struct section section_samples = {.key = "samples",
                                        .title = "CPU samples",
                                        .columns = function_columns,
                                        .row = function_row,
                                        .note = samples_note,
                                        .rows = "functions"};

/* Python functions, with the interpreter and the libraries that run for each. */
static const void *python_row(const void *source, size_t index) {
    const struct samples *samples = &REPORT(source)->samples;
    for (size_t i = 0; i < samples->function_count; i++) {
        const struct sample_function *function = &samples->functions[samples->by_own[i]];
        if (function->own_samples && sample_is_python(function) && index-- == 0)
            return function;
    }
    return NULL;
}

static size_t python_count(const void *source) {
    const struct samples *samples = &REPORT(source)->samples;
    size_t count = 0;
    for (size_t i = 0; i < samples->function_count; i++)
        count += samples->functions[i].own_samples && sample_is_python(&samples->functions[i]);
    return count;
}

static const struct column python_columns[] = {
    {"function", "Python function", UNIT_TEXT, COLUMN_FLEXIBLE, function_name},
    {NULL, "self", UNIT_SHARE, 0, function_own_share},
    {NULL, "with callees", UNIT_SHARE, 0, function_total_share},
    {"own_samples", "samples", UNIT_COUNT, COLUMN_WIDE, function_own_samples},
    {"own_ns", NULL, UNIT_NS, 0, function_own},
    {0},
};

static bool python_note(const void *source, struct buffer *line) {
    buffer_string(line, "by the innermost Python function of each sample");
    return python_row(source, 0) != NULL;
}

const struct section section_python = {.key = "python",
                                       .title = "Python functions",
                                       .columns = python_columns,
                                       .row = python_row,
                                       .count = python_count,
                                       .note = python_note,
                                       .rows = "functions"};

/* ---- hardware counters ---- */

/* The row behind the processes is the targets. */
static const struct process_counters targets;

static const void *counter_row(const void *source, size_t index) {
    const struct counters *counters = &REPORT(source)->counters;
    if (counters->missing.length || counters->count == 0 || index > counters->count)
        return NULL;
    return index < counters->count ? &counters->processes[index] : &targets;
}

static struct value counter_owner(const struct process_counters *process, struct buffer *words) {
    if (process == &targets)
        return value_string("target");
    wording_counted(process, words);
    return value_text(buffer_as_text(words));
}

static struct value counter_words(const struct process_counters *process,
                                  enum counter_figure figure, struct buffer *words) {
    char text[FORMAT_SIZE];
    double value;
    if (process == &targets)
        buffer_string(words, wording_figure_target(figure, text));
    else if (counters_figure(process, figure, &value))
        buffer_string(words, wording_figure(process, figure, text));
    else
        return value_unknown();
    return value_text(buffer_as_text(words));
}

#define COUNTER(name, ...) REPORT_VALUE(name, struct process_counters, __VA_ARGS__)
COUNTER(counter_of, counter_owner(at, words))
COUNTER(counter_ipc, counter_words(at, FIGURE_IPC, words))
COUNTER(counter_l1, counter_words(at, FIGURE_L1_MISSES, words))
COUNTER(counter_l2, counter_words(at, FIGURE_L2_MISSES, words))
COUNTER(counter_llc, counter_words(at, FIGURE_LLC_MISSES, words))
COUNTER(counter_branches, counter_words(at, FIGURE_MISPREDICTIONS, words))

static const struct column counter_columns[] = {
    {"of", "process", UNIT_TEXT, COLUMN_FLEXIBLE, counter_of},
    {"ipc", "IPC", UNIT_TEXT, COLUMN_RIGHT, counter_ipc},
    {"l1_miss_rate", "L1 misses", UNIT_TEXT, COLUMN_RIGHT, counter_l1},
    {"l2_miss_rate", "L2 misses", UNIT_TEXT, COLUMN_RIGHT, counter_l2},
    {"llc_miss_rate", "LLC misses", UNIT_TEXT, COLUMN_RIGHT, counter_llc},
    {"branch_miss_rate", "branch misses", UNIT_TEXT, COLUMN_RIGHT, counter_branches},
    {0},
};

static bool counters_note(const void *source, struct buffer *line) {
    const struct counters *counters = &REPORT(source)->counters;
    (void)line;
    return counters->count + counters->missing.length > 0;
}

static bool counters_sentence(const void *source, size_t index, struct buffer *line) {
    const struct counters *counters = &REPORT(source)->counters;
    if (index > 0 || counters->missing.length == 0)
        return false;
    buffer_text(line, counters->missing);
    return true;
}

const struct section section_counters = {.key = "counters",
                                         .title = "Hardware counters",
                                         .columns = counter_columns,
                                         .row = counter_row,
                                         .note = counters_note,
                                         .sentence = counters_sentence,
                                         .rows = "processes"};
