/* Protobuf messages with fields removed, repeated and changed, at any depth. The schema is unknown:
 * a bytes field is treated as a message if all of it parses as one. */
#include "ablated.h"
#include "consume.h"
#include "base/protobuf.h"
#include "base/protobuf.h"
#include "import/perfetto/perfetto.h"
#include "targets.h"

enum { FILE_MAX = 200000, DEPTH_MAX = 12 };

static size_t count_fields(struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    size_t count = 0;
    while (protobuf_next(&message, &field))
        count++;
    return message.damaged ? 0 : count;
}

static void put_field(struct buffer *out, const struct protobuf_field *field) {
    if (field->type == PROTOBUF_BYTES)
        protobuf_put_text(out, field->number, field->bytes);
    else if (field->type == PROTOBUF_FIXED64)
        protobuf_put_fixed64(out, field->number, field->value);
    else
        protobuf_put_integer(out, field->number, field->value);
}

static void change_field(struct buffer *out, struct protobuf_field *field,
                         struct decisions *decisions) {
    switch (decide(decisions, 8)) {
    case 0:
        break; /* removed */
    case 1:
        for (size_t i = decide(decisions, 12); i > 0; i--)
            put_field(out, field);
        break;
    case 2:
        field->number = 1 + (uint32_t)decide(decisions, 24);
        put_field(out, field);
        break;
    case 3:
        protobuf_put_integer(out, field->number, decide_value(decisions));
        break;
    default:
        if (field->type == PROTOBUF_BYTES && count_fields(field->bytes) > 1)
            break; /* text in place of a message is damage that every importer rejects */
        if (field->type == PROTOBUF_BYTES)
            field->bytes.data = decide_text(decisions, &field->bytes.length);
        else
            field->value = decide(decisions, 2) ? decide_value(decisions) : decide(decisions, 16);
        put_field(out, field);
    }
}

/* Copies the message with one field changed, or with all fields of its number removed. Depth is
 * limited by DEPTH_MAX. */
static void edit(struct buffer *out, struct text bytes, struct decisions *decisions,
                 unsigned depth) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    size_t chosen = decide(decisions, count_fields(bytes));
    bool descend = decide(decisions, 4) != 0, all = decide(decisions, 8) == 0 && depth > 0;
    uint32_t removed = 0;
    for (size_t i = 0; protobuf_next(&message, &field); i++) {
        if (i == chosen && all)
            removed = field.number;
        if (field.number == removed)
            continue;
        if (i != chosen) {
            put_field(out, &field);
        } else if (descend && depth < DEPTH_MAX && field.type == PROTOBUF_BYTES &&
                   count_fields(field.bytes) > 0) {
            size_t begun = protobuf_begin(out, field.number);
            edit(out, field.bytes, decisions, depth + 1);
            protobuf_end(out, begun);
        } else {
            change_field(out, &field, decisions);
        }
    }
}

static int ablate(struct text sound, const char *name, struct decisions *decisions,
                  const uint8_t *data, size_t size) {
    struct buffer bytes = {0}, edited = {0};
    buffer_text(&bytes, sound);
    for (size_t i = decide(decisions, ABLATED_EDITS_MAX); i > 0; i--) {
        buffer_clear(&edited);
        edit(&edited, buffer_as_text(&bytes), decisions, 0);
        struct buffer other = bytes;
        bytes = edited;
        edited = other;
    }
    const char *path = ablated_path(name);
    ablated_write(path, buffer_as_text(&bytes));
    *decisions = (struct decisions){data, data + size};
    ablated_import(path, decisions);
    buffer_finish(&bytes);
    buffer_finish(&edited);
    return 0;
}

/* ---- a small Perfetto trace ---- */

static size_t begin_packet(struct buffer *out, uint64_t time) {
    size_t packet = protobuf_begin(out, TRACE_PACKET);
    protobuf_put_integer(out, PACKET_SEQUENCE, 1);
    if (time)
        protobuf_put_integer(out, PACKET_TIMESTAMP, time);
    return packet;
}

