/* Samples come from the software event cpu-clock, which counts only while the target's threads run.
 * It needs no hardware counter, so it works in virtual machines too. Mappings, names, forks and
 * context switches come from a dummy event. It stays enabled when the kernel is asked to change the
 * stack size: sample_stack_user cannot be changed in an open event, and an event that is opened
 * later would miss the threads that already run. So there is one sampling event for each size,
 * opened before the target starts. Enabling and disabling applies to all inherited events.
 *
 * Without the right to see the kernel's part, the event is asked for the user's part only. */
#ifdef __linux__
#include "record/perf/perf_ring.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/symbols/perf_unwind.h"

enum {
    RING_BYTES = 2 << 20,        /* a tenth of a second of many context switches */
    RING_BYTES_MANY = 512 << 10, /* what perf_event_mlock_kb allows everyone by default */
    RING_BYTES_MAX = 32 << 20,
    RINGS_BYTES_MAX = 256 << 20, /* together, where there are many processors */
    RINGS_MEMORY_SHARE = 64,     /* all of them use at most this fraction of the memory */
    RING_BYTES_MIN = 32 << 10,
    SAMPLE_BYTES = 1 << 10, /* of a sample without its stack: registers and a short call chain */
    FORMAT_LOST = 1 << 4,   /* PERF_FORMAT_LOST, which older headers do not have */
};

/* A training loop needs 16 KB: about thirty nested Python calls. */
const uint32_t perf_stack_sizes[PERF_STACK_SIZES] = {16 << 10, 4 << 10, 1 << 10};

static int open_event(const struct perf_event_attr *attributes, pid_t target, int processor) {
    return (int)syscall(SYS_perf_event_open, attributes, target, processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr describe(const struct perf_rings *rings) {
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .read_format = rings->counts_lost ? FORMAT_LOST : 0,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = rings->user_only,
        .exclude_hv = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES_MIN,
    };
}

static struct perf_event_attr describe_records(const struct perf_rings *rings) {
    struct perf_event_attr attributes = describe(rings);
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    attributes.context_switch = 1;
    return attributes;
}

static struct perf_event_attr describe_samples(const struct perf_rings *rings,
                                               const struct perf_options *options,
                                               unsigned stack_size) {
    struct perf_event_attr attributes = describe(rings);
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1000000000u / options->rate;
    attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attributes.exclude_callchain_kernel = rings->user_only;
    attributes.enable_on_exec = stack_size == rings->stack_size;
    if (options->stacks == PERF_TABLES) {
        attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attributes.exclude_callchain_user = 1;
        attributes.sample_regs_user = perf_unwind_registers();
        attributes.sample_stack_user = perf_stack_sizes[stack_size];
    }
    return attributes;
}

static bool explain_refusal(struct status *status) {
    int reason = errno, level = 0;
    if (reason == EMFILE || reason == ENFILE)
        return status_fail_errno(status, "cannot open perf events");
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    bool known = file && fscanf(file, "%d", &level) == 1;
    if (file)
        fclose(file);
    if (reason == ENOSYS || !known)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "this kernel has no perf events; use one with CONFIG_PERF_EVENTS");
    if ((reason == EACCES || reason == EPERM) && level > 2)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "perf events are for root only here (kernel.perf_event_paranoid is %d); "
                           "sudo sysctl kernel.perf_event_paranoid=2",
                           level);
    if (reason == EACCES || reason == EPERM)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "a filter of system calls forbids perf events; start the container with "
                           "--cap-add PERFMON or --security-opt seccomp=unconfined");
    if (reason == EMFILE)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "perf events need one open file for each processor; raise ulimit -n");
    errno = reason;
    status_fail_errno(status, "perf_event_open");
    status->code = STATUS_UNSUPPORTED;
    return false;
}

/* ---- Ring buffers -------------------------------------------------------------------------- */

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

static size_t sample_bytes(const struct perf_options *options) {
    return SAMPLE_BYTES + (options->stacks == PERF_TABLES ? perf_stack_sizes[0] : 0);
}

static size_t wanted_bytes(const struct perf_rings *rings, const struct perf_options *options) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    return perf_ring_bytes(options->rate, sample_bytes(options), (unsigned)rings->count, memory);
}

static void unmap_rings(struct perf_rings *rings) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < rings->count; i++) {
        struct perf_ring *ring = &rings->items[i];
        if (ring->page)
            munmap(ring->page, page + ring->bytes);
        ring->page = NULL;
    }
}

static bool map_all(struct perf_rings *rings, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < rings->count; i++) {
        struct perf_ring *ring = &rings->items[i];
        void *map = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (map == MAP_FAILED) {
            int reason = errno;
            unmap_rings(rings);
            errno = reason;
            return false;
        }
        ring->page = map;
        ring->bytes = bytes;
    }
    return true;
}

