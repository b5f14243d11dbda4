/* The probe: libridge-probe.so, a guest in somebody else's process.
 *
 * The CUDA driver and NVTX load it and call InitializeInjection() and InitializeInjectionNvtx2().
 * What it then hears of it puts into the spool, on the thread that it is called on:
 *
 *   struct probe_thread *thread = probe_enter();
 *   if (thread) {
 *       ... records in thread->lane ...
 *       probe_leave(thread);
 *   }
 *
 * It never prints, exits, aborts, waits, allocates with malloc(), changes errno or keeps a
 * descriptor. Whatever fails is a record dropped and counted.
 */
#ifndef RIDGE_PROBE_PROBE_H
#define RIDGE_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "spool/spool.h"

/* In the program's own block of thread memory: any other kind may call malloc() at first use. */
#ifdef __GLIBC__
#define PROBE_THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
#else
#define PROBE_THREAD_LOCAL static __thread
#endif

/* The recorder's settings: comma-separated words in $RIDGE_PROBE.
 *
 *   nvtx=0            no NVTX ranges
 *   cuda=0            no CUDA
 *   graph=node        record each node of a CUDA graph; graph=graph: each launch as a whole
 *   limit=BYTES       limit of the spool's files
 *   from=TIME         drop events that begin before it, in nanoseconds of CLOCK_MONOTONIC
 *   capture=RANGE     record only inside "cudaProfilerApi" or "nvtx:NAME"; the last word, because a
 *                     name may contain commas
 *
 * Default: NVTX and CUDA, graphs as a whole. Unknown words are ignored, because the recorder may be
 * of a later version. */
struct probe_options {
    bool nvtx, cuda;
    bool graph_nodes;
    uint64_t limit;      /* 0: the spool's own limit */
    int64_t from;        /* 0: from the beginning */
    struct text capture; /* in the words; empty: everything */
};

/* `words` may be NULL. */
struct probe_options probe_options_parse(const char *words);

struct probe {
    struct spool *spool;
    struct probe_options options;
};

enum { NVTX_DEPTH = 512, COST_SAMPLE_INTERVAL = 64 /* one entry of so many */ };

/* What is kept for each thread that recorded something. */
struct probe_thread {
    struct spool_lane *lane;
    uint32_t generation;    /* of the process that the lane is of: fork() makes another */
    volatile uint32_t busy; /* the thread is inside; a signal handler on top of it stays outside */
    uint32_t refused;       /* times that there was no lane */
    uint32_t serial;        /* of this thread in the process, for ids of ranges */
    uint32_t entered;       /* times, to measure one of many */
    int64_t entered_at;     /* when it is measured, else 0 */
    int64_t tid;
    uint64_t ranges;                    /* that it has begun */
    uint32_t depth, too_deep;           /* pushed ranges, and those beyond NVTX_DEPTH */
    char converted[SPOOL_TEXT_MAX + 8]; /* a wide string as UTF-8 */
    struct pushed_range {
        const struct nvtx_domain *domain;
        uint64_t id; /* 0: begun in the process that forked this one */
        uint32_t level;
    } pushed[NVTX_DEPTH];
};

/* Starts when the environment asks for it, once; NULL when there is nothing to do. */
struct probe *probe_start(void);

/* The calling thread's, with a lane; NULL: this record is dropped. Nothing between it and
 * probe_leave() may wait. */
struct probe_thread *probe_enter(void);
void probe_leave(struct probe_thread *thread);

/* Adds what the measured entry took, and all those that were not; tells the trace now and then, as
 * the fact "probe.cost_ns", the sum of the process. Called by probe_leave(). */
void cost_add(struct probe_thread *thread);
/* Adds what was measured elsewhere. */
void cost_add_ns(int64_t took);
/* For a child of fork(), which has cost nothing yet. */
void cost_reset(void);
/* At the process's end: tells what was not told yet. */
void cost_finish(void);

/* The system's number of the calling thread; inside or outside. */
int64_t probe_thread_id(void);

/* A fact for the trace. */
void probe_put_meta(struct probe_thread *thread, const char *key, struct text value);

/* One lock for what threads share; false when somebody has it for too long. Only while entered, or
 * in probe_start(). */
bool probe_lock(void);
void probe_unlock(void);

/* The CUDA part. False when nothing of CUDA will be recorded; it has said why with probe_meta(). */
bool probe_cuda_start(struct probe *probe);

/* The NVTX part: installs its functions in a copy of NVTX (every library that uses it has its own).
 * False when that copy is of no known kind. */
typedef const void *nvtx_export_table(uint32_t table);
bool nvtx_install(nvtx_export_table *tables);
/* The thread ends with ranges open. */
void nvtx_thread_ended(struct probe_thread *thread);

#endif
