/* The RWKV-7 recurrence on the CPU.
 *
 * The rows of a head's state are the lanes of vectors: the state is transposed when loaded and
 * stored, and in between S a and S r need no operation across lanes. Each token reads the state
 * twice, once for S a and once to update it and sum up S r; it stays in the first cache.
 */
#include "gen/native/wkv7.h"

#include "gen/native/simd/widen.h"

enum {
    ROWS = WKV7_ROWS,
    VECTORS = 4, /* of rows at a time */
};

/* A token's vectors of one head, in f32; v is that of the unit's rows, padded with zeros. */
struct token {
    float *r, *w, *k, *a, *b, *v;
};

/* state is [width][ROWS]; y has room for whole vectors. */
SIMD_INLINE void advance(float *state, const struct token *token, int64_t width, float *y, int row,
                         const int vectors) {
    floats applied[VECTORS], sums[VECTORS], v[VECTORS];
    for (int i = 0; i < vectors; i++) {
        applied[i] = sums[i] = floats_of(0);
        v[i] = floats_load(token->v + row + i * LANES);
    }
    float *column = state + row;
    for (int64_t j = 0; j < width; j++)
        for (int i = 0; i < vectors; i++)
            applied[i] += floats_load(column + j * ROWS + i * LANES) * token->a[j];
    for (int64_t j = 0; j < width; j++) {
        floats w = floats_of(token->w[j]), k = floats_of(token->k[j]);
        floats b = floats_of(token->b[j]), r = floats_of(token->r[j]);
        for (int i = 0; i < vectors; i++) {
            float *at = column + j * ROWS + i * LANES;
            floats s = floats_load(at) * w + applied[i] * b + v[i] * k;
            floats_store(at, s);
            sums[i] += s * r;
        }
    }
    for (int i = 0; i < vectors; i++)
        floats_store(y + row + i * LANES, sums[i]);
}

static void advance_rows(float *state, const struct token *token, int64_t width, float *y,
                         int rows) {
    int row = 0;
    for (; row + (VECTORS - 1) * LANES < rows; row += VECTORS * LANES)
        advance(state, token, width, y, row, VECTORS);
    for (; row < rows; row += LANES)
        advance(state, token, width, y, row, 1);
}

/* One head's rows from `first_row` on, through all tokens. */
static void run_rows(const struct native_call *call, const struct wkv7_plan *plan, int64_t batch,
                     int64_t head, int64_t first_row, int rows) {
    enum ridge_dtype type = (enum ridge_dtype)plan->type;
    int64_t width = plan->width, bytes_each = (int64_t)ridge_dtype_bytes(type, 1);
    float *state = call->scratch, *after = state + width * ROWS;
    struct token token = {.r = after,
                          .w = after + width,
                          .k = after + 2 * width,
                          .a = after + 3 * width,
                          .b = after + 4 * width,
                          .v = after + 5 * width};
    float *y = token.v + ROWS;
    memset(token.v, 0, ROWS * sizeof(float));
    int64_t matrix = ((batch * plan->heads + head) * width + first_row) * width;
    const float *before = (const float *)call->buffers[6] + matrix;
    for (int64_t j = 0; j < width; j++)
        for (int i = 0; i < ROWS; i++)
            state[j * ROWS + i] = i < rows ? before[i * width + j] : 0;
    for (int64_t t = 0; t < plan->tokens; t++) {
        int64_t at = ((batch * plan->tokens + t) * plan->heads + head) * width;
        float *const whole[] = {token.r, token.w, token.k, NULL, token.a, token.b};
        for (int i = 0; i < 6; i++) {
            const char *from = (const char *)call->buffers[i] + at * bytes_each;
            if (whole[i])
                widen(whole[i], type, from, width);
            else
                widen(token.v, type, from + first_row * bytes_each, rows);
        }
        advance_rows(state, &token, width, y, rows);
        narrow((char *)call->buffers[7] + (at + first_row) * bytes_each, type, y, rows);
    }
    float *result = (float *)call->buffers[8] + matrix;
    for (int i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++)
            result[i * width + j] = state[j * ROWS + i];
}

void SIMD_NAME(wkv7)(const struct native_call *call) {
    const struct wkv7_plan *plan = (const void *)call->scalars;
    int64_t units = plan->batch * plan->heads * plan->units_per_head;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t unit = (int64_t)begin;
        if (unit >= units)
            continue;
        int64_t batch_head = unit / plan->units_per_head;
        int64_t row = unit % plan->units_per_head * plan->unit_rows;
        int64_t rows = plan->width - row < plan->unit_rows ? plan->width - row : plan->unit_rows;
        run_rows(call, plan, batch_head / plan->heads, batch_head % plan->heads, row, (int)rows);
    }
}
