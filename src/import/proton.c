/* Proton's .hatchet files (Triton): a tree of scopes with kernels as leaves, and a table of
 * devices. A kernel has totals: its launches and the sum of their times. There is no timeline.
 * Launches are written one after the other, each with the mean duration, so that counts and sums
 * are those of the file.
 *
 * The children of a node precede its name and metrics. Kernels are therefore collected, and a scope
 * that ends knows which of them are its own. Versions differ in the case of their keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json_record.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "import/entities.h"
#include "import/import.h"

enum { DEPTH_MAX = 10000, DEVICES_MAX = 256 };
#define LAUNCHES_MAX 8000000

struct kernel {
    uint32_t name, scope; /* string ids; scope 0: not known yet */
    int64_t device;
    uint64_t count;
    double time, flops, bytes; /* sums; negative: unknown */
};

struct node {
    size_t first; /* kernel below it */
    bool has_children;
    uint32_t name;
    struct kernel metrics;
};

struct proton {
    struct trace_writer *writer;
    struct entities entities;
    struct scan scan;
    struct json_record record;
    struct buffer key;
    struct node *nodes; /* that are open */
    size_t depth, node_capacity;
    struct kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct row_device devices[DEVICES_MAX]; /* by number */
    uint64_t launches;
};

/* ---- Nodes ---------------------------------------------------------------------------------- */

static double number_at(const struct json_record *record, const struct json_member *member) {
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)MIN(member->value_length, sizeof text - 1),
             record->text.data + member->value);
    double value = strtod(text, NULL);
    return isfinite(value) && value >= 0 && value < 9e18 ? value : 0;
}

/* "Time (ns)" and "time (ns)", "DeviceId" and "device_id": without case and underscores. */
static bool is_metric(struct text path, const char *name) {
    size_t at = 0;
    for (size_t i = 0; i < path.length; i++) {
        if (path.data[i] == '_')
            continue;
        if (!name[at] || strncasecmp(&path.data[i], &name[at], 1) != 0)
            return false;
        at++;
    }
    return name[at] == 0;
}

/* flops8, flops16, ..., flops */
static bool is_flops(struct text path) {
    return text_starts(path, "flops");
}

static void read_metric(struct node *node, struct text path, double value) {
    if (is_metric(path, "time (ns)"))
        node->metrics.time = value;
    else if (is_metric(path, "count"))
        node->metrics.count = (uint64_t)value;
    else if (is_metric(path, "bytes"))
        node->metrics.bytes = value;
    else if (is_flops(path))
        node->metrics.flops = MAX(node->metrics.flops, 0) + value;
    else if (is_metric(path, "deviceid"))
        node->metrics.device = (int64_t)value;
}

static bool read_metrics(struct proton *import, struct status *status) {
    struct node *node = &import->nodes[import->depth - 1];
    const struct json_record *record = &import->record;
    if (!json_record_read(&import->scan, &import->record, status))
        return false;
    for (size_t i = 0; i < record->count; i++) {
        const struct json_member *member = &record->members[i];
        read_metric(node, (struct text){record->text.data + member->path, member->path_length},
                    number_at(record, member));
    }
    return true;
}

/* "CUDA": {"0": {"arch": "90", ...}} beside the tree. */
static bool read_devices(struct proton *import, struct text vendor, struct status *status) {
    const struct json_record *record = &import->record;
    bool is_cuda = text_is(vendor, "CUDA"), is_hip = text_is(vendor, "HIP");
    if (!json_record_read(&import->scan, &import->record, status))
        return false;
    for (unsigned d = 0; d < DEVICES_MAX; d++) {
        char paths[5][32];
        static const char *const members[] = {"arch", "bus_width", "clock_rate",
                                              "memory_clock_rate", "num_sms"};
        for (unsigned i = 0; i < 5; i++)
            snprintf(paths[i], sizeof paths[i], "%u.%s", d, members[i]);
        if (!json_record_has(record, paths[4]))
            continue;
        uint32_t arch = is_cuda ? json_record_u32(record, paths[0]) : 0;
        import->devices[d] = (struct row_device){
            .vendor = trace_writer_string(import->writer, is_cuda  ? TEXT("NVIDIA")
                                                          : is_hip ? TEXT("AMD")
                                                                   : TEXT("")),
            .compute_major = arch / 10,
            .compute_minor = arch % 10,
            .multiprocessors = json_record_u32(record, paths[4]),
            .clock_hz = (uint64_t)json_record_u32(record, paths[2]) * 1000,
            .bandwidth = (uint64_t)json_record_u32(record, paths[1]) / 8 * 2 *
                         json_record_u32(record, paths[3]) * 1000,
        };
    }
    return true;
}

