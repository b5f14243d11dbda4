/* Kernels come back to back, microseconds apart, and waking a parked thread costs as much as many
 * of them take: so a thread that has nothing to do spins for a short time before it parks. It does
 * not when there are more threads than cores, as it would only keep the others from working.
 *
 * A run is started along a binary tree: thread t asks 2t + 1 and 2t + 2 to join. Each thread has a
 * mailbox of its own, so a run of few threads does not disturb the others.
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
    YIELD_NS = 3000,      /* of spinning for the team, then it offers its core to others */
    SPINS_PER_CLOCK = 16, /* looks between two readings of the clock */
};

struct member {
    _Alignas(CACHE_LINE) _Atomic uint64_t posted; /* number of the last run it was asked to join */
    _Atomic bool parked;
    pthread_mutex_t lock; /* of parking */
    pthread_cond_t wake;
    pthread_t thread;
    struct native_team *team;
    unsigned number;
    void *scratch;
};

struct native_team {
    _Alignas(CACHE_LINE) _Atomic size_t next; /* unit */
    _Alignas(CACHE_LINE) _Atomic unsigned arrived;
    _Alignas(CACHE_LINE) _Atomic unsigned phase; /* of the barrier: how often it opened */
    _Alignas(CACHE_LINE) _Atomic unsigned running;

    _Alignas(CACHE_LINE) native_function *function; /* of this run */
    struct native_call call;
    uint64_t run;
    bool closing;

    unsigned threads;
    bool spins;
    unsigned forks; /* of this process when the threads were made */
    size_t scratch_bytes;
    struct member members[]; /* by thread; the caller's, 0, has scratch only */
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

static bool threads_are_here(const struct native_team *team) {
    return team->forks == atomic_load_explicit(&forks, memory_order_relaxed);
}

static bool spin_for_post(const struct member *member, uint64_t seen) {
    int64_t end = clock_now() + PARK_NS;
    do {
        for (int i = 0; i < SPINS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&member->posted, memory_order_acquire) != seen)
                return true;
            relax();
        }
    } while (clock_now() < end);
    return false;
}

/* `parked` is set before `posted` is looked at, and post() does it the other way round: one of the
 * two always sees the other. Exchanges, since they order what follows them everywhere: emulators of
 * arm64 let a plain store pass a later load. */
static void park(struct member *member, uint64_t seen) {
    pthread_mutex_lock(&member->lock);
    atomic_exchange(&member->parked, true);
    while (atomic_load(&member->posted) == seen)
        pthread_cond_wait(&member->wake, &member->lock);
    atomic_store(&member->parked, false);
    pthread_mutex_unlock(&member->lock);
}

static void post(struct member *member, uint64_t run) {
    atomic_exchange(&member->posted, run);
    if (!atomic_load(&member->parked))
        return;
    pthread_mutex_lock(&member->lock);
    pthread_cond_signal(&member->wake);
    pthread_mutex_unlock(&member->lock);
}

static void post_to_next(struct native_team *team, unsigned thread, unsigned threads,
                         uint64_t run) {
    for (unsigned next = 2 * thread + 1; next <= 2 * thread + 2 && next < threads; next++)
        post(&team->members[next], run);
}

static void *work(void *argument) {
    struct member *member = argument;
    struct native_team *team = member->team;
    for (uint64_t seen = 0;;) {
        if (!team->spins || !spin_for_post(member, seen))
            park(member, seen);
        seen = atomic_load_explicit(&member->posted, memory_order_acquire);
        if (team->closing)
            return NULL;
        struct native_call call = team->call;
        post_to_next(team, member->number, call.threads, seen);
        call.thread = member->number;
        call.scratch = member->scratch;
        team->function(&call);
        atomic_fetch_sub_explicit(&team->running, 1, memory_order_release);
    }
}

/* Until *value is (or is no longer) `other`. Whom we wait for is at work, so it will not be long;
 * or it lost its core to someone, and then giving ours away helps. */
