/* How often does a loop run? Its variable is a phi of the header, or a variable of the function
 * that is stored once inside of the loop; a step is added to it until a comparison leaves the loop.
 * First value, limit and step are compiled to expressions of constants, push constants and the
 * grid, which are evaluated for each dispatch. Positions of an invocation are those of the first
 * one, 0.
 */
#include "probe/vulkan/shader_module.h"

#include <string.h>

#include "base/array.h"

enum { DEPTH_MAX = 24, STACK_MAX = 24 };

enum glsl_function { GLSL_UMIN = 38, GLSL_SMIN, GLSL_UMAX = 41, GLSL_SMAX };

/* ---- Constants ---------------------------------------------------------------------------- */

/* Values of 4 bytes: numbers and booleans. */
static bool find_specialized(const struct shader_module *module, uint32_t id, uint32_t *value) {
    const struct vk_specialization_info *values = module->values;
    uint32_t spec_id;
    if (!values || !find_decoration(module, id, DECORATION_SPEC_ID, &spec_id))
        return false;
    for (uint32_t i = 0; i < values->mapEntryCount; i++) {
        const struct vk_specialization_map_entry *entry = &values->pMapEntries[i];
        if (entry->constantID != spec_id || entry->size != sizeof *value ||
            entry->offset > values->dataSize || values->dataSize - entry->offset < sizeof *value)
            continue;
        memcpy(value, (const char *)values->pData + entry->offset, sizeof *value);
        return true;
    }
    return false;
}

static bool read_constant(const struct shader_module *module, uint32_t id, uint32_t *value) {
    switch (op_of(module, id)) {
    case OP_CONSTANT_NULL:
    case OP_CONSTANT_FALSE:
    case OP_SPEC_CONSTANT_FALSE:
        *value = 0;
        break;
    case OP_CONSTANT_TRUE:
    case OP_SPEC_CONSTANT_TRUE:
        *value = 1;
        break;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT:
        if (op_of(module, word_of(module, id, 1)) != OP_TYPE_INT)
            return false;
        *value = word_of(module, id, 3);
        break;
    default:
        return false;
    }
    if (op_of(module, id) >= OP_SPEC_CONSTANT_TRUE)
        find_specialized(module, id, value);
    return true;
}

/* ---- Expressions -------------------------------------------------------------------------- */

static bool add_node(struct shader_work *work, enum shader_node_kind kind, uint32_t operation,
                     uint32_t value) {
    if (work->node_count == SHADER_NODES)
        return false;
    work->nodes[work->node_count++] =
        (struct shader_node){(uint16_t)kind, (uint16_t)operation, value};
    return true;
}

/* Which dimension of a vector is loaded; 0 of a scalar. */
static bool find_dimension(const struct shader_module *module, uint32_t variable, uint32_t pointer,
                           uint32_t *component) {
    return (pointer == variable ||
            constant_value(module, word_of(module, pointer, 4), component)) &&
           *component < 3;
}

/* Positions in the grid are those in the first workgroup. */
static bool compile_input(const struct shader_module *module, uint32_t variable, uint32_t pointer,
                          uint32_t component, struct shader_work *work) {
    enum { GRID = 24, WORKGROUP = 26, LOCAL, GLOBAL, INDEX, SUBGROUP = 40, LANE };
    uint32_t built_in;
    if (!find_decoration(module, variable, DECORATION_BUILT_IN, &built_in) ||
        !find_dimension(module, variable, pointer, &component))
        return false;
    switch (built_in) {
    case GRID:
        return add_node(work, NODE_GRID, 0, component);
    case LOCAL:
    case GLOBAL:
        return add_node(work, NODE_POSITION, 0, component);
    case INDEX:
        return add_node(work, NODE_POSITION, 0, 3);
    case WORKGROUP:
    case SUBGROUP:
    case LANE:
        return add_node(work, NODE_CONSTANT, 0, 0);
    default:
        return false;
    }
}

