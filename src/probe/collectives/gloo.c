/* gloo, the CPU backend of torch.distributed: functions of C++ that take a reference to their
 * options. Each begins with the context: a virtual table, the rank and the size. The offsets of
 * sizes and tags are those of gloo since 2019; what is read is checked, and unknown where it is
 * implausible. A tag counts the operations of a process group in torch.distributed. */
#ifdef __linux__
#include "probe/collectives/collectives.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { CONTEXTS_MAX = 64, RANKS_MAX = 1 << 20, NONE = 0, GROUP_NAME = 32 };

/* Offsets into the options; NONE: not there. */
struct layout {
    uint8_t tag, elements, element_size, root, output;
    uint8_t segment; /* where a constant of 1 MiB stands, if the layout is the expected one */
};

struct operation {
    const char *symbol, *name, *operation;
    struct layout layout;
    void *_Atomic real;
};

enum {
    ALLREDUCE,
    BROADCAST,
    BARRIER,
    ALLGATHER,
    ALLGATHERV,
    REDUCE,
    GATHER,
    SCATTER,
    ALLTOALL,
    ALLTOALLV
};

static struct operation operations[] = {
    [ALLREDUCE] = {"_ZN4gloo9allreduceERKNS_16AllreduceOptionsE",
                   "gloo::allreduce",
                   "allreduce",
                   {136, 80, 88, NONE, NONE, 128},
                   NULL},
    [BROADCAST] = {"_ZN4gloo9broadcastERNS_16BroadcastOptionsE",
                   "gloo::broadcast",
                   "broadcast",
                   {52, 32, 40, 48, NONE, NONE},
                   NULL},
    [BARRIER] = {"_ZN4gloo7barrierERNS_14BarrierOptionsE",
                 "gloo::barrier",
                 "barrier",
                 {24, NONE, NONE, NONE, NONE, NONE},
                 NULL},
    [ALLGATHER] = {"_ZN4gloo9allgatherERNS_16AllgatherOptionsE",
                   "gloo::allgather",
                   "allgather",
                   {40, NONE, 32, NONE, 24, NONE},
                   NULL},
    [ALLGATHERV] = {"_ZN4gloo10allgathervERNS_17AllgathervOptionsE",
                    "gloo::allgatherv",
                    "allgather",
                    {64, NONE, 56, NONE, 24, NONE},
                    NULL},
    [REDUCE] = {"_ZN4gloo6reduceERNS_13ReduceOptionsE",
                "gloo::reduce",
                "reduce",
                {88, 32, 40, 48, NONE, 96},
                NULL},
    [GATHER] = {"_ZN4gloo6gatherERNS_13GatherOptionsE",
                "gloo::gather",
                "gather",
                {44, NONE, 32, 40, NONE, NONE},
                NULL},
    [SCATTER] = {"_ZN4gloo7scatterERNS_14ScatterOptionsE",
                 "gloo::scatter",
                 "scatter",
                 {60, NONE, 48, 56, NONE, NONE},
                 NULL},
    [ALLTOALL] = {"_ZN4gloo8alltoallERNS_15AlltoallOptionsE",
                  "gloo::alltoall",
                  "alltoall",
                  {40, NONE, 32, NONE, 24, NONE},
                  NULL},
    [ALLTOALLV] = {"_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE",
                   "gloo::alltoallv",
                   "alltoall",
                   {NONE, NONE, NONE, NONE, NONE, NONE},
                   NULL},
};

struct context {
    const void *table;
    int32_t rank, size;
};

/* A group is numbered when the process first uses it. */
static const void *_Atomic contexts[CONTEXTS_MAX];

static unsigned context_number(const void *context) {
    for (unsigned i = 0; i < CONTEXTS_MAX; i++) {
        const void *none = NULL;
        if (atomic_load(&contexts[i]) == context ||
            atomic_compare_exchange_strong(&contexts[i], &none, context) || none == context)
            return i + 1;
    }
    return 0;
}

static uint64_t word_at(const char *options, unsigned offset) {
    uint64_t word;
    memcpy(&word, options + offset, sizeof word);
    return word;
}

static int32_t int_at(const char *options, unsigned offset) {
    int32_t value;
    memcpy(&value, options + offset, sizeof value);
    return value;
}

