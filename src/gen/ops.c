/* The table of operations as data; ops.h has the rows. */
#include "gen/ops.h"

#include <stddef.h>

/* A single 0 stands for no expression. */
#define EXPRESSION(text) (sizeof(text) == sizeof("0") && (text)[0] == '0' ? NULL : (text))

#define ELEMENTWISE_ROW(NAME, name, arity, rule, flops, f32, i32)                                  \
    [OP_##NAME] = {#name, arity, RULE_##rule, flops, EXPRESSION(#f32), EXPRESSION(#i32)},
#define CONVERSION_ROW_F32(expression) EXPRESSION(#expression), NULL
#define CONVERSION_ROW_I32(expression) NULL, EXPRESSION(#expression)
/* A conversion's expression is found by the type of its operand. */
#define CONVERSION_ROW(NAME, name, from, to, expression)                                           \
    [OP_##NAME] = {#name, 1, RULE_ARITHMETIC, 0, CONVERSION_ROW_##from(expression)},
#define REDUCE_ROW(NAME, name, flops)                                                              \
    [OP_REDUCE_##NAME] = {#name, 1, RULE_ARITHMETIC, flops, NULL, NULL},
#define KERNEL_ROW(NAME, name) [OP_##NAME] = {#name, 0, RULE_FLOAT, 0, NULL, NULL},

static const struct op_info rows[OP_COUNT] = {
    ELEMENTWISE_OPS(ELEMENTWISE_ROW) CONVERSION_OPS(CONVERSION_ROW)
        REDUCE_OPS(REDUCE_ROW)[OP_LOAD] = {"load", 0, RULE_ARITHMETIC, 0, NULL, NULL},
    [OP_STORE] = {"store", 1, RULE_ARITHMETIC, 0, NULL, NULL},
    [OP_CONSTANT] = {"constant", 0, RULE_ARITHMETIC, 0, NULL, NULL},
    [OP_ACCUMULATOR] = {"accumulator", 0, RULE_FLOAT, 0, NULL, NULL}, KERNEL_OPS(KERNEL_ROW)};

const struct op_info *op_info(enum op op) {
    return &rows[op];
}
