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
/* The frames are not as expected: no more stacks are read in this process. */
void python_distrust(struct probe_thread *thread, const char *reason);

static inline uint64_t python_word(const char *object, size_t offset) {
    return *(const uint64_t *)(object + offset);
}
static inline const char *python_pointer(const char *object, size_t offset) {
    return *(const char *const *)(object + offset);
}

#endif
