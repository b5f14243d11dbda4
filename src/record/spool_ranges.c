/* Joins the begin and end records of a range by its id. The half that arrives first is kept in a
 * list. The map from ids to positions in the list only grows, so it is rebuilt when most of its
 * entries are stale.
 */
#include "record/spool_ranges.h"

#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "trace/nvtx_operator.h"

enum { POSITIONS_SLACK = 1 << 16, HALVES_MAX = 1 << 22 };

struct half_range {
    struct row_range row; /* without duration; unused for an end */
    int64_t end;
    uint64_t key;
    unsigned process;
    bool is_end;
};

/* ---- Rows -------------------------------------------------------------------------------- */

uint32_t spool_range_detail(struct trace_writer *writer, const struct spool_attributes *attributes,
                            struct text shapes) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    double number;
    if (!attributes->category.length && !attributes->color && !attributes->payload_kind &&
        !shapes.length)
        return 0;
    json_begin_object(&json);
    if (shapes.length) {
        json_key(&json, "Input Dims");
        json_raw(&json, shapes);
    }
    if (attributes->category.length)
        json_member_text(&json, "category", attributes->category);
    if (attributes->payload_kind == SPOOL_PAYLOAD_SIGNED)
        json_member_integer(&json, "payload", attributes->payload);
    else if (attributes->payload_kind == SPOOL_PAYLOAD_UNSIGNED)
        json_member_unsigned(&json, "payload", (uint64_t)attributes->payload);
    else if (attributes->payload_kind == SPOOL_PAYLOAD_DOUBLE) {
        memcpy(&number, &attributes->payload, sizeof number);
        json_member_number(&json, "payload", number);
    }
    if (attributes->color)
        json_member_unsigned(&json, "colour", attributes->color);
    json_end_object(&json);
    uint32_t string = text.failed ? 0 : trace_writer_string(writer, buffer_as_text(&text));
    buffer_finish(&text);
    return string;
}

/* The sizes in "aten::mm, seq = 3, sizes = [[2, 3], [3, 4]]", unless the text is truncated. */
static struct text shapes_in(struct text name) {
    ptrdiff_t at = text_find(name, ", sizes = [");
    if (at < 0)
        return TEXT("");
    size_t start = (size_t)at + strlen(", sizes = "), depth = 0;
    for (size_t i = start; i < name.length; i++) {
        char byte = name.data[i];
        if (byte == '[')
            depth++;
        else if (byte == ']' && --depth == 0)
            return (struct text){name.data + start, i + 1 - start};
        else if (byte != ']' && byte != ',' && byte != ' ' && (byte < '0' || byte > '9'))
            break;
    }
    return TEXT("");
}

struct row_range spool_range_row(struct trace_writer *writer, struct text name, uint32_t thread,
                                 const struct spool_attributes *attributes) {
    uint64_t sequence;
    size_t length = nvtx_operator(name, &sequence);
    struct text shapes = length ? shapes_in(name) : TEXT("");
    return (struct row_range){
        .thread = thread,
        .name = trace_writer_string(writer, length ? (struct text){name.data, length} : name),
        .category = length ? RANGE_OP : RANGE_ANNOTATION,
        .domain = attributes->domain,
        .detail = spool_range_detail(writer, attributes, shapes),
        .sequence = sequence,
    };
}

void spool_range_write(struct spool_ranges *ranges, struct trace_writer *writer,
                       struct row_range *row, int64_t end) {
    row->duration = end > row->start ? end - row->start : 0;
    trace_write_range(writer, row);
    ranges->written++;
}

/* ---- Halves ------------------------------------------------------------------------------ */

static uint64_t key_of(unsigned process, uint64_t id) {
    uint64_t parts[2] = {process, id};
    return checksum64(parts, sizeof parts);
}

static struct half_range *find_half(struct spool_ranges *ranges, uint64_t key) {
    const uint64_t *place = map_find(&ranges->positions, key);
    return place && *place ? &ranges->halves[*place - 1] : NULL;
}

static bool rebuild_positions(struct spool_ranges *ranges, struct status *status) {
    map_finish(&ranges->positions);
    for (size_t i = 0; i < ranges->count; i++)
        if (!map_set(&ranges->positions, ranges->halves[i].key, i + 1, status))
            return false;
    return true;
}

static bool add_half(struct spool_ranges *ranges, const struct half_range *half,
                     struct status *status) {
    if (ranges->count >= HALVES_MAX) { /* a program that never ends its ranges */
        ranges->never_ended += !half->is_end;
        ranges->never_begun += half->is_end;
        return true;
    }
    if (ranges->positions.count > POSITIONS_SLACK + 4 * ranges->count &&
        !rebuild_positions(ranges, status))
        return false;
    if (!GROW(ranges->halves, &ranges->capacity, ranges->count + 1, status) ||
        !map_set(&ranges->positions, half->key, ranges->count + 1, status))
        return false;
    ranges->halves[ranges->count++] = *half;
    return true;
}

/* The last half moves to the freed position. */
static void remove_half(struct spool_ranges *ranges, struct half_range *half) {
    struct half_range *last = &ranges->halves[ranges->count - 1];
    *map_find(&ranges->positions, half->key) = 0;
    if (last != half) {
        *half = *last;
        *map_find(&ranges->positions, half->key) = (uint64_t)(half - ranges->halves) + 1;
    }
    ranges->count--;
}

bool spool_range_begin(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                       uint64_t id, const struct row_range *row, struct status *status) {
    struct half_range half = {.row = *row, .process = process, .key = key_of(process, id)};
    struct half_range *other = find_half(ranges, half.key);
    if (!other)
        return add_half(ranges, &half, status);
    if (other->is_end) {
        spool_range_write(ranges, writer, &half.row, other->end);
        remove_half(ranges, other);
    } else {
        ranges->never_ended++; /* a reused id: no probe does that */
        *other = half;
    }
    return true;
}

bool spool_range_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                     uint64_t id, int64_t end, struct status *status) {
    struct half_range half = {
        .end = end, .is_end = true, .process = process, .key = key_of(process, id)};
    struct half_range *other = find_half(ranges, half.key);
    if (!other || other->is_end)
        return other ? true : add_half(ranges, &half, status);
    spool_range_write(ranges, writer, &other->row, end);
    remove_half(ranges, other);
    return true;
}

void spool_ranges_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                      int64_t time) {
    for (size_t i = 0; i < ranges->count;) {
        struct half_range *half = &ranges->halves[i];
        if (half->process != process) {
            i++;
            continue;
        }
        if (half->is_end) {
            ranges->never_begun++;
        } else {
            ranges->never_ended++;
            spool_range_write(ranges, writer, &half->row, time);
        }
        remove_half(ranges, half); /* moves another one to position i */
    }
}

void spool_ranges_finish(struct spool_ranges *ranges) {
    memory_free(ranges->halves);
    map_finish(&ranges->positions);
    memset(ranges, 0, sizeof *ranges);
}
