/* Copies a .ridge file without what names a machine or a person, and optionally only a part of it:
 * recorded traces become small enough to keep.
 *
 *   crop [--from NS] [--to NS] [--no-samples] [--slow SHARE FACTOR] [--replace WORD=OTHER]... IN
 * OUT
 *
 * --from, --to  events that start in this part, in nanoseconds after the first kernel
 * --no-samples  without samples, thread states and CPU times
 * --slow        from SHARE of the device's time on, everything takes FACTOR times as long, and the
 *               clock and a throttle reason show that
 * --replace     in all texts
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum { REPLACEMENTS_MAX = 16, THERMAL = 0x20, LEVEL = 19 };

struct crop {
    struct trace *trace;
    struct trace_writer *writer;
    int64_t from, to;
    bool samples;
    double slow_factor;
    int64_t first, slow_from;            /* the first kernel; where it begins to be slow */
    const char *words[REPLACEMENTS_MAX]; /* "WORD=OTHER" */
    unsigned word_count;
    uint32_t *stack; /* by id: its new id; 0: not used */
    struct status status;
};

static bool is_entity(unsigned table) {
    return table <= TABLE_STACK;
}

static bool is_sampled(unsigned table) {
    return table == TABLE_SAMPLE || table == TABLE_STATE || table == TABLE_USAGE;
}

static const void *value_at(const struct crop *crop, unsigned table, unsigned column, size_t row) {
    const char *values = trace_column(crop->trace, table, column);
    return values ? values + row * trace_tables[table].columns[column].size : NULL;
}

/* All other events are in the part if they start in it. */
static bool is_kept(const struct crop *crop, unsigned table, size_t row) {
    if (is_entity(table))
        return table != TABLE_STACK || crop->stack[row];
    if (is_sampled(table) && !crop->samples)
        return false;
    int64_t time = *(const int64_t *)value_at(crop, table, 0, row);
    return time >= crop->from && time <= crop->to;
}

static uint32_t replaced(struct crop *crop, struct text text) {
    struct buffer buffer = {0};
    for (size_t at = 0; at < text.length;) {
        unsigned i = 0;
        for (; i < crop->word_count; i++) {
            size_t length = (size_t)(strchr(crop->words[i], '=') - crop->words[i]);
            if (length && text.length - at >= length &&
                memcmp(text.data + at, crop->words[i], length) == 0) {
                buffer_printf(&buffer, "%s", crop->words[i] + length + 1);
                at += length;
                break;
            }
        }
        if (i == crop->word_count)
            buffer_printf(&buffer, "%c", text.data[at++]);
    }
    uint32_t id = trace_writer_string_of(crop->writer, &buffer);
    buffer_finish(&buffer);
    return id;
}

static int64_t slowed(const struct crop *crop, int64_t time) {
    if (crop->slow_factor <= 1 || time <= crop->slow_from)
        return time;
    return crop->slow_from + (int64_t)((double)(time - crop->slow_from) * crop->slow_factor);
}

static void write_row(struct crop *crop, unsigned table, const void *row) {
    switch (table) {
#define WRITE(table, TABLE, fourcc)                                                                \
    case TABLE_##TABLE:                                                                            \
        trace_write_##table(crop->writer, (const struct row_##table *)row);                        \
        break;
        TRACE_TABLES(WRITE)
    }
}

/* A row with its texts and stacks in the new file's numbers. */
static void copy_row(struct crop *crop, unsigned table, size_t at) {
    _Alignas(8) char row[TABLE_COLUMNS_MAX * 8] = {0};
    const struct table_info *info = &trace_tables[table];
    int64_t start = 0;
    for (unsigned column = 0; column < info->column_count; column++) {
        const struct column_info *of = &info->columns[column];
        const void *value = value_at(crop, table, column, at);
        char *field = row + of->row_offset;
        if (!value)
            continue;
        memcpy(field, value, of->size);
        if (of->type == COLUMN_STRING)
            *(uint32_t *)(void *)field =
                replaced(crop, trace_text(crop->trace, *(const uint32_t *)value));
        else if (of->type == COLUMN_STACK)
            *(uint32_t *)(void *)field = crop->stack[*(const uint32_t *)value];
        else if (of->type == COLUMN_TIME) {
            start = *(const int64_t *)value;
            *(int64_t *)(void *)field = slowed(crop, start);
        } else if (strcmp(of->name, "duration") == 0)
            *(int64_t *)(void *)field =
                slowed(crop, start + *(const int64_t *)value) - slowed(crop, start);
    }
    if (table == TABLE_DEVICE)
        ((struct row_device *)(void *)row)->uuid = 0;
    if (table == TABLE_PROCESS)
        ((struct row_process *)(void *)row)->host = 0;
    write_row(crop, table, row);
}

static bool is_slow_counter(const struct crop *crop, unsigned table, size_t row) {
    if (table != TABLE_COUNTER || crop->slow_factor <= 1)
        return false;
    struct text name = trace_text(crop->trace, crop->trace->counter.name[row]);
    return text_is(name, "clock (MHz)") || text_is(name, "throttle reasons");
}

static void copy_meta(struct crop *crop) {
    for (size_t i = 0; i < crop->trace->meta.count; i++) {
        struct text key = trace_text(crop->trace, crop->trace->meta.key[i]);
        if (text_is(key, META_SOURCE_FILE) || text_is(key, META_CLOCK_OFFSET))
            continue;
        bool host = text_is(key, META_HOST);
        trace_write_meta(
            crop->writer,
            &(struct row_meta){
                replaced(crop, key),
                host ? trace_writer_string(crop->writer, TEXT("corpus"))
                     : replaced(crop, trace_text(crop->trace, crop->trace->meta.value[i]))});
    }
}