/* The offset of a member that a chain with constant indices leads to: [member][component]. */
static bool push_offset(const struct shader_module *module, uint32_t pointer, uint32_t variable,
                        uint32_t *offset) {
    uint32_t place = place_of(module, pointer), index, component = 0;
    uint32_t type = word_of(module, word_of(module, variable, 1), 3);
    if (op_of(module, pointer) == OP_VARIABLE || word_at(module, place, 3) != variable ||
        instruction_words(module, place) > 6 ||
        !constant_value(module, word_at(module, place, 4), &index) ||
        (instruction_words(module, place) == 6 &&
         !constant_value(module, word_at(module, place, 5), &component)) ||
        !find_member_offset(module, type, index, offset))
        return false;
    *offset += component * 4;
    return *offset <= SHADER_PUSH_BYTES - 4;
}

/* The value of a variable that is stored once, and has no initial value. */
static uint32_t only_stored(const struct shader_module *module, const struct shader_frame *frame,
                            uint32_t variable) {
    const struct shader_function *function = frame->function;
    uint32_t stored = 0, stores = word_of(module, variable, 4) != 0;
    for (uint32_t i = 0; i < function->count; i++) {
        const struct shader_block *block = &module->blocks[function->first + i];
        for (uint32_t place = block->label; block->reachable && place < block->end;
             place += instruction_words(module, place))
            if (instruction_op(module, place) == OP_STORE &&
                word_at(module, place, 1) == variable) {
                stored = word_at(module, place, 2);
                stores++;
            }
    }
    return stores == 1 ? stored : 0;
}

struct compiler {
    const struct shader_module *module;
    struct shader_work *work;
};
static bool compile(const struct compiler *compiler, const struct shader_frame *frame, uint32_t id,
                    unsigned depth);

static bool compile_load(const struct compiler *compiler, const struct shader_frame *frame,
                         uint32_t pointer, uint32_t component, unsigned depth) {
    const struct shader_module *module = compiler->module;
    uint32_t variable = pointer_root(module, frame, pointer), offset;
    switch (pointer_class(module, variable)) {
    case CLASS_PUSH_CONSTANT:
        return push_offset(module, pointer, variable, &offset) &&
               offset + component * 4 <= SHADER_PUSH_BYTES - 4 &&
               add_node(compiler->work, NODE_PUSH_CONSTANT, 0, offset + component * 4);
    case CLASS_INPUT:
        return compile_input(module, variable, pointer, component, compiler->work);
    case CLASS_FUNCTION:
        return pointer == variable &&
               compile(compiler, frame, only_stored(module, frame, variable), depth);
    default:
        return false;
    }
}

/* One component of a vector. */
static bool compile_component(const struct compiler *compiler, const struct shader_frame *frame,
                              uint32_t place, unsigned depth) {
    const struct shader_module *module = compiler->module;
    uint32_t index = word_at(module, place, 4);
    uint32_t vector = resolve_value(module, &frame, word_at(module, place, 3));
    switch (op_of(module, vector)) {
    case OP_CONSTANT_COMPOSITE:
    case OP_SPEC_CONSTANT_COMPOSITE:
    case OP_COMPOSITE_CONSTRUCT:
        return instruction_words(module, place) == 5 &&
               compile(compiler, frame, word_of(module, vector, 3 + index), depth);
    case OP_LOAD:
        return instruction_words(module, place) == 5 && index < 4 &&
               compile_load(compiler, frame, word_of(module, vector, 3), index, depth);
    default:
        return false;
    }
}

static bool is_computed(uint32_t op) {
    switch (op) {
    case OP_I_ADD:
    case OP_I_SUB:
    case OP_I_MUL:
    case OP_U_DIV:
    case OP_S_DIV:
    case OP_U_MOD:
    case OP_S_REM:
    case OP_S_MOD:
        return true;
    default:
        return (op >= OP_LOGICAL_OR && op <= OP_S_LESS_EQUAL && op != OP_LOGICAL_NOT &&
                op != OP_SELECT) ||
               (op >= OP_SHIFT_RIGHT_LOGICAL && op <= OP_BITWISE_AND);
    }
}

