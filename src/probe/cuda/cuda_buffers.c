/* Where CUPTI writes its records: buffers that go round, bounded in all.
 *
 * One is only handed back when everything in it has happened, so in a program that always has work
 * queued, what is in an unfinished one is what a kill loses: it is as long as what the program
 * fills in a short time. No shorter, as each that is handed over delays a launch. When all are out
 * CUPTI gets none, drops records and counts them.
 */
#include "base/clock.h"
#include "probe/cuda/cuda.h"

#include <stdatomic.h>
#include <string.h>

#include "spool/pages.h"

enum {
    SMALLEST = 8 << 10,
    LARGEST = 512 << 10,
    STEP = 4, /* sizes between them are so many times the one before */
    IN_ALL = 64 << 20,
    BUFFERS = 2048,
    FILLED_NS = 50000000, /* within which one should be full */
};

/* Once it is there it stays, in its place. */
static struct buffer_place {
    _Atomic(uint8_t *) buffer;
    _Atomic bool idle;
    uint32_t bytes;
} places[BUFFERS];
static _Atomic uint32_t made, in_all;
static _Atomic int64_t last_time; /* that one was asked for */
static _Atomic uint32_t last_bytes;
static _Atomic bool withheld;

static uint32_t count_made(void) {
    uint32_t count = atomic_load_explicit(&made, memory_order_acquire);
    return count < BUFFERS ? count : BUFFERS;
}

/* NULL: it is none of ours. */
static struct buffer_place *place_of(const uint8_t *buffer) {
    uint32_t count = count_made();
    for (uint32_t i = 0; i < count; i++)
        if (atomic_load_explicit(&places[i].buffer, memory_order_acquire) == buffer)
            return &places[i];
    return NULL;
}

bool cuda_buffer_is_own(const uint8_t *buffer) {
    return place_of(buffer) != NULL;
}

/* Of that size; 0: of any. */
static struct buffer_place *take_idle(uint32_t bytes) {
    uint32_t count = count_made();
    for (uint32_t i = 0; i < count; i++) {
        struct buffer_place *place = &places[i];
        if (atomic_load_explicit(&place->idle, memory_order_acquire) &&
            (bytes == 0 || place->bytes == bytes) && atomic_exchange(&place->idle, false))
            return place;
    }
    return NULL;
}

static struct buffer_place *make(uint32_t bytes) {
    if (atomic_load(&made) >= BUFFERS)
        return NULL;
    uint8_t *buffer = NULL;
    if (atomic_fetch_add(&in_all, bytes) + bytes <= IN_ALL)
        buffer = pages_allocate(bytes);
    uint32_t number = buffer ? atomic_fetch_add(&made, 1) : BUFFERS;
    if (number >= BUFFERS) {
        pages_free(buffer, bytes);
        atomic_fetch_sub(&in_all, bytes);
        return NULL;
    }
    places[number].bytes = bytes;
    atomic_store_explicit(&places[number].buffer, buffer, memory_order_release);
    return &places[number];
}

/* As the last one was filled, so will be the next. */
static uint32_t choose_size(void) {
    int64_t now = clock_now(), since = atomic_exchange(&last_time, now);
    int64_t took = now > since ? now - since : 1;
    int64_t filled = (int64_t)atomic_load(&last_bytes) * FILLED_NS / took;
    uint32_t bytes = SMALLEST;
    while (bytes * STEP <= LARGEST && bytes * STEP <= filled)
        bytes *= STEP;
    atomic_store(&last_bytes, bytes);
    return bytes;
}

void cuda_buffers_withhold(bool from_here_on) {
    atomic_store(&withheld, from_here_on);
}

void cuda_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records_most) {
    struct buffer_place *place = NULL;
    if (!atomic_load_explicit(&withheld, memory_order_acquire)) {
        uint32_t wanted = choose_size();
        place = take_idle(wanted);
        if (!place)
            place = make(wanted);
        if (!place)
            place = take_idle(0);
    }
    *buffer = place ? atomic_load_explicit(&place->buffer, memory_order_relaxed) : NULL;
    *bytes = place ? place->bytes : 0;
    *records_most = 0; /* as many as fit */
}

void cuda_buffer_release(uint8_t *buffer, size_t used) {
    struct buffer_place *place = place_of(buffer);
    if (!place)
        return;
    memset(buffer, 0, used < place->bytes ? used : place->bytes);
    atomic_store_explicit(&place->idle, true, memory_order_release);
}
