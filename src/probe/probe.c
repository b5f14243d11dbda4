/* The two injection entry points, the options, and the cost of the probe.
 *
 * The library is never unloaded (-z nodelete), because its functions stay installed in the program.
 * Loading it has no effect; only the entry points start it.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/job_place.h"
#include "probe/capture.h"
#include "probe/collectives/collectives.h"
#include "trace/schema.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(nvtx_export_table *tables);
EXPORT int ridge_probe_attach(const char *folder, const char *words, int32_t *started);
EXPORT int ridge_probe_attached(void);
EXPORT int ridge_probe_push(const char *name);
EXPORT int ridge_probe_pop(void);
EXPORT void ridge_probe_allocation(uint64_t address, uint64_t bytes, int released,
                                   const uint64_t *frames, unsigned count);
EXPORT void ridge_probe_collective(const struct collective_event *event);
EXPORT void ridge_probe_place(int64_t rank, int64_t world_size);

/* Called by the CUDA driver ($CUDA_INJECTION64_PATH), which ignores the result. */
int InitializeInjection(void) {
    int error = errno;
    struct probe *probe = probe_start();
    if (probe && probe->options.cuda)
        probe_cuda_start(probe);
    errno = error;
    return 1;
}

/* Called by NVTX ($NVTX_INJECTION64_PATH), once for each copy of it. 0: no tool. */
int InitializeInjectionNvtx2(nvtx_export_table *tables) {
    int error = errno;
    struct probe *probe = probe_start();
    bool installed = probe && probe->options.nvtx && tables && nvtx_install(tables);
    errno = error;
    return installed;
}

/* Called by a recorder that attaches, on a thread that it has interrupted, and by the Python
 * module. Returns at once: the session starts on another thread. The recorder does not see what is
 * returned: `started`, unless it is NULL, gets it too. */
int ridge_probe_attach(const char *folder, const char *words, int32_t *started) {
    int error = errno;
    int result = session_start(folder, words);
    if (started)
        *started = result;
    errno = error;
    return result;
}

/* Whether the session has started. */
int ridge_probe_attached(void) {
    return probe_is_ready();
}

/* Ranges of programs without NVTX; the Python module calls these. The name is UTF-8. Returns the
 * level of the range in its thread, or a negative number: not recorded. */
int ridge_probe_push(const char *name) {
    int error = errno;
    struct probe *probe = probe_start();
    int level = probe && probe->options.nvtx && name ? nvtx_push(name) : -1;
    errno = error;
    return level;
}

int ridge_probe_pop(void) {
    int error = errno;
    struct probe *probe = probe_start();
    int level = probe && probe->options.nvtx ? nvtx_pop() : -1;
    errno = error;
    return level;
}

/* Called by libridge-memory.so, from any function of the malloc() family. `bytes` are those that
 * the sampled allocation stands for; address 0: its release will not be seen. */
void ridge_probe_allocation(uint64_t address, uint64_t bytes, int released, const uint64_t *frames,
                            unsigned count) {
    enum { FRAMES_MAX = 64 };
    int error = errno;
    struct probe_thread *thread = probe_start() ? probe_enter() : NULL;
    if (count > FRAMES_MAX)
        count = FRAMES_MAX;
    if (thread) {
        uint32_t stack = released ? 0 : probe_stack(thread, CALL_OTHER);
        if (stack)
            count = 0;
        struct spool_allocation *record =
            spool_begin(thread->lane, SPOOL_ALLOCATION, 0, sizeof *record + count * sizeof *frames);
        if (record) {
            record->time = clock_now();
            record->address = address;
            record->bytes = bytes;
            record->released = released != 0;
            record->count = count;
            record->stack = stack;
            record->unused = 0;
            if (count)
                memcpy(record->frames, frames, count * sizeof *frames);
            spool_publish(thread->lane);
        }
        probe_leave(thread);
    }
    errno = error;
}

static void put_place(struct probe_thread *thread, int64_t rank, int64_t world_size) {
    struct job_place place = job_place_own();
    char words[80];
    int length = snprintf(words, sizeof words, "%lld %lld %lld",
                          (long long)(rank >= 0 ? rank : place.rank), (long long)place.local_rank,
                          (long long)(world_size >= 0 ? world_size : place.world_size));
    probe_put_meta(thread, "probe.place", (struct text){words, (size_t)length});
}

static _Atomic int64_t place_known_for; /* pid */

/* Called by libridge-collectives.so, after MPI_Init(). */
void ridge_probe_place(int64_t rank, int64_t world_size) {
    int error = errno;
    struct probe_thread *thread = probe_start() ? probe_enter() : NULL;
    if (thread) {
        atomic_store(&place_known_for, (int64_t)getpid());
        put_place(thread, rank, world_size);
        probe_leave(thread);
    }
    errno = error;
}

static void put_collective(struct probe_thread *thread, const struct collective_event *event) {
    uint32_t name = spool_constant(thread->lane, event->name);
    uint32_t library = spool_constant(thread->lane, event->library);
    uint32_t operation = spool_constant(thread->lane, event->operation);
    uint32_t group = event->group ? spool_text(thread->lane, text_of(event->group)) : 0;
    struct spool_collective *record =
        spool_begin(thread->lane, SPOOL_COLLECTIVE, name, sizeof *record);
    if (!record)
        return;
    *record = (struct spool_collective){.head = record->head,
                                        .start = event->start,
                                        .end = event->end,
                                        .bytes = event->bytes,
                                        .sequence = event->sequence,
                                        .library = library,
                                        .operation = operation,
                                        .group = group,
                                        .group_size = event->group_size,
                                        .group_rank = event->group_rank,
                                        .root = event->root,
                                        .peer = event->peer};
    spool_publish(thread->lane);
}