static bool apply(const struct shader_node *node, int64_t a, int64_t b, int64_t *result);

/* An operation with the two operands before it; one of constants is a constant. */
static bool add_operation(struct shader_work *work, enum shader_node_kind kind,
                          uint32_t operation) {
    struct shader_node *a = &work->nodes[work->node_count - 2], *b = a + 1;
    struct shader_node node = {(uint16_t)kind, (uint16_t)operation, 0};
    int64_t result;
    if (a->kind != NODE_CONSTANT || b->kind != NODE_CONSTANT ||
        !apply(&node, (int32_t)a->value, (int32_t)b->value, &result))
        return add_node(work, kind, operation, 0);
    a->value = (uint32_t)result;
    work->node_count--;
    return true;
}

/* Two operands, from word `first` of the instruction on. */
static bool compile_pair(const struct compiler *compiler, const struct shader_frame *frame,
                         uint32_t place, uint32_t first, unsigned depth) {
    return compile(compiler, frame, word_at(compiler->module, place, first), depth) &&
           compile(compiler, frame, word_at(compiler->module, place, first + 1), depth);
}

static bool compile(const struct compiler *compiler, const struct shader_frame *frame, uint32_t id,
                    unsigned depth) {
    const struct shader_module *module = compiler->module;
    uint32_t value;
    id = resolve_value(module, &frame, id);
    uint32_t place = place_of(module, id), op = op_of(module, id);
    if (++depth > DEPTH_MAX || !place)
        return false;
    if (read_constant(module, id, &value))
        return add_node(compiler->work, NODE_CONSTANT, 0, value);
    if (op == OP_SPEC_CONSTANT_OP && is_computed(word_at(module, place, 3)))
        return compile_pair(compiler, frame, place, 4, depth) &&
               add_operation(compiler->work, NODE_INSTRUCTION, word_at(module, place, 3));
    if (is_computed(op))
        return compile_pair(compiler, frame, place, 3, depth) &&
               add_operation(compiler->work, NODE_INSTRUCTION, op);
    if (op == OP_EXT_INST)
        return compile_pair(compiler, frame, place, 5, depth) &&
               add_operation(compiler->work, NODE_FUNCTION, word_at(module, place, 4));
    if (op == OP_LOAD)
        return compile_load(compiler, frame, word_at(module, place, 3), 0, depth);
    return op == OP_COMPOSITE_EXTRACT && compile_component(compiler, frame, place, depth);
}

struct shader_expression compile_expression(const struct shader_module *module,
                                            const struct shader_frame *frame, uint32_t id,
                                            struct shader_work *work) {
    uint16_t first = work->node_count;
    struct compiler compiler = {module, work};
    if (!compile(&compiler, frame, id, 0))
        work->node_count = first;
    return (struct shader_expression){first, (uint16_t)(work->node_count - first)};
}

static bool apply_function(uint32_t function, int64_t a, int64_t b, int64_t *result) {
    bool least = function == GLSL_UMIN || function == GLSL_SMIN;
    *result = (a < b) == least ? a : b;
    return least || function == GLSL_UMAX || function == GLSL_SMAX;
}

static bool apply_arithmetic(uint32_t op, int64_t a, int64_t b, int64_t *result) {
    switch (op) {
    case OP_I_ADD:
        *result = a + b;
        return true;
    case OP_I_SUB:
        *result = a - b;
        return true;
    case OP_I_MUL:
        return !__builtin_mul_overflow(a, b, result);
    case OP_U_DIV:
    case OP_S_DIV:
        *result = b ? a / b : 0;
        return b > 0;
    case OP_U_MOD:
    case OP_S_REM:
    case OP_S_MOD:
        *result = b ? a % b : 0;
        return b > 0;
    case OP_SHIFT_RIGHT_LOGICAL:
    case OP_SHIFT_RIGHT_ARITHMETIC:
        *result = b >= 0 && b < 32 ? a >> b : 0;
        return b >= 0 && b < 32;
    case OP_SHIFT_LEFT:
        *result = b >= 0 && b < 31 && a >= 0 ? a << b : 0;
        return b >= 0 && b < 31 && a >= 0;
    case OP_BITWISE_AND:
        *result = a & b;
        return true;
    case OP_BITWISE_OR:
        *result = a | b;
        return true;
    default:
        return false;
    }
}

