/* Threads take the next task from a shared counter. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 3 }; /* more would only use more memory */

struct work {
    parallel_task task;
    void *context;
    size_t count;
    _Atomic size_t next;
    pthread_mutex_t lock; /* protects the following */
    size_t failed;        /* lowest failed task, or count */
    struct status *status;
};

static void *take_tasks(void *argument) {
    struct work *work = argument;
    for (;;) {
        size_t index = atomic_fetch_add(&work->next, 1);
        struct status status = {0};
        if (index >= work->count)
            return NULL;
        if (work->task(work->context, index, &status))
            continue;
        pthread_mutex_lock(&work->lock);
        if (index < work->failed) {
            work->failed = index;
            *work->status = status;
        }
        pthread_mutex_unlock(&work->lock);
    }
}

bool parallel_run(size_t count, parallel_task task, void *context, struct status *status) {
    struct work work = {
        .task = task, .context = context, .count = count, .failed = count, .status = status};
    pthread_t threads[THREADS_MAX];
    size_t started = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_mutex_init(&work.lock, NULL);
    while (started + 1 < count && started + 1 < THREADS_MAX && (long)started + 1 < cores &&
           pthread_create(&threads[started], NULL, take_tasks, &work) == 0)
        started++;
    take_tasks(&work);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&work.lock);
    return work.failed == count;
}
