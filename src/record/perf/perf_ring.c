/* Opens the perf events of a target, maps their ring buffers and empties them on a thread.
 *
 * Samples come from the software event cpu-clock, which counts only while the target's threads run.
 * It needs no hardware counter, so it also works in virtual machines. Mappings, names, forks and
 * context switches come from a dummy event, which stays enabled while the stack size changes.
 * sample_stack_user cannot be changed in an open event, and an event opened later would miss the
 * threads that already run. So there is one sampling event for each stack size, opened before the
 * target starts. Enabling and disabling applies to all inherited events. Without the right to
 * sample the kernel, only user stacks are requested.
 *
 * The records of a thread are spread over the rings of all processors that it ran on. They are
 * copied out of all rings first and then sorted by time.
 *
 * Reading the symbols of one large library may take as long as a ring takes to overflow, so the
 * rings are emptied by a thread. It sleeps most of the time. The memory for copied records is
 * bounded: when they are not taken, the rings overflow, and the kernel counts the losses. The
 * thread competes with the target for the processors and may be scheduled late where hundreds of
 * threads are runnable. It therefore requests a high priority and a short time slice, and the lock
 * is never held while the other thread copies records. Without the right to a high priority, its
 * fair share of a processor is small too: among 400 threads on two processors 5 ms per second, too
 * little to copy 16 KB stacks. When the rings still become half full, or the number of runnable
 * threads predicts that they will before the next read, samples carry a smaller part of their
 * stack, and finally only the call chain by frame pointers.
 */
#ifdef __linux__
#include "record/perf/perf_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "record/crash.h"
#include "record/symbols/perf_unwind.h"

/* ---- Event attributes -------------------------------------------------------------------- */

enum {
    RING_BYTES = 2 << 20,        /* 0.1 s with many context switches */
    RING_BYTES_MANY = 512 << 10, /* the default of perf_event_mlock_kb */
    RING_BYTES_MAX = 32 << 20,
    RINGS_BYTES_MAX = 256 << 20, /* of all rings */
    RINGS_MEMORY_SHARE = 64,     /* all rings use at most 1/64 of the memory */
    RING_BYTES_MIN = 32 << 10,
    SWITCH_RING_BYTES = 1 << 20, /* 200 stacks */
    FIRST_FILL_MS = 500,         /* samples of the first stack size fill a ring in no less time */
    SAMPLE_BYTES = 1 << 10, /* of a sample without stack copy: registers and a short call chain */
    CHAIN_BYTES = 512,      /* of a sample without registers */
    FORMAT_LOST = 1 << 4,   /* PERF_FORMAT_LOST, which older headers lack */
};

/* 16 KB hold about thirty nested Python calls, enough for a training loop. */
const uint32_t perf_stack_sizes[PERF_STACK_SIZES] = {16 << 10, 4 << 10, 1 << 10, 0};

