/* Starts the probe once, detects fork(), and gives each thread its lane.
 *
 * A child of fork() must not write to its parent's files. The generation of the process is in a
 * page with MADV_WIPEONFORK, so a fork() that bypasses the C library is also detected, at the
 * child's first record. Children that record nothing cost nothing.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* gettid by syscall() */
#endif
#include "base/clock.h"
#include "probe/probe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "probe/capture.h"
#include "spool/lock.h"
#include "spool/pages.h"

enum { RETRY_INTERVAL = 1024, PAGE = 4096 };

PROBE_THREAD_LOCAL struct probe_thread
    *current; /* NULL, `starting`, `ended`, or the thread's state */
static struct probe_thread starting, ended;

static struct probe *the_probe;
static _Atomic uint32_t *generation; /* 0 in a child without records */
static uint32_t last_generation;
static _Atomic uint32_t thread_serial;
static _Atomic uint32_t lock_word;
static pthread_key_t thread_key;

enum python_lines probe_python_lines(void) {
    return the_probe->options.python;
}

bool probe_lock(void) {
    return lock_acquire(&lock_word);
}

void probe_unlock(void) {
    lock_release(&lock_word);
}

static bool locked_for_fork; /* only accessed by the forking thread, with the lock */

static void before_fork(void) {
    int error = errno;
    bool locked = probe_lock();
    if (locked)
        locked_for_fork = true;
    errno = error;
}

static void after_fork_in_parent(void) {
    if (locked_for_fork) {
        locked_for_fork = false;
        probe_unlock();
    }
}

static void after_fork_in_child(void) {
    locked_for_fork = false;
    atomic_store(&lock_word, 0);
    atomic_store(generation, 0);
}

static int64_t thread_id(void) {
#ifdef __linux__
    return syscall(SYS_gettid);
#else
    uint64_t id = 0;
    pthread_threadid_np(NULL, &id);
    return (int64_t)id;
#endif
}

static struct text thread_name(char name[64]) {
#ifdef __linux__
    memset(name, 0, 64);
    if (prctl(PR_GET_NAME, name) != 0)
        return TEXT("");
#else
    if (pthread_getname_np(pthread_self(), name, 64) != 0)
        return TEXT("");
#endif
    return text_of(name);
}

int64_t probe_thread_id(void) {
    const struct probe_thread *thread = current;
    if (thread && thread->tid && thread->generation == atomic_load(generation))
        return thread->tid;
    return thread_id();
}

/* The first record of a thread in a lane. */
static void put_thread(struct probe_thread *thread) {
    char name[64];
    uint32_t text = spool_text(thread->lane, thread_name(name));
    struct spool_thread *record = spool_begin(thread->lane, SPOOL_THREAD, text, sizeof *record);
    if (!record)
        return;
    record->tid = thread->tid;
    spool_publish(thread->lane);
    capture_put_state(thread->lane);
}

static bool take_lane(struct probe_thread *thread) {
    if (thread->refused++ % RETRY_INTERVAL != 0)
        return false;
    thread->lane = spool_lane_open(the_probe->spool);
    if (!thread->lane)
        return false;
    thread->refused = 0;
    put_thread(thread);
    return true;
}

/* In a child of fork(): releases the parent's resources. If the lock was held by a thread that does
 * not exist in the child (a fork() without handlers), the child runs without the probe. */
static bool follow_fork(void) {
    if (!probe_lock()) {
        the_probe = NULL;
        return false;
    }
    if (atomic_load(generation) == 0) {
        spool_reopen(the_probe->spool);
        cost_reset();
        capture_forked();
        atomic_store(generation, ++last_generation);
    }
    probe_unlock();
    return true;
}

static void join_generation(struct probe_thread *thread) {
    thread->lane = NULL;
    thread->refused = 0;
    thread->tid = thread_id();
    for (uint32_t i = 0; i < thread->depth; i++)
        thread->pushed[i].id = 0;
    thread->generation = atomic_load(generation);
}