static bool begin_node(struct proton *import, struct status *status) {
    if (import->depth >= DEPTH_MAX)
        return status_fail(status, STATUS_INPUT, "has scopes nested more than %d deep", DEPTH_MAX);
    if (!GROW(import->nodes, &import->node_capacity, import->depth + 1, status))
        return false;
    import->nodes[import->depth++] = (struct node){.first = import->kernel_count, .metrics = {
                                                       .flops = -1,
                                                       .bytes = -1,
                                                       .time = -1,
                                                       .count = 1
                                                   }};
    return true;
}

/* The launches of hooks that compute metrics are not the program's. */
static bool is_own_launch(const struct proton *import, const struct node *node) {
    return node->name == trace_writer_string(import->writer, TEXT("__proton_launch_metadata"));
}

/* Operations and bytes of a scope are those of its kernel, if it has one. */
static void end_scope(struct proton *import, const struct node *node) {
    if (is_own_launch(import, node))
        import->kernel_count = node->first;
    struct kernel *kernels = import->kernels + node->first;
    size_t count = import->kernel_count - node->first;
    for (size_t i = 0; i < count; i++)
        if (!kernels[i].scope && import->depth > 0)
            kernels[i].scope = node->name;
    if (count == 1 && kernels[0].flops < 0)
        kernels[0].flops = node->metrics.flops;
    if (count == 1 && kernels[0].bytes < 0)
        kernels[0].bytes = node->metrics.bytes;
}

static bool end_node(struct proton *import, struct status *status) {
    struct node node = import->nodes[--import->depth];
    if (node.has_children || node.metrics.time < 0 || import->depth == 0) {
        end_scope(import, &node);
        return true;
    }
    if (!GROW(import->kernels, &import->kernel_capacity, import->kernel_count + 1, status))
        return false;
    node.metrics.name = node.name;
    import->kernels[import->kernel_count++] = node.metrics;
    import->launches += node.metrics.count;
    return true;
}

static bool read_member(struct proton *import, struct text key, bool *is_children,
                        struct status *status) {
    *is_children = text_is(key, "children");
    if (*is_children)
        return true;
    if (text_is(key, "metrics"))
        return read_metrics(import, status);
    if (!text_is(key, "frame"))
        return import->depth == 1 ? read_devices(import, key, status)
                                  : json_skip(&import->scan, status);
    if (!json_record_read(&import->scan, &import->record, status))
        return false;
    import->nodes[import->depth - 1].name =
        trace_writer_string(import->writer, json_record_text(&import->record, "name"));
    return true;
}

/* The tree, without recursion: the members of the innermost open node until it ends, then those of
 * the node around it. `more`: of the innermost object. */
static bool read_tree(struct proton *import, struct status *status) {
    struct scan *scan = &import->scan;
    bool more = false, children;
    bool ok = begin_node(import, status) && scan_enter(scan, '}', &more, status);
    while (ok && import->depth > 0) {
        struct text key;
        if (!more) { /* the node has ended; to its next sibling, or on in its parent */
            ok = end_node(import, status);
            if (!ok || import->depth == 0)
                break;
            ok = scan_next(scan, ']', &more, status);
            if (ok && more)
                ok = begin_node(import, status) && scan_enter(scan, '}', &more, status);
            else if (ok)
                ok = scan_next(scan, '}', &more, status);
            continue;
        }
        ok = scan_key_copy(scan, &import->key, &key, status) &&
             read_member(import, key, &children, status);
        if (ok && children) {
            ok = scan_enter(scan, ']', &children, status);
            import->nodes[import->depth - 1].has_children = children;
        }
        if (ok && children)
            ok = begin_node(import, status) && scan_enter(scan, '}', &more, status);
        else if (ok)
            ok = scan_next(scan, '}', &more, status);
    }
    return ok;
}

