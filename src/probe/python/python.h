/* The Python frames of the calling thread, read from its thread state.
 *
 * A thread that is inside a C function has suspended frames that nobody else changes, with or
 * without the GIL. The interpreter is not called, except for PyGILState_GetThisThreadState(), which
 * reads thread-local storage.
 */
#ifndef RIDGE_PROBE_PYTHON_PYTHON_H
#define RIDGE_PROBE_PYTHON_PYTHON_H

#include "abi/cpython.h"
#include "probe/probe.h"

enum { PYTHON_FRAMES_MAX = 1024 }; /* outer frames of a deeper stack are left out */

struct python {
    struct cpython_layout layout;
    const void *code_type; /* &PyCode_Type */
    void *(*thread_state)(void);
};

/* The interpreter of this process, once its layout has been verified with this thread's frames.
 * NULL: none, or it is not trusted; the reason is in the meta table. */
const struct python *python_find(struct probe_thread *thread);
/* Whether this process has an interpreter, trusted or not. */
bool python_is_present(void);
/* Copies memory that may not exist; false: it does not. */
bool python_read(void *to, const void *from, size_t bytes);
/* The frames are not as expected: no more stacks are read in this process. */
void python_distrust(struct probe_thread *thread, const char *reason);

/* A frame as it was read. */
struct walked_frame {
    const char *code;
    uint64_t key; /* of the code object */
    int32_t offset;
};

/* The stack of the Python thread that waits for this thread, from the innermost frame on: in
 * PyTorch the one inside loss.backward() for autograd's threads. Returns the number of frames; 0:
 * none, or nothing waits. `serial` counts the stacks that Python threads have recorded. */
struct python_waiter {
    uint8_t kind; /* 0: unknown; 1: the thread works for another; 2: it does not */
    uint32_t frame_count;
    uint64_t serial;
    int64_t checked_at;
    const char *thread_state, *holder;
    struct waiting_frame {
        const char *at;
        uint64_t words[3]; /* code, previous, instruction */
    } frames[96];
};
uint64_t python_code_key(const struct cpython_layout *layout, const char *code);
/* Called by a thread that has just read its own stack. */
void python_waiter_note(const char *thread_state);
/* Fills in `frames` if the stack is not that of the last call (*changed). */
unsigned python_waiter_walk(const struct python *python, struct python_waiter *waiter,
                            struct walked_frame *frames, bool *changed);

static inline uint64_t python_word(const char *object, size_t offset) {
    return *(const uint64_t *)(object + offset);
}
static inline const char *python_pointer(const char *object, size_t offset) {
    return *(const char *const *)(object + offset);
}

#endif
