/* The clocks of a Perfetto trace. Packets may be on any clock that a snapshot relates to the
 * trace's own (the boot clock, unless a snapshot names another): the latest snapshot before a
 * packet counts. A sequence's own clocks may count in other units and in differences. */
#include "import/perfetto/perfetto.h"

#include "base/memory.h"

enum {
    CLOCK_REALTIME_ID = 1,
    CLOCK_BOOTTIME_ID = 6,
    CLOCK_SCOPED_FIRST = 64, /* clocks that belong to one sequence */
    CLOCK_SCOPED_LAST = 127,

    SNAPSHOT_CLOCK = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
    CLOCK_INCREMENTAL = 3,
    CLOCK_MULTIPLIER = 4,
};

static uint64_t clock_key(uint64_t sequence, uint64_t clock) {
    bool scoped = clock >= CLOCK_SCOPED_FIRST && clock <= CLOCK_SCOPED_LAST;
    return (scoped ? sequence + 1 : 0) << 32 | (clock & UINT32_MAX);
}

static struct perfetto_clock *find_clock(struct perfetto_import *import, uint64_t key, bool add) {
    uint64_t *known = map_find(&import->clock_by_id, key);
    if (known)
        return &import->clocks[*known];
    if (!add ||
        !GROW(import->clocks, &import->clock_capacity, import->clock_count + 1, import->status) ||
        !map_set(&import->clock_by_id, key, import->clock_count, import->status))
        return NULL;
    struct perfetto_clock *clock = &import->clocks[import->clock_count++];
    *clock = (struct perfetto_clock){.multiplier = 1};
    return clock;
}

struct snapshot_clock {
    uint64_t id, time, multiplier;
    bool incremental;
};

static struct snapshot_clock read_snapshot_clock(struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct snapshot_clock clock = {.multiplier = 1};
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        if (field.number == CLOCK_ID)
            clock.id = value;
        else if (field.number == CLOCK_TIME)
            clock.time = value;
        else if (field.number == CLOCK_INCREMENTAL)
            clock.incremental = value != 0;
        else if (field.number == CLOCK_MULTIPLIER && value > 0)
            clock.multiplier = value;
    }
    return clock;
}

/* The reading of the trace's own clock in a snapshot; false when it has none. */
static bool snapshot_reference(struct text bytes, uint64_t primary, uint64_t *time) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    bool found = false;
    while (protobuf_next(&message, &field)) {
        if (field.number != SNAPSHOT_CLOCK)
            continue;
        struct snapshot_clock clock = read_snapshot_clock(protobuf_text(&field));
        if (clock.id == primary) {
            *time = clock.time * clock.multiplier;
            found = true;
        }
    }
    return found;
}

bool perfetto_read_snapshot(struct perfetto_import *import, uint64_t sequence, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t reference = 0;
    while (protobuf_next(&message, &field))
        if (field.number == SNAPSHOT_PRIMARY && import->primary_clock == 0)
            import->primary_clock = (uint64_t)protobuf_integer(&field);
    uint64_t primary = import->primary_clock ? import->primary_clock : CLOCK_BOOTTIME_ID;
    if (!snapshot_reference(bytes, primary, &reference))
        return true;
    message = protobuf_of(bytes);
    while (protobuf_next(&message, &field)) {
        if (field.number != SNAPSHOT_CLOCK)
            continue;
        struct snapshot_clock seen = read_snapshot_clock(protobuf_text(&field));
        struct perfetto_clock *clock = find_clock(import, clock_key(sequence, seen.id), true);
        if (!clock)
            return false;
        clock->multiplier = seen.multiplier;
        clock->incremental = seen.incremental;
        clock->last = seen.time;
        clock->offset = (int64_t)(reference - seen.time * seen.multiplier);
        if (seen.id == CLOCK_REALTIME_ID && !import->has_realtime) {
            import->realtime = (int64_t)(seen.time - reference);
            import->has_realtime = true;
        }
    }
    return true;
}

/* Sums wrap around as the unsigned values of the file do; what is impossible is found by the rows'
 * checks. */
int64_t perfetto_time(struct perfetto_import *import, uint64_t sequence, uint64_t clock_id,
                      uint64_t value) {
    uint64_t primary = import->primary_clock ? import->primary_clock : CLOCK_BOOTTIME_ID;
    if (clock_id == 0 || clock_id == primary)
        return (int64_t)value;
    struct perfetto_clock *clock = find_clock(import, clock_key(sequence, clock_id), false);
    if (!clock) {
        import->unknown_clock = true;
        return (int64_t)value;
    }
    if (clock->incremental)
        value = clock->last += value;
    return (int64_t)(value * clock->multiplier + (uint64_t)clock->offset);
}
