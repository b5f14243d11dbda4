/* Callers precede callees in the table of stacks, so one pass finds the frame of every stack. */
#include "analysis/lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/forward.h"
#include "analysis/gaps.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"

bool lines_is_library(struct text file) {
    static const char *const starts[] = {"<", "/usr/include/", "/usr/lib/", "/usr/src/", "/rustc/"};
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                        "/.cargo/registry/"};
    for (size_t i = 0; i < ARRAY_COUNT(starts); i++)
        if (text_starts(file, starts[i]))
            return true;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        if (text_find(file, parts[i]) >= 0)
            return true;
    return false;
}

/* The C library, the interpreter and the probe may have debug information. Their lines name
 * nothing. */
static bool is_system_module(struct text module) {
    static const char *const starts[] = {"libc.so",   "libc-",      "libpthread", "ld-linux",
                                         "libstdc++", "libpython3", "python3",    "libridge-"};
    for (size_t i = 0; i < ARRAY_COUNT(starts); i++)
        if (text_starts(module, starts[i]))
            return true;
    return false;
}

/* What a frame and its callers are. */
enum { FRAME_OWN = 1, FRAME_PYTHON = 2 };

/* By string, 1 + whether it is the file of a library, or a module of the system. */
struct library_names {
    uint8_t *files, *modules;
};

static bool is_library_frame(const struct trace *trace, const struct library_names *names,
                             uint32_t row) {
    uint32_t file = trace->stack.file[row];
    if (!names->files[file])
        names->files[file] = lines_is_library(trace_text(trace, file)) ? 2 : 1;
    return names->files[file] == 2;
}

static bool is_system_frame(const struct trace *trace, const struct library_names *names,
                            uint32_t row) {
    uint32_t module = trace->stack.module[row];
    if (!names->modules[module])
        names->modules[module] = is_system_module(trace_text(trace, module)) ? 2 : 1;
    return names->modules[module] == 2;
}

/* Below a Python frame only Python frames name a line: the interpreter may have lines as well. */
static void find_own_frame(const struct trace *trace, const struct library_names *names,
                           uint32_t row, uint32_t *rows, uint8_t *kinds) {
    uint32_t parent = trace->stack.parent[row];
    bool is_python = text_is(trace_text(trace, trace->stack.module[row]), STACK_PYTHON);
    rows[row] = rows[parent];
    kinds[row] = kinds[parent];
    if (!trace->stack.line[row] || is_system_frame(trace, names, row) ||
        (!is_python && kinds[parent] & FRAME_PYTHON))
        return;
    bool is_first = is_python && !(kinds[parent] & FRAME_PYTHON);
    bool is_own = !is_library_frame(trace, names, row);
    if (is_own || is_first || !(kinds[parent] & FRAME_OWN)) {
        rows[row] = row;
        kinds[row] = (uint8_t)((is_own ? FRAME_OWN : 0) | (is_python ? FRAME_PYTHON : 0));
    }
}

uint32_t *lines_own_frames(const struct trace *trace, struct status *status) {
    size_t count = trace->stack.count;
    uint32_t *rows = memory_allocate(count + 1, sizeof *rows, status);
    uint8_t *kinds = memory_allocate(count + 1, 1, status);
    struct library_names names = {memory_allocate(trace->strings.count + 1, 1, status),
                                  memory_allocate(trace->strings.count + 1, 1, status)};
    if (!rows || !kinds || !names.files || !names.modules) {
        memory_free(rows);
        rows = NULL;
    }
    for (uint32_t i = 1; rows && i < count; i++)
        find_own_frame(trace, &names, i, rows, kinds);
    memory_free(kinds);
    memory_free(names.files);
    memory_free(names.modules);
    return rows;
}

uint32_t lines_of_call(const struct model *model, const uint32_t *own, size_t call) {
    return call == NO_ROW ? 0 : own[model->trace->call.stack[call]];
}

uint32_t lines_of_activity(const struct model *model, const uint32_t *own, size_t activity) {
    return lines_of_call(model, own, model->launch[activity]);
}

