/* How much of the host time between calls is under certain names? Ranges give it exactly; without a
 * matching range, samples estimate it. */
#include <string.h>

#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

struct names {
    enum host_time_filter filter;
    struct text pattern;
    const struct trace *trace;
    uint8_t *known; /* by string: 1 no, 2 yes */
};

static bool name_matches_filter(struct names *names, uint32_t string) {
    uint8_t *known = &names->known[string];
    struct text name = trace_text(names->trace, string);
    if (*known == 0) {
        bool yes = names->filter == HOST_TIME_ALL ||
                   (names->filter == HOST_TIME_NAMED && name_matches(name, names->pattern)) ||
                   (names->filter == HOST_TIME_INPUT && name_is_input(name)) ||
                   (names->filter == HOST_TIME_COMPILATION && name_is_compilation(name) &&
                    name_matches(name, names->pattern));
        *known = yes && string ? 2 : 1;
    }
    return *known == 2;
}

/* A part of a thread's time between calls: before `call`, or after the last one (NO_ROW). */
struct segment {
    int64_t start, end; /* in trace time */
    uint32_t call;
};

static struct segment segment_before(const struct replay *replay, uint32_t call, int64_t reached) {
    const struct trace *trace = replay->trace;
    uint32_t follows = replay->follows[call];
    if (follows != NO_ROW)
        reached = MAX(reached, model_call_end(replay->source.model, follows));
    return (struct segment){reached, trace->call.start[call], call};
}

/* The next outer call of the thread from row `at` on, or NO_ROW. */
static uint32_t next_outer(const struct replay *replay, uint32_t thread, size_t *at) {
    size_t end = replay->source.model->thread_calls[thread + 1];
    while (*at < end && !is_outer(replay, *at))
        (*at)++;
    return *at < end ? (uint32_t)(*at)++ : NO_ROW;
}

static void add_time(const struct replay *replay, struct host_time *host_time, uint32_t thread,
                     uint32_t call, int64_t time) {
    int64_t *to = call == NO_ROW ? &host_time->tail[thread] : &host_time->before_call[call];
    int64_t time_max = (call == NO_ROW ? replay->tail[thread] : replay->host_time[call]) - *to;
    time = MIN(time, MAX(time_max, 0));
    if (time > 0) {
        *to += time;
        host_time->total += time;
    }
}

/* Spans of a thread in order of start, against the time between its calls. A span across several
 * calls is cut at each; nested spans count once. */
struct walk {
    const struct replay *replay;
    struct host_time *host_time;
    uint32_t thread;
    size_t at;      /* next call */
    int64_t called; /* end of the last call */
    struct segment segment;
    bool ended;
    int64_t counted; /* spans are counted up to here */
};

static void next_segment(struct walk *walk) {
    uint32_t call = next_outer(walk->replay, walk->thread, &walk->at);
    if (walk->ended)
        return;
    if (call == NO_ROW) {
        walk->ended = true;
        walk->segment = (struct segment){walk->called, INT64_MAX, NO_ROW};
        return;
    }
    walk->segment = segment_before(walk->replay, call, walk->called);
    walk->called = model_call_end(walk->replay->source.model, call);
}

static void walk_begin(struct walk *walk, const struct replay *replay, struct host_time *host_time,
                       uint32_t thread) {
    *walk = (struct walk){.replay = replay,
                          .host_time = host_time,
                          .thread = thread,
                          .at = replay->source.model->thread_calls[thread],
                          .called = INT64_MIN,
                          .counted = INT64_MIN};
    next_segment(walk);
}

static void walk_span(struct walk *walk, int64_t start, int64_t end) {
    start = MAX(start, walk->counted);
    while (start < end) {
        while (!walk->ended && walk->segment.end <= start)
            next_segment(walk);
        int64_t from = MAX(start, walk->segment.start);
        int64_t until = MIN(end, walk->segment.end);
        if (until > from)
            add_time(walk->replay, walk->host_time, walk->thread, walk->segment.call, until - from);
        start = MAX(until, start);
        if (walk->ended || until == end)
            break;
        next_segment(walk);
    }
    walk->counted = MAX(walk->counted, end);
}

static void by_ranges(const struct replay *replay, struct names *names,
                      struct host_time *host_time) {
    const struct model *model = replay->source.model;
    const struct trace *trace = replay->trace;
    for (uint32_t thread = 1; thread < replay->threads; thread++) {
        struct walk walk;
        walk_begin(&walk, replay, host_time, thread);
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++)
            if (range_is_host_code(trace->range.category[i]) &&
                name_matches_filter(names, trace->range.name[i]))
                walk_span(&walk, trace->range.start[i], model_range_end(model, i));
    }
}