static int open_event(const struct perf_event_attr *attributes, pid_t target, int processor) {
    return (int)syscall(SYS_perf_event_open, attributes, target, processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr event_attributes(const struct perf_rings *rings,
                                               const struct perf_options *options) {
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
        .read_format = rings->counts_lost ? FORMAT_LOST : 0,
        .disabled = !options->attach,
        .inherit = 1,
        .enable_on_exec = !options->attach,
        .exclude_kernel = rings->user_only,
        .exclude_hv = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES_MIN,
    };
}

static struct perf_event_attr record_event_attributes(const struct perf_rings *rings,
                                                      const struct perf_options *options) {
    struct perf_event_attr attributes = event_attributes(rings, options);
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    attributes.context_switch = 1;
    return attributes;
}

static void request_stack(struct perf_event_attr *attributes, const struct perf_rings *rings,
                          const struct perf_options *options, uint32_t stack_bytes) {
    attributes->sample_type |= PERF_SAMPLE_CALLCHAIN;
    attributes->exclude_callchain_kernel = rings->user_only;
    if (options->stacks != PERF_STACKS_DWARF || stack_bytes == 0)
        return;
    attributes->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes->exclude_callchain_user = 1;
    attributes->sample_regs_user = perf_unwind_registers();
    attributes->sample_stack_user = stack_bytes;
}

static struct perf_event_attr sample_event_attributes(const struct perf_rings *rings,
                                                      const struct perf_options *options,
                                                      unsigned stack_size) {
    struct perf_event_attr attributes = event_attributes(rings, options);
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1000000000u / options->rate;
    attributes.enable_on_exec &= stack_size == rings->stack_size;
    request_stack(&attributes, rings, options, perf_stack_sizes[stack_size]);
    return attributes;
}

/* The stack at the moment a thread leaves its processor. */
static struct perf_event_attr switch_event_attributes(const struct perf_rings *rings,
                                                      const struct perf_options *options) {
    struct perf_event_attr attributes = event_attributes(rings, options);
    attributes.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attributes.sample_period = 1;
    request_stack(&attributes, rings, options, perf_stack_sizes[1]);
    return attributes;
}

static bool explain_open_error(struct status *status) {
    int reason = errno, level = 0;
    if (reason == EMFILE || reason == ENFILE)
        return status_fail_errno(status, "cannot open perf events");
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    bool known = file && fscanf(file, "%d", &level) == 1;
    if (file)
        fclose(file);
    if (reason == ENOSYS || !known)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "this kernel does not support perf events; use one built with CONFIG_PERF_EVENTS");
    if ((reason == EACCES || reason == EPERM) && level > 2)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "perf events are restricted to root (kernel.perf_event_paranoid is %d); "
                           "sudo sysctl kernel.perf_event_paranoid=2",
                           level);
    if (reason == EACCES || reason == EPERM)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "a seccomp filter blocks perf_event_open; start the container with "
                           "--cap-add PERFMON or --security-opt seccomp=unconfined");
    if (reason == EMFILE)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "perf events need one file descriptor per CPU; raise ulimit -n");
    errno = reason;
    status_fail_errno(status, "perf_event_open");
    status->code = STATUS_UNSUPPORTED;
    return false;
}

/* ---- Ring buffers ------------------------------------------------------------------------ */

size_t perf_ring_bytes(unsigned rate, size_t sample_bytes, unsigned processors, uint64_t memory) {
    uint64_t half_second = (uint64_t)rate * sample_bytes / 2;
    uint64_t together = memory / RINGS_MEMORY_SHARE;
    if (together > RINGS_BYTES_MAX)
        together = RINGS_BYTES_MAX;
    size_t bytes = RING_BYTES;
    while (bytes < RING_BYTES_MAX && bytes < half_second)
        bytes *= 2;
    while (bytes > RING_BYTES_MANY && (uint64_t)bytes * processors > together)
        bytes /= 2;
    return bytes;
}

static unsigned fill_ms(size_t bytes, unsigned rate, size_t sample_bytes) {
    return rate ? (unsigned)((uint64_t)bytes * 1000 / rate / sample_bytes) : UINT32_MAX;
}

/* The usual size of a sample. */
static size_t bytes_of_size(unsigned stack_size) {
    return perf_stack_sizes[stack_size] ? SAMPLE_BYTES + perf_stack_sizes[stack_size] : CHAIN_BYTES;
}

static size_t sample_bytes(const struct perf_options *options) {
    return options->stacks == PERF_STACKS_DWARF ? bytes_of_size(0) : SAMPLE_BYTES;
}

static size_t wanted_bytes(const struct perf_rings *rings, const struct perf_options *options) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    return perf_ring_bytes(options->rate, sample_bytes(options), (unsigned)rings->count, memory);
}

static void unmap_rings(struct perf_ring *rings, size_t count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < count; i++) {
        struct perf_ring *ring = &rings[i];
        if (ring->page)
            munmap(ring->page, page + ring->bytes);
        ring->page = NULL;
    }
}

static bool map_all(struct perf_ring *rings, size_t count, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < count; i++) {
        struct perf_ring *ring = &rings[i];
        void *map = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (map == MAP_FAILED) {
            int reason = errno;
            unmap_rings(rings, count);
            errno = reason;
            return false;
        }
        ring->page = map;
        ring->bytes = bytes;
    }
    return true;
}

/* A program may start all of its threads before the reader runs again, and a small ring would
 * overflow. The size grows soon if it does not. */
static void choose_first_size(struct perf_rings *rings, const struct perf_options *options) {
    rings->stack_size = 0;
    while (options->stacks == PERF_STACKS_DWARF && !options->attach &&
           rings->stack_size + 1 < PERF_STACK_SIZES &&
           fill_ms(rings->items[0].bytes, options->rate, bytes_of_size(rings->stack_size)) <
               FIRST_FILL_MS)
        rings->stack_size++;
}

