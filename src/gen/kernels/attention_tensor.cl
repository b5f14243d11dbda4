// Attention and its gradients on the matrix units; gen/emit/attention_tensor.c describes the
// method. The macros of attention.cl come first.

// section: macros
#define WARPS (THREADS / 32)
#define WARP_ROWS (ROW_TILES * 16)
#define ROWS (WARPS * WARP_ROWS)
#define SPAN_TILES (SPAN / 8)
#define COLUMN_TILES (PADDED / 8)
// From a line of a tile in shared memory to the next: an odd number of 16 bytes, so that eight
// lines are in different banks.
#define LINE (PADDED + 8)
#define LOG2_E 1.4426950408889634f
// Scores are multiplied by UNIT to be exponents of 2.
#if MASKED
#define UNIT LOG2_E
#else
#define UNIT (SCALE * LOG2_E)
#endif
// The keys [first, end) that a query sees, less `start`, within [0, count].
INLINE int within(INT64 x, int count) {
    return x < 0 ? 0 : x < count ? CAST(int, x) : count;
}
#define FIRST_SEEN(query, start, count) within(KEYS_SKIPPED(query) - (start), count)
#define END_SEEN(query, start, count) \
    ((query) < QUERIES ? within(KEYS_SEEN(query) - (start), count) : 0)
// Lines of a head from `first` on, zeros from `end` on.
INLINE void stage(UINT16 *tile, const UINT16 *head, INT64 stride, INT64 first, INT64 end,
                  UINT32 lines, bool aligned) {
    if (aligned) {
        UNROLL for (UINT32 i = 0; i < (lines * COLUMN_TILES + THREADS - 1) / THREADS; i++) {
            UINT32 e = i * THREADS + THREAD_X, line = e / COLUMN_TILES;
            UINT32 column = e % COLUMN_TILES * 8;
            bool inside = first + line < end && column < WIDTH;
            if (lines * COLUMN_TILES % THREADS == 0 || e < lines * COLUMN_TILES)
                COPY16_ASYNC(tile + line * LINE + column,
                             head + (inside ? (first + line) * stride + column : 0), inside);
        }
        return;
    }
    for (UINT32 e = THREAD_X; e < lines * PADDED; e += THREADS) {
        UINT32 line = e / PADDED, column = e % PADDED;
        bool inside = first + line < end && column < WIDTH;
        tile[line * LINE + column] = inside ? head[(first + line) * stride + column] : (UINT16)0;
    }
}
// product[i][j] += rows of a x transpose(lines of b)
INLINE void multiply_lines(float (*product)[SPAN_TILES][4], const UINT16 *a, const UINT16 *b) {
    UINT32 lane = THREAD_X % 32;
    a += lane % 16 * LINE + lane / 16 * 8;
    b += (lane / 16 * 8 + lane % 8) * LINE + lane / 8 % 2 * 8;
    UNROLL for (int k = 0; k < PADDED; k += 16) {
        UINT32 x[ROW_TILES][4];
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            LOAD_MATRICES(x[i], a + i * 16 * LINE + k);
        UNROLL for (int j = 0; j < SPAN_TILES; j += 2) {
            UINT32 y[4];
            LOAD_MATRICES(y, b + j * 8 * LINE + k);
            UNROLL for (int i = 0; i < ROW_TILES; i++) {
                tensor_multiply(product[i][j], x[i][0], x[i][1], x[i][2], x[i][3], y[0], y[1]);
                tensor_multiply(product[i][j + 1], x[i][0], x[i][1], x[i][2], x[i][3], y[2], y[3]);
            }
        }
    }
}
// sum[i][n] += weights x lines of b
INLINE void multiply_weights(float (*sum)[COLUMN_TILES][4], float (*weights)[SPAN_TILES][4],
                             const UINT16 *b) {
    UINT32 lane = THREAD_X % 32;
    b += lane % 16 * LINE + lane / 16 * 8;
    UNROLL for (int j = 0; j < SPAN_TILES; j += 2) {
        UINT32 x[ROW_TILES][4];
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            UNROLL for (int h = 0; h < 4; h++)
                x[i][h] = PACK(weights[i][j + h / 2][h % 2 * 2], weights[i][j + h / 2][h % 2 * 2 + 1]);
        UNROLL for (int n = 0; n < COLUMN_TILES; n += 2) {
            UINT32 y[4];
            LOAD_MATRICES_TRANSPOSED(y, b + j * 8 * LINE + n * 8);
            UNROLL for (int i = 0; i < ROW_TILES; i++) {
                tensor_multiply(sum[i][n], x[i][0], x[i][1], x[i][2], x[i][3], y[0], y[1]);
                tensor_multiply(sum[i][n + 1], x[i][0], x[i][1], x[i][2], x[i][3], y[2], y[3]);
            }
        }
    }
}
#define CLEAR(product, tiles) \
    UNROLL for (int i = 0; i < ROW_TILES; i++) \
        UNROLL for (int j = 0; j < (tiles); j++) \
            UNROLL for (int e = 0; e < 4; e++) \
                product[i][j][e] = 0.0f
