/* One SQLite module for all tables of the schema. The planner can choose a row by its id, rows by
 * the value of a column (value_index), rows by time (sorted once), or all rows. Results are always
 * a superset that SQLite filters again, so collations and unusual types cannot make an answer
 * wrong. */
#include "query/tables.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/text.h"
#include "query/index.h"
#include "trace/launch.h"

enum plan { PLAN_SCAN, PLAN_ID, PLAN_VALUE, PLAN_TIME };
enum { PLAN_MASK = 0xF, PLAN_LOW = 0x10, PLAN_HIGH = 0x20, PLAN_COLUMN_SHIFT = 8 };

struct table_handle {
    sqlite3_vtab base;
    struct table_source *source;
};

struct table_cursor {
    sqlite3_vtab_cursor base;
    enum plan plan;
    size_t at, to;         /* rows, or positions in the order for PLAN_TIME; at == to: end */
    const uint32_t *order; /* PLAN_TIME: NULL when rows are in order */
    const uint32_t *next;  /* PLAN_VALUE: the chain */
};

static struct table_source *source_of(sqlite3_vtab *table) {
    return ((struct table_handle *)table)->source;
}

static size_t rows_end(const struct table_source *source) {
    return trace_rows(source->trace, source->shown.table);
}

/* Row 0 of an entity table is "none" and skipped. */
static size_t rows_first(const struct table_source *source) {
    enum trace_table table = source->shown.table;
    return table >= TABLE_PROCESS && table <= TABLE_STACK;
}

void table_source_init(struct table_source *source, struct trace *trace, enum trace_table table) {
    *source = (struct table_source){.trace = trace};
    shown_table_init(&source->shown, table);
}

void table_source_finish(struct table_source *source) {
    for (unsigned column = 0; column < source->shown.column_count; column++)
        value_index_finish(&source->by_value[column]);
    memory_free(source->by_time);
    memory_free(source->launch);
    *source = (struct table_source){0};
}

size_t table_source_rows(const struct table_source *source) {
    return rows_end(source) - rows_first(source);
}

static const struct column_info *stored_info(const struct table_source *source, unsigned column) {
    return &trace_tables[source->shown.table].columns[source->shown.columns[column].stored];
}

static int failed(sqlite3_vtab *table, const struct status *status) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", status->message);
    return status->code == STATUS_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

/* ---- values ---- */

/* The values of a column, loaded on first use; NULL on failure. *size is the bytes per value. */
static const void *values_of(struct table_source *source, unsigned column, size_t *size,
                             struct status *status) {
    const struct shown_column *about = &source->shown.columns[column];
    struct trace *trace = source->trace;
    *size = sizeof(uint32_t);
    if (about->kind == SHOWN_LAUNCH) {
        if (!source->launch)
            source->launch = launch_find(trace, status);
        return source->launch;
    }
    if (about->kind == SHOWN_SESSION) {
        const uint32_t *const sessions[] = {trace->process_session, trace->thread_session,
                                            trace->device_session, trace->queue_session};
        return sessions[source->shown.table - TABLE_PROCESS];
    }
    const struct column_info *info = stored_info(source, column);
    const void *values = trace_column(trace, source->shown.table, about->stored);
    *size = info->size;
    if (!values && trace_load(trace, source->shown.table, info->name, status))
        values = trace_column(trace, source->shown.table, about->stored);
    return values;
}

static bool is_absent(const struct shown_column *about, uint64_t value) {
    if (about->kind == SHOWN_LAUNCH)
        return value == NO_ROW;
    return (about->absent == ABSENT_ZERO && value == 0) ||
           (about->absent == ABSENT_ALL_ONES && value == UINT64_MAX);
}

/* SQL integers are signed; a larger value becomes text. */
static void give_unsigned(sqlite3_context *context, uint64_t value) {
    if (value <= INT64_MAX) {
        sqlite3_result_int64(context, (sqlite3_int64)value);
    } else {
        char digits[24];
        sqlite3_snprintf(sizeof digits, digits, "%llu", (unsigned long long)value);
        sqlite3_result_text(context, digits, -1, SQLITE_TRANSIENT);
    }
}

static void give_text(sqlite3_context *context, struct text text) {
    sqlite3_result_text64(context, text.data, text.length, SQLITE_STATIC, SQLITE_UTF8);
}

