/* The native frames of the calling thread, found by call frame information (x86-64) or frame
 * pointers (arm64).
 *
 * The rules of each return address are looked up once and kept, so that a stack seen before costs
 * two loads a frame. Only memory that was found readable is loaded, because the rules of
 * hand-written assembly may be wrong. Needs _dl_find_object() of glibc 2.35, which takes no lock.
 */
#ifndef RIDGE_PROBE_NATIVE_NATIVE_H
#define RIDGE_PROBE_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NATIVE_FRAMES_MAX = 128, NATIVE_ROWS = 4096 };

struct link_map;

struct native_frame {
    const struct link_map *object;
    uint64_t offset;   /* of the return address in the object, before relocation */
    uint64_t identity; /* another object whose link_map is at the same place has another */
};

/* The rule of a return address: how to find its caller. */
struct native_row {
    uint64_t address; /* 0: unused */
    const struct link_map *object;
    int32_t cfa_offset, frame_pointer_offset;
    uint8_t kind;
};

/* Of a thread. Zero-initialized: empty. */
struct native_stacks {
    uint64_t low, high; /* readable part of the stack */
    struct native_row rows[NATIVE_ROWS];
};

/* The return addresses of the caller's callers, innermost first, without those in the probe.
 * Returns their number; 0: not supported here. */
unsigned native_walk(struct native_stacks *stacks, uint64_t *addresses, unsigned limit);
/* The frame of such an address. False: its object was unloaded. */
bool native_frame_at(uint64_t address, struct native_frame *frame);
/* The path of an object; valid until the next call of this thread with the same buffer. */
const char *native_path(const struct link_map *object, char *buffer, size_t size);

#endif