/* The limit of locked memory depends on perf_event_mlock_kb, RLIMIT_MEMLOCK, capabilities and the
 * user's other processes, so sizes are tried. All rings have the same size. */
static bool map_rings(struct perf_rings *rings, const struct perf_options *options,
                      struct status *status) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), wanted = wanted_bytes(rings, options);
    for (size_t bytes = wanted; bytes >= RING_BYTES_MIN && bytes >= page; bytes /= 2) {
        rings->limited = bytes < wanted;
        rings->fill_ms = fill_ms(bytes, options->rate, sample_bytes(options));
        if (map_all(rings->items, rings->count, bytes)) {
            choose_first_size(rings, options);
            return true;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    if (errno == EPERM)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the limit of locked memory is too low for perf events; "
                           "sudo sysctl kernel.perf_event_mlock_kb=2048");
    status_fail_errno(status, "cannot map the ring buffer of perf events");
    status->code = STATUS_UNSUPPORTED;
    return false;
}

/* ---- Opening ----------------------------------------------------------------------------- */

/* Tries what is permitted and supported, with events that are closed again. */
static bool probe_permissions(struct perf_rings *rings, pid_t target,
                              const struct perf_options *options, struct status *status) {
    for (unsigned attempt = 0; attempt < 4; attempt++) {
        rings->user_only = attempt & 1;
        rings->counts_lost = !(attempt & 2);
        struct perf_event_attr attributes = options->rate
                                                ? sample_event_attributes(rings, options, 0)
                                                : record_event_attributes(rings, options);
        int fd = open_event(&attributes, target, 0);
        if (fd >= 0) {
            close(fd);
            return true;
        }
    }
    return explain_open_error(status);
}

