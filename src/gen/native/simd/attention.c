/* Attention on the CPU: online softmax over blocks of keys.
 *
 * The rows' q are transposed once, so that the rows of a block are the lanes of vectors. Scores
 * are k (element by element) times q (in vectors) and stay transposed: the maximum score of a
 * row and the sum of its exponentials need no operation across lanes. The sums of the values
 * are probability (one by one) times v (in vectors). Both are the same small matrix product.
 * Too few rows to fill vectors, as in decoding, are not transposed: their scores are sums
 * across lanes. K and V are read in place if they are f32, otherwise block by block through
 * scratch.
 */
#include "gen/native/attention.h"

#include "base/min_max.h"

#include "gen/native/simd/widen.h"
#include "gen/native/vector_math.h"

enum {
    ROWS = ATTENTION_ROWS,
    KEYS = ATTENTION_KEYS,
#if defined(SIMD_AVX512) || defined(SIMD_NEON)
    PIECE_VECTORS = 4, /* of 32 registers */
#else
    PIECE_VECTORS = 2, /* of 16 */
#endif
};

/* c[i][j] = c[i][j] * keep[i] + sum over p of a[i][p] * b[p][j], for a constant number of rows and
 * vectors of columns. Without `keep` c is not read. */
struct product {
    const float *a;
    int64_t a_row, a_step;
    const float *b;
    int64_t b_step, depth;
    float *c;
    int64_t c_row;
    const float *keep;
};

