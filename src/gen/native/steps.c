/* Splits a program into passes and lists of steps, and assigns a place to each value.
 *
 * A program is pure, so any element's value may be computed again in a later pass. All stores
 * are in the last pass: no operand is written before all have been read. Two frequent pairs of
 * operations are fused: a product and a sum, a square and its sum.
 */
#include "gen/native/steps.h"

#include <string.h>

/* Intermediate results, by instruction. */
struct analysis {
    struct program program; /* with pairs of operations joined */
    bool side_by_side;
    bool squares[PROGRAM_INSTRUCTIONS_MAX]; /* a sum of squares */
    bool needed[PROGRAM_INSTRUCTIONS_MAX];
    /* Of an element: the first pass that can compute it. Of the row: the pass before which it is
     * computed. */
    uint16_t pass[PROGRAM_INSTRUCTIONS_MAX];
    uint16_t executed[PROGRAM_INSTRUCTIONS_MAX]; /* first pass that does compute it, + 1 */
    uint16_t kept[PROGRAM_INSTRUCTIONS_MAX];
    uint16_t passes;
};

static unsigned arity(const struct program_instruction *instruction) {
    if (instruction->op == OP_STORE || op_is_reduction(instruction->op))
        return 1;
    return instruction->op < OP_EXPRESSIONS ? op_info(instruction->op)->arity : 0;
}

static unsigned operands_of(const struct program_instruction *instruction, uint16_t operands[3]) {
    operands[0] = instruction->a, operands[1] = instruction->b, operands[2] = instruction->c;
    return arity(instruction);
}

/* Whether an operand is the same for all elements of a row. */
static bool walks_rows_only(const struct program *program, unsigned operand) {
    for (unsigned axis = program->outer; axis < program->rank; axis++)
        if (program->operands[operand].strides[axis] != STRIDE_ZERO)
            return false;
    return true;
}

static enum value_class class_of(const struct program *program, unsigned number,
                                 const uint8_t *classes) {
    const struct program_instruction *instruction = &program->instructions[number];
    bool rows = program->rank > program->outer;
    uint16_t operands[3];
    if (instruction->op == OP_CONSTANT)
        return VALUE_UNIFORM;
    if (instruction->op == OP_LOAD)
        return rows && (instruction->of_row || walks_rows_only(program, instruction->slot))
                   ? VALUE_OF_ROW
                   : VALUE_OF_ELEMENT;
    if (instruction->op == OP_ACCUMULATOR)
        return VALUE_OF_ELEMENT;
    if (instruction->op == OP_STORE)
        return rows && instruction->of_row ? VALUE_OF_ROW : VALUE_OF_ELEMENT;
    if (op_is_reduction(instruction->op))
        return VALUE_OF_ROW;
    uint8_t greatest = VALUE_UNIFORM;
    for (unsigned i = 0, count = operands_of(instruction, operands); i < count; i++)
        if (classes[operands[i]] > greatest)
            greatest = classes[operands[i]];
    return greatest;
}

static unsigned uses_of(const struct program *program, unsigned number) {
    unsigned uses = 0;
    for (unsigned i = number + 1; i < program->instruction_count; i++) {
        uint16_t operands[3];
        for (unsigned j = 0, count = operands_of(&program->instructions[i], operands); j < count;
             j++)
            uses += operands[j] == number;
    }
    return uses;
}

/* x * y + z and the sum of x * x, where the product is not used otherwise. */
static void join_pairs(struct analysis *analysis) {
    struct program *program = &analysis->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        struct program_instruction *instruction = &program->instructions[i];
        if (instruction->type != VALUE_F32)
            continue;
        const struct program_instruction *a = &program->instructions[instruction->a];
        const struct program_instruction *b = &program->instructions[instruction->b];
        if (instruction->op == OP_REDUCE_SUM && a->op == OP_SQUARE &&
            uses_of(program, instruction->a) == 1) {
            instruction->a = a->a;
            analysis->squares[i] = true;
        } else if (instruction->op == OP_ADD && a->op == OP_MUL &&
                   uses_of(program, instruction->a) == 1) {
            instruction->op = OP_AFFINE;
            instruction->c = instruction->b;
            instruction->b = a->b;
            instruction->a = a->a;
        } else if (instruction->op == OP_ADD && b->op == OP_MUL &&
                   uses_of(program, instruction->b) == 1) {
            instruction->op = OP_AFFINE;
            instruction->c = instruction->a;
            instruction->a = b->a;
            instruction->b = b->b;
        }
    }
}