static bool read_root(void *context, struct scan *scan, struct text key, struct status *status) {
    char byte;
    (void)key;
    if (!scan_peek(scan, &byte, status))
        return false;
    return byte == '{' ? read_tree(context, status) : json_skip(scan, status);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static uint32_t find_queue(struct proton *import, int64_t number, struct status *status) {
    struct row_device row = {0};
    if (number >= 0 && number < DEVICES_MAX)
        row = import->devices[number];
    uint32_t device = entity_device(&import->entities, number, &row, status);
    return device ? entity_queue(&import->entities, device, 0, 0, status) : 0;
}

/* The nth of `count` equal parts of a sum, rounded so that all of them add up to it. */
static int64_t part_of(int64_t sum, uint64_t count, uint64_t nth) {
    return sum / (int64_t)count + (nth < (uint64_t)sum % count);
}

static bool write_kernel(struct proton *import, const struct kernel *kernel, int64_t *time,
                         struct status *status) {
    uint64_t count = MAX(kernel->count, 1);
    struct row_activity row = {
        .queue = find_queue(import, kernel->device, status),
        .kind = ACTIVITY_KERNEL,
        .name = kernel->name,
        .bytes = kernel->bytes > 0 ? (uint64_t)(kernel->bytes / (double)count) : BYTES_UNKNOWN,
        .flops = kernel->flops > 0 ? (uint64_t)(kernel->flops / (double)count) : 0,
    };
    if (!row.queue)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        row.start = *time;
        row.duration = part_of((int64_t)kernel->time, count, i);
        trace_write_activity(import->writer, &row);
        *time += row.duration;
    }
    return true;
}

static bool write_kernels(struct proton *import, struct status *status) {
    int64_t time = 0;
    if (import->kernel_count == 0)
        return status_fail(status, STATUS_INPUT,
                           "is a Proton profile without kernels; was anything launched between "
                           "proton.start() and proton.finalize()?");
    if (import->launches > LAUNCHES_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "has %llu launches, more than ridge reads from totals (%d); profile "
                           "fewer steps",
                           (unsigned long long)import->launches, LAUNCHES_MAX);
    for (size_t i = 0; i < import->kernel_count; i++) {
        if (import->kernels[i].time > (double)(TRACE_TIME_LIMIT / 4) - (double)time)
            return status_fail(status, STATUS_INPUT, "has kernel times of more than 18 years");
        if (!write_kernel(import, &import->kernels[i], &time, status))
            return false;
    }
    return true;
}

static void write_meta(struct proton *import) {
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("proton"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("Proton (Triton)"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta(import->writer, META_TIMELINE, TEXT("none"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->launches);
    trace_writer_meta(import->writer, META_WARNING,
                      TEXT("Proton's .hatchet files have totals: every launch of a kernel is shown "
                           "with the mean duration, and there is no timeline (proton -d trace "
                           "records one)"));
}

static bool proton_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct proton *import = memory_allocate(1, sizeof *import, status);
    struct input input;
    (void)options; /* there are no times that could be invalid */
    if (!import)
        return false;
    import->writer = import->entities.writer = writer;
    bool ok = input_open(&input, source->path, status);
    if (ok) {
        scan_open(&import->scan, &input);
        ok = json_elements(&import->scan, read_root, import, status) &&
             write_kernels(import, status);
        scan_close(&import->scan);
    }
    if (ok)
        write_meta(import);
    memory_free(import->nodes);
    memory_free(import->kernels);
    json_record_finish(&import->record);
    buffer_finish(&import->key);
    entities_release(&import->entities);
    memory_free(import);
    return ok;
}

static int proton_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    while (head.length && (head.data[0] == '\n' || head.data[0] == ' '))
        head = (struct text){head.data + 1, head.length - 1};
    return !source->is_folder && text_starts(head, "[") && text_find(head, "\"frame\"") >= 0 &&
                   text_find(head, "\"metrics\"") >= 0 && text_find(head, "\"children\"") >= 0 &&
                   text_find(head, "\"ph\"") < 0
               ? 3
               : 0;
}

const struct importer import_proton = {
    .format = "proton", .detect = proton_detect, .run = proton_run};