/* gloo's buffers begin with a virtual table, an address and a size. */
static uint64_t buffer_size(const char *options, unsigned offset) {
    const char *buffer = (const char *)(uintptr_t)word_at(options, offset);
    return buffer ? word_at(buffer, 16) : UINT64_MAX;
}

static uint64_t read_bytes(const struct layout *layout, const char *options) {
    uint64_t size = layout->element_size ? word_at(options, layout->element_size) : 0, bytes;
    if (size == 0 || size > 16)
        return UINT64_MAX;
    if (layout->output)
        return buffer_size(options, layout->output);
    if (!layout->elements)
        return UINT64_MAX;
    return __builtin_mul_overflow(word_at(options, layout->elements), size, &bytes) ? UINT64_MAX
                                                                                    : bytes;
}

static void read_options(const struct operation *operation, const char *options,
                         struct collective_event *event, char group[GROUP_NAME]) {
    const struct layout *layout = &operation->layout;
    const struct context *context = (const void *)(uintptr_t)word_at(options, 0);
    bool plausible = context && context->size > 0 && context->size <= RANKS_MAX &&
                     context->rank >= 0 && context->rank < context->size;
    if (plausible) {
        snprintf(group, GROUP_NAME, "gloo %u", context_number(context));
        event->group = group;
        event->group_rank = context->rank;
        event->group_size = (uint32_t)context->size;
    }
    if (layout->segment && word_at(options, layout->segment) != 1 << 20)
        return;
    event->bytes = read_bytes(layout, options);
    if (layout->tag && plausible)
        event->sequence = (uint64_t)(uint32_t)int_at(options, layout->tag) + 1;
    if (layout->root && plausible && int_at(options, layout->root) < context->size)
        event->root = int_at(options, layout->root);
}

static void pass_on(unsigned number, void *options, const void *caller) {
    struct operation *operation = &operations[number];
    void (*real)(void *);
    void *found = atomic_load_explicit(&operation->real, memory_order_relaxed);
    char group[GROUP_NAME];
    if (!found) {
        found = collectives_find(operation->symbol, caller);
        atomic_store_explicit(&operation->real, found, memory_order_relaxed);
    }
    if (!found)
        return; /* no gloo: then nobody calls this */
    *(void **)&real = found;
    struct collective_event event = {.name = operation->name,
                                     .library = "gloo",
                                     .operation = operation->operation,
                                     .bytes = UINT64_MAX,
                                     .group_rank = -1,
                                     .root = -1,
                                     .peer = -1};
    read_options(operation, options, &event, group);
    event.start = clock_now();
    real(options);
    event.end = clock_now();
    ridge_probe_collective(&event);
}

#define GLOO(number, function, symbol)                                                             \
    void function(void *options) __asm__(symbol) __attribute__((visibility("default")));           \
    void function(void *options) {                                                                 \
        pass_on(number, options, __builtin_return_address(0));                                     \
    }

GLOO(ALLREDUCE, gloo_allreduce, "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")
GLOO(BROADCAST, gloo_broadcast, "_ZN4gloo9broadcastERNS_16BroadcastOptionsE")
GLOO(BARRIER, gloo_barrier, "_ZN4gloo7barrierERNS_14BarrierOptionsE")
GLOO(ALLGATHER, gloo_allgather, "_ZN4gloo9allgatherERNS_16AllgatherOptionsE")
GLOO(ALLGATHERV, gloo_allgatherv, "_ZN4gloo10allgathervERNS_17AllgathervOptionsE")
GLOO(REDUCE, gloo_reduce, "_ZN4gloo6reduceERNS_13ReduceOptionsE")
GLOO(GATHER, gloo_gather, "_ZN4gloo6gatherERNS_13GatherOptionsE")
GLOO(SCATTER, gloo_scatter, "_ZN4gloo7scatterERNS_14ScatterOptionsE")
GLOO(ALLTOALL, gloo_alltoall, "_ZN4gloo8alltoallERNS_15AlltoallOptionsE")
GLOO(ALLTOALLV, gloo_alltoallv, "_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE")
#else
typedef int gloo_is_interposed_on_linux_only;
#endif
