/* Figures of real Kineto traces that were computed independently (truth.json), to the nanosecond.
 */
#include "imported.h"

#include "base/array.h"
#include "base/map.h"

struct expected_copies {
    int64_t count, bytes, time;
};

struct expected {
    const char *file;
    int64_t events, listed, devices;
    int64_t kernels, kernel_names, kernel_time;
    int64_t copies, copy_bytes, copies_unsized, sets, set_bytes;
    struct expected_copies direction[COPY_DIRECTIONS];
    int64_t calls, syncs, sync_time, memory;
    int64_t waits[WAIT_KINDS], ranges[RANGE_CATEGORIES];
    int64_t matched, span;
};

/* clang-format off */
static const struct expected expected[] = {
    {"kineto/after_fix_trace.json",
     .events = 75, .listed = 8, .devices = 1,
     .kernels = 1, .kernel_names = 1, .kernel_time = 20,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 1, .syncs = 0, .sync_time = 0, .memory = 0,
     .waits = {[WAIT_EVENT] = 1, [WAIT_STREAM_EVENT] = 1, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4, [RANGE_ANNOTATION] = 0, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 1, .span = 130},
    {"kineto/before_fix_trace.json",
     .events = 75, .listed = 8, .devices = 1,
     .kernels = 1, .kernel_names = 1, .kernel_time = 20,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 1, .syncs = 0, .sync_time = 0, .memory = 0,
     .waits = {[WAIT_EVENT] = 1, [WAIT_STREAM_EVENT] = 1, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4, [RANGE_ANNOTATION] = 0, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 1, .span = 130},
    {"kineto/amd_trace+mi250_minitoy_train_ROCm6_2_kineto.json.gz",
     .events = 220, .listed = 4, .devices = 1,
     .kernels = 14, .kernel_names = 12, .kernel_time = 110881,
     .copies = 2, .copy_bytes = 0, .copies_unsized = 2, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {2, 0, 38161}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 21, .syncs = 1, .sync_time = 67818, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 70, [RANGE_ANNOTATION] = 3, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 2, [RANGE_OVERHEAD] = 0},
     .matched = 14, .span = 9583086},
    {"kineto/cpu_only+rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
     .events = 30, .listed = 0, .devices = 0,
     .kernels = 0, .kernel_names = 0, .kernel_time = 0,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 0, .syncs = 0, .sync_time = 0, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4, [RANGE_ANNOTATION] = 11, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 0, .span = 1283027080},
    {"kineto/critical_path+alexnet+benchmark_result_2869224_1695835535_trace.json.gz",
     .events = 1408, .listed = 8, .devices = 1,
     .kernels = 79, .kernel_names = 16, .kernel_time = 10692000,
     .copies = 16, .copy_bytes = 244403360, .copies_unsized = 0, .sets = 3, .set_bytes = 21760,
     .direction = {[COPY_HTOD] = {16, 244403360, 55503000}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 361, .syncs = 21, .sync_time = 1497000, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 20, [WAIT_STREAM] = 16, [WAIT_CONTEXT] = 5},
     .ranges = {[RANGE_OP] = 359, [RANGE_ANNOTATION] = 8, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 79, .span = 43425365000},
    {"kineto/critical_path+cuda_event_sync_multi_stream+event_sync_trace.json.gz",
     .events = 149, .listed = 8, .devices = 1,
     .kernels = 3, .kernel_names = 1, .kernel_time = 369000,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 3, .set_bytes = 1536,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 39, .syncs = 1, .sync_time = 20000, .memory = 0,
     .waits = {[WAIT_EVENT] = 3, [WAIT_STREAM_EVENT] = 1, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 1},
     .ranges = {[RANGE_OP] = 6, [RANGE_ANNOTATION] = 0, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 3, .span = 19930000},
    {"kineto/nccl_parser_config+nccl_data.json.gz",
     .events = 40573, .listed = 8, .devices = 1,
     .kernels = 2700, .kernel_names = 70, .kernel_time = 162532340,
     .copies = 960, .copy_bytes = 307323096, .copies_unsized = 0, .sets = 114, .set_bytes = 409141005,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {960, 307323096, 2262781}},
     .calls = 8740, .syncs = 25, .sync_time = 109788, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 14346, [RANGE_ANNOTATION] = 42, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 30, [RANGE_OVERHEAD] = 0},
     .matched = 2700, .span = 684372939},
    {"kineto/trace_diff+control+control.json.gz",
     .events = 109123, .listed = 8, .devices = 1,
     .kernels = 8568, .kernel_names = 170, .kernel_time = 446813000,
     .copies = 228, .copy_bytes = 2245323516, .copies_unsized = 0, .sets = 654, .set_bytes = 76353248,
     .direction = {[COPY_HTOD] = {150, 423923260, 50656000}, [COPY_DTOH] = {60, 100896, 107000}, [COPY_DTOD] = {18, 1821299360, 2735000}},
     .calls = 24692, .syncs = 61, .sync_time = 210000, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 40506, [RANGE_ANNOTATION] = 288, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 8568, .span = 465275000},
    {"kineto/trace_diff+test+test.json.gz",
     .events = 105167, .listed = 2, .devices = 1,
     .kernels = 9876, .kernel_names = 131, .kernel_time = 801858000,
     .copies = 4856, .copy_bytes = 28340638496, .copies_unsized = 0, .sets = 900, .set_bytes = 119398012,
     .direction = {[COPY_HTOD] = {151, 423923264, 66643000}, [COPY_DTOH] = {60, 117936, 124000}, [COPY_DTOD] = {4645, 27916597296, 92932000}},
     .calls = 21167, .syncs = 61, .sync_time = 813000, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 31236, [RANGE_ANNOTATION] = 288, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 9330, .span = 745341000},
    {"kineto/triton_example+triton_example.json.gz",
     .events = 71, .listed = 8, .devices = 1,
     .kernels = 1, .kernel_names = 1, .kernel_time = 1760,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 2, .syncs = 1, .sync_time = 16846, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 3, [RANGE_ANNOTATION] = 1, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 1, .span = 13336315805},
    {"kineto/resnet50_num_workers_0+worker0.1623143089861.pt.trace.json.gz",
     .events = 75718, .listed = 4, .devices = 1,
     .kernels = 8772, .kernel_names = 67, .kernel_time = 591532000,
     .copies = 12, .copy_bytes = 115607040, .copies_unsized = 0, .sets = 312, .set_bytes = 366475920,
     .direction = {[COPY_HTOD] = {12, 115607040, 11492000}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 11923, .syncs = 13, .sync_time = 16745000, .memory = 12838,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 23646, [RANGE_ANNOTATION] = 0, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 8772, .span = 1065658000},
    {"kineto/b200+eager_trace.json.gz",
     .events = 24656, .listed = 8, .devices = 1,
     .kernels = 768, .kernel_names = 29, .kernel_time = 10862916,
     .copies = 161, .copy_bytes = 771357013, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {15, 33109, 21344}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {146, 771323904, 781500}},
     .calls = 1372, .syncs = 0, .sync_time = 0, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4809, [RANGE_ANNOTATION] = 3, [RANGE_PYTHON] = 15230, [RANGE_DEVICE] = 3, [RANGE_OVERHEAD] = 9},
     .matched = 768, .span = 87412863},
    {"kineto/h100+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
     .events = 18221, .listed = 1, .devices = 1,
     .kernels = 1465, .kernel_names = 26, .kernel_time = 45432698,
     .copies = 1, .copy_bytes = 1, .copies_unsized = 0, .sets = 241, .set_bytes = 964,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {1, 1, 2368}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 1922, .syncs = 3, .sync_time = 16277499, .memory = 2450,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4186, [RANGE_ANNOTATION] = 1, [RANGE_PYTHON] = 4262, [RANGE_DEVICE] = 1, [RANGE_OVERHEAD] = 0},
     .matched = 1029, .span = 49779532},
    {"kineto/inference+vllm_decode_full+graph_execution.json.gz",
     .events = 1993, .listed = 8, .devices = 1,
     .kernels = 425, .kernel_names = 24, .kernel_time = 10674517,
     .copies = 9, .copy_bytes = 27556, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {9, 27556, 43191}},
     .calls = 20, .syncs = 1, .sync_time = 2190, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 100, [RANGE_ANNOTATION] = 1, [RANGE_PYTHON] = 984, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 425, .span = 19114059},
    {"kineto/mi210+gpu_only_trace+gpu_only_trace.json.gz",
     .events = 2443, .listed = 4, .devices = 1,
     .kernels = 562, .kernel_names = 45, .kernel_time = 5343422,
     .copies = 0, .copy_bytes = 0, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {0, 0, 0}},
     .calls = 631, .syncs = 1, .sync_time = 1332208, .memory = 0,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 0, [RANGE_ANNOTATION] = 0, [RANGE_PYTHON] = 0, [RANGE_DEVICE] = 0, [RANGE_OVERHEAD] = 0},
     .matched = 562, .span = 6024766},
    {"kineto/mi300+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
     .events = 18090, .listed = 1, .devices = 1,
     .kernels = 1516, .kernel_names = 28, .kernel_time = 43062042,
     .copies = 1, .copy_bytes = 1, .copies_unsized = 0, .sets = 0, .set_bytes = 0,
     .direction = {[COPY_HTOD] = {0, 0, 0}, [COPY_DTOH] = {0, 0, 0}, [COPY_DTOD] = {1, 1, 760}},
     .calls = 1707, .syncs = 2, .sync_time = 17137227, .memory = 2692,
     .waits = {[WAIT_EVENT] = 0, [WAIT_STREAM_EVENT] = 0, [WAIT_STREAM] = 0, [WAIT_CONTEXT] = 0},
     .ranges = {[RANGE_OP] = 4619, [RANGE_ANNOTATION] = 1, [RANGE_PYTHON] = 4266, [RANGE_DEVICE] = 1, [RANGE_OVERHEAD] = 0},
     .matched = 1053, .span = 47194379},
};
/* clang-format on */