static void give_stored(sqlite3_context *context, const struct table_source *source,
                        unsigned column, const void *values, size_t row) {
    const struct shown_column *about = &source->shown.columns[column];
    const struct column_info *info = stored_info(source, column);
    uint64_t value = index_value(values, info->size, row);
    if (is_absent(about, value))
        sqlite3_result_null(context);
    else if (about->name_of)
        give_text(context, text_of(about->name_of((unsigned)value)));
    else if (info->type == COLUMN_STRING)
        give_text(context, trace_text(source->trace, (uint32_t)value));
    else if (info->type == COLUMN_F64)
        sqlite3_result_double(context, ((const double *)values)[row]);
    else if (info->type == COLUMN_TIME || info->type == COLUMN_I64)
        sqlite3_result_int64(context, (sqlite3_int64)value);
    else
        give_unsigned(context, value);
}

/* Tables with an end have start and duration as their first columns. */
static bool give_end(sqlite3_context *context, struct table_source *source, size_t row,
                     struct status *status) {
    size_t size;
    const int64_t *start = values_of(source, 1, &size, status);
    const int64_t *duration = start ? values_of(source, 2, &size, status) : NULL;
    int64_t end;
    if (!duration)
        return false;
    if (__builtin_add_overflow(start[row], duration[row], &end))
        end = INT64_MAX;
    sqlite3_result_int64(context, end);
    return true;
}

static size_t current_row(const struct table_cursor *cursor) {
    return cursor->plan == PLAN_TIME && cursor->order ? cursor->order[cursor->at] : cursor->at;
}

static int read_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index) {
    struct table_source *source = source_of(base->pVtab);
    unsigned column = (unsigned)index;
    size_t row = current_row((struct table_cursor *)base), size;
    struct status status = {0};
    const void *values = NULL;
    bool ok = true;
    switch (source->shown.columns[column].kind) {
    case SHOWN_ID:
        sqlite3_result_int64(context, (sqlite3_int64)row);
        break;
    case SHOWN_END:
        ok = give_end(context, source, row, &status);
        break;
    case SHOWN_STORED:
        ok = (values = values_of(source, column, &size, &status)) != NULL;
        if (ok)
            give_stored(context, source, column, values, row);
        break;
    case SHOWN_LAUNCH:
    case SHOWN_SESSION:
        ok = (values = values_of(source, column, &size, &status)) != NULL;
        if (ok && !is_absent(&source->shown.columns[column], index_value(values, size, row)))
            sqlite3_result_int64(context, (sqlite3_int64)index_value(values, size, row));
        break;
    }
    if (!ok)
        sqlite3_result_error(context, status.message, -1);
    return ok ? SQLITE_OK : SQLITE_ERROR;
}

/* ---- the plan ---- */

static bool is_time(const struct table_source *source, int column) {
    return column >= 0 && source->shown.columns[column].kind == SHOWN_STORED &&
           stored_info(source, (unsigned)column)->type == COLUMN_TIME;
}

static bool is_id(const struct table_source *source, int column) {
    return column < 0 || source->shown.columns[column].kind == SHOWN_ID;
}

/* The expected number of rows per value; 0: no lookup by value. */
static double rows_per_value(const struct table_source *source, int column, double rows) {
    const struct shown_column *about = &source->shown.columns[column];
    if (about->kind == SHOWN_LAUNCH)
        return 2;
    if (about->kind != SHOWN_STORED)
        return 0;
    if (about->name_of)
        return rows / 3 + 1;
    switch (stored_info(source, (unsigned)column)->type) {
    case COLUMN_U64:
        return 4;
    case COLUMN_STRING:
        return rows / 50 + 1;
    case COLUMN_PROCESS:
    case COLUMN_THREAD:
    case COLUMN_DEVICE:
    case COLUMN_QUEUE:
    case COLUMN_STACK:
        return rows / 8 + 1;
    case COLUMN_I64:
    case COLUMN_U32:
    case COLUMN_U8:
        return rows / 20 + 1;
    default:
        return 0;
    }
}

/* Text lookups compare bytes, which is wrong for other collations. */
static bool compares_bytes(sqlite3_index_info *info, int constraint) {
#if SQLITE_VERSION_NUMBER >= 3022000
    const char *collation = sqlite3_vtab_collation(info, constraint);
    return collation && sqlite3_stricmp(collation, "BINARY") == 0;
#else
    (void)info, (void)constraint;
    return false;
#endif
}

