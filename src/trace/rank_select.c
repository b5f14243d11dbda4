/* Copies the rows of one rank: those of its processes, their threads and queues, and the devices of
 * those queues. Stacks are copied whole: their ids stay. Times are copied with the clock offset
 * applied, so the copy has none. */
#include "trace/rank_select.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "trace/writer.h"

static int64_t number_of(struct text text) {
    int64_t number;
    return text_to_i64(text, &number) && number >= 0 && number < INT32_MAX ? number : -1;
}

static bool session_has_ranked(const struct trace *trace, uint32_t session) {
    for (uint32_t p = 1; p < trace->process.count; p++)
        if (trace->process_session[p] == session && trace->process.rank[p])
            return true;
    return false;
}

static int64_t recorded_rank(const struct trace *trace, uint32_t session) {
    int64_t number = number_of(trace_session_meta(trace, session, META_RANK));
    return number >= 0 ? number : number_of(trace_session_meta(trace, session, META_FILE_RANK));
}

int64_t trace_process_rank(const struct trace *trace, uint32_t process) {
    uint32_t session = trace->process_session[process];
    int64_t number = number_of(trace_text(trace, trace->process.rank[process]));
    if (number >= 0 || session >= trace->session_count || session_has_ranked(trace, session))
        return number;
    return recorded_rank(trace, session);
}

int64_t trace_session_rank(const struct trace *trace, uint32_t session) {
    int64_t only = -1;
    if (!session_has_ranked(trace, session))
        return recorded_rank(trace, session);
    for (uint32_t p = 1; p < trace->process.count; p++) {
        int64_t number = number_of(trace_text(trace, trace->process.rank[p]));
        if (trace->process_session[p] != session || number < 0)
            continue;
        if (only >= 0 && number != only)
            return -1;
        only = number;
    }
    return only;
}

static bool differs(int64_t *first, int64_t rank) {
    bool other = rank >= 0 && *first >= 0 && rank != *first;
    *first = rank >= 0 ? rank : *first;
    return other;
}

bool trace_has_ranks(const struct trace *trace) {
    int64_t first = -1;
    for (uint32_t p = 1; p < trace->process.count; p++)
        if (differs(&first, trace_process_rank(trace, p)))
            return true;
    for (uint32_t s = 0; s < trace->session_count; s++) /* which may have no process */
        if (differs(&first, trace_session_rank(trace, s)))
            return true;
    return false;
}

/* ---- the copy ---- */

struct copying {
    struct trace *trace;
    struct trace_writer *writer;
    bool *keeps[TABLE_STACK]; /* of processes, threads, devices and queues, by id */
    uint32_t *ids[TABLE_STACK + 1];
    uint32_t *strings; /* id in the copy + 1; 0: not yet */
    bool *sessions;    /* that the rank is in */
};

typedef uint32_t write_row(struct trace_writer *writer, const void *row);
#define WRITE_ROW(table, TABLE, fourcc)                                                            \
    static uint32_t write_##table(struct trace_writer *writer, const void *row) {                  \
        return trace_write_##table(writer, row);                                                   \
    }
TRACE_TABLES(WRITE_ROW)
#define WRITE_ENTRY(table, TABLE, fourcc) write_##table,
static write_row *const write_rows[TABLE_COUNT] = {TRACE_TABLES(WRITE_ENTRY)};

static int entity_of(enum column_type type) {
    switch (type) {
    case COLUMN_PROCESS:
        return TABLE_PROCESS;
    case COLUMN_THREAD:
        return TABLE_THREAD;
    case COLUMN_DEVICE:
        return TABLE_DEVICE;
    case COLUMN_QUEUE:
        return TABLE_QUEUE;
    default:
        return -1;
    }
}

static uint32_t copied_string(struct copying *copying, uint32_t id) {
    if (id >= copying->trace->strings.count)
        return 0;
    if (!copying->strings[id])
        copying->strings[id] =
            trace_writer_string(copying->writer, trace_text(copying->trace, id)) + 1;
    return copying->strings[id] - 1;
}

/* Translates one row; false: it belongs to another rank. */
static bool translate(struct copying *copying, unsigned table, size_t row, char *out) {
    const struct table_info *info = &trace_tables[table];
    bool places = false, kept = false;
    for (unsigned c = 0; c < info->column_count; c++) {
        const struct column_info *column = &info->columns[c];
        const char *values = trace_column(copying->trace, table, c);
        char *to = out + column->row_offset;
        int entity = entity_of(column->type);
        uint32_t id = 0;
        memcpy(to, values + row * column->size, column->size);
        if (entity >= 0 || column->type == COLUMN_STRING || column->type == COLUMN_STACK)
            memcpy(&id, to, sizeof id);
        if (column->type == COLUMN_STRING) {
            id = copied_string(copying, id);
            memcpy(to, &id, sizeof id);
        }
        if (entity < 0 || id == 0)
            continue;
        places = true;
        kept |= copying->keeps[entity][id];
        id = copying->keeps[entity][id] ? copying->ids[entity][id] : 0;
        memcpy(to, &id, sizeof id);
    }
    return kept || !places;
}

