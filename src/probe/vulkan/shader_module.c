/* Indexes a SPIR-V module: where each id is defined, the blocks of its functions, which of them run
 * (conditions that are constant after specialization leave one side), and which loops and sides of
 * conditions are around them: what is reachable from their first block without passing their merge
 * block.
 */
#include "probe/vulkan/shader_module.h"

#include "base/array.h"
#include "probe/vulkan/vulkan.h"

enum {
    BOUND_MAX = 1 << 20,
    BLOCKS_MAX = 1 << 14,
    FUNCTIONS_MAX = 256,
    CHAIN_MAX = 64, /* of pointers and copies */
    TARGETS_MAX = 64,
};

/* ---- Ids ---------------------------------------------------------------------------------- */

/* The word that has the result of an instruction: 0: none. Instructions that are not here are not
 * looked at. */
static uint32_t result_word(uint32_t op) {
    static const struct {
        uint16_t first, last, word;
    } rows[] = {
        {1, 1, 2},
        {7, 7, 1},
        {11, 11, 1},
        {12, 12, 2},
        {19, 38, 1},
        {41, 52, 2},
        {54, 55, 2},
        {57, 57, 2},
        {59, 61, 2},
        {65, 70, 2},
        {77, 84, 2},
        {86, 98, 2},
        {100, 107, 2},
        {109, 124, 2},
        {126, 152, 2},
        {154, 191, 2},
        {194, 205, 2},
        {227, 227, 2},
        {229, 242, 2},
        {OP_PHI, OP_PHI, 2},
        {OP_LABEL, OP_LABEL, 1},
        {333, 366, 2},
        {400, 403, 2},
        {OP_DOT_PRODUCT_FIRST, OP_DOT_PRODUCT_LAST, 2},
        {OP_TYPE_COOPERATIVE_MATRIX, OP_TYPE_COOPERATIVE_MATRIX, 1},
        {OP_COOPERATIVE_LOAD, OP_COOPERATIVE_LOAD, 2},
        {OP_COOPERATIVE_MUL_ADD, OP_COOPERATIVE_MUL_ADD, 2},
    };
    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
        if (op >= rows[i].first && op <= rows[i].last)
            return rows[i].word;
    return 0;
}

/* Also checks the length of every instruction, which nothing does again. */
static bool index_ids(struct shader_module *module, uint32_t *blocks, uint32_t *functions) {
    for (size_t place = SPIRV_HEADER; place < module->words;) {
        uint32_t length = module->code[place] >> 16, op = module->code[place] & 0xFFFF;
        uint32_t word = result_word(op);
        if (length == 0 || length > module->words - place || length <= word)
            return false;
        if (word && module->code[place + word] < module->bound)
            module->places[module->code[place + word]] = (uint32_t)place;
        *blocks += op == OP_LABEL;
        *functions += op == OP_FUNCTION;
        place += length;
    }
    return *blocks <= BLOCKS_MAX && *functions <= FUNCTIONS_MAX;
}

static bool ends_block(uint32_t op) {
    return op >= OP_BRANCH && op <= 255 /* OpUnreachable */;
}

static void index_blocks(struct shader_module *module) {
    struct shader_function *function = NULL;
    struct shader_block *block = NULL;
    for (uint32_t place = SPIRV_HEADER; place < module->words;
         place += instruction_words(module, place)) {
        uint32_t op = instruction_op(module, place);
        if (op == OP_FUNCTION) {
            function = &module->functions[module->function_count++];
            *function = (struct shader_function){
                .id = word_at(module, place, 2), .place = place, .first = module->block_count};
        } else if (op == OP_LABEL && function && !block) {
            block = &module->blocks[module->block_count++];
            *block = (struct shader_block){.label = place};
            function->count++;
        } else if (op == OP_LOOP_MERGE && block) {
            block->merge = word_at(module, place, 1);
            block->again = word_at(module, place, 2);
        } else if (op == OP_SELECTION_MERGE && block) {
            block->selection = word_at(module, place, 1);
        } else if (block && ends_block(op)) {
            block->end = place;
            block = NULL;
        }
    }
    if (block) /* without an end */
        block->end = block->label;
}

