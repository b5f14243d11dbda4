/* "CPU HIP API" has calls, "GPU2" the kernels of device 2, and "COPY" the copies of all devices,
 * which name theirs in their arguments. Times are microseconds; arguments have nanoseconds. */
#include "import/kineto/kineto_rocprof.h"

#include "import/kineto/kineto_rows.h"

enum { LANE_CALLS = 1, LANE_COPIES, LANE_GPU }; /* a GPU: LANE_GPU + its number */

bool rocprof_name(struct rocprof *rocprof, const struct event_id *process, struct text name,
                  struct status *status) {
    uint64_t lane = 0, number;
    struct text digits = {name.data + 3, name.length > 3 ? name.length - 3 : 0};
    if (text_is(name, "CPU HIP API") || text_is(name, "CPU HSA API"))
        lane = LANE_CALLS;
    else if (text_is(name, "COPY"))
        lane = LANE_COPIES;
    else if (text_starts(name, "GPU") && text_to_u64(digits, &number) && number < UINT32_MAX)
        lane = LANE_GPU + number;
    rocprof->used |= lane == LANE_CALLS || lane == LANE_COPIES;
    return !lane || process->word.length ||
           map_set(&rocprof->lane_by_pid, (uint64_t)process->number, lane, status);
}

/* An argument that is a number in a string; false: absent. */
static bool argument(const struct kineto_event *event, const char *key, uint64_t *number) {
    ptrdiff_t at = text_find(event->args, key);
    if (at < 0)
        return false;
    struct text rest = {event->args.data + at, event->args.length - (size_t)at};
    size_t start = 0, end;
    while (start < rest.length && rest.data[start] != ':')
        start++;
    while (start < rest.length && (rest.data[start] < '0' || rest.data[start] > '9'))
        start++;
    for (end = start; end < rest.length && rest.data[end] >= '0' && rest.data[end] <= '9'; end++)
        ;
    return text_to_u64((struct text){rest.data + start, end - start}, number);
}

/* Nanoseconds, where they agree with the microseconds. */
static void refine_times(struct kineto_event *event) {
    uint64_t begin, end;
    if (!argument(event, "\"BeginNs\"", &begin) || !argument(event, "\"EndNs\"", &end) ||
        end < begin || end > INT64_MAX || (int64_t)begin / 1000 != event->start / 1000)
        return;
    event->start = (int64_t)begin;
    event->duration = (int64_t)(end - begin);
}

static enum copy_direction direction_of(struct text name) {
    return text_is(name, "CopyHostToDevice")     ? COPY_HTOD
           : text_is(name, "CopyDeviceToHost")   ? COPY_DTOH
           : text_is(name, "CopyDeviceToDevice") ? COPY_DTOD
                                                 : COPY_UNKNOWN;
}

bool rocprof_add(struct kineto_rows *rows, struct kineto_event *event, bool *is_call) {
    const uint64_t *lane =
        rows->rocprof.used && event->process.word.length == 0
            ? map_find(&rows->rocprof.lane_by_pid, (uint64_t)event->process.number)
            : NULL;
    uint64_t number = 0;
    if (!lane)
        return false;
    refine_times(event);
    *is_call = *lane == LANE_CALLS;
    if (*is_call)
        return true;
    bool copies = *lane == LANE_COPIES;
    if (copies)
        argument(event, "\"dev-id\"", &number);
    struct event_id device = {.number = (int64_t)(copies ? number : *lane - LANE_GPU)};
    struct row_activity row = {
        .start = event->start,
        .duration = event->duration,
        .queue = entities_queue(&rows->entities, &device, &event->thread, 0),
        .kind = copies ? ACTIVITY_COPY : ACTIVITY_KERNEL,
        .name = rows_string(rows, &event->name),
        .bytes = BYTES_UNKNOWN,
    };
    if (copies)
        row.direction = (uint8_t)direction_of(event->name.raw);
    trace_write_activity(rows->writer, &row);
    return true;
}

void rocprof_finish(struct rocprof *rocprof) {
    map_finish(&rocprof->lane_by_pid);
}
