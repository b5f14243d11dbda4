/* Reads the ranks of a trace: which processes belong to which rank, how they communicated, when
 * they computed, and what the main thread did meanwhile.
 *
 * The rank of a process is that of its row, else that of its recording, else that in the name of
 * its file. With kernels, communication is kernels of NCCL and its kin; a rank without kernels
 * communicates in calls of MPI and gloo, and computes while its main thread runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "analysis/input_names.h"
#include "analysis/stacks.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "ranks/ranks.h"
#include "trace/rank_select.h"
#include "trace/writer.h"

#define NO_RANK UINT32_MAX
#define SHARED UINT32_MAX

/* Samples of a thread while its rank neither communicated nor waited for its device. */
struct thread_sample {
    int64_t time;
    uint32_t stack;
};
struct thread_samples {
    struct thread_sample *list; /* by time */
    size_t count, capacity;
};

struct reading {
    struct job *job;
    struct trace *trace;
    struct text source;     /* name of the file */
    size_t first;           /* the first rank of this trace in job->ranks */
    uint32_t *process_rank; /* by process: index in job->ranks, or NO_RANK */
    uint32_t *session_rank; /* by session: its only rank, or NO_RANK */
    uint32_t *process_main; /* by process: its main thread; 0: none */
    uint32_t *rank_main;    /* by rank of this trace: the main thread that is followed */
    uint64_t *process_events;
    uint32_t *stack_label;          /* by stack: the function that it stands for */
    struct thread_samples *samples; /* by rank of this trace: of the main thread */
    struct map parts;               /* (rank, kind, label, place) to index in rank->parts */
    struct status *status;
};

/* ---- who ---- */

static int64_t number_of(struct text text) {
    int64_t number;
    return text_to_i64(text, &number) && number >= 0 && number < INT32_MAX ? number : -1;
}

static bool name_of(struct reading *reading, struct text text, uint32_t *name) {
    return intern_add(&reading->job->names, text, name, reading->status);
}

static bool session_is_cut(const struct trace *trace, uint32_t session) {
    return trace->writers_unfinished > 0 || trace->truncated_bytes > 0 ||
           trace->missing_chunks > 0 ||
           trace_session_meta(trace, session, META_TRUNCATED).length > 0;
}

/* The rank with this number of the session, which is added if absent. */
static bool find_rank(struct reading *reading, uint32_t session, int64_t number, uint32_t *index) {
    struct job *job = reading->job;
    const struct trace *trace = reading->trace;
    for (size_t i = reading->first; i < job->rank_count; i++)
        if (job->ranks[i].number == number && job->ranks[i].clock == session) {
            *index = (uint32_t)i;
            return true;
        }
    if (!GROW(job->ranks, &job->rank_capacity, job->rank_count + 1, reading->status))
        return false;
    *index = (uint32_t)job->rank_count;
    struct rank *rank = &job->ranks[job->rank_count++];
    *rank = (struct rank){.number = number,
                          .local = -1,
                          .world = number_of(trace_session_meta(trace, session, META_WORLD_SIZE)),
                          .is_cut = session_is_cut(trace, session),
                          .clock = session, /* until the clocks are aligned */
                          .span = {INT64_MAX, INT64_MIN}};
    struct text file = trace_session_meta(trace, session, META_SOURCE_FILE);
    return name_of(reading, file.length ? file : reading->source, &rank->source) &&
           name_of(reading, trace_session_meta(trace, session, META_HOST), &rank->host);
}

static bool place_process(struct reading *reading, uint32_t process, bool *ranked) {
    const struct trace *trace = reading->trace;
    uint32_t session = trace->process_session[process];
    int64_t number = trace_process_rank(trace, process);
    uint32_t index;
    if (number < 0 && ranked[session])
        return true; /* the launcher */
    if (!find_rank(reading, session, number, &index))
        return false;
    struct rank *rank = &reading->job->ranks[index];
    int64_t local = number_of(trace_text(trace, trace->process.local_rank[process]));
    int64_t world = number_of(trace_text(trace, trace->process.world_size[process]));
    rank->local = local >= 0 ? local : rank->local;
    rank->world = world >= 0 ? world : rank->world;
    reading->process_rank[process] = index;
    struct text host = trace_text(trace, trace->process.host[process]);
    return host.length == 0 || name_of(reading, host, &rank->host);
}