static void put_interned(struct buffer *out, uint32_t kind, uint64_t id, const char *name) {
    size_t packet = begin_packet(out, 0), interned = protobuf_begin(out, PACKET_INTERNED);
    size_t entry = protobuf_begin(out, kind);
    protobuf_put_integer(out, INTERNED_ENTRY_ID, id);
    protobuf_put_text(out, INTERNED_ENTRY_TEXT, text_of(name));
    protobuf_end(out, entry);
    protobuf_end(out, interned);
    protobuf_end(out, packet);
}

static void put_thread(struct buffer *out, uint64_t track) {
    size_t packet = begin_packet(out, 0), descriptor = protobuf_begin(out, PACKET_TRACK);
    protobuf_put_integer(out, TRACK_UUID, track);
    size_t thread = protobuf_begin(out, TRACK_THREAD);
    protobuf_put_integer(out, THREAD_PID, 42);
    protobuf_put_integer(out, THREAD_TID, track);
    protobuf_put_text(out, THREAD_NAME, TEXT("main"));
    protobuf_end(out, thread);
    protobuf_end(out, descriptor);
    protobuf_end(out, packet);
}

static void put_event(struct buffer *out, uint64_t time, uint64_t type, uint64_t name) {
    size_t packet = begin_packet(out, time), event = protobuf_begin(out, PACKET_TRACK_EVENT);
    protobuf_put_integer(out, EVENT_TYPE, type);
    protobuf_put_integer(out, EVENT_TRACK, 43);
    protobuf_put_integer(out, EVENT_NAME_ID, name);
    size_t annotation = protobuf_begin(out, EVENT_ANNOTATION);
    protobuf_put_text(out, ANNOTATION_NAME, TEXT("size"));
    protobuf_put_integer(out, ANNOTATION_UINT, 12);
    protobuf_end(out, annotation);
    protobuf_end(out, event);
    protobuf_end(out, packet);
}

/* A submission and the stage that it starts. */
static void put_submission(struct buffer *out, uint64_t time, uint64_t id) {
    size_t packet = begin_packet(out, time), vulkan = protobuf_begin(out, PACKET_VULKAN);
    size_t submit = protobuf_begin(out, 2);
    protobuf_put_integer(out, 1, 3000);
    protobuf_put_integer(out, 2, 42);
    protobuf_put_integer(out, 3, 43);
    protobuf_put_integer(out, 6, id);
    protobuf_end(out, submit);
    protobuf_end(out, vulkan);
    protobuf_end(out, packet);
    packet = begin_packet(out, time + 5000);
    size_t stage = protobuf_begin(out, PACKET_GPU_STAGE);
    protobuf_put_integer(out, 2, 7000);
    protobuf_put_integer(out, 13, 5);
    protobuf_put_integer(out, 10, id);
    protobuf_put_text(out, 17, TEXT("shade"));
    protobuf_end(out, stage);
    protobuf_end(out, packet);
}

static struct text small_perfetto(void) {
    struct buffer bytes = {0};
    put_thread(&bytes, 43);
    put_interned(&bytes, INTERNED_NAMES, 1, "step");
    put_interned(&bytes, INTERNED_NAMES, 2, "load");
    put_interned(&bytes, INTERNED_GPU_SPECIFICATIONS, 5, "compute queue");
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t time = 100000 + i * 50000;
        put_event(&bytes, time, TYPE_BEGIN, 1);
        put_event(&bytes, time + 1000, TYPE_BEGIN, 2);
        put_event(&bytes, time + 9000, TYPE_END, 0);
        put_submission(&bytes, time + 10000, 77 + i);
        put_event(&bytes, time + 20000, TYPE_INSTANT, 2);
        put_event(&bytes, time + 40000, TYPE_END, 0);
    }
    return buffer_as_text(&bytes);
}

int fuzz_ablated_perfetto(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    if (files.count == 0) {
        base_add(&files, small_perfetto());
        base_add(&files, ablated_export("perfetto"));
    }
    return ablate(ablated_choose(&files, &decisions), "trace.pftrace", &decisions, data, size);
}

/* ---- a small XSpace ---- */

