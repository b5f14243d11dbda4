/* ridge_expression(): the steps of a parsed expression become nodes of the graph, so it fuses,
 * differentiates and runs on every device as the operations that it is made of.
 *
 * Parsed expressions are kept for the life of the process: plans and tapes refer to them. */
#include <pthread.h>
#include <string.h>

#include "base/checksum.h"
#include "base/map.h"
#include "tensor/expression.h"
#include "tensor/operation.h"

struct kept {
    struct kept *next; /* with the same hash */
    unsigned operands;
    struct expression expression;
    size_t length;
    char text[];
};

/* ---- Keeping ---------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map kept_by_hash;

static struct kept *keep_parsed(struct text text, unsigned operands, uint64_t hash,
                                struct kept *next, struct status *status) {
    struct kept *kept = memory_allocate(1, sizeof *kept + text.length, status);
    if (!kept)
        return NULL;
    kept->operands = operands;
    kept->length = text.length;
    kept->next = next;
    memcpy(kept->text, text.data, text.length);
    if (expression_parse(text, operands, &kept->expression, status) &&
        map_set(&kept_by_hash, hash, (uint64_t)(uintptr_t)kept, status))
        return kept;
    memory_free(kept);
    return NULL;
}

static struct kept *parsed(struct text text, unsigned operands, struct status *status) {
    uint64_t hash = checksum64(text.data, text.length) + operands;
    pthread_mutex_lock(&lock);
    const uint64_t *found = map_find(&kept_by_hash, hash);
    struct kept *first = found ? (struct kept *)(uintptr_t)*found : NULL, *kept = first;
    while (kept && (kept->operands != operands || kept->length != text.length ||
                    memcmp(kept->text, text.data, text.length) != 0))
        kept = kept->next;
    if (!kept)
        kept = keep_parsed(text, operands, hash, first, status);
    pthread_mutex_unlock(&lock);
    return kept;
}

/* ---- Building --------------------------------------------------------------------------- */

/* A tensor, or a number that takes the type of what it meets. */
struct value {
    struct tensor *tensor; /* NULL: number */
    double number;
};

static bool fold(enum op op, const struct value *values, double *result) {
    double x = values[0].number, y = op_info(op)->arity > 1 ? values[1].number : 0;
    switch (op) {
    case OP_ADD:
        *result = x + y;
        return true;
    case OP_SUB:
        *result = x - y;
        return true;
    case OP_MUL:
        *result = x * y;
        return true;
    case OP_DIV:
        *result = x / y;
        return true;
    case OP_NEG:
        *result = -x;
        return true;
    default:
        return false;
    }
}

/* The tensor whose type the numbers take: not the condition of where. */
static const struct tensor *typed(enum op op, const struct value *values) {
    const struct op_info *info = op_info(op);
    for (unsigned i = info->rule == RULE_WHERE ? 1 : 0; i < info->arity; i++)
        if (values[i].tensor)
            return values[i].tensor;
    return NULL;
}

static bool apply(struct builder *build, enum op op, struct value *values) {
    const struct op_info *info = op_info(op);
    const struct tensor *like = typed(op, values);
    struct tensor *operands[3] = {NULL};
    double number;
    if (!like && fold(op, values, &number)) {
        values[0] = (struct value){NULL, number};
        return true;
    }
    if (!like)
        return status_fail(build->status, STATUS_USAGE,
                           "%s of numbers alone: write the value, or use an operand", info->name);
    for (unsigned i = 0; i < info->arity; i++) {
        operands[i] = values[i].tensor ? values[i].tensor
                                       : build_number(build, like->dtype, values[i].number);
        if (!operands[i])
            return false;
    }
    values[0] =
        (struct value){build_expression(build, op, operands[0], operands[1], operands[2]), 0};
    return values[0].tensor != NULL;
}

static bool build_steps(struct builder *build, const struct operation *operation,
                        struct tensor *const *inputs, struct tensor **outputs) {
    const struct kept *kept = (const struct kept *)(uintptr_t)operation->integers[0];
    const struct expression *expression = &kept->expression;
    struct value stack[EXPRESSION_STEPS_MAX];
    unsigned depth = 0;
    for (unsigned i = 0; i < expression->count; i++) {
        const struct expression_step *step = &expression->steps[i];
        switch (step->kind) {
        case STEP_OPERAND:
            stack[depth++] = (struct value){inputs[step->index], 0};
            break;
        case STEP_NUMBER:
            stack[depth++] = (struct value){NULL, step->number};
            break;
        case STEP_APPLY:
            depth -= op_info(step->op)->arity;
            if (!apply(build, step->op, &stack[depth++]))
                return false;
            break;
        case STEP_CAST:
            if (stack[depth - 1].tensor && !(stack[depth - 1].tensor = build_cast(
                                                 build, stack[depth - 1].tensor, step->dtype)))
                return false;
            break;
        }
    }
    outputs[0] = stack[0].tensor;
    return outputs[0] || status_fail(build->status, STATUS_USAGE, "the expression has no operand");
}

ridge_tensor *ridge_expression(const char *text, ridge_tensor *const *operands, unsigned count) {
    struct status *status = tensor_status();
    if (!text || (count > 0 && !operands)) {
        tensor_null("ridge_expression", text ? "array of operands" : "expression");
        return NULL;
    }
    if (count == 0 || count > EXPRESSION_OPERANDS_MAX) {
        status_fail(status, STATUS_USAGE, "ridge_expression: it takes 1 to %d operands, not %u",
                    EXPRESSION_OPERANDS_MAX, count);
        return NULL;
    }
    const struct kept *kept = parsed(text_of(text), count, status);
    if (!kept) {
        status_context(status, "ridge_expression");
        return NULL;
    }
    struct operation operation = {.name = "ridge_expression",
                                  .build = build_steps,
                                  .input_count = count,
                                  .output_count = 1,
                                  .integers = {(int64_t)(uintptr_t)kept}};
    memcpy(operation.inputs, operands, count * sizeof *operands);
    return operation_result(&operation);
}