// The line of row half h (0 or 1) of row tile i, and the column of element e of tile j.
#define ROW_OF(i, h) (warp * WARP_ROWS + (i) * 16 + (h) * 8 + group)
#define COLUMN_OF(j, e) ((j) * 8 + part * 2 + (e))
// Stores rows [first, count) of a head of a contiguous result.
INLINE void store_rows(UINT16 *result, float (*sum)[COLUMN_TILES][4], INT64 first, INT64 count,
                       float factor) {
    int lane = CAST(int, THREAD_X % 32), warp = CAST(int, THREAD_X / 32);
    int group = lane / 4, part = lane % 4;
    bool by_words = (ADDRESS(result) & 3) == 0;
    UNROLL for (int i = 0; i < ROW_TILES; i++)
        UNROLL for (int h = 0; h < 2; h++) {
            INT64 row = first + ROW_OF(i, h);
            UNROLL for (int n = 0; n < COLUMN_TILES; n++) {
                UINT16 *to = result + row * WIDTH + COLUMN_OF(n, 0);
                UINT32 pair = PACK(sum[i][n][h * 2] * factor, sum[i][n][h * 2 + 1] * factor);
                if (row >= count || n * 8 >= WIDTH)
                    continue;
                if (by_words)
                    STORE4(to, pair);
                else
                    to[0] = (UINT16)pair, to[1] = (UINT16)(pair >> 16);
            }
        }
}

// section: body
int self = CAST(int, THREAD_X), lane = self % 32, warp = self / 32, group = lane / 4;
int part = lane % 4;
bool aligned = ALIGNED(q) && ALIGNED(k) && ALIGNED(v);

// Scores of keys from `first` on for queries from `first_query` on: those of keys that a query does
// not see are minus infinity, and the mask is added to the others.
#define HIDE_KEYS(score) \
    UNROLL for (int i = 0; i < ROW_TILES; i++) \
        UNROLL for (int h = 0; h < 2; h++) { \
            INT64 query = first_query + ROW_OF(i, h); \
            int first_seen = FIRST_SEEN(query, first, SPAN), end_seen = END_SEEN(query, first, SPAN); \
            UNROLL for (int j = 0; j < SPAN_TILES; j++) \
                UNROLL for (int c = 0; c < 2; c++) { \
                    int column = COLUMN_OF(j, c); \
                    float *x = &score[i][j][h * 2 + c]; \
                    if (column < first_seen || column >= end_seen) \
                        *x = -INFINITE; \
                    else if (MASKED) \
                        *x = FMA(*x, SCALE, MASK(query, first + column)); \
                } \
        }

