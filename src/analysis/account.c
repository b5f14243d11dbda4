/* One sweep over the device's activities in order of start. Intervals that touch or overlap grow
 * into blocks. A finished block is cut at the selection's windows; the pieces are disjoint, so
 * every nanosecond is counted once, and the time between two windows is no gap. */
#include "analysis/account.h"

#include <string.h>

#include "base/memory.h"
#include "base/key_index.h"

/* The union of intervals that come in order of start. */
struct running_union {
    const struct selection *selection;
    size_t cursor;      /* first window that the current block may overlap */
    bool open;          /* there is a current block */
    int64_t start, end; /* of the current block, not yet cut */

    size_t window; /* of the last piece */
    int64_t first, last;
    int64_t length;
    uint64_t pieces, gaps; /* gaps are between pieces of one window */
    int64_t gap_total, gap_max;
};

static void add_piece(struct running_union *u, size_t window, int64_t start, int64_t end) {
    if (u->pieces == 0) {
        u->first = start;
    } else if (u->window == window) {
        int64_t gap = start - u->last;
        u->gaps++;
        u->gap_total += gap;
        u->gap_max = gap > u->gap_max ? gap : u->gap_max;
    }
    u->pieces++;
    u->window = window;
    u->last = end;
    u->length += end - start;
}

/* Ends the current block. A block of no length counts if it is inside a window. */
static void union_close(struct running_union *u) {
    const struct selection *selection = u->selection;
    if (!u->open)
        return;
    u->open = false;
    if (selection->everything) {
        add_piece(u, 0, u->start, u->end);
        return;
    }
    while (u->cursor < selection->count && selection->windows[u->cursor].end <= u->start)
        u->cursor++;
    for (size_t i = u->cursor; i < selection->count; i++) {
        const struct window *window = &selection->windows[i];
        if (window->start >= u->end && window->start > u->start)
            break;
        add_piece(u, i, window->start > u->start ? window->start : u->start,
                  window->end < u->end ? window->end : u->end);
    }
}

static void union_add(struct running_union *u, int64_t start, int64_t end) {
    if (u->open && start <= u->end) {
        u->end = end > u->end ? end : u->end;
        return;
    }
    union_close(u);
    u->open = true;
    u->start = start;
    u->end = end;
}

/* The latest kernel end of a queue, for the gaps inside queues. */
struct queue_state {
    bool seen;
    size_t window; /* in which its last kernel started */
    int64_t end;
};

static void count_queue_gap(struct account *account, struct queue_state *queue, size_t window,
                            int64_t start, int64_t end) {
    account->queues += !queue->seen;
    if (!queue->seen || queue->window != window) {
        *queue = (struct queue_state){true, window, end};
        return;
    }
    account->queue_gaps++;
    if (start > queue->end) {
        account->queue_gaps_positive++;
        if (__builtin_add_overflow(account->queue_gap_total, start - queue->end,
                                   &account->queue_gap_total))
            account->queue_gap_total = INT64_MAX; /* many queues, each idle for very long */
    }
    if (end > queue->end)
        queue->end = end;
}

static bool find_queue(struct key_index *index, uint32_t id, struct queue_state **queues,
                       size_t *capacity, size_t *queue, struct status *status) {
    size_t known = index->count;
    if (!key_index_find(index, id, queue, status) || !GROW(*queues, capacity, *queue + 1, status))
        return false;
    if (*queue == known)
        (*queues)[*queue] = (struct queue_state){0};
    return true;
}

static void count_activity(struct account *account, unsigned kind, int64_t duration) {
    if (kind == ACTIVITY_KERNEL) {
        account->kernels++;
        account->kernel_sum += duration;
    } else if (kind == ACTIVITY_COPY) {
        account->copies++;
        account->copy_sum += duration;
    } else {
        account->sets++;
        account->set_sum += duration;
    }
}

bool account_device(const struct model *model, uint32_t device, const struct selection *selection,
                    struct account *account, struct status *status) {
    const struct trace *trace = model->trace;
    memset(account, 0, sizeof *account);
    account->window = selection_length(selection);
    if (selection->count == 0)
        return true;
    struct key_index index = {0}; /* by queue: index in queues */
    struct queue_state *queues = NULL;
    size_t capacity = 0, queue;
    bool ok = true;
    struct running_union kernels = {.selection = selection}, copies = kernels, all = kernels;
    struct running_union compute = kernels, communication = kernels;
    size_t window = 0, end_row = model->device_first[device + 1];
    for (size_t i = model->device_first[device]; i < end_row && ok; i++) {
        int64_t start = trace->activity.start[i], end = model_activity_end(model, i);
        unsigned kind = trace->activity.kind[i];
        bool communicates = model_communicates(model, i);
        while (!selection->everything && window < selection->count &&
               selection->windows[window].end <= start)
            window++;
        if (window == selection->count)
            break;
        if (selection->everything || selection->windows[window].start <= start) {
            count_activity(account, kind, trace->activity.duration[i]);
            if (communicates) {
                account->collectives++;
                account->communication_sum += trace->activity.duration[i];
            }
            ok = kind != ACTIVITY_KERNEL ||
                 find_queue(&index, trace->activity.queue[i], &queues, &capacity, &queue, status);
            if (ok && kind == ACTIVITY_KERNEL)
                count_queue_gap(account, &queues[queue], window, start, end);
        }
        union_add(&all, start, end);
        union_add(kind == ACTIVITY_KERNEL ? &kernels : &copies, start, end);
        if (kind == ACTIVITY_KERNEL)
            union_add(communicates ? &communication : &compute, start, end);
    }
    union_close(&all);
    union_close(&kernels);
    union_close(&compute);
    union_close(&communication);
    union_close(&copies);
    memory_free(queues);
    key_index_finish(&index);

    account->busy = compute.length;
    account->kernel_union = kernels.length;
    account->exposed_communication = kernels.length - compute.length;
    account->communication_union = communication.length;
    account->exposed_copy = all.length - kernels.length;
    account->idle = account->window - all.length;
    account->copy_union = copies.length;
    account->copy_hidden = copies.length - account->exposed_copy;
    account->kernel_span = kernels.last - kernels.first;
    account->activity_span = all.last - all.first;
    account->kernel_blocks = kernels.pieces;
    account->kernel_gaps = kernels.gaps;
    account->kernel_gap_total = kernels.gap_total;
    account->kernel_gap_max = kernels.gap_max;
    return ok;
}
