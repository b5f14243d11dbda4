/* One pass over the allocations in order of time. An allocation and its release have the same
 * address and process; an address is allocated again only after its release.
 */
#include "analysis/heap.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/lines.h"
#include "analysis/stacks.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"

struct heap_builder {
    const struct trace *trace;
    struct heap *heap;
    uint32_t *waiting; /* by stack row: the function that stands for it */
    struct map sites;  /* hash of function, module and line -> index */
    struct map live;   /* process and address -> row of the allocation, plus one */
    size_t site_capacity, process_capacity;
    struct status *status;
};

/* ---- Sites ------------------------------------------------------------------------------- */

static bool is_system(struct text module) {
    return text_starts(module, "libc.so") || text_starts(module, "libridge-memory") ||
           text_starts(module, "libstdc++") || text_starts(module, "ld-linux");
}

/* The frame that names the line (lines.h). Where there is none, the innermost function that is not
 * of the C or C++ library; in Python programs the innermost Python function. Callers precede
 * callees. */
static bool find_functions(struct heap_builder *builder) {
    const struct trace *trace = builder->trace;
    uint32_t *rows = stacks_stand_for(trace, STACK_INNERMOST, builder->status);
    uint32_t *own = rows ? lines_own_frames(trace, builder->status) : NULL;
    builder->waiting = rows;
    for (uint32_t i = 1; rows && i < trace->stack.count; i++) {
        uint32_t parent = trace->stack.parent[i];
        if (rows[i] == i && parent && is_system(trace_text(trace, trace->stack.module[i])))
            rows[i] = rows[parent];
    }
    for (uint32_t i = 1; own && i < trace->stack.count; i++)
        if (own[i])
            rows[i] = own[i];
    memory_free(own);
    return own != NULL;
}

static struct heap_site *find_site(struct heap_builder *builder, size_t row) {
    const struct trace *trace = builder->trace;
    struct heap *heap = builder->heap;
    uint32_t function = builder->waiting[trace->allocation.stack[row]];
    uint32_t parts[] = {trace->stack.function[function], trace->stack.module[function],
                        trace->stack.file[function], trace->stack.line[function]};
    uint64_t key = checksum64(parts, sizeof parts);
    const uint64_t *known = map_find(&builder->sites, key);
    if (known)
        return &heap->sites[*known];
    if (!GROW(heap->sites, &builder->site_capacity, heap->site_count + 1, builder->status) ||
        !map_set(&builder->sites, key, heap->site_count, builder->status))
        return NULL;
    heap->sites[heap->site_count] = (struct heap_site){.function = function};
    return &heap->sites[heap->site_count++];
}

static uint64_t live_key(const struct trace *trace, size_t row) {
    uint64_t parts[2] = {trace->allocation.address[row],
                         trace->thread.process[trace->allocation.thread[row]]};
    return checksum64(parts, sizeof parts);
}

static void release(struct heap_builder *builder, size_t allocated) {
    const struct trace *trace = builder->trace;
    struct heap_site *site = find_site(builder, allocated);
    uint64_t bytes = trace->allocation.bytes[allocated];
    if (!site)
        return;
    site->live -= MIN(bytes, site->live);
    if (trace->allocation.time[allocated] >= builder->heap->steady) {
        site->kept -= MIN(bytes, site->kept);
        builder->heap->kept -= MIN(bytes, builder->heap->kept);
    }
}

static bool add_allocation(struct heap_builder *builder, size_t row) {
    const struct trace *trace = builder->trace;
    uint64_t bytes = trace->allocation.bytes[row], key = live_key(trace, row);
    bool is_tracked = trace->allocation.address[row] != 0;
    const uint64_t *known = is_tracked ? map_find(&builder->live, key) : NULL;
    if (known && *known)
        release(builder, (size_t)*known - 1);
    if (trace->allocation.operation[row] == MEMORY_FREE)
        return !known || map_set(&builder->live, key, 0, builder->status);
    struct heap_site *site = find_site(builder, row);
    if (!site || bytes > (uint64_t)1 << 56)
        return site != NULL;
    site->samples++;
    site->allocated += bytes;
    builder->heap->allocated += bytes;
    if (!is_tracked)
        return true;
    site->live += bytes;
    site->peak = MAX(site->peak, site->live);
    if (trace->allocation.time[row] >= builder->heap->steady) {
        site->kept += bytes;
        builder->heap->kept += bytes;
    }
    return map_set(&builder->live, key, row + 1, builder->status);
}

