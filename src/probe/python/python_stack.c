/* Walks the frames of the calling thread and numbers its stack. This is part of the cost per call.
 * In a process without Python the frames are native ones.
 *
 * A stack is a node of a tree: its innermost frame and the node of the caller. The walk hashes all
 * frames, and a table of the thread has the node of each hash, so a stack that was seen before
 * costs the walk and one lookup. Others are entered frame by frame; nodes and code objects are
 * written to the lane when they are numbered.
 *
 * A code object may be freed and another may get its address, so the hash of a frame includes the
 * code's first line and name.
 */
#include "probe/python/python.h"

#include <stdio.h>
#include <string.h>

#include "probe/native/native.h"
#include "spool/pages.h"
#include "trace/schema.h"

_Static_assert((int)CPYTHON_LNOTAB == SPOOL_LNOTAB && (int)CPYTHON_LINETABLE == SPOOL_LINETABLE &&
                   (int)CPYTHON_LOCATIONS == SPOOL_LOCATIONS,
               "the spool has the numbers of the layouts");

enum {
    STACKS = 4096,       /* remembered by their hash */
    NODES = 1 << 16,     /* per thread; then numbering starts again */
    CODES = 1 << 14,     /* likewise */
    TABLE_MAX = 1 << 20, /* bytes of a line table */
    PART_BYTES = 4096,   /* of a line table in a record */
};

struct known_node {
    uint32_t parent, code;
    int32_t offset;
    uint32_t number; /* 0: free */
};

struct known_code {
    uint64_t key; /* of the code object */
    const char *code;
    uint32_t number; /* 0: free */
};

struct python_stacks {
    const struct spool_lane *lane; /* to which the numbers were written */
    uint32_t generation;
    uint32_t node_count, code_count;
    struct remembered_stack {
        uint64_t hash;
        uint32_t number;
    } stacks[STACKS];
    struct known_node nodes[2 * NODES];
    struct known_code codes[2 * CODES];
    struct walked_frame frames[PYTHON_FRAMES_MAX];
    struct python_waiter waiter;
    uint32_t waiting; /* node of the waiter's stack; 0: none */
    struct native_stacks native;
    uint64_t native_addresses[NATIVE_FRAMES_MAX];
};

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* ---- The walk ------------------------------------------------------------------------------ */

struct walk {
    uint64_t hash;
    unsigned count;
    bool failed;
};

uint64_t python_code_key(const struct cpython_layout *layout, const char *code) {
    return (uint64_t)(uintptr_t)code ^ *(const uint32_t *)(code + layout->first_line) ^
           python_word(code, layout->name) << 17;
}

static int32_t offset_of(const struct cpython_layout *layout, const char *code, const char *at) {
    if (layout->instruction == CPYTHON_BYTE_OFFSET)
        return *(const int32_t *)(at + layout->at);
    if (layout->instruction == CPYTHON_UNIT_OFFSET)
        return 2 * *(const int32_t *)(at + layout->at);
    const char *start = code + layout->instructions;
    if (layout->copies) {
        const char *copies = python_pointer(code, layout->copies);
        int32_t index = *(const int32_t *)(at + layout->copy_index);
        start = python_pointer(copies, 8 + 8 * (size_t)index);
    }
    return (int32_t)(python_pointer(at, layout->at) - start);
}

/* Fills in frames from the innermost on. */
static struct walk walk_frames(const struct python *python, const char *thread_state,
                               struct walked_frame *frames) {
    const struct cpython_layout *layout = &python->layout;
    const char *holder =
        layout->has_cframe ? python_pointer(thread_state, layout->cframe) : thread_state;
    const char *at = holder ? python_pointer(holder, layout->current_frame) : NULL;
    struct walk walk = {.hash = 1};
    for (; at && walk.count < PYTHON_FRAMES_MAX; at = python_pointer(at, layout->previous)) {
        if (layout->owner_skip != CPYTHON_OWNER_NONE &&
            (uint8_t)at[layout->owner] >= layout->owner_skip)
            continue;
        struct walked_frame *frame = &frames[walk.count];
        frame->code =
            (const char *)(uintptr_t)(python_word(at, layout->code) & ~(uint64_t)layout->tag_mask);
        if (!frame->code || python_pointer(frame->code, layout->type) != python->code_type) {
            walk.failed = true;
            return walk;
        }
        frame->key = python_code_key(layout, frame->code);
        frame->offset = offset_of(layout, frame->code, at);
        walk.hash = mix(walk.hash, frame->key ^ (uint64_t)(uint32_t)frame->offset << 40);
        walk.count++;
    }
    return walk;
}