struct constraints {
    int equal_id, equal_value, low, high; /* constraints, or -1 */
    double value_rows;
};

static struct constraints find_constraints(const struct table_source *source,
                                           sqlite3_index_info *info, double rows) {
    struct constraints choice = {-1, -1, -1, -1, rows};
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        unsigned char comparison = info->aConstraint[i].op;
        if (!info->aConstraint[i].usable)
            continue;
        if (comparison == SQLITE_INDEX_CONSTRAINT_EQ) {
            if (is_id(source, column)) {
                choice.equal_id = i;
                continue;
            }
            double expected = rows_per_value(source, column, rows);
            if (expected > 0 && compares_bytes(info, i) &&
                (choice.equal_value < 0 || expected < choice.value_rows)) {
                choice.equal_value = i;
                choice.value_rows = expected;
            }
        }
        if (!is_time(source, column))
            continue;
        if (comparison == SQLITE_INDEX_CONSTRAINT_GT || comparison == SQLITE_INDEX_CONSTRAINT_GE)
            choice.low = i;
        if (comparison == SQLITE_INDEX_CONSTRAINT_LT || comparison == SQLITE_INDEX_CONSTRAINT_LE)
            choice.high = i;
    }
    return choice;
}

static void set_plan(sqlite3_index_info *info, int plan, double cost, double rows) {
    info->idxNum = plan;
    info->estimatedCost = cost;
    info->estimatedRows = (sqlite3_int64)rows;
}

/* How many rows lie between two times, or on one side of one. A pair is nearly always a join of
 * short spans ("calls inside a range"), and SQLite should prefer it. */
static double time_rows(const struct constraints *choice, double rows) {
    return choice->low >= 0 && choice->high >= 0 ? rows / 2000 + 5 : rows / 2 + 1;
}

static void plan_by_time(const struct constraints *choice, sqlite3_index_info *info, double rows) {
    int plan = PLAN_TIME, argument = 0;
    if (choice->low >= 0) {
        info->aConstraintUsage[choice->low].argvIndex = ++argument;
        plan |= PLAN_LOW;
    }
    if (choice->high >= 0) {
        info->aConstraintUsage[choice->high].argvIndex = ++argument;
        plan |= PLAN_HIGH;
    }
    double expected = argument > 0 ? time_rows(choice, rows) : rows;
    set_plan(info, plan, expected + 10, expected);
}

static int choose_plan(sqlite3_vtab *table, sqlite3_index_info *info) {
    const struct table_source *source = source_of(table);
    double rows = (double)(rows_end(source) - rows_first(source)) + 1;
    struct constraints choice = find_constraints(source, info, rows);
    bool countable = rows_end(source) < INDEX_NO_ROW;
    bool ordered = info->nOrderBy == 1 && !info->aOrderBy[0].desc;
    bool by_id = ordered && is_id(source, info->aOrderBy[0].iColumn);
    bool by_time = ordered && is_time(source, info->aOrderBy[0].iColumn);
    bool bounded = choice.low >= 0 || choice.high >= 0;
    if (choice.equal_id >= 0) {
        info->aConstraintUsage[choice.equal_id].argvIndex = 1;
        set_plan(info, PLAN_ID, 1, 1);
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->orderByConsumed = ordered;
    } else if (countable && choice.equal_value >= 0 &&
               (!bounded || choice.value_rows <= time_rows(&choice, rows))) {
        int column = info->aConstraint[choice.equal_value].iColumn;
        info->aConstraintUsage[choice.equal_value].argvIndex = 1;
        set_plan(info, PLAN_VALUE | column << PLAN_COLUMN_SHIFT, choice.value_rows + 5,
                 choice.value_rows);
        info->orderByConsumed = by_id;
    } else if (countable && (bounded || by_time)) {
        plan_by_time(&choice, info, rows);
        info->orderByConsumed = by_time;
    } else {
        set_plan(info, PLAN_SCAN, rows, rows);
        info->orderByConsumed = by_id;
    }
    return SQLITE_OK;
}

/* ---- going through the rows ---- */

enum lookup { LOOKUP_FOUND, LOOKUP_EMPTY, LOOKUP_UNUSABLE };