/* Called by libridge-collectives.so, after an operation of MPI or gloo. */
void ridge_probe_collective(const struct collective_event *event) {
    int error = errno;
    struct probe_thread *thread = probe_start() && capture_is_on() ? probe_enter() : NULL;
    if (thread) {
        int64_t pid = getpid();
        if (atomic_exchange(&place_known_for, pid) != pid)
            put_place(thread, -1, -1);
        put_collective(thread, event);
        probe_leave(thread);
    }
    errno = error;
}

void probe_put_meta(struct probe_thread *thread, const char *key, struct text value) {
    uint32_t key_number = spool_constant(thread->lane, key);
    uint32_t value_number = spool_text(thread->lane, value);
    struct spool_meta *meta = spool_begin(thread->lane, SPOOL_META, key_number, sizeof *meta);
    if (!meta)
        return;
    meta->value = value_number;
    meta->unused = 0;
    spool_publish(thread->lane);
}

/* ---- Options ----------------------------------------------------------------------------- */

#define CAPTURE "capture="

static bool is_own_rank(struct text ranks) {
    char list[512];
    if (ranks.length >= sizeof list)
        return true;
    memcpy(list, ranks.data, ranks.length);
    list[ranks.length] = 0;
    return job_ranks_include(list, job_place_own());
}

static void parse_option(struct probe_options *options, struct text word) {
    ptrdiff_t equals = text_find(word, "=");
    if (equals < 0)
        return;
    struct text name = {word.data, (size_t)equals};
    struct text value = {word.data + equals + 1, word.length - (size_t)equals - 1};
    uint64_t number;
    if (text_is(name, "nvtx"))
        options->nvtx = !text_is(value, "0");
    else if (text_is(name, "cuda"))
        options->cuda = !text_is(value, "0");
    else if (text_is(name, "opencl"))
        options->opencl = !text_is(value, "0");
    else if (text_is(name, "vulkan")) {
        options->vulkan = !text_is(value, "0");
        options->vulkan_dispatches = text_is(value, "dispatch");
    } else if (text_is(name, "metal"))
        options->metal = !text_is(value, "0");
    else if (text_is(name, "vulkan_clock"))
        options->vulkan_own_clock = text_is(value, "own");
    else if (text_is(name, "graph"))
        options->graph_nodes = text_is(value, "node");
    else if (text_is(name, "python"))
        options->python = text_is(value, "off")     ? PYTHON_LINES_OFF
                          : text_is(value, "waits") ? PYTHON_LINES_WAITS
                                                    : PYTHON_LINES_ALL;
    else if (text_is(name, "ranks"))
        options->excluded |= !is_own_rank(value);
    else if (text_is(name, "limit") && text_to_u64(value, &number))
        options->limit = number;
    else if (text_is(name, "from") && text_to_u64(value, &number) && number < INT64_MAX)
        options->from = (int64_t)number;
}

struct probe_options probe_options_parse(const char *words) {
    struct probe_options options = {
        .nvtx = true, .cuda = true, .opencl = true, .vulkan = true, .metal = true};
    struct text rest = text_of(words ? words : "");
    while (rest.length > 0) {
        if (text_starts(rest, CAPTURE)) {
            size_t prefix = sizeof CAPTURE - 1;
            options.capture = (struct text){rest.data + prefix, rest.length - prefix};
            break;
        }
        ptrdiff_t comma = text_find(rest, ",");
        size_t length = comma < 0 ? rest.length : (size_t)comma;
        parse_option(&options, (struct text){rest.data, length});
        size_t taken = comma < 0 ? length : length + 1;
        rest = (struct text){rest.data + taken, rest.length - taken};
    }
    return options;
}

/* ---- Cost -------------------------------------------------------------------------------- */

/* Timing every entry would cost about as much as the entries themselves, so one of COST_MEASURED is
 * timed and stands for the others. */

enum { REPORT_INTERVAL_NS = 100000000, PREEMPTED_NS = 100000 };

static _Atomic int64_t total_ns, reported_at;

static void put_cost(struct probe_thread *thread, int64_t cost) {
    char number[32];
    int length = snprintf(number, sizeof number, "%lld", (long long)cost);
    probe_put_meta(thread, "probe.cost_ns", (struct text){number, (size_t)length});
}

/* A very long entry was preempted and does not stand for others. */
void cost_add(struct probe_thread *thread) {
    int64_t now = clock_now(), took = now - thread->entered_at;
    thread->entered_at = 0;
    if (took < PREEMPTED_NS)
        took *= COST_SAMPLE_INTERVAL;
    int64_t cost = atomic_fetch_add(&total_ns, took) + took, last = atomic_load(&reported_at);
    if (now - last > REPORT_INTERVAL_NS && atomic_compare_exchange_strong(&reported_at, &last, now))
        put_cost(thread, cost);
}

void cost_add_ns(int64_t took) {
    atomic_fetch_add_explicit(&total_ns, took, memory_order_relaxed);
}

void cost_finish(void) {
    struct probe_thread *thread = atomic_load(&total_ns) > 0 ? probe_enter() : NULL;
    if (!thread)
        return;
    put_cost(thread, atomic_load(&total_ns));
    probe_leave(thread);
}

void cost_reset(void) {
    atomic_store(&total_ns, 0);
    atomic_store(&reported_at, 0);
}
