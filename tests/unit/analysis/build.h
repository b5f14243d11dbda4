/* Small traces for the analysis tests, written by hand: a device with queues, a process with
 * threads, and rows added one by one. */
#ifndef RIDGE_TESTS_UNIT_ANALYSIS_BUILD_H
#define RIDGE_TESTS_UNIT_ANALYSIS_BUILD_H

#include "trace/reader.h"
#include "trace/writer.h"

enum { BUILD_QUEUES = 3, BUILD_THREADS = 2 };

struct build {
    int fd;
    struct trace_writer *writer;
    uint32_t device, queue[BUILD_QUEUES], thread[BUILD_THREADS];
};

void build_begin(struct build *build);
void build_activity(struct build *build, int queue, int kind, int64_t start, int64_t end,
                    const char *name, uint64_t correlation);
void build_call(struct build *build, int thread, int class, int64_t start, int64_t end,
                const char *name, uint64_t correlation);
void build_range(struct build *build, int thread, int category, int64_t start, int64_t end,
                 const char *name);
void build_state(struct build *build, int thread, int state, int64_t start, int64_t end);
/* A sample whose innermost frame is that function. */
void build_sample(struct build *build, int thread, int64_t time, const char *function);
/* NULL when something failed (and the test has failed). Close with trace_close(). */
struct trace *build_end(struct build *build);

#endif
