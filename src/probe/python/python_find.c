/* Finds CPython in this process and verifies its layout before any frame is read directly.
 *
 * The first stack is read with process_vm_readv(), which fails on an address without memory instead
 * of raising SIGSEGV. Every frame of it must have a code object by its type, with a file and a name
 * that are strings and an instruction inside the code. With wrong offsets one of these checks
 * fails.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "probe/python/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum state { UNKNOWN, TRUSTED, DISTRUSTED };

/* A program may load Python late: it is looked for again after 16, 256, 4096 ... calls. */
enum { SEARCH_FACTOR = 16, SEARCH_MAX = 1 << 24, TABLE_MAX = 64 << 20 };

static _Atomic int state;
static struct python python;
static const void *text_type, *bytes_type;
static _Atomic uint32_t calls, next_search = 1;

/* ---- Reading memory that may not exist ------------------------------------------------------ */

#ifdef __linux__
/* The kernel copies the bytes into a pipe, or fails. */
static bool read_through_pipe(void *to, const void *from, size_t bytes) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    bool ok =
        write(ends[1], from, bytes) == (ssize_t)bytes && read(ends[0], to, bytes) == (ssize_t)bytes;
    close(ends[0]);
    close(ends[1]);
    return ok;
}

static bool read_checked(void *to, const void *from, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    if (!from || (uintptr_t)from % 4 != 0)
        return false;
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got < 0 && (errno == EPERM || errno == ENOSYS))
        return read_through_pipe(to, from, bytes);
    return got == (ssize_t)bytes;
}
#else
static bool read_checked(void *to, const void *from, size_t bytes) {
    (void)to, (void)from, (void)bytes;
    return false;
}
#endif

bool python_read(void *to, const void *from, size_t bytes) {
    return read_checked(to, from, bytes);
}

static bool read_pointer(const char *object, size_t offset, const char **value) {
    return read_checked(value, object + offset, sizeof *value);
}

static bool has_type(const struct cpython_layout *layout, const char *object, const void *type) {
    const char *found;
    return (uintptr_t)object % 8 == 0 && read_pointer(object, layout->type, &found) &&
           found == type;
}

/* ---- Verification --------------------------------------------------------------------------- */

static bool check_text(struct cpython_layout *layout, const char *code, size_t offset) {
    const char *text;
    uint32_t text_state;
    uint64_t length;
    if (!read_pointer(code, offset, &text) || !has_type(layout, text, text_type) ||
        !read_checked(&text_state, text + layout->text_state, sizeof text_state) ||
        !read_checked(&length, text + layout->text_length, sizeof length) || length > TABLE_MAX)
        return false;
    if (layout->kind_shift == CPYTHON_SHIFT_UNKNOWN)
        layout->kind_shift = (uint8_t)cpython_find_shift(text_state);
    return layout->kind_shift != CPYTHON_SHIFT_UNKNOWN &&
           cpython_text_state_fits(text_state, layout->kind_shift);
}

static bool check_bytes(const struct cpython_layout *layout, const char *code, size_t offset,
                        uint64_t *size) {
    const char *bytes;
    return read_pointer(code, offset, &bytes) && has_type(layout, bytes, bytes_type) &&
           read_checked(size, bytes + layout->size, sizeof *size) && *size <= TABLE_MAX;
}

static bool read_copy(const struct cpython_layout *layout, const char *frame, const char *code,
                      const char **start) {
    int32_t index;
    const char *copies;
    uint64_t count;
    return read_checked(&index, frame + layout->copy_index, sizeof index) &&
           read_pointer(code, layout->copies, &copies) &&
           read_checked(&count, copies, sizeof count) && index >= 0 && (uint64_t)index < count &&
           read_pointer(copies, 8 + 8 * (size_t)index, start);
}

/* The instruction must be inside the code; before the first one, a frame has not begun. */
static bool check_instruction(const struct cpython_layout *layout, const char *frame,
                              const char *code) {
    uint64_t size;
    if (layout->instruction == CPYTHON_POINTER) {
        const char *at, *start = code + layout->instructions;
        if (!read_pointer(frame, layout->at, &at) ||
            !read_checked(&size, code + layout->size, sizeof size) ||
            (layout->copies && !read_copy(layout, frame, code, &start)))
            return false;
        int64_t offset = at - start;
        return size <= TABLE_MAX && offset >= -2 && offset < (int64_t)(2 * size);
    }
    int32_t at;
    if (!read_checked(&at, frame + layout->at, sizeof at) ||
        !check_bytes(layout, code, layout->instructions, &size))
        return false;
    return at >= -1 && (uint64_t)(at < 0 ? 0 : at) < size;
}

static bool check_code(struct cpython_layout *layout, const char *frame, const char *code) {
    int32_t first_line;
    uint64_t size;
    return has_type(layout, code, python.code_type) &&
           read_checked(&first_line, code + layout->first_line, sizeof first_line) &&
           first_line >= 0 && check_text(layout, code, layout->filename) &&
           check_text(layout, code, layout->name) &&
           (!layout->qualname || check_text(layout, code, layout->qualname)) &&
           check_bytes(layout, code, layout->line_table, &size) &&
           check_instruction(layout, frame, code);
}