static bool place_processes(struct reading *reading) {
    const struct trace *trace = reading->trace;
    bool *ranked = memory_allocate(trace->session_count + 1, sizeof *ranked, reading->status);
    bool ok = ranked != NULL;
    for (uint32_t p = 0; ok && p < trace->process.count; p++) {
        reading->process_rank[p] = NO_RANK;
        if (p > 0 && trace->process.rank[p])
            ranked[trace->process_session[p]] = true;
    }
    for (uint32_t p = 1; ok && p < trace->process.count; p++)
        ok = place_process(reading, p, ranked);
    for (uint32_t s = 0; ok && s < trace->session_count; s++) {
        uint32_t only = NO_RANK, index;
        for (size_t i = reading->first; i < reading->job->rank_count; i++)
            if (reading->job->ranks[i].clock == s)
                only = only == NO_RANK ? (uint32_t)i : UINT32_MAX - 1;
        if (only == NO_RANK && (ok = find_rank(reading, s, trace_session_rank(trace, s), &index)))
            only = index; /* a recording without processes */
        reading->session_rank[s] = only == UINT32_MAX - 1 ? NO_RANK : only;
    }
    memory_free(ranked);
    return ok;
}

/* ---- communication ---- */

static bool add_event(struct reading *reading, uint32_t rank_index, struct text name,
                      struct text detail, struct rank_event event) {
    struct rank *rank = &reading->job->ranks[rank_index];
    struct message message;
    bool known = message_read(detail, &message);
    struct text operation = message_operation(known ? message.operation : name);
    char group[256];
    event.collective = NO_COLLECTIVE;
    event.group_rank = event.root = event.peer = -1;
    if (known) {
        event.bytes = message.bytes;
        event.sequence = message.sequence;
        event.group_size = message.ranks < UINT32_MAX ? (uint32_t)message.ranks : 0;
        event.group_rank = (int32_t)message.group_rank;
        event.root = (int32_t)message.root;
        event.peer = (int32_t)message.peer;
        struct text members = message.members;
        if (members.length > 100) /* a long list, possibly shortened by its writer */
            members.length = 100;
        snprintf(group, sizeof group, "%.*s%s%.*s", (int)MIN(message.group.length, 100),
                 message.group.data ? message.group.data : "", members.length ? " " : "",
                 TEXT_ARGS(members));
        if (!name_of(reading, text_of(group), &event.group))
            return false;
    }
    if (!name_of(reading, operation, &event.operation) ||
        !GROW(rank->events, &rank->event_capacity, rank->event_count + 1, reading->status))
        return false;
    rank->events[rank->event_count++] = event;
    return intervals_add(&rank->communication, event.start, event.end, reading->status);
}

static void stretch(struct rank *rank, int64_t start, int64_t end) {
    rank->span.start = MIN(rank->span.start, start);
    rank->span.end = MAX(rank->span.end, end);
}

static bool add_part(struct reading *reading, uint32_t rank_index, struct rank_part part) {
    struct rank *rank = &reading->job->ranks[rank_index];
    uint64_t key[4] = {rank_index, (uint64_t)part.kind << 8 | part.blocked_on, part.label,
                       part.place};
    uint64_t hash = checksum64(key, sizeof key);
    const uint64_t *known = map_find(&reading->parts, hash);
    if (known) {
        rank->parts[*known].time += part.time;
        rank->parts[*known].count += part.count;
        rank->parts[*known].ready += part.ready;
        rank->parts[*known].blocks += part.blocks;
        return true;
    }
    if (!GROW(rank->parts, &rank->part_capacity, rank->part_count + 1, reading->status) ||
        !map_set(&reading->parts, hash, rank->part_count, reading->status))
        return false;
    rank->parts[rank->part_count++] = part;
    return true;
}