static void wait_while(const struct native_team *team, const _Atomic unsigned *value,
                       unsigned other, bool equal) {
    int64_t end = team->spins ? 0 : -1; /* of spinning; 0: not yet known */
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

void thread_pool_run(struct native_team *team, native_function *function,
                     const struct native_call *work) {
    struct native_call call = *work;
    unsigned threads = threads_are_here(team) ? team->threads : 1;
    call.thread = 0;
    call.threads = call.units < threads ? (unsigned)call.units : threads;
    call.scratch = team->members[0].scratch;
    call.team = team;
    if (call.threads == 0)
        return;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    if (call.threads > 1) {
        team->function = function;
        team->call = call;
        atomic_store_explicit(&team->running, call.threads - 1, memory_order_relaxed);
        post_to_next(team, 0, call.threads, ++team->run);
    }
    function(&call);
    if (call.threads > 1)
        wait_while(team, &team->running, 0, false);
}

bool native_take(const struct native_call *call, size_t chunk, size_t *begin, size_t *end) {
    _Atomic size_t *next = &call->team->next;
    size_t units = call->units, at;
    if (chunk == 0 || chunk > units)
        chunk = chunk == 0 ? 1 : units;
    if (call->threads == 1) { /* no one to share with: spare the locked instruction */
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
    struct native_team *team = call->team;
    if (call->threads == 1) {
        atomic_store_explicit(&team->next, 0, memory_order_relaxed);
        return;
    }
    unsigned phase = atomic_load_explicit(&team->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 < call->threads) {
        wait_while(team, &team->phase, phase, true);
        return;
    }
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    atomic_store_explicit(&team->phase, phase + 1, memory_order_release);
}

static bool start_member(struct native_team *team, unsigned number) {
    struct member *member = &team->members[number];
    member->team = team;
    member->number = number;
    pthread_mutex_init(&member->lock, NULL);
    pthread_cond_init(&member->wake, NULL);
    if (pthread_create(&member->thread, NULL, work, member) == 0)
        return true;
    pthread_cond_destroy(&member->wake);
    pthread_mutex_destroy(&member->lock);
    return false;
}

struct native_team *thread_pool_create(unsigned threads, unsigned cores, struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t bytes = sizeof(struct native_team) + threads * sizeof(struct member);
    struct native_team *team = memory_allocate_aligned(bytes, CACHE_LINE, status);
    if (!team)
        return NULL;
    pthread_once(&once, watch_forks);
    memset(team, 0, bytes);
    team->forks = atomic_load(&forks);
    team->spins = threads <= cores;
    /* Signals are the program's: its own threads handle them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    team->threads = 1;
    while (team->threads < threads && start_member(team, team->threads))
        team->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return team;
}

void thread_pool_destroy(struct native_team *team) {
    if (!team)
        return;
    team->closing = true;
    team->run++;
    for (unsigned i = 1; i < team->threads && threads_are_here(team); i++) {
        struct member *member = &team->members[i];
        post(member, team->run);
        pthread_join(member->thread, NULL);
        pthread_cond_destroy(&member->wake);
        pthread_mutex_destroy(&member->lock);
    }
    for (unsigned i = 0; i < team->threads; i++)
        memory_free(team->members[i].scratch);
    memory_free(team);
}

unsigned thread_pool_threads(const struct native_team *team) {
    return team->threads;
}

bool thread_pool_reserve_scratch(struct native_team *team, size_t bytes, struct status *status) {
    if (bytes <= team->scratch_bytes)
        return true;
    for (unsigned i = 0; i < team->threads; i++) {
        void *scratch = memory_allocate_aligned(bytes, CACHE_LINE, status);
        if (!scratch)
            return false; /* some have grown already, which does no harm */
        memory_free(team->members[i].scratch);
        team->members[i].scratch = scratch;
    }
    team->scratch_bytes = bytes;
    return true;
}
