/* The layouts of abi/cpython.c against CPython's own headers. run.sh compiles this once for each Python
 * whose headers are installed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__has_include) && defined(ABI_PYTHON)
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#if __has_include(<internal/pycore_runtime.h>)
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#else
#include <internal/pycore_pystate.h>
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#endif

#include "../../src/abi/cpython.c"

static int failed;

static void check(const char *name, size_t ours, size_t theirs) {
    if (ours == theirs)
        return;
    printf("FAILED tests/abi/cpython: Python %s: %s is %zu, not %zu\n", PY_VERSION, name, theirs,
           ours);
    failed = 1;
}

#define CHECK(member, type, of) check(#member, layout.member, offsetof(type, of))

static void check_collector(struct cpython_layout layout) {
#if PY_VERSION_HEX >= 0x03090000
    check("collecting", layout.collecting,
          offsetof(PyInterpreterState, gc) + offsetof(struct _gc_runtime_state, collecting));
#else
    check("collecting", layout.collecting, 0);
#endif
}

static void check_objects(struct cpython_layout layout) {
    CHECK(type, PyObject, ob_type);
    CHECK(size, PyVarObject, ob_size);
    CHECK(bytes_data, PyBytesObject, ob_sval);
    CHECK(text_length, PyASCIIObject, length);
    CHECK(text_state, PyASCIIObject, state);
    check("ascii_data", layout.ascii_data, sizeof(PyASCIIObject));
    check("text_data", layout.text_data, sizeof(PyCompactUnicodeObject));
    CHECK(filename, PyCodeObject, co_filename);
    CHECK(name, PyCodeObject, co_name);
    CHECK(first_line, PyCodeObject, co_firstlineno);
    CHECK(thread_id, PyThreadState, thread_id);
    CHECK(thread_next, PyThreadState, next);
    CHECK(interpreters, _PyRuntimeState, interpreters.head);
}

/* The bits of a string's state: kind 1, compact, ASCII. */
static void check_state(struct cpython_layout layout) {
    PyASCIIObject text;
    uint32_t state;
    memset(&text.state, 0, sizeof text.state);
    text.state.kind = 1;
    text.state.compact = 1;
    text.state.ascii = 1;
    memcpy(&state, &text.state, sizeof state);
    unsigned shift = layout.kind_shift == CPYTHON_SHIFT_UNKNOWN ? cpython_find_shift(state)
                                                                : layout.kind_shift;
    check("kind_shift", shift == CPYTHON_SHIFT_UNKNOWN ? 0 : cpython_text_state_fits(state, shift), 1);
    check("kind", state >> shift & 7, 1);
    check("ascii", state >> (shift + 4) & 1, 1);
}

#if PY_VERSION_HEX < 0x030B0000
static void check_frames(struct cpython_layout layout) {
    CHECK(current_frame, PyThreadState, frame);
    CHECK(code, PyFrameObject, f_code);
    CHECK(previous, PyFrameObject, f_back);
    CHECK(at, PyFrameObject, f_lasti);
    CHECK(instructions, PyCodeObject, co_code);
    CHECK(interpreter_threads, PyInterpreterState, tstate_head);
#if PY_VERSION_HEX >= 0x030A0000
    CHECK(line_table, PyCodeObject, co_linetable);
#else
    CHECK(line_table, PyCodeObject, co_lnotab);
#endif
}
#else
static void check_frames(struct cpython_layout layout) {
    CHECK(previous, _PyInterpreterFrame, previous);
    CHECK(owner, _PyInterpreterFrame, owner);
    CHECK(qualname, PyCodeObject, co_qualname);
    CHECK(line_table, PyCodeObject, co_linetable);
    CHECK(instructions, PyCodeObject, co_code_adaptive);
    CHECK(interpreter_threads, PyInterpreterState, threads.head);
    CHECK(native_thread_id, PyThreadState, native_thread_id);
#if PY_VERSION_HEX >= 0x030D0000
    CHECK(current_frame, PyThreadState, current_frame);
    CHECK(code, _PyInterpreterFrame, f_executable);
    CHECK(at, _PyInterpreterFrame, instr_ptr);
    check("owner_skip", layout.owner_skip,
#if PY_VERSION_HEX >= 0x030E0000
          FRAME_OWNED_BY_INTERPRETER
#else
          FRAME_OWNED_BY_CSTACK
#endif
    );
#else
    CHECK(cframe, PyThreadState, cframe);
    CHECK(current_frame, _PyCFrame, current_frame);
    CHECK(code, _PyInterpreterFrame, f_code);
    CHECK(at, _PyInterpreterFrame, prev_instr);
#endif
#if PY_VERSION_HEX < 0x030C0000
    check("is_entry", layout.owner - 1u, offsetof(_PyInterpreterFrame, is_entry));
#endif
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
    CHECK(copy_index, _PyInterpreterFrame, tlbc_index);
    CHECK(copies, PyCodeObject, co_tlbc);
    check("entries", 8, offsetof(_PyCodeArray, entries));
#endif
}
#endif

