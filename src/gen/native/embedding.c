/* Rows of a table at indices, on the CPU. Rows of plain types are copied, quantized ones become
 * f32; an index out of range gives zeros. */
#include "gen/backends.h"
#include "gen/dtype.h"
#include "gen/native/plan.h"
#include "gen/native/quantize.h"

/* Buffers: table, indices, result. */
struct embedding_plan {
    int64_t type; /* enum ridge_dtype of the table */
    int64_t rows, count, unit_rows;
    int64_t table_stride, result_stride; /* bytes from row to row */
    int64_t blocks;                      /* of a row, when it is quantized */
};

enum { UNIT_BYTES = 64 * 1024 }; /* of the result */

static dequantize_function *const dequantizers[] = SIMD_ROWS(dequantize_blocks);

static void look_up(const struct native_call *call) {
    const struct embedding_plan *plan = (const void *)call->scalars;
    const char *table = call->buffers[0];
    const int32_t *indices = call->buffers[1];
    enum ridge_dtype type = (enum ridge_dtype)plan->type;
    dequantize_function *dequantize =
        dtype_is_quantized(type) ? dequantizers[simd_best()->index] : NULL;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * plan->unit_rows;
        int64_t last =
            first + plan->unit_rows < plan->count ? first + plan->unit_rows : plan->count;
        for (int64_t i = first; i < last; i++) {
            char *to = (char *)call->buffers[2] + i * plan->result_stride;
            if (indices[i] < 0 || indices[i] >= plan->rows)
                memset(to, 0, (size_t)plan->result_stride);
            else if (dequantize)
                dequantize((float *)to, type, table + indices[i] * plan->table_stride,
                           plan->blocks);
            else
                memcpy(to, table + indices[i] * plan->table_stride, (size_t)plan->result_stride);
        }
    }
}

bool native_embedding(const struct embedding_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    bool quantized = dtype_is_quantized(work->type);
    struct embedding_plan plan = {
        .type = work->type,
        .rows = work->rows,
        .count = work->count,
        .table_stride = (int64_t)ridge_dtype_bytes(work->type, work->table_row),
        .result_stride =
            (int64_t)ridge_dtype_bytes(quantized ? RIDGE_F32 : work->type, work->width),
        .blocks = work->width / dtype_block(work->type),
    };
    plan.unit_rows = plan.result_stride < UNIT_BYTES ? UNIT_BYTES / (plan.result_stride + 1) : 1;
    plan_request(request, KERNEL_EMBEDDING, work->type, plan_units(plan.count, plan.unit_rows),
                 &plan, sizeof plan);
    return true;
}

bool native_embedding_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = look_up;
    return true;
}
