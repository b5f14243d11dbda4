/* One sweep over the device's activities in order of start. A union grows by what each interval
 * adds beyond the end reached so far; clipping to the selection happens on those pieces, which are
 * disjoint, so that every nanosecond is counted once. */
#include "analysis/account.h"

#include <string.h>

#include "base/memory.h"

/* The union of intervals that come in order of start. */
struct running_union {
    const struct selection *selection;
    size_t cursor;
    int64_t reached; /* end so far */
    int64_t first, last;
    int64_t length; /* clipped */
    uint64_t blocks;
    int64_t gap_max;
    bool any;
};

/* Adds [start, end); returns the start of the part that was not covered before. */
static int64_t union_add(struct running_union *u, int64_t start, int64_t end) {
    int64_t fresh = start;
    if (!u->any) {
        u->any = true;
        u->first = start;
        u->last = end;
        u->reached = start;
        u->blocks = 1;
    } else if (start > u->reached) {
        u->blocks++;
        if (start - u->reached > u->gap_max)
            u->gap_max = start - u->reached;
    } else {
        fresh = u->reached;
    }
    if (end > fresh)
        u->length += selection_overlap(u->selection, fresh, end, &u->cursor);
    if (end > u->reached)
        u->reached = end;
    if (end > u->last)
        u->last = end;
    return fresh;
}

static void clip(const struct selection *selection, int64_t *start, int64_t *end) {
    const struct window *first = &selection->windows[0];
    const struct window *last = &selection->windows[selection->count - 1];
    if (*start < first->start)
        *start = first->start;
    if (*end > last->end)
        *end = last->end;
}

/* Latest kernel end of every queue, for the gaps inside queues. */
static void count_queue_gap(struct account *account, int64_t *queue_end, int64_t start,
                            int64_t end) {
    if (*queue_end == INT64_MIN) {
        account->queues++;
    } else {
        account->queue_gaps++;
        if (start > *queue_end) {
            account->queue_gaps_positive++;
            if (__builtin_add_overflow(account->queue_gap_total, start - *queue_end,
                                       &account->queue_gap_total))
                account->queue_gap_total = INT64_MAX; /* many queues, each idle for very long */
        }
    }
    if (end > *queue_end)
        *queue_end = end;
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
    int64_t *queue_end = memory_allocate(trace->queue.count, sizeof *queue_end, status);
    if (!queue_end)
        return false;
    for (size_t queue = 0; queue < trace->queue.count; queue++)
        queue_end[queue] = INT64_MIN;

    struct running_union kernels = {.selection = selection}, copies = kernels, all = kernels;
    size_t end_row = model->device_first[device + 1];
    for (size_t i = model->device_first[device]; i < end_row; i++) {
        int64_t start = trace->activity.start[i], end = model_activity_end(model, i);
        if (!selection_contains(selection, start) &&
            start >= selection->windows[selection->count - 1].end)
            break;
        unsigned kind = trace->activity.kind[i];
        if (selection_contains(selection, start)) {
            count_activity(account, kind, trace->activity.duration[i]);
            if (kind == ACTIVITY_KERNEL)
                count_queue_gap(account, &queue_end[trace->activity.queue[i]], start, end);
        }
        clip(selection, &start, &end);
        if (end < start)
            continue;
        union_add(&all, start, end);
        union_add(kind == ACTIVITY_KERNEL ? &kernels : &copies, start, end);
    }
    memory_free(queue_end);

    account->busy = kernels.length;
    account->exposed_copy = all.length - kernels.length;
    account->idle = account->window - all.length;
    account->copy_union = copies.length;
    account->copy_hidden = copies.length - account->exposed_copy;
    account->kernel_span = kernels.last - kernels.first;
    account->activity_span = all.last - all.first;
    account->kernel_blocks = kernels.blocks;
    account->kernel_gaps = kernels.blocks ? kernels.blocks - 1 : 0;
    account->kernel_gap_max = kernels.gap_max;
    /* with several windows, what lies between them is no gap */
    account->kernel_gap_total = selection->count == 1 ? account->kernel_span - kernels.length : 0;
    return true;
}
