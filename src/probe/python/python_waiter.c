/* Autograd's threads launch the kernels of the backward pass and run no Python, while the thread
 * that called backward() waits for them inside torch/autograd. Their calls belong to its line.
 *
 * The frames of another thread are read with process_vm_readv(), because that thread may go on at
 * any time. They are read again, in one call, before they are believed, and are used only while the
 * innermost frame is in torch/autograd. Otherwise the line is unknown.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "probe/python/python.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/array.h"
#include "base/clock.h"

enum { CHECK_INTERVAL_NS = 100000, NAME_BYTES = 512 };

static _Atomic(const char *) last_state;
static _Atomic uint64_t last_serial;

void python_waiter_note(const char *thread_state) {
    atomic_store_explicit(&last_state, thread_state, memory_order_relaxed);
    atomic_store_explicit(&last_serial,
                          atomic_load_explicit(&last_serial, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

#ifdef __linux__
static bool works_for_autograd(void) {
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strncmp(name, "pt_autograd", 11) == 0;
}

/* Whether the frames are as they were read, in one system call. */
static bool is_unchanged(const struct cpython_layout *layout, const struct python_waiter *waiter) {
    struct iovec local[1 + 3 * ARRAY_COUNT(waiter->frames)],
        remote[1 + 3 * ARRAY_COUNT(waiter->frames)];
    uint64_t words[1 + 3 * ARRAY_COUNT(waiter->frames)];
    size_t count = 0;
    remote[count++].iov_base = (void *)(uintptr_t)(waiter->holder + layout->current_frame);
    for (uint32_t i = 0; i < waiter->frame_count; i++) {
        const char *at = waiter->frames[i].at;
        remote[count++].iov_base = (void *)(uintptr_t)(at + layout->code);
        remote[count++].iov_base = (void *)(uintptr_t)(at + layout->previous);
        remote[count++].iov_base = (void *)(uintptr_t)(at + layout->at);
    }
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){&words[i], sizeof words[i]};
        remote[i].iov_len = sizeof words[i];
    }
    ssize_t bytes = (ssize_t)(count * sizeof words[0]);
    if (process_vm_readv(getpid(), local, count, remote, count, 0) != bytes ||
        words[0] != (uint64_t)(uintptr_t)waiter->frames[0].at)
        return false;
    for (uint32_t i = 0; i < waiter->frame_count; i++)
        if (memcmp(waiter->frames[i].words, &words[1 + 3 * i], sizeof waiter->frames[i].words) != 0)
            return false;
    return true;
}

static bool read_chain(const struct cpython_layout *layout, struct python_waiter *waiter) {
    const char *at;
    waiter->frame_count = 0;
    waiter->holder = waiter->thread_state;
    if (layout->has_cframe &&
        !python_read(&waiter->holder, waiter->thread_state + layout->cframe, sizeof waiter->holder))
        return false;
    if (!python_read(&at, waiter->holder + layout->current_frame, sizeof at))
        return false;
    while (at && waiter->frame_count < ARRAY_COUNT(waiter->frames)) {
        struct waiting_frame *frame = &waiter->frames[waiter->frame_count++];
        frame->at = at;
        if (!python_read(&frame->words[0], at + layout->code, sizeof frame->words[0]) ||
            !python_read(&frame->words[1], at + layout->previous, sizeof frame->words[1]) ||
            !python_read(&frame->words[2], at + layout->at, sizeof frame->words[2]))
            return false;
        at = (const char *)(uintptr_t)frame->words[1];
    }
    return !at && waiter->frame_count > 0;
}

/* Whether the code's file is one of torch/autograd. */
static bool is_autograd(const struct cpython_layout *layout, const char *code) {
    const char *file;
    uint64_t length;
    char name[NAME_BYTES];
    if (!python_read(&file, code + layout->filename, sizeof file) ||
        !python_read(&length, file + layout->text_length, sizeof length) || length >= sizeof name)
        return false;
    for (uint64_t i = 0; i < length; i += 4)
        if (!python_read(name + i, file + layout->ascii_data + i, 4))
            return false;
    name[length] = 0;
    return strstr(name, "/torch/autograd/") != NULL;
}

