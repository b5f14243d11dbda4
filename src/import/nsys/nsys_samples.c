/* Where was the CPU, and what did the hardware's counters read? Sampled call chains become stacks,
 * shared as a tree; GPU metrics become counters of their device. */
#ifdef RIDGE_HAVE_SQLITE

#include "import/nsys/nsys.h"

#include <stdio.h>

struct frame {
    int64_t depth; /* 0 is where the CPU was, its caller is 1 */
    uint32_t function, module;
};

struct stacks {
    struct map by_sample; /* COMPOSITE_EVENTS.id -> stack */
    struct intern nodes;  /* {parent, function, module} */
    uint32_t *ids;        /* by id of nodes -> stack */
    size_t capacity;
    struct frame *chain; /* of the sample that is being read */
    size_t chain_length, chain_capacity;
    int64_t sample;
};

/* Chains come in order of depth; one that does not is put into it. */
static void order_chain(struct frame *chain, size_t length) {
    for (size_t i = 1; i < length; i++) {
        struct frame frame = chain[i];
        size_t at = i;
        for (; at > 0 && chain[at - 1].depth > frame.depth; at--)
            chain[at] = chain[at - 1];
        chain[at] = frame;
    }
}

static bool find_node(struct nsys *nsys, struct stacks *stacks, uint32_t parent,
                      const struct frame *frame, uint32_t *stack, struct status *status) {
    uint32_t key[3] = {parent, frame->function, frame->module}, place;
    size_t before = stacks->nodes.count;
    if (!intern_add(&stacks->nodes, (struct text){(const char *)key, sizeof key}, &place, status) ||
        !GROW(stacks->ids, &stacks->capacity, (size_t)place + 1, status))
        return false;
    if (stacks->nodes.count > before)
        stacks->ids[place] =
            trace_write_stack(nsys->writer, &(struct row_stack){.parent = parent,
                                                                .function = frame->function,
                                                                .module = frame->module});
    *stack = stacks->ids[place];
    return true;
}

static bool end_chain(struct nsys *nsys, struct stacks *stacks, struct status *status) {
    uint32_t stack = 0;
    if (stacks->chain_length == 0)
        return true;
    order_chain(stacks->chain, stacks->chain_length);
    for (size_t i = stacks->chain_length; i-- > 0;)
        if (!find_node(nsys, stacks, stack, &stacks->chain[i], &stack, status))
            return false;
    stacks->chain_length = 0;
    return map_set(&stacks->by_sample, (uint64_t)stacks->sample, stack, status);
}

enum { CHAIN_LONGEST = 4096 };

static bool add_frame(struct nsys *nsys, struct sqlite_rows *rows, struct stacks *stacks,
                      struct status *status) {
    int64_t sample = sqlite_rows_integer(rows, 0, 0);
    struct frame frame = {.depth = sqlite_rows_integer(rows, 1, 0)};
    if (sample != stacks->sample && !end_chain(nsys, stacks, status))
        return false;
    stacks->sample = sample;
    if (stacks->chain_length == CHAIN_LONGEST)
        return true; /* deeper callers are cut off */
    if (!sqlite_strings_column(&nsys->strings, rows, 2, &frame.function, status) ||
        !sqlite_strings_column(&nsys->strings, rows, 3, &frame.module, status) ||
        !GROW(stacks->chain, &stacks->chain_capacity, stacks->chain_length + 1, status))
        return false;
    stacks->chain[stacks->chain_length++] = frame;
    return true;
}

static bool load_stacks(struct nsys *nsys, struct stacks *stacks, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "SAMPLING_CALLCHAINS", "id stackDepth symbol module",
                     NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        rows.failed = !add_frame(nsys, &rows, stacks, status);
        if (trace_writer_failed(nsys->writer))
            break;
    }
    if (!rows.failed)
        rows.failed = !end_chain(nsys, stacks, status);
    return sqlite_rows_close(&rows);
}

static bool write_samples(struct nsys *nsys, const struct stacks *stacks, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "COMPOSITE_EVENTS", "start globalTid id", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_sample row = {0};
        if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
            continue;
        const uint64_t *stack =
            map_find(&stacks->by_sample, (uint64_t)sqlite_rows_integer(&rows, 2, 0));
        row.stack = stack ? (uint32_t)*stack : 0;
        rows.failed = !nsys_thread(nsys, sqlite_rows_integer(&rows, 1, 0), &row.thread, status);
        if (!rows.failed)
            trace_write_sample(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

bool nsys_samples(struct nsys *nsys, struct status *status) {
    struct stacks stacks = {0};
    if (!sqlite_source_has_table(&nsys->source, "COMPOSITE_EVENTS"))
        return true;
    bool ok = load_stacks(nsys, &stacks, status) && write_samples(nsys, &stacks, status);
    map_finish(&stacks.by_sample);
    intern_finish(&stacks.nodes);
    memory_free(stacks.ids);
    memory_free(stacks.chain);
    return ok;
}

struct metric_key {
    int64_t type, metric;
};

struct metrics {
    struct intern keys;
    uint32_t *names; /* by id of keys */
    size_t capacity;
};

static bool load_metrics(struct nsys *nsys, struct metrics *metrics, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_GPU_METRICS", "typeId metricId metricName",
                     NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct metric_key key = {sqlite_rows_integer(&rows, 0, 0),
                                 sqlite_rows_integer(&rows, 1, 0)};
        uint32_t place, name;
        rows.failed = !sqlite_strings_column(&nsys->strings, &rows, 2, &name, status) ||
                      !intern_add(&metrics->keys, (struct text){(const char *)&key, sizeof key},
                                  &place, status) ||
                      !GROW(metrics->names, &metrics->capacity, (size_t)place + 1, status);
        if (!rows.failed)
            metrics->names[place] = name;
    }
    return sqlite_rows_close(&rows);
}

static uint32_t metric_name(struct nsys *nsys, const struct metrics *metrics,
                            struct metric_key key) {
    uint32_t place = intern_find(&metrics->keys, (struct text){(const char *)&key, sizeof key});
    if (place != UINT32_MAX && metrics->names[place])
        return metrics->names[place];
    char name[40];
    snprintf(name, sizeof name, "metric %lld", (long long)key.metric);
    return trace_writer_string(nsys->writer, text_of(name));
}

/* The low byte of the type is the board's number. */
bool nsys_counters(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    struct metrics metrics = {0};
    bool ok = load_metrics(nsys, &metrics, status);
    if (ok) {
        sqlite_rows_open(&rows, &nsys->source, "GPU_METRICS", "timestamp typeId metricId value",
                         NULL, status);
        while (nsys_next(nsys, &rows, status)) {
            struct metric_key key = {sqlite_rows_integer(&rows, 1, 0),
                                     sqlite_rows_integer(&rows, 2, 0)};
            struct row_counter row = {.value = sqlite_rows_number(&rows, 3)};
            if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
                continue;
            row.name = metric_name(nsys, &metrics, key);
            row.device = nsys_board_device(nsys, key.type & 0xFF);
            trace_write_counter(nsys->writer, &row);
        }
        ok = sqlite_rows_close(&rows);
    }
    intern_finish(&metrics.keys);
    memory_free(metrics.names);
    return ok;
}

#else
typedef int nsys_samples_needs_sqlite;
#endif
