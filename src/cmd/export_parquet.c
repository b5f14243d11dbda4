/* Parquet: one table as a file, or all events in a folder that is partitioned as Hive does it,
 *
 *   DIR/rank=0/step=12/activity.parquet
 *
 * so that readers skip ranks and steps that a query does not ask for. Steps are those of the
 * report, found in each rank by itself. The folder of a rank appears when all of it is written. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* nftw() */
#endif
#include "cmd/export_parquet.h"

#include <errno.h>
#include <ftw.h>
#include <ridge.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/model.h"
#include "analysis/steps.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/temporary.h"
#include "export/export.h"
#include "export/parquet.h"
#include "trace/rank_select.h"

/* Hive's name of a partition whose key is null. */
#define NULL_PARTITION "__HIVE_DEFAULT_PARTITION__"

/* ---- ranks ---- */

/* One rank of a job, or a trace without ranks. */
struct rank_trace {
    struct trace *trace;
    int64_t rank; /* -1: unknown */
    struct model model;
    struct steps steps;
};

/* Does something with one rank. */
typedef bool rank_visitor(void *context, struct rank_trace *rank, struct status *status);

static bool visit_trace(struct trace *trace, int64_t number, rank_visitor *visit, void *context,
                        struct status *status) {
    struct rank_trace rank = {.trace = trace, .rank = number};
    if (!model_build(&rank.model, trace, status))
        return false;
    bool ok = steps_find(&rank.model, NULL, &rank.steps, status);
    if (ok && rank.model.mixed_clocks)
        rank.steps.count = 0; /* those of one recording do not hold for the others */
    ok = ok && visit(context, &rank, status);
    steps_finish(&rank.steps);
    model_finish(&rank.model);
    return ok;
}

static bool visit_rank(struct trace *trace, int64_t number, rank_visitor *visit, void *context,
                       struct status *status) {
    struct trace *selected = NULL;
    char *name;
    int fd;
    if (!temporary_file(&name, &fd, status))
        return false;
    temporary_remove(name);
    bool ok = trace_select_rank(trace, number, fd, status) &&
              trace_open_fd(fd, "the selected rank", &selected, status) &&
              visit_trace(selected, number, visit, context, status);
    trace_close(selected);
    close(fd);
    return ok;
}

/* The smallest rank above `last`, or -1. */
static int64_t next_rank(const struct trace *trace, int64_t last) {
    int64_t next = -1;
    for (uint32_t p = 1; p < trace->process.count; p++) {
        int64_t rank = trace_process_rank(trace, p);
        if (rank > last && (next < 0 || rank < next))
            next = rank;
    }
    for (uint32_t s = 0; s < trace->session_count; s++) { /* which may have no process */
        int64_t rank = trace_session_rank(trace, s);
        if (rank > last && (next < 0 || rank < next))
            next = rank;
    }
    return next;
}

static bool visit_ranks(struct trace *trace, rank_visitor *visit, void *context,
                        struct status *status) {
    if (!trace_has_ranks(trace))
        return visit_trace(trace, next_rank(trace, -1), visit, context, status);
    bool ok = true;
    for (int64_t rank = next_rank(trace, -1); ok && rank >= 0; rank = next_rank(trace, rank))
        ok = visit_rank(trace, rank, visit, context, status);
    return ok;
}

/* ---- rows ---- */

/* The rows of a table, in order of their steps. */
struct rows {
    uint32_t *step;  /* by row, counted from 1; 0 = none */
    uint32_t *order; /* the rows */
    size_t count;
    size_t *first; /* by step: where its rows begin in `order`; and the end of the last */
};

static void rows_finish(struct rows *rows) {
    memory_free(rows->step);
    memory_free(rows->order);
    memory_free(rows->first);
    *rows = (struct rows){0};
}

static bool is_entities(enum trace_table table) {
    return table < TABLE_ACTIVITY;
}

/* The step of a row; 0 = none. Metrics may be those of another run. */
static size_t step_of_row(const struct rank_trace *rank, enum trace_table table, size_t row) {
    if (is_entities(table) || table == TABLE_METRIC)
        return 0;
    const int64_t *times = trace_column(rank->trace, table, 0);
    size_t step = table == TABLE_ACTIVITY ? steps_of_activity(&rank->model, &rank->steps, row)
                                          : steps_at(&rank->steps, times[row]);
    return step == SIZE_MAX ? 0 : step + 1;
}