static bool apply_comparison(uint32_t op, int64_t a, int64_t b, int64_t *result) {
    switch (op) {
    case OP_LOGICAL_OR:
        *result = a || b;
        return true;
    case OP_LOGICAL_AND:
        *result = a && b;
        return true;
    case OP_I_EQUAL:
        *result = a == b;
        return true;
    case OP_I_NOT_EQUAL:
        *result = a != b;
        return true;
    case OP_U_GREATER:
    case OP_S_GREATER:
        *result = a > b;
        return true;
    case OP_U_GREATER_EQUAL:
    case OP_S_GREATER_EQUAL:
        *result = a >= b;
        return true;
    case OP_U_LESS:
    case OP_S_LESS:
        *result = a < b;
        return true;
    case OP_U_LESS_EQUAL:
    case OP_S_LESS_EQUAL:
        *result = a <= b;
        return true;
    default:
        return false;
    }
}

/* Values of 32 bits stay small enough for sums in 64 bits: larger ones are unknown. */
static bool apply(const struct shader_node *node, int64_t a, int64_t b, int64_t *result) {
    bool known = node->kind == NODE_FUNCTION ? apply_function(node->operation, a, b, result)
                                             : apply_arithmetic(node->operation, a, b, result) ||
                                                   apply_comparison(node->operation, a, b, result);
    return known && *result > INT32_MIN && *result <= UINT32_MAX;
}

/* Without arguments there are none. */
static bool read_argument(const struct shader_node *node, const struct shader_arguments *arguments,
                          uint32_t invocation, int32_t *value) {
    if (!arguments)
        return false;
    const uint32_t *block = arguments->block;
    switch (node->kind) {
    case NODE_PUSH_CONSTANT:
        memcpy(value, arguments->push + node->value, sizeof *value);
        return true;
    case NODE_GRID:
        *value = (int32_t)arguments->grid[node->value];
        return true;
    default: /* blocks are not empty */
        for (uint32_t i = 0; i < node->value && node->value < 3; i++)
            invocation /= block[i];
        *value = (int32_t)(node->value < 3 ? invocation % block[node->value] : invocation);
        return true;
    }
}

bool evaluate_expression(const struct shader_work *work, const struct shader_expression *expression,
                         const struct shader_arguments *arguments, uint32_t invocation,
                         int64_t *value) {
    int64_t stack[STACK_MAX];
    unsigned depth = 0;
    for (unsigned i = 0; i < expression->count; i++) {
        const struct shader_node *node = &work->nodes[expression->first + i];
        int32_t word = (int32_t)node->value;
        if (node->kind < NODE_INSTRUCTION) {
            if (node->kind != NODE_CONSTANT && !read_argument(node, arguments, invocation, &word))
                return false;
            if (depth == STACK_MAX)
                return false;
            stack[depth++] = word;
        } else if (depth < 2 ||
                   !apply(node, stack[depth - 2], stack[depth - 1], &stack[depth - 2])) {
            return false;
        } else {
            depth--;
        }
    }
    if (depth != 1)
        return false;
    *value = stack[0];
    return true;
}

/* Without push constants and frames. */
bool constant_value(const struct shader_module *module, uint32_t id, uint32_t *value) {
    static const struct shader_function none;
    static const struct shader_frame outside = {.function = &none};
    struct shader_work scratch;
    uint32_t op = op_of(module, id);
    int64_t result;
    if (read_constant(module, id, value))
        return true;
    if (op != OP_SPEC_CONSTANT_OP)
        return false;
    scratch.node_count = 0;
    struct shader_expression expression = compile_expression(module, &outside, id, &scratch);
    if (!evaluate_expression(&scratch, &expression, NULL, 0, &result))
        return false;
    *value = (uint32_t)result;
    return true;
}

/* ---- Loops -------------------------------------------------------------------------------- */

