/* Kernels follow each other within microseconds, and waking a parked thread takes as long as
 * many kernels. An idle worker therefore spins for a short time before it parks, unless there
 * are more threads than cores: spinning would then take a core from a worker with work.
 *
 * A run is started along a binary tree: thread t wakes 2t + 1 and 2t + 2. Each worker has its
 * own generation counter, so a run of few threads does not disturb the others. A worker joins a
 * run before it works; when the caller finds no work left it closes the run and waits only for
 * those that have joined, so a worker that wakes late costs nothing. At a barrier all must have
 * joined.
 */
#include "device/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum {
    CACHE_LINE = 64,
    PARK_NS = 20000,      /* of spinning for work, then a thread parks */
    YIELD_NS = 3000,      /* of spinning for the other threads, then yield the core */
    SPINS_PER_CLOCK = 16, /* looks between two readings of the clock */
};

struct worker {
    _Alignas(CACHE_LINE) _Atomic uint64_t generation; /* number of the last run it takes part in */
    _Atomic bool parked;
    pthread_mutex_t lock; /* of parking */
    pthread_cond_t wake;
    pthread_t thread;
    struct thread_pool *pool;
    unsigned number;
    void *scratch;
};

struct thread_pool {
    _Alignas(CACHE_LINE) _Atomic size_t next; /* unit */
    _Alignas(CACHE_LINE) _Atomic unsigned arrived;
    _Alignas(CACHE_LINE) _Atomic unsigned phase; /* of the barrier: how often it opened */
    _Alignas(
        CACHE_LINE) _Atomic uint64_t state; /* number of the run, CLOSED, threads that joined */
    _Alignas(CACHE_LINE) _Atomic unsigned finished; /* of those that joined */

    _Alignas(CACHE_LINE) native_function *function; /* of this run */
    struct native_call call;
    uint64_t run;
    bool closing;

    unsigned threads;
    bool spins;
    unsigned forks; /* of this process when the threads were made */
    size_t scratch_bytes;
    struct worker workers[]; /* by thread; the caller's, 0, has scratch only */
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* In a forked process the threads are not there. */
static _Atomic unsigned forks;

static void count_fork(void) {
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

static bool threads_exist(const struct thread_pool *pool) {
    return pool->forks == atomic_load_explicit(&forks, memory_order_relaxed);
}

static bool spin_for_run(const struct worker *worker, uint64_t seen) {
    int64_t end = clock_now() + PARK_NS;
    do {
        for (int i = 0; i < SPINS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&worker->generation, memory_order_acquire) != seen)
                return true;
            relax();
        }
    } while (clock_now() < end);
    return false;
}

/* park() sets `parked` before it reads `generation`, and wake_worker() does the opposite, so one
 * of them always sees the other's store. These are exchanges because emulators of arm64 let a
 * plain store pass a later load. */
static void park(struct worker *worker, uint64_t seen) {
    pthread_mutex_lock(&worker->lock);
    atomic_exchange(&worker->parked, true);
    while (atomic_load(&worker->generation) == seen)
        pthread_cond_wait(&worker->wake, &worker->lock);
    atomic_store(&worker->parked, false);
    pthread_mutex_unlock(&worker->lock);
}

static void wake_worker(struct worker *worker, uint64_t run) {
    atomic_exchange(&worker->generation, run);
    if (!atomic_load(&worker->parked))
        return;
    pthread_mutex_lock(&worker->lock);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

static void wake_next(struct thread_pool *pool, unsigned thread, unsigned threads, uint64_t run) {
    for (unsigned next = 2 * thread + 1; next <= 2 * thread + 2 && next < threads; next++)
        wake_worker(&pool->workers[next], run);
}

/* Of thread_pool.state. */
enum { JOINED = 0xffff, CLOSED = 0x10000, RUN_SHIFT = 17 };

static bool join_run(struct thread_pool *pool, uint64_t run) {
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_acquire);
    do {
        if (state >> RUN_SHIFT != run || (state & CLOSED))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1,
                                                    memory_order_acq_rel, memory_order_acquire));
    return true;
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct thread_pool *pool = worker->pool;
    for (uint64_t seen = 0;;) {
        if (!pool->spins || !spin_for_run(worker, seen))
            park(worker, seen);
        seen = atomic_load_explicit(&worker->generation, memory_order_acquire);
        if (pool->closing)
            return NULL;
        if (!join_run(pool, seen))
            continue;
        struct native_call call = pool->call;
        wake_next(pool, worker->number, call.threads, seen);
        call.thread = worker->number;
        call.scratch = worker->scratch;
        pool->function(&call);
        atomic_fetch_add_explicit(&pool->finished, 1, memory_order_release);
    }
}

/* Waits until *value is (or is no longer) `other`. The other thread is usually running and the
 * wait is short; if it lost its core, yielding ours helps. */
