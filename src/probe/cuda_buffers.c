/* Where CUPTI writes its records: a bounded number of buffers that go round.
 *
 * A buffer is only handed back when everything in it has happened, so they are short: in a program
 * that always has work queued, what is in an unfinished buffer is what a kill loses. When all are
 * out CUPTI gets none, drops records and counts them.
 */
#include "probe/cuda.h"

#include <stdatomic.h>
#include <string.h>

#include "spool/pages.h"

enum { BUFFER_BYTES = 128 << 10, BUFFERS = 512 };

static _Atomic(uint8_t *) idle[BUFFERS];
static _Atomic(const uint8_t *) own[BUFFERS];
static _Atomic uint32_t made;
static _Atomic bool withheld;

static uint8_t *take_idle(void) {
    for (unsigned i = 0; i < BUFFERS; i++)
        if (atomic_load_explicit(&idle[i], memory_order_relaxed)) {
            uint8_t *buffer = atomic_exchange_explicit(&idle[i], NULL, memory_order_acquire);
            if (buffer)
                return buffer;
        }
    return NULL;
}

/* There is a place for each that may be made. */
static void remember(const uint8_t *buffer) {
    for (unsigned i = 0; i < BUFFERS; i++) {
        const uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&own[i], &none, buffer))
            return;
    }
}

bool cuda_buffer_is_own(const uint8_t *buffer) {
    for (unsigned i = 0; i < BUFFERS; i++)
        if (atomic_load_explicit(&own[i], memory_order_relaxed) == buffer)
            return true;
    return false;
}

static uint8_t *make(void) {
    if (atomic_load(&made) >= BUFFERS || atomic_fetch_add(&made, 1) >= BUFFERS)
        return NULL;
    uint8_t *buffer = pages_allocate(BUFFER_BYTES);
    if (buffer)
        remember(buffer);
    else
        atomic_fetch_sub(&made, 1);
    return buffer;
}

void cuda_buffers_withhold(bool from_here_on) {
    atomic_store(&withheld, from_here_on);
}

void cuda_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records_most) {
    bool given = !atomic_load_explicit(&withheld, memory_order_acquire);
    *buffer = given ? take_idle() : NULL;
    if (given && !*buffer)
        *buffer = make();
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records_most = 0; /* as many as fit */
}

void cuda_buffer_release(uint8_t *buffer, size_t used) {
    if (!buffer)
        return;
    memset(buffer, 0, used < BUFFER_BYTES ? used : BUFFER_BYTES);
    for (unsigned i = 0; i < BUFFERS; i++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&idle[i], &none, buffer, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
}