static void find_passes(struct analysis *analysis, const struct steps *steps) {
    const struct program *program = &analysis->program;
    analysis->passes = 1;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        uint16_t operands[3], pass = 0;
        for (unsigned j = 0, count = operands_of(instruction, operands); j < count; j++)
            if (analysis->pass[operands[j]] > pass)
                pass = analysis->pass[operands[j]];
        bool during = op_is_reduction(instruction->op) ||
                      (instruction->op == OP_STORE && steps->class_of[i] == VALUE_OF_ELEMENT);
        if (during && pass + 1 > analysis->passes)
            analysis->passes = pass + 1;
        analysis->pass[i] = pass + op_is_reduction(instruction->op);
    }
}

static void find_needed(struct analysis *analysis) {
    const struct program *program = &analysis->program;
    for (unsigned i = program->instruction_count; i-- > 0;) {
        const struct program_instruction *instruction = &program->instructions[i];
        if (instruction->op == OP_STORE)
            analysis->needed[i] = true;
        uint16_t operands[3];
        for (unsigned j = 0, count = operands_of(instruction, operands); j < count; j++)
            if (analysis->needed[i])
                analysis->needed[operands[j]] = true;
    }
}

static bool has_four_bytes(const struct program_operand *operand) {
    return operand->dtype == RIDGE_F32 || operand->dtype == RIDGE_I32;
}

/* Loading again is as fast as keeping, unless the elements are strided or converted. */
static bool worth_keeping(const struct analysis *analysis, unsigned number) {
    const struct program_instruction *instruction = &analysis->program.instructions[number];
    const struct program *program = &analysis->program;
    const struct program_operand *operand = &program->operands[instruction->slot];
    return instruction->op != OP_LOAD || analysis->side_by_side || !has_four_bytes(operand) ||
           operand->strides[program->rank - 1] == STRIDE_ANY;
}

/* An operand that all rows share, such as weights, is converted and laid out once. */
static bool lasts(const struct analysis *analysis, const struct steps *steps, unsigned number) {
    const struct program *program = &analysis->program;
    const struct program_instruction *instruction = &program->instructions[number];
    if (instruction->op != OP_LOAD || steps->class_of[number] != VALUE_OF_ELEMENT ||
        analysis->side_by_side || program->outer == program->rank)
        return false;
    for (unsigned axis = 0; axis < program->outer; axis++)
        if (program->operands[instruction->slot].strides[axis] != STRIDE_ZERO)
            return false;
    return true;
}

static void keep_value(struct analysis *analysis, struct steps *steps, unsigned number) {
    if (analysis->kept[number] != STEPS_NO_PLACE)
        return;
    steps->kept_values[steps->kept_count] = (uint16_t)number;
    analysis->kept[number] = steps->kept_count++;
}

/* Whether the instruction has an effect on elements in this pass. */
static bool acts_in(const struct analysis *analysis, const struct steps *steps, unsigned number,
                    unsigned pass) {
    const struct program_instruction *instruction = &analysis->program.instructions[number];
    if (op_is_reduction(instruction->op))
        return analysis->needed[number] && analysis->pass[number] == pass + 1;
    return instruction->op == OP_STORE && steps->class_of[number] == VALUE_OF_ELEMENT &&
           pass + 1u == analysis->passes;
}

/* Marks what the pass has to compute. With kept values, stops at those of earlier passes. */
static void mark_pass(struct analysis *analysis, struct steps *steps, unsigned pass, bool keep,
                      bool *runs) {
    const struct program *program = &analysis->program;
    bool wanted[PROGRAM_INSTRUCTIONS_MAX] = {false};
    memset(runs, 0, PROGRAM_INSTRUCTIONS_MAX * sizeof *runs);
    for (unsigned i = program->instruction_count; i-- > 0;) {
        if (acts_in(analysis, steps, i, pass))
            runs[i] = true;
        else if (!wanted[i] || steps->class_of[i] != VALUE_OF_ELEMENT)
            continue;
        else if (keep && analysis->executed[i] && analysis->executed[i] <= pass &&
                 worth_keeping(analysis, i)) {
            keep_value(analysis, steps, i);
            continue;
        } else {
            runs[i] = true;
            if (keep && !analysis->executed[i])
                analysis->executed[i] = (uint16_t)(pass + 1);
            if (keep && lasts(analysis, steps, i))
                keep_value(analysis, steps, i);
        }
        uint16_t operands[3];
        for (unsigned j = 0, count = operands_of(&program->instructions[i], operands); j < count;
             j++)
            wanted[operands[j]] = true;
    }
}