static uint32_t activity_rank(const struct reading *reading, size_t row) {
    const struct trace *trace = reading->trace;
    uint32_t queue = trace->activity.queue[row], process = trace->queue.process[queue];
    if (process && reading->process_rank[process] != NO_RANK)
        return reading->process_rank[process];
    uint32_t session = trace->queue_session[queue];
    return queue && session < trace->session_count ? reading->session_rank[session] : NO_RANK;
}

static bool read_activity(struct reading *reading, size_t row, bool communicates) {
    const struct trace *trace = reading->trace;
    uint32_t index = activity_rank(reading, row), queue = trace->activity.queue[row];
    int64_t start = trace->activity.start[row], end = start + trace->activity.duration[row];
    if (index == NO_RANK)
        return true;
    struct rank *rank = &reading->job->ranks[index];
    stretch(rank, start, end);
    rank->has_device = true;
    if (!rank->device &&
        !name_of(reading, trace_text(trace, trace->device.name[trace->queue.device[queue]]),
                 &rank->device))
        return false;
    if (trace->activity.kind[row] != ACTIVITY_KERNEL)
        return intervals_add(&rank->copies, start, end, reading->status);
    if (communicates)
        return add_event(
            reading, index, trace_text(trace, trace->activity.name[row]),
            trace_text(trace, trace->activity.detail[row]),
            (struct rank_event){.start = start, .end = end, .lane = queue, .is_device = true});
    struct rank_part part = {.kind = PART_KERNEL, .time = end - start, .count = 1};
    part.blocks = (uint64_t)trace->activity.grid_x[row] * MAX(trace->activity.grid_y[row], 1) *
                  MAX(trace->activity.grid_z[row], 1);
    return intervals_add(&rank->compute, start, end, reading->status) &&
           name_of(reading, trace_text(trace, trace->activity.name[row]), &part.label) &&
           add_part(reading, index, part);
}

static bool read_activities(struct reading *reading) {
    struct trace *trace = reading->trace;
    uint8_t *communicates =
        memory_allocate(trace->strings.count, sizeof *communicates, reading->status);
    bool ok =
        communicates &&
        trace_load(trace, TABLE_ACTIVITY,
                   "start duration queue kind name detail grid_x grid_y grid_z", reading->status);
    for (size_t i = 0; ok && i < trace->activity.count; i++) {
        uint32_t name = trace->activity.name[i];
        if (!communicates[name])
            communicates[name] = kernel_communicates(trace_text(trace, name)) ? 2 : 1;
        ok = read_activity(reading, i, communicates[name] == 2);
    }
    memory_free(communicates);
    return ok;
}

/* ---- ranks without kernels ---- */

static bool is_host_collective(const struct trace *trace, size_t row) {
    struct text domain = trace_text(trace, trace->range.domain[row]);
    struct text name = trace_text(trace, trace->range.name[row]);
    return text_is(domain, "MPI") || text_is(domain, "gloo") || text_starts(name, "gloo:") ||
           text_starts(name, "mpi:");
}

static bool read_range(struct reading *reading, size_t row) {
    const struct trace *trace = reading->trace;
    uint32_t thread = trace->range.thread[row], process = trace->thread.process[thread];
    uint32_t index = thread ? reading->process_rank[process] : NO_RANK;
    int64_t start = trace->range.start[row];
    if (index == NO_RANK || reading->job->ranks[index].compute.count > 0)
        return true; /* it has kernels, and communicates with them */
    reading->process_events[process]++;
    stretch(&reading->job->ranks[index], start, start + trace->range.duration[row]);
    return add_event(reading, index, trace_text(trace, trace->range.name[row]),
                     trace_text(trace, trace->range.detail[row]),
                     (struct rank_event){.start = start,
                                         .end = start + trace->range.duration[row],
                                         .lane = thread});
}

static bool read_ranges(struct reading *reading) {
    struct trace *trace = reading->trace;
    if (!trace_load(trace, TABLE_RANGE, "start duration thread name domain detail",
                    reading->status))
        return false;
    for (size_t i = 0; i < trace->range.count; i++)
        if (is_host_collective(trace, i) && !read_range(reading, i))
            return false;
    return true;
}

/* The process that communicated most, else the first, is the rank's; its main thread is followed.
 */