static bool fill_frame(const struct python *python, const struct waiting_frame *read,
                       struct walked_frame *frame) {
    const struct cpython_layout *layout = &python->layout;
    const void *type;
    frame->code = (const char *)(uintptr_t)(read->words[0] & ~(uint64_t)layout->tag_mask);
    if ((uintptr_t)frame->code % 8 != 0 ||
        !python_read(&type, frame->code + layout->type, sizeof type) || type != python->code_type)
        return false;
    frame->key = python_code_key(layout, frame->code);
    if (layout->instruction == CPYTHON_POINTER) {
        const char *start = frame->code + layout->instructions, *copies;
        int32_t index;
        if (layout->copies &&
            (!python_read(&index, read->at + layout->copy_index, sizeof index) ||
             !python_read(&copies, frame->code + layout->copies, sizeof copies) || index < 0 ||
             !python_read(&start, copies + 8 + 8 * (size_t)index, sizeof start)))
            return false;
        frame->offset = (int32_t)((const char *)(uintptr_t)read->words[2] - start);
    } else {
        frame->offset =
            (int32_t)read->words[2] * (layout->instruction == CPYTHON_UNIT_OFFSET ? 2 : 1);
    }
    return true;
}

/* Whether the frame has code; false also if that cannot be read. */
static bool has_code(const struct cpython_layout *layout, const struct waiting_frame *frame) {
    uint64_t word;
    if (layout->owner_skip == CPYTHON_OWNER_NONE)
        return true;
    return python_read(&word, frame->at + layout->owner / 8 * 8, sizeof word) &&
           (uint8_t)(word >> layout->owner % 8 * 8) < layout->owner_skip;
}

static unsigned read_stack(const struct python *python, struct python_waiter *waiter,
                           struct walked_frame *frames) {
    const struct cpython_layout *layout = &python->layout;
    unsigned count = 0;
    if (!read_chain(layout, waiter) || !is_unchanged(layout, waiter))
        return 0;
    for (uint32_t i = 0; i < waiter->frame_count; i++) {
        if (!has_code(layout, &waiter->frames[i]))
            continue;
        if (!fill_frame(python, &waiter->frames[i], &frames[count]) ||
            (count == 0 && !is_autograd(layout, frames[0].code)))
            return 0;
        count++;
    }
    return is_unchanged(layout, waiter) ? count : 0;
}

unsigned python_waiter_walk(const struct python *python, struct python_waiter *waiter,
                            struct walked_frame *frames, bool *changed) {
    *changed = false;
    if (waiter->kind == 0)
        waiter->kind = works_for_autograd() ? 1 : 2;
    if (waiter->kind == 2)
        return 0;
    uint64_t serial = atomic_load_explicit(&last_serial, memory_order_relaxed);
    int64_t now = clock_now();
    bool recent = waiter->serial == serial && now - waiter->checked_at < CHECK_INTERVAL_NS;
    if (recent && waiter->frame_count)
        return waiter->frame_count;
    waiter->checked_at = now;
    waiter->serial = serial;
    const char *thread_state = atomic_load_explicit(&last_state, memory_order_relaxed);
    if (waiter->frame_count && thread_state == waiter->thread_state &&
        is_unchanged(&python->layout, waiter))
        return waiter->frame_count;
    *changed = true;
    waiter->thread_state = thread_state;
    unsigned count = thread_state ? read_stack(python, waiter, frames) : 0;
    if (!count)
        waiter->frame_count = 0;
    return count;
}
#else
unsigned python_waiter_walk(const struct python *python, struct python_waiter *waiter,
                            struct walked_frame *frames, bool *changed) {
    (void)python, (void)frames;
    *changed = false;
    waiter->kind = 2;
    return 0;
}
#endif