/* ---- Code objects --------------------------------------------------------------------------- */

static size_t put_utf8(char *to, uint32_t character) {
    if (character >= 0xD800 && character < 0xE000)
        character = 0xFFFD; /* an undecodable byte of a file name */
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xC0 | character >> 6);
        to[1] = (char)(0x80 | (character & 63));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xE0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 63));
        to[2] = (char)(0x80 | (character & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | (character >> 18 & 7));
    to[1] = (char)(0x80 | (character >> 12 & 63));
    to[2] = (char)(0x80 | (character >> 6 & 63));
    to[3] = (char)(0x80 | (character & 63));
    return 4;
}

/* The string's bytes in UTF-8; converted ones are in thread->converted. */
static struct text read_text(const struct cpython_layout *layout, struct probe_thread *thread,
                             const char *object) {
    uint32_t state = *(const uint32_t *)(object + layout->text_state);
    uint64_t length = python_word(object, layout->text_length);
    unsigned kind = state >> layout->kind_shift & 7;
    if (!cpython_text_state_fits(state, layout->kind_shift))
        return TEXT("?");
    if (length > SPOOL_TEXT_MAX)
        length = SPOOL_TEXT_MAX;
    if (state >> (layout->kind_shift + 4) & 1)
        return (struct text){object + layout->ascii_data, length};
    const char *data = object + layout->text_data;
    size_t used = 0;
    for (uint64_t i = 0; i < length && used + 4 <= SPOOL_TEXT_MAX; i++) {
        uint32_t character = kind == 1   ? ((const uint8_t *)data)[i]
                             : kind == 2 ? ((const uint16_t *)data)[i]
                                         : ((const uint32_t *)data)[i];
        used += put_utf8(thread->converted + used, character);
    }
    return (struct text){thread->converted, used};
}

/* False: a part was dropped, and the code must be written again when it is next seen. */
static bool put_line_table(const struct cpython_layout *layout, struct spool_lane *lane,
                           uint32_t number, const char *table) {
    uint64_t size = python_word(table, layout->size);
    for (uint64_t at = 0; size <= TABLE_MAX && at < size; at += PART_BYTES) {
        uint32_t bytes = (uint32_t)(size - at < PART_BYTES ? size - at : PART_BYTES);
        struct spool_code_lines *part =
            spool_begin(lane, SPOOL_CODE_LINES, 0, sizeof *part + bytes);
        if (!part)
            return false;
        part->number = number;
        part->offset = (uint32_t)at;
        part->bytes = bytes;
        part->unused = 0;
        memcpy(part + 1, table + layout->bytes_data + at, bytes);
        spool_publish(lane);
    }
    return true;
}

static bool put_code(const struct cpython_layout *layout, struct probe_thread *thread,
                     uint32_t number, const char *code) {
    struct spool_lane *lane = thread->lane;
    const char *table = python_pointer(code, layout->line_table);
    uint64_t size = python_word(table, layout->size);
    uint32_t file =
        spool_text(lane, read_text(layout, thread, python_pointer(code, layout->filename)));
    uint32_t name = spool_text(
        lane, read_text(layout, thread,
                        python_pointer(code, layout->qualname ? layout->qualname : layout->name)));
    struct spool_code *record = spool_begin(lane, SPOOL_CODE, name, sizeof *record);
    if (!record)
        return false;
    *record = (struct spool_code){
        .head = record->head,
        .number = number,
        .file = file,
        .first_line = *(const int32_t *)(code + layout->first_line),
        .format = layout->lines,
        .table_bytes = size <= TABLE_MAX ? (uint32_t)size : 0,
    };
    spool_publish(lane);
    return put_line_table(layout, lane, number, table);
}