static void find_main_threads(struct reading *reading) {
    const struct trace *trace = reading->trace;
    for (uint32_t t = 1; t < trace->thread.count; t++) {
        uint32_t process = trace->thread.process[t];
        if ((uint64_t)trace->thread.tid[t] == trace->process.pid[process])
            reading->process_main[process] = t;
    }
    for (size_t r = reading->first; r < reading->job->rank_count; r++) {
        uint32_t best = 0;
        for (uint32_t p = 1; p < trace->process.count; p++)
            if (reading->process_rank[p] == r &&
                (!best || reading->process_events[p] > reading->process_events[best]))
                best = p;
        reading->rank_main[r - reading->first] = reading->process_main[best];
        reading->job->ranks[r].pid = trace->process.pid[best];
    }
}

static uint32_t rank_of_main(const struct reading *reading, uint32_t thread) {
    uint32_t process = reading->trace->thread.process[thread];
    uint32_t index = reading->process_rank[process];
    return index != NO_RANK && reading->rank_main[index - reading->first] == thread ? index
                                                                                    : NO_RANK;
}

/* ---- operations of other threads ---- */

/* A library may communicate in a thread of its own, as gloo of torch.distributed does: the main
 * thread hands an operation over and is blocked until its end. Then the rank arrives when the main
 * thread blocks, not when the other thread gets a processor, and continues when the main thread
 * does. */
struct handover {
    struct intervals blocked; /* the main thread: on a lock, for an unknown reason, or without a
                               * processor: it does not run, so it has handed over before */
    struct intervals others;  /* another thread computes */
};

static void list_lanes(const struct reading *reading, bool *is_lane) {
    for (size_t r = reading->first; r < reading->job->rank_count; r++)
        for (size_t e = 0; e < reading->job->ranks[r].event_count; e++)
            if (!reading->job->ranks[r].events[e].is_device)
                is_lane[reading->job->ranks[r].events[e].lane] = true;
}

static bool add_handover(struct reading *reading, size_t row, const bool *is_lane,
                         struct handover *handovers) {
    const struct trace *trace = reading->trace;
    uint32_t thread = trace->state.thread[row];
    uint32_t index = reading->process_rank[trace->thread.process[thread]];
    int64_t start = trace->state.start[row], end = start + trace->state.duration[row];
    unsigned state = trace->state.state[row], on = trace->state.blocked_on[row];
    if (index == NO_RANK)
        return true;
    struct handover *handover = &handovers[index - reading->first];
    bool is_main = reading->rank_main[index - reading->first] == thread;
    if (is_main && (state == STATE_READY ||
                    (state == STATE_BLOCKED && (on == BLOCKED_LOCK || on == BLOCKED_UNKNOWN))))
        return intervals_add(&handover->blocked, start, end, reading->status);
    if (!is_main && !is_lane[thread] && state == STATE_RUNNING)
        return intervals_add(&handover->others, start, end, reading->status);
    return true;
}

/* Whether the process only waits in that time; another thread may run for a tenth of it. */
static bool is_quiet(const struct handover *handover, int64_t start, int64_t end) {
    return start < end &&
           intervals_length(&handover->others, (struct interval){start, end}) * 10 <= end - start;
}

/* The first operation in a blocked time begins with it, and the last ends with it. */
static bool extend_events(struct reading *reading, struct rank *rank, uint32_t main,
                          const struct handover *handover) {
    size_t at = 0;
    int64_t reached = INT64_MIN; /* end of the operations before `at` */
    for (size_t b = 0; b < handover->blocked.count; b++) {
        struct interval blocked = handover->blocked.list[b];
        struct rank_event *last = NULL;
        for (; at < rank->event_count && rank->events[at].start < blocked.end; at++) {
            struct rank_event *event = &rank->events[at];
            if (event->lane != main && event->start > blocked.start && reached <= blocked.start &&
                is_quiet(handover, blocked.start, event->start)) {
                if (!intervals_add(&rank->communication, blocked.start, event->start,
                                   reading->status))
                    return false;
                event->start = blocked.start;
            }
            if (event->end > reached)
                last = event;
            reached = MAX(reached, event->end);
        }
        if (last && last->lane != main && last->end > blocked.start &&
            is_quiet(handover, last->end, blocked.end)) {
            if (!intervals_add(&rank->communication, last->end, blocked.end, reading->status))
                return false;
            reached = last->end = blocked.end;
        }
    }
    return true;
}

