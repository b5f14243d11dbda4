/* Counts by name; durations are collected name by name for the medians. A nested call (a driver
 * call inside a runtime call) is listed, but its time belongs to the outer one. */
#include "analysis/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/sort.h"

static bool inside(const struct model *model, const struct selection *selection, size_t call) {
    int64_t start = model->trace->call.start[call];
    return !selection || selection_contains(selection, start);
}

/* cudaDeviceSynchronize, hipStreamSynchronize, cuCtxSynchronize, clFinish and their like. */
static bool only_waits(struct text name) {
    static const char *const others[] = {"clFinish",         "clWaitForEvents", "vkQueueWaitIdle",
                                         "vkDeviceWaitIdle", "vkWaitForFences", "vkWaitSemaphores"};
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        if (text_is(name, others[i]))
            return true;
    static const char *const what[] = {"Device", "Stream", "Event", "Thread", "Ctx"};
    size_t prefix = text_starts(name, "cuda") ? 4 : text_starts(name, "hip") ? 3 : 0;
    if (!prefix && text_starts(name, "cu"))
        prefix = 2;
    for (size_t i = 0; prefix && i < ARRAY_COUNT(what); i++) {
        struct text rest = {name.data + prefix, name.length - prefix};
        bool driver_only = strcmp(what[i], "Ctx") == 0;
        bool runtime_only = i == 0 || i == 3;
        if ((prefix == 2 && runtime_only) || (prefix != 2 && driver_only) ||
            !text_starts(rest, what[i]))
            continue;
        rest.data += strlen(what[i]);
        rest.length -= strlen(what[i]);
        return text_starts(rest, "Synchronize");
    }
    return false;
}

static int by_time(const void *a, const void *b) {
    const struct call_name *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return text_compare(x->text, y->text);
}

static bool gather_names(const struct model *model, const struct selection *selection,
                         struct calls *calls, uint32_t *entry, struct status *status) {
    const struct trace *trace = model->trace;
    size_t capacity = 0;
    for (size_t i = 0; i < trace->call.count; i++) {
        if (!inside(model, selection, i))
            continue;
        uint32_t name = trace->call.name[i];
        int64_t duration = trace->call.duration[i];
        unsigned class = trace->call.class[i] < CALL_CLASSES ? trace->call.class[i] : CALL_OTHER;
        if (entry[name] == 0) {
            if (!GROW(calls->names, &capacity, calls->name_count + 1, status))
                return false;
            calls->names[calls->name_count] = (struct call_name){
                .name = name, .text = trace_text(trace, name), .class = class, .min = INT64_MAX};
            entry[name] = (uint32_t)++calls->name_count;
        }
        struct call_name *group = &calls->names[entry[name] - 1];
        group->count++;
        group->total += duration;
        group->min = duration < group->min ? duration : group->min;
        group->max = duration > group->max ? duration : group->max;
        calls->count++;
        calls->class_count[class]++;
        if (!model->call_nested[i]) {
            calls->total += duration;
            calls->class_time[class] += duration;
        }
    }
    return true;
}

static bool find_medians(const struct model *model, const struct selection *selection,
                         struct calls *calls, const uint32_t *entry, struct status *status) {
    const struct trace *trace = model->trace;
    int64_t *durations = memory_allocate(calls->count, sizeof *durations, status);
    size_t *next = memory_allocate(calls->name_count + 1, sizeof *next, status);
    bool ok = durations && next;
    if (ok) {
        for (size_t i = 0; i < calls->name_count; i++)
            next[i + 1] = next[i] + calls->names[i].count;
        for (size_t i = 0; i < trace->call.count; i++)
            if (inside(model, selection, i))
                durations[next[entry[trace->call.name[i]] - 1]++] = trace->call.duration[i];
        size_t start = 0;
        for (size_t i = 0; i < calls->name_count; i++) {
            size_t count = calls->names[i].count;
            calls->names[i].median = sort_select(durations + start, count, count / 2);
            start += count;
        }
    }
    memory_free(durations);
    memory_free(next);
    return ok;
}

bool calls_find(const struct model *model, const struct selection *selection, struct calls *calls,
                struct status *status) {
    memset(calls, 0, sizeof *calls);
    uint32_t *entry = memory_allocate(model->trace->strings.count, sizeof *entry, status);
    bool ok = entry && gather_names(model, selection, calls, entry, status) &&
              find_medians(model, selection, calls, entry, status);
    memory_free(entry);
    if (!ok) {
        calls_finish(calls);
        return false;
    }
    for (size_t i = 0; i < calls->name_count; i++)
        if (only_waits(trace_text(model->trace, calls->names[i].name))) {
            calls->syncs += calls->names[i].count;
            calls->sync_time += calls->names[i].total;
        }
    if (calls->name_count)
        qsort(calls->names, calls->name_count, sizeof *calls->names, by_time);
    return true;
}

void calls_finish(struct calls *calls) {
    memory_free(calls->names);
    memset(calls, 0, sizeof *calls);
}
