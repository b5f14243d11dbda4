/* Starts the probe, detects fork(), and gives each thread its lane.
 *
 * The environment starts it once, for the recorder that started the program. A recorder that
 * attaches starts a session (session.c), and others may follow. At the end of a session memory that
 * threads write to is unmapped: a thread marks itself busy before it looks whether there is still a
 * session, so when all threads are seen not to be busy, none uses that memory. membarrier() makes
 * this safe without a memory barrier in the threads.
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
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/membarrier.h>
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
static _Atomic bool is_open;         /* records are taken */
static struct probe_thread *threads; /* all that have a state; protected by the lock */
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
    session_forked();
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

void probe_name_thread(void) {
#ifdef __linux__
    prctl(PR_SET_NAME, "ridge probe");
#endif
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
        threads = current == &starting || current == &ended ? NULL : current;
        if (threads)
            threads->next = NULL;
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

static bool list_thread(struct probe_thread *thread) {
    if (!probe_lock())
        return false;
    thread->next = threads;
    threads = thread;
    probe_unlock();
    return true;
}

/* False: it stays in the list and must stay allocated. */
static bool unlist_thread(struct probe_thread *thread) {
    if (!probe_lock())
        return false;
    struct probe_thread **at = &threads;
    while (*at && *at != thread)
        at = &(*at)->next;
    if (*at)
        *at = thread->next;
    probe_unlock();
    return true;
}

static struct probe_thread *begin_thread(void) {
    current = &starting; /* for a signal handler that interrupts this function */
    struct probe_thread *thread = pages_allocate(sizeof *thread);
    if (thread)
        thread->busy = 1; /* first, because it is listed */
    if (!thread || !list_thread(thread)) {
        pages_free(thread, sizeof *thread);
        current = NULL;
        return NULL;
    }
    if (pthread_setspecific(thread_key, thread) != 0) {
        thread->busy = 0;
        if (!unlist_thread(thread))
            thread = NULL;
        pages_free(thread, sizeof *thread);
        current = NULL;
        return NULL;
    }
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
    thread->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->generation == atomic_load(generation) && thread->lane && atomic_load(&is_open)) {
        nvtx_thread_ended(thread);
        spool_lane_close(the_probe->spool, thread->lane);
    }
    probe_stack_ended(thread);
    thread->busy = 0;
    if (unlist_thread(thread))
        pages_free(thread, sizeof *thread);
    errno = error;
}

static bool takes_records(void) {
    return atomic_load(&is_open) && !spool_is_stopped(the_probe->spool);
}

static struct probe_thread *enter_slow_path(void) {
    struct probe_thread *thread = current;
    if (!the_probe)
        return NULL;
    if (atomic_load(generation) == 0 && !follow_fork())
        return NULL;
    if (!takes_records())
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
    bool is_late = !takes_records(); /* the session has ended meanwhile */
    if (!is_late && thread->generation != atomic_load(generation))
        join_generation(thread);
    if (!is_late && (thread->lane || take_lane(thread)))
        return thread;
    probe_leave(thread);
    if (!is_late)
        spool_drop(the_probe->spool, 1);
    return NULL;
}

/* The end of a session changes the generation. */
static bool is_ready(const struct probe_thread *thread) {
    return thread->generation == atomic_load_explicit(generation, memory_order_relaxed) &&
           !spool_is_stopped(the_probe->spool);
}

struct probe_thread *probe_enter(void) {
    struct probe_thread *thread = current;
    if (thread && thread->lane && !thread->busy) {
        thread->busy = 1;
        atomic_signal_fence(memory_order_seq_cst);
        if (is_ready(thread)) {
            if (++thread->entered % COST_SAMPLE_INTERVAL == 0)
                thread->entered_at = clock_now();
            return thread;
        }
        atomic_signal_fence(memory_order_seq_cst);
        thread->busy = 0;
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

static struct probe probe;

static void prepare_once(void) {
    generation = wipe_on_fork_page();
    if (!generation || pthread_key_create(&thread_key, end_thread) != 0)
        return;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        return;
    probe.spool = spool_create();
}

/* Afterwards all threads see what this thread has stored, and this thread what they have. */
static bool synchronize_threads(void) {
#ifdef __linux__
    return (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0 &&
            syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0) ||
           syscall(SYS_membarrier, MEMBARRIER_CMD_SHARED, 0) == 0;
#else
    return false;
#endif
}

static bool is_any_busy(void) {
    for (const struct probe_thread *thread = threads; thread; thread = thread->next)
        if (thread->busy)
            return true;
    return false;
}

/* With the lock: no thread uses the session's memory, or will. */
static void release_threads(void) {
    for (struct probe_thread *thread = threads; thread; thread = thread->next) {
        thread->lane = NULL;
        probe_stack_ended(thread);
    }
}

static bool wait_until_unused(void) {
    enum { POLLS = 1000, POLL_NS = 1000000 };
    bool unused = false;
    if (!synchronize_threads())
        return false;
    for (unsigned i = 0; i < POLLS && !unused; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        if (!probe_lock())
            return false;
        unused = !is_any_busy();
        if (unused)
            release_threads();
        probe_unlock();
    }
    return unused;
}

void probe_close(bool unmaps) {
    atomic_store(&is_open, false);
    atomic_store(generation, ++last_generation);
    spool_detach(probe.spool, unmaps && wait_until_unused());
}

bool probe_open(const char *folder, const char *words) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct probe_options options = probe_options_parse(words);
    if (options.excluded ||
        (!options.nvtx && !options.cuda && !options.opencl && !options.vulkan && !options.metal))
        return false;
    pthread_once(&once, prepare_once);
    /* Layers of OpenCL and Vulkan hold lanes of the session that the environment started. */
    if (atomic_load(&is_open) && spool_is_stopped(probe.spool))
        probe_close(false);
    if (!probe.spool || atomic_load(&is_open) || !spool_attach(probe.spool, folder))
        return false;
    probe.options = options;
    capture_start(&probe.options);
    cost_reset();
    if (options.limit > 0)
        spool_limit(probe.spool, options.limit);
    atomic_store(generation, ++last_generation);
    the_probe = &probe;
    atomic_store(&is_open, true);
    return true;
}

bool probe_is_recorded(void) {
    return atomic_load(&is_open) && !spool_is_stopped(probe.spool);
}

bool probe_is_ready(void) {
    return probe_is_recorded() && spool_is_ready(probe.spool);
}

static void start_once(void) {
    if (getenv(SPOOL_VARIABLE))
        probe_open(getenv(SPOOL_VARIABLE), getenv(SPOOL_OPTIONS));
}

struct probe *probe_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = errno;
    pthread_once(&once, start_once);
    errno = error;
    return the_probe;
}

bool probe_start_thread(void *(*run)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* At exit(). A child without records still has its parent's header. */
__attribute__((destructor)) static void finish_process(void) {
    if (!the_probe || atomic_load(generation) == 0 || !atomic_load(&is_open))
        return;
    cost_finish();
    spool_mark_ended(the_probe->spool);
}