enum { FIXTURES = ARRAY_COUNT(expected) };

/* The same figures, counted in an imported trace. */
static void count_activities(const struct trace *trace, struct expected *found) {
    const struct columns_activity *a = &trace->activity;
    bool *used = calloc(trace->device.count, 1), *named = calloc(trace->strings.count, 1);
    for (size_t i = 0; i < a->count; i++) {
        used[trace->queue.device[a->queue[i]]] = true;
        bool sized = a->bytes[i] != BYTES_UNKNOWN;
        if (a->kind[i] == ACTIVITY_KERNEL) {
            found->kernels++;
            found->kernel_time += a->duration[i];
            found->kernel_names += !named[a->name[i]];
            named[a->name[i]] = true;
        } else if (a->kind[i] == ACTIVITY_COPY) {
            struct expected_copies *direction = &found->direction[a->direction[i]];
            found->copies++;
            found->copies_unsized += !sized;
            found->copy_bytes += sized ? (int64_t)a->bytes[i] : 0;
            direction->count++;
            direction->bytes += sized ? (int64_t)a->bytes[i] : 0;
            direction->time += a->duration[i];
        } else {
            found->sets++;
            found->set_bytes += sized ? (int64_t)a->bytes[i] : 0;
        }
    }
    for (size_t i = 1; i < trace->device.count; i++) {
        found->devices += used[i];
        found->listed += trace->device.listed[i];
    }
    free(used);
    free(named);
}

