/* "/device:GPU:0/stream:13 Compute" has the kernels and copies of a stream. TensorFlow writes each
 * again: kernels to "/device:GPU:0/stream:all Compute", copies to "/device:GPU:0/memcpy Compute".
 * The numbered streams count where there are any. A copy that an operator makes has the operator's
 * name, so only its repetition in the memcpy lane shows that it is one.
 *
 * "/job:.../device:GPU:0 Compute" is the host's time for operators of the GPU, not the GPU's. */
#include "import/kineto/kineto_tensorflow.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "import/kineto/kineto_rows.h"

enum lane_kind { LANE_HOST, LANE_STREAM, LANE_ALL_STREAMS, LANE_COPIES };

struct tensorflow_lane {
    enum lane_kind kind;
    bool of_gpu;
    int64_t device, stream;
};

struct tensorflow_work {
    struct row_activity row; /* without its queue */
    size_t lane;
};

/* Takes the suffix off; false when it is not there. */
static bool take_suffix(struct text *name, const char *suffix) {
    size_t length = strlen(suffix);
    if (name->length < length || memcmp(name->data + name->length - length, suffix, length) != 0)
        return false;
    name->length -= length;
    return true;
}

/* Takes "<before>NUMBER" off the end; false when it is not there. */
static bool take_number(struct text *name, const char *before, int64_t *number) {
    size_t from = name->length;
    while (from > 0 && name->data[from - 1] >= '0' && name->data[from - 1] <= '9')
        from--;
    struct text rest = {name->data, from};
    if (!text_to_i64((struct text){name->data + from, name->length - from}, number) ||
        !take_suffix(&rest, before))
        return false;
    *name = rest;
    return true;
}

static bool take_gpu(struct text *name, int64_t *device) {
    return take_number(name, "/device:GPU:", device) || take_number(name, "/gpu:", device);
}

/* False when the name is none of a timeline. */
static bool read_lane(struct text name, struct tensorflow_lane *lane) {
    *lane = (struct tensorflow_lane){LANE_HOST, false, 0, 0};
    if (!take_suffix(&name, " Compute") || name.length == 0 || name.data[0] != '/')
        return false;
    if (take_number(&name, "/stream:", &lane->stream))
        lane->kind = LANE_STREAM;
    else if (take_suffix(&name, "/stream:all"))
        lane->kind = LANE_ALL_STREAMS;
    else if (take_suffix(&name, "/memcpy"))
        lane->kind = LANE_COPIES;
    lane->of_gpu = take_gpu(&name, &lane->device);
    return lane->kind == LANE_HOST || lane->of_gpu;
}

bool tensorflow_name(struct tensorflow *tensorflow, const struct event_id *process,
                     struct text name, bool *known, struct status *status) {
    struct tensorflow_lane lane;
    *known = process->word.length == 0 && read_lane(name, &lane);
    if (!*known)
        return true;
    if (!GROW(tensorflow->lanes, &tensorflow->lane_capacity, tensorflow->lane_count + 1, status) ||
        !map_set(&tensorflow->lane_by_pid, (uint64_t)process->number, tensorflow->lane_count,
                 status))
        return false;
    tensorflow->lanes[tensorflow->lane_count++] = lane;
    return lane.kind != LANE_STREAM ||
           map_set(&tensorflow->numbered, (uint64_t)lane.device, 1, status);
}

static enum activity_kind kind_of(const struct tensorflow_lane *lane, struct text name) {
    if (lane->kind == LANE_COPIES || text_starts(name, "MEMCPY"))
        return ACTIVITY_COPY;
    return text_starts(name, "MEMSET") ? ACTIVITY_SET : ACTIVITY_KERNEL;
}

static bool add_work(struct kineto_rows *rows, const struct kineto_event *event, size_t lane,
                     struct status *status) {
    struct tensorflow *tensorflow = &rows->tensorflow;
    struct text name = event->name.raw;
    enum copy_direction direction;
    enum memory_kind from, to;
    if (!GROW(tensorflow->work, &tensorflow->work_capacity, tensorflow->work_count + 1, status))
        return false;
    import_copy_name(name, &direction, &from, &to);
    tensorflow->work[tensorflow->work_count++] = (struct tensorflow_work){
        .row =
            {
                .start = event->start,
                .duration = event->duration,
                .kind = (uint8_t)kind_of(&tensorflow->lanes[lane], name),
                .name = rows_string(rows, &event->name),
                .detail = rows_detail(rows, event),
                .bytes = BYTES_UNKNOWN,
                .direction = (uint8_t)direction,
            },
        .lane = lane,
    };
    return true;
}

