/* What was the host doing? NVTX ranges and marks, calls of traced libraries (OS runtime, MPI,
 * cuBLAS,
 * ...) and the profiler's own overhead become ranges, each with its library or NVTX domain. A range
 * that was open when the capture stopped ends with the capture. Sampled call chains become stacks,
 * shared as a tree. */
#include "base/array.h"
#include "import/nsys/nsys.h"

#include <stdio.h>

#include "base/json_write.h"
#include "trace/nvtx_operator.h"

enum nvtx_type {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTXT_MARK = 65,
    NVTXT_PUSH_POP = 70,
    NVTXT_START_END = 71,
};

static bool is_range(int64_t type) {
    return type == NVTX_PUSH_POP || type == NVTX_START_END || type == NVTXT_PUSH_POP ||
           type == NVTXT_START_END;
}

/* Domain numbers are unique within a process. */
struct domain_key {
    uint64_t process;
    int64_t domain;
};

struct domains {
    struct intern keys;
    uint32_t *names; /* by id of keys */
    size_t capacity;
};

static struct domain_key domain_key_of(int64_t global, int64_t domain) {
    return (struct domain_key){(uint64_t)global >> 24, domain};
}

#define NVTX_COLUMNS "start end eventType globalTid domainId text textId jsonText jsonTextId"
enum { START, END, TYPE, THREAD, DOMAIN, NAME, NAME_ID, JSON, JSON_ID };

static bool nvtx_text(struct nsys *nsys, const struct sqlite_rows *rows, uint32_t *name,
                      struct status *status) {
    return sqlite_strings_column(&nsys->strings, rows, NAME, name, status) &&
           (*name != 0 || sqlite_strings_column(&nsys->strings, rows, NAME_ID, name, status));
}

static bool load_domains(struct nsys *nsys, struct domains *domains, struct status *status) {
    struct sqlite_rows rows;
    if (!sqlite_source_has_column(&nsys->source, "NVTX_EVENTS", "eventType"))
        return true;
    sqlite_rows_open(&rows, &nsys->source, "NVTX_EVENTS", NVTX_COLUMNS, "eventType = 75", status);
    while (sqlite_rows_next(&rows, status)) {
        uint32_t place, name;
        struct domain_key key = domain_key_of(sqlite_rows_integer(&rows, THREAD, 0),
                                              sqlite_rows_integer(&rows, DOMAIN, 0));
        rows.failed = !nvtx_text(nsys, &rows, &name, status) ||
                      !intern_add(&domains->keys, (struct text){(const char *)&key, sizeof key},
                                  &place, status) ||
                      !GROW(domains->names, &domains->capacity, (size_t)place + 1, status);
        if (!rows.failed)
            domains->names[place] = name;
    }
    return sqlite_rows_close(&rows);
}

static uint32_t domain_name(const struct domains *domains, int64_t global, int64_t domain) {
    struct domain_key key = domain_key_of(global, domain);
    uint32_t place = intern_find(&domains->keys, (struct text){(const char *)&key, sizeof key});
    return place == UINT32_MAX ? 0 : domains->names[place];
}

static bool write_mark(struct nsys *nsys, struct sqlite_rows *rows, const struct row_range *range,
                       struct status *status) {
    struct row_mark row = {.thread = range->thread,
                           .name = range->name,
                           .domain = range->domain,
                           .detail = range->detail};
    if (!sqlite_rows_time(rows, nsys->options, nsys->writer, &row.time, status))
        return !rows->failed;
    trace_write_mark(nsys->writer, &row);
    return true;
}

/* Splits the name of an operator; the numbers become the detail. */
static bool split_operator(struct nsys *nsys, const struct sqlite_rows *rows, struct row_range *row,
                           struct status *status) {
    struct text text = sqlite_rows_text(rows, NAME);
    if (text.length == 0 && sqlite_rows_is_integer(rows, NAME_ID) &&
        !sqlite_strings_text(&nsys->strings, sqlite_rows_integer(rows, NAME_ID, 0), &text, status))
        return false;
    size_t length = nvtx_operator(text, &row->sequence);
    if (length == 0)
        return true;
    struct buffer detail = {0};
    struct output output = output_into(&detail);
    struct json json = {.output = &output};
    json_begin_object(&json);
    json_member_text(&json, "nvtx",
                     (struct text){text.data + length + 2, text.length - length - 2});
    json_end_object(&json);
    row->category = RANGE_OP;
    row->name = trace_writer_string(nsys->writer, (struct text){text.data, length});
    if (row->detail == 0)
        row->detail = trace_writer_string(nsys->writer, buffer_as_text(&detail));
    bool ok = buffer_ok(&detail, status);
    buffer_finish(&detail);
    return ok;
}