/* The stored integer that equals an SQL value. LOOKUP_UNUSABLE: SQLite's own comparison must decide
 * row by row. */
static enum lookup lookup_integer(sqlite3_value *value, uint64_t *stored) {
    int64_t integer;
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return LOOKUP_EMPTY;
    case SQLITE_INTEGER:
        *stored = (uint64_t)sqlite3_value_int64(value);
        return LOOKUP_FOUND;
    case SQLITE_TEXT: {
        struct text digits = text_of((const char *)sqlite3_value_text(value));
        if (text_to_u64(digits, stored))
            return LOOKUP_FOUND;
        if (!text_to_i64(digits, &integer))
            return LOOKUP_UNUSABLE;
        *stored = (uint64_t)integer;
        return LOOKUP_FOUND;
    }
    default:
        return LOOKUP_UNUSABLE;
    }
}

static enum lookup lookup_text(const struct table_source *source, unsigned column,
                               sqlite3_value *value, uint64_t *stored) {
    const struct shown_column *about = &source->shown.columns[column];
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return LOOKUP_EMPTY;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return LOOKUP_UNUSABLE;
    struct text text = {(const char *)sqlite3_value_text(value),
                        (size_t)sqlite3_value_bytes(value)};
    if (!text.data)
        return LOOKUP_UNUSABLE;
    if (!about->name_of) {
        *stored = intern_find(&source->trace->strings, text);
        return *stored == UINT32_MAX ? LOOKUP_EMPTY : LOOKUP_FOUND;
    }
    for (unsigned enumerator = 0; enumerator < 256; enumerator++) {
        const char *name = about->name_of(enumerator);
        if (strcmp(name, "?") == 0)
            break;
        if (text_is(text, name)) {
            *stored = enumerator;
            return LOOKUP_FOUND;
        }
    }
    return LOOKUP_UNUSABLE;
}

static void scan_all(struct table_cursor *cursor, const struct table_source *source) {
    cursor->plan = PLAN_SCAN;
    cursor->at = rows_first(source);
    cursor->to = rows_end(source);
}

static void find_id(struct table_cursor *cursor, const struct table_source *source,
                    sqlite3_value *value) {
    uint64_t row;
    enum lookup lookup = lookup_integer(value, &row);
    scan_all(cursor, source);
    if (lookup == LOOKUP_UNUSABLE)
        return;
    if (lookup == LOOKUP_EMPTY || row < cursor->at || row >= cursor->to) {
        cursor->at = cursor->to;
    } else {
        cursor->at = (size_t)row;
        cursor->to = cursor->at + 1;
    }
}

static bool find_value(struct table_cursor *cursor, struct table_source *source, unsigned column,
                       sqlite3_value *value, struct status *status) {
    struct value_index *index = &source->by_value[column];
    bool is_text = strcmp(shown_column_type(&source->shown, column), "TEXT") == 0;
    uint64_t stored = 0;
    enum lookup lookup =
        is_text ? lookup_text(source, column, value, &stored) : lookup_integer(value, &stored);
    scan_all(cursor, source);
    if (lookup == LOOKUP_UNUSABLE || cursor->at == cursor->to)
        return true;
    cursor->to = INDEX_NO_ROW;
    cursor->plan = PLAN_VALUE;
    cursor->at = INDEX_NO_ROW;
    if (lookup == LOOKUP_EMPTY)
        return true;
    if (!index->next) {
        size_t size;
        const void *values = values_of(source, column, &size, status);
        if (!values ||
            !value_index_build(index, values, size, rows_first(source), rows_end(source), status))
            return false;
    }
    cursor->at = value_index_find(index, stored);
    cursor->next = index->next;
    return true;
}

static bool sort_by_time(struct table_source *source, const int64_t *times, struct status *status) {
    if (source->time_sorted)
        return true;
    uint32_t *one_group = memory_allocate(rows_end(source), sizeof *one_group, status);
    source->time_sorted = one_group && sort_rows(one_group, 1, times, NULL, rows_end(source),
                                                 &source->by_time, status);
    memory_free(one_group);
    return source->time_sorted;
}

/* Narrows a bound to an SQL value, but never below what SQLite would match. Text and blobs have
 * their own ordering and narrow nothing. False for NULL, which matches nothing. */