void lines_format(const struct trace *trace, uint32_t frame, struct buffer *text) {
    struct text file = frame ? trace_text(trace, trace->stack.file[frame]) : TEXT("?");
    size_t name = file.length;
    while (name > 0 && file.data[name - 1] != '/')
        name--;
    buffer_append(text, file.data + name, file.length - name);
    if (frame)
        buffer_printf(text, ":%u", trace->stack.line[frame]);
}

/* ---- The table ------------------------------------------------------------------------------ */

struct finder {
    const struct model *model;
    struct lines *lines;
    size_t capacity;
    struct map known; /* file and line -> index + 1 */
};

/* Numbers the lines of all stacks. */
static bool number_lines(struct finder *finder, const uint32_t *own, struct status *status) {
    const struct trace *trace = finder->model->trace;
    struct lines *lines = finder->lines;
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        uint32_t frame = own[i];
        if (!frame)
            continue;
        uint64_t key = (uint64_t)trace->stack.file[frame] << 32 | trace->stack.line[frame];
        const uint64_t *known = map_find(&finder->known, key);
        if (!known) {
            if (!GROW(lines->list, &finder->capacity, lines->count + 1, status) ||
                !map_set(&finder->known, key, lines->count + 1, status))
                return false;
            lines->list[lines->count++] = (struct source_line){.frame = frame};
            lines->line_of[i] = (uint32_t)lines->count;
        } else {
            lines->line_of[i] = (uint32_t)*known;
        }
    }
    return true;
}

static struct source_line *line_of_call(const struct finder *finder, size_t call) {
    uint32_t line =
        call == NO_ROW ? 0 : finder->lines->line_of[finder->model->trace->call.stack[call]];
    return line ? &finder->lines->list[line - 1] : NULL;
}

static void add_calls(struct finder *finder, const struct selection *selection) {
    const struct trace *trace = finder->model->trace;
    for (size_t i = 0; i < trace->call.count; i++) {
        if (finder->model->call_nested[i] ||
            (selection && !selection_contains(selection, trace->call.start[i])))
            continue;
        struct source_line *line = line_of_call(finder, i);
        finder->lines->calls++;
        if (!line)
            continue;
        finder->lines->named_calls++;
        line->calls++;
        line->call_time += trace->call.duration[i];
        if (trace->call.class[i] == CALL_SYNC) {
            line->waits++;
            line->wait_time += trace->call.duration[i];
        }
    }
}

static void add_activities(struct finder *finder, const struct selection *by_device) {
    const struct model *model = finder->model;
    for (size_t i = 0; i < model->trace->activity.count; i++) {
        if (!model_selected(model, by_device, i))
            continue;
        struct source_line *line = line_of_call(finder, model->launch[i]);
        int64_t time = model->trace->activity.duration[i];
        finder->lines->device_time += time;
        if (!line)
            continue;
        line->activities++;
        line->device_time += time;
        finder->lines->named_time += time;
    }
}

static void add_captured(struct finder *finder, const struct selection *by_device) {
    const struct model *model = finder->model;
    for (size_t i = 0; model->capture && i < model->trace->activity.count; i++) {
        struct source_line *line = line_of_call(finder, model->capture[i]);
        if (!line || !model_selected(model, by_device, i))
            continue;
        line->captured_time += model->trace->activity.duration[i];
        finder->lines->captured_time += model->trace->activity.duration[i];
    }
}

static void add_backward(struct finder *finder, const struct selection *by_device) {
    const struct model *model = finder->model;
    for (size_t i = 0; model->forward && i < model->trace->activity.count; i++) {
        uint32_t range = model->launch[i] == NO_ROW ? NO_ROW : model->forward[model->launch[i]];
        if (range == NO_ROW || !model_selected(model, by_device, i))
            continue;
        struct source_line *line = line_of_call(finder, forward_call(model, range));
        if (!line)
            continue;
        line->backward_time += model->trace->activity.duration[i];
        finder->lines->backward_time += model->trace->activity.duration[i];
    }
}

static void add_samples(struct finder *finder, const struct selection *selection) {
    const struct trace *trace = finder->model->trace;
    struct lines *lines = finder->lines;
    for (size_t i = 0; i < trace->sample.count; i++) {
        if (selection && !selection_contains(selection, trace->sample.time[i]))
            continue;
        uint32_t line = lines->line_of[trace->sample.stack[i]];
        lines->cpu_time += trace->sample.weight[i];
        if (!line)
            continue;
        lines->list[line - 1].cpu_time += trace->sample.weight[i];
        lines->named_cpu_time += trace->sample.weight[i];
    }
}

