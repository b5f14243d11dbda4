/* How the tracks of a Perfetto trace are named and arranged: processes hold threads, devices hold
 * queues and counters. Lanes of a queue or thread have the same name and parent, which viewers draw
 * as one. Ids that the viewer cannot take (a process without a number, a second recording with the
 * same numbers) become plain named tracks. */
#include "export/perfetto_tracks.h"

#include <inttypes.h>

#include "base/protobuf.h"

enum { SEQUENCE = 1, UNIT_BYTES = 3, COUNTER_UNIT = 3 };

static const uint32_t interned_field[INTERNED_KINDS] = {
    INTERNED_CATEGORIES, INTERNED_NAMES, INTERNED_ANNOTATION_NAMES, INTERNED_STRINGS};

static void check(struct perfetto *perfetto, bool ok) {
    perfetto->failed |= !ok;
}

void perfetto_intern(struct perfetto *perfetto, enum interned kind, uint64_t id, struct text text) {
    if (map_find(&perfetto->sent[kind], id))
        return;
    check(perfetto, map_set(&perfetto->sent[kind], id, 1, perfetto->status));
    size_t entry = protobuf_begin(&perfetto->interned, interned_field[kind]);
    protobuf_put_integer(&perfetto->interned, INTERNED_ENTRY_ID, id);
    protobuf_put_text(&perfetto->interned, INTERNED_ENTRY_TEXT, text);
    protobuf_end(&perfetto->interned, entry);
}

static size_t begin_packet(struct perfetto *perfetto) {
    struct buffer *packet = &perfetto->packet;
    buffer_clear(packet);
    size_t begun = protobuf_begin(packet, TRACE_PACKET);
    protobuf_put_integer(packet, PACKET_SEQUENCE, SEQUENCE);
    protobuf_put_integer(packet, PACKET_FLAGS,
                         FLAG_NEEDS_STATE | (perfetto->started ? 0 : FLAG_CLEARED));
    perfetto->started = true;
    return begun;
}

static void end_packet(struct perfetto *perfetto, size_t begun) {
    protobuf_end(&perfetto->packet, begun);
    output_write(perfetto->output, perfetto->packet.data, perfetto->packet.length);
}

/* What a track is called, whose child it is, and what else its descriptor says. */
struct description {
    struct buffer name;
    uint64_t parent;
    uint64_t pid;
    int64_t tid; /* 0: not a thread that the viewer knows by number */
    bool process, counter, bytes;
};

static void name_or(struct buffer *name, const struct trace *trace, uint32_t string,
                    const char *what, int64_t number) {
    struct text text = trace_text(trace, string);
    if (text.length)
        buffer_text(name, text);
    else
        buffer_printf(name, "%s %" PRId64, what, number);
}

static void name_recording(struct buffer *name, uint32_t session) {
    if (session > 0 && session != UINT32_MAX)
        buffer_printf(name, " (recording %u)", session + 1);
}

/* The viewer keeps processes by number: only one recording may use them. */
static bool has_number(const struct trace *trace, uint32_t process) {
    uint64_t pid = trace->process.pid[process];
    return process != 0 && trace->process_session[process] == 0 && pid > 0 && pid <= INT32_MAX;
}

static void describe_process(const struct trace *trace, uint32_t id, struct description *track) {
    name_or(&track->name, trace, trace->process.name[id], "process",
            (int64_t)trace->process.pid[id]);
    name_recording(&track->name, trace->process_session[id]);
    track->process = has_number(trace, id);
    track->pid = trace->process.pid[id];
}

static void describe_thread(const struct trace *trace, uint32_t id, struct description *track) {
    uint32_t process = trace->thread.process[id];
    int64_t tid = trace->thread.tid[id];
    if (id == 0)
        buffer_string(&track->name, "no thread");
    else
        name_or(&track->name, trace, trace->thread.name[id], "thread", tid);
    if (process)
        track->parent = track_uuid(TABLE_PROCESS, process, 0);
    if (has_number(trace, process) && tid > 0 && tid <= INT32_MAX) {
        track->pid = trace->process.pid[process];
        track->tid = tid;
    }
}

static void describe_device(const struct trace *trace, uint32_t id, struct description *track) {
    buffer_string(&track->name, "GPU ");
    if (trace->device.label[id])
        buffer_text(&track->name, trace_text(trace, trace->device.label[id]));
    else
        buffer_printf(&track->name, "%u", trace->device.index[id]);
    if (trace->device.name[id]) {
        buffer_string(&track->name, ": ");
        buffer_text(&track->name, trace_text(trace, trace->device.name[id]));
    }
    name_recording(&track->name, trace->device_session[id]);
}

static void describe_queue(const struct trace *trace, uint32_t id, const char *what,
                           struct description *track) {
    uint32_t device = trace->queue.device[id], process = trace->queue.process[id];
    if (id == 0)
        buffer_string(&track->name, "no queue");
    else
        name_or(&track->name, trace, trace->queue.name[id], "stream", trace->queue.stream[id]);
    if (process)
        buffer_printf(&track->name, " of process %" PRIu64, trace->process.pid[process]);
    buffer_string(&track->name, what);
    if (device)
        track->parent = track_uuid(TABLE_DEVICE, device, 0);
}

static void describe_counter(const struct trace *trace, struct text name, uint32_t device,
                             struct description *track) {
    (void)trace;
    track->counter = true;
    buffer_text(&track->name, name);
    if (device)
        track->parent = track_uuid(TABLE_DEVICE, device, 0);
}