static bool copy_table(struct copying *copying, unsigned table, struct status *status) {
    _Alignas(8) char row[256];
    size_t count = trace_rows(copying->trace, table);
    bool entity = table < TABLE_STACK;
    if (table >= TABLE_ACTIVITY && !trace_load(copying->trace, table, NULL, status))
        return false;
    for (size_t i = table <= TABLE_STACK ? 1 : 0; i < count; i++) {
        memset(row, 0, sizeof row);
        if ((entity && !copying->keeps[table][i]) || !translate(copying, table, i, row))
            continue;
        uint32_t id = write_rows[table](copying->writer, row);
        if (table <= TABLE_STACK)
            copying->ids[table][i] = id;
    }
    return !trace_writer_failed(copying->writer);
}

static void copy_meta(struct copying *copying) {
    const struct trace *trace = copying->trace;
    char key[256];
    for (size_t i = 0; i < trace->meta.count; i++) {
        struct text name = trace_text(trace, trace->meta.key[i]);
        if (!copying->sessions[trace->meta_session[i]] || text_is(name, META_CLOCK_OFFSET) ||
            name.length >= sizeof key)
            continue;
        memcpy(key, name.data, name.length);
        key[name.length] = 0;
        trace_writer_meta(copying->writer, key, trace_text(trace, trace->meta.value[i]));
    }
}

/* What belongs to the rank. A queue without a process is its session's. */
static bool mark_kept(struct copying *copying, int64_t rank) {
    const struct trace *trace = copying->trace;
    bool any = false;
    for (uint32_t p = 1; p < trace->process.count; p++)
        if (trace_process_rank(trace, p) == rank) {
            copying->keeps[TABLE_PROCESS][p] = any = true;
            copying->sessions[trace->process_session[p]] = true;
        }
    for (uint32_t s = 0; s < trace->session_count; s++)
        if (trace_session_rank(trace, s) == rank)
            copying->sessions[s] = any = true;
    for (uint32_t t = 1; t < trace->thread.count; t++)
        copying->keeps[TABLE_THREAD][t] = copying->keeps[TABLE_PROCESS][trace->thread.process[t]];
    for (uint32_t q = 1; q < trace->queue.count; q++) {
        uint32_t process = trace->queue.process[q];
        uint32_t session = trace->queue_session[q];
        bool kept =
            process ? copying->keeps[TABLE_PROCESS][process]
                    : session < trace->session_count && trace_session_rank(trace, session) == rank;
        copying->keeps[TABLE_QUEUE][q] = kept;
        if (kept)
            copying->keeps[TABLE_DEVICE][trace->queue.device[q]] = true;
    }
    copying->keeps[TABLE_DEVICE][0] = false;
    return any;
}

static bool allocate(struct copying *copying, struct status *status) {
    const struct trace *trace = copying->trace;
    for (unsigned table = TABLE_PROCESS; table <= TABLE_STACK; table++) {
        size_t count = trace_rows(trace, table) + 1;
        copying->ids[table] = memory_allocate(count, sizeof **copying->ids, status);
        if (table < TABLE_STACK)
            copying->keeps[table] = memory_allocate(count, sizeof **copying->keeps, status);
        if (!copying->ids[table] || (table < TABLE_STACK && !copying->keeps[table]))
            return false;
    }
    copying->strings = memory_allocate(trace->strings.count + 1, sizeof *copying->strings, status);
    copying->sessions =
        memory_allocate(trace->session_count + 1u, sizeof *copying->sessions, status);
    return copying->strings && copying->sessions;
}

static bool copy_rank(struct copying *copying, struct status *status) {
    copy_meta(copying);
    for (unsigned table = TABLE_PROCESS; table < TABLE_COUNT; table++)
        if (!copy_table(copying, table, status))
            break;
    return trace_writer_finish(copying->writer, status);
}

bool trace_select_rank(struct trace *trace, int64_t rank, int fd, struct status *status) {
    struct copying copying = {.trace = trace};
    bool ok = allocate(&copying, status);
    if (ok && !mark_kept(&copying, rank))
        ok = status_fail(status, STATUS_USAGE, "there is no rank %lld in this trace",
                         (long long)rank);
    if (ok) {
        copying.writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = 1}, status);
        ok = copying.writer && copy_rank(&copying, status);
    }
    trace_writer_destroy(copying.writer);
    for (unsigned table = TABLE_PROCESS; table <= TABLE_STACK; table++) {
        memory_free(copying.ids[table]);
        if (table < TABLE_STACK)
            memory_free(copying.keeps[table]);
    }
    memory_free(copying.strings);
    memory_free(copying.sessions);
    return ok;
}