static uint32_t find_code(const struct python *python, struct probe_thread *thread,
                          const struct walked_frame *frame) {
    struct python_stacks *stacks = thread->python;
    uint32_t mask = 2 * CODES - 1, at = (uint32_t)(mix(7, frame->key) >> 20) & mask;
    for (; stacks->codes[at].number; at = (at + 1) & mask)
        if (stacks->codes[at].key == frame->key && stacks->codes[at].code == frame->code)
            return stacks->codes[at].number;
    uint32_t number = stacks->code_count + 1;
    if (!put_code(&python->layout, thread, number, frame->code))
        return 0;
    stacks->code_count = number;
    stacks->codes[at] = (struct known_code){frame->key, frame->code, number};
    return number;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static bool put_node(struct spool_lane *lane, const struct known_node *node) {
    struct spool_frame *record = spool_begin(lane, SPOOL_FRAME, 0, sizeof *record);
    if (!record)
        return false;
    *record = (struct spool_frame){.head = record->head,
                                   .number = node->number,
                                   .parent = node->parent,
                                   .code = node->code,
                                   .offset = node->offset};
    spool_publish(lane);
    return true;
}

static uint32_t find_node(struct probe_thread *thread, uint32_t parent, uint32_t code,
                          int32_t offset) {
    struct python_stacks *stacks = thread->python;
    uint64_t hash = mix(mix(parent, code), (uint32_t)offset);
    uint32_t mask = 2 * NODES - 1, at = (uint32_t)(hash >> 20) & mask;
    for (; stacks->nodes[at].number; at = (at + 1) & mask) {
        const struct known_node *node = &stacks->nodes[at];
        if (node->parent == parent && node->code == code && node->offset == offset)
            return node->number;
    }
    struct known_node node = {parent, code, offset, stacks->node_count + 1};
    if (!put_node(thread->lane, &node))
        return 0;
    stacks->node_count++;
    stacks->nodes[at] = node;
    return node.number;
}

/* Enters the frames below the node `caller`. 0: something could not be written. */
static uint32_t enter_stack(const struct python *python, struct probe_thread *thread,
                            uint32_t caller, unsigned count) {
    uint32_t node = caller;
    for (unsigned i = count; i > 0; i--) {
        const struct walked_frame *frame = &thread->python->frames[i - 1];
        uint32_t code = find_code(python, thread, frame);
        node = code ? find_node(thread, node, code, frame->offset) : 0;
        if (node == 0)
            return 0;
    }
    return node;
}

/* ---- Native frames ------------------------------------------------------------------------- */

static bool put_object(struct probe_thread *thread, uint32_t number,
                       const struct link_map *object) {
    struct text path = text_of(native_path(object, thread->converted, sizeof thread->converted));
    uint32_t file = spool_text(thread->lane, path);
    struct spool_code *record = spool_begin(thread->lane, SPOOL_CODE, file, sizeof *record);
    if (!record)
        return false;
    *record = (struct spool_code){
        .head = record->head, .number = number, .file = file, .format = SPOOL_NATIVE};
    spool_publish(thread->lane);
    return true;
}

/* Loaded objects are numbered as code objects are. */
static uint32_t number_object(struct probe_thread *thread, const struct native_frame *frame) {
    struct python_stacks *stacks = thread->python;
    const struct link_map *object = frame->object;
    uint64_t key = frame->identity;
    uint32_t mask = 2 * CODES - 1, at = (uint32_t)(mix(7, key) >> 20) & mask;
    for (; stacks->codes[at].number; at = (at + 1) & mask)
        if (stacks->codes[at].key == key && stacks->codes[at].code == (const char *)object)
            return stacks->codes[at].number;
    uint32_t number = stacks->code_count + 1;
    if (!put_object(thread, number, object))
        return 0;
    stacks->code_count = number;
    stacks->codes[at] = (struct known_code){key, (const char *)object, number};
    return number;
}

static uint32_t enter_native_stack(struct probe_thread *thread, unsigned count) {
    uint32_t node = 0;
    for (unsigned i = count; i > 0; i--) {
        struct native_frame frame;
        struct python_stacks *stacks = thread->python;
        bool known = native_frame_at(stacks->native_addresses[i - 1], &frame);
        uint32_t object = known ? number_object(thread, &frame) : 0;
        node = object ? find_node(thread, node, object, (int32_t)(uint32_t)frame.offset) : 0;
        if (node == 0)
            return 0;
    }
    return node;
}

/* In processes without Python. */
static uint32_t number_native_stack(struct probe_thread *thread) {
    struct python_stacks *stacks = thread->python;
    unsigned count = native_walk(&stacks->native, stacks->native_addresses, NATIVE_FRAMES_MAX);
    uint64_t hash = 2;
    for (unsigned i = 0; i < count; i++)
        hash = mix(hash, stacks->native_addresses[i]);
    if (count == 0)
        return 0;
    struct remembered_stack *remembered = &stacks->stacks[hash >> 32 & (STACKS - 1)];
    if (remembered->hash != hash || remembered->number == 0) {
        remembered->number = enter_native_stack(thread, count);
        remembered->hash = hash;
    }
    return remembered->number;
}

/* ---- The calling thread --------------------------------------------------------------------- */

static struct python_stacks *stacks_of(struct probe_thread *thread) {
    struct python_stacks *stacks = thread->python;
    if (!stacks)
        thread->python = stacks = pages_allocate(sizeof *stacks);
    if (!stacks)
        return NULL;
    bool is_full = stacks->node_count + PYTHON_FRAMES_MAX > NODES ||
                   stacks->code_count + PYTHON_FRAMES_MAX > CODES;
    if (stacks->lane != thread->lane || stacks->generation != thread->generation || is_full) {
        if (stacks->lane)
            memset(stacks, 0, sizeof *stacks);
        stacks->lane = thread->lane;
        stacks->generation = thread->generation;
    }
    return stacks;
}

void probe_stack_ended(struct probe_thread *thread) {
    pages_free(thread->python, sizeof *thread->python);
    thread->python = NULL;
}

/* The node of the Python thread that waits for this one; 0: none. */
static uint32_t find_waiter(const struct python *python, struct probe_thread *thread) {
    struct python_stacks *stacks = thread->python;
    bool changed;
    unsigned count = python_waiter_walk(python, &stacks->waiter, stacks->frames, &changed);
    if (changed)
        stacks->waiting = count ? enter_stack(python, thread, 0, count) : 0;
    return count ? stacks->waiting : 0;
}

static uint32_t number_stack(const struct python *python, struct probe_thread *thread,
                             const char *thread_state) {
    struct python_stacks *stacks = thread->python;
    uint32_t caller = stacks->waiter.kind == 2 ? 0 : find_waiter(python, thread);
    struct walk walk = walk_frames(python, thread_state, stacks->frames);
    if (walk.failed) {
        python_distrust(thread, "a frame without a code object");
        return 0;
    }
    if (walk.count == 0)
        return caller;
    if (!caller)
        python_waiter_note(thread_state);
    walk.hash = mix(walk.hash, caller);
    struct remembered_stack *remembered = &stacks->stacks[walk.hash >> 32 & (STACKS - 1)];
    if (remembered->hash != walk.hash || remembered->number == 0) {
        remembered->number = enter_stack(python, thread, caller, walk.count);
        remembered->hash = walk.hash;
    }
    return remembered->number;
}

uint32_t probe_stack(struct probe_thread *thread, unsigned class) {
    enum python_lines lines = probe_python_lines();
    if (lines == PYTHON_LINES_OFF || (lines == PYTHON_LINES_WAITS && class == CALL_LAUNCH))
        return 0;
    const struct python *python = python_find(thread);
    if ((!python && python_is_present()) || !stacks_of(thread))
        return 0;
    if (!python)
        return number_native_stack(thread);
    const char *thread_state = python->thread_state();
    if (!thread_state)
        return thread->python->waiter.kind == 2 ? 0 : find_waiter(python, thread);
    return number_stack(python, thread, thread_state);
}