static void describe(const struct trace *trace, uint64_t uuid, struct description *track) {
    uint32_t id = track_id(uuid), lane = track_lane(uuid);
    switch (track_kind(uuid)) {
    case TABLE_PROCESS:
        describe_process(trace, id, track);
        break;
    case TABLE_THREAD:
        describe_thread(trace, id, track);
        if (lane > 0) {
            track->parent = track_uuid(TABLE_THREAD, id, 0);
            track->tid = 0;
        }
        break;
    case TABLE_DEVICE:
        describe_device(trace, id, track);
        break;
    case TABLE_ACTIVITY:
        describe_queue(trace, id, "", track);
        break;
    case TABLE_RANGE:
        describe_queue(trace, id, " annotations", track);
        break;
    case TABLE_WAIT:
        describe_queue(trace, id, " waits", track);
        break;
    case TABLE_MEMORY:
    case TABLE_SAMPLE:
    case TRACK_STATES:
        buffer_string(&track->name, track_kind(uuid) == TABLE_MEMORY   ? "memory"
                                    : track_kind(uuid) == TABLE_SAMPLE ? "samples"
                                                                       : "states");
        track->parent = track_uuid(TABLE_THREAD, id, 0);
        break;
    case TABLE_COUNTER:
        describe_counter(trace, trace_text(trace, id), lane, track);
        break;
    case TRACK_ALLOCATED:
        describe_counter(trace, id ? TEXT("allocated memory") : TEXT("allocated host memory"), id,
                         track);
        track->bytes = true;
        break;
    default:
        buffer_string(&track->name, "ridge");
    }
}

static void put_ids(struct buffer *packet, const struct description *track) {
    if (track->tid) {
        size_t thread = protobuf_begin(packet, TRACK_THREAD);
        protobuf_put_integer(packet, THREAD_PID, track->pid);
        protobuf_put_integer(packet, THREAD_TID, (uint64_t)track->tid);
        protobuf_put_text(packet, THREAD_NAME, buffer_as_text(&track->name));
        protobuf_end(packet, thread);
    } else if (track->process) {
        size_t process = protobuf_begin(packet, TRACK_PROCESS);
        protobuf_put_integer(packet, PROCESS_PID, track->pid);
        protobuf_put_text(packet, PROCESS_NAME, buffer_as_text(&track->name));
        protobuf_end(packet, process);
    } else if (track->counter) {
        size_t counter = protobuf_begin(packet, TRACK_COUNTER);
        if (track->bytes)
            protobuf_put_integer(packet, COUNTER_UNIT, UNIT_BYTES);
        protobuf_end(packet, counter);
    }
}

static void send_description(struct perfetto *perfetto, uint64_t uuid,
                             const struct description *track) {
    struct buffer *packet = &perfetto->packet;
    size_t begun = begin_packet(perfetto);
    size_t descriptor = protobuf_begin(packet, PACKET_TRACK);
    protobuf_put_integer(packet, TRACK_UUID, uuid);
    if (track->parent)
        protobuf_put_integer(packet, TRACK_PARENT, track->parent);
    protobuf_put_text(packet, TRACK_NAME, buffer_as_text(&track->name));
    put_ids(packet, track);
    protobuf_end(packet, descriptor);
    end_packet(perfetto, begun);
}

/* The descriptors of the track and of its parents that have not been written, outermost first. */
static void describe_track(struct perfetto *perfetto, uint64_t uuid) {
    enum { DEPTH = 4 };
    uint64_t path[DEPTH];
    struct description tracks[DEPTH];
    unsigned depth = 0;
    while (uuid && depth < DEPTH && !map_find(&perfetto->tracks, uuid)) {
        tracks[depth] = (struct description){0};
        describe(perfetto->trace, uuid, &tracks[depth]);
        path[depth] = uuid;
        uuid = tracks[depth++].parent;
    }
    while (depth-- > 0) {
        send_description(perfetto, path[depth], &tracks[depth]);
        check(perfetto, buffer_ok(&tracks[depth].name, perfetto->status));
        check(perfetto, map_set(&perfetto->tracks, path[depth], 1, perfetto->status));
        buffer_finish(&tracks[depth].name);
    }
}

void perfetto_begin(struct perfetto *perfetto, unsigned type, uint64_t track) {
    describe_track(perfetto, track);
    buffer_clear(&perfetto->event);
    buffer_clear(&perfetto->interned);
    protobuf_put_integer(&perfetto->event, EVENT_TYPE, type);
    protobuf_put_integer(&perfetto->event, EVENT_TRACK, track);
}

void perfetto_send(struct perfetto *perfetto, int64_t time) {
    struct buffer *packet = &perfetto->packet;
    size_t begun = begin_packet(perfetto);
    protobuf_put_integer(packet, PACKET_TIMESTAMP, (uint64_t)time - (uint64_t)perfetto->offset);
    if (perfetto->interned.length)
        protobuf_put_text(packet, PACKET_INTERNED, buffer_as_text(&perfetto->interned));
    protobuf_put_text(packet, PACKET_TRACK_EVENT, buffer_as_text(&perfetto->event));
    end_packet(perfetto, begun);
    perfetto->failed |= perfetto->output->failed || perfetto->event.failed ||
                        perfetto->interned.failed || packet->failed;
}

void perfetto_finish(struct perfetto *perfetto) {
    buffer_finish(&perfetto->event);
    buffer_finish(&perfetto->interned);
    buffer_finish(&perfetto->packet);
    for (unsigned kind = 0; kind < INTERNED_KINDS; kind++)
        map_finish(&perfetto->sent[kind]);
    map_finish(&perfetto->tracks);
}