static struct step make_step(const struct analysis *analysis, const struct steps *steps,
                             unsigned number) {
    const struct program *program = &analysis->program;
    const struct program_instruction *instruction = &program->instructions[number];
    struct step step = {.op = instruction->op,
                        .slot = instruction->slot,
                        .result = (uint16_t)number,
                        .tile = STEPS_NO_PLACE,
                        .kept = STEPS_NO_PLACE};
    step.arity = (uint8_t)operands_of(instruction, step.operands);
    for (unsigned i = step.arity; i < 3; i++)
        step.operands[i] = step.operands[0];
    for (unsigned i = 0; i < step.arity; i++)
        step.per_line |= steps->class_of[step.operands[i]] == VALUE_OF_ROW;
    /* The first operand of "where" is always an integer. */
    unsigned type_operand = instruction->op == OP_WHERE ? 1 : 0;
    step.type =
        step.arity ? program->instructions[step.operands[type_operand]].type : instruction->type;
    step.squares = analysis->squares[number];
    if (op_is_reduction(instruction->op))
        for (unsigned i = 0; i < number; i++)
            step.slot += op_is_reduction(program->instructions[i].op) && analysis->needed[i];
    return step;
}

static struct step *append(struct steps *steps, struct step_list *list, struct step step) {
    if (list->count == 0)
        list->first = steps->step_count;
    list->count++;
    steps->steps[steps->step_count] = step;
    return &steps->steps[steps->step_count++];
}

/* Assigns tiles to the results of the list by their lifetimes, as few as possible. */
static void place_in_tiles(struct steps *steps, struct step_list list) {
    uint32_t last_use[PROGRAM_INSTRUCTIONS_MAX];
    uint16_t tile_of[PROGRAM_INSTRUCTIONS_MAX];
    bool busy[PROGRAM_INSTRUCTIONS_MAX] = {false};
    struct step *all = steps->steps + list.first;
    for (uint32_t i = 0; i < list.count; i++) {
        last_use[all[i].result] = i;
        tile_of[all[i].result] = STEPS_NO_PLACE;
        for (unsigned j = 0; j < all[i].arity; j++)
            last_use[all[i].operands[j]] = i, tile_of[all[i].operands[j]] = STEPS_NO_PLACE;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        struct step *step = &all[i];
        /* A result may reuse the tile of an operand that is dead after it. */
        for (unsigned j = 0; j < step->arity; j++)
            if (last_use[step->operands[j]] == i && tile_of[step->operands[j]] != STEPS_NO_PLACE)
                busy[tile_of[step->operands[j]]] = false;
        if (step->op == OP_STORE || op_is_reduction(step->op) || step->kept != STEPS_NO_PLACE)
            continue;
        uint16_t tile = 0;
        while (busy[tile])
            tile++;
        busy[tile] = last_use[step->result] > i;
        step->tile = tile_of[step->result] = tile;
        if (tile + 1 > steps->tiles)
            steps->tiles = tile + 1;
    }
}

/* A result may be written to its operand as it is computed when no later step reads an operand:
 * the memory may be the same. */
static void mark_direct(const struct analysis *analysis, const struct steps *steps,
                        struct step_list list) {
    const struct program *program = &analysis->program;
    struct step *all = (struct step *)steps->steps + list.first;
    for (uint32_t i = list.count; i-- > 0;) {
        struct step *step = &all[i];
        if (step->op < OP_EXPRESSIONS && step->kept == STEPS_NO_PLACE)
            for (uint32_t j = i + 1; j < list.count && !step->direct; j++) {
                const struct program_operand *operand = &program->operands[all[j].slot];
                if (all[j].op == OP_STORE && all[j].operands[0] == step->result &&
                    has_four_bytes(operand))
                    step->direct = (uint8_t)(all[j].slot + 1);
            }
        bool reads = step->op == OP_LOAD || step->op == OP_ACCUMULATOR;
        for (unsigned j = 0; j < step->arity; j++)
            reads |= program->instructions[step->operands[j]].op == OP_LOAD;
        if (reads)
            return;
    }
}

