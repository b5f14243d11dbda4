/* Elementwise expressions as text: "a * sigmoid(b) + 0.5". Parsing gives steps in postfix order, of
 * which each is an operation of gen/ops.h. */
#ifndef RIDGE_TENSOR_EXPRESSION_H
#define RIDGE_TENSOR_EXPRESSION_H

#include "base/text.h"
#include "gen/ops.h"

enum { EXPRESSION_STEPS_MAX = 128, EXPRESSION_OPERANDS_MAX = 8, EXPRESSION_LENGTH_MAX = 1024 };

enum step_kind {
    STEP_OPERAND, /* pushes operand `index` */
    STEP_NUMBER,  /* pushes `number` */
    STEP_APPLY,   /* pops op_info(op)->arity values and pushes the result */
    STEP_CAST,    /* converts the top to `dtype` */
};

struct expression_step {
    enum step_kind kind;
    unsigned index;
    double number;
    enum op op;
    enum ridge_dtype dtype;
};

struct expression {
    unsigned count;
    struct expression_step steps[EXPRESSION_STEPS_MAX];
};

/* `operands` is how many letters from a on may occur. */
bool expression_parse(struct text text, unsigned operands, struct expression *expression,
                      struct status *status);

#endif
