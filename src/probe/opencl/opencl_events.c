/* Reads the times of completed commands.
 *
 * A command waits in a list with a reference to its event until it has completed. Drivers serialize
 * their calls, so a second thread that reads events while the program enqueues delays every call of
 * both. Therefore the program's own thread reads them: after it has waited for the device, when
 * there are enough of them, and now and then when very many wait. A thread of the probe reads them
 * while the program enqueues nothing or little. Events of an in-order queue complete in order, so
 * the first that has not completed ends the search. At exit() the rest is read; afterwards the
 * driver is not called again.
 *
 * The program may add commands at any time (incoming_lock, held for a few instructions); reading is
 * serialized by `lock`. A child of fork() has no reader until it creates a queue of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/opencl/opencl.h"
#include "spool/lock.h"
#include "spool/pages.h"

enum {
    INTERVAL_NS = 20000000,   /* between two looks of the reader */
    QUIET_NS = 20000000,      /* without a command, after which the reader reads */
    OVERDUE_NS = 200000000,   /* after which it reads in any case */
    SYNC_COMMANDS = 64,       /* waiting commands that are read after a synchronization */
    HELP_COMMANDS = 8192,     /* that make the enqueueing thread read */
    COMMANDS_MAX = 1 << 20,   /* later ones are not timed */
    BUCKETS = 64,             /* lists of waiting commands, by queue */
    QUEUED_FIRST = 512,       /* commands whose queueing time is read, */
    QUEUED_INTERVAL = 16,     /* and of the later ones, one of these */
    ALLOCATED_TOGETHER = 512, /* commands */
    QUEUE_ENDS = 1024,        /* in-order queues at a time whose commands cannot overlap */
    LOCK_POLL_NS = 1000000,
    LOCK_POLLS = 2000,
};

#define NO_OWNER (-1)

/* ---- Waiting commands -------------------------------------------------------------------- */

struct command_list {
    struct opencl_command *first, *last;
};

static void append(struct command_list *list, struct opencl_command *command) {
    command->next = NULL;
    if (list->last)
        list->last->next = command;
    else
        list->first = command;
    list->last = command;
}

static _Atomic uint32_t incoming_lock;
static struct command_list incoming; /* with incoming_lock, as is the next */
static struct opencl_command *unused;
static _Atomic uint32_t waiting; /* commands in all lists */
static _Atomic uint64_t untimed[OPENCL_UNTIMED_REASONS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Everything below is protected by the lock. */
static struct bucket {
    struct command_list list;
    uint32_t stream; /* of its first command since it was empty */
    bool mixed;      /* has commands of several queues */
} buckets[BUCKETS];
static struct spool_lane *lane;
static struct queue_end {
    uint32_t stream;
    int64_t device_time, time; /* the same moment */
} queue_ends[QUEUE_ENDS];      /* of the last command, by stream */
static uint32_t reads;         /* commands read so far */
static int64_t last_collected; /* time */
static bool finished;

static _Atomic int64_t last_command; /* when the program enqueued its last command */
static _Atomic int64_t owner;        /* the process that has a reader; NO_OWNER in its children */
static _Atomic uint32_t start_lock;  /* see opencl_events_start() */

void opencl_count_untimed(enum opencl_untimed reason) {
    atomic_fetch_add_explicit(&untimed[reason], 1, memory_order_relaxed);
}

/* With incoming_lock. */
static struct opencl_command *take_unused(void) {
    if (!unused) {
        struct opencl_command *many = pages_allocate(ALLOCATED_TOGETHER * sizeof *many);
        for (unsigned i = 0; many && i < ALLOCATED_TOGETHER; i++) {
            many[i].next = unused;
            unused = &many[i];
        }
    }
    struct opencl_command *command = unused;
    if (command)
        unused = command->next;
    return command;
}

static void release_event(cl_event event) {
    cl_int (*release)(cl_event) =
        (__typeof__(release))(uintptr_t)opencl_next[OPENCL_AT_clReleaseEvent];
    release(event);
}

bool opencl_await(const struct opencl_command *command) {
    struct opencl_command *kept = NULL;
    if (atomic_load_explicit(&owner, memory_order_relaxed) <= 0)
        return false;
    uint32_t count = atomic_fetch_add(&waiting, 1) + 1;
    if (count <= COMMANDS_MAX && lock_acquire(&incoming_lock)) {
        kept = take_unused();
        if (kept) {
            *kept = *command;
            append(&incoming, kept);
        }
        lock_release(&incoming_lock);
    }
    if (!kept) {
        atomic_fetch_sub(&waiting, 1);
        return false;
    }
    atomic_store_explicit(&last_command, command->call_end, memory_order_relaxed);
    if (count % HELP_COMMANDS == 0)
        opencl_events_synchronized();
    return true;
}

static void add_to_bucket(struct bucket *bucket, struct opencl_command *command) {
    uint32_t stream = command->queue.stream;
    if (!bucket->list.first) {
        bucket->stream = stream;
        bucket->mixed = false;
    }
    bucket->mixed |= stream != bucket->stream;
    append(&bucket->list, command);
}

static void take_incoming(void) {
    if (!lock_acquire(&incoming_lock))
        return;
    struct opencl_command *command = incoming.first;
    incoming = (struct command_list){0};
    lock_release(&incoming_lock);
    while (command) {
        struct opencl_command *next = command->next;
        add_to_bucket(&buckets[command->queue.stream % BUCKETS], command);
        command = next;
    }
}

/* ---- Times ------------------------------------------------------------------------------- */

static bool read_time(cl_event event, cl_uint what, int64_t *time) {
    cl_int (*query)(cl_event, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetEventProfilingInfo];
    cl_ulong value = 0;
    if (query(event, what, sizeof value, &value, NULL) != CL_SUCCESS || value == 0 ||
        value > INT64_MAX / 2)
        return false;
    *time = (int64_t)value;
    return true;
}

/* False: the driver has no times, or impossible ones. */
static bool read_times(struct opencl_command *command) {
    if (!read_time(command->event, CL_PROFILING_COMMAND_END, &command->end) ||
        !read_time(command->event, CL_PROFILING_COMMAND_START, &command->start) ||
        command->end < command->start)
        return false;
    command->queued = 0;
    bool calibrates = reads < QUEUED_FIRST || reads % QUEUED_INTERVAL == 0;
    reads++;
    if (calibrates && (!read_time(command->event, CL_PROFILING_COMMAND_QUEUED, &command->queued) ||
                       command->queued > command->start))
        command->queued = 0;
    return true;
}

static void free_commands(struct command_list *list, uint32_t count) {
    if (!list->first || !lock_acquire(&incoming_lock))
        return;
    list->last->next = unused;
    unused = list->first;
    lock_release(&incoming_lock);
    atomic_fetch_sub(&waiting, count);
    *list = (struct command_list){0};
}

/* CL_COMPLETE, an error, or positive when it has not completed. */
static cl_int event_status(cl_event event) {
    cl_int status = 1;
    cl_int result =
        opencl_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status);
    return result == CL_SUCCESS ? status : -1;
}

