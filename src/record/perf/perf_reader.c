/* The thread sleeps most of the time. What it has copied is bounded: when nobody takes it the rings
 * overflow, which the kernel counts.
 *
 * The thread competes with the target for the processors. Where hundreds of threads are runnable it
 * may be scheduled late. So it asks for a high priority and for a short time slice, and the lock is
 * never held by the recorder's other thread while that copies records. When the rings still become
 * half full, samples bring less of their stack. */
#ifdef __linux__
#include "record/perf/perf_reader.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PAUSE_MS = 50, PAUSE_MS_FIRST = 10, PAUSE_MS_MIN = 2, BACKLOG_BYTES = 32 << 20 };
#define COPIED_BYTES_MAX ((size_t)256 << 20)
#define CALM_NS 2000000000 /* before a larger stack size is tried again */
#define SLICE_NS 1000000   /* enough to empty the rings */
enum { CALM_DOUBLINGS = 5 };

/* How much of what there is room for is in use. A reader that was scheduled late once may be twice
 * as late the next time, whatever was in the rings then. */
static double pressure_of(const struct perf_load *load, unsigned stack_size) {
    double fill = (double)load->fill_ms * perf_stack_sizes[0] / perf_stack_sizes[stack_size];
    double late = 2 * load->late_ms / fill, backlog = (double)load->backlog / BACKLOG_BYTES;
    double pressure = load->fullness > late ? load->fullness : late;
    return pressure > backlog ? pressure : backlog;
}

/* Without delay a ring fills to a quarter between two reads (pause_max). */
bool perf_stack_choice_update(struct perf_stack_choice *choice, unsigned sizes,
                              const struct perf_load *load, int64_t now) {
    const double high = 0.5, low = 0.3;
    double pressure = pressure_of(load, choice->index);
    unsigned doublings = choice->reductions < CALM_DOUBLINGS ? choice->reductions : CALM_DOUBLINGS;
    if (pressure > high && choice->index + 1 < sizes) {
        choice->index++;
        choice->reductions++;
        choice->calm_since = now;
        return true;
    }
    if (choice->index == 0 ||
        pressure * perf_stack_sizes[choice->index - 1] > low * perf_stack_sizes[choice->index]) {
        choice->calm_since = now;
        return false;
    }
    if (now - choice->calm_since < (int64_t)CALM_NS << doublings)
        return false;
    choice->index--;
    choice->calm_since = now;
    return true;
}

/* Rings that fill quickly are emptied more often. */
static void adapt_pause(struct perf_reader *reader, double fullness) {
    if (fullness > 0.3 && reader->pause > PAUSE_MS_MIN)
        reader->pause /= 2;
    else if (fullness < 0.1 && reader->pause < reader->pause_max)
        reader->pause *= 2;
    if (reader->pause < PAUSE_MS_MIN)
        reader->pause = PAUSE_MS_MIN;
    if (reader->pause > reader->pause_max)
        reader->pause = reader->pause_max;
}

static void adapt_stacks(struct perf_reader *reader, double fullness, int64_t start) {
    int64_t now = clock_now();
    struct perf_load load = {fullness, 0, reader->rings->fill_ms, reader->copied.bytes.length};
    if (reader->due && now > reader->due)
        load.late_ms = (unsigned)((now - reader->due) / 1000000);
    reader->due = 0;
    if (perf_stack_choice_update(&reader->choice, reader->rings->stack_sizes, &load, start))
        perf_rings_set_stack_size(reader->rings, reader->choice.index);
}

/* With the lock. */
static void copy_rings(struct perf_reader *reader) {
    struct status status;
    double fullness = 0;
    if (reader->copied.bytes.length > COPIED_BYTES_MAX)
        return;
    int64_t start = clock_now();
    for (size_t i = 0; i < reader->rings->count && !reader->failed; i++)
        reader->failed = !perf_batch_take(&reader->copied, &reader->rings->items[i],
                                          &reader->damaged, &fullness, &status);
    reader->complete = start;
    adapt_pause(reader, fullness);
    adapt_stacks(reader, fullness, start);
}

/* The calling thread is to run soon after it is woken. A short slice needs no right, and is
 * honoured since Linux 6.12. A refusal changes nothing. */
static void raise_priority(void) {
#ifdef SYS_sched_setattr
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish, .policy = SCHED_OTHER, .nice = -20, .runtime = SLICE_NS};
    if (sched_getscheduler(0) != SCHED_OTHER)
        return; /* the user has chosen another */
    if (syscall(SYS_sched_setattr, 0, &wish, 0) == 0)
        return;
    wish.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &wish, 0);
#endif
}

static void *read_rings(void *context) {
    struct perf_reader *reader = context;
    raise_priority();
    pthread_mutex_lock(&reader->lock);
    while (!reader->stop) {
        copy_rings(reader);
        reader->due = clock_now() + (int64_t)reader->pause * 1000000;
        struct timespec until = {reader->due / 1000000000, reader->due % 1000000000};
        pthread_cond_timedwait(&reader->wake, &reader->lock, &until);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    *reader = (struct perf_reader){.rings = rings, .pause = PAUSE_MS_FIRST, .pause_max = PAUSE_MS};
    if (rings->fill_ms / 4 < PAUSE_MS)
        reader->pause_max = rings->fill_ms / 4 > PAUSE_MS_MIN ? rings->fill_ms / 4 : PAUSE_MS_MIN;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reader->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* signals are for the recorder's first thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
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
        pthread_mutex_destroy(&reader->lock);
        pthread_cond_destroy(&reader->wake);
    }
    reader->rings = NULL;
}
#endif
