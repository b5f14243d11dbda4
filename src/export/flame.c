/* Flame graphs for other programs: folded stacks (flamegraph.pl, inferno), speedscope and pprof.
 *
 * Each stack has up to two weights: the device time of what its calls launched, and the host time
 * of its CPU samples. Speedscope and pprof hold both; folded stacks hold the device time, or the
 * host time where no call has a stack.
 */
#include "base/json_write.h"
#include "base/memory.h"
#include "export/export.h"
#include "trace/launch.h"

struct flame {
    const struct trace *trace;
    int64_t *device, *host; /* nanoseconds by stack */
    uint64_t *launches;     /* by stack */
    bool has_device, has_host;
};

static void finish(struct flame *flame) {
    memory_free(flame->device);
    memory_free(flame->host);
    memory_free(flame->launches);
}

/* Times of a damaged file may not fit into their sum. */
static void add(int64_t *sum, int64_t time) {
    if (__builtin_add_overflow(*sum, time, sum))
        *sum = time < 0 ? INT64_MIN : INT64_MAX;
}

static bool weigh_activities(struct flame *flame, struct trace *trace, struct status *status) {
    uint32_t *launch = launch_find(trace, status);
    if (!launch || !trace_load(trace, TABLE_CALL, "stack", status) ||
        !trace_load(trace, TABLE_ACTIVITY, "duration", status)) {
        memory_free(launch);
        return false;
    }
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint32_t stack = launch[i] == NO_ROW ? 0 : trace->call.stack[launch[i]];
        if (!stack)
            continue;
        flame->has_device = true;
        add(&flame->device[stack], trace->activity.duration[i]);
        flame->launches[stack]++;
    }
    memory_free(launch);
    return true;
}

static bool weigh_samples(struct flame *flame, struct trace *trace, struct status *status) {
    if (!trace_load(trace, TABLE_SAMPLE, "stack weight", status))
        return false;
    for (size_t i = 0; i < trace->sample.count; i++)
        if (trace->sample.stack[i]) {
            flame->has_host = true;
            add(&flame->host[trace->sample.stack[i]], trace->sample.weight[i]);
        }
    return true;
}

static bool begin(struct flame *flame, struct trace *trace, struct status *status) {
    size_t count = trace->stack.count + 1;
    *flame = (struct flame){
        .trace = trace,
        .device = memory_allocate(count, sizeof *flame->device, status),
        .host = memory_allocate(count, sizeof *flame->host, status),
        .launches = memory_allocate(count, sizeof *flame->launches, status),
    };
    bool ok = flame->device && flame->host && flame->launches &&
              weigh_activities(flame, trace, status) && weigh_samples(flame, trace, status);
    if (ok && !flame->has_device && !flame->has_host)
        ok = status_fail(status, STATUS_INPUT,
                         "no call and no sample of this trace has a stack; record with sampling or "
                         "with --python-lines all");
    if (!ok)
        finish(flame);
    return ok;
}

/* ---- Folded --------------------------------------------------------------------------------- */

bool export_folded(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status) {
    struct flame flame;
    struct buffer line = {0};
    (void)options;
    if (!begin(&flame, trace, status))
        return false;
    const int64_t *weight = flame.has_device ? flame.device : flame.host;
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        if (!weight[i])
            continue;
        buffer_clear(&line);
        export_stack(trace, i, &line);
        for (size_t at = 0; at < line.length; at++)
            if (line.data[at] == '\n')
                line.data[at] = ' ';
        output_printf(output, "%.*s %lld\n", (int)line.length, line.data ? line.data : "",
                      (long long)weight[i]);
    }
    bool ok = buffer_ok(&line, status);
    buffer_finish(&line);
    finish(&flame);
    return ok;
}

/* ---- Speedscope ------------------------------------------------------------------------------ */

