/* Reads how much work one invocation of a compute shader is: floating-point operations, and bytes
 * that it loads from and stores to each of its buffers, by loop. Called functions are part of their
 * callers. What cannot be counted (images, buffer addresses, cooperative matrices, arrays of
 * descriptors) makes the result unknown.
 */
#include "probe/vulkan/shader_module.h"

#include <stdatomic.h>
#include <string.h>

enum { CALLS_MAX = 256, CALL_DEPTH_MAX = 8, VARIABLES_MAX = 64, MODEL_COMPUTE = 5 };
#define WHOLE 1e30f /* bytes: all of a buffer */

enum glsl_function {
    GLSL_SIN = 13,
    GLSL_INVERSE_SQRT = 32,
    GLSL_FMIN = 37,
    GLSL_FMAX = 40,
    GLSL_FCLAMP = 43,
    GLSL_FMIX = 46,
    GLSL_FMA = 50,
    GLSL_PACK_UNORM4X8 = 55,
    GLSL_PACK_HALF2X16 = 58,
    GLSL_UNPACK_HALF2X16 = 62,
    GLSL_UNPACK_SNORM4X8,
    GLSL_UNPACK_UNORM4X8,
};

struct reading {
    struct shader_module module;
    struct shader_work *work;
    struct variable {
        uint32_t id;
        unsigned binding;
    } variables[VARIABLES_MAX];
    unsigned variable_count;
    uint32_t unpacked, packed; /* bits: elements of 1 byte, of 2 bytes */
    unsigned calls;
};

/* ---- Buffers ------------------------------------------------------------------------------ */

static bool is_block(const struct shader_module *module, uint32_t variable, bool *uniform) {
    uint32_t type = word_of(module, word_of(module, variable, 1), 3), ignored;
    *uniform = pointer_class(module, variable) == CLASS_UNIFORM &&
               !find_decoration(module, type, DECORATION_BUFFER_BLOCK, &ignored);
    return op_of(module, type) == OP_TYPE_STRUCT;
}

/* Several variables may share a binding, with other types. */
static int add_binding(struct shader_work *work, uint32_t set, uint32_t number, bool uniform) {
    for (int i = 0; i < work->binding_count; i++)
        if (work->bindings[i].set == set && work->bindings[i].number == number)
            return i;
    if (work->binding_count == SHADER_BINDINGS)
        return -1;
    work->bindings[work->binding_count] =
        (struct shader_binding){(uint8_t)set, (uint8_t)number, 0, uniform};
    return work->binding_count++;
}

/* The index of a variable's binding; -1: it is not one that is followed. */
static int binding_of(struct reading *reading, uint32_t variable) {
    const struct shader_module *module = &reading->module;
    struct shader_work *work = reading->work;
    uint32_t set, number;
    bool uniform;
    for (unsigned i = 0; i < reading->variable_count; i++)
        if (reading->variables[i].id == variable)
            return (int)reading->variables[i].binding;
    if (!variable || reading->variable_count == VARIABLES_MAX ||
        !is_block(module, variable, &uniform) ||
        !find_decoration(module, variable, DECORATION_DESCRIPTOR_SET, &set) ||
        !find_decoration(module, variable, DECORATION_BINDING, &number) || set >= SHADER_SETS ||
        number >= SHADER_SET_BINDINGS)
        return -1;
    int binding = add_binding(work, set, number, uniform);
    if (binding >= 0)
        reading->variables[reading->variable_count++] =
            (struct variable){variable, (unsigned)binding};
    return binding;
}

/* Elements are floats, or else what is unpacked from integers. */
static void note_element(struct reading *reading, struct shader_binding *binding, uint32_t type) {
    const struct shader_module *module = &reading->module;
    uint32_t scalar = type_scalar(module, type);
    if (op_of(module, scalar) == OP_TYPE_FLOAT && binding->element == 0)
        binding->element = (uint8_t)(word_of(module, scalar, 2) / 8);
}

