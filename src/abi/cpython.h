/* Where CPython keeps a thread's frames: the offsets that a walk of the frames needs.
 *
 * Versions 3.8 to 3.12 have a table here, for 64-bit builds with the default options. From 3.13 on,
 * _PyRuntime begins with the offsets of the running build. Both may be wrong for a build with other
 * options: verify a layout against the running interpreter before it is trusted.
 */
#ifndef RIDGE_ABI_CPYTHON_H
#define RIDGE_ABI_CPYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The instruction of a frame is kept as a number or as a pointer into the code. */
enum cpython_instruction {
    CPYTHON_BYTE_OFFSET, /* int32, to 3.9 */
    CPYTHON_UNIT_OFFSET, /* int32, in units of two bytes, 3.10 */
    CPYTHON_POINTER,     /* from 3.11 on */
};

/* The format of a code object's line table. */
enum cpython_lines {
    CPYTHON_LNOTAB,    /* co_lnotab, to 3.9 */
    CPYTHON_LINETABLE, /* co_linetable of 3.10 */
    CPYTHON_LOCATIONS, /* co_linetable from 3.11 on */
    CPYTHON_LINE_FORMATS
};

enum { CPYTHON_OWNER_NONE = 255, CPYTHON_SHIFT_UNKNOWN = 255 };

struct cpython_layout {
    uint8_t minor; /* of version 3.x; 0: unknown */
    uint8_t instruction, lines;
    uint8_t tag_mask;   /* low bits of a frame's code pointer that are not part of it */
    uint8_t owner_skip; /* frames with this owner or more have no code */
    bool has_cframe;    /* the current frame is in the thread's _PyCFrame */
    bool free_threaded;
    uint8_t kind_shift; /* of the string's kind in its state */

    uint16_t cframe, current_frame;             /* in PyThreadState; in _PyCFrame if there is one */
    uint16_t native_thread_id;                  /* in PyThreadState; 0: only pthread_t is known */
    uint16_t thread_id, thread_next;            /* in PyThreadState */
    uint16_t code, previous, at, owner;         /* in the frame; `at` is the instruction */
    uint16_t copy_index;                        /* of the thread's copy of the code; 0: none */
    uint16_t type;                              /* in PyObject */
    uint16_t filename, name, qualname;          /* in PyCodeObject; qualname 0: none */
    uint16_t first_line, line_table;            /* likewise */
    uint16_t instructions;                      /* likewise: the code itself, or co_code */
    uint16_t copies;                            /* likewise: the array of copies; 0: none */
    uint16_t size;                              /* in PyVarObject */
    uint16_t bytes_data;                        /* in PyBytesObject */
    uint16_t text_length, text_state;           /* in PyASCIIObject */
    uint16_t ascii_data, text_data;             /* of ASCII strings, and of others */
    uint32_t interpreters, interpreter_threads; /* in _PyRuntime, in PyInterpreterState */
    uint32_t collecting; /* in PyInterpreterState: whether it collects garbage; 0: unknown */
};

/* The first version of the layout from _PyRuntime, and the bytes of it that are read. */
enum { CPYTHON_OFFSETS_SINCE = 13, CPYTHON_OFFSETS_BYTES = 8 * 96 };

/* False: the version is not known. */
bool cpython_layout_of_version(unsigned minor, struct cpython_layout *layout);
/* From the first bytes of _PyRuntime. False: the content is not as expected. */
bool cpython_layout_of_runtime(const void *runtime, unsigned minor, struct cpython_layout *layout);
/* The minor version in "3.12.4 (main, ..."; 0: not CPython 3. */
unsigned cpython_minor(const char *version);

/* Whether `state` can be a compact string's, with the kind at that shift. */
bool cpython_text_state_fits(uint32_t state, unsigned shift);
/* The shift that fits; CPYTHON_SHIFT_UNKNOWN: none. */
unsigned cpython_find_shift(uint32_t state);

#endif