bool shader_module_open(struct shader_module *module, const uint32_t *code, size_t words,
                        const struct vk_specialization_info *values) {
    uint32_t blocks = 0, functions = 0;
    *module = (struct shader_module){.code = code, .words = words, .values = values};
    if (words < SPIRV_HEADER || words > UINT32_MAX || code[3] > BOUND_MAX)
        return false;
    module->bound = code[3];
    module->places = vulkan_allocate((size_t)module->bound * sizeof *module->places);
    if (!module->places || !index_ids(module, &blocks, &functions))
        return false;
    module->blocks = vulkan_allocate((blocks + 1) * sizeof *module->blocks);
    module->pending = vulkan_allocate((blocks + 1) * sizeof *module->pending);
    module->functions = vulkan_allocate((functions + 1) * sizeof *module->functions);
    if (!module->blocks || !module->pending || !module->functions)
        return false;
    index_blocks(module);
    return true;
}

void shader_module_close(struct shader_module *module) {
    vulkan_free(module->places);
    vulkan_free(module->blocks);
    vulkan_free(module->pending);
    vulkan_free(module->functions);
}

/* ---- Decorations and types ---------------------------------------------------------------- */

/* Declarations come before functions. */
static bool next_declaration(const struct shader_module *module, uint32_t *place) {
    *place = *place ? *place + instruction_words(module, *place) : SPIRV_HEADER;
    return *place < module->words && instruction_op(module, *place) != OP_FUNCTION;
}

bool find_decoration(const struct shader_module *module, uint32_t id, uint32_t decoration,
                     uint32_t *value) {
    for (uint32_t place = 0; next_declaration(module, &place);)
        if (instruction_op(module, place) == OP_DECORATE && word_at(module, place, 1) == id &&
            word_at(module, place, 2) == decoration) {
            *value = word_at(module, place, 3);
            return true;
        }
    return false;
}

bool find_member_offset(const struct shader_module *module, uint32_t type, uint32_t member,
                        uint32_t *offset) {
    for (uint32_t place = 0; next_declaration(module, &place);)
        if (instruction_op(module, place) == OP_MEMBER_DECORATE &&
            word_at(module, place, 1) == type && word_at(module, place, 2) == member &&
            word_at(module, place, 3) == DECORATION_OFFSET) {
            *offset = word_at(module, place, 4);
            return true;
        }
    return false;
}

uint32_t type_scalar(const struct shader_module *module, uint32_t type) {
    for (unsigned depth = 0; depth < CHAIN_MAX; depth++) {
        uint32_t op = op_of(module, type);
        if (op == OP_TYPE_INT || op == OP_TYPE_FLOAT)
            return type;
        if (op != OP_TYPE_VECTOR && op != OP_TYPE_MATRIX && op != OP_TYPE_ARRAY &&
            op != OP_TYPE_RUNTIME_ARRAY)
            return 0;
        type = word_of(module, type, 2);
    }
    return 0;
}

uint32_t type_components(const struct shader_module *module, uint32_t type) {
    uint64_t components = 1;
    for (unsigned depth = 0; depth < CHAIN_MAX && components < UINT16_MAX; depth++) {
        uint32_t op = op_of(module, type), length = word_of(module, type, 3);
        if (op == OP_TYPE_ARRAY && !constant_value(module, length, &length))
            return 0;
        if (op != OP_TYPE_VECTOR && op != OP_TYPE_MATRIX && op != OP_TYPE_ARRAY)
            return op == OP_TYPE_INT || op == OP_TYPE_FLOAT ? (uint32_t)components : 0;
        components *= length;
        type = word_of(module, type, 2);
    }
    return 0;
}

uint32_t type_bytes(const struct shader_module *module, uint32_t type) {
    if (op_of(module, type) != OP_TYPE_STRUCT)
        return type_components(module, type) * (word_of(module, type_scalar(module, type), 2) / 8);
    uint32_t bytes = 0; /* of a struct of anything but structs */
    uint32_t place = place_of(module, type);
    for (uint32_t i = 2; i < instruction_words(module, place); i++)
        if (op_of(module, word_at(module, place, i)) != OP_TYPE_STRUCT)
            bytes += type_bytes(module, word_at(module, place, i));
    return bytes;
}

/* ---- Values ------------------------------------------------------------------------------- */

/* The operand of the call for a parameter of the called function. */
static uint32_t argument_of(const struct shader_module *module, const struct shader_frame *frame,
                            uint32_t parameter) {
    uint32_t place = frame->function->place;
    for (uint32_t index = 4; place < module->words; place += instruction_words(module, place)) {
        uint32_t op = instruction_op(module, place);
        if (op == OP_LABEL || op == OP_FUNCTION_END)
            return 0;
        if (op != OP_FUNCTION_PARAMETER)
            continue;
        if (word_at(module, place, 2) == parameter)
            return word_at(module, frame->call, index);
        index++;
    }
    return 0;
}