static int by_kept(const void *a, const void *b) {
    const struct heap_site *x = a, *y = b;
    if (x->kept != y->kept)
        return x->kept < y->kept ? 1 : -1;
    if (x->allocated != y->allocated)
        return x->allocated < y->allocated ? 1 : -1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static bool add_allocations(struct heap_builder *builder) {
    const struct columns_allocation *rows = &builder->trace->allocation;
    uint32_t *order = NULL,
             *group = memory_allocate(rows->count + 1, sizeof *group, builder->status);
    bool ok = group && sort_rows(group, 1, rows->time, NULL, rows->count, &order, builder->status);
    for (size_t i = 0; i < rows->count && ok; i++)
        ok = add_allocation(builder, order ? order[i] : i);
    memory_free(order);
    memory_free(group);
    if (ok && builder->heap->site_count)
        qsort(builder->heap->sites, builder->heap->site_count, sizeof(struct heap_site), by_kept);
    return ok;
}

/* ---- Resident memory --------------------------------------------------------------------- */

#define RESIDENT "resident memory of "

static void read_process(const struct trace *trace, uint32_t name, struct heap_process *process) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < trace->counter.count; i++)
        if (trace->counter.name[i] == name) {
            uint64_t bytes = trace->counter.value[i] > 0 ? (uint64_t)trace->counter.value[i] : 0;
            first = MIN(first, trace->counter.time[i]);
            last = MAX(last, trace->counter.time[i]);
            if (bytes > process->peak) {
                process->peak = bytes;
                process->peak_time = trace->counter.time[i];
            }
        }
    process->floor = UINT64_MAX;
    for (size_t i = 0; i < trace->counter.count; i++)
        if (trace->counter.name[i] == name && trace->counter.value[i] > 0) {
            uint64_t bytes = (uint64_t)trace->counter.value[i];
            process->last = bytes;
            if (trace->counter.time[i] <= first + (last - first) / 2)
                process->middle = bytes;
            else
                process->floor = MIN(process->floor, bytes);
            if (trace->counter.time[i] <= first + (last - first) / 4 * 3)
                process->late = bytes;
        }
    if (process->floor == UINT64_MAX)
        process->floor = process->last;
}

static int by_peak(const void *a, const void *b) {
    const struct heap_process *x = a, *y = b;
    return x->peak < y->peak ? 1 : x->peak > y->peak ? -1 : 0;
}

static bool add_processes(struct heap_builder *builder) {
    const struct trace *trace = builder->trace;
    struct heap *heap = builder->heap;
    struct map seen = {0};
    bool ok = true;
    for (size_t i = 0; i < trace->counter.count && ok; i++) {
        uint32_t name = trace->counter.name[i];
        struct text text = trace_text(trace, name);
        if (!text_starts(text, RESIDENT) || map_find(&seen, name))
            continue;
        ok = map_set(&seen, name, 1, builder->status) &&
             GROW(heap->processes, &builder->process_capacity, heap->process_count + 1,
                  builder->status);
        if (!ok)
            break;
        struct heap_process *process = &heap->processes[heap->process_count++];
        *process = (struct heap_process){
            .name = {text.data + sizeof RESIDENT - 1, text.length - (sizeof RESIDENT - 1)}};
        read_process(trace, name, process);
    }
    if (heap->process_count)
        qsort(heap->processes, heap->process_count, sizeof *heap->processes, by_peak);
    map_finish(&seen);
    return ok;
}

static bool is_snapshot(const struct columns_allocation *rows) {
    for (size_t i = 0; i < rows->count; i++)
        if (rows->time[i] != rows->time[0] || rows->operation[i] == MEMORY_FREE)
            return false;
    return rows->count > 1;
}

bool heap_find(const struct model *model, struct heap *heap, struct status *status) {
    struct trace *trace = model->trace;
    struct heap_builder builder = {.trace = trace, .heap = heap, .status = status};
    memset(heap, 0, sizeof *heap);
    heap->is_sampled = trace->allocation.count > 0;
    heap->is_snapshot = is_snapshot(&trace->allocation);
    heap->steady = model->first + (model->last - model->first) / 4;
    bool ok = add_processes(&builder) &&
              (!heap->is_sampled || (find_functions(&builder) && add_allocations(&builder)));
    memory_free(builder.waiting);
    map_finish(&builder.sites);
    map_finish(&builder.live);
    if (!ok)
        heap_finish(heap);
    return ok;
}

void heap_finish(struct heap *heap) {
    memory_free(heap->sites);
    memory_free(heap->processes);
    memset(heap, 0, sizeof *heap);
}