/* The frames are the rows of the stack table; frame i is row i + 1. */
static void write_frames(struct json *json, const struct trace *trace) {
    json_key(json, "shared");
    json_begin_object(json);
    json_key(json, "frames");
    json_begin_array(json);
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        struct text file = trace_text(trace, trace->stack.file[i]);
        json_begin_object(json);
        json_member_text(json, "name", trace_text(trace, trace->stack.function[i]));
        json_member_text(json, "file",
                         file.length ? file : trace_text(trace, trace->stack.module[i]));
        if (trace->stack.line[i])
            json_member_unsigned(json, "line", trace->stack.line[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_path(struct json *json, const struct trace *trace, uint32_t stack) {
    uint32_t rows[EXPORT_FRAMES_MAX];
    size_t depth = 0;
    for (; stack && depth < EXPORT_FRAMES_MAX; stack = trace->stack.parent[stack])
        rows[depth++] = stack;
    json_begin_array(json);
    while (depth > 0)
        json_unsigned(json, rows[--depth] - 1);
    json_end_array(json);
}

static void write_profile(struct json *json, const struct trace *trace, const char *name,
                          const int64_t *weight) {
    int64_t total = 0;
    json_begin_object(json);
    json_member_string(json, "type", "sampled");
    json_member_string(json, "name", name);
    json_member_string(json, "unit", "nanoseconds");
    json_key(json, "samples");
    json_begin_array(json);
    for (uint32_t i = 1; i < trace->stack.count; i++)
        if (weight[i])
            write_path(json, trace, i);
    json_end_array(json);
    json_key(json, "weights");
    json_begin_array(json);
    for (uint32_t i = 1; i < trace->stack.count; i++)
        if (weight[i]) {
            json_integer(json, weight[i]);
            add(&total, weight[i]);
        }
    json_end_array(json);
    json_member_integer(json, "startValue", 0);
    json_member_integer(json, "endValue", total);
    json_end_object(json);
}

bool export_speedscope(struct trace *trace, const struct export_options *options,
                       struct output *output, struct status *status) {
    struct flame flame;
    struct json json = {.output = output};
    (void)options;
    if (!begin(&flame, trace, status))
        return false;
    json_begin_object(&json);
    json_member_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_member_string(&json, "exporter", "ridge");
    write_frames(&json, trace);
    json_key(&json, "profiles");
    json_begin_array(&json);
    if (flame.has_device)
        write_profile(&json, trace, "device time", flame.device);
    if (flame.has_host)
        write_profile(&json, trace, "CPU samples", flame.host);
    json_end_array(&json);
    json_end_object(&json);
    output_printf(output, "\n");
    finish(&flame);
    return true;
}

/* ---- pprof ----------------------------------------------------------------------------------- */

/* profile.proto: fields of Profile, and of its messages in order. */
enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRINGS = 6 };
enum { VARINT = 0, BYTES = 2 };
/* Strings of the profile's own come before the trace's. */
static const char *const own_strings[] = {"", "device", "nanoseconds", "launches", "count", "cpu"};
enum { OWN_STRINGS = 6 };

static void put_varint(struct buffer *buffer, uint64_t value) {
    while (value >= 0x80) {
        buffer_byte(buffer, (char)(value | 0x80));
        value >>= 7;
    }
    buffer_byte(buffer, (char)value);
}

static void put_number(struct buffer *buffer, uint32_t field, uint64_t value) {
    if (value == 0)
        return;
    put_varint(buffer, field << 3 | VARINT);
    put_varint(buffer, value);
}

static void put_message(struct buffer *buffer, uint32_t field, struct text bytes) {
    put_varint(buffer, field << 3 | BYTES);
    put_varint(buffer, bytes.length);
    buffer_text(buffer, bytes);
}

/* Writes a message of Profile and empties it. */
static void write_message(struct output *output, uint32_t field, struct buffer *message,
                          struct buffer *whole) {
    buffer_clear(whole);
    put_message(whole, field, buffer_as_text(message));
    output_write(output, whole->data, whole->length);
    buffer_clear(message);
}

static void write_samples(const struct flame *flame, struct output *output, struct buffer *message,
                          struct buffer *part, struct buffer *whole) {
    const struct trace *trace = flame->trace;
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        if (!flame->device[i] && !flame->host[i])
            continue;
        buffer_clear(part);
        for (uint32_t row = i; row; row = trace->stack.parent[row])
            put_varint(part, row);
        put_message(message, 1, buffer_as_text(part));
        buffer_clear(part);
        put_varint(part, (uint64_t)flame->device[i]);
        put_varint(part, flame->launches[i]);
        put_varint(part, (uint64_t)flame->host[i]);
        put_message(message, 2, buffer_as_text(part));
        write_message(output, SAMPLE, message, whole);
    }
}

/* Location and function of each row have its number. */
static void write_locations(const struct trace *trace, struct output *output,
                            struct buffer *message, struct buffer *part, struct buffer *whole) {
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        buffer_clear(part);
        put_number(part, 1, i);
        put_number(part, 2, trace->stack.line[i]);
        put_number(message, 1, i);
        put_message(message, 4, buffer_as_text(part));
        write_message(output, LOCATION, message, whole);
        uint32_t file = trace->stack.file[i] ? trace->stack.file[i] : trace->stack.module[i];
        put_number(message, 1, i);
        put_number(message, 2, trace->stack.function[i] + OWN_STRINGS);
        put_number(message, 3, trace->stack.function[i] + OWN_STRINGS);
        put_number(message, 4, file + OWN_STRINGS);
        put_number(message, 5, trace->stack.function_line[i]);
        write_message(output, FUNCTION, message, whole);
    }
}

bool export_pprof(struct trace *trace, const struct export_options *options, struct output *output,
                  struct status *status) {
    static const uint8_t types[][2] = {{1, 2}, {3, 4}, {5, 2}};
    struct flame flame;
    struct buffer message = {0}, part = {0}, whole = {0};
    (void)options;
    if (!begin(&flame, trace, status))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        put_number(&message, 1, types[i][0]);
        put_number(&message, 2, types[i][1]);
        write_message(output, SAMPLE_TYPE, &message, &whole);
    }
    write_samples(&flame, output, &message, &part, &whole);
    write_locations(trace, output, &message, &part, &whole);
    for (uint32_t i = 0; i < OWN_STRINGS + trace->strings.count; i++) {
        struct text text =
            i < OWN_STRINGS ? text_of(own_strings[i]) : trace_text(trace, i - OWN_STRINGS);
        buffer_clear(&whole);
        put_message(&whole, STRINGS, text);
        output_write(output, whole.data, whole.length);
    }
    bool ok = buffer_ok(&message, status) && buffer_ok(&part, status) && buffer_ok(&whole, status);
    buffer_finish(&message);
    buffer_finish(&part);
    buffer_finish(&whole);
    finish(&flame);
    return ok;
}