SIMD_INLINE void multiply_piece(const struct product *product, int64_t row, int64_t column,
                                const int rows, const int vectors) {
    floats sums[8][PIECE_VECTORS];
    float *c = product->c + row * product->c_row + column;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sums[i][v] = product->keep ? floats_load(c + i * product->c_row + v * LANES) *
                                             product->keep[row + i]
                                       : floats_of(0);
    const float *a = product->a + row * product->a_row, *b = product->b + column;
    for (int64_t p = 0; p < product->depth; p++, a += product->a_step, b += product->b_step) {
        floats of_b[PIECE_VECTORS];
        for (int v = 0; v < vectors; v++)
            of_b[v] = floats_load(b + v * LANES);
        for (int i = 0; i < rows; i++) {
            floats of_a = floats_of(a[i * product->a_row]);
            for (int v = 0; v < vectors; v++)
                sums[i][v] += of_a * of_b[v];
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            floats_store(c + i * product->c_row + v * LANES, sums[i][v]);
}

static void multiply_wide(const struct product *product, int64_t rows, int64_t column) {
    int64_t row = 0;
    for (; row + 6 <= rows; row += 6)
        multiply_piece(product, row, column, 6, PIECE_VECTORS);
    for (; row + 4 <= rows; row += 4)
        multiply_piece(product, row, column, 4, PIECE_VECTORS);
    for (; row < rows; row++)
        multiply_piece(product, row, column, 1, PIECE_VECTORS);
}

static void multiply_narrow(const struct product *product, int64_t rows, int64_t column) {
    int64_t row = 0;
    for (; row + 8 <= rows; row += 8)
        multiply_piece(product, row, column, 8, 1);
    for (; row < rows; row++)
        multiply_piece(product, row, column, 1, 1);
}

/* `columns` are rounded up to whole vectors. */
static void multiply(const struct product *product, int64_t rows, int64_t columns) {
    int64_t column = 0;
    for (; column + (PIECE_VECTORS - 1) * LANES < columns; column += PIECE_VECTORS * LANES)
        multiply_wide(product, rows, column);
    for (; column < columns; column += LANES)
        multiply_narrow(product, rows, column);
}

/* scores[j][r] of `count` keys and `rows` rows of q, all in whole vectors. */
static void dot_products(const float *keys, int64_t key_stride, int64_t count, const float *q,
                         int64_t rows, int64_t width, float *scores) {
    for (int64_t j = 0; j < count; j++)
        for (int64_t r = 0; r < rows; r++) {
            const float *k = keys + j * key_stride, *row = q + r * attention_padded(width);
            floats sums[2] = {floats_of(0), floats_of(0)};
            int64_t d = 0;
            for (; d + LANES < width; d += 2 * LANES) {
                sums[0] += floats_load(k + d) * floats_load(row + d);
                sums[1] += floats_load(k + d + LANES) * floats_load(row + d + LANES);
            }
            if (d < width)
                sums[0] += floats_load(k + d) * floats_load(row + d);
            scores[j * ROWS + r] = floats_sum(sums[0] + sums[1]);
        }
}

/* A block of rows against some of the keys. */
struct block {
    const struct attention_plan *plan;
    int64_t batch, kv_head;
    int64_t first_row, rows;            /* of batch's kv_head */
    int64_t first_key, end_key, length; /* keys, and how many are in use */
    bool few;                           /* rows: they are not turned */

    float *q;                       /* [width][ROWS], of few rows [rows][padded width]; scaled */
    float *keys, *values;           /* widened: [KEYS][padded width] */
    float *scores;                  /* [KEYS][ROWS], then probabilities */
    float *keep;                    /* [ROWS]: factors of the sums */
    float *limits, *starts;         /* [ROWS]: end and start of the visible keys of this block */
    float *sums;                    /* [ROWS][padded width] */
    float *greatest, *exponentials; /* [ROWS] */
};

static size_t element_bytes(const struct attention_plan *plan) {
    return ridge_dtype_bytes((enum ridge_dtype)plan->type, 1);
}

static const char *row_of(const struct native_call *call, unsigned buffer,
                          const struct attention_plan *plan, const int64_t strides[3],
                          int64_t batch, int64_t head, int64_t token) {
    int64_t offset = batch * strides[0] + head * strides[1] + token * strides[2];
    return (const char *)call->buffers[buffer] + offset * (int64_t)element_bytes(plan);
}

/* How many keys a row of the block sees. */
static int64_t keys_seen(const struct block *block, int64_t row) {
    const struct attention_plan *plan = block->plan;
    if (!plan->causal)
        return block->length;
    int64_t query = (block->first_row + row) / plan->group;
    int64_t seen = block->length - (plan->queries - 1 - query);
    return seen > 0 ? seen : 0;
}

/* The first key that a row of the block sees. */
static int64_t keys_skipped(const struct block *block, int64_t row) {
    int64_t skipped = block->plan->window ? keys_seen(block, row) - block->plan->window : 0;
    return skipped > 0 ? skipped : 0;
}

static void take_rows(const struct native_call *call, struct block *block) {
    const struct attention_plan *plan = block->plan;
    int64_t padded = attention_padded(plan->width);
    float scale = (float)plan->scale;
    float *row = block->keys; /* not used yet */
    memset(block->q, 0,
           sizeof(float) * (size_t)(block->few ? block->rows * padded : plan->width * ROWS));
    for (int64_t r = 0; r < block->rows; r++) {
        int64_t query = (block->first_row + r) / plan->group;
        int64_t head = block->kv_head * plan->group + (block->first_row + r) % plan->group;
        widen(row, (enum ridge_dtype)plan->type,
              row_of(call, 0, plan, plan->q_strides, block->batch, head, query), plan->width);
        for (int64_t d = 0; d < plan->width; d++)
            block->q[block->few ? r * padded + d : d * ROWS + r] = row[d] * scale;
    }
    for (int64_t r = 0; r < ROWS; r++) {
        block->greatest[r] = -INFINITY;
        block->exponentials[r] = 0;
    }
    memset(block->sums, 0, sizeof(float) * (size_t)(block->rows * padded));
}

/* Rows of K or V from `key` on, as f32: where they lie, or widened into `scratch`. To be read in
 * vectors they need whole ones: zeros follow then. */
static const float *take_keys(const struct native_call *call, const struct block *block,
                              unsigned buffer, const int64_t strides[3], int64_t key, int64_t count,
                              bool in_vectors, float *scratch, int64_t *stride) {
    const struct attention_plan *plan = block->plan;
    const char *from = row_of(call, buffer, plan, strides, block->batch, block->kv_head, key);
    if (plan->type == RIDGE_F32 && (!in_vectors || plan->width % LANES == 0)) {
        *stride = strides[2];
        return (const float *)from;
    }
    *stride = attention_padded(plan->width);
    int64_t step = strides[2] * (int64_t)element_bytes(plan);
    for (int64_t i = 0; i < count; i++) {
        float *to = scratch + i * *stride;
        widen(to, (enum ridge_dtype)plan->type, from + i * step, plan->width);
        for (int64_t d = plan->width; d % LANES != 0; d++)
            to[d] = 0;
    }
    return scratch;
}

/* Scores to probabilities of one vector of rows, keeping up their greatest and their sum. */
static void softmax_row(struct block *block, int64_t row, int64_t count, bool hides) {
    float *scores = block->scores + row;
    floats before = floats_load(block->greatest + row), greatest = before;
    for (int64_t j = 0; j < count; j++) {
        floats score = floats_load(scores + j * ROWS);
        if (hides) {
            ints seen = (floats_load(block->limits + row) > (float)j) &
                        (floats_load(block->starts + row) <= (float)j);
            score = floats_choose(seen, score, floats_of(-INFINITY));
            floats_store(scores + j * ROWS, score);
        }
        greatest = floats_max(score, greatest);
    }
    /* Where nothing was seen yet, 0 keeps infinities from meeting. */
    floats base = floats_choose(greatest == -INFINITY, floats_of(0), greatest);
    floats keep = floats_exp(before - base);
    floats sum = floats_load(block->exponentials + row) * keep;
    for (int64_t j = 0; j < count; j++) {
        floats probability = floats_exp(floats_load(scores + j * ROWS) - base);
        floats_store(scores + j * ROWS, probability);
        sum += probability;
    }
    floats_store(block->greatest + row, greatest);
    floats_store(block->exponentials + row, sum);
    floats_store(block->keep + row, keep);
}

static void score(const struct native_call *call, struct block *block, int64_t key, int64_t count) {
    const struct attention_plan *plan = block->plan;
    int64_t stride;
    const float *keys =
        take_keys(call, block, 1, plan->k_strides, key, count, block->few, block->keys, &stride);
    if (block->few)
        dot_products(keys, stride, count, block->q, block->rows, plan->width, block->scores);
    else
        multiply(&(struct product){.a = keys,
                                   .a_row = stride,
                                   .a_step = 1,
                                   .b = block->q,
                                   .b_step = ROWS,
                                   .depth = plan->width,
                                   .c = block->scores,
                                   .c_row = ROWS},
                 count, block->rows);
}

/* Adds the mask to the scores. */
static void add_mask(const struct native_call *call, struct block *block, int64_t key,
                     int64_t count) {
    const struct attention_plan *plan = block->plan;
    const int64_t *strides = plan->mask_strides;
    enum ridge_dtype type = (enum ridge_dtype)plan->type;
    const char *mask = call->buffers[plan->mask];
    for (int64_t row = 0; row < block->rows; row++) {
        int64_t query = (block->first_row + row) / plan->group;
        int64_t head = block->kv_head * plan->group + (block->first_row + row) % plan->group;
        int64_t line = block->batch * strides[0] + head * strides[1] + query * strides[2];
        for (int64_t j = 0; j < count; j++) {
            float added;
            widen(&added, type,
                  mask + (line + (key + j) * strides[3]) * (int64_t)element_bytes(plan), 1);
            block->scores[j * ROWS + row] += added;
        }
    }
}

static void meet_keys(const struct native_call *call, struct block *block, int64_t key,
                      int64_t count) {
    const struct attention_plan *plan = block->plan;
    score(call, block, key, count);
    if (plan->mask)
        add_mask(call, block, key, count);
    bool hides = keys_seen(block, 0) < key + count || keys_skipped(block, block->rows - 1) > key;
    for (int64_t row = 0; hides && row < ROWS; row++) {
        int64_t seen = row < block->rows ? keys_seen(block, row) - key : 0;
        int64_t skipped = row < block->rows ? keys_skipped(block, row) - key : 0;
        block->limits[row] = (float)(seen < count ? seen : count);
        block->starts[row] = (float)(skipped < count ? skipped : count);
    }
    for (int64_t row = 0; row < block->rows; row += LANES)
        softmax_row(block, row, count, hides);
    struct product sums = {.a = block->scores,
                           .a_row = 1,
                           .a_step = ROWS,
                           .depth = count,
                           .c = block->sums,
                           .c_row = attention_padded(plan->width),
                           .keep = block->keep};
    sums.b =
        take_keys(call, block, 2, plan->v_strides, key, count, true, block->values, &sums.b_step);
    multiply(&sums, block->rows, plan->width);
}

static void store_row(const struct native_call *call, const struct block *block, int64_t row,
                      float *sums, float exponentials) {
    const struct attention_plan *plan = block->plan;
    float inverse = exponentials == 0 ? 0 : 1 / exponentials; /* a row that saw nothing is 0 */
    for (int64_t d = 0; d < plan->width; d++)
        sums[d] *= inverse;
    int64_t query = (block->first_row + row) / plan->group;
    int64_t head = block->kv_head * plan->group + (block->first_row + row) % plan->group;
    int64_t at = ((block->batch * plan->heads + head) * plan->queries + query) * plan->width;
    narrow((char *)call->buffers[plan->result] + at * (int64_t)element_bytes(plan),
           (enum ridge_dtype)plan->type, sums, plan->width);
}

/* Rows and keys of a unit. Later rows see more keys when causal: they come first, so that the
 * threads end together. */
static struct block block_of(const struct native_call *call, int64_t rows_unit, int64_t part) {
    const struct attention_plan *plan = (const void *)call->scalars;
    struct block block = {.plan = plan, .length = plan->keys};
    int64_t all_rows = plan->group * plan->queries;
    int64_t heads = plan->batch * plan->kv_heads;
    block.batch = rows_unit % heads / plan->kv_heads;
    block.kv_head = rows_unit % plan->kv_heads;
    block.first_row = (plan->row_blocks - 1 - rows_unit / heads) * ROWS;
    block.rows = all_rows - block.first_row < ROWS ? all_rows - block.first_row : ROWS;
    /* Per key: the vectors of a row and about 8 more to sum up, against an element at a time. */
    block.few = block.rows * (plan->width / LANES + 8) < plan->width;
    if (plan->lengths) {
        int64_t length =
            ((const int32_t *)call->buffers[plan->lengths])[block.batch * plan->length_stride];
        block.length = MIN(MAX(length, 0), plan->keys);
    }
    int64_t begin = keys_skipped(&block, 0), seen = keys_seen(&block, block.rows - 1);
    int64_t part_keys = plan_units(MAX(seen - begin, 0), plan->parts * KEYS) * KEYS;
    block.first_key = begin + part * part_keys;
    block.end_key = MIN(block.first_key + part_keys, seen);
    return block;
}

static void place_partial(struct block *block, float *partial) {
    block->sums = partial;
    block->greatest = partial + ROWS * attention_padded(block->plan->width);
    block->exponentials = block->greatest + ROWS;
}

static void place_scratch(struct block *block, float *scratch) {
    int64_t padded = attention_padded(block->plan->width);
    block->q = scratch;
    block->keys = block->q + ROWS * padded;
    block->values = block->keys + KEYS * padded;
    block->scores = block->values + KEYS * padded;
    block->keep = block->scores + KEYS * ROWS;
    block->limits = block->keep + ROWS;
    block->starts = block->limits + ROWS;
    place_partial(block, block->starts + ROWS);
}

/* Rows whose keys were seen in parts: the parts are scaled to the greatest score of all. */
static void combine(const struct native_call *call, int64_t rows_unit) {
    const struct attention_plan *plan = (const void *)call->scalars;
    int64_t partial_floats = attention_partial_floats(plan->width);
    float *first = (float *)call->shared + rows_unit * plan->parts * partial_floats;
    struct block block = block_of(call, rows_unit, 0), part = block;
    place_partial(&block, first);
    int64_t padded = attention_padded(plan->width);
    for (int64_t p = 1; p < plan->parts; p++) {
        place_partial(&part, first + p * partial_floats);
        for (int64_t r = 0; r < block.rows; r++) {
            float greatest =
                block.greatest[r] > part.greatest[r] ? block.greatest[r] : part.greatest[r];
            float base = greatest == -INFINITY ? 0 : greatest;
            float keep = expf(block.greatest[r] - base), take = expf(part.greatest[r] - base);
            for (int64_t d = 0; d < plan->width; d++)
                block.sums[r * padded + d] =
                    block.sums[r * padded + d] * keep + part.sums[r * padded + d] * take;
            block.exponentials[r] = block.exponentials[r] * keep + part.exponentials[r] * take;
            block.greatest[r] = greatest;
        }
    }
    for (int64_t r = 0; r < block.rows; r++)
        store_row(call, &block, r, block.sums + r * padded, block.exponentials[r]);
}

void SIMD_NAME(attention)(const struct native_call *call) {
    const struct attention_plan *plan = (const void *)call->scalars;
    int64_t row_units = plan->batch * plan->kv_heads * plan->row_blocks;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t unit = (int64_t)begin;
        if (unit >= row_units * plan->parts)
            continue;
        struct block block = block_of(call, unit / plan->parts, unit % plan->parts);
        place_scratch(&block, call->scratch);
        if (plan->parts > 1)
            place_partial(&block,
                          (float *)call->shared + unit * attention_partial_floats(plan->width));
        take_rows(call, &block);
        for (int64_t key = block.first_key; key < block.end_key; key += KEYS)
            meet_keys(call, &block, key, block.end_key - key < KEYS ? block.end_key - key : KEYS);
        if (plan->parts == 1)
            for (int64_t r = 0; r < block.rows; r++)
                store_row(call, &block, r, block.sums + r * attention_padded(plan->width),
                          block.exponentials[r]);
    }
    if (plan->parts == 1)
        return;
    native_barrier(call);
    while (native_take(call, 1, &begin, &end))
        if ((int64_t)begin < row_units)
            combine(call, (int64_t)begin);
}