static void wait_while(const struct thread_pool *pool, const _Atomic unsigned *value,
                       unsigned other, bool equal) {
    int64_t end = pool->spins ? 0 : -1; /* of spinning; 0: not set yet */
    for (unsigned looks = 1; (atomic_load_explicit(value, memory_order_acquire) == other) == equal;
         looks++) {
        if (end < 0) {
            sched_yield();
            continue;
        }
        relax();
        if (looks % SPINS_PER_CLOCK != 0)
            continue;
        int64_t time = clock_now();
        if (end == 0)
            end = time + YIELD_NS;
        else if (time > end)
            end = -1;
    }
}

void thread_pool_run(struct thread_pool *pool, native_function *function,
                     const struct native_call *work) {
    struct native_call call = *work;
    unsigned threads = threads_exist(pool) ? pool->threads : 1;
    call.thread = 0;
    call.threads = call.units < threads ? (unsigned)call.units : threads;
    call.scratch = pool->workers[0].scratch;
    call.pool = pool;
    if (call.threads == 0)
        return;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    if (call.threads > 1) {
        pool->function = function;
        pool->call = call;
        atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
        atomic_store_explicit(&pool->state, ++pool->run << RUN_SHIFT, memory_order_release);
        wake_next(pool, 0, call.threads, pool->run);
    }
    function(&call);
    if (call.threads > 1) {
        uint64_t state = atomic_fetch_or_explicit(&pool->state, CLOSED, memory_order_acq_rel);
        wait_while(pool, &pool->finished, (unsigned)(state & JOINED), false);
    }
}

bool native_take(const struct native_call *call, size_t chunk, size_t *begin, size_t *end) {
    _Atomic size_t *next = &call->pool->next;
    size_t units = call->units, at;
    if (chunk == 0 || chunk > units)
        chunk = chunk == 0 ? 1 : units;
    if (call->threads == 1) { /* a single thread needs no locked instruction */
        at = atomic_load_explicit(next, memory_order_relaxed);
        if (at >= units)
            return false;
        atomic_store_explicit(next, at + chunk, memory_order_relaxed);
    } else {
        at = atomic_fetch_add_explicit(next, chunk, memory_order_relaxed);
        if (at >= units)
            return false;
    }
    *begin = at;
    *end = units - at < chunk ? units : at + chunk;
    return true;
}

void native_barrier(const struct native_call *call) {
    struct thread_pool *pool = call->pool;
    if (call->threads == 1) {
        atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
        return;
    }
    unsigned phase = atomic_load_explicit(&pool->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 < call->threads) {
        wait_while(pool, &pool->phase, phase, true);
        return;
    }
    atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->phase, phase + 1, memory_order_release);
}

static bool start_worker(struct thread_pool *pool, unsigned number) {
    struct worker *worker = &pool->workers[number];
    worker->pool = pool;
    worker->number = number;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    if (pthread_create(&worker->thread, NULL, worker_main, worker) == 0)
        return true;
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    return false;
}

struct thread_pool *thread_pool_create(unsigned threads, unsigned cores, struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t bytes = sizeof(struct thread_pool) + threads * sizeof(struct worker);
    struct thread_pool *pool = memory_allocate_aligned(bytes, CACHE_LINE, status);
    if (!pool)
        return NULL;
    pthread_once(&once, watch_forks);
    memset(pool, 0, bytes);
    pool->forks = atomic_load(&forks);
    pool->spins = threads <= cores;
    /* Signals are handled by the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool->threads = 1;
    while (pool->threads < threads && start_worker(pool, pool->threads))
        pool->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool;
}

void thread_pool_destroy(struct thread_pool *pool) {
    if (!pool)
        return;
    pool->closing = true;
    pool->run++;
    for (unsigned i = 1; i < pool->threads && threads_exist(pool); i++) {
        struct worker *worker = &pool->workers[i];
        wake_worker(worker, pool->run);
        pthread_join(worker->thread, NULL);
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->lock);
    }
    for (unsigned i = 0; i < pool->threads; i++)
        memory_free(pool->workers[i].scratch);
    memory_free(pool);
}

unsigned thread_pool_threads(const struct thread_pool *pool) {
    return pool->threads;
}

bool thread_pool_reserve_scratch(struct thread_pool *pool, size_t bytes, struct status *status) {
    if (bytes <= pool->scratch_bytes)
        return true;
    for (unsigned i = 0; i < pool->threads; i++) {
        void *scratch = memory_allocate_aligned(bytes, CACHE_LINE, status);
        if (!scratch)
            return false; /* some have already grown, which is harmless */
        memory_free(pool->workers[i].scratch);
        pool->workers[i].scratch = scratch;
    }
    pool->scratch_bytes = bytes;
    return true;
}