/* The loop that is looked at. */
struct search {
    const struct shader_module *module;
    const struct shader_frame *frame;
    const struct shader_block *header;
    uint64_t bit;
};

static bool is_inside(const struct search *search, uint32_t label) {
    const struct shader_block *block = find_block(search->module, search->frame->function, label);
    return block && block->parts & search->bit;
}

/* A label outside, or of a block that does nothing but leave. */
static bool leaves(const struct search *search, uint32_t label) {
    const struct shader_module *module = search->module;
    const struct shader_block *block = find_block(module, search->frame->function, label);
    if (!block || label == search->header->merge || !(block->parts & search->bit))
        return true;
    return instruction_op(module, block->end) == OP_BRANCH &&
           block->end == block->label + instruction_words(module, block->label) &&
           word_at(module, block->end, 1) == search->header->merge;
}

/* The variable of the loop: its value before it, and its next value. */
struct induction {
    uint32_t self; /* the phi, or the variable */
    uint32_t first, next;
};

static bool find_phi(const struct search *search, uint32_t id, struct induction *found) {
    const struct shader_module *module = search->module;
    uint32_t place = place_of(module, id);
    if (op_of(module, id) != OP_PHI || place < search->header->label || place > search->header->end)
        return false;
    *found = (struct induction){.self = id};
    for (uint32_t i = 3; i + 1 < instruction_words(module, place); i += 2) {
        uint32_t value = word_at(module, place, i);
        if (is_inside(search, word_at(module, place, i + 1)))
            found->next = value;
        else
            found->first = value;
    }
    return found->first && found->next;
}

static bool find_variable(const struct search *search, uint32_t id, struct induction *found) {
    const struct shader_module *module = search->module;
    const struct shader_function *function = search->frame->function;
    uint32_t variable = word_of(module, id, 3), inside = 0;
    if (op_of(module, id) != OP_LOAD || op_of(module, variable) != OP_VARIABLE ||
        pointer_class(module, variable) != CLASS_FUNCTION)
        return false;
    *found = (struct induction){.self = variable, .first = word_of(module, variable, 4)};
    for (uint32_t i = 0; i < function->count; i++) {
        const struct shader_block *block = &module->blocks[function->first + i];
        for (uint32_t place = block->label; block->reachable && place < block->end;
             place += instruction_words(module, place)) {
            if (instruction_op(module, place) != OP_STORE || word_at(module, place, 1) != variable)
                continue;
            if (block->parts & search->bit) {
                found->next = word_at(module, place, 2);
                inside++;
            } else if (place < search->header->label) {
                found->first = word_at(module, place, 2); /* the last one before the loop */
            }
        }
    }
    return inside == 1 && found->first && found->next;
}

/* Whether an operand is the variable's present value. */
static bool is_self(const struct shader_module *module, const struct induction *induction,
                    uint32_t id) {
    return id == induction->self ||
           (op_of(module, id) == OP_LOAD && word_of(module, id, 3) == induction->self);
}

/* How the next value follows from the present one. */
static bool find_step(const struct shader_module *module, const struct induction *induction,
                      enum shader_step *kind, uint32_t *step) {
    uint32_t op = op_of(module, induction->next);
    uint32_t a = word_of(module, induction->next, 3), b = word_of(module, induction->next, 4);
    *kind = op == OP_I_ADD ? STEP_ADD : op == OP_I_SUB ? STEP_SUBTRACT : STEP_SHIFT;
    *step = is_self(module, induction, a) ? b : a;
    if (op == OP_I_ADD)
        return is_self(module, induction, a) || is_self(module, induction, b);
    return (op == OP_I_SUB || op == OP_SHIFT_RIGHT_LOGICAL || op == OP_SHIFT_RIGHT_ARITHMETIC) &&
           is_self(module, induction, a);
}

/* The induction behind one side of a comparison: the value itself, or the next one. */
static bool find_induction(const struct search *search, uint32_t id, struct induction *found) {
    if (find_phi(search, id, found) || find_variable(search, id, found))
        return true;
    uint32_t op = op_of(search->module, id);
    return (op == OP_I_ADD || op == OP_I_SUB) &&
           find_phi(search, word_of(search->module, id, 3), found) && found->next == id;
}

