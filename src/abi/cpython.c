/* The table of layouts, and the reader of _Py_DebugOffsets. tests/abi compares both with CPython's
 * headers where those are installed.
 */
#include "abi/cpython.h"

#include <string.h>

#include "base/array.h"

enum { FIRST_MINOR = 8, STACKREF_TAGS = 3, OWNER_C_STACK = 3 };

#define OBJECTS                                                                                    \
    .type = 8, .size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32, .kind_shift = 2, \
    .thread_next = 8

/* To 3.11 a string has the member wstr. */
#define STRINGS_WITH_WSTR .ascii_data = 48, .text_data = 72
#define STRINGS .ascii_data = 40, .text_data = 56

#define FRAME_OBJECTS                                                                              \
    OBJECTS, STRINGS_WITH_WSTR, .owner_skip = CPYTHON_OWNER_NONE, .current_frame = 24, .code = 32, \
                                .previous = 24, .filename = 104, .name = 112, .first_line = 40,    \
                                .line_table = 120, .instructions = 48, .thread_id = 176,           \
                                .interpreters = 32, .interpreter_threads = 8

static const struct cpython_layout layouts[] = {
    {.minor = 8,
     FRAME_OBJECTS,
     .instruction = CPYTHON_BYTE_OFFSET,
     .lines = CPYTHON_LNOTAB,
     .at = 104},
    {.minor = 9,
     FRAME_OBJECTS,
     .collecting = 816,
     .instruction = CPYTHON_BYTE_OFFSET,
     .lines = CPYTHON_LNOTAB,
     .at = 104},
    {.minor = 10,
     FRAME_OBJECTS,
     .collecting = 816,
     .instruction = CPYTHON_UNIT_OFFSET,
     .lines = CPYTHON_LINETABLE,
     .at = 96},
    {.minor = 11,
     OBJECTS,
     STRINGS_WITH_WSTR,
     .owner_skip = CPYTHON_OWNER_NONE,
     .instruction = CPYTHON_POINTER,
     .lines = CPYTHON_LOCATIONS,
     .has_cframe = true,
     .cframe = 56,
     .current_frame = 8,
     .native_thread_id = 160,
     .thread_id = 152,
     .code = 32,
     .previous = 48,
     .at = 56,
     .owner = 69,
     .filename = 112,
     .name = 120,
     .qualname = 128,
     .first_line = 72,
     .line_table = 136,
     .instructions = 184,
     .interpreters = 40,
     .interpreter_threads = 16,
     .collecting = 848},
    {.minor = 12,
     OBJECTS,
     STRINGS,
     .owner_skip = OWNER_C_STACK,
     .instruction = CPYTHON_POINTER,
     .lines = CPYTHON_LOCATIONS,
     .has_cframe = true,
     .cframe = 56,
     .current_frame = 0,
     .native_thread_id = 144,
     .thread_id = 136,
     .code = 0,
     .previous = 8,
     .at = 56,
     .owner = 70,
     .filename = 112,
     .name = 120,
     .qualname = 128,
     .first_line = 68,
     .line_table = 136,
     .instructions = 192,
     .interpreters = 40,
     .interpreter_threads = 72,
     .collecting = 312},
};

bool cpython_layout_of_version(unsigned minor, struct cpython_layout *layout) {
    if (sizeof(void *) != 8 || minor < FIRST_MINOR || minor - FIRST_MINOR >= ARRAY_COUNT(layouts))
        return false;
    *layout = layouts[minor - FIRST_MINOR];
    return true;
}

/* ---- _Py_DebugOffsets --------------------------------------------------------------------- */

/* The struct is fixed for all releases of a minor version. Each member is 8 bytes; the numbers are
 * those of the members, from the beginning of the struct. */
struct offsets_at {
    uint8_t interpreters, interpreter_threads, interpreter_gc, thread, frame, code, object, bytes,
        text, gc;
    bool has_copies;
};
static const struct offsets_at offsets_of_3_13 = {
    .interpreters = 5,
    .interpreter_threads = 9,
    .interpreter_gc = 10,
    .thread = 19,
    .frame = 28,
    .code = 34,
    .object = 44,
    .bytes = 64,
    .text = 67,
    .gc = 71,
};
static const struct offsets_at offsets_of_3_14 = {
    .interpreters = 5,
    .interpreter_threads = 9,
    .interpreter_gc = 11,
    .thread = 22,
    .frame = 31,
    .code = 39,
    .object = 50,
    .bytes = 74,
    .text = 77,
    .gc = 81,
    .has_copies = true,
};