#if PY_VERSION_HEX >= 0x030D0000
static const struct _Py_DebugOffsets offsets =
#if PY_VERSION_HEX >= 0x030E0000
    _Py_DebugOffsets_INIT(_Py_Debug_Cookie);
#else
    {.cookie = "xdebugpy"};
#endif

/* 3.13 has the initializer among others': the members that are read are set here. */
static struct _Py_DebugOffsets fill_offsets(void) {
    struct _Py_DebugOffsets filled = offsets;
#if PY_VERSION_HEX < 0x030E0000
    filled.version = PY_VERSION_HEX;
#ifdef Py_GIL_DISABLED
    filled.free_threaded = 1;
#endif
    filled.runtime_state.interpreters_head = offsetof(_PyRuntimeState, interpreters.head);
    filled.interpreter_state.threads_head = offsetof(PyInterpreterState, threads.head);
    filled.interpreter_state.gc = offsetof(PyInterpreterState, gc);
    filled.gc.collecting = offsetof(struct _gc_runtime_state, collecting);
    filled.thread_state.next = offsetof(PyThreadState, next);
    filled.thread_state.current_frame = offsetof(PyThreadState, current_frame);
    filled.thread_state.thread_id = offsetof(PyThreadState, thread_id);
    filled.thread_state.native_thread_id = offsetof(PyThreadState, native_thread_id);
    filled.interpreter_frame.previous = offsetof(_PyInterpreterFrame, previous);
    filled.interpreter_frame.executable = offsetof(_PyInterpreterFrame, f_executable);
    filled.interpreter_frame.instr_ptr = offsetof(_PyInterpreterFrame, instr_ptr);
    filled.interpreter_frame.owner = offsetof(_PyInterpreterFrame, owner);
    filled.code_object.filename = offsetof(PyCodeObject, co_filename);
    filled.code_object.name = offsetof(PyCodeObject, co_name);
    filled.code_object.qualname = offsetof(PyCodeObject, co_qualname);
    filled.code_object.linetable = offsetof(PyCodeObject, co_linetable);
    filled.code_object.firstlineno = offsetof(PyCodeObject, co_firstlineno);
    filled.code_object.co_code_adaptive = offsetof(PyCodeObject, co_code_adaptive);
    filled.pyobject.ob_type = offsetof(PyObject, ob_type);
    filled.bytes_object.ob_size = offsetof(PyVarObject, ob_size);
    filled.bytes_object.ob_sval = offsetof(PyBytesObject, ob_sval);
    filled.unicode_object.state = offsetof(PyASCIIObject, state);
    filled.unicode_object.length = offsetof(PyASCIIObject, length);
    filled.unicode_object.asciiobject_size = sizeof(PyASCIIObject);
#endif
    return filled;
}

static int find_layout(struct cpython_layout *layout) {
    static union {
        struct _Py_DebugOffsets offsets;
        char bytes[CPYTHON_OFFSETS_BYTES + sizeof(struct _Py_DebugOffsets)];
    } runtime;
    runtime.offsets = fill_offsets();
    return cpython_layout_of_runtime(&runtime, PY_MINOR_VERSION, layout);
}
#else
static int find_layout(struct cpython_layout *layout) {
    return cpython_layout_of_version(PY_MINOR_VERSION, layout);
}
#endif

int main(void) {
    struct cpython_layout layout;
    if (!find_layout(&layout)) {
        printf("FAILED tests/abi/cpython: Python %s: its layout is refused\n", PY_VERSION);
        return 1;
    }
    check_objects(layout);
    check_collector(layout);
    check_frames(layout);
    check_state(layout);
    return failed;
}
#else
int main(void) {
    puts("SKIP no Python has headers here");
    return 77;
}
#endif