/* Times are available once a command has completed; only without them its status is queried. */
enum outcome { TIMED, UNTIMED, PENDING };
static enum outcome read_command(struct opencl_command *command) {
    bool timed = read_times(command);
    cl_int status = timed ? CL_COMPLETE : event_status(command->event);
    if (status == CL_COMPLETE && !timed) /* it may have completed in between */
        timed = read_times(command);
    if (status > 0)
        return PENDING;
    command->seen = clock_now();
    if (!timed)
        opencl_count_untimed(status < 0 ? OPENCL_UNTIMED_FAILED : OPENCL_UNTIMED_EVENT);
    release_event(command->event);
    return timed ? TIMED : UNTIMED;
}

/* Moves completed commands with times to `read`, and others to `failed`. Returns their number. */
static uint32_t read_bucket(struct bucket *bucket, struct command_list *read,
                            struct command_list *failed, uint32_t limit) {
    struct command_list kept = {0}, *list = &bucket->list;
    struct opencl_command *command = list->first, *next;
    uint32_t blocked = 0, taken = 0; /* blocked: an in-order queue whose first is not complete */
    for (; command && taken < limit; command = next) {
        enum outcome outcome = command->queue.stream == blocked ? PENDING : read_command(command);
        next = command->next;
        if (outcome != PENDING) {
            append(outcome == TIMED ? read : failed, command);
            taken++;
            continue;
        }
        if (!command->queue.out_of_order)
            blocked = command->queue.stream;
        append(&kept, command);
        if (blocked && !bucket->mixed) {
            command = next;
            break;
        }
    }
    if (!command)
        list->last = kept.last;
    if (kept.last)
        kept.last->next = command;
    list->first = kept.first ? kept.first : command;
    return taken;
}

/* ---- Records ----------------------------------------------------------------------------- */

/* The lane belongs to no thread in particular; it uses the main thread's tid. */
static bool take_lane(void) {
    if (lane)
        return true;
    lane = spool_lane_open(opencl_probe->spool);
    struct spool_thread *thread = spool_begin(lane, SPOOL_THREAD, 0, sizeof *thread);
    if (!thread)
        return lane != NULL;
    thread->tid = getpid();
    spool_publish(lane);
    return true;
}

