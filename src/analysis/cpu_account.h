/* Where did the time of each thread go? Running, ready without a processor, or blocked, and on
 * what. The parts of a thread sum exactly to its time; time without a record is `unknown`.
 */
#ifndef RIDGE_ANALYSIS_CPU_ACCOUNT_H
#define RIDGE_ANALYSIS_CPU_ACCOUNT_H

#include "analysis/host.h"

/* wall = running + ready + all of blocked + unknown, and running = user + kernel + unsplit. */
struct cpu_times {
    int64_t wall; /* the life of the thread in the selected part */
    int64_t running, ready, unknown;
    int64_t user, kernel, unsplit;
    int64_t woken; /* the part of `ready` between a wakeup and running: an exact sum, moved here
                      from the blocked times in proportion to the number of blocks */
    int64_t blocked[BLOCKED_KINDS];
    uint64_t blocks[BLOCKED_KINDS];
};
int64_t cpu_times_blocked(const struct cpu_times *times);

struct cpu_thread {
    uint32_t thread; /* row of trace->thread */
    uint32_t process;
    bool is_main; /* of its process */
    struct cpu_times times;
    int64_t meanwhile; /* running while the main thread of the program was blocked */
};

struct cpu_process {
    uint32_t process;
    size_t first, count;    /* its threads; the main thread first, then by running time */
    struct cpu_times times; /* sums over its threads */
    struct window life;
};

/* Blocks of all threads in one place. */
struct cpu_wait {
    enum blocked_on on;
    bool is_gil;       /* Python's global interpreter lock */
    uint32_t call;     /* string id of the system call or API call; 0: unknown */
    uint32_t function; /* stack row of the function that waits; 0: unknown */
    int64_t time, max; /* over all threads; up to the moment it ran again */
    int64_t main;      /* the part of the program's main thread */
    uint64_t count;
};

enum { CPU_BUCKETS = 240 };

struct cpu_account {
    struct cpu_thread *threads;
    size_t thread_count;           /* 0: no thread states were recorded */
    struct cpu_process *processes; /* in the order of the trace */
    size_t process_count;
    struct cpu_wait *waits; /* most time first */
    size_t wait_count;
    struct cpu_times times; /* of all threads */
    size_t main;            /* index of the program's main thread */
    uint32_t processors;    /* that the program could use; 0: unknown */
    bool calls_known;       /* some block has a system call */
    bool is_polled;         /* states were read from time to time: sums are exact, orders are not */

    struct window span; /* of all threads in the selected part */
    int64_t wall;       /* of the span, without what is not selected */
    int64_t *running;   /* by number of threads: time in which that many were running */
    size_t running_max;
    int64_t bucket[CPU_BUCKETS]; /* running time of all threads in equal parts of the span */
};

/* `selection` NULL: the whole recording. */
bool cpu_account_find(const struct model *model, const struct host *host,
                      const struct selection *selection, struct cpu_account *account,
                      struct status *status);
void cpu_account_finish(struct cpu_account *account);

#endif