static bool rows_find(struct rows *rows, const struct rank_trace *rank, enum trace_table table,
                      struct status *status) {
    size_t none = is_entities(table) && table != TABLE_META; /* row 0 */
    size_t end = trace_rows(rank->trace, table), steps = rank->steps.count;
    *rows = (struct rows){.count = end > none ? end - none : 0};
    rows->step = memory_allocate(end, sizeof *rows->step, status);
    rows->order = memory_allocate(end, sizeof *rows->order, status);
    rows->first = memory_allocate(steps + 3, sizeof *rows->first, status);
    if (!rows->step || !rows->order || !rows->first) {
        rows_finish(rows);
        return false;
    }
    size_t *next = rows->first + 1; /* a counting sort: next[s + 1] becomes first[s + 1] */
    for (size_t row = none; row < end; row++) {
        rows->step[row] = (uint32_t)step_of_row(rank, table, row);
        next[rows->step[row] + 1]++;
    }
    for (size_t s = 1; s <= steps + 1; s++)
        next[s] += next[s - 1];
    for (size_t row = none; row < end; row++)
        rows->order[next[rows->step[row]]++] = (uint32_t)row;
    return true;
}

/* ---- a file ---- */

static bool add_rows(void *context, struct rank_trace *rank, struct status *status) {
    struct parquet_table *table = context;
    struct rows rows;
    if (!trace_load(rank->trace, table->table, NULL, status) ||
        !rows_find(&rows, rank, table->table, status))
        return false;
    struct parquet_part part = {rows.order, rows.count, rank->rank, rows.step};
    bool ok = parquet_table_rows(table, rank->trace, &part, status);
    rows_finish(&rows);
    return ok;
}

static bool export_file(struct trace *trace, const struct parquet_request *request,
                        struct status *status) {
    struct parquet_table table;
    struct output output;
    if (!output_open(&output, request->path, request->replace, status))
        return false;
    unsigned keys = PARQUET_RANK | (is_entities(request->table) ? 0 : PARQUET_STEP);
    bool ok = parquet_table_begin(&table, request->table, keys, &output, status);
    if (ok) {
        ok = visit_ranks(trace, add_rows, &table, status) &&
             parquet_table_end(&table, ridge_version(), status);
        parquet_table_finish(&table);
    }
    return output_close(&output, ok, status);
}

/* ---- a folder ---- */

struct folder {
    const struct parquet_request *request;
    struct text path; /* without slashes at the end */
    char root[4096];  /* of the rank that is being written */
};

static bool make_folder(const char *path, struct status *status) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ||
           status_fail_errno(status, "cannot create the folder %s", path);
}

/* With its parents. */
static bool make_folders(const char *path, struct status *status) {
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1; *slash; slash++)
        if (*slash == '/') {
            *slash = 0;
            if (!make_folder(part, status))
                return false;
            *slash = '/';
        }
    return make_folder(part, status);
}

/* Whether an export makes entries of that name: no other file is ever removed. */
static bool is_exported(const char *path, bool folder) {
    const char *name = strrchr(path, '/') + 1, *suffix = strstr(name, ".parquet");
    if (folder)
        return strncmp(name, "step=", 5) == 0;
    for (unsigned table = 0; suffix && table < TABLE_COUNT; table++)
        if (strlen(trace_tables[table].name) == (size_t)(suffix - name) &&
            strncmp(trace_tables[table].name, name, (size_t)(suffix - name)) == 0)
            return true;
    return false;
}