static void put_clock_error(struct opencl_clock *clock, int64_t error) {
    if (error <= clock->reported)
        return;
    struct spool_clock *record = spool_begin(lane, SPOOL_CLOCK, 0, sizeof *record);
    if (!record)
        return;
    clock->reported = error;
    record->time = clock_now();
    record->error_ns = error;
    spool_publish(lane);
}

static void put_kernel(const struct opencl_command *command, int64_t start, int64_t end) {
    uint32_t name = command->name ? spool_text(lane, text_of(command->name)) : 0;
    struct spool_kernel *kernel = spool_begin(lane, SPOOL_KERNEL, name, sizeof *kernel);
    if (!kernel)
        return;
    *kernel = (struct spool_kernel){
        .head = kernel->head,
        .start = start,
        .end = end,
        .correlation = command->correlation,
        .device = command->queue.device->description.index,
        .stream = command->queue.stream,
        .graph = command->graph,
    };
    memcpy(kernel->grid, command->grid, sizeof kernel->grid);
    memcpy(kernel->block, command->block, sizeof kernel->block);
    spool_publish(lane);
}

static void put_copy(const struct opencl_command *command, int64_t start, int64_t end) {
    uint32_t name = command->name ? spool_text(lane, text_of(command->name)) : 0;
    struct spool_copy *copy = spool_begin(lane, SPOOL_COPY, name, sizeof *copy);
    if (!copy)
        return;
    *copy = (struct spool_copy){
        .head = copy->head,
        .start = start,
        .end = end,
        .bytes = command->bytes,
        .correlation = command->correlation,
        .device = command->queue.device->description.index,
        .stream = command->queue.stream,
        .is_set = command->kind == OPENCL_FILL,
        .direction = command->direction,
        .from_memory = command->from_memory,
        .to_memory = command->to_memory,
    };
    spool_publish(lane);
}

/* Commands have bounds of their own, so their times differ by the error of the clocks. A command
 * that started after the one before it in an in-order queue is not moved before its end. */
static int64_t start_time(const struct opencl_command *command) {
    struct queue_end *last = &queue_ends[command->queue.stream % QUEUE_ENDS];
    int64_t start = opencl_time_convert(&command->bounds, command->start);
    if (command->queue.out_of_order)
        return start;
    if (last->stream == command->queue.stream && command->start >= last->device_time &&
        start < last->time)
        start = last->time;
    *last = (struct queue_end){command->queue.stream, command->end,
                               start + command->end - command->start};
    return start;
}

static void put_commands(struct opencl_command *commands) {
    opencl_time_learn(commands);
    for (; commands; commands = commands->next) {
        struct opencl_device *device = commands->queue.device;
        if (!device->announced)
            device->announced = opencl_announce(lane, device);
        put_clock_error(&device->clock, opencl_time_error(&commands->bounds));
        int64_t start = start_time(commands), end = start + commands->end - commands->start;
        if (commands->kind == OPENCL_KERNEL)
            put_kernel(commands, start, end);
        else
            put_copy(commands, start, end);
    }
}

/* What cannot be timed is stated with its number. */
static void put_untimed(void) {
    static const char *const why[OPENCL_UNTIMED_REASONS] = {
        [OPENCL_UNTIMED_QUEUE] = "the OpenCL driver refuses profiling on a queue: its commands "
                                 "have no times",
        [OPENCL_UNTIMED_EVENT] = "the OpenCL driver has no times for some commands",
        [OPENCL_UNTIMED_FAILED] = "OpenCL commands failed on the device: they have no times",
        [OPENCL_UNTIMED_FULL] = "more than a million OpenCL commands were queued at a time: some "
                                "have no times",
        [OPENCL_UNTIMED_EXIT] = "the program ended while OpenCL commands were queued",
    };
    for (unsigned i = 0; i < OPENCL_UNTIMED_REASONS; i++) {
        uint64_t count = atomic_exchange(&untimed[i], 0);
        uint32_t text = count ? spool_constant(lane, why[i]) : 0;
        struct spool_dropped *dropped =
            count ? spool_begin(lane, SPOOL_DROPPED, text, sizeof *dropped) : NULL;
        if (!dropped)
            continue;
        dropped->count = count;
        spool_publish(lane);
    }
}

/* ---- Reading ----------------------------------------------------------------------------- */

static void read_timers(void) {
    const struct opencl_device *read[OPENCL_DEVICES] = {0};
    for (unsigned i = 0; i < BUCKETS; i++) {
        const struct opencl_command *first = buckets[i].list.first;
        struct opencl_device *device = first ? first->queue.device : NULL;
        if (!device || read[device->description.index - SPOOL_DEVICES_OPENCL])
            continue;
        read[device->description.index - SPOOL_DEVICES_OPENCL] = device;
        opencl_time_read_timer(device);
    }
}