static void touch(struct reading *reading, const struct shader_frame *frame, unsigned loop,
                  uint32_t pointer, bool store) {
    const struct shader_module *module = &reading->module;
    uint32_t class = pointer_class(module, pointer);
    uint32_t type = word_of(module, word_of(module, pointer, 1), 3);
    struct shader_loop *at = &reading->work->loops[loop];
    if (class == CLASS_WORKGROUP)
        at->shares = true;
    if (class == CLASS_PHYSICAL_STORAGE_BUFFER)
        reading->work->knows_bytes = false;
    if (class != CLASS_STORAGE_BUFFER && class != CLASS_UNIFORM)
        return;
    int binding = binding_of(reading, pointer_root(module, frame, pointer));
    if (binding < 0) {
        reading->work->knows_bytes = false;
        return;
    }
    uint32_t bytes = type_bytes(module, type);
    float *sum = store ? &at->stored[binding] : &at->loaded[binding];
    *sum += bytes ? (float)bytes : WHOLE;
    note_element(reading, &reading->work->bindings[binding], type);
}

/* ---- Operations --------------------------------------------------------------------------- */

/* Packed numbers come from a buffer directly, or through memory of the workgroup. */
static void note_unpacked(struct reading *reading, const struct shader_frame *frame, uint32_t id,
                          uint8_t element) {
    const struct shader_module *module = &reading->module;
    uint32_t op;
    reading->unpacked |= element;
    do {
        id = resolve_value(module, &frame, id);
        op = op_of(module, id);
        if (op == OP_COMPOSITE_EXTRACT)
            id = word_of(module, id, 3);
    } while (op == OP_COMPOSITE_EXTRACT);
    uint32_t pointer = op == OP_LOAD ? word_of(module, id, 3) : 0;
    uint32_t root = pointer ? pointer_root(module, frame, pointer) : 0;
    for (unsigned i = 0; root && i < reading->variable_count; i++)
        if (reading->variables[i].id == root)
            reading->work->bindings[reading->variables[i].binding].element = element;
}

static uint32_t function_flops(struct reading *reading, const struct shader_frame *frame,
                               uint32_t place) {
    const struct shader_module *module = &reading->module;
    uint32_t function = word_at(module, place, 4);
    switch (function) {
    case GLSL_PACK_HALF2X16:
        reading->packed |= 2;
        return 0;
    case GLSL_PACK_UNORM4X8:
        reading->packed |= 1;
        return 0;
    case GLSL_UNPACK_HALF2X16:
        note_unpacked(reading, frame, word_at(module, place, 5), 2);
        return 0;
    case GLSL_UNPACK_SNORM4X8:
    case GLSL_UNPACK_UNORM4X8:
        note_unpacked(reading, frame, word_at(module, place, 5), 1);
        return 0;
    case GLSL_FMA:
    case GLSL_FCLAMP:
        return 2;
    case GLSL_FMIX:
        return 3;
    case GLSL_FMIN:
    case GLSL_FMAX:
        return 1;
    default:
        return function >= GLSL_SIN && function <= GLSL_INVERSE_SQRT;
    }
}

/* Operations for each component of the result. */
static uint32_t operations_of(struct reading *reading, const struct shader_frame *frame,
                              uint32_t place) {
    const struct shader_module *module = &reading->module;
    uint32_t left = word_of(module, word_at(module, place, 3), 1); /* its type */
    uint32_t op = instruction_op(module, place);
    switch (op) {
    case OP_F_ADD:
    case OP_F_SUB:
    case OP_F_MUL:
    case OP_F_DIV:
    case OP_F_REM:
    case OP_F_MOD:
    case OP_VECTOR_TIMES_SCALAR:
    case OP_MATRIX_TIMES_SCALAR:
    case OP_OUTER_PRODUCT:
    case OP_GROUP_F_ADD:
        return 1;
    case OP_DOT:
    case OP_VECTOR_TIMES_MATRIX:
        return 2 * type_components(module, left);
    case OP_MATRIX_TIMES_VECTOR:
    case OP_MATRIX_TIMES_MATRIX:
        return 2 * word_of(module, left, 3); /* columns */
    case OP_EXT_INST:
        return function_flops(reading, frame, place);
    default:
        return op >= OP_DOT_PRODUCT_FIRST && op <= OP_DOT_PRODUCT_LAST ? 8 : 0;
    }
}