// section: queries
// A block per tile of queries. The last queries see the most keys: they run first, to balance the
// load.
INT64 tiles = (QUERIES + ROWS - 1) / ROWS;
for (INT64 task = BLOCK_X; task < BATCHES * HEADS * tiles; task += GRID_X) {
    INT64 first_query = (tiles - 1 - task / (BATCHES * HEADS)) * ROWS;
    INT64 row_of_heads = task % (BATCHES * HEADS);
    INT64 head = row_of_heads % HEADS, batch = row_of_heads / HEADS;
    INT64 kv_head = head / HEADS_PER_KV, length = LENGTH(batch);
    const UINT16 *q_head = q + batch * Q_STRIDE(0) + head * Q_STRIDE(1);
    const UINT16 *k_head = k + batch * K_STRIDE(0) + kv_head * K_STRIDE(1);
    const UINT16 *v_head = v + batch * V_STRIDE(0) + kv_head * V_STRIDE(1);
    INT64 last_query = first_query + ROWS <= QUERIES ? first_query + ROWS - 1 : QUERIES - 1;
    INT64 end = KEYS_SEEN(last_query), start = KEYS_SKIPPED(first_query) / SPAN * SPAN;
    // Keys that all queries of the tile see.
    INT64 whole_end = KEYS_SEEN(first_query), whole_start = KEYS_SKIPPED(last_query);
    BARRIER();

// section: forward
    UINT16 *of_q = (UINT16 *)dynamic_shared;
    UINT16 *of_k = of_q + ROWS * LINE, *of_v = of_k + SPAN * LINE;
    stage(of_q, q_head, Q_STRIDE(2), first_query, QUERIES, ROWS, aligned);
    stage(of_k, k_head, K_STRIDE(2), start, length, SPAN, aligned);
    COPIES_COMMIT();
    float sum[ROW_TILES][COLUMN_TILES][4], greatest[ROW_TILES][2], total[ROW_TILES][2];
    CLEAR(sum, COLUMN_TILES);
    UNROLL for (int i = 0; i < ROW_TILES; i++)
        UNROLL for (int h = 0; h < 2; h++)
            greatest[i][h] = -INFINITE, total[i][h] = 0.0f;
    for (INT64 first = start; first < end; first += SPAN) {
        COPIES_WAIT(0);
        BARRIER();
        stage(of_v, v_head, V_STRIDE(2), first, length, SPAN, aligned);
        COPIES_COMMIT();
        float score[ROW_TILES][SPAN_TILES][4];
        CLEAR(score, SPAN_TILES);
        multiply_lines(score, of_q + warp * WARP_ROWS * LINE, of_k);
        if (MASKED || first + SPAN > whole_end || first < whole_start) {
            HIDE_KEYS(score)
        }
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            UNROLL for (int h = 0; h < 2; h++) {
                float most = greatest[i][h];
                UNROLL for (int j = 0; j < SPAN_TILES; j++)
                    UNROLL for (int e = h * 2; e < h * 2 + 2; e++)
                        most = fmaxf(most, score[i][j][e]);
                most = fmaxf(most, SHUFFLE_XOR(most, 1));
                most = fmaxf(most, SHUFFLE_XOR(most, 2));
                float base = most == -INFINITE ? 0.0f : most * UNIT, all = 0.0f;
                float keep = EXP2(FMA(greatest[i][h], UNIT, -base));
                greatest[i][h] = most;
                UNROLL for (int j = 0; j < SPAN_TILES; j++)
                    UNROLL for (int e = h * 2; e < h * 2 + 2; e++) {
                        score[i][j][e] = EXP2(FMA(score[i][j][e], UNIT, -base));
                        all += score[i][j][e];
                    }
                total[i][h] = FMA(total[i][h], keep, all);
                UNROLL for (int n = 0; n < COLUMN_TILES; n++)
                    UNROLL for (int e = h * 2; e < h * 2 + 2; e++)
                        sum[i][n][e] *= keep;
            }
        COPIES_WAIT(0);
        BARRIER();
        if (first + SPAN < end)
            stage(of_k, k_head, K_STRIDE(2), first + SPAN, length, SPAN, aligned);
        COPIES_COMMIT();
        multiply_weights(sum, score, of_v);
    }
    COPIES_WAIT(0);
    UNROLL for (int i = 0; i < ROW_TILES; i++)
        UNROLL for (int h = 0; h < 2; h++) {
            float all = total[i][h];
            all += SHUFFLE_XOR(all, 1);
            all += SHUFFLE_XOR(all, 2);
            float inverse = all == 0.0f ? 0.0f : 1.0f / all;
            UNROLL for (int n = 0; n < COLUMN_TILES; n++)
                UNROLL for (int e = h * 2; e < h * 2 + 2; e++)
                    sum[i][n][e] *= inverse;
            STORE_STATS(first_query + ROW_OF(i, h), all, greatest[i][h] * UNIT);
        }
    store_rows(result + row_of_heads * QUERIES * WIDTH, sum, first_query, QUERIES, 1.0f);
}
}

