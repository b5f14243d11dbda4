/* Reads are appended to one batch while the other is in use; the writing thread swaps them and
 * keeps the last stack of each thread. */
#include "record/python/python_samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/search.h"

enum { SOON_NS = 2000000, LATE_NS = 50000000 };

/* A stack that was read: a range of the batch's frames. */
struct read {
    pid_t tid;
    int64_t time;
    size_t first, count;
};

struct batch {
    struct read *reads;
    size_t count, capacity;
    struct python_frame *frames;
    size_t frame_count, frame_capacity;
};

struct python_samples {
    struct python_reader *reader; /* of the reading thread */
    size_t codes_sent;
    pthread_mutex_t lock;
    /* protected by the lock: */
    struct batch incoming;
    struct python_code **sent;
    size_t sent_count, sent_capacity;
    uint64_t failed;
    bool is_active;
    char reason[160];
    /* of the writing thread: */
    struct batch batch; /* sorted by tid, then time */
    struct python_code **codes;
    size_t code_count, code_capacity;
};

struct python_samples *python_samples_create(struct status *status) {
    struct python_samples *samples = memory_allocate(1, sizeof *samples, status);
    if (!samples)
        return NULL;
    samples->reader = python_reader_create(status);
    if (!samples->reader) {
        memory_free(samples);
        return NULL;
    }
    pthread_mutex_init(&samples->lock, NULL);
    return samples;
}

static void finish_batch(struct batch *batch) {
    memory_free(batch->reads);
    memory_free(batch->frames);
}

