/* Compiling groups of operations. */
#include "grouped.h"

struct group {
    const struct row **rows;
    unsigned count;
    enum ridge_dtype dtype;
};

/* Only connected operations become one kernel: hence the sum of all results as the last output,
 * which is not checked. */
static bool apply(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    const struct group *group = context;
    ridge_tensor *sum = in[0];
    for (unsigned i = 0; i < group->count; i++) {
        const struct row *row = group->rows[i];
        out[i] = row->call(row->rule == RULE_WHERE ? in[3] : in[0], in[1], in[2]);
        sum = ridge_add(sum, ridge_cast(out[i], group->dtype));
    }
    return (out[group->count] = sum) != NULL;
}

unsigned group_run(enum ridge_dtype dtype, ridge_tensor *const operands[4], unsigned *first,
                   const struct row *group[GROUP_ROWS], ridge_tensor *results[GROUP_ROWS]) {
    struct group chosen = {.rows = group, .dtype = dtype};
    ridge_tensor *outputs[GROUP_ROWS + 1] = {NULL};
    for (; *first < row_count && chosen.count < GROUP_ROWS; ++*first)
        if (row_takes(&rows[*first], dtype)) {
            group[chosen.count++] = &rows[*first];
        }
    if (chosen.count == 0)
        return 0;
    ridge_program *program = ridge_compile(apply, &chosen, operands, 4, chosen.count + 1);
    if (program)
        ridge_program_run(program, operands, outputs);
    for (unsigned i = 0; i < chosen.count; i++)
        results[i] = outputs[i];
    ridge_program_release(program);
    return chosen.count;
}