/* By which comparison the loop goes on. `turned`: the variable is on the right; `leaves`: the
 * condition ends the loop. */
static bool comparison_of(uint32_t op, bool turned, bool leaves, uint8_t *comparison) {
    static const uint8_t turned_to[] = {LOOP_MORE, LOOP_MORE_EQUAL, LOOP_LESS, LOOP_LESS_EQUAL};
    static const uint8_t opposite[] = {LOOP_MORE_EQUAL, LOOP_MORE, LOOP_LESS_EQUAL, LOOP_LESS};
    if (op == OP_I_EQUAL || op == OP_I_NOT_EQUAL) {
        *comparison = LOOP_NOT_EQUAL;
        return (op == OP_I_EQUAL) == leaves;
    }
    if (op < OP_U_GREATER || op > OP_S_LESS_EQUAL)
        return false;
    *comparison = op >= OP_U_LESS_EQUAL      ? LOOP_LESS_EQUAL
                  : op >= OP_U_LESS          ? LOOP_LESS
                  : op >= OP_U_GREATER_EQUAL ? LOOP_MORE_EQUAL
                                             : LOOP_MORE;
    if (turned)
        *comparison = turned_to[*comparison];
    if (leaves)
        *comparison = opposite[*comparison];
    return true;
}

static bool find_limit(const struct search *search, uint32_t condition, bool leaves,
                       struct shader_work *work, struct shader_loop *to) {
    const struct shader_module *module = search->module;
    while (op_of(module, condition) == OP_LOGICAL_NOT &&
           word_of(module, condition, 3) != condition) {
        uint32_t inner = word_of(module, condition, 3);
        if (op_of(module, inner) == OP_LOGICAL_NOT)
            return false;
        condition = inner;
        leaves = !leaves;
    }
    uint32_t sides[] = {word_of(module, condition, 3), word_of(module, condition, 4)};
    struct induction induction;
    bool turned = !find_induction(search, sides[0], &induction);
    enum shader_step kind;
    uint32_t step;
    if ((turned && !find_induction(search, sides[1], &induction)) ||
        !comparison_of(op_of(module, condition), turned, leaves, &to->comparison) ||
        !find_step(module, &induction, &kind, &step))
        return false;
    to->step_kind = (uint8_t)kind;
    to->first = compile_expression(module, search->frame, induction.first, work);
    to->limit = compile_expression(module, search->frame, sides[!turned], work);
    to->step = compile_expression(module, search->frame, step, work);
    return to->first.count && to->limit.count && to->step.count;
}

/* The innermost of the parts that is a loop. */
static int inner_loop(const struct shader_module *module, const struct shader_function *function,
                      uint64_t parts) {
    for (uint32_t i = 0; i < function->part_count; i++)
        if (function->parts[i].condition)
            parts &= ~((uint64_t)1 << i);
    return innermost_part(module, function, parts);
}

void find_trips(const struct shader_module *module, const struct shader_frame *frame, unsigned loop,
                struct shader_work *work, struct shader_loop *to) {
    const struct shader_function *function = frame->function;
    const struct search search = {module, frame, &module->blocks[function->parts[loop].block],
                                  (uint64_t)1 << loop};
    for (uint32_t i = 0; i < function->count; i++) {
        const struct shader_block *block = &module->blocks[function->first + i];
        if (!(block->parts & search.bit) ||
            inner_loop(module, function, block->parts) != (int)loop ||
            instruction_op(module, block->end) != OP_BRANCH_CONDITIONAL)
            continue;
        bool leaves_if = leaves(&search, word_at(module, block->end, 2));
        bool leaves_else = leaves(&search, word_at(module, block->end, 3));
        if (leaves_if != leaves_else &&
            find_limit(&search, word_at(module, block->end, 1), leaves_if, work, to))
            return;
    }
    to->first.count = to->limit.count = to->step.count = 0;
}