static void count_host(const struct trace *trace, struct expected *found) {
    struct status status = {0};
    struct map calls = {0};
    for (size_t i = 0; i < trace->call.count; i++) {
        found->calls++;
        if (trace->call.class[i] == CALL_SYNC) {
            found->syncs++;
            found->sync_time += trace->call.duration[i];
        }
        map_set(&calls, trace->call.correlation[i], i, &status);
    }
    for (size_t i = 0; i < trace->activity.count; i++)
        found->matched += trace->activity.kind[i] == ACTIVITY_KERNEL &&
                          map_find(&calls, trace->activity.correlation[i]) != NULL;
    map_finish(&calls);
    for (size_t i = 0; i < trace->range.count; i++)
        found->ranges[trace->range.category[i]]++;
    for (size_t i = 0; i < trace->wait.count; i++)
        found->waits[trace->wait.kind[i]]++;
    found->memory = (int64_t)trace->memory.count;
    found->events = trace_meta_sum(trace, "source.events");
}

static void widen(const int64_t *start, const int64_t *duration, size_t i, int64_t *first,
                  int64_t *last) {
    *first = start[i] < *first ? start[i] : *first;
    *last = start[i] + duration[i] > *last ? start[i] + duration[i] : *last;
}

static int64_t span_of(const struct trace *trace) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < trace->activity.count; i++)
        widen(trace->activity.start, trace->activity.duration, i, &first, &last);
    for (size_t i = 0; i < trace->call.count; i++)
        widen(trace->call.start, trace->call.duration, i, &first, &last);
    for (size_t i = 0; i < trace->wait.count; i++)
        widen(trace->wait.start, trace->wait.duration, i, &first, &last);
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] != RANGE_OVERHEAD)
            widen(trace->range.start, trace->range.duration, i, &first, &last);
    return first > last ? 0 : last - first;
}