uint32_t resolve_value(const struct shader_module *module, const struct shader_frame **frame,
                       uint32_t id) {
    for (unsigned depth = 0; depth < CHAIN_MAX; depth++) {
        uint32_t op = op_of(module, id);
        if (op == OP_FUNCTION_PARAMETER && (*frame)->call) {
            id = argument_of(module, *frame, id);
            *frame = (*frame)->caller;
        } else if (op == OP_COPY_OBJECT || op == OP_BITCAST || op == OP_U_CONVERT ||
                   op == OP_S_CONVERT) {
            id = word_of(module, id, 3);
        } else {
            return id;
        }
    }
    return 0;
}

uint32_t pointer_class(const struct shader_module *module, uint32_t pointer) {
    return word_of(module, word_of(module, pointer, 1), 2);
}

uint32_t pointer_root(const struct shader_module *module, const struct shader_frame *frame,
                      uint32_t pointer) {
    for (unsigned depth = 0; depth < CHAIN_MAX; depth++) {
        pointer = resolve_value(module, &frame, pointer);
        uint32_t op = op_of(module, pointer);
        if (op == OP_VARIABLE)
            return pointer;
        if (op != OP_ACCESS_CHAIN && op != OP_IN_BOUNDS_ACCESS_CHAIN && op != OP_PTR_ACCESS_CHAIN &&
            op != OP_IN_BOUNDS_PTR_ACCESS_CHAIN)
            return 0;
        pointer = word_of(module, pointer, 3);
    }
    return 0;
}

/* ---- Blocks and loops --------------------------------------------------------------------- */

const struct shader_function *find_function(const struct shader_module *module, uint32_t id) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].id == id)
            return &module->functions[i];
    return NULL;
}