/* The number of frames with code; -1: the frames are not as expected. */
static int check_frames(struct cpython_layout *layout, const char *thread_state) {
    const char *holder = thread_state, *frame, *code;
    int count = 0;
    if (layout->has_cframe && !read_pointer(thread_state, layout->cframe, &holder))
        return -1;
    if (!read_pointer(holder, layout->current_frame, &frame))
        return -1;
    for (int i = 0; frame && i < PYTHON_FRAMES_MAX; i++) {
        uint8_t owner = 0;
        uint64_t word;
        if ((uintptr_t)frame % 8 != 0 || !read_pointer(frame, layout->code, &code))
            return -1;
        if (layout->owner) {
            if (!read_checked(&word, frame + layout->owner / 8 * 8, sizeof word))
                return -1;
            owner = (uint8_t)(word >> layout->owner % 8 * 8);
            if (owner > 4)
                return -1;
        }
        code = (const char *)((uintptr_t)code & ~(uintptr_t)layout->tag_mask);
        if (owner < layout->owner_skip) {
            if (!check_code(layout, frame, code))
                return -1;
            count++;
        }
        if (!read_pointer(frame, layout->previous, &frame))
            return -1;
    }
    return count;
}

/* ---- Search --------------------------------------------------------------------------------- */

static void put_off(struct probe_thread *thread, const char *version, const char *reason) {
    char text[200];
    int length = snprintf(text, sizeof text, "%s%s%s", version, version[0] ? ": " : "", reason);
    if (length > 0)
        probe_put_meta(
            thread, "python.lines_off",
            (struct text){text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1});
}

void python_distrust(struct probe_thread *thread, const char *reason) {
    if (atomic_exchange(&state, DISTRUSTED) != DISTRUSTED)
        put_off(thread, "", reason);
}

static void *symbol(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

static void short_version(char version[24], const char *whole) {
    size_t length = strcspn(whole, " ");
    snprintf(version, 24, "%.*s", (int)(length < 23 ? length : 23), whole);
}

/* The layout of the running version, not yet verified. */
static bool find_layout(unsigned minor, struct cpython_layout *layout) {
    char runtime[CPYTHON_OFFSETS_BYTES];
    if (minor < CPYTHON_OFFSETS_SINCE)
        return cpython_layout_of_version(minor, layout);
    const void *at = symbol("_PyRuntime");
    return at && read_checked(runtime, at, sizeof runtime) &&
           cpython_layout_of_runtime(runtime, minor, layout);
}

static enum state examine(struct probe_thread *thread, const char *whole_version) {
    char version[24];
    struct cpython_layout layout;
    short_version(version, whole_version);
    python.code_type = symbol("PyCode_Type");
    text_type = symbol("PyUnicode_Type");
    bytes_type = symbol("PyBytes_Type");
    if (!python.code_type || !text_type || !bytes_type ||
        !find_layout(cpython_minor(version), &layout)) {
        put_off(thread, version, "the layout of this version's frames is not known");
        return DISTRUSTED;
    }
    const char *thread_state = python.thread_state();
    int frames = thread_state ? check_frames(&layout, thread_state) : 0;
    if (frames < 0) {
        put_off(thread, version, "its frames are not laid out as in a regular build");
        return DISTRUSTED;
    }
    if (frames == 0)
        return UNKNOWN;
    python.layout = layout;
    probe_put_meta(thread, "python.version", text_of(version));
    return TRUSTED;
}

static bool search(void) {
    if (python.thread_state)
        return true;
    uint32_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1,
             next = atomic_load_explicit(&next_search, memory_order_relaxed);
    if (call < next)
        return false;
    atomic_store_explicit(&next_search, next < SEARCH_MAX ? next * SEARCH_FACTOR : UINT32_MAX,
                          memory_order_relaxed);
    void *(*thread_state)(void) = NULL;
    *(void **)&thread_state = symbol("PyGILState_GetThisThreadState");
    python.thread_state = thread_state;
    return thread_state != NULL;
}

bool python_is_present(void) {
    return python.thread_state != NULL;
}

const struct python *python_find(struct probe_thread *thread) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == TRUSTED)
        return &python;
    if (now == DISTRUSTED || !probe_lock())
        return NULL;
    if (atomic_load(&state) == UNKNOWN && search() && python.thread_state()) {
        const char *(*version)(void) = NULL;
        *(void **)&version = symbol("Py_GetVersion");
        enum state found = version ? examine(thread, version()) : DISTRUSTED;
        atomic_store_explicit(&state, found, memory_order_release);
    }
    probe_unlock();
    return atomic_load_explicit(&state, memory_order_acquire) == TRUSTED ? &python : NULL;
}