static bool load(struct trace *trace, struct status *status) {
    return trace_load(trace, TABLE_ACTIVITY, NULL, status) &&
           trace_load(trace, TABLE_CALL, NULL, status) &&
           trace_load(trace, TABLE_RANGE, NULL, status) &&
           trace_load(trace, TABLE_WAIT, NULL, status) &&
           trace_load(trace, TABLE_MEMORY, NULL, status);
}

static void compare(const struct expected *want, const struct expected *found) {
    static const struct {
        const char *name;
        size_t from, to;
    } fields[] = {
#define FIELD(name)                                                                                \
    {#name, offsetof(struct expected, name),                                                       \
     offsetof(struct expected, name) + sizeof(((struct expected *)0)->name)}
        FIELD(events),         FIELD(listed),      FIELD(devices),   FIELD(kernels),
        FIELD(kernel_names),   FIELD(kernel_time), FIELD(copies),    FIELD(copy_bytes),
        FIELD(copies_unsized), FIELD(sets),        FIELD(set_bytes), FIELD(direction),
        FIELD(calls),          FIELD(syncs),       FIELD(sync_time), FIELD(memory),
        FIELD(waits),          FIELD(ranges),      FIELD(matched),   FIELD(span),
    };
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++)
        for (size_t at = fields[i].from; at < fields[i].to; at += sizeof(int64_t)) {
            int64_t a, b;
            memcpy(&a, (const char *)found + at, sizeof a);
            memcpy(&b, (const char *)want + at, sizeof b);
            if (a != b)
                test_failed(__FILE__, __LINE__, "%s: %s[%zu] is %lld, not %lld", want->file,
                            fields[i].name, (at - fields[i].from) / sizeof a, (long long)a,
                            (long long)b);
        }
}

TEST(kineto_traces_of_all_years_give_the_independent_figures) {
    for (size_t i = 0; i < FIXTURES; i++) {
        struct status status = {0};
        const char *path = test_fixture(expected[i].file);
        if (!path)
            return;
        struct trace *trace = imported_file(&import_kineto, path, false, &status);
        if (!trace || !load(trace, &status)) {
            test_failed(__FILE__, __LINE__, "%s: %s", expected[i].file, status.message);
            trace_close(trace);
            continue;
        }
        struct expected found = {0};
        count_activities(trace, &found);
        count_host(trace, &found);
        found.span = span_of(trace);
        compare(&expected[i], &found);
        CHECK(text_is(trace_meta(trace, META_SOURCE_FORMAT), "kineto"));
        trace_close(trace);
    }
}