// section: gradient_of_queries
    UINT16 *of_q = (UINT16 *)dynamic_shared;
    UINT16 *of_g = of_q + ROWS * LINE, *of_kv = of_g + ROWS * LINE;
    INT64 rows_before = row_of_heads * QUERIES;
    float stat[ROW_TILES][2], mean[ROW_TILES][2], sum[ROW_TILES][COLUMN_TILES][4];
    stage(of_q, q_head, Q_STRIDE(2), first_query, QUERIES, ROWS, aligned);
    stage(of_g, g + rows_before * WIDTH, WIDTH, first_query, QUERIES, ROWS, ALIGNED(g));
    stage(of_kv, k_head, K_STRIDE(2), start, length, SPAN, aligned);
    stage(of_kv + SPAN * LINE, v_head, V_STRIDE(2), start, length, SPAN, aligned);
    COPIES_COMMIT();
    CLEAR(sum, COLUMN_TILES);
    UNROLL for (int i = 0; i < ROW_TILES; i++)
        UNROLL for (int h = 0; h < 2; h++) {
            INT64 query = first_query + ROW_OF(i, h);
            stat[i][h] = query < QUERIES ? stats[rows_before + query] : INFINITE;
            mean[i][h] = query < QUERIES ? means[rows_before + query] : 0.0f;
        }
    int half = 0;
    for (INT64 first = start; first < end; first += SPAN, half ^= 1) {
        UINT16 *of_k = of_kv + half * (2 * SPAN * LINE), *of_v = of_k + SPAN * LINE;
        UINT16 *next = of_kv + (half ^ 1) * (2 * SPAN * LINE);
        COPIES_WAIT(0);
        BARRIER();
        if (first + SPAN < end) {
            stage(next, k_head, K_STRIDE(2), first + SPAN, length, SPAN, aligned);
            stage(next + SPAN * LINE, v_head, V_STRIDE(2), first + SPAN, length, SPAN, aligned);
        }
        COPIES_COMMIT();
        float score[ROW_TILES][SPAN_TILES][4], change[ROW_TILES][SPAN_TILES][4];
        CLEAR(score, SPAN_TILES);
        CLEAR(change, SPAN_TILES);
        multiply_lines(score, of_q + warp * WARP_ROWS * LINE, of_k);
        multiply_lines(change, of_g + warp * WARP_ROWS * LINE, of_v);
        if (MASKED || first + SPAN > whole_end || first < whole_start) {
            HIDE_KEYS(score)
        }
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            UNROLL for (int j = 0; j < SPAN_TILES; j++)
                UNROLL for (int e = 0; e < 4; e++)
                    score[i][j][e] = EXP2(FMA(score[i][j][e], UNIT, -stat[i][e / 2])) *
                                     (change[i][j][e] - mean[i][e / 2]);
        multiply_weights(sum, score, of_k);
    }
    COPIES_WAIT(0);
    store_rows(result + rows_before * WIDTH, sum, first_query, QUERIES, SCALE);
}
}