/* What a user may lock depends on perf_event_mlock_kb, RLIMIT_MEMLOCK, capabilities and on what the
 * user's other processes have locked. Trying is the only exact answer. All rings have one size, so
 * that none is left with the rest. */
static bool map_rings(struct perf_rings *rings, const struct perf_options *options,
                      struct status *status) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), wanted = wanted_bytes(rings, options);
    for (size_t bytes = wanted; bytes >= RING_BYTES_MIN && bytes >= page; bytes /= 2) {
        rings->limited = bytes < wanted;
        rings->fill_ms = fill_ms(bytes, options->rate, sample_bytes(options));
        if (map_all(rings, bytes))
            return true;
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    if (errno == EPERM)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "there is too little memory for perf events of this user; "
                           "sudo sysctl kernel.perf_event_mlock_kb=2048");
    status_fail_errno(status, "the ring of perf events cannot be mapped");
    status->code = STATUS_UNSUPPORTED;
    return false;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* Finds out what is allowed and known here, with events that are closed again. */
static bool find_rights(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                        struct status *status) {
    for (unsigned way = 0; way < 4; way++) {
        rings->user_only = way & 1;
        rings->counts_lost = !(way & 2);
        struct perf_event_attr attributes =
            options->rate ? describe_samples(rings, options, 0) : describe_records(rings);
        int fd = open_event(&attributes, target, 0);
        if (fd >= 0) {
            close(fd);
            return true;
        }
    }
    return explain_refusal(status);
}

/* Sizes that cannot be opened on one processor are not used on any. */
static bool open_samplers(struct perf_rings *rings, pid_t target,
                          const struct perf_options *options, struct status *status) {
    rings->stack_sizes = options->stacks == PERF_TABLES ? PERF_STACK_SIZES : 1;
    for (size_t i = 0; i < rings->count; i++) {
        struct perf_ring *ring = &rings->items[i];
        for (unsigned size = 0; size < rings->stack_sizes; size++) {
            struct perf_event_attr attributes = describe_samples(rings, options, size);
            int fd = open_event(&attributes, target, (int)ring->processor);
            if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0) {
                close(fd);
                fd = -1;
            }
            ring->samplers[size] = fd;
            if (fd < 0 && size == 0)
                return explain_refusal(status);
            if (fd < 0)
                rings->stack_sizes = size;
        }
    }
    return true;
}

static bool open_records(struct perf_rings *rings, pid_t target, long processors,
                         struct status *status) {
    struct perf_event_attr attributes = describe_records(rings);
    for (int processor = 0; processor < processors; processor++) {
        struct perf_ring *ring = &rings->items[rings->count];
        ring->processor = (unsigned)processor;
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            ring->samplers[size] = -1;
        ring->fd = open_event(&attributes, target, processor);
        if (ring->fd < 0 && errno == ENODEV)
            continue; /* switched off */
        if (ring->fd < 0)
            return explain_refusal(status);
        rings->count++;
    }
    return true;
}

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status) {
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    rings->items =
        memory_allocate((size_t)(processors > 0 ? processors : 1), sizeof *rings->items, status);
    return rings->items && find_rights(rings, target, options, status) &&
           open_records(rings, target, processors, status) && map_rings(rings, options, status) &&
           (!options->rate || open_samplers(rings, target, options, status));
}

/* The kernel goes through the events of all threads, which may take long where there are many. For
 * that time a thread is sampled twice rather than not at all: duplicates can be recognised. */
void perf_rings_set_stack_size(struct perf_rings *rings, unsigned index) {
    for (size_t i = 0; i < rings->count; i++) {
        ioctl(rings->items[i].samplers[index], PERF_EVENT_IOC_ENABLE, 0);
        ioctl(rings->items[i].samplers[rings->stack_size], PERF_EVENT_IOC_DISABLE, 0);
    }
    rings->stack_size = index;
}

static uint64_t lost_by(int fd) {
    uint64_t values[2]; /* the count, and how many records were lost */
    return fd >= 0 && read(fd, values, sizeof values) == sizeof values ? values[1] : 0;
}

uint64_t perf_rings_lost(const struct perf_rings *rings) {
    uint64_t unsaid = 0;
    for (size_t i = 0; i < rings->count && rings->counts_lost; i++) {
        const struct perf_ring *ring = &rings->items[i];
        uint64_t lost = lost_by(ring->fd);
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            lost += lost_by(ring->samplers[size]);
        if (lost > ring->lost)
            unsaid += lost - ring->lost;
    }
    return unsaid;
}

void perf_rings_close(struct perf_rings *rings) {
    unmap_rings(rings);
    for (size_t i = 0; i < rings->count; i++) {
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            if (rings->items[i].samplers[size] >= 0)
                close(rings->items[i].samplers[size]);
        close(rings->items[i].fd);
    }
    memory_free(rings->items);
    *rings = (struct perf_rings){0};
}
#endif
