/* When do records leave CUPTI? By itself it hands over full buffers only; a program of few kernels
 * would fill none, and lose all when it is killed.
 *
 * A thread of ours asks ten times a second for the buffers in which everything has happened, while
 * there is anything to come and somebody reads it. At exit() everything is asked for, and then
 * nothing ever again: the driver is about to leave. A child of fork() has neither the thread nor
 * CUPTI's, and must not wait for their locks. While another profiler has CUPTI nothing is asked.
 */
#include "probe/cuda/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 100000000, TURN_NS = 1000000, TURNS = 2000 };

static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static bool over; /* under the lock */
static pid_t owner;

static void pause_for(long nanoseconds) {
    struct timespec pause = {.tv_nsec = nanoseconds};
    nanosleep(&pause, NULL);
}

static bool take_turn(void) {
    for (unsigned i = 0; i < TURNS; i++) {
        if (pthread_mutex_trylock(&flushing) == 0)
            return true;
        pause_for(TURN_NS);
    }
    return false; /* a flush does not end */
}

bool cuda_lock(void) {
    if (getpid() != owner || !take_turn())
        return false;
    if (!over)
        return true;
    pthread_mutex_unlock(&flushing);
    return false;
}

void cuda_unlock(void) {
    pthread_mutex_unlock(&flushing);
}

static void flush_complete(void) {
    if (cuda_is_listening() && cuda_last_launch() != cuda_last_record())
        cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_COMPLETE);
}

static void *flush_now_and_then(void *nothing) {
    bool go_on = true;
    (void)nothing;
    while (go_on) {
        pause_for(PERIOD_NS);
        pthread_mutex_lock(&flushing);
        go_on = !over;
        if (go_on)
            flush_complete();
        if (go_on && spool_is_stopped(cuda_probe.probe->spool)) {
            if (cuda_is_listening())
                cuda_unsubscribe();
            go_on = false;
        }
        if (go_on)
            cuda_rivals_look();
        pthread_mutex_unlock(&flushing);
    }
    return NULL;
}

/* At exit(), which may be called from any thread while others go on. */
static void finish(void) {
    int error = errno;
    if (!cuda_lock())
        return;
    over = true;
    if (cuda_is_listening())
        cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
    cuda_unlock();
    cuda_records_end();
    errno = error;
}

/* Without a signal to handle: those are the program's. */
static void start_thread(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, &attributes, flush_now_and_then, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void cuda_flush_start(void) {
    owner = getpid();
    atexit(finish);
    start_thread();
}
