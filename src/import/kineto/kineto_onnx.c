/* A node's row "NAME_kernel_time" is an operator: its type is op_name, the rest is detail. A run of
 * the model is an annotation around its nodes. GPU work has rows only if the provider was built
 * with its profiler; without them a GPU node's time is the host's time to enqueue it. */
#include "import/kineto/kineto_onnx.h"

#include "base/array.h"
#include "import/kineto/kineto_rows.h"

static const char node_suffix[] = "_kernel_time";

/* ONNX Runtime stops at this many events, if the program sets no other limit. */
#define ONNX_EVENTS_MAX 1000000

static bool ends(struct text name, const char *suffix) {
    size_t length = strlen(suffix);
    return name.length >= length && memcmp(name.data + name.length - length, suffix, length) == 0;
}

static void add_range(struct kineto_rows *rows, const struct kineto_event *event,
                      enum range_category category, uint32_t name, uint32_t detail) {
    struct row_range row = {
        .start = event->start,
        .duration = event->duration,
        .name = name,
        .category = (uint8_t)category,
        .thread = entities_thread(&rows->entities, &event->process, &event->thread),
        .detail = detail,
    };
    trace_write_range(rows->writer, &row);
    rows->onnx.used = true;
}

bool onnx_add_session(struct kineto_rows *rows, const struct kineto_event *event) {
    struct text name = event->name.raw;
    if (!text_starts(name, "model_loading") && !text_is(name, "session_initialization") &&
        !text_is(name, "model_run") && !ends(name, "Executor::Execute"))
        return false;
    add_range(rows, event, RANGE_ANNOTATION, rows_string(rows, &event->name), 0);
    return true;
}

/* Whether the node's provider returns before the device has done the work. */
static bool is_on_gpu(const struct kineto_event *event) {
    static const char *const providers[] = {"\"CUDA",     "\"Tensorrt", "\"NvTensorRT", "\"ROCM",
                                            "\"MIGraphX", "\"Dml",      "\"WebGpu"};
    for (unsigned i = 0; i < event->detail_count; i++)
        for (size_t k = 0; k < ARRAY_COUNT(providers); k++)
            if (strcmp(event->details[i].key->word, "provider") == 0 &&
                text_starts(event->details[i].value, providers[k]))
                return true;
    return false;
}

/* The node's name, provider and shapes. */
static uint32_t node_detail(struct kineto_rows *rows, const struct kineto_event *event) {
    static const struct keyword node = {"node", 0, DETAIL_ONNX};
    struct kineto_event named = *event;
    struct buffer *out = &rows->meta_text;
    struct text name = event->name.raw;
    name.length -= sizeof node_suffix - 1;
    buffer_clear(out);
    buffer_byte(out, '"');
    buffer_text(out, name);
    buffer_byte(out, '"');
    rows->out_of_memory |= out->failed;
    if (name.length && named.detail_count < EVENT_DETAILS_MAX)
        named.details[named.detail_count++] = (struct event_detail){&node, buffer_as_text(out)};
    return rows_detail_of(rows, &named, DETAIL_ONNX);
}

bool onnx_add_node(struct kineto_rows *rows, const struct kineto_event *event) {
    if (!ends(event->name.raw, node_suffix) || event_word(event, WORD_OP_NAME).length == 0)
        return false;
    rows->onnx.gpu_nodes |= is_on_gpu(event);
    add_range(rows, event, RANGE_OP, rows_string(rows, &event->words[WORD_OP_NAME]),
              node_detail(rows, event));
    return true;
}

enum activity_kind onnx_kind(struct kineto_rows *rows, const struct kineto_event *event) {
    rows->onnx.kernels++;
    return text_starts(event->name.raw, "Memcpy")   ? ACTIVITY_COPY
           : text_starts(event->name.raw, "Memset") ? ACTIVITY_SET
                                                    : ACTIVITY_KERNEL;
}

void onnx_end(struct kineto_rows *rows) {
    if (!rows->onnx.used)
        return;
    trace_writer_meta(rows->writer, META_WARNING,
                      TEXT("ONNX Runtime counts whole microseconds, so the times of short nodes "
                           "are too short"));
    if (rows->onnx.gpu_nodes && rows->onnx.kernels == 0)
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("the profile has no GPU kernels: the times of nodes on the GPU are "
                               "the host's time to enqueue them, and the GPU's are unknown"));
    if (rows->complete_events >= ONNX_EVENTS_MAX)
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("ONNX Runtime keeps 1,000,000 events unless told otherwise, so this "
                               "profile is probably incomplete"));
}
