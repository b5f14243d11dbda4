/* The probe: libridge-probe.so, which runs inside the recorded process.
 *
 * The CUDA driver and NVTX load it and call InitializeInjection() and InitializeInjectionNvtx2();
 * loaders of OpenCL and Vulkan load it as a layer and call clInitLayer() and
 * vkNegotiateLoaderLayerInterfaceVersion(). On macOS dyld inserts it, and it sees the program's
 * Metal devices. Events are written to the spool on the calling thread:
 *
 *   struct probe_thread *thread = probe_enter();
 *   if (thread) {
 *       ... records in thread->lane ...
 *       probe_leave(thread);
 *   }
 *
 * It never prints, exits, aborts, blocks, calls malloc(), changes errno or keeps a descriptor open.
 * Whatever fails is a record that is dropped and counted.
 */
#ifndef RIDGE_PROBE_PROBE_H
#define RIDGE_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "spool/spool.h"

/* In the static TLS block: other TLS models may call malloc() at the first access. */
#ifdef __GLIBC__
#define PROBE_THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
#else
#define PROBE_THREAD_LOCAL static __thread
#endif

/* The recorder's settings: comma-separated words in $RIDGE_PROBE.
 *
 *   nvtx=0            no NVTX ranges
 *   cuda=0            no CUDA
 *   opencl=0          no OpenCL
 *   vulkan=0          no Vulkan; vulkan=dispatch: times for each command instead of groups
 *   metal=0           no Metal
 *   vulkan_clock=own  do not use calibrated timestamps of the driver, for tests
 *   graph=node        record each node of a CUDA graph; graph=graph: each launch as a whole
 *   python=off        no stacks of calls; python=waits: not at launches
 *   ranks=0/4-7       nothing in processes of other ranks (base/job_place.h)
 *   limit=BYTES       limit of the spool's files
 *   from=TIME         drop events that begin before it, in nanoseconds of CLOCK_MONOTONIC
 *   capture=RANGE     record only inside "cudaProfilerApi" or "nvtx:NAME"; the last word, because a
 *                     name may contain commas
 *
 * Default: all APIs, graphs as a whole. Unknown words are ignored, because the recorder may be
 * of a later version. */
enum python_lines { PYTHON_LINES_ALL, PYTHON_LINES_WAITS, PYTHON_LINES_OFF };

struct probe_options {
    bool nvtx, cuda, opencl, vulkan, metal;
    enum python_lines python;
    bool vulkan_dispatches, vulkan_own_clock;
    bool graph_nodes;
    bool excluded;       /* the process belongs to a rank that is not recorded */
    uint64_t limit;      /* 0: the spool's default */
    int64_t from;        /* 0: no lower limit */
    struct text capture; /* points into the words; empty: everything */
};

/* `words` may be NULL. */
struct probe_options probe_options_parse(const char *words);

struct probe {
    struct spool *spool;
    struct probe_options options;
};

enum { NVTX_DEPTH = 512, COST_SAMPLE_INTERVAL = 64 /* entries per timed one */ };

/* The state of a thread that has recorded something. */
struct probe_thread {
    struct spool_lane *lane;
    uint32_t generation;    /* of the lane's process; changes with fork() */
    volatile uint32_t busy; /* the thread is in the probe; a signal handler must not enter */
    uint32_t refused;       /* failed attempts to open a lane */
    uint32_t serial;        /* number of this thread, for range ids */
    uint32_t entered;       /* times, to measure one of many */
    int64_t entered_at;     /* start of a timed entry, else 0 */
    int64_t tid;
    struct probe_thread *next;          /* in the list of all */
    struct python_stacks *python;       /* NULL: no Python stack was read */
    uint64_t ranges;                    /* number of ranges begun */
    uint32_t depth, too_deep;           /* pushed ranges, and pushes beyond NVTX_DEPTH */
    char converted[SPOOL_TEXT_MAX + 8]; /* wide string converted to UTF-8 */
    struct pushed_range {
        const struct nvtx_domain *domain;
        uint64_t id; /* 0: begun before fork() in the parent */
        uint32_t level;
    } pushed[NVTX_DEPTH];
};

/* Starts the probe once, if the environment requests it. NULL: it was never started. */
struct probe *probe_start(void);

/* A session: records go to this folder from probe_open() to probe_close(), with these options,
 * which stay valid until then. `unmaps`: memory of the session is released, which needs that only
 * threads inside probe_enter() and probe_leave() use it. */
bool probe_open(const char *folder, const char *words);
void probe_close(bool unmaps);
/* Whether a recorder takes the records of this process, and gets everything. */
bool probe_is_recorded(void);
bool probe_is_ready(void);

/* session.c: starts a session for a recorder that attaches, on a thread of its own. */
enum { SESSION_STARTS, SESSION_IS_RECORDED, SESSION_NO_THREAD };
int session_start(const char *folder, const char *words);
/* In a child of fork(), which has no such thread. */
void session_forked(void);

/* The state of the calling thread, with a lane. NULL: drop this record. Nothing before
 * probe_leave() may block. */
struct probe_thread *probe_enter(void);
void probe_leave(struct probe_thread *thread);

/* Adds the time of a measured entry, which stands for all entries since the last one. The sum is
 * put into the trace now and then as the meta "probe.cost_ns". Called by probe_leave(). */
void cost_add(struct probe_thread *thread);
/* Adds a time that was measured elsewhere. */
void cost_add_ns(int64_t took);
/* In a child of fork(). */
void cost_reset(void);
/* At exit: puts the final sum. */
void cost_finish(void);

/* Names a thread of the probe, so that it is not taken for one of the program's. */
void probe_name_thread(void);

/* The tid of the calling thread; may be called outside the probe. */
int64_t probe_thread_id(void);

/* The stack of the calling thread: the value of the member `stack` of a record that is written to
 * thread->lane next. Call it inside the recorded call, before spool_begin(). `class` is the call's
 * enum call_class. 0: unknown, or the recorder wants no stack for this class. In a process with
 * Python it is the thread's Python stack, else its native one. */
uint32_t probe_stack(struct probe_thread *thread, unsigned class);
/* When the thread ends. */
void probe_stack_ended(struct probe_thread *thread);
/* The recorder's setting. */
enum python_lines probe_python_lines(void);

/* A key and value for the trace's meta table. */
void probe_put_meta(struct probe_thread *thread, const char *key, struct text value);

/* One lock for shared state; false on timeout. Only between probe_enter() and probe_leave(), or in
 * probe_start(). */
bool probe_lock(void);
void probe_unlock(void);

/* Starts a detached thread with all signals blocked: they are the program's. */
bool probe_start_thread(void *(*run)(void *));

/* Starts the CUDA part. False when CUDA is not recorded; the reason is in the meta table. */
bool probe_cuda_start(struct probe *probe);
/* Flushes, and gives CUPTI back. It can be started again. */
void probe_cuda_stop(void);

/* Installs the NVTX callbacks in a copy of NVTX; every library that uses NVTX has its own copy.
 * False when the version of that copy is unknown. */
typedef const void *nvtx_export_table(uint32_t table);
bool nvtx_install(nvtx_export_table *tables);
/* nvtxRangePushA() and nvtxRangePop() of the default domain. */
int nvtx_push(const char *name);
int nvtx_pop(void);
/* A range of the calling thread that is not NVTX's. begin returns its id; 0: dropped. */
uint64_t probe_range_begin(const char *name);
void probe_range_end(uint64_t id);
/* Ends the open ranges of a thread that exits. */
void nvtx_thread_ended(struct probe_thread *thread);

#endif