/* Stacks that kept rows refer to, and their callers; numbered in the old order. */
static bool find_stacks(struct crop *crop) {
    struct trace *trace = crop->trace;
    uint32_t next = 0;
    crop->stack = memory_allocate(trace->stack.count, sizeof *crop->stack, &crop->status);
    if (!crop->stack)
        return false;
    for (unsigned table = TABLE_STACK + 1; table < TABLE_COUNT; table++)
        for (unsigned column = 0; column < trace_tables[table].column_count; column++)
            for (size_t i = 0; trace_tables[table].columns[column].type == COLUMN_STACK &&
                               i < trace_rows(trace, table);
                 i++) {
                const uint32_t *stack = value_at(crop, table, column, i);
                if (stack && is_kept(crop, table, i))
                    for (uint32_t at = *stack; at && !crop->stack[at]; at = trace->stack.parent[at])
                        crop->stack[at] = 1;
            }
    for (size_t i = 1; i < trace->stack.count; i++)
        if (crop->stack[i])
            crop->stack[i] = ++next;
    return true;
}

static void write_slow_clock(struct crop *crop) {
    struct trace *trace = crop->trace;
    double full = 0;
    for (size_t i = 0; i < trace->counter.count; i++)
        if (text_is(trace_text(trace, trace->counter.name[i]), "clock (MHz)") &&
            trace->counter.value[i] > full)
            full = trace->counter.value[i];
    full = full > 0 ? full : 1980;
    const struct {
        const char *name;
        double before, after;
    } counters[] = {{"clock (MHz)", full, full / crop->slow_factor},
                    {"throttle reasons", 0, THERMAL}};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t name = trace_writer_string(crop->writer, text_of(counters[i].name));
        trace_write_counter(crop->writer,
                            &(struct row_counter){crop->first, 1, name, counters[i].before});
        trace_write_counter(crop->writer,
                            &(struct row_counter){crop->slow_from, 1, name, counters[i].after});
    }
}

static void copy_tables(struct crop *crop) {
    copy_meta(crop);
    for (unsigned table = TABLE_PROCESS; table < TABLE_COUNT; table++)
        for (size_t i = is_entity(table) ? 1 : 0; i < trace_rows(crop->trace, table); i++)
            if (is_kept(crop, table, i) && !is_slow_counter(crop, table, i))
                copy_row(crop, table, i);
    if (crop->slow_factor > 1)
        write_slow_clock(crop);
}

/* Options count from the first kernel. */
static void find_part(struct crop *crop, double slow_share) {
    const struct columns_activity *activity = &crop->trace->activity;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < activity->count; i++)
        if (activity->kind[i] == ACTIVITY_KERNEL) {
            first = activity->start[i] < first ? activity->start[i] : first;
            last = activity->start[i] + activity->duration[i] > last
                       ? activity->start[i] + activity->duration[i]
                       : last;
        }
    if (first > last)
        return;
    crop->first = first;
    crop->from = crop->from == INT64_MIN ? crop->from : first + crop->from;
    crop->to = crop->to == INT64_MAX ? crop->to : first + crop->to;
    crop->slow_from = first + (int64_t)((double)(last - first) * slow_share);
}

static bool run(struct crop *crop, const char *in, const char *out, double slow_share) {
    if (!trace_open(in, &crop->trace, &crop->status))
        return false;
    for (unsigned table = TABLE_STACK + 1; table < TABLE_COUNT; table++)
        if (!trace_load(crop->trace, table, NULL, &crop->status))
            return false;
    find_part(crop, slow_share);
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct trace_writer_options options = {.session = 1, .writer = 1, .level = LEVEL};
    crop->writer = fd < 0 ? NULL : trace_writer_create(fd, &options, &crop->status);
    bool ok = crop->writer && find_stacks(crop);
    if (ok)
        copy_tables(crop);
    ok = ok && trace_writer_finish(crop->writer, &crop->status);
    trace_writer_destroy(crop->writer);
    return (fd < 0 || close(fd) == 0) && ok;
}

int main(int argc, char **argv) {
    struct crop crop = {.from = INT64_MIN, .to = INT64_MAX, .samples = true};
    double slow_share = 0;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--no-samples") == 0)
            crop.samples = false;
        else if (strcmp(argv[at], "--from") == 0 && at + 1 < argc)
            crop.from = atoll(argv[++at]);
        else if (strcmp(argv[at], "--to") == 0 && at + 1 < argc)
            crop.to = atoll(argv[++at]);
        else if (strcmp(argv[at], "--slow") == 0 && at + 2 < argc) {
            slow_share = atof(argv[++at]);
            crop.slow_factor = atof(argv[++at]);
        } else if (strcmp(argv[at], "--replace") == 0 && at + 1 < argc &&
                   strchr(argv[at + 1], '=') && crop.word_count < REPLACEMENTS_MAX)
            crop.words[crop.word_count++] = argv[++at];
        else
            break;
    }
    if (argc - at != 2) {
        fprintf(stderr, "usage: crop [--from NS] [--to NS] [--no-samples] [--slow SHARE FACTOR] "
                        "[--replace WORD=OTHER]... IN OUT\n");
        return 2;
    }
    bool ok = run(&crop, argv[at], argv[at + 1], slow_share);
    if (!ok)
        fprintf(stderr, "crop: %s: %s\n", argv[at], crop.status.message);
    trace_close(crop.trace);
    memory_free(crop.stack);
    return !ok;
}