static bool find_handovers(struct reading *reading) {
    struct trace *trace = reading->trace;
    size_t ranks = reading->job->rank_count - reading->first;
    bool *is_lane = memory_allocate(trace->thread.count, sizeof *is_lane, reading->status);
    struct handover *handovers = memory_allocate(ranks + 1, sizeof *handovers, reading->status);
    bool ok = is_lane && handovers &&
              trace_load(trace, TABLE_STATE, "start duration thread state blocked_on stack",
                         reading->status);
    if (ok)
        list_lanes(reading, is_lane);
    for (size_t i = 0; ok && i < trace->state.count; i++)
        ok = add_handover(reading, i, is_lane, handovers);
    for (size_t r = 0; ok && r < ranks; r++) {
        struct rank *rank = &reading->job->ranks[reading->first + r];
        intervals_sort(&handovers[r].blocked);
        intervals_sort(&handovers[r].others);
        if (!rank->has_device && reading->rank_main[r])
            ok = extend_events(reading, rank, reading->rank_main[r], &handovers[r]);
    }
    for (size_t r = 0; handovers && r < ranks; r++) {
        intervals_finish(&handovers[r].blocked);
        intervals_finish(&handovers[r].others);
    }
    memory_free(handovers);
    memory_free(is_lane);
    return ok;
}

/* ---- what the host did ---- */

/* Whether the rank communicates or, with a device, is busy at that time: then what its host does
 * does not make it late. */
static bool is_occupied(const struct rank *rank, int64_t time) {
    const struct intervals *const sets[] = {&rank->communication, &rank->compute};
    for (size_t i = 0; i < (rank->has_device ? 2 : 1); i++) {
        size_t at = 0;
        PARTITION_POINT(at, sets[i]->count, k, sets[i]->list[k].end <= time);
        if (at < sets[i]->count && sets[i]->list[at].start <= time)
            return true;
    }
    return false;
}

/* The part of a run in which ranks work together. */
static bool is_between_events(const struct rank *rank, int64_t time) {
    return rank->event_count > 0 && time >= rank->events[0].start &&
           time < rank->events[rank->event_count - 1].end;
}

/* The collector's frame, functions of the interpreters, where they have symbols, or a line of
 * Python that calls the collector. */
static bool is_collector(const struct trace *trace, uint32_t stack) {
    for (unsigned depth = 0; stack && depth < 64; depth++, stack = trace->stack.parent[stack]) {
        struct text function = trace_text(trace, trace->stack.function[stack]);
        if (text_is(function, STACK_COLLECTOR) || text_find(function, "gc_collect") >= 0 ||
            text_find(trace_text(trace, trace->stack.source[stack]), "gc.collect(") >= 0)
            return true;
    }
    return false;
}

static bool is_loader(const struct trace *trace, uint32_t stack) {
    for (unsigned depth = 0; stack && depth < 64; depth++, stack = trace->stack.parent[stack])
        if (name_is_input(trace_text(trace, trace->stack.function[stack])))
            return true;
    return false;
}

/* The function of the program: the kernel and the C library work for their caller. */
static uint32_t outside_system(const struct trace *trace, uint32_t row) {
    for (uint32_t at = row; at; at = trace->stack.parent[at]) {
        struct text module = trace_text(trace, trace->stack.module[at]);
        if (!text_is(module, "[kernel]") && !text_starts(module, "libc.so") &&
            !text_starts(module, "ld-linux") && trace->stack.function[at] &&
            !text_is(trace_text(trace, trace->stack.function[at]), STACK_UNKNOWN))
            return at;
    }
    return row;
}

