/* Metal System Trace has no rows for waitUntilCompleted. Whether a thread waits shows in its times:
 * it never encodes before its previous command buffer is complete, and what follows is tied to the
 * completion, not to the commit. A thread that is merely slower than the GPU also encodes after
 * completions, but its next encoding comes at its own pace: the time since the commit then varies
 * less than the time since the completion. A wait is inferred only where the former varies more. */
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"
#include "import/xctrace/xctrace.h"

/* The encodings of one command buffer on one thread. */
struct xctrace_encoding {
    uint32_t thread;
    uint64_t command_buffer;
    int64_t start, end;
};

bool xctrace_waits_encoding(struct xctrace *import, uint32_t thread, uint64_t command_buffer,
                            int64_t start, int64_t duration, struct status *status) {
    struct xctrace_waits *waits = &import->waits;
    if (command_buffer == 0 || thread == 0)
        return true;
    if (!GROW(waits->encodings, &waits->capacity, waits->count + 1, status))
        return false;
    waits->encodings[waits->count++] = (struct xctrace_encoding){
        .thread = thread,
        .command_buffer = command_buffer,
        .start = start,
        .end = start + duration,
    };
    return true;
}

bool xctrace_waits_completion(struct xctrace *import, uint64_t command_buffer, int64_t time,
                              struct status *status) {
    return map_set(&import->waits.completed, command_buffer, (uint64_t)time, status);
}

static int compare_encodings(const void *a, const void *b) {
    const struct xctrace_encoding *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->command_buffer > y->command_buffer) - (x->command_buffer < y->command_buffer);
}

/* Joins successive encodings of a command buffer. */
static void join_encodings(struct xctrace_waits *waits) {
    size_t kept = 0;
    if (waits->count == 0)
        return;
    qsort(waits->encodings, waits->count, sizeof *waits->encodings, compare_encodings);
    for (size_t i = 1; i < waits->count; i++) {
        struct xctrace_encoding *last = &waits->encodings[kept], *next = &waits->encodings[i];
        if (last->thread == next->thread && last->command_buffer == next->command_buffer)
            last->end = MAX(last->end, next->end);
        else
            waits->encodings[++kept] = *next;
    }
    waits->count = kept + 1;
}

/* When the command buffer was complete; false when that was not recorded, or not before the next
 * encoding of the thread. */
static bool completion_before(const struct xctrace_waits *waits, size_t index, int64_t *time) {
    const struct xctrace_encoding *encoding = &waits->encodings[index], *next = encoding + 1;
    const uint64_t *completed = map_find(&waits->completed, encoding->command_buffer);
    *time = completed ? (int64_t)*completed : 0;
    return completed && *time >= encoding->end && *time <= next->start;
}

enum { BUFFERS_MIN = 16 }; /* command buffers of a thread for a meaningful spread */

static int64_t quartile_range(int64_t *values, size_t count) {
    int64_t low = sort_select(values, count, count / 4);
    return sort_select(values, count, count - 1 - count / 4) - low;
}

/* Of the encodings [first, last) of a thread. `scratch` has room for as many values twice. */
static bool thread_waits(const struct xctrace_waits *waits, size_t first, size_t last,
                         int64_t *scratch) {
    size_t pairs = last - first - 1, after = 0;
    int64_t *since_commit = scratch, *since_completion = scratch + pairs;
    for (size_t i = first; i + 1 < last; i++) {
        int64_t completed;
        if (!completion_before(waits, i, &completed))
            continue;
        since_commit[after] = waits->encodings[i + 1].start - waits->encodings[i].end;
        since_completion[after++] = waits->encodings[i + 1].start - completed;
    }
    if (pairs < BUFFERS_MIN || after * 20 < pairs * 19)
        return false;
    return 4 * quartile_range(since_completion, after) < 3 * quartile_range(since_commit, after);
}

static void write_waits(struct xctrace *import, size_t first, size_t last, uint64_t *written) {
    const struct xctrace_waits *waits = &import->waits;
    uint32_t name = trace_writer_string(import->writer, TEXT("waitUntilCompleted"));
    uint32_t detail = trace_writer_string(import->writer, TEXT("{\"inferred\":true}"));
    for (size_t i = first; i + 1 < last; i++) {
        const struct xctrace_encoding *encoding = &waits->encodings[i];
        int64_t completed;
        if (!completion_before(waits, i, &completed))
            continue;
        trace_write_call(import->writer, &(struct row_call){.start = encoding->end,
                                                            .duration = completed - encoding->end,
                                                            .class = CALL_SYNC,
                                                            .thread = encoding->thread,
                                                            .name = name,
                                                            .detail = detail});
        ++*written;
    }
}

static void write_note(struct xctrace *import, uint64_t written) {
    struct buffer note = {0};
    if (written == 0)
        return;
    buffer_printf(&note,
                  "%llu waits are inferred: Instruments does not record waitUntilCompleted, but "
                  "the thread encodes only after the previous command buffer is complete",
                  (unsigned long long)written);
    trace_writer_meta_of(import->writer, META_WARNING, &note);
    buffer_finish(&note);
}

bool xctrace_waits_infer(struct xctrace *import, struct status *status) {
    struct xctrace_waits *waits = &import->waits;
    uint64_t written = 0;
    join_encodings(waits);
    int64_t *scratch = memory_allocate(2 * waits->count + 1, sizeof *scratch, status);
    if (!scratch)
        return false;
    for (size_t first = 0, last; first < waits->count; first = last) {
        for (last = first + 1; last < waits->count; last++)
            if (waits->encodings[last].thread != waits->encodings[first].thread)
                break;
        if (thread_waits(waits, first, last, scratch))
            write_waits(import, first, last, &written);
    }
    memory_free(scratch);
    write_note(import, written);
    return true;
}

uint32_t xctrace_waits_thread(const struct xctrace *import) {
    const struct xctrace_waits *waits = &import->waits;
    size_t most = 0, count = 0;
    uint32_t thread = 0;
    for (size_t i = 0; i < waits->count; i++) {
        count = i && waits->encodings[i].thread == waits->encodings[i - 1].thread ? count + 1 : 1;
        if (count > most) {
            most = count;
            thread = waits->encodings[i].thread;
        }
    }
    return thread;
}

void xctrace_waits_finish(struct xctrace *import) {
    memory_free(import->waits.encodings);
    map_finish(&import->waits.completed);
}
