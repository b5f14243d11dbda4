/* A SPIR-V module with an index of its ids, its functions, blocks and loops; shared by the files
 * that read the work of shaders. All accesses are checked: what is outside reads as 0. */
#ifndef RIDGE_PROBE_VULKAN_SHADER_MODULE_H
#define RIDGE_PROBE_VULKAN_SHADER_MODULE_H

#include "probe/vulkan/shader_work.h"

enum spirv_op {
    OP_EXT_INST = 12,
    OP_ENTRY_POINT = 15,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT_TRUE = 41,
    OP_CONSTANT_FALSE,
    OP_CONSTANT,
    OP_CONSTANT_COMPOSITE,
    OP_CONSTANT_NULL = 46,
    OP_SPEC_CONSTANT_TRUE = 48,
    OP_SPEC_CONSTANT_FALSE,
    OP_SPEC_CONSTANT,
    OP_SPEC_CONSTANT_COMPOSITE,
    OP_SPEC_CONSTANT_OP,
    OP_FUNCTION = 54,
    OP_FUNCTION_PARAMETER,
    OP_FUNCTION_END,
    OP_FUNCTION_CALL,
    OP_VARIABLE = 59,
    OP_IMAGE_TEXEL_POINTER,
    OP_LOAD,
    OP_STORE,
    OP_COPY_MEMORY,
    OP_COPY_MEMORY_SIZED,
    OP_ACCESS_CHAIN,
    OP_IN_BOUNDS_ACCESS_CHAIN,
    OP_PTR_ACCESS_CHAIN,
    OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70,
    OP_DECORATE,
    OP_MEMBER_DECORATE,
    OP_VECTOR_SHUFFLE = 79,
    OP_COMPOSITE_CONSTRUCT,
    OP_COMPOSITE_EXTRACT,
    OP_COPY_OBJECT = 83,
    OP_SAMPLED_IMAGE = 86,
    OP_IMAGE_WRITE = 99,
    OP_IMAGE_QUERY_SAMPLES = 107,
    OP_U_CONVERT = 113,
    OP_S_CONVERT,
    OP_BITCAST = 124,
    OP_I_ADD = 128,
    OP_F_ADD,
    OP_I_SUB,
    OP_F_SUB,
    OP_I_MUL,
    OP_F_MUL,
    OP_U_DIV,
    OP_S_DIV,
    OP_F_DIV,
    OP_U_MOD,
    OP_S_REM,
    OP_S_MOD,
    OP_F_REM,
    OP_F_MOD,
    OP_VECTOR_TIMES_SCALAR,
    OP_MATRIX_TIMES_SCALAR,
    OP_VECTOR_TIMES_MATRIX,
    OP_MATRIX_TIMES_VECTOR,
    OP_MATRIX_TIMES_MATRIX,
    OP_OUTER_PRODUCT,
    OP_DOT,
    OP_LOGICAL_OR = 166,
    OP_LOGICAL_AND,
    OP_LOGICAL_NOT,
    OP_SELECT,
    OP_I_EQUAL,
    OP_I_NOT_EQUAL,
    OP_U_GREATER,
    OP_S_GREATER,
    OP_U_GREATER_EQUAL,
    OP_S_GREATER_EQUAL,
    OP_U_LESS,
    OP_S_LESS,
    OP_U_LESS_EQUAL,
    OP_S_LESS_EQUAL,
    OP_SHIFT_RIGHT_LOGICAL = 194,
    OP_SHIFT_RIGHT_ARITHMETIC,
    OP_SHIFT_LEFT,
    OP_BITWISE_OR,
    OP_BITWISE_XOR,
    OP_BITWISE_AND,
    OP_ATOMIC_LOAD = 227,
    OP_ATOMIC_STORE,
    OP_ATOMIC_EXCHANGE,
    OP_ATOMIC_XOR = 242,
    OP_PHI = 245,
    OP_LOOP_MERGE,
    OP_SELECTION_MERGE,
    OP_LABEL,
    OP_BRANCH,
    OP_BRANCH_CONDITIONAL,
    OP_SWITCH,
    OP_GROUP_F_ADD = 350,
    OP_DOT_PRODUCT_FIRST = 4450, /* of packed integers */
    OP_DOT_PRODUCT_LAST = 4455,
    OP_TYPE_COOPERATIVE_MATRIX = 4456,
    OP_COOPERATIVE_LOAD,
    OP_COOPERATIVE_STORE,
    OP_COOPERATIVE_MUL_ADD,
};

enum spirv_class {
    CLASS_INPUT = 1,
    CLASS_UNIFORM = 2,
    CLASS_WORKGROUP = 4,
    CLASS_FUNCTION = 7,
    CLASS_PUSH_CONSTANT = 9,
    CLASS_STORAGE_BUFFER = 12,
    CLASS_PHYSICAL_STORAGE_BUFFER = 5349,
};

enum spirv_decoration {
    DECORATION_SPEC_ID = 1,
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_BUILT_IN = 11,
    DECORATION_BINDING = 33,
    DECORATION_DESCRIPTOR_SET = 34,
    DECORATION_OFFSET = 35,
};

