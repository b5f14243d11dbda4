/* The thread sleeps most of the time. What it has copied is bounded: when nobody takes it the rings
 * overflow, which the kernel counts. */
#ifdef __linux__
#include "record/perf_reader.h"

#include <signal.h>
#include <time.h>

enum { PAUSE_MS = 50, PAUSE_MS_FIRST = 10, PAUSE_MS_MIN = 2 };
#define COPIED_BYTES_MAX ((size_t)256 << 20)

/* Rings that fill quickly are emptied more often. */
static void adapt_pause(struct perf_reader *reader, double fullness) {
    if (fullness > 0.3 && reader->pause > PAUSE_MS_MIN)
        reader->pause /= 2;
    else if (fullness < 0.1 && reader->pause < PAUSE_MS)
        reader->pause *= 2;
    if (reader->pause < PAUSE_MS_MIN)
        reader->pause = PAUSE_MS_MIN;
    if (reader->pause > PAUSE_MS)
        reader->pause = PAUSE_MS;
}

/* With the lock. */
static void copy_rings(struct perf_reader *reader) {
    struct status status;
    double fullness = 0;
    if (reader->copied.bytes.length > COPIED_BYTES_MAX)
        return;
    for (size_t i = 0; i < reader->rings->count && !reader->failed; i++)
        reader->failed = !perf_batch_take(&reader->copied, &reader->rings->items[i],
                                          &reader->damaged, &fullness, &status);
    adapt_pause(reader, fullness);
}

static void *read_rings(void *context) {
    struct perf_reader *reader = context;
    pthread_mutex_lock(&reader->lock);
    while (!reader->stop) {
        struct timespec until;
        copy_rings(reader);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)reader->pause * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&reader->wake, &reader->lock, &until);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    *reader = (struct perf_reader){.rings = rings, .pause = PAUSE_MS_FIRST};
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
                      struct status *status) {
    if (!reader->rings)
        return true;
    bool ok = true;
    pthread_mutex_lock(&reader->lock);
    for (unsigned i = 0; i < 2 && ok; i++) { /* what was copied, and then what is in the rings */
        ok = perf_batch_append(batch, &reader->copied, status);
        perf_batch_clear(&reader->copied);
        if (i == 0)
            copy_rings(reader);
    }
    if (ok && reader->failed)
        ok = status_fail(status, STATUS_MEMORY, "out of memory");
    *damaged += reader->damaged;
    reader->damaged = 0;
    pthread_mutex_unlock(&reader->lock);
    return ok;
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
    if (reader->rings) {
        pthread_mutex_destroy(&reader->lock);
        pthread_cond_destroy(&reader->wake);
    }
    reader->rings = NULL;
}
#endif