static bool add_idle(struct finder *finder, const struct host *host,
                     const struct selection *by_device, struct status *status) {
    const struct model *model = finder->model;
    struct gap_intervals gaps = {0};
    bool ok = true;
    for (uint32_t device = 1; device < model->trace->device.count && ok; device++) {
        struct window window;
        if (!model_device_window(model, device, &window))
            continue;
        struct window whole[] = {window};
        struct selection all = {.windows = whole, .count = 1, .everything = true};
        ok = gaps_list(model, host, device, by_device ? &by_device[device] : &all, &gaps, status);
    }
    for (size_t i = 0; i < gaps.count && ok; i++) {
        uint32_t next = gaps.list[i].next;
        struct source_line *line =
            next == NO_ROW ? NULL : line_of_call(finder, model->launch[next]);
        finder->lines->idle += gaps.list[i].length;
        if (line)
            line->idle += gaps.list[i].length;
    }
    gap_intervals_finish(&gaps);
    return ok;
}

static int by_time(const void *a, const void *b) {
    const struct source_line *x = a, *y = b;
    int64_t mine = x->device_time + x->idle + x->captured_time + x->backward_time,
            other = y->device_time + y->idle + y->captured_time + y->backward_time;
    if (mine != other)
        return mine < other ? 1 : -1;
    if (x->call_time != y->call_time)
        return x->call_time < y->call_time ? 1 : -1;
    if (x->cpu_time != y->cpu_time)
        return x->cpu_time < y->cpu_time ? 1 : -1;
    return x->frame < y->frame ? -1 : 1;
}

/* Sorts the list, leaves out lines without calls and samples, and renumbers. */
static bool rank(struct lines *lines, size_t stacks, struct status *status) {
    uint32_t *place = memory_allocate(lines->count + 1, sizeof *place, status);
    if (!place)
        return false;
    for (size_t i = 0; i < lines->count; i++)
        place[i] = lines->list[i].frame;
    if (lines->count)
        qsort(lines->list, lines->count, sizeof *lines->list, by_time);
    struct map ranks = {0};
    bool ok = true;
    for (size_t i = 0; i < lines->count && ok; i++)
        ok = map_set(&ranks, lines->list[i].frame, i + 1, status);
    for (size_t i = 0; i < stacks && ok; i++)
        if (lines->line_of[i])
            lines->line_of[i] = (uint32_t)*map_find(&ranks, place[lines->line_of[i] - 1]);
    while (lines->count && lines->list[lines->count - 1].calls == 0 &&
           lines->list[lines->count - 1].activities == 0 &&
           lines->list[lines->count - 1].cpu_time == 0)
        lines->count--;
    for (size_t i = 0; i < stacks; i++)
        if (lines->line_of[i] > lines->count)
            lines->line_of[i] = 0;
    map_finish(&ranks);
    memory_free(place);
    return ok;
}

bool lines_find(const struct model *model, const struct host *host,
                const struct selection *by_device, const struct selection *of_host,
                struct lines *lines, struct status *status) {
    struct finder finder = {.model = model, .lines = lines};
    memset(lines, 0, sizeof *lines);
    uint32_t *own = lines_own_frames(model->trace, status);
    lines->line_of = memory_allocate(model->trace->stack.count + 1, sizeof *lines->line_of, status);
    bool ok = own && lines->line_of && number_lines(&finder, own, status);
    if (ok && lines->count) {
        add_calls(&finder, of_host);
        add_activities(&finder, by_device);
        add_captured(&finder, by_device);
        add_samples(&finder, of_host);
        add_backward(&finder, by_device);
        ok = add_idle(&finder, host, by_device, status) &&
             rank(lines, model->trace->stack.count, status);
    }
    memory_free(own);
    map_finish(&finder.known);
    if (!ok)
        lines_finish(lines);
    return ok;
}

void lines_finish(struct lines *lines) {
    memory_free(lines->list);
    memory_free(lines->line_of);
    memset(lines, 0, sizeof *lines);
}