static bool describe_stack(struct reading *reading, uint32_t stack, struct rank_part *part) {
    const struct trace *trace = reading->trace;
    uint32_t row = stack ? outside_system(trace, reading->stack_label[stack]) : 0;
    char place[300] = "";
    part->is_collector = is_collector(trace, stack);
    part->is_input = is_loader(trace, stack);
    if (row && trace->stack.file[row]) {
        struct text file = trace_text(trace, trace->stack.file[row]);
        for (size_t i = file.length; i > 0; i--)
            if (file.data[i - 1] == '/') {
                file = (struct text){file.data + i, file.length - i};
                break;
            }
        snprintf(place, sizeof place, "%.*s:%u", (int)MIN(file.length, 200), file.data,
                 trace->stack.line[row]);
    }
    return name_of(reading, trace_text(trace, trace->stack.function[row]), &part->label) &&
           name_of(reading, text_of(place), &part->place);
}

/* The function in which a thread was that lost its processor: that of the sample before, else of
 * the one after. */
static uint32_t stack_near(const struct thread_samples *samples, struct interval time) {
    size_t at = 0;
    PARTITION_POINT(at, samples->count, i, samples->list[i].time <= time.start);
    if (at > 0 && (at == samples->count ||
                   time.start - samples->list[at - 1].time <= samples->list[at].time - time.end))
        at--;
    return at < samples->count ? samples->list[at].stack : 0;
}

static bool read_state(struct reading *reading, size_t row) {
    const struct trace *trace = reading->trace;
    uint32_t index = rank_of_main(reading, trace->state.thread[row]);
    int64_t start = trace->state.start[row], end = start + trace->state.duration[row];
    if (index == NO_RANK)
        return true;
    struct rank *rank = &reading->job->ranks[index];
    unsigned state = trace->state.state[row];
    if (!rank->has_device)
        stretch(rank, start, end);
    if (state == STATE_RUNNING)
        return rank->has_device || intervals_add(&rank->compute, start, end, reading->status);
    if (!is_between_events(rank, start) || is_occupied(rank, start))
        return true;
    struct rank_part part = {.kind = PART_BLOCKED, .time = end - start, .count = 1};
    uint32_t stack = trace->state.stack[row];
    if (state == STATE_READY) {
        part = (struct rank_part){.kind = PART_RUNNING, .ready = end - start};
        stack =
            stack_near(&reading->samples[index - reading->first], (struct interval){start, end});
    } else {
        part.blocked_on = trace->state.blocked_on[row];
    }
    return describe_stack(reading, stack, &part) && add_part(reading, index, part);
}

static bool note_stack(struct reading *reading, uint32_t index, int64_t time, uint32_t stack) {
    struct thread_samples *samples = &reading->samples[index - reading->first];
    if (!GROW(samples->list, &samples->capacity, samples->count + 1, reading->status))
        return false;
    samples->list[samples->count++] = (struct thread_sample){time, stack};
    return true;
}

/* A thread that is blocked is in the function both before and after. */
static bool note_blocked(struct reading *reading, size_t row) {
    const struct trace *trace = reading->trace;
    uint32_t index = rank_of_main(reading, trace->state.thread[row]);
    uint32_t stack = trace->state.stack[row];
    int64_t start = trace->state.start[row], end = start + trace->state.duration[row];
    if (index == NO_RANK || trace->state.state[row] != STATE_BLOCKED || !stack ||
        is_occupied(&reading->job->ranks[index], start))
        return true;
    return note_stack(reading, index, start, stack) && note_stack(reading, index, end, stack);
}

static bool read_sample(struct reading *reading, size_t row) {
    const struct trace *trace = reading->trace;
    uint32_t index = rank_of_main(reading, trace->sample.thread[row]);
    if (index == NO_RANK)
        return true;
    const struct rank *rank = &reading->job->ranks[index];
    int64_t time = trace->sample.time[row];
    uint32_t stack = trace->sample.stack[row];
    struct rank_part part = {.kind = PART_RUNNING, .time = trace->sample.weight[row], .count = 1};
    if (part.time <= 0 || !is_between_events(rank, time) || is_occupied(rank, time))
        return true;
    return note_stack(reading, index, time, stack) && describe_stack(reading, stack, &part) &&
           add_part(reading, index, part);
}

