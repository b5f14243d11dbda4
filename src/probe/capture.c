/* Keeps the last few thousand windows of correlation ids, which is more than CUPTI has records in
 * flight.
 */
#include "probe/capture.h"

#include <stdatomic.h>

#include "base/clock.h"

enum { WINDOWS = 4096 };

static bool by_profiler; /* set before anything is recorded, as is range_name */
static struct text range_name;
static int64_t start_time;

static _Atomic uint32_t open_captures;
static _Atomic uint32_t last_call;
static _Atomic uint32_t windows; /* number of windows so far */
/* Contains the ids in (after, last]; `last` of the open window is UINT32_MAX. */
static struct { _Atomic uint32_t after, last; } window_ids[WINDOWS];
static _Atomic uint32_t pause_count; /* reasons to be paused */
static _Atomic int64_t paused_since; /* as reported; 0: not reported */
static _Atomic bool reported;

static bool is_limited(void) {
    return by_profiler || range_name.length > 0;
}

void capture_start(const struct probe_options *options) {
    range_name = TEXT("");
    atomic_store(&open_captures, 0);
    atomic_store(&windows, 0);
    atomic_store(&paused_since, 0);
    atomic_store(&reported, false);
    by_profiler = text_is(options->capture, "cudaProfilerApi");
    if (text_starts(options->capture, "nvtx:"))
        range_name = (struct text){options->capture.data + 5, options->capture.length - 5};
    start_time = options->from;
    atomic_store(&pause_count, is_limited());
}

static void put_pause(struct spool_lane *lane, int64_t start, int64_t end) {
    struct spool_paused *paused = spool_begin(lane, SPOOL_PAUSED, 0, sizeof *paused);
    if (!paused)
        return;
    paused->start = start;
    paused->end = end;
    spool_publish(lane);
}

void capture_forked(void) {
    atomic_store(&pause_count, is_limited() && atomic_load(&open_captures) == 0);
    atomic_store(&paused_since, 0);
    atomic_store(&reported, false);
}

/* Reports a pause, unless another thread ends it at the same moment. */
static void begin_pause(struct spool_lane *lane) {
    int64_t now = clock_now(), own = now;
    atomic_store(&paused_since, now);
    if (atomic_load(&pause_count) == 0 && atomic_compare_exchange_strong(&paused_since, &own, 0))
        return;
    put_pause(lane, now, 0);
}

/* One thread may remove a reason before another adds it: the count is right in the end. */
static void add_pause(struct spool_lane *lane) {
    if (atomic_fetch_add(&pause_count, 1) == 0)
        begin_pause(lane);
}

static void remove_pause(struct spool_lane *lane) {
    int64_t since = atomic_fetch_sub(&pause_count, 1) == 1 ? atomic_exchange(&paused_since, 0) : 0;
    if (since)
        put_pause(lane, since, clock_now());
}

void capture_suspend(struct spool_lane *lane, bool begins) {
    if (begins)
        add_pause(lane);
    else
        remove_pause(lane);
}

void capture_put_state(struct spool_lane *lane) {
    if (is_limited() && !atomic_exchange(&reported, true) && atomic_load(&open_captures) == 0)
        begin_pause(lane);
}

bool capture_has_started(int64_t time) {
    return time >= start_time;
}

bool capture_is_on(void) {
    return !is_limited() || atomic_load_explicit(&open_captures, memory_order_relaxed) > 0;
}

void capture_call_seen(uint32_t correlation) {
    if (is_limited())
        atomic_store_explicit(&last_call, correlation, memory_order_relaxed);
}

static void begin_capture(struct spool_lane *lane) {
    if (atomic_fetch_add(&open_captures, 1) > 0)
        return;
    uint32_t number = atomic_load(&windows);
    atomic_store(&window_ids[number % WINDOWS].last, UINT32_MAX);
    atomic_store(&window_ids[number % WINDOWS].after, atomic_load(&last_call));
    atomic_store(&windows, number + 1);
    remove_pause(lane);
}

static void end_capture(struct spool_lane *lane) {
    uint32_t before = atomic_load(&open_captures);
    do
        if (before == 0)
            return; /* unbalanced end */
    while (!atomic_compare_exchange_weak(&open_captures, &before, before - 1));
    if (before > 1)
        return;
    atomic_store(&window_ids[(atomic_load(&windows) - 1) % WINDOWS].last, atomic_load(&last_call));
    add_pause(lane);
}

bool capture_includes(uint32_t correlation) {
    if (!is_limited())
        return true;
    uint32_t count = atomic_load(&windows), oldest = count > WINDOWS ? count - WINDOWS : 0;
    for (uint32_t i = count; i > oldest; i--) {
        uint32_t last = atomic_load(&window_ids[(i - 1) % WINDOWS].last);
        if (correlation > last)
            return false; /* between that window and the next */
        if (correlation > atomic_load(&window_ids[(i - 1) % WINDOWS].after))
            return true;
    }
    return false;
}

/* These calls do not nest: two starts need one stop. */
void capture_profiler(struct spool_lane *lane, bool begins) {
    bool on = atomic_load(&open_captures) > 0;
    if (by_profiler && begins != on)
        capture_range(lane, begins);
}

bool capture_is_range(struct spool_lane *lane, uint32_t name) {
    return range_name.length > 0 && name != 0 && name == spool_text(lane, range_name);
}

void capture_range(struct spool_lane *lane, bool begins) {
    if (begins)
        begin_capture(lane);
    else
        end_capture(lane);
}