static bool narrow_bound(sqlite3_value *value, int64_t *bound) {
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_INTEGER) {
        *bound = sqlite3_value_int64(value);
    } else if (type == SQLITE_FLOAT && fabs(sqlite3_value_double(value)) < 4e18) {
        int away = *bound == INT64_MIN ? -1 : 1;
        *bound = (int64_t)sqlite3_value_double(value) + away;
    }
    return type != SQLITE_NULL;
}

static bool find_times(struct table_cursor *cursor, struct table_source *source, int plan,
                       sqlite3_value **arguments, struct status *status) {
    size_t size;
    int64_t low = INT64_MIN, high = INT64_MAX;
    bool comparable = true;
    if (plan & PLAN_LOW)
        comparable = narrow_bound(*arguments++, &low);
    if (plan & PLAN_HIGH)
        comparable = narrow_bound(*arguments, &high) && comparable;
    cursor->plan = PLAN_TIME;
    cursor->at = cursor->to = 0;
    cursor->order = NULL;
    if (!comparable || rows_end(source) == 0)
        return true;
    const int64_t *times = values_of(source, 1, &size, status);
    if (!times || !sort_by_time(source, times, status))
        return false;
    cursor->order = source->by_time;
    time_order_find(times, cursor->order, rows_end(source), low, high, &cursor->at, &cursor->to);
    return true;
}

static int filter_rows(sqlite3_vtab_cursor *base, int plan, const char *unused, int count,
                       sqlite3_value **arguments) {
    struct table_cursor *cursor = (struct table_cursor *)base;
    struct table_source *source = source_of(base->pVtab);
    struct status status = {0};
    bool ok = true;
    (void)unused, (void)count;
    switch (plan & PLAN_MASK) {
    case PLAN_ID:
        find_id(cursor, source, arguments[0]);
        break;
    case PLAN_VALUE:
        ok = find_value(cursor, source, (unsigned)plan >> PLAN_COLUMN_SHIFT, arguments[0], &status);
        break;
    case PLAN_TIME:
        ok = find_times(cursor, source, plan, arguments, &status);
        break;
    default:
        scan_all(cursor, source);
    }
    return ok ? SQLITE_OK : failed(base->pVtab, &status);
}

static int next_row(sqlite3_vtab_cursor *base) {
    struct table_cursor *cursor = (struct table_cursor *)base;
    cursor->at = cursor->plan == PLAN_VALUE ? cursor->next[cursor->at] : cursor->at + 1;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base) {
    const struct table_cursor *cursor = (const struct table_cursor *)base;
    return cursor->at == cursor->to;
}

static int read_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    *rowid = (sqlite3_int64)current_row((const struct table_cursor *)base);
    return SQLITE_OK;
}

/* ---- connecting ---- */

static int connect_table(sqlite3 *database, void *context, int count, const char *const *arguments,
                         sqlite3_vtab **table, char **error) {
    struct table_source *source = context;
    struct status status = {0};
    struct buffer sql = {0};
    (void)count, (void)arguments, (void)error;
    for (unsigned column = 0; column < source->shown.column_count; column++)
        buffer_printf(&sql, "%s\"%s\" %s", column ? ", " : "CREATE TABLE x(",
                      source->shown.columns[column].name,
                      shown_column_type(&source->shown, column));
    buffer_append(&sql, ")", 2);
    int result = buffer_ok(&sql, &status) ? sqlite3_declare_vtab(database, sql.data) : SQLITE_NOMEM;
    buffer_finish(&sql);
    if (result != SQLITE_OK)
        return result;
#ifdef SQLITE_VTAB_INNOCUOUS
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
#endif
    struct table_handle *handle = memory_allocate(1, sizeof *handle, &status);
    if (!handle)
        return SQLITE_NOMEM;
    handle->source = source;
    *table = &handle->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table) {
    memory_free(table);
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **base) {
    struct status status = {0};
    struct table_cursor *cursor = memory_allocate(1, sizeof *cursor, &status);
    (void)table;
    if (!cursor)
        return SQLITE_NOMEM;
    *base = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    memory_free(base);
    return SQLITE_OK;
}

/* A module without xCreate is an eponymous virtual table. */
const sqlite3_module table_module = {
    .iVersion = 1,
    .xConnect = connect_table,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xBestIndex = choose_plan,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter_rows,
    .xNext = next_row,
    .xEof = at_end,
    .xColumn = read_column,
    .xRowid = read_rowid,
};