static int open_with_output(const struct perf_event_attr *attributes, pid_t target,
                            const struct perf_ring *ring) {
    int fd = open_event(attributes, target, (int)ring->processor);
    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool add_switch_id(struct perf_rings *rings, int fd) {
    struct status ignored;
    uint64_t id;
    return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 && map_set(&rings->switch_ids, id, 1, &ignored);
}

/* A context switch happens in the kernel, so the right to sample the kernel is needed. */
static bool open_switches(struct perf_rings *rings, pid_t target,
                          const struct perf_options *options) {
    struct perf_event_attr attributes = switch_event_attributes(rings, options);
    struct status ignored;
    if (rings->user_only)
        return false;
    rings->switches = memory_allocate(rings->count, sizeof *rings->switches, &ignored);
    for (; rings->switches && rings->switch_count < rings->count; rings->switch_count++) {
        struct perf_ring *ring = &rings->switches[rings->switch_count];
        ring->processor = rings->items[rings->switch_count].processor;
        ring->fd = open_event(&attributes, target, (int)ring->processor);
        if (ring->fd < 0 || !add_switch_id(rings, ring->fd))
            return false;
    }
    for (size_t bytes = SWITCH_RING_BYTES; rings->switches && bytes >= RING_BYTES_MIN; bytes /= 2)
        if (map_all(rings->switches, rings->switch_count, bytes))
            return true;
    return false;
}

static void close_switches(struct perf_rings *rings) {
    map_finish(&rings->switch_ids);
    if (!rings->switches)
        return;
    unmap_rings(rings->switches, rings->switch_count);
    for (size_t i = 0; i < rings->count; i++)
        if (rings->switches[i].fd > 0)
            close(rings->switches[i].fd);
    memory_free(rings->switches);
    rings->switches = NULL;
    rings->switch_count = 0;
}

bool perf_rings_is_switch(const struct perf_rings *rings, uint64_t id) {
    return map_find((struct map *)&rings->switch_ids, id) != NULL;
}

/* Opens one event that writes to the ring of its processor. ESRCH: the thread has ended. */
static bool attach_event(struct perf_rings *rings, const struct perf_event_attr *attributes,
                         pid_t tid, const struct perf_ring *ring, int *fd, struct status *status) {
    if (!GROW(rings->attached, &rings->attached_capacity, rings->attached_count + 1, status))
        return false;
    *fd = open_with_output(attributes, tid, ring);
    if (*fd >= 0)
        rings->attached[rings->attached_count++] = *fd;
    return *fd >= 0 || errno == ESRCH || explain_open_error(status);
}

bool perf_rings_attach(struct perf_rings *rings, pid_t tid, const struct perf_options *options,
                       struct status *status) {
    struct perf_event_attr records = record_event_attributes(rings, options);
    struct perf_event_attr samples = sample_event_attributes(rings, options, 0);
    struct perf_event_attr switches = switch_event_attributes(rings, options);
    for (size_t i = 0; i < rings->count; i++) {
        int fd;
        if (!attach_event(rings, &records, tid, &rings->items[i], &fd, status) ||
            (options->rate && !attach_event(rings, &samples, tid, &rings->items[i], &fd, status)))
            return false;
        if (!rings->switches)
            continue;
        if (!attach_event(rings, &switches, tid, &rings->switches[i], &fd, status))
            return false;
        if (fd >= 0)
            add_switch_id(rings, fd);
    }
    return true;
}

static bool open_sampler(const struct perf_rings *rings, struct perf_ring *ring, pid_t target,
                         const struct perf_options *options, unsigned size) {
    struct perf_event_attr attributes = sample_event_attributes(rings, options, size);
    ring->samplers[size] = open_with_output(&attributes, target, ring);
    return ring->samplers[size] >= 0;
}

/* A size that fails on one CPU is not used on any: descriptors may be few. */
static bool open_samplers(struct perf_rings *rings, pid_t target,
                          const struct perf_options *options, struct status *status) {
    unsigned sizes =
        options->stacks == PERF_STACKS_DWARF && !options->attach ? PERF_STACK_SIZES : 1;
    for (unsigned size = 0; size < sizes; size++) {
        for (size_t i = 0; i < rings->count; i++) {
            if (open_sampler(rings, &rings->items[i], target, options, size))
                continue;
            return size > rings->stack_size || explain_open_error(status);
        }
        rings->stack_sizes = size + 1;
    }
    return true;
}

static bool open_records(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                         long processors, struct status *status) {
    struct perf_event_attr attributes = record_event_attributes(rings, options);
    for (int processor = 0; processor < processors; processor++) {
        struct perf_ring *ring = &rings->items[rings->count];
        ring->processor = (unsigned)processor;
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            ring->samplers[size] = -1;
        ring->fd = open_event(&attributes, target, processor);
        if (ring->fd < 0 && errno == ENODEV)
            continue; /* offline */
        if (ring->fd < 0)
            return explain_open_error(status);
        rings->count++;
    }
    return true;
}

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status) {
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    rings->items =
        memory_allocate((size_t)(processors > 0 ? processors : 1), sizeof *rings->items, status);
    bool ok = rings->items && probe_permissions(rings, target, options, status) &&
              open_records(rings, target, options, processors, status) &&
              map_rings(rings, options, status) &&
              (!options->rate || open_samplers(rings, target, options, status));
    if (ok && options->rate && !open_switches(rings, target, options))
        close_switches(rings); /* it is then unknown where threads block */
    return ok;
}

/* The kernel updates the events of all threads, which may take long. Meanwhile a thread is sampled
 * twice rather than not at all, because duplicates can be detected. */
void perf_rings_set_stack_size(struct perf_rings *rings, unsigned index) {
    for (size_t i = 0; i < rings->count; i++) {
        ioctl(rings->items[i].samplers[index], PERF_EVENT_IOC_ENABLE, 0);
        for (unsigned size = 0; size < rings->stack_sizes; size++)
            if (size != index)
                ioctl(rings->items[i].samplers[size], PERF_EVENT_IOC_DISABLE, 0);
    }
    rings->stack_size = index;
}

static uint64_t lost_by(int fd) {
    uint64_t values[2]; /* count, lost records */
    return fd >= 0 && read(fd, values, sizeof values) == sizeof values ? values[1] : 0;
}

uint64_t perf_rings_lost(const struct perf_rings *rings) {
    uint64_t unreported = 0;
    for (size_t i = 0; i < rings->count && rings->counts_lost; i++) {
        const struct perf_ring *ring = &rings->items[i];
        uint64_t lost = lost_by(ring->fd);
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            lost += lost_by(ring->samplers[size]);
        if (lost > ring->lost)
            unreported += lost - ring->lost;
    }
    return unreported;
}