bool tensorflow_add(struct kineto_rows *rows, const struct kineto_event *event, bool *known,
                    struct status *status) {
    struct tensorflow *tensorflow = &rows->tensorflow;
    const uint64_t *lane = event->process.word.length ? NULL
                                                      : map_find(&tensorflow->lane_by_pid,
                                                                 (uint64_t)event->process.number);
    *known = lane != NULL;
    if (!lane)
        return true;
    tensorflow->used = true;
    if (tensorflow->lanes[*lane].kind != LANE_HOST)
        return add_work(rows, event, (size_t)*lane, status);
    tensorflow->host_rows_of_gpu |= tensorflow->lanes[*lane].of_gpu;
    struct row_range row = {
        .start = event->start,
        .duration = event->duration,
        .name = rows_string(rows, &event->name),
        .category = RANGE_OP,
        .thread = entities_thread(&rows->entities, &event->process, &event->thread),
        .detail = rows_detail(rows, event),
    };
    trace_write_range(rows->writer, &row);
    return true;
}

static bool is_repeated(const struct tensorflow *tensorflow, const struct tensorflow_lane *lane) {
    return lane->kind != LANE_STREAM && map_find(&tensorflow->numbered, (uint64_t)lane->device);
}

/* The same in the stream and in the memcpy lane. */
static uint64_t copy_key(const struct tensorflow_lane *lane, const struct row_activity *row) {
    int64_t parts[4] = {lane->device, row->start, row->duration, row->name};
    return checksum64(parts, sizeof parts);
}

/* Counts the rows of memcpy lanes by their keys. */
static bool count_copies(const struct tensorflow *tensorflow, struct map *copies,
                         struct status *status) {
    for (size_t i = 0; i < tensorflow->work_count; i++) {
        const struct tensorflow_lane *lane = &tensorflow->lanes[tensorflow->work[i].lane];
        if (lane->kind != LANE_COPIES)
            continue;
        uint64_t key = copy_key(lane, &tensorflow->work[i].row);
        const uint64_t *known = map_find(copies, key);
        if (!map_set(copies, key, known ? *known + 1 : 1, status))
            return false;
    }
    return true;
}

static void write_work(struct kineto_rows *rows, struct tensorflow_work *work, struct map *copies) {
    const struct tensorflow_lane *lane = &rows->tensorflow.lanes[work->lane];
    struct event_id device = {.number = lane->device}, stream = {.number = lane->stream};
    uint64_t *copy =
        lane->kind == LANE_STREAM ? map_find(copies, copy_key(lane, &work->row)) : NULL;
    if (copy && *copy > 0) {
        --*copy;
        work->row.kind = ACTIVITY_COPY;
    }
    if (lane->kind != LANE_STREAM)
        stream.word = lane->kind == LANE_COPIES ? TEXT("memcpy") : TEXT("stream:all");
    work->row.queue = entities_queue(&rows->entities, &device, &stream, 0);
    trace_write_activity(rows->writer, &work->row);
}

static void warn(struct kineto_rows *rows) {
    if (rows->tensorflow.work_count)
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("TensorFlow's timeline counts whole microseconds and at least one, "
                               "so the times of short kernels are too long"));
    else if (rows->tensorflow.host_rows_of_gpu)
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("TensorFlow recorded no stream of the GPU: times of operators on "
                               "GPU devices are the host's, and the GPU's are unknown"));
}

bool tensorflow_end(struct kineto_rows *rows, struct status *status) {
    struct tensorflow *tensorflow = &rows->tensorflow;
    struct map copies = {0};
    bool ok = count_copies(tensorflow, &copies, status);
    for (size_t i = 0; i < tensorflow->work_count && ok; i++) {
        if (!is_repeated(tensorflow, &tensorflow->lanes[tensorflow->work[i].lane]))
            write_work(rows, &tensorflow->work[i], &copies);
        if (rows->entities.failed) {
            *status = rows->entities.why;
            ok = false;
        }
    }
    map_finish(&copies);
    if (ok)
        warn(rows);
    return ok;
}

void tensorflow_finish(struct tensorflow *tensorflow) {
    map_finish(&tensorflow->lane_by_pid);
    map_finish(&tensorflow->numbered);
    memory_free(tensorflow->lanes);
    memory_free(tensorflow->work);
}