/* With the lock. */
static void collect(void) {
    last_collected = clock_now();
    take_incoming();
    read_timers();
    for (unsigned i = 0; i < BUCKETS; i++) {
        uint32_t taken = OPENCL_BATCH;
        while (buckets[i].list.first && taken == OPENCL_BATCH) {
            struct command_list read = {0}, failed = {0};
            taken = read_bucket(&buckets[i], &read, &failed, OPENCL_BATCH);
            if (read.first && take_lane())
                put_commands(read.first);
            else if (read.first)
                spool_drop(opencl_probe->spool, taken);
            if (read.first)
                read.last->next = failed.first;
            if (failed.first)
                read = (struct command_list){read.first ? read.first : failed.first, failed.last};
            free_commands(&read, taken);
        }
    }
    if (take_lane())
        put_untimed();
}

static void sleep_ns(long nanoseconds) {
    struct timespec pause = {.tv_nsec = nanoseconds};
    nanosleep(&pause, NULL);
}

/* False in a child of fork(), after exit(), or when another thread reads all the time. */
static bool acquire(unsigned polls) {
    if (atomic_load(&owner) != getpid())
        return false;
    for (unsigned i = 0; i < polls; i++) {
        if (i > 0)
            sleep_ns(LOCK_POLL_NS);
        if (pthread_mutex_trylock(&lock) == 0) {
            if (!finished)
                return true;
            pthread_mutex_unlock(&lock);
            return false;
        }
    }
    return false;
}

static void collect_with(unsigned polls) {
    int error = errno;
    if (atomic_load_explicit(&waiting, memory_order_relaxed) > 0 && acquire(polls)) {
        collect();
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

void opencl_events_collect(void) {
    collect_with(LOCK_POLLS);
}

void opencl_events_synchronized(void) {
    if (atomic_load_explicit(&waiting, memory_order_relaxed) >= SYNC_COMMANDS)
        collect_with(1);
}

static void collect_measured(void) {
    int64_t before = clock_read(CLOCK_THREAD_CPUTIME_ID);
    collect();
    cost_add_ns(clock_read(CLOCK_THREAD_CPUTIME_ID) - before);
}

/* The program enqueues nothing, or so little that nothing was read for a while. */
static bool should_read(void) {
    int64_t now = clock_now();
    return now - atomic_load_explicit(&last_command, memory_order_relaxed) > QUIET_NS ||
           now - last_collected > OVERDUE_NS;
}

static void *read_periodically(void *nothing) {
    bool go_on = true;
    (void)nothing;
    while (go_on) {
        sleep_ns(INTERVAL_NS);
        pthread_mutex_lock(&lock);
        go_on = !finished;
        if (go_on && atomic_load(&waiting) > 0 && should_read())
            collect_measured();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* At exit(), on any thread, while other threads may still run. */
static void read_at_exit(void) {
    int error = errno;
    if (acquire(LOCK_POLLS)) {
        collect();
        finished = true;
        uint32_t left = atomic_load(&waiting);
        atomic_fetch_add(&untimed[OPENCL_UNTIMED_EXIT], left);
        if (take_lane())
            put_untimed();
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

static void after_fork_in_child(void) {
    atomic_store(&owner, NO_OWNER);
}

/* In a child of fork(): what the parent's threads held is gone. */
static void reset(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&lock, &fresh, sizeof lock);
    memset(buckets, 0, sizeof buckets);
    memset(queue_ends, 0, sizeof queue_ends);
    incoming = (struct command_list){0};
    unused = NULL;
    lane = NULL;
    atomic_store(&incoming_lock, 0);
    atomic_store(&waiting, 0);
    opencl_devices_reset();
    for (unsigned i = 0; i < OPENCL_UNTIMED_REASONS; i++)
        atomic_store(&untimed[i], 0);
}

/* The exit handler is registered after the drivers are loaded, so it runs before their own. */
void opencl_events_start(void) {
    static _Atomic bool registered;
    int64_t self = getpid(), before = atomic_load(&owner);
    if (before == self || !lock_acquire(&start_lock))
        return;
    if (atomic_load(&owner) == before) {
        if (before)
            reset();
        atomic_store(&owner, self);
        if (!atomic_exchange(&registered, true)) {
            atexit(read_at_exit);
            pthread_atfork(NULL, NULL, after_fork_in_child);
        }
        probe_start_thread(read_periodically);
    }
    lock_release(&start_lock);
}