/* Sets the fields that ranges and marks share. */
static bool describe_annotation(struct nsys *nsys, const struct sqlite_rows *rows,
                                const struct domains *domains, struct row_range *row,
                                struct status *status) {
    int64_t global = sqlite_rows_integer(rows, THREAD, 0);
    row->category = RANGE_ANNOTATION;
    row->domain = domain_name(domains, global, sqlite_rows_integer(rows, DOMAIN, 0));
    return nvtx_text(nsys, rows, &row->name, status) &&
           sqlite_strings_column(&nsys->strings, rows, JSON, &row->detail, status) &&
           (row->detail != 0 ||
            sqlite_strings_column(&nsys->strings, rows, JSON_ID, &row->detail, status)) &&
           nsys_thread(nsys, global, &row->thread, status) &&
           split_operator(nsys, rows, row, status);
}

static bool read_annotation(struct nsys *nsys, struct sqlite_rows *rows,
                            const struct domains *domains, uint64_t *open, struct status *status) {
    int64_t type = sqlite_rows_integer(rows, TYPE, 0);
    struct row_range row = {0};
    bool mark = type == NVTX_MARK || type == NVTXT_MARK;
    if (!mark && !is_range(type))
        return true;
    if (is_range(type) && sqlite_rows_is_null(rows, END)) {
        (*open)++;
        return true;
    }
    if (is_range(type) && !nsys_span(nsys, rows, &row.start, &row.duration, status))
        return !rows->failed;
    if (!describe_annotation(nsys, rows, domains, &row, status))
        return false;
    if (mark)
        return write_mark(nsys, rows, &row, status);
    trace_write_range(nsys->writer, &row);
    return true;
}