// section: gradient_of_keys
// A block per tile of keys, for all heads that share them. Products are transposed: rows are keys,
// columns queries.
INT64 tiles = (KEYS + ROWS - 1) / ROWS, kv_heads = HEADS / HEADS_PER_KV;
for (INT64 task = BLOCK_X; task < BATCHES * kv_heads * tiles; task += GRID_X) {
    INT64 first_key = task / (BATCHES * kv_heads) * ROWS, row_of_heads = task % (BATCHES * kv_heads);
    INT64 kv_head = row_of_heads % kv_heads, batch = row_of_heads / kv_heads;
    INT64 length = LENGTH(batch), last_key = first_key + ROWS - 1;
    const UINT16 *k_head = k + batch * K_STRIDE(0) + kv_head * K_STRIDE(1);
    const UINT16 *v_head = v + batch * V_STRIDE(0) + kv_head * V_STRIDE(1);
    // Queries that see a key of the tile.
    INT64 start = CAUSAL != 0 ? first_key - length + QUERIES : CAST(INT64, 0), end = QUERIES;
    if (start < 0)
        start = 0;
    if (WINDOWED != 0 && last_key + scalars.v[15] - length + QUERIES < end)
        end = last_key + scalars.v[15] - length + QUERIES;
    start = start / SPAN * SPAN;
    int spans = first_key < length && start < end ? CAST(int, (end - start + SPAN - 1) / SPAN) : 0;
    int steps = spans * CAST(int, HEADS_PER_KV);
    UINT16 *of_k = (UINT16 *)dynamic_shared;
    UINT16 *of_v = of_k + ROWS * LINE, *of_qg = of_v + ROWS * LINE;
    float *of_stats = (float *)(of_qg + 4 * SPAN * LINE);
    float sum_k[ROW_TILES][COLUMN_TILES][4], sum_v[ROW_TILES][COLUMN_TILES][4];
    CLEAR(sum_k, COLUMN_TILES);
    CLEAR(sum_v, COLUMN_TILES);
    BARRIER();
    stage(of_k, k_head, K_STRIDE(2), first_key, length, ROWS, aligned);
    stage(of_v, v_head, V_STRIDE(2), first_key, length, ROWS, aligned);
    for (int step = -1; step < steps; step++) {
        int half = step & 1, next = step + 1;
        COPIES_WAIT(0);
        BARRIER();
        // The next step's copies are in flight while this step's products are computed.
        if (next < steps) {
            INT64 to_head = kv_head * HEADS_PER_KV + next / spans;
            INT64 rows_before = (batch * HEADS + to_head) * QUERIES;
            INT64 first = start + CAST(INT64, next % spans) * SPAN;
            UINT16 *to = of_qg + (half ^ 1) * (2 * SPAN * LINE);
            float *to_stats = of_stats + (half ^ 1) * (2 * SPAN);
            stage(to, q + batch * Q_STRIDE(0) + to_head * Q_STRIDE(1), Q_STRIDE(2), first, QUERIES,
                  SPAN, aligned);
            stage(to + SPAN * LINE, g + rows_before * WIDTH, WIDTH, first, QUERIES, SPAN,
                  ALIGNED(g));
            if (self < SPAN) {
                bool inside = first + self < QUERIES;
                to_stats[self] = inside ? stats[rows_before + first + self] : INFINITE;
                to_stats[SPAN + self] = inside ? means[rows_before + first + self] : 0.0f;
            }
        }
        COPIES_COMMIT();
        if (step < 0)
            continue;
        INT64 head = kv_head * HEADS_PER_KV + step / spans;
        INT64 first_query = start + CAST(INT64, step % spans) * SPAN;
        const UINT16 *of_q = of_qg + half * (2 * SPAN * LINE), *of_g = of_q + SPAN * LINE;
        const float *stat = of_stats + half * (2 * SPAN), *mean = stat + SPAN;
        float score[ROW_TILES][SPAN_TILES][4], change[ROW_TILES][SPAN_TILES][4];
        CLEAR(score, SPAN_TILES);
        multiply_lines(score, of_k + warp * WARP_ROWS * LINE, of_q);
        // Every query of the span sees every key of the tile.
        bool whole = !MASKED && first_query + SPAN <= QUERIES && last_key < length &&
                     last_key < KEYS_SEEN(first_query) &&
                     first_key >= KEYS_SKIPPED(first_query + SPAN - 1);
        if (!whole)
            UNROLL for (int j = 0; j < SPAN_TILES; j++)
                UNROLL for (int c = 0; c < 2; c++) {
                    INT64 query = first_query + COLUMN_OF(j, c);
                    int first_seen = FIRST_SEEN(query, first_key, ROWS);
                    int end_seen = END_SEEN(query, first_key, ROWS);
                    UNROLL for (int i = 0; i < ROW_TILES; i++)
                        UNROLL for (int h = 0; h < 2; h++) {
                            int row = ROW_OF(i, h);
                            float *x = &score[i][j][h * 2 + c];
                            if (row < first_seen || row >= end_seen)
                                *x = -INFINITE;
                            else if (MASKED)
                                *x = FMA(*x, SCALE, MASK(query, first_key + row));
                        }
                }
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            UNROLL for (int j = 0; j < SPAN_TILES; j++)
                UNROLL for (int e = 0; e < 4; e++)
                    score[i][j][e] =
                        EXP2(FMA(score[i][j][e], UNIT, -stat[COLUMN_OF(j, e % 2)]));
        multiply_weights(sum_v, score, of_g);
        CLEAR(change, SPAN_TILES);
        multiply_lines(change, of_v + warp * WARP_ROWS * LINE, of_g);
        UNROLL for (int i = 0; i < ROW_TILES; i++)
            UNROLL for (int j = 0; j < SPAN_TILES; j++)
                UNROLL for (int e = 0; e < 4; e++)
                    score[i][j][e] *= change[i][j][e] - mean[COLUMN_OF(j, e % 2)];
        multiply_weights(sum_k, score, of_q);
    }
    COPIES_WAIT(0);
    store_rows(result + row_of_heads * KEYS * WIDTH, sum_k, first_key, KEYS, SCALE);
    store_rows(second + row_of_heads * KEYS * WIDTH, sum_v, first_key, KEYS, 1.0f);
}
}