void perf_rings_close(struct perf_rings *rings) {
    for (size_t i = 0; i < rings->attached_count; i++)
        close(rings->attached[i]);
    memory_free(rings->attached);
    close_switches(rings);
    unmap_rings(rings->items, rings->count);
    for (size_t i = 0; i < rings->count; i++) {
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            if (rings->items[i].samplers[size] >= 0)
                close(rings->items[i].samplers[size]);
        close(rings->items[i].fd);
    }
    memory_free(rings->items);
    *rings = (struct perf_rings){0};
}

/* ---- Records ----------------------------------------------------------------------------- */

/* The start of a sample and, because of sample_id_all, the end of every other record. */
struct sample_id {
    uint32_t pid, tid;
    uint64_t time, id;
};

static bool reserve_record(struct perf_batch *batch, struct status *status) {
    size_t needed = batch->count + 1;
    if (!GROW(batch->times, &batch->capacity[0], needed, status) ||
        !GROW(batch->offsets, &batch->capacity[1], needed, status) ||
        !GROW(batch->processors, &batch->capacity[2], needed, status) ||
        !GROW(batch->group, &batch->capacity[3], needed, status))
        return false;
    batch->group[batch->count] = 0;
    return true;
}

static struct sample_id sample_id_of(const uint8_t *record,
                                     const struct perf_event_header *header) {
    struct sample_id sample_id;
    size_t at =
        header->type == PERF_RECORD_SAMPLE ? sizeof *header : header->size - sizeof sample_id;
    memcpy(&sample_id, record + at, sizeof sample_id);
    return sample_id;
}

static bool add_record(struct perf_batch *batch, size_t offset, unsigned processor,
                       struct status *status) {
    struct perf_event_header header;
    if (!buffer_ok(&batch->bytes, status) || !reserve_record(batch, status))
        return false;
    const uint8_t *record = (const uint8_t *)batch->bytes.data + offset;
    memcpy(&header, record, sizeof header);
    batch->times[batch->count] = (int64_t)sample_id_of(record, &header).time;
    batch->offsets[batch->count] = offset;
    batch->processors[batch->count++] = processor;
    return true;
}

/* Appends bytes of the ring buffer, which wraps around. */
static void copy_out(const struct perf_ring *ring, const uint8_t *data, uint64_t from, size_t bytes,
                     struct buffer *to) {
    size_t at = (size_t)(from & (ring->bytes - 1)), first = ring->bytes - at;
    if (first > bytes)
        first = bytes;
    buffer_append(to, data + at, first);
    buffer_append(to, data, bytes - first);
}

/* A header never wraps around, because record sizes are multiples of its size. */
static struct perf_event_header header_at(const struct perf_ring *ring, const uint8_t *data,
                                          uint64_t from) {
    struct perf_event_header header;
    memcpy(&header, data + (from & (ring->bytes - 1)), sizeof header);
    return header;
}

double perf_ring_fullness(const struct perf_ring *ring) {
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    return (double)(head - ring->page->data_tail) / (double)ring->bytes;
}