/* Blocks are in the order of their places. */
struct shader_block *find_block(const struct shader_module *module,
                                const struct shader_function *function, uint32_t label) {
    uint32_t place = place_of(module, label), low = function->first,
             high = function->first + function->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (module->blocks[middle].label < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function->first + function->count && module->blocks[low].label == place
               ? &module->blocks[low]
               : NULL;
}

/* The labels that can follow a block. */
static unsigned targets_of(const struct shader_module *module, const struct shader_block *block,
                           uint32_t targets[TARGETS_MAX]) {
    uint32_t end = block->end, op = instruction_op(module, end), value, count = 0;
    if (op == OP_BRANCH) {
        targets[count++] = word_at(module, end, 1);
    } else if (op == OP_BRANCH_CONDITIONAL) {
        bool known = constant_value(module, word_at(module, end, 1), &value);
        for (uint32_t i = 2; i <= 3; i++)
            if (!known || (value != 0) == (i == 2))
                targets[count++] = word_at(module, end, i);
    } else if (op == OP_SWITCH) {
        targets[count++] = word_at(module, end, 2);
        for (uint32_t i = 4; i < instruction_words(module, end) && count < TARGETS_MAX; i += 2)
            targets[count++] = word_at(module, end, i);
    }
    return count;
}

/* Marks what is reachable from a block as running. */
static void mark_reachable(struct shader_module *module, const struct shader_function *function) {
    uint32_t pending = 0, targets[TARGETS_MAX];
    module->blocks[function->first].reachable = true;
    module->pending[pending++] = function->first;
    while (pending > 0) {
        const struct shader_block *block = &module->blocks[module->pending[--pending]];
        unsigned count = targets_of(module, block, targets);
        for (unsigned i = 0; i < count; i++) {
            struct shader_block *next = find_block(module, function, targets[i]);
            if (next)
                next->before++;
            if (!next || next->reachable)
                continue;
            next->reachable = true;
            module->pending[pending++] = (uint32_t)(next - module->blocks);
        }
    }
}

/* Whether a label is outside of a part that `from` starts: after it, or where a loop around it ends
 * or goes on. */
static bool is_outside(const struct shader_module *module, const struct shader_function *function,
                       uint64_t around, uint32_t label, uint32_t merge) {
    for (uint32_t i = 0; i < function->part_count; i++) {
        const struct shader_block *header = &module->blocks[function->parts[i].block];
        if (around >> i & 1 && !function->parts[i].condition &&
            (label == header->merge || label == header->again ||
             place_of(module, label) == header->label))
            return true;
    }
    return label == merge;
}

/* Marks the blocks of a part, up to its merge block. */
static void mark_part(struct shader_module *module, const struct shader_function *function,
                      uint32_t number, uint32_t merge) {
    uint64_t bit = (uint64_t)1 << number;
    uint32_t pending = 0, targets[TARGETS_MAX];
    struct shader_block *from = &module->blocks[function->parts[number].block];
    uint64_t around = function->parts[number].condition ? from->parts : 0;
    if (from->merge && function->parts[number].condition) /* its own loop is inside */
        for (uint32_t i = 0; i < number; i++)
            if (&module->blocks[function->parts[i].block] == from)
                around &= ~((uint64_t)1 << i);
    from->parts |= bit;
    module->pending[pending++] = (uint32_t)(from - module->blocks);
    while (pending > 0) {
        const struct shader_block *block = &module->blocks[module->pending[--pending]];
        unsigned count = targets_of(module, block, targets);
        for (unsigned i = 0; i < count; i++) {
            struct shader_block *next = is_outside(module, function, around, targets[i], merge)
                                            ? NULL
                                            : find_block(module, function, targets[i]);
            if (!next || next->parts & bit)
                continue;
            next->parts |= bit;
            module->pending[pending++] = (uint32_t)(next - module->blocks);
        }
    }
}

/* A side of a condition, if nothing else leads there. */
static void add_side(struct shader_module *module, struct shader_function *function,
                     const struct shader_block *block, bool otherwise) {
    uint32_t label = word_at(module, block->end, otherwise ? 3 : 2);
    const struct shader_block *side = find_block(module, function, label);
    if (!side || label == block->selection || side->before != 1 ||
        function->part_count == FUNCTION_PARTS)
        return;
    for (uint32_t i = 0; i < function->part_count; i++) {
        const struct shader_block *header = &module->blocks[function->parts[i].block];
        if (!function->parts[i].condition && (label == header->merge || label == header->again))
            return;
    }
    function->parts[function->part_count++] =
        (struct shader_part){.block = (uint32_t)(side - module->blocks),
                             .condition = word_at(module, block->end, 1),
                             .otherwise = otherwise};
    mark_part(module, function, function->part_count - 1, block->selection);
}

/* Conditions that can be evaluated for a dispatch; both sides of others count. */
static void add_conditions(struct shader_module *module, const struct shader_frame *frame,
                           struct shader_work *work) {
    struct shader_function *function = (struct shader_function *)frame->function;
    for (uint32_t i = 0; i < function->count; i++) {
        const struct shader_block *block = &module->blocks[function->first + i];
        uint16_t nodes = work->node_count;
        uint32_t value, condition = word_at(module, block->end, 1);
        if (!block->reachable || !block->selection ||
            instruction_op(module, block->end) != OP_BRANCH_CONDITIONAL ||
            constant_value(module, condition, &value))
            continue;
        struct shader_expression known = compile_expression(module, frame, condition, work);
        work->node_count = nodes;
        for (unsigned side = 0; known.count > 0 && side < 2; side++)
            add_side(module, function, block, side == 1);
    }
}

bool find_parts(struct shader_module *module, const struct shader_frame *frame,
                struct shader_work *work) {
    struct shader_function *function = (struct shader_function *)frame->function;
    const struct shader_block *blocks = module->blocks + function->first;
    if (function->count == 0 || blocks->reachable)
        return function->count > 0;
    mark_reachable(module, function);
    for (uint32_t i = 0; i < function->count; i++) {
        if (!blocks[i].merge || !blocks[i].reachable)
            continue;
        if (function->part_count == FUNCTION_PARTS)
            return false;
        function->parts[function->part_count++].block = function->first + i;
        mark_part(module, function, function->part_count - 1, blocks[i].merge);
    }
    add_conditions(module, frame, work);
    return true;
}

/* Of two that start with the same block, the loop is inside of the condition. */
int innermost_part(const struct shader_module *module, const struct shader_function *function,
                   uint64_t parts) {
    int innermost = -1, most = 0;
    for (uint32_t i = 0; i < function->part_count; i++) {
        int depth = __builtin_popcountll(module->blocks[function->parts[i].block].parts);
        if (parts >> i & 1 && depth > most) {
            innermost = (int)i;
            most = depth;
        }
    }
    return innermost;
}
