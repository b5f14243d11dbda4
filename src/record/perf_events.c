/* One event does everything: a clock of the processor that ticks only while the watched threads
 * run, with the records about mappings, names, forks and context switches beside its samples. It
 * needs no hardware counter, so that it works in virtual machines too.
 *
 * Without the right to see the kernel's part, the event is asked for the user's part only. */
#ifdef __linux__
#include "record/perf_ring.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/perf_unwind.h"

enum {
    RING_BYTES = 2 << 20,        /* a tenth of a second of many context switches */
    RING_BYTES_MANY = 512 << 10, /* what perf_event_mlock_kb allows everyone by default */
    RINGS_BYTES_MAX = 128 << 20, /* together, where there are many processors */
    RING_BYTES_MIN = 32 << 10,
    STACK_BYTES =
        16 << 10,         /* of a training loop: some thirty functions of Python, one in another */
    FORMAT_LOST = 1 << 4, /* PERF_FORMAT_LOST, which older headers do not have */
};

static int open_event(const struct perf_event_attr *attributes, pid_t target, int processor) {
    return (int)syscall(SYS_perf_event_open, attributes, target, processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr describe(const struct perf_options *options, bool user_only,
                                       bool counts_lost) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = options->rate ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY,
        .sample_period = options->rate ? 1000000000u / options->rate : 0,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .read_format = counts_lost ? FORMAT_LOST : 0,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = user_only,
        .exclude_hv = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .context_switch = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES_MIN,
    };
    if (options->rate) {
        attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
        attributes.exclude_callchain_kernel = user_only;
    }
    if (options->rate && options->stacks == PERF_TABLES) {
        attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attributes.exclude_callchain_user = 1;
        attributes.sample_regs_user = perf_unwind_registers();
        attributes.sample_stack_user = STACK_BYTES;
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

/* Maps the ring, smaller and smaller until it is within what this user may lock. */
static bool map_ring(struct perf_ring *ring, size_t bytes, struct status *status) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; bytes >= RING_BYTES_MIN && bytes >= page; bytes /= 2) {
        void *map = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (map != MAP_FAILED) {
            ring->page = map;
            ring->bytes = bytes;
            return true;
        }
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

/* Finds out what is allowed and known here, with an event that is closed again. */
static bool find_rights(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                        struct status *status) {
    for (unsigned way = 0; way < 4; way++) {
        rings->user_only = way & 1;
        rings->counts_lost = !(way & 2);
        struct perf_event_attr attributes = describe(options, rings->user_only, rings->counts_lost);
        int fd = open_event(&attributes, target, 0);
        if (fd >= 0) {
            close(fd);
            return true;
        }
    }
    return explain_refusal(status);
}

static size_t ring_bytes(long processors) {
    size_t bytes = RING_BYTES;
    while (bytes > RING_BYTES_MANY && bytes * (size_t)processors > RINGS_BYTES_MAX)
        bytes /= 2;
    return bytes;
}

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status) {
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    rings->items =
        memory_allocate((size_t)(processors > 0 ? processors : 1), sizeof *rings->items, status);
    if (!rings->items || !find_rights(rings, target, options, status))
        return false;
    struct perf_event_attr attributes = describe(options, rings->user_only, rings->counts_lost);
    for (int processor = 0; processor < processors; processor++) {
        struct perf_ring *ring = &rings->items[rings->count];
        ring->processor = (unsigned)processor;
        ring->fd = open_event(&attributes, target, processor);
        if (ring->fd < 0 && errno == ENODEV)
            continue; /* switched off */
        if (ring->fd < 0)
            return explain_refusal(status);
        rings->count++;
        if (!map_ring(ring, ring_bytes(processors), status))
            return false;
    }
    return true;
}

uint64_t perf_rings_lost(const struct perf_rings *rings) {
    uint64_t unsaid = 0;
    for (size_t i = 0; i < rings->count && rings->counts_lost; i++) {
        uint64_t values[2]; /* the count, and how many records were lost */
        if (read(rings->items[i].fd, values, sizeof values) == sizeof values &&
            values[1] > rings->items[i].lost)
            unsaid += values[1] - rings->items[i].lost;
    }
    return unsaid;
}

void perf_rings_close(struct perf_rings *rings) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < rings->count; i++) {
        if (rings->items[i].page)
            munmap(rings->items[i].page, page + rings->items[i].bytes);
        close(rings->items[i].fd);
    }
    memory_free(rings->items);
    *rings = (struct perf_rings){0};
}
#endif
