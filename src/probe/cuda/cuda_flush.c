/* Flushes CUPTI's buffers. By itself CUPTI delivers only full buffers: a program with few kernels
 * would fill none, and lose all records when it is killed.
 *
 * A thread flushes completed buffers ten times a second, while records are outstanding and the
 * recorder reads them. exit() flushes everything; afterwards CUPTI is not called again, because the
 * driver shuts down. A child of fork() has neither this thread nor CUPTI's, and must not wait for
 * their locks. While another profiler uses CUPTI nothing is flushed.
 */
#include "probe/cuda/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_INTERVAL_NS = 100000000, LOCK_POLL_NS = 1000000, LOCK_POLLS = 2000 };

static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static bool finished; /* protected by flush_lock */
static pid_t owner;

static void sleep_ns(long nanoseconds) {
    struct timespec pause = {.tv_nsec = nanoseconds};
    nanosleep(&pause, NULL);
}

static bool acquire_flush_lock(void) {
    for (unsigned i = 0; i < LOCK_POLLS; i++) {
        if (pthread_mutex_trylock(&flush_lock) == 0)
            return true;
        sleep_ns(LOCK_POLL_NS);
    }
    return false; /* a flush hangs */
}

bool cuda_lock(void) {
    if (getpid() != owner || !acquire_flush_lock())
        return false;
    if (!finished)
        return true;
    pthread_mutex_unlock(&flush_lock);
    return false;
}

void cuda_unlock(void) {
    pthread_mutex_unlock(&flush_lock);
}

static void flush_complete(void) {
    if (cuda_is_subscribed() && cuda_last_launch() != cuda_last_record())
        cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_COMPLETE);
}

static _Atomic uint32_t starts;

static void *flush_periodically(void *nothing) {
    uint32_t start = atomic_load(&starts);
    bool go_on = true;
    (void)nothing;
    probe_name_thread();
    while (go_on) {
        sleep_ns(FLUSH_INTERVAL_NS);
        pthread_mutex_lock(&flush_lock);
        go_on = !finished && atomic_load(&cuda_probe.is_started) && start == atomic_load(&starts);
        if (go_on)
            flush_complete();
        if (go_on && spool_is_stopped(cuda_probe.probe->spool)) {
            if (cuda_is_subscribed())
                cuda_unsubscribe();
            atomic_store(&cuda_probe.is_started, false);
            go_on = false;
        }
        if (go_on) {
            cupti_conflict_poll();
            cuda_graphs_poll();
        }
        pthread_mutex_unlock(&flush_lock);
    }
    return NULL;
}

/* At exit(), on any thread, while other threads may still run. */
static void flush_at_exit(void) {
    int error = errno;
    if (!cuda_lock())
        return;
    finished = true;
    bool flushed = !cuda_is_subscribed() ||
                   cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL) == CUPTI_SUCCEEDED;
    cuda_unlock();
    cuda_records_finish(flushed);
    errno = error;
}

void cuda_flush_start(void) {
    if (atomic_fetch_add(&starts, 1) == 0) {
        owner = getpid();
        atexit(flush_at_exit);
    }
    probe_start_thread(flush_periodically);
}