bool perf_batch_read_ring(struct perf_batch *batch, struct perf_ring *ring, uint64_t *damaged,
                          struct status *status) {
    const uint8_t *data = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    bool ok = true;
    while (ok && head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header = header_at(ring, data, tail);
        if (header.size < sizeof header + sizeof(struct sample_id) || header.size % 8 != 0 ||
            header.size > head - tail) {
            ++*damaged;
            break;
        }
        size_t offset = batch->bytes.length;
        copy_out(ring, data, tail, header.size, &batch->bytes);
        ok = add_record(batch, offset, ring->processor, status);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
    return ok;
}

bool perf_batch_add(struct perf_batch *batch, const struct perf_batch *from, size_t index,
                    struct status *status) {
    struct perf_event_header header;
    const char *record = from->bytes.data + from->offsets[index];
    size_t offset = batch->bytes.length;
    memcpy(&header, record, sizeof header);
    buffer_append(&batch->bytes, record, header.size);
    return add_record(batch, offset, from->processors[index], status);
}

bool perf_batch_append(struct perf_batch *batch, const struct perf_batch *from,
                       struct status *status) {
    bool ok = true;
    for (size_t i = 0; i < from->count && ok; i++)
        ok = perf_batch_add(batch, from, i, status);
    return ok;
}

struct perf_record perf_batch_record(const struct perf_batch *batch, size_t index) {
    const uint8_t *record = (const uint8_t *)batch->bytes.data + batch->offsets[index];
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    struct sample_id sample_id = sample_id_of(record, &header);
    size_t front = header.type == PERF_RECORD_SAMPLE ? sizeof sample_id : 0;
    return (struct perf_record){
        .type = header.type,
        .misc = header.misc,
        .time = (int64_t)sample_id.time,
        .id = sample_id.id,
        .pid = sample_id.pid,
        .tid = sample_id.tid,
        .processor = batch->processors[index],
        .body = record + sizeof header + front,
        .length = header.size - sizeof header - sizeof sample_id,
    };
}

void perf_batch_clear(struct perf_batch *batch) {
    buffer_reset(&batch->bytes);
    batch->count = 0;
}

void perf_batch_finish(struct perf_batch *batch) {
    buffer_finish(&batch->bytes);
    memory_free(batch->times);
    memory_free(batch->offsets);
    memory_free(batch->processors);
    memory_free(batch->group);
    *batch = (struct perf_batch){0};
}

/* ---- Reader thread ----------------------------------------------------------------------- */

enum {
    READ_INTERVAL_MS = 50,
    READ_INTERVAL_MS_FIRST = 10,
    READ_INTERVAL_MS_MIN = 2,
    OTHERS_SLICE_MS = 3, /* of the kernel's scheduler */
    SIZE_SET_AGAIN_NS = 100000000,
    BACKLOG_BYTES = 32 << 20,
    SWITCH_RATE = 1000, /* sampled context switches per second in the long run */
    SWITCH_BURST = 2000,
};
#define COPIED_BYTES_MAX ((size_t)256 << 20)
#define GROW_DELAY_NS 2000000000      /* of low pressure before a larger stack size */
#define FIRST_GROW_DELAY_NS 250000000 /* as long as the load was never high */
#define SLICE_NS 1000000              /* enough to empty all rings */
enum { GROW_DELAY_DOUBLINGS = 5 };

/* The used share of the buffers if samples had the stack size `index` instead of `current`. A
 * reader that was scheduled late once may be twice as late the next time. */
static double pressure_at(const struct perf_load *load, unsigned current, unsigned index) {
    double ratio = (double)bytes_of_size(index) / (double)bytes_of_size(current);
    double fill = (double)load->fill_ms * (double)bytes_of_size(0) / (double)bytes_of_size(index);
    double full = load->fullness * ratio, late = 2 * load->late_ms / fill;
    double backlog = (double)load->backlog / BACKLOG_BYTES * ratio;
    double pressure = full > late ? full : late;
    return pressure > backlog ? pressure : backlog;
}

static int64_t grow_delay(const struct perf_stack_choice *choice) {
    unsigned doublings =
        choice->reductions < GROW_DELAY_DOUBLINGS ? choice->reductions : GROW_DELAY_DOUBLINGS;
    return doublings ? (int64_t)GROW_DELAY_NS << doublings : FIRST_GROW_DELAY_NS;
}

/* Without delays a ring is a quarter full at each read (interval_max). A change costs time for each
 * thread of the target, so sizes are skipped. */
bool perf_stack_choice_update(struct perf_stack_choice *choice, unsigned sizes,
                              const struct perf_load *load, int64_t now) {
    const double high = 0.5, low = 0.3;
    unsigned before = choice->index;
    while (choice->index + 1 < sizes && pressure_at(load, before, choice->index) > high)
        choice->index++;
    if (choice->index > before) {
        choice->reductions++;
        choice->low_since = now;
        return true;
    }
    if (before == 0 || !choice->low_since || pressure_at(load, before, before - 1) > low) {
        choice->low_since = now;
        return false;
    }
    if (now - choice->low_since < grow_delay(choice))
        return false;
    choice->index--;
    choice->low_since = now;
    return true;
}

/* "0.20 0.18 0.12 3/80 11206": three threads are runnable. Each of the others on this processor may
 * run for a slice before. */
unsigned perf_expected_delay_ms(const char *loadavg, unsigned processors) {
    unsigned runnable = 0;
    if (sscanf(loadavg, "%*s %*s %*s %u/", &runnable) != 1 || processors == 0)
        return 0;
    return (unsigned)((uint64_t)runnable * OTHERS_SLICE_MS / processors);
}

static unsigned expected_delay_ms(const struct perf_reader *reader) {
    char text[128];
    ssize_t length = reader->loadavg >= 0 ? pread(reader->loadavg, text, sizeof text - 1, 0) : 0;
    if (length <= 0)
        return 0;
    text[length] = 0;
    return perf_expected_delay_ms(text, (unsigned)reader->rings->count);
}

static void adapt_interval(struct perf_reader *reader, double fullness) {
    if (fullness > 0.3 && reader->interval > READ_INTERVAL_MS_MIN)
        reader->interval /= 2;
    else if (fullness < 0.1 && reader->interval < reader->interval_max)
        reader->interval *= 2;
    if (reader->interval < READ_INTERVAL_MS_MIN)
        reader->interval = READ_INTERVAL_MS_MIN;
    if (reader->interval > reader->interval_max)
        reader->interval = reader->interval_max;
}

static void adapt_stack_size(struct perf_reader *reader, double fullness, int64_t now) {
    struct perf_load load = {fullness, expected_delay_ms(reader), reader->rings->fill_ms,
                             reader->copied.bytes.length - reader->of_other_sizes};
    if (reader->wakeup_due && (now - reader->wakeup_due) / 1000000 > load.late_ms)
        load.late_ms = (unsigned)((now - reader->wakeup_due) / 1000000);
    reader->wakeup_due = 0;
    if (perf_stack_choice_update(&reader->choice, reader->rings->stack_sizes, &load, now)) {
        reader->of_other_sizes = reader->copied.bytes.length;
        reader->size_set = now;
        perf_rings_set_stack_size(reader->rings, reader->choice.index);
    } else if (reader->size_set && now - reader->size_set >= SIZE_SET_AGAIN_NS) {
        reader->size_set = 0;
        perf_rings_set_stack_size(reader->rings, reader->choice.index);
    }
}

bool perf_switch_budget_update(struct perf_switch_budget *budget, uint64_t taken, int64_t now) {
    bool was_paused = budget->paused;
    if (budget->updated == 0)
        budget->left = SWITCH_BURST;
    else
        budget->left += (double)(now - budget->updated) * SWITCH_RATE / 1e9 - (double)taken;
    if (budget->left > SWITCH_BURST)
        budget->left = SWITCH_BURST;
    budget->updated = now;
    if (budget->left < 0)
        budget->paused = true;
    else if (budget->left > SWITCH_BURST / 2)
        budget->paused = false;
    return budget->paused != was_paused;
}

/* Their rings do not count for the fullness: when they are full, only stacks are lost. */
static void copy_switches(struct perf_reader *reader, int64_t now) {
    struct perf_rings *rings = reader->rings;
    struct status status;
    size_t before = reader->copied.count;
    for (size_t i = 0; i < rings->switch_count && !reader->failed; i++)
        reader->failed =
            !perf_batch_read_ring(&reader->copied, &rings->switches[i], &reader->damaged, &status);
    size_t taken = reader->copied.count - before;
    if (rings->switch_count == 0 || !perf_switch_budget_update(&reader->switches, taken, now))
        return;
    unsigned long request =
        reader->switches.paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;
    for (size_t i = 0; i < rings->switch_count; i++)
        ioctl(rings->switches[i].fd, request, 0);
}

/* Called with the lock held. The stack size changes first: copying a full ring may take longer than
 * filling the rest of it. */
static void copy_rings(struct perf_reader *reader) {
    struct perf_rings *rings = reader->rings;
    struct status status;
    double fullness = 0;
    if (reader->copied.bytes.length > COPIED_BYTES_MAX)
        return;
    int64_t start = clock_now();
    for (size_t i = 0; i < rings->count; i++)
        fullness = fmax(fullness, perf_ring_fullness(&rings->items[i]));
    adapt_interval(reader, fullness);
    adapt_stack_size(reader, fullness, start);
    for (size_t i = 0; i < rings->count && !reader->failed; i++)
        reader->failed =
            !perf_batch_read_ring(&reader->copied, &rings->items[i], &reader->damaged, &status);
    copy_switches(reader, start);
    reader->complete = start;
}

/* Makes the calling thread run soon after it is woken: true when it takes precedence over others. A
 * short slice needs no privilege and works since Linux 6.12. */
static bool raise_priority(void) {
#ifdef SYS_sched_setattr
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {
        .size = sizeof attributes, .policy = SCHED_OTHER, .nice = -20, .runtime = SLICE_NS};
    if (sched_getscheduler(0) != SCHED_OTHER)
        return true; /* the user chose another policy */
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0)
        return true;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
    return false;
}