static bool read_offsets(const uint64_t *words, const struct offsets_at *at,
                         struct cpython_layout *layout) {
    const uint64_t *thread = words + at->thread, *frame = words + at->frame,
                   *code = words + at->code, *object = words + at->object,
                   *bytes = words + at->bytes, *text = words + at->text;
    const uint64_t all[] = {thread[2], thread[4], thread[5], thread[6], frame[1],
                            frame[2],  frame[3],  frame[5],  code[1],   code[2],
                            code[3],   code[4],   code[5],   code[9],   object[1],
                            bytes[1],  bytes[2],  text[1],   text[2],   text[3]};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        if (all[i] > 4096)
            return false;
    *layout = (struct cpython_layout){
        .instruction = CPYTHON_POINTER,
        .lines = CPYTHON_LOCATIONS,
        .owner_skip = OWNER_C_STACK,
        .tag_mask = at->has_copies || words[2] ? STACKREF_TAGS : 0,
        .free_threaded = words[2] != 0,
        .kind_shift = CPYTHON_SHIFT_UNKNOWN,
        .thread_next = (uint16_t)thread[2],
        .current_frame = (uint16_t)thread[4],
        .thread_id = (uint16_t)thread[5],
        .native_thread_id = (uint16_t)thread[6],
        .previous = (uint16_t)frame[1],
        .code = (uint16_t)frame[2],
        .at = (uint16_t)frame[3],
        .owner = (uint16_t)frame[5],
        .filename = (uint16_t)code[1],
        .name = (uint16_t)code[2],
        .qualname = (uint16_t)code[3],
        .line_table = (uint16_t)code[4],
        .first_line = (uint16_t)code[5],
        .instructions = (uint16_t)code[9],
        .type = (uint16_t)object[1],
        .size = (uint16_t)bytes[1],
        .bytes_data = (uint16_t)bytes[2],
        .text_state = (uint16_t)text[1],
        .text_length = (uint16_t)text[2],
        .ascii_data = (uint16_t)text[3],
        .text_data = (uint16_t)(text[3] + 16), /* utf8_length and utf8 */
        .interpreters = (uint32_t)words[at->interpreters],
        .interpreter_threads = (uint32_t)words[at->interpreter_threads],
    };
    uint64_t gc = words[at->interpreter_gc], collecting = words[at->gc + 1];
    if (gc > 0 && gc < 1 << 20 && collecting > 0 && collecting < 4096)
        layout->collecting = (uint32_t)(gc + collecting);
    if (at->has_copies && layout->free_threaded && frame[7] <= 4096 && code[10] <= 4096) {
        layout->copy_index = (uint16_t)frame[7];
        layout->copies = (uint16_t)code[10];
    }
    return true;
}

bool cpython_layout_of_runtime(const void *runtime, unsigned minor, struct cpython_layout *layout) {
    uint64_t words[CPYTHON_OFFSETS_BYTES / 8];
    memcpy(words, runtime, sizeof words);
    if (sizeof(void *) != 8 || memcmp(words, "xdebugpy", 8) != 0 || words[1] >> 24 != 3 ||
        (words[1] >> 16 & 255) != minor || words[2] > 1)
        return false;
    bool known = (minor == 13 && read_offsets(words, &offsets_of_3_13, layout)) ||
                 (minor == 14 && read_offsets(words, &offsets_of_3_14, layout));
    if (known)
        layout->minor = (uint8_t)minor;
    return known;
}

unsigned cpython_minor(const char *version) {
    unsigned minor = 0;
    if (strncmp(version, "3.", 2) != 0)
        return 0;
    for (const char *at = version + 2; *at >= '0' && *at <= '9' && minor < 100; at++)
        minor = minor * 10 + (unsigned)(*at - '0');
    return minor;
}

bool cpython_text_state_fits(uint32_t state, unsigned shift) {
    unsigned kind = state >> shift & 7, compact = state >> (shift + 3) & 1,
             ascii = state >> (shift + 4) & 1;
    return compact && (kind == 1 || (!ascii && (kind == 2 || kind == 4)));
}

unsigned cpython_find_shift(uint32_t state) {
    static const uint8_t shifts[] = {2, 8, 16};
    for (size_t i = 0; i < ARRAY_COUNT(shifts); i++)
        if (cpython_text_state_fits(state, shifts[i]))
            return shifts[i];
    return CPYTHON_SHIFT_UNKNOWN;
}
