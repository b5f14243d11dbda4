/* Levels and passes of a program; see the header. Instructions only refer to earlier ones, so one
 * walk forwards finds levels and one backwards finds uses. */
#include "gen/emit/passes.h"

#include <string.h>

unsigned instruction_operands(const struct program_instruction *instruction, uint16_t operands[3]) {
    operands[0] = instruction->a;
    operands[1] = instruction->b;
    operands[2] = instruction->c;
    if (instruction->op == OP_STORE || op_is_reduction(instruction->op))
        return 1;
    return instruction->op < OP_EXPRESSIONS ? op_info(instruction->op)->arity : 0;
}

bool passes_row_operand(const struct program *program, const struct passes *passes, unsigned slot) {
    for (unsigned axis = passes->axis; axis < program->rank; axis++)
        if (program->operands[slot].strides[axis] != STRIDE_ZERO)
            return false;
    return true;
}

bool passes_row_store(const struct program *program, const struct passes *passes, unsigned i) {
    const struct program_instruction *store = &program->instructions[i];
    return program->rank > program->outer && passes->uniform[store->a] &&
           passes_row_operand(program, passes, store->slot);
}

/* Uniformity and levels. */
static void classify(const struct program *program, struct passes *passes) {
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        uint16_t operands[3];
        unsigned count = instruction_operands(instruction, operands);
        bool uniform = instruction->op != OP_ACCUMULATOR;
        unsigned level = 0;
        for (unsigned k = 0; k < count; k++) {
            uniform = uniform && passes->uniform[operands[k]];
            if (passes->level[operands[k]] > level)
                level = passes->level[operands[k]];
        }
        if (instruction->op == OP_LOAD)
            uniform = passes_row_operand(program, passes, instruction->slot);
        if (op_is_reduction(instruction->op)) {
            uniform = true;
            level++;
        }
        passes->uniform[i] = uniform;
        passes->level[i] = (uint8_t)level;
    }
}

static void find_needed(const struct program *program, struct passes *passes) {
    for (unsigned i = program->instruction_count; i-- > 0;) {
        const struct program_instruction *instruction = &program->instructions[i];
        passes->needed[i] |= instruction->op == OP_STORE;
        if (!passes->needed[i])
            continue;
        uint16_t operands[3];
        unsigned count = instruction_operands(instruction, operands);
        for (unsigned k = 0; k < count; k++)
            passes->needed[operands[k]] = true;
        if (passes->level[i] + 1u > passes->levels)
            passes->levels = passes->level[i] + 1;
    }
}

/* Whether an instruction is worked on in a pass: it is an element's value, or uses elements. */
static bool in_pass(const struct program *program, const struct passes *passes, unsigned i) {
    enum op op = program->instructions[i].op;
    if (!passes->needed[i])
        return false;
    if (op_is_reduction(op))
        return true;
    if (op == OP_STORE)
        return !passes_row_store(program, passes, i);
    return !passes->uniform[i];
}

/* The pass of an instruction is its level; a reduction's is that of its operand. */
static void place(const struct program *program, bool keep, struct passes *passes) {
    passes->passes = 0;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        enum op op = program->instructions[i].op;
        passes->pass[i] = passes->level[i];
        if (!in_pass(program, passes, i))
            continue;
        if (op_is_reduction(op)) {
            passes->pass[i]--;
            passes->reductions++;
            passes->choices |= op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
        }
        if (passes->pass[i] + 1u > passes->passes)
            passes->passes = passes->pass[i] + 1;
    }
    for (unsigned i = 0; !keep && i < program->instruction_count; i++)
        if (program->instructions[i].op == OP_STORE && in_pass(program, passes, i))
            passes->pass[i] = (uint8_t)(passes->passes - 1);
}

/* An operand that all rows share (a norm's weight) is in a cache: it is loaded where it is used
 * instead of taking registers from the first pass on. */
static bool shared_by_rows(const struct program *program, const struct program_instruction *load) {
    for (unsigned axis = 0; axis < program->outer; axis++)
        if (program->operands[load->slot].strides[axis] != STRIDE_ZERO)
            return false;
    return program->rank > program->outer;
}

static void sink_loads(const struct program *program, struct passes *passes) {
    unsigned char first_use[PROGRAM_INSTRUCTIONS_MAX];
    memset(first_use, 0xff, sizeof first_use);
    for (unsigned i = 0; i < program->instruction_count; i++) {
        uint16_t operands[3];
        unsigned count = instruction_operands(&program->instructions[i], operands);
        for (unsigned k = 0; k < count && in_pass(program, passes, i); k++)
            if (passes->pass[i] < first_use[operands[k]])
                first_use[operands[k]] = passes->pass[i];
    }
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        if (instruction->op == OP_LOAD && first_use[i] != 0xff &&
            shared_by_rows(program, instruction))
            passes->pass[i] = first_use[i];
    }
}

static void find_held(const struct program *program, struct passes *passes) {
    for (unsigned i = 0; i < program->instruction_count; i++) {
        uint16_t operands[3];
        unsigned count = instruction_operands(&program->instructions[i], operands);
        for (unsigned k = 0; k < count && in_pass(program, passes, i); k++)
            passes->held[operands[k]] |=
                !passes->uniform[operands[k]] && passes->pass[operands[k]] < passes->pass[i];
    }
}

void passes_plan(const struct program *program, bool keep, struct passes *passes) {
    memset(passes, 0, sizeof *passes);
    passes->axis = program->rank > program->outer ? program->outer : 0;
    classify(program, passes);
    find_needed(program, passes);
    place(program, keep, passes);
    if (keep) {
        sink_loads(program, passes);
        find_held(program, passes);
    }
}

void passes_wanted(const struct program *program, const struct passes *passes, bool keep,
                   unsigned pass, bool wanted[PROGRAM_INSTRUCTIONS_MAX]) {
    memset(wanted, 0, PROGRAM_INSTRUCTIONS_MAX * sizeof *wanted);
    for (unsigned i = program->instruction_count; i-- > 0;) {
        enum op op = program->instructions[i].op;
        if (!in_pass(program, passes, i))
            continue;
        bool used = op == OP_STORE || op_is_reduction(op);
        if ((keep || used) && passes->pass[i] == pass)
            wanted[i] = true;
        if (keep || !wanted[i])
            continue;
        uint16_t operands[3];
        unsigned count = instruction_operands(&program->instructions[i], operands);
        for (unsigned k = 0; k < count; k++)
            wanted[operands[k]] |= !passes->uniform[operands[k]];
    }
}