struct sampled_thread {
    pid_t pid, tid;
};
enum { SAMPLED_MAX = 128, PYTHON_INTERVAL_NS = 1000000 };

/* The threads of samples that were copied from `first` on, each once. */
static size_t list_sampled(const struct perf_batch *batch, size_t first,
                           struct sampled_thread *threads) {
    size_t count = 0;
    for (size_t i = batch->count; i > first && count < SAMPLED_MAX; i--) {
        struct perf_record record = perf_batch_record(batch, i - 1);
        bool is_new = record.type == PERF_RECORD_SAMPLE;
        for (size_t j = 0; j < count && is_new; j++)
            is_new = threads[j].tid != (pid_t)record.tid;
        if (is_new)
            threads[count++] = (struct sampled_thread){(pid_t)record.pid, (pid_t)record.tid};
    }
    return count;
}

/* Called with the lock held. */
static void read_python(struct perf_reader *reader, size_t first) {
    struct sampled_thread threads[SAMPLED_MAX];
    size_t count = reader->python ? list_sampled(&reader->copied, first, threads) : 0;
    if (count == 0)
        return;
    pthread_mutex_unlock(&reader->lock);
    for (size_t i = 0; i < count; i++)
        python_samples_read(reader->python, threads[i].pid, threads[i].tid);
    pthread_mutex_lock(&reader->lock);
}