/* A stack matches when any of its functions does; callers precede callees in the table. */
static bool mark_stacks(const struct replay *replay, struct names *names, uint8_t **matches,
                        struct status *status) {
    const struct trace *trace = replay->trace;
    *matches = memory_allocate(trace->stack.count, 1, status);
    if (!*matches)
        return false;
    for (uint32_t i = 1; i < trace->stack.count; i++)
        (*matches)[i] = name_matches_filter(names, trace->stack.function[i]) ||
                        (trace->stack.parent[i] < i && (*matches)[trace->stack.parent[i]]);
    return true;
}

/* The time between two samples of a thread. Running time belongs to the second sample, up to its
 * weight. A waiting thread is not sampled: it waits where it was sampled last or is sampled next.
 */
static void walk_between(struct walk *walk, struct state_cursor *cursor, int64_t start, int64_t end,
                         int64_t ran, bool waited) {
    const struct states *states = &walk->replay->source.host->states;
    while (start < end) {
        struct state_interval interval = states_next(states, cursor, walk->thread, start, end);
        if (interval.state == STATE_BLOCKED || interval.state == STATE_READY) {
            if (waited)
                walk_span(walk, interval.start, interval.end);
        } else {
            int64_t time = MIN(interval.end - interval.start, ran);
            walk_span(walk, interval.start, interval.start + time);
            ran -= time;
        }
        start = interval.end;
    }
}

static bool by_samples(const struct replay *replay, struct names *names,
                       struct host_time *host_time, struct status *status) {
    const struct host *host = replay->source.host;
    const struct trace *trace = replay->trace;
    uint8_t *matches = NULL;
    if (trace->sample.count == 0)
        return true;
    if (!mark_stacks(replay, names, &matches, status))
        return false;
    for (uint32_t thread = 1; thread < replay->threads; thread++) {
        struct walk walk;
        struct state_cursor cursor = {0};
        bool before = false;
        int64_t seen = INT64_MAX; /* time of the last sample */
        walk_begin(&walk, replay, host_time, thread);
        for (size_t i = host->thread_samples[thread]; i < host->thread_samples[thread + 1]; i++) {
            size_t row = host->sample_order ? host->sample_order[i] : i;
            int64_t time = trace->sample.time[row], weight = trace->sample.weight[row];
            bool here = matches[trace->sample.stack[row]];
            if (states_known(&host->states) && seen < time)
                walk_between(&walk, &cursor, seen, time, here ? weight : 0, before || here);
            else if (here)
                walk_span(&walk, time - weight, time);
            before = here;
            seen = time;
        }
    }
    memory_free(matches);
    return true;
}

/* All host time of any name, except before a thread's first call. */
static void take_all(const struct replay *replay, struct host_time *host_time) {
    for (uint32_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && run_call_before(replay, i) != NO_ROW)
            add_time(replay, host_time, 0, i, INT64_MAX);
    for (uint32_t thread = 1; thread < replay->threads; thread++)
        add_time(replay, host_time, thread, NO_ROW, INT64_MAX);
}

bool host_time_find(const struct replay *replay, enum host_time_filter filter, struct text pattern,
                    struct host_time *host_time, struct status *status) {
    struct names names = {.filter = filter, .pattern = pattern, .trace = replay->trace};
    memset(host_time, 0, sizeof *host_time);
    names.known = memory_allocate(replay->trace->strings.count, 1, status);
    host_time->before_call = memory_allocate(replay->calls, sizeof *host_time->before_call, status);
    host_time->tail = memory_allocate(replay->threads, sizeof *host_time->tail, status);
    bool ok = names.known && host_time->before_call && host_time->tail;
    if (ok && filter == HOST_TIME_ALL)
        take_all(replay, host_time);
    else if (ok)
        by_ranges(replay, &names, host_time);
    if (ok && host_time->total == 0)
        ok = by_samples(replay, &names, host_time, status);
    memory_free(names.known);
    if (!ok)
        host_time_finish(host_time);
    return ok;
}

void host_time_finish(struct host_time *host_time) {
    memory_free(host_time->before_call);
    memory_free(host_time->tail);
    memset(host_time, 0, sizeof *host_time);
}

int64_t host_time_in_part(const struct replay *replay, uint32_t call, int64_t cut) {
    int64_t end = replay->call_start[call], host_time = replay->host_time[call];
    if (!replay->narrowed || host_time <= 0)
        return cut;
    int64_t inside =
        inside_thread_part(replay, replay->trace->call.thread[call], end - host_time, end);
    return (int64_t)((double)cut * ((double)inside / (double)host_time));
}

struct text call_range(const struct replay *replay, uint32_t call) {
    const struct trace *trace = replay->trace;
    uint32_t range =
        host_range_at(replay->source.host, trace->call.thread[call], trace->call.start[call]);
    return range == NO_ROW ? TEXT("") : trace_text(trace, trace->range.name[range]);
}