static void list_pass(struct analysis *analysis, struct steps *steps, unsigned pass, bool keep,
                      const bool *runs) {
    struct step_list *list = &steps->elements[keep][pass];
    for (unsigned i = 0; i < analysis->program.instruction_count; i++) {
        if (!runs[i])
            continue;
        struct step step = make_step(analysis, steps, i);
        if (keep && analysis->executed[i] == pass + 1u)
            step.kept = analysis->kept[i];
        step.lasting = step.kept != STEPS_NO_PLACE && lasts(analysis, steps, i);
        append(steps, list, step);
    }
    place_in_tiles(steps, *list);
    mark_direct(analysis, steps, *list);
}

static void list_passes(struct analysis *analysis, struct steps *steps) {
    bool runs[PROGRAM_INSTRUCTIONS_MAX];
    for (unsigned pass = 0; pass < analysis->passes; pass++) {
        mark_pass(analysis, steps, pass, false, runs);
        list_pass(analysis, steps, pass, false, runs);
    }
    if (analysis->program.outer == analysis->program.rank)
        return;
    /* The kept values are only known after the last pass. */
    for (unsigned pass = 0; pass < analysis->passes; pass++)
        mark_pass(analysis, steps, pass, true, runs);
    for (unsigned pass = 0; pass < analysis->passes; pass++) {
        mark_pass(analysis, steps, pass, true, runs);
        list_pass(analysis, steps, pass, true, runs);
    }
}

static void list_rows(struct analysis *analysis, struct steps *steps) {
    const struct program *program = &analysis->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        if (!analysis->needed[i] || program->instructions[i].op == OP_STORE ||
            steps->class_of[i] == VALUE_OF_ELEMENT)
            continue;
        steps->place[i] = steps->row_count++;
        steps->reductions += op_is_reduction(program->instructions[i].op);
    }
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (analysis->needed[i] && steps->class_of[i] == VALUE_UNIFORM)
            append(steps, &steps->uniform, make_step(analysis, steps, i));
    for (unsigned pass = 0; pass <= analysis->passes; pass++)
        for (unsigned i = 0; i < program->instruction_count; i++)
            if (analysis->needed[i] && steps->class_of[i] == VALUE_OF_ROW &&
                program->instructions[i].op != OP_STORE && analysis->pass[i] == pass)
                append(steps, &steps->rows[pass], make_step(analysis, steps, i));
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (program->instructions[i].op == OP_STORE && steps->class_of[i] == VALUE_OF_ROW)
            append(steps, &steps->row_stores, make_step(analysis, steps, i));
}

/* Tiles that are live together are to stay in the first level of cache. */
static uint32_t tile_values(unsigned tiles) {
    const uint32_t room = 24 * 1024 / sizeof(float), min = 256, max = 2048;
    uint32_t values = room / (tiles ? tiles : 1) & ~63u;
    return values < min ? min : values > max ? max : values;
}

void steps_build(const struct program *given, bool side_by_side, struct steps *steps) {
    struct analysis analysis = {.program = *given, .side_by_side = side_by_side};
    const struct program *program = &analysis.program;
    join_pairs(&analysis);
    memset(steps, 0, sizeof *steps);
    steps->operand_count = program->operand_count;
    steps->constant_count = program->constant_count;
    steps->rank = program->rank;
    steps->outer = program->outer;
    steps->instruction_count = program->instruction_count;
    for (unsigned i = 0; i < program->operand_count; i++)
        steps->dtypes[i] = program->operands[i].dtype;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        steps->class_of[i] = class_of(program, i, steps->class_of);
        steps->constants[i] = program->instructions[i].slot;
        analysis.kept[i] = STEPS_NO_PLACE;
    }
    find_passes(&analysis, steps);
    find_needed(&analysis);
    steps->passes = analysis.passes;
    list_rows(&analysis, steps);
    list_passes(&analysis, steps);
    steps->tile_values = tile_values(steps->tiles);
}

size_t steps_bytes(const struct program *program) {
    size_t reductions = 0;
    for (unsigned i = 0; i < program->instruction_count; i++)
        reductions += op_is_reduction(program->instructions[i].op);
    return sizeof(struct steps) +
           sizeof(struct step) * program->instruction_count * (2 * (reductions + 1) + 1);
}

size_t steps_used_bytes(const struct steps *steps) {
    return sizeof *steps + sizeof(struct step) * steps->step_count;
}