static int find_foreign(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    return place->level > 0 && !is_exported(path, kind == FTW_DP || kind == FTW_D);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

/* Removes an earlier export of a rank; true when there is none. */
static bool remove_export(const char *path, struct status *status) {
    enum { DESCRIPTORS = 16 };
    if (access(path, F_OK) != 0)
        return true;
    if (nftw(path, find_foreign, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) != 0)
        return status_fail(status, STATUS_IO,
                           "%s has files that are not an export's; remove them, or choose another "
                           "folder",
                           path);
    return nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 ||
           status_fail_errno(status, "cannot remove %s", path);
}

static bool write_partition(const char *folder, enum trace_table which, unsigned keys,
                            const struct rank_trace *rank, const struct parquet_part *part,
                            struct status *status) {
    char path[4200];
    struct parquet_table table;
    struct output output;
    snprintf(path, sizeof path, "%s/%s.parquet", folder, trace_tables[which].name);
    if (!make_folder(folder, status) || !output_open(&output, path, true, status))
        return false;
    bool ok = parquet_table_begin(&table, which, keys, &output, status);
    if (ok) {
        ok = parquet_table_rows(&table, rank->trace, part, status) &&
             parquet_table_end(&table, ridge_version(), status);
        parquet_table_finish(&table);
    }
    return output_close(&output, ok, status);
}

static bool write_steps(const struct folder *folder, enum trace_table table,
                        const struct rank_trace *rank, const struct rows *rows,
                        struct status *status) {
    for (size_t step = 0; step <= rank->steps.count; step++) {
        char path[4160];
        size_t first = rows->first[step], end = rows->first[step + 1];
        if (first == end)
            continue;
        if (step == 0)
            snprintf(path, sizeof path, "%s/step=" NULL_PARTITION, folder->root);
        else
            snprintf(path, sizeof path, "%s/step=%zu", folder->root, step);
        struct parquet_part part = {rows->order + first, end - first, rank->rank, rows->step};
        if (!write_partition(path, table, 0, rank, &part, status))
            return false;
    }
    return true;
}

static bool write_table(const struct folder *folder, enum trace_table table,
                        const struct rank_trace *rank, struct status *status) {
    struct rows rows;
    if (!trace_load(rank->trace, table, NULL, status) || !rows_find(&rows, rank, table, status))
        return false;
    struct parquet_part part = {rows.order, rows.count, rank->rank, rows.step};
    bool ok = true;
    if (rows.count > 0 && is_entities(table))
        ok = write_partition(folder->root, table, 0, rank, &part, status);
    else if (rows.count > 0 && !folder->request->by_step)
        ok = write_partition(folder->root, table, PARQUET_STEP, rank, &part, status);
    else if (rows.count > 0)
        ok = write_steps(folder, table, rank, &rows, status);
    rows_finish(&rows);
    if (table > TABLE_CALL) /* the steps of activities need their calls */
        export_unload(rank->trace, table);
    return ok;
}

/* Threads, queues and stacks are in the rows that refer to them. */
static bool is_written(enum trace_table table) {
    return table != TABLE_THREAD && table != TABLE_QUEUE && table != TABLE_STACK;
}

static bool write_tables(const struct folder *folder, const struct rank_trace *rank,
                         struct status *status) {
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        if (is_written(table) && !write_table(folder, table, rank, status))
            return false;
    return true;
}

static bool write_rank(void *context, struct rank_trace *rank, struct status *status) {
    struct folder *folder = context;
    char name[40] = NULL_PARTITION, final[4096];
    if (rank->rank >= 0)
        snprintf(name, sizeof name, "%lld", (long long)rank->rank);
    int length = snprintf(final, sizeof final, "%.*s/rank=%s", TEXT_ARGS(folder->path), name);
    if (length < 0 || length >= (int)sizeof final - 64)
        return status_fail(status, STATUS_USAGE, "the path of the folder is too long");
    snprintf(folder->root, sizeof folder->root, "%.*s/.rank=%s.tmp", TEXT_ARGS(folder->path), name);
    if (!folder->request->replace && access(final, F_OK) == 0)
        return status_fail(status, STATUS_IO, "%s exists; add -f to replace it", final);
    return remove_export(folder->root, status) && make_folder(folder->root, status) &&
           write_tables(folder, rank, status) && remove_export(final, status) &&
           (rename(folder->root, final) == 0 ||
            status_fail_errno(status, "cannot rename %s to %s", folder->root, final));
}

static bool export_folder(struct trace *trace, const struct parquet_request *request,
                          struct status *status) {
    struct folder folder = {.request = request, .path = text_of(request->path)};
    struct status ignored = {0};
    bool existed = access(request->path, F_OK) == 0;
    while (folder.path.length > 1 && folder.path.data[folder.path.length - 1] == '/')
        folder.path.length--;
    if (!make_folders(request->path, status))
        return false;
    bool ok = visit_ranks(trace, write_rank, &folder, status);
    if (!ok && *folder.root)
        remove_export(folder.root, &ignored);
    if (!ok && !existed)
        rmdir(request->path); /* if it is empty */
    return ok;
}

/* ---- the command ---- */

bool parquet_is_folder(const char *path) {
    struct stat info;
    return path && *path &&
           (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

bool parquet_export(struct trace *trace, const struct parquet_request *request,
                    struct status *status) {
    if (parquet_is_folder(request->path))
        return export_folder(trace, request, status);
    return export_file(trace, request, status);
}
