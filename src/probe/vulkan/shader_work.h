/* How much work is a dispatch of a compute shader: bytes of its buffers and floating-point
 * operations, from its SPIR-V (shader_read.c, shader_trips.c), its grid, its push constants and the
 * ranges of its descriptors (shader_estimate.c). It is an estimate:
 *
 * - A buffer is moved once, and as a whole, unless the shader has fewer accesses than that.
 * - Trip counts of loops are those of the first invocation, if they depend on nothing but
 * constants, push constants and the grid. Such conditions are evaluated for some invocations of the
 * first workgroup; both sides of any other condition count.
 * - Any other loop reads its largest buffer once. If it reads two, and one is stored after it, it
 * is taken for a product of matrices, whose operations follow from the three sizes.
 */
#ifndef RIDGE_PROBE_VULKAN_SHADER_WORK_H
#define RIDGE_PROBE_VULKAN_SHADER_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/vulkan.h"

enum {
    SHADER_SETS = 4,
    SHADER_SET_BINDINGS = 16,
    SHADER_BINDINGS = 16, /* of a shader */
    SHADER_LOOPS = 96,
    SHADER_NODES = 512,
    SHADER_PUSH_BYTES = 256,
};

struct shader_binding {
    uint8_t set, number;
    uint8_t element; /* bytes of an element; 0: unknown */
    bool uniform;    /* a uniform buffer */
};

/* An expression in postfix notation. */
enum shader_node_kind {
    NODE_CONSTANT,
    NODE_PUSH_CONSTANT,
    NODE_GRID,
    NODE_POSITION, /* of the invocation in its workgroup; dimension 3: its index */
    NODE_INSTRUCTION,
    NODE_FUNCTION
};
struct shader_node {
    uint16_t kind;
    uint16_t operation; /* of SPIR-V, or of GLSL.std.450 */
    uint32_t value;     /* a constant, an offset in bytes, a dimension */
};
struct shader_expression {
    uint16_t first, count; /* nodes; count 0: unknown */
};

/* A loop goes on while its variable compares to the limit. */
enum shader_comparison { LOOP_LESS, LOOP_LESS_EQUAL, LOOP_MORE, LOOP_MORE_EQUAL, LOOP_NOT_EQUAL };
enum shader_step { STEP_ADD, STEP_SUBTRACT, STEP_SHIFT };

/* A loop, or one side of a condition, which runs once or not at all. */
struct shader_loop {
    uint8_t parent;     /* index; the first one is the shader itself */
    uint8_t comparison; /* enum shader_comparison */
    uint8_t step_kind;  /* enum shader_step */
    bool shares;        /* uses memory of the workgroup */
    bool condition;     /* `limit` is the condition */
    bool otherwise;     /* the side on which it is false */
    struct shader_expression first, limit, step;
    /* of one iteration, without inner loops */
    float flops, loaded[SHADER_BINDINGS], stored[SHADER_BINDINGS];
};

struct shader_work {
    uint64_t serial; /* of all that were read */
    bool knows_bytes, knows_flops;
    uint8_t binding_count, loop_count;
    uint16_t node_count;
    struct shader_binding bindings[SHADER_BINDINGS];
    struct shader_node nodes[SHADER_NODES];
    struct shader_loop loops[SHADER_LOOPS]; /* loop_count of them are kept */
};
static inline size_t shader_work_bytes(const struct shader_work *work) {
    return offsetof(struct shader_work, loops) + work->loop_count * sizeof *work->loops;
}

/* Workgroups, invocations of one, descriptor ranges in bytes, 0 if unknown, and push constants. */
struct shader_arguments {
    uint32_t grid[3], block[3];
    uint64_t ranges[SHADER_SETS][SHADER_SET_BINDINGS];
    uint8_t push[SHADER_PUSH_BYTES];
};

/* Reads the compute entry point `name`. False: nothing is known. The code is not trusted. */
bool shader_work_read(const uint32_t *code, size_t words, const char *name,
                      const struct vk_specialization_info *values, struct shader_work *work);

/* Of one dispatch; 0: unknown. */
struct shader_estimate {
    uint64_t bytes, flops;
};
struct shader_estimate shader_work_estimate(const struct shader_work *work,
                                            const struct shader_arguments *arguments);
/* The same; dispatches repeat, so results are kept. */
struct shader_estimate shader_work_recall(const struct shader_work *work,
                                          const struct shader_arguments *arguments);

#endif
