/* The threads of a threadgroup, as fibers on one CPU thread.
 *
 * A fiber runs until it ends, reaches a threadgroup barrier, or an operation of its SIMD group; it
 * goes on when all others have come there. SIMD groups run in a different order after every
 * barrier, so that a kernel that lacks one is more likely to fail.
 */
#include "standin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS_MAX = 1024, STACK_BYTES = 192 << 10, GUARD_BYTES = 4096 };

enum state { READY, AT_BARRIER, AT_SIMD, DONE };

struct fiber {
    void *stack_pointer; /* while it is suspended */
    char *stack;
    enum state state;
    unsigned operations; /* of the SIMD group */
    unsigned size;       /* of the value that it gave */
    uint32_t position[3];
};

static struct fiber fibers[THREADS_MAX];
static unsigned fiber_count, current;
static void *scheduler; /* its stack pointer while a fiber runs */
static char *free_stacks[THREADS_MAX];
static unsigned free_count;
static unsigned char slots[THREADS_MAX / SIMD_LANES][2][SIMD_LANES * SLOT]
    __attribute__((aligned(16)));
static uint32_t active[THREADS_MAX / SIMD_LANES]; /* lanes that took part in the last operation */
static const struct kernel_image *running;
static const struct kernel_arguments *running_arguments;

/* Saves the registers that a function must keep, stores the stack pointer in *from, and goes on at
 * `to`. */
void standin_switch(void **from, void *to);
#if defined(__x86_64__)
__asm__(".text\n.globl standin_switch\n.hidden standin_switch\nstandin_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
enum { SAVED_WORDS = 7, RETURN_WORD = 6, ENTRY_WORDS = 1 }; /* aligned as after a call */
#elif defined(__aarch64__)
__asm__(".text\n.globl standin_switch\n.hidden standin_switch\nstandin_switch:\n"
        "sub sp, sp, #160\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\nmov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\nadd sp, sp, #160\nret\n");
enum { SAVED_WORDS = 20, RETURN_WORD = 11, ENTRY_WORDS = 2 };
#endif

static void suspend(enum state state) {
    struct fiber *fiber = &fibers[current];
    fiber->state = state;
    standin_switch(&fiber->stack_pointer, scheduler);
}

static void fiber_main(void) {
    running->run(running_arguments, fibers[current].position);
    suspend(DONE);
    abort();
}

static char *take_stack(void) {
    if (free_count)
        return free_stacks[--free_count];
    char *memory = mmap(NULL, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0)
        standin_fail("no memory for stacks");
    return memory + GUARD_BYTES;
}

static void resume(unsigned number) {
    struct fiber *fiber = &fibers[number];
    current = number;
    if (!fiber->stack) {
        fiber->stack = take_stack();
        void **top = (void **)(fiber->stack + STACK_BYTES) - ENTRY_WORDS - SAVED_WORDS;
        memset(top, 0, SAVED_WORDS * sizeof *top);
        void (*entry)(void) = fiber_main;
        memcpy(&top[RETURN_WORD], &entry, sizeof entry);
        fiber->stack_pointer = top;
    }
    standin_switch(&scheduler, fiber->stack_pointer);
    if (fiber->state == DONE) {
        free_stacks[free_count++] = fiber->stack;
        fiber->stack = NULL;
    }
}

/* ---- What kernels call ---- */

static void barrier(void) {
    suspend(AT_BARRIER);
}

static const unsigned char *exchange(const void *value, unsigned size, unsigned *lane) {
    struct fiber *fiber = &fibers[current];
    unsigned group = current / SIMD_LANES, side = fiber->operations++ % 2;
    *lane = current % SIMD_LANES;
    fiber->size = size;
    memcpy(slots[group][side] + *lane * SLOT, value, size);
    suspend(AT_SIMD);
    return slots[group][side];
}

static void check_lane(unsigned lane) {
    if (lane >= SIMD_LANES || !(active[current / SIMD_LANES] >> lane & 1))
        standin_fail("thread %u reads lane %u of its SIMD group, which is not active", current,
                     lane);
}

const struct threads_runtime threads_runtime = {barrier, exchange, check_lane};

/* ---- Scheduling ---- */

/* Whether the threads of the SIMD group wait for each other and may all go on. */
static bool release_simd(unsigned first, unsigned last) {
    unsigned waiting = 0, others = 0, size = 0;
    for (unsigned i = first; i < last; i++) {
        if (fibers[i].state == AT_SIMD) {
            if (waiting++ && fibers[i].size != size)
                standin_fail("the threads of a SIMD group are at different operations");
            size = fibers[i].size;
        }
        others += fibers[i].state == AT_BARRIER;
    }
    if (waiting && others)
        standin_fail("a SIMD group is at a barrier and at a SIMD operation at the same time");
    if (waiting)
        active[first / SIMD_LANES] = 0;
    for (unsigned i = first; i < last; i++)
        if (fibers[i].state == AT_SIMD) {
            fibers[i].state = READY;
            active[first / SIMD_LANES] |= 1u << (i - first);
        }
    return waiting > 0;
}

static void run_simd_group(unsigned first, unsigned last) {
    do {
        for (unsigned i = first; i < last; i++)
            if (fibers[i].state == READY)
                resume(i);
    } while (release_simd(first, last));
}

static bool release_barrier(void) {
    unsigned waiting = 0;
    for (unsigned i = 0; i < fiber_count; i++)
        waiting += fibers[i].state == AT_BARRIER;
    if (waiting && waiting < fiber_count)
        standin_fail("%u of %u threads are at a barrier, the others have ended", waiting,
                     fiber_count);
    for (unsigned i = 0; i < fiber_count && waiting; i++)
        fibers[i].state = READY;
    return waiting > 0;
}

static void run_group(void) {
    static unsigned turn;
    unsigned groups = (fiber_count + SIMD_LANES - 1) / SIMD_LANES;
    do {
        turn = turn * 1664525u + 1013904223u;
        unsigned start = (turn >> 16) % groups, backward = turn >> 31;
        for (unsigned i = 0; i < groups; i++) {
            unsigned group = (start + (backward ? groups - i : i)) % groups;
            unsigned first = group * SIMD_LANES, last = first + SIMD_LANES;
            run_simd_group(first, last < fiber_count ? last : fiber_count);
        }
    } while (release_barrier());
}

static void prepare_group(const uint32_t threads[3]) {
    for (unsigned i = 0; i < fiber_count; i++) {
        fibers[i].state = READY;
        fibers[i].operations = 0;
        fibers[i].position[0] = i % threads[0];
        fibers[i].position[1] = i / threads[0] % threads[1];
        fibers[i].position[2] = i / threads[0] / threads[1];
    }
    /* threadgroup memory is not initialized: all bits set is a NaN and a large integer */
    if (running->shared_bytes)
        memset(running->shared, 0xff, running->shared_bytes);
}

void threads_run(const struct kernel_image *image, struct kernel_arguments *arguments) {
    const uint32_t *threads = arguments->threads, *groups = arguments->groups;
    fiber_count = threads[0] * threads[1] * threads[2];
    if (fiber_count == 0 || fiber_count > THREADS_MAX)
        standin_fail("a threadgroup of %u threads", fiber_count);
    running = image;
    running_arguments = arguments;
    for (uint32_t z = 0; z < groups[2]; z++)
        for (uint32_t y = 0; y < groups[1]; y++)
            for (uint32_t x = 0; x < groups[0]; x++) {
                arguments->group[0] = x;
                arguments->group[1] = y;
                arguments->group[2] = z;
                prepare_group(threads);
                run_group();
            }
}