static bool read_annotations(struct nsys *nsys, const struct domains *domains, uint64_t *open,
                             struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "NVTX_EVENTS", NVTX_COLUMNS, NULL, status);
    while (nsys_next(nsys, &rows, status))
        if (!read_annotation(nsys, &rows, domains, open, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

static bool read_open_annotations(struct nsys *nsys, const struct domains *domains, uint64_t open,
                                  struct status *status) {
    struct sqlite_rows rows;
    char warning[160];
    if (open == 0)
        return true;
    sqlite_rows_open(&rows, &nsys->source, "NVTX_EVENTS", NVTX_COLUMNS, NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct row_range row = {0};
        if (!is_range(sqlite_rows_integer(&rows, TYPE, 0)) || !sqlite_rows_is_null(&rows, END) ||
            !sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.start, status))
            continue;
        row.duration = nsys->last_time > row.start ? nsys->last_time - row.start : 0;
        rows.failed = !describe_annotation(nsys, &rows, domains, &row, status);
        if (!rows.failed)
            trace_write_range(nsys->writer, &row);
    }
    snprintf(warning, sizeof warning,
             "NVTX ranges still open when the capture stopped, closed at its end: %llu",
             (unsigned long long)open);
    trace_writer_meta(nsys->writer, META_WARNING, text_of(warning));
    return sqlite_rows_close(&rows);
}

/* Ranges of one library; the name is in nameId or textId. */
static bool read_library(struct nsys *nsys, const char *table, const char *domain,
                         enum range_category category, struct status *status) {
    enum { LIBRARY_THREAD = 2, LIBRARY_NAME_ID, LIBRARY_TEXT_ID };
    struct sqlite_rows rows;
    uint32_t domain_string = 0;
    sqlite_rows_open(&rows, &nsys->source, table, "start end globalTid nameId textId", NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_range row = {.category = (uint8_t)category};
        if (!nsys_span(nsys, &rows, &row.start, &row.duration, status))
            continue;
        rows.failed =
            !sqlite_strings_column(&nsys->strings, &rows, LIBRARY_NAME_ID, &row.name, status) ||
            (row.name == 0 &&
             !sqlite_strings_column(&nsys->strings, &rows, LIBRARY_TEXT_ID, &row.name, status)) ||
            !nsys_thread(nsys, sqlite_rows_integer(&rows, LIBRARY_THREAD, 0), &row.thread, status);
        if (rows.failed)
            continue;
        if (domain_string == 0)
            domain_string = trace_writer_string(nsys->writer, text_of(domain));
        row.domain = domain_string;
        trace_write_range(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

/* The table has overhead of CUDA itself and of the profiler. */
static bool read_overhead(struct nsys *nsys, struct status *status) {
    enum { OVERHEAD_THREAD = 2, OVERHEAD_NAME_ID, OVERHEAD_TYPE };
    enum { COMPILER = 2, MODULE_LOADING = 6, FUNCTION_LOADING = 7, COMMAND_BUFFER_FULL = 8 };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_OVERHEAD",
                     "start end globalTid nameId overheadType", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_range row = {0};
        int64_t type = sqlite_rows_integer(&rows, OVERHEAD_TYPE, 0);
        bool cuda = type == COMPILER || type == MODULE_LOADING || type == FUNCTION_LOADING ||
                    type == COMMAND_BUFFER_FULL;
        if (!nsys_span(nsys, &rows, &row.start, &row.duration, status))
            continue;
        row.category = cuda ? RANGE_DRIVER : RANGE_OVERHEAD;
        row.domain = trace_writer_string(nsys->writer, cuda ? TEXT("CUDA") : TEXT("CUPTI"));
        rows.failed =
            !sqlite_strings_column(&nsys->strings, &rows, OVERHEAD_NAME_ID, &row.name, status) ||
            !nsys_thread(nsys, sqlite_rows_integer(&rows, OVERHEAD_THREAD, 0), &row.thread, status);
        if (!rows.failed)
            trace_write_range(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

static bool read_libraries(struct nsys *nsys, struct status *status) {
    static const struct {
        const char *table, *domain;
    } libraries[] = {
        {"OSRT_API", "OS runtime"},
        {"CUBLAS_EVENTS", "cuBLAS"},
        {"CUDNN_EVENTS", "cuDNN"},
        {"MPI_P2P_EVENTS", "MPI"},
        {"MPI_COLLECTIVES_EVENTS", "MPI"},
        {"MPI_START_WAIT_EVENTS", "MPI"},
        {"MPI_OTHER_EVENTS", "MPI"},
        {"UCP_EVENTS", "UCX"},
        {"UCP_SUBMIT_EVENTS", "UCX"},
        {"UCP_PROGRESS_EVENTS", "UCX"},
        {"CUPTI_ACTIVITY_KIND_OPENACC_DATA", "OpenACC"},
        {"CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "OpenACC"},
        {"CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "OpenACC"},
        {"OPENMP_EVENT_KIND_PARALLEL", "OpenMP"},
        {"OPENMP_EVENT_KIND_TASK", "OpenMP"},
        {"OPENMP_EVENT_KIND_WORKSHARE", "OpenMP"},
        {"OPENMP_EVENT_KIND_SYNC_REGION", "OpenMP"},
        {"OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "OpenMP"},
        {"OPENMP_EVENT_KIND_MUTEX_WAIT", "OpenMP"},
        {"OPENMP_EVENT_KIND_CRITICAL_SECTION", "OpenMP"},
        {"NVVIDEO_ENCODER_API", "NVENC"},
        {"NVVIDEO_DECODER_API", "NVDEC"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(libraries); i++)
        if (!read_library(nsys, libraries[i].table, libraries[i].domain, RANGE_OTHER, status))
            return false;
    return read_library(nsys, "PROFILER_OVERHEAD", "profiler", RANGE_OVERHEAD, status) &&
           read_overhead(nsys, status);
}

bool nsys_ranges(struct nsys *nsys, struct status *status) {
    struct domains domains = {0};
    uint64_t open = 0;
    bool ok = load_domains(nsys, &domains, status) &&
              read_annotations(nsys, &domains, &open, status) && read_libraries(nsys, status) &&
              read_open_annotations(nsys, &domains, open, status);
    intern_finish(&domains.keys);
    memory_free(domains.names);
    return ok;
}

/* ---- samples ---- */

struct frame {
    int64_t depth; /* 0 is the innermost frame */
    uint32_t function, module;
};

struct stacks {
    struct map by_sample; /* COMPOSITE_EVENTS.id -> stack */
    struct intern nodes;  /* {parent, function, module} */
    uint32_t *ids;        /* by id of nodes -> stack */
    size_t capacity;
    struct frame *chain; /* the current sample's */
    size_t chain_length, chain_capacity;
    int64_t sample;
};

/* Sorts by depth; nearly always sorted already. */
static void sort_chain(struct frame *chain, size_t length) {
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
    sort_chain(stacks->chain, stacks->chain_length);
    for (size_t i = stacks->chain_length; i-- > 0;)
        if (!find_node(nsys, stacks, stack, &stacks->chain[i], &stack, status))
            return false;
    stacks->chain_length = 0;
    return map_set(&stacks->by_sample, (uint64_t)stacks->sample, stack, status);
}

enum { CHAIN_MAX = 4096 };

static bool add_frame(struct nsys *nsys, struct sqlite_rows *rows, struct stacks *stacks,
                      struct status *status) {
    enum { CHAIN_SAMPLE, CHAIN_DEPTH, CHAIN_SYMBOL, CHAIN_MODULE };
    int64_t sample = sqlite_rows_integer(rows, CHAIN_SAMPLE, 0);
    struct frame frame = {.depth = sqlite_rows_integer(rows, CHAIN_DEPTH, 0)};
    if (sample != stacks->sample && !end_chain(nsys, stacks, status))
        return false;
    stacks->sample = sample;
    if (stacks->chain_length == CHAIN_MAX)
        return true; /* outer callers are dropped */
    if (!sqlite_strings_column(&nsys->strings, rows, CHAIN_SYMBOL, &frame.function, status) ||
        !sqlite_strings_column(&nsys->strings, rows, CHAIN_MODULE, &frame.module, status) ||
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
    enum { SAMPLE_TIME, SAMPLE_THREAD, SAMPLE_ID };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "COMPOSITE_EVENTS", "start globalTid id", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_sample row = {0};
        if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
            continue;
        const uint64_t *stack =
            map_find(&stacks->by_sample, (uint64_t)sqlite_rows_integer(&rows, SAMPLE_ID, 0));
        row.stack = stack ? (uint32_t)*stack : 0;
        rows.failed =
            !nsys_thread(nsys, sqlite_rows_integer(&rows, SAMPLE_THREAD, 0), &row.thread, status);
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