/* Instructions whose work cannot be counted. */
static void note_unknown(struct shader_work *work, uint32_t op) {
    if ((op > OP_SAMPLED_IMAGE && op < OP_IMAGE_QUERY_SAMPLES) || op == OP_IMAGE_TEXEL_POINTER ||
        op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED)
        work->knows_bytes = false;
    if (op >= OP_COOPERATIVE_LOAD && op <= OP_COOPERATIVE_MUL_ADD)
        work->knows_flops = false;
}

static void count_instruction(struct reading *reading, const struct shader_frame *frame,
                              unsigned loop, uint32_t place) {
    const struct shader_module *module = &reading->module;
    struct shader_loop *at = &reading->work->loops[loop];
    uint32_t op = instruction_op(module, place), operations = operations_of(reading, frame, place);
    if (operations)
        at->flops += (float)operations * (float)type_components(module, word_at(module, place, 1));
    else if (op == OP_LOAD || op == OP_ATOMIC_LOAD || op == OP_COOPERATIVE_LOAD)
        touch(reading, frame, loop, word_at(module, place, 3), false);
    else if (op == OP_STORE || op == OP_ATOMIC_STORE || op == OP_COOPERATIVE_STORE)
        touch(reading, frame, loop, word_at(module, place, 1), true);
    else if (op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR) {
        touch(reading, frame, loop, word_at(module, place, 3), false);
        touch(reading, frame, loop, word_at(module, place, 3), true);
    }
    note_unknown(reading->work, op);
}

/* ---- Functions ---------------------------------------------------------------------------- */

static bool add_loop(struct reading *reading, const struct shader_frame *frame, unsigned number,
                     unsigned parent) {
    const struct shader_part *part = &frame->function->parts[number];
    struct shader_work *work = reading->work;
    if (work->loop_count == SHADER_LOOPS)
        return false;
    struct shader_loop *made = &work->loops[work->loop_count++];
    *made = (struct shader_loop){.parent = (uint8_t)parent, .condition = part->condition != 0};
    if (part->condition) {
        made->otherwise = part->otherwise;
        made->limit = compile_expression(&reading->module, frame, part->condition, work);
    } else {
        find_trips(&reading->module, frame, number, work, made);
    }
    return true;
}

/* The parts around a part. A loop that starts with the same block as a side is inside of it. */
static uint64_t parts_around(const struct shader_module *module,
                             const struct shader_function *function, uint32_t number) {
    const struct shader_part *part = &function->parts[number];
    uint64_t around = module->blocks[part->block].parts & ~((uint64_t)1 << number);
    for (uint32_t i = 0; part->condition && i < function->part_count; i++)
        if (!function->parts[i].condition && function->parts[i].block == part->block)
            around &= ~((uint64_t)1 << i);
    return around;
}

/* Numbers of the function's parts among the loops of the shader; outer ones have smaller numbers.
 */
static bool add_loops(struct reading *reading, const struct shader_frame *frame, unsigned parent,
                      uint8_t numbers[FUNCTION_PARTS]) {
    const struct shader_function *function = frame->function;
    const struct shader_module *module = &reading->module;
    uint64_t added = 0, all = 0;
    for (uint32_t i = 0; i < function->part_count; i++)
        all |= (uint64_t)1 << i;
    while (added != all) {
        uint64_t before = added;
        for (uint32_t i = 0; i < function->part_count; i++) {
            uint64_t around = parts_around(module, function, i);
            if (added >> i & 1 || (around & ~added))
                continue;
            int outer = innermost_part(module, function, around);
            numbers[i] = reading->work->loop_count;
            if (!add_loop(reading, frame, i, outer < 0 ? parent : numbers[outer]))
                return false;
            added |= (uint64_t)1 << i;
        }
        if (added == before)
            return false; /* loops that overlap */
    }
    return true;
}