enum { SPIRV_HEADER = 5, FUNCTION_PARTS = 64 };

struct shader_block {
    uint32_t label, end; /* places of its first and last instruction */
    uint32_t merge;      /* label after the loop that starts here; 0: none does */
    uint32_t again;      /* label that continues it */
    uint32_t selection;  /* label after the condition at its end; 0: none */
    uint32_t before;     /* number of blocks that lead here */
    uint64_t parts;      /* bits: the function's parts around it */
    bool reachable;
};

/* A loop, or one side of a condition. */
struct shader_part {
    uint32_t block;     /* its first one */
    uint32_t condition; /* id; 0: a loop */
    bool otherwise;     /* the side on which the condition is false */
};

struct shader_function {
    uint32_t id, place;                       /* of OpFunction */
    uint32_t first, count;                    /* blocks */
    struct shader_part parts[FUNCTION_PARTS]; /* loops first */
    uint32_t part_count;
};

struct shader_module {
    const uint32_t *code;
    size_t words;
    uint32_t bound;
    uint32_t *places; /* by id: its instruction; 0: none */
    const struct vk_specialization_info *values;
    struct shader_block *blocks;
    uint32_t block_count;
    struct shader_function *functions;
    uint32_t function_count;
    uint32_t *pending; /* as many as blocks */
};

/* Free with shader_module_close(), also after a failure. */
bool shader_module_open(struct shader_module *module, const uint32_t *code, size_t words,
                        const struct vk_specialization_info *values);
void shader_module_close(struct shader_module *module);

static inline uint32_t instruction_words(const struct shader_module *module, uint32_t place) {
    return module->code[place] >> 16;
}
static inline uint32_t instruction_op(const struct shader_module *module, uint32_t place) {
    return module->code[place] & 0xFFFF;
}
/* Word `index` of an instruction, the first one being 0. */
static inline uint32_t word_at(const struct shader_module *module, uint32_t place, uint32_t index) {
    return place && index < instruction_words(module, place) ? module->code[place + index] : 0;
}
static inline uint32_t place_of(const struct shader_module *module, uint32_t id) {
    return id < module->bound ? module->places[id] : 0;
}
static inline uint32_t op_of(const struct shader_module *module, uint32_t id) {
    uint32_t place = place_of(module, id);
    return place ? instruction_op(module, place) : 0;
}
/* Word `index` of the instruction with this result. */
static inline uint32_t word_of(const struct shader_module *module, uint32_t id, uint32_t index) {
    return word_at(module, place_of(module, id), index);
}

/* The value of a decoration; false: it has none. */
bool find_decoration(const struct shader_module *module, uint32_t id, uint32_t decoration,
                     uint32_t *value);
bool find_member_offset(const struct shader_module *module, uint32_t type, uint32_t member,
                        uint32_t *offset);
/* Scalars of a type, and its bytes; 0: unknown. */
uint32_t type_components(const struct shader_module *module, uint32_t type);
uint32_t type_bytes(const struct shader_module *module, uint32_t type);
/* Int or float, of which a type consists. */
uint32_t type_scalar(const struct shader_module *module, uint32_t type);

/* A call: the values of parameters are those of the call's operands. */
struct shader_frame {
    const struct shader_frame *caller;
    const struct shader_function *function;
    uint32_t call; /* place; 0: the entry point */
};
/* The value behind copies and parameters; *frame becomes that of the value. */
uint32_t resolve_value(const struct shader_module *module, const struct shader_frame **frame,
                       uint32_t id);
/* The variable that a pointer leads to; 0: unknown. */
uint32_t pointer_root(const struct shader_module *module, const struct shader_frame *frame,
                      uint32_t pointer);
uint32_t pointer_class(const struct shader_module *module, uint32_t pointer);

/* ---- Functions and loops ---- */

const struct shader_function *find_function(const struct shader_module *module, uint32_t id);
/* The block with this label; NULL: none of the function. */
struct shader_block *find_block(const struct shader_module *module,
                                const struct shader_function *function, uint32_t label);
/* Which blocks run, and in which loops and conditions. */
bool find_parts(struct shader_module *module, const struct shader_frame *frame,
                struct shader_work *work);
/* The innermost of the parts; -1: none. */
int innermost_part(const struct shader_module *module, const struct shader_function *function,
                   uint64_t parts);

/* ---- Expressions and trip counts (shader_trips.c) ---- */

/* A constant, as specialized. */
bool constant_value(const struct shader_module *module, uint32_t id, uint32_t *value);
/* Appends the nodes of an expression; unknown if it depends on anything but constants, push
 * constants and the grid. */
struct shader_expression compile_expression(const struct shader_module *module,
                                            const struct shader_frame *frame, uint32_t id,
                                            struct shader_work *work);
/* For an invocation of the first workgroup. */
bool evaluate_expression(const struct shader_work *work, const struct shader_expression *expression,
                         const struct shader_arguments *arguments, uint32_t invocation,
                         int64_t *value);
/* Sets the members of `to` that its trip count depends on, as far as they are found. */
void find_trips(const struct shader_module *module, const struct shader_frame *frame, unsigned loop,
                struct shader_work *work, struct shader_loop *to);

#endif