enum { XSPACE_KERNEL = 1, XSPACE_COPY, XSPACE_LAUNCH, XSPACE_STEP };
enum { STAT_KERNEL = 1, STAT_COPY, STAT_CORRELATION, STAT_STEP };

static void put_name(struct buffer *out, uint32_t field, uint64_t id, const char *name) {
    size_t entry = protobuf_begin(out, field);
    protobuf_put_integer(out, 1, id);
    size_t metadata = protobuf_begin(out, 2);
    protobuf_put_integer(out, 1, id);
    protobuf_put_text(out, 2, text_of(name));
    protobuf_end(out, metadata);
    protobuf_end(out, entry);
}

static void put_stat(struct buffer *out, uint64_t id, uint64_t number, const char *text) {
    size_t stat = protobuf_begin(out, 4);
    protobuf_put_integer(out, 1, id);
    if (text)
        protobuf_put_text(out, 5, text_of(text));
    else
        protobuf_put_integer(out, 3, number);
    protobuf_end(out, stat);
}

struct line {
    const char *name;
    uint64_t event, stat;
    const char *text;
    uint64_t offset_ps;
};

static void put_line(struct buffer *out, const struct line *line) {
    size_t begun = protobuf_begin(out, 3);
    protobuf_put_integer(out, 1, line->event + 4);
    protobuf_put_text(out, 2, text_of(line->name));
    protobuf_put_integer(out, 3, 1000000);
    for (uint64_t i = 0; i < 3; i++) {
        size_t event = protobuf_begin(out, 4);
        protobuf_put_integer(out, 1, line->event);
        protobuf_put_integer(out, 2, line->offset_ps + i * 40000000);
        protobuf_put_integer(out, 3, 5000000);
        put_stat(out, STAT_CORRELATION, 10 + i, NULL);
        if (line->stat)
            put_stat(out, line->stat, i, line->text);
        protobuf_end(out, event);
    }
    protobuf_end(out, begun);
}

static void put_plane(struct buffer *out, const char *name, const struct line *lines,
                      size_t count) {
    size_t plane = protobuf_begin(out, 1);
    protobuf_put_text(out, 2, text_of(name));
    for (size_t i = 0; i < count; i++)
        put_line(out, &lines[i]);
    put_name(out, 4, XSPACE_KERNEL, "void gemm<float>(float*)");
    put_name(out, 4, XSPACE_COPY, "MemcpyH2D");
    put_name(out, 4, XSPACE_LAUNCH, "cuLaunchKernel");
    put_name(out, 4, XSPACE_STEP, "train");
    put_name(out, 5, STAT_KERNEL, "kernel_details");
    put_name(out, 5, STAT_COPY, "memcpy_details");
    put_name(out, 5, STAT_CORRELATION, "correlation_id");
    put_name(out, 5, STAT_STEP, "step_num");
    protobuf_end(out, plane);
}

static struct text small_xspace(void) {
    static const struct line device[] = {
        {"Stream #14(Compute)", XSPACE_KERNEL, STAT_KERNEL,
         "regs:32 static_shared:0 dynamic_shared:1024 grid:64,1,1 block:256,1,1 occ_pct:50",
         8000000},
        {"Stream #15(MemcpyH2D)", XSPACE_COPY, STAT_COPY,
         "kind_src:pageable kind_dst:device size:4096 dest:0 async:1", 1000000}};
    static const struct line host[] = {{"python", XSPACE_LAUNCH, 0, NULL, 500000},
                                       {"steps", XSPACE_STEP, STAT_STEP, NULL, 0}};
    struct buffer bytes = {0};
    put_plane(&bytes, "/device:GPU:0", device, 2);
    put_plane(&bytes, "/host:CPU", host, 2);
    return buffer_as_text(&bytes);
}

int fuzz_ablated_xplane(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    if (files.count == 0) {
        base_add(&files, small_xspace());
        base_add_folder(&files, "fixtures/xplane", ".pb", FILE_MAX);
    }
    return ablate(ablated_choose(&files, &decisions), "trace.xplane.pb", &decisions, data, size);
}