static bool visit(struct reading *reading, const struct shader_frame *frame, unsigned parent,
                  unsigned depth);

static bool visit_call(struct reading *reading, const struct shader_frame *frame, unsigned loop,
                       uint32_t place, unsigned depth) {
    const struct shader_frame called = {
        frame, find_function(&reading->module, word_at(&reading->module, place, 3)), place};
    return called.function && visit(reading, &called, loop, depth + 1);
}

/* The depth is bounded: SPIR-V for Vulkan has no recursion, but may claim so. */
static bool visit(struct reading *reading, const struct shader_frame *frame, unsigned parent,
                  unsigned depth) {
    struct shader_module *module = &reading->module;
    const struct shader_function *function = frame->function;
    uint8_t numbers[FUNCTION_PARTS];
    if (depth > CALL_DEPTH_MAX || ++reading->calls > CALLS_MAX ||
        !find_parts(module, frame, reading->work) || !add_loops(reading, frame, parent, numbers))
        return false;
    for (uint32_t i = 0; i < function->count; i++) {
        const struct shader_block *block = &module->blocks[function->first + i];
        int inner = innermost_part(module, function, block->parts);
        unsigned loop = inner < 0 ? parent : numbers[inner];
        for (uint32_t place = block->label; block->reachable && place < block->end;
             place += instruction_words(module, place)) {
            if (instruction_op(module, place) != OP_FUNCTION_CALL)
                count_instruction(reading, frame, loop, place);
            else if (!visit_call(reading, frame, loop, place, depth))
                return false;
        }
    }
    return true;
}

/* Buffers of integers: what else is unpacked or packed is theirs, if it is of one size. */
static void find_elements(struct reading *reading) {
    struct shader_work *work = reading->work;
    for (unsigned i = 0; i < work->binding_count; i++) {
        bool written = false;
        for (unsigned k = 0; k < work->loop_count; k++)
            written |= work->loops[k].stored[i] > 0;
        uint32_t sizes = written ? reading->packed : reading->unpacked;
        if (work->bindings[i].element == 0 && (sizes == 1 || sizes == 2))
            work->bindings[i].element = (uint8_t)sizes;
    }
}

static const struct shader_function *find_entry(const struct shader_module *module,
                                                const char *name) {
    for (uint32_t place = SPIRV_HEADER; place < module->words;
         place += instruction_words(module, place)) {
        uint32_t length = instruction_words(module, place);
        const char *text = (const char *)(module->code + place + 3);
        size_t bytes = length > 3 ? (length - 3) * sizeof(uint32_t) : 0;
        if (instruction_op(module, place) == OP_FUNCTION)
            return NULL;
        if (instruction_op(module, place) == OP_ENTRY_POINT &&
            word_at(module, place, 1) == MODEL_COMPUTE && strnlen(text, bytes) < bytes &&
            strcmp(text, name) == 0)
            return find_function(module, word_at(module, place, 2));
    }
    return NULL;
}

bool shader_work_read(const uint32_t *code, size_t words, const char *name,
                      const struct vk_specialization_info *values, struct shader_work *work) {
    static _Atomic uint64_t serial;
    struct reading reading = {.work = work};
    bool known = shader_module_open(&reading.module, code, words, values);
    struct shader_frame entry = {.function = known ? find_entry(&reading.module, name) : NULL};
    memset(work, 0, sizeof *work);
    work->knows_bytes = work->knows_flops = true;
    work->loop_count = 1; /* the shader */
    work->serial = atomic_fetch_add(&serial, 1) + 1;
    known = entry.function && visit(&reading, &entry, 0, 0);
    if (known)
        find_elements(&reading);
    shader_module_close(&reading.module);
    return known && (work->knows_bytes || work->knows_flops);
}