static struct probe_thread *begin_thread(void) {
    current = &starting; /* for a signal handler that interrupts this function */
    struct probe_thread *thread = pages_allocate(sizeof *thread);
    if (!thread || pthread_setspecific(thread_key, thread) != 0) {
        pages_free(thread, sizeof *thread);
        current = NULL;
        return NULL;
    }
    thread->busy = 1;
    thread->serial = atomic_fetch_add(&thread_serial, 1) + 1;
    thread->tid = thread_id();
    thread->generation = atomic_load(generation);
    current = thread;
    return thread;
}

/* Later TLS destructors of the thread may still call the probe; `ended` makes that harmless. */
static void end_thread(void *value) {
    struct probe_thread *thread = value;
    int error = errno;
    current = &ended;
    if (thread->generation == atomic_load(generation) && thread->lane) {
        nvtx_thread_ended(thread);
        spool_lane_close(the_probe->spool, thread->lane);
    }
    probe_stack_ended(thread);
    pages_free(thread, sizeof *thread);
    errno = error;
}

static struct probe_thread *enter_slow_path(void) {
    struct probe_thread *thread = current;
    if (!the_probe)
        return NULL;
    if (atomic_load(generation) == 0 && !follow_fork())
        return NULL;
    if (spool_is_stopped(the_probe->spool))
        return NULL;
    if (thread == &starting || thread == &ended || (thread && thread->busy)) {
        spool_drop(the_probe->spool, 1);
        return NULL;
    }
    if (!thread)
        thread = begin_thread();
    if (!thread) {
        spool_drop(the_probe->spool, 1);
        return NULL;
    }
    thread->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->generation != atomic_load(generation))
        join_generation(thread);
    if (thread->lane || take_lane(thread))
        return thread;
    probe_leave(thread);
    spool_drop(the_probe->spool, 1);
    return NULL;
}

static bool is_ready(const struct probe_thread *thread) {
    return thread && thread->lane && !thread->busy &&
           thread->generation == atomic_load_explicit(generation, memory_order_relaxed) &&
           !spool_is_stopped(the_probe->spool);
}

struct probe_thread *probe_enter(void) {
    struct probe_thread *thread = current;
    if (is_ready(thread)) {
        thread->busy = 1;
        atomic_signal_fence(memory_order_seq_cst);
        if (++thread->entered % COST_SAMPLE_INTERVAL == 0)
            thread->entered_at = clock_now();
        return thread;
    }
    int error = errno;
    thread = enter_slow_path();
    errno = error;
    return thread;
}

void probe_leave(struct probe_thread *thread) {
    if (thread->entered_at)
        cost_add(thread);
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
}

static _Atomic uint32_t *wipe_on_fork_page(void) {
    void *page = pages_allocate(PAGE);
#ifdef MADV_WIPEONFORK
    if (page)
        madvise(page, PAGE, MADV_WIPEONFORK); /* on failure the atfork handlers remain */
#endif
    return page;
}

static void start_once(void) {
    static struct probe probe;
    probe.options = probe_options_parse(getenv(SPOOL_OPTIONS));
    capture_start(&probe.options);
    if (probe.options.excluded)
        return;
    if (!probe.options.nvtx && !probe.options.cuda && !probe.options.opencl &&
        !probe.options.vulkan && !probe.options.metal)
        return;
    generation = wipe_on_fork_page();
    if (!generation || pthread_key_create(&thread_key, end_thread) != 0)
        return;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        return;
    probe.spool = spool_open();
    if (!probe.spool)
        return;
    if (probe.options.limit > 0)
        spool_limit(probe.spool, probe.options.limit);
    atomic_store(generation, ++last_generation);
    the_probe = &probe;
}

struct probe *probe_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = errno;
    pthread_once(&once, start_once);
    errno = error;
    return the_probe;
}

void probe_start_thread(void *(*run)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, &attributes, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* At exit(). A child without records still has its parent's header. */
__attribute__((destructor)) static void finish_process(void) {
    if (!the_probe || atomic_load(generation) == 0)
        return;
    cost_finish();
    spool_mark_ended(the_probe->spool);
}