void python_samples_destroy(struct python_samples *samples) {
    if (!samples)
        return;
    for (size_t i = 0; i < samples->sent_count; i++)
        python_code_destroy(samples->sent[i]);
    for (size_t i = 0; i < samples->code_count; i++)
        python_code_destroy(samples->codes[i]);
    memory_free(samples->sent);
    memory_free(samples->codes);
    finish_batch(&samples->incoming);
    finish_batch(&samples->batch);
    python_reader_destroy(samples->reader);
    pthread_mutex_destroy(&samples->lock);
    memory_free(samples);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static bool add_read(struct batch *batch, pid_t tid, int64_t time,
                     const struct python_frame *frames, size_t count) {
    struct status ignored;
    if (!GROW(batch->reads, &batch->capacity, batch->count + 1, &ignored) ||
        !GROW(batch->frames, &batch->frame_capacity, batch->frame_count + count, &ignored))
        return false;
    batch->reads[batch->count++] = (struct read){tid, time, batch->frame_count, count};
    if (count)
        memcpy(batch->frames + batch->frame_count, frames, count * sizeof *frames);
    batch->frame_count += count;
    return true;
}

/* Codes are sent in order, so that their indices are those of the reader. */
static bool send_codes(struct python_samples *samples) {
    struct status ignored;
    size_t count = python_reader_code_count(samples->reader);
    if (!GROW(samples->sent, &samples->sent_capacity,
              samples->sent_count + count - samples->codes_sent, &ignored))
        return false;
    while (samples->codes_sent < count)
        samples->sent[samples->sent_count++] =
            python_reader_take_code(samples->reader, samples->codes_sent++);
    return true;
}

void python_samples_read(struct python_samples *samples, pid_t pid, pid_t tid) {
    struct python_frame frames[PYTHON_READ_FRAMES_MAX];
    size_t count;
    enum python_read result = python_reader_read(samples->reader, pid, tid, frames, &count);
    if (result == PYTHON_READ_FAILED) /* it changed meanwhile */
        result = python_reader_read(samples->reader, pid, tid, frames, &count);
    pthread_mutex_lock(&samples->lock);
    samples->failed += result == PYTHON_READ_FAILED;
    samples->is_active = python_reader_has_python(samples->reader);
    if (result == PYTHON_READ_REFUSED && !samples->reason[0]) {
        const char *reason = python_reader_reason(samples->reader);
        snprintf(samples->reason, sizeof samples->reason, "%s", reason ? reason : "");
    }
    if (result == PYTHON_READ && send_codes(samples))
        add_read(&samples->incoming, tid, clock_now(), frames, count);
    pthread_mutex_unlock(&samples->lock);
}

bool python_samples_is_active(struct python_samples *samples) {
    pthread_mutex_lock(&samples->lock);
    bool is_active = samples->is_active;
    pthread_mutex_unlock(&samples->lock);
    return is_active;
}

/* ---- Use ----------------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b) {
    const struct read *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

/* Keeps reads from `before` on, and the last one of each thread before that. */
static void keep_reads(struct batch *to, const struct batch *from, int64_t before) {
    for (size_t i = 0; i < from->count; i++) {
        const struct read *read = &from->reads[i];
        bool is_last = i + 1 == from->count || from->reads[i + 1].tid != read->tid ||
                       from->reads[i + 1].time >= before;
        if (read->time >= before || (is_last && before - read->time < 20 * (int64_t)LATE_NS))
            add_read(to, read->tid, read->time, from->frames + read->first, read->count);
    }
}

void python_samples_take(struct python_samples *samples, int64_t before) {
    struct batch kept = {0}, incoming;
    struct status ignored;
    keep_reads(&kept, &samples->batch, before);
    pthread_mutex_lock(&samples->lock);
    incoming = samples->incoming;
    samples->incoming = (struct batch){0};
    bool ok = GROW(samples->codes, &samples->code_capacity,
                   samples->code_count + samples->sent_count + 1, &ignored);
    for (size_t i = 0; i < samples->sent_count && ok; i++)
        samples->codes[samples->code_count++] = samples->sent[i];
    if (ok)
        samples->sent_count = 0;
    pthread_mutex_unlock(&samples->lock);
    for (size_t i = 0; i < incoming.count && ok; i++) {
        const struct read *read = &incoming.reads[i];
        add_read(&kept, read->tid, read->time, incoming.frames + read->first, read->count);
    }
    finish_batch(&incoming);
    finish_batch(&samples->batch);
    samples->batch = kept;
    if (kept.count)
        qsort(kept.reads, kept.count, sizeof *kept.reads, by_thread);
}

/* The outer frames that both stacks have. The innermost of them was at some instruction in between:
 * its line is that of the later stack. */
static size_t common_frames(struct python_samples *samples, const struct read *a,
                            const struct read *b, const struct python_frame **frames) {
    const struct python_frame *x = samples->batch.frames + a->first,
                              *y = samples->batch.frames + b->first;
    size_t i = a->count, j = b->count, shared = 0;
    while (i > 0 && j > 0 && x[i - 1].address == y[j - 1].address &&
           x[i - 1].code == y[j - 1].code) {
        i--;
        j--;
        shared++;
        if (x[i].offset != y[j].offset)
            break;
    }
    *frames = y + j;
    return shared;
}

size_t python_samples_find(struct python_samples *samples, pid_t tid, int64_t time,
                           const struct python_frame **frames) {
    const struct batch *batch = &samples->batch;
    size_t at = 0;
    PARTITION_POINT(at, batch->count, i,
                    batch->reads[i].tid < tid ||
                        (batch->reads[i].tid == tid && batch->reads[i].time < time));
    if (at == batch->count || batch->reads[at].tid != tid)
        return 0;
    const struct read *after = &batch->reads[at];
    if (after->time - time <= SOON_NS) {
        *frames = batch->frames + after->first;
        return after->count;
    }
    bool has_before = at > 0 && batch->reads[at - 1].tid == tid;
    if (!has_before || after->time - batch->reads[at - 1].time > LATE_NS)
        return 0;
    return common_frames(samples, &batch->reads[at - 1], after, frames);
}

const struct python_code *python_samples_code(const struct python_samples *samples, uint32_t code) {
    return code < samples->code_count ? samples->codes[code] : NULL;
}

uint64_t python_samples_failed(const struct python_samples *samples) {
    return samples->failed;
}

const char *python_samples_reason(const struct python_samples *samples) {
    return samples->reason[0] ? samples->reason : NULL;
}