static int64_t next_wakeup(const struct perf_reader *reader) {
    bool is_soon = reader->python && python_samples_is_active(reader->python);
    return clock_now() + (is_soon ? PYTHON_INTERVAL_NS : (int64_t)reader->interval * 1000000);
}

static void *read_rings(void *context) {
    struct perf_reader *reader = context;
    if (!raise_priority())
        reader->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    pthread_mutex_lock(&reader->lock);
    while (!reader->stop) {
        size_t before = reader->copied.count;
        copy_rings(reader);
        read_python(reader, before);
        reader->wakeup_due = next_wakeup(reader);
        struct timespec until = {reader->wakeup_due / 1000000000, reader->wakeup_due % 1000000000};
        pthread_cond_timedwait(&reader->wake, &reader->lock, &until);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings,
                       struct python_samples *python) {
    pthread_condattr_t attributes;
    sigset_t others, before;
    *reader = (struct perf_reader){
        .rings = rings,
        .python = python,
        .interval = READ_INTERVAL_MS_FIRST,
        .interval_max = READ_INTERVAL_MS,
        .loadavg = -1,
        .choice = {.index = rings->stack_size},
    };
    if (rings->fill_ms / 4 < READ_INTERVAL_MS)
        reader->interval_max =
            rings->fill_ms / 4 > READ_INTERVAL_MS_MIN ? rings->fill_ms / 4 : READ_INTERVAL_MS_MIN;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reader->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    crash_block_others(&others); /* they are handled by the main thread */
    pthread_sigmask(SIG_SETMASK, &others, &before);
    reader->running = pthread_create(&reader->thread, NULL, read_rings, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool perf_reader_take(struct perf_reader *reader, struct perf_batch *batch, uint64_t *damaged,
                      int64_t *complete, struct status *status) {
    if (!reader->rings)
        return true;
    pthread_mutex_lock(&reader->lock);
    if (!reader->running)
        copy_rings(reader);
    struct perf_batch copied = reader->copied;
    reader->copied = reader->taken;
    reader->taken = copied;
    reader->of_other_sizes = 0;
    bool failed = reader->failed;
    *complete = reader->complete;
    *damaged += reader->damaged;
    reader->damaged = 0;
    pthread_mutex_unlock(&reader->lock);
    bool ok = perf_batch_append(batch, &reader->taken, status);
    perf_batch_clear(&reader->taken);
    return ok && failed ? status_fail(status, STATUS_MEMORY, "out of memory") : ok;
}

void perf_reader_stop(struct perf_reader *reader) {
    if (!reader->running)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->stop = true;
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(reader->thread, NULL);
    reader->running = false;
}

void perf_reader_finish(struct perf_reader *reader) {
    perf_reader_stop(reader);
    perf_batch_finish(&reader->copied);
    perf_batch_finish(&reader->taken);
    if (reader->rings) {
        if (reader->loadavg >= 0)
            close(reader->loadavg);
        pthread_mutex_destroy(&reader->lock);
        pthread_cond_destroy(&reader->wake);
    }
    reader->rings = NULL;
}
#endif