static int by_sample_time(const void *a, const void *b) {
    const struct thread_sample *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static bool read_host(struct reading *reading) {
    struct trace *trace = reading->trace;
    size_t ranks = reading->job->rank_count - reading->first;
    if (!trace_load(trace, TABLE_SAMPLE, NULL, reading->status))
        return false;
    for (size_t i = 0; i < trace->sample.count; i++)
        if (!read_sample(reading, i))
            return false;
    for (size_t i = 0; i < trace->state.count; i++)
        if (!note_blocked(reading, i))
            return false;
    for (size_t r = 0; r < ranks; r++)
        if (reading->samples[r].count)
            qsort(reading->samples[r].list, reading->samples[r].count,
                  sizeof *reading->samples[r].list, by_sample_time);
    for (size_t i = 0; i < trace->state.count; i++)
        if (!read_state(reading, i))
            return false;
    return true;
}

/* ---- clocks of devices ---- */

/* A counter of a device: its value holds until the next row. */
struct device_clock {
    uint32_t owner; /* rank + 1; 0: none; SHARED: several */
    int64_t since, time;
    double value, sum;
};

static void add_clock(struct device_clock *clock, int64_t time, double value) {
    if (clock->value > 0 && time > clock->since) {
        clock->sum += clock->value * (double)(time - clock->since);
        clock->time += time - clock->since;
    }
    clock->since = time;
    clock->value = value;
}

static void find_owners(const struct reading *reading, struct device_clock *clocks) {
    const struct trace *trace = reading->trace;
    for (uint32_t q = 1; q < trace->queue.count; q++) {
        uint32_t process = trace->queue.process[q], session = trace->queue_session[q];
        uint32_t rank = process ? reading->process_rank[process] : NO_RANK;
        struct device_clock *clock = &clocks[trace->queue.device[q]];
        if (rank == NO_RANK && session < trace->session_count)
            rank = reading->session_rank[session];
        if (rank != NO_RANK)
            clock->owner = clock->owner == 0 || clock->owner == rank + 1 ? rank + 1 : SHARED;
    }
}

/* The mean clock of ranks that have a device of their own. */
static bool read_clocks(struct reading *reading) {
    struct trace *trace = reading->trace;
    struct device_clock *clocks =
        memory_allocate(trace->device.count, sizeof *clocks, reading->status);
    bool ok = clocks && trace_load(trace, TABLE_COUNTER, NULL, reading->status);
    if (ok)
        find_owners(reading, clocks);
    for (size_t i = 0; ok && i < trace->counter.count; i++)
        if (text_is(trace_text(trace, trace->counter.name[i]), "clock (MHz)"))
            add_clock(&clocks[trace->counter.device[i]], trace->counter.time[i],
                      trace->counter.value[i]);
    for (size_t d = 1; ok && d < trace->device.count; d++) {
        const struct device_clock *clock = &clocks[d];
        if (clock->owner && clock->owner != SHARED)
            reading->job->ranks[clock->owner - 1].clock_mhz =
                clock->time ? clock->sum / (double)clock->time : clock->value;
    }
    memory_free(clocks);
    return ok;
}

/* ---- all together ---- */

static int by_start(const void *a, const void *b) {
    const struct rank_event *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorts what was read of communication: what the host did is judged by it. */
static void sort_communication(struct reading *reading) {
    for (size_t i = reading->first; i < reading->job->rank_count; i++) {
        struct rank *rank = &reading->job->ranks[i];
        if (rank->event_count)
            qsort(rank->events, rank->event_count, sizeof *rank->events, by_start);
        intervals_sort(&rank->communication);
        intervals_sort(&rank->compute);
        intervals_sort(&rank->copies);
    }
}

/* A rank without kernels whose thread states were not recorded computes whenever its main thread
 * does not communicate. While the main thread itself communicates it does not compute. */
static bool find_host_compute(struct reading *reading, struct rank *rank, uint32_t main) {
    struct intervals own = {0}, running = {0};
    bool ok = true;
    if (rank->has_device || rank->span.start > rank->span.end)
        return true;
    intervals_sort(&rank->compute);
    if (rank->compute.count == 0)
        ok = intervals_add(&rank->compute, rank->span.start, rank->span.end, reading->status);
    for (size_t i = 0; ok && i < rank->event_count; i++)
        if (rank->events[i].lane == main || !main)
            ok = intervals_add(&own, rank->events[i].start, rank->events[i].end, reading->status);
    intervals_sort(&own);
    ok = ok && intervals_subtract(&rank->compute, &own, &running, reading->status);
    intervals_finish(&own);
    intervals_finish(&rank->compute);
    rank->compute = running;
    return ok;
}

static bool finish_ranks(struct reading *reading) {
    struct job *job = reading->job;
    uint64_t drops = (uint64_t)MAX(trace_meta_sum(reading->trace, META_DROPS), 0);
    for (size_t i = reading->first; i < job->rank_count; i++) {
        struct rank *rank = &job->ranks[i];
        rank->drops = drops;
        if (!find_host_compute(reading, rank, reading->rank_main[i - reading->first]) ||
            !intervals_subtract(&rank->communication, &rank->compute, &rank->exposed,
                                reading->status))
            return false;
    }
    return true;
}

static void finish_rank(struct rank *rank) {
    memory_free(rank->events);
    memory_free(rank->parts);
    intervals_finish(&rank->communication);
    intervals_finish(&rank->compute);
    intervals_finish(&rank->copies);
    intervals_finish(&rank->exposed);
}

/* Recordings in which nothing happened, such as that of a launcher, are no ranks. */
static void drop_empty(struct reading *reading) {
    struct job *job = reading->job;
    size_t kept = reading->first;
    for (size_t i = reading->first; i < job->rank_count; i++) {
        struct rank *rank = &job->ranks[i];
        if (rank->number >= 0 || rank->event_count || rank->compute.count) {
            job->ranks[kept++] = *rank;
            continue;
        }
        finish_rank(rank);
    }
    job->rank_count = kept;
}

static bool read_all(struct reading *reading) {
    struct trace *trace = reading->trace;
    struct status *status = reading->status;
    uint32_t empty;
    size_t processes = trace->process.count;
    reading->process_rank = memory_allocate(processes, sizeof *reading->process_rank, status);
    reading->process_main = memory_allocate(processes, sizeof *reading->process_main, status);
    reading->process_events = memory_allocate(processes, sizeof *reading->process_events, status);
    reading->session_rank =
        memory_allocate(trace->session_count, sizeof *reading->session_rank, status);
    reading->stack_label = stacks_stand_for(trace, STACK_INNERMOST, status);
    if (!reading->process_rank || !reading->process_main || !reading->process_events ||
        !reading->session_rank || !reading->stack_label || !name_of(reading, TEXT(""), &empty) ||
        !place_processes(reading))
        return false;
    size_t ranks = reading->job->rank_count - reading->first;
    reading->rank_main = memory_allocate(ranks, sizeof *reading->rank_main, status);
    reading->samples = memory_allocate(ranks + 1, sizeof *reading->samples, status);
    if (!reading->rank_main || !reading->samples || !read_activities(reading) ||
        !read_ranges(reading) || !read_clocks(reading))
        return false;
    sort_communication(reading);
    find_main_threads(reading);
    if (!find_handovers(reading))
        return false;
    sort_communication(reading);
    return read_host(reading) && finish_ranks(reading);
}

bool job_add(struct job *job, struct trace *trace, const char *name, struct status *status) {
    struct reading reading = {.job = job,
                              .trace = trace,
                              .source = text_of(name),
                              .first = job->rank_count,
                              .status = status};
    bool ok = read_all(&reading);
    for (size_t r = 0; reading.samples && r < job->rank_count - reading.first; r++)
        memory_free(reading.samples[r].list);
    if (ok)
        drop_empty(&reading);
    memory_free(reading.process_rank);
    memory_free(reading.process_main);
    memory_free(reading.process_events);
    memory_free(reading.session_rank);
    memory_free(reading.rank_main);
    memory_free(reading.stack_label);
    memory_free(reading.samples);
    map_finish(&reading.parts);
    return ok;
}

void job_finish(struct job *job) {
    for (size_t i = 0; i < job->rank_count; i++)
        finish_rank(&job->ranks[i]);
    memory_free(job->ranks);
    memory_free(job->clocks);
    memory_free(job->collectives);
    memory_free(job->members);
    memory_free(job->shared);
    intern_finish(&job->names);
    memset(job, 0, sizeof *job);
}
