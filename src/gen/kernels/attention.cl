// Attention with a block per query ("query" sections) or per tile of queries ("tile" sections);
// gen/emit/attention.c selects one.

// section: macros
#define BATCHES scalars.v[0]
#define HEADS scalars.v[1]
#define HEADS_PER_KV (scalars.v[1] / scalars.v[2])
#define QUERIES scalars.v[3]
#define KEYS scalars.v[4]
#define SCALE AS_FLOAT(CAST(UINT32, scalars.v[5]))
#define Q_STRIDE(i) scalars.v[6 + (i)]
#define K_STRIDE(i) scalars.v[9 + (i)]
#define V_STRIDE(i) scalars.v[12 + (i)]
INLINE INT64 length_of(int length, INT64 keys) {
    INT64 wide = length;
    return wide < 0 ? CAST(INT64, 0) : wide < keys ? wide : keys;
}
// The end and the start of the keys visible to query i; `length` keys are in use.
#define KEYS_SEEN(i) (CAUSAL != 0 ? length - QUERIES + (i) + 1 : length)
#define KEYS_SKIPPED(i) \
    (WINDOWED != 0 && KEYS_SEEN(i) > scalars.v[15] ? KEYS_SEEN(i) - scalars.v[15] : CAST(INT64, 0))
INLINE void load_piece(CONST_POINTER(TYPE) p, PRIVATE_ARRAY(float, x, VECTOR), bool aligned) {
    if (aligned) {
        LOAD_VECTOR(p, x);
    } else {
        UNROLL for (int i = 0; i < VECTOR; i++)
            x[i] = LOAD(p, i);
    }
}
#define ALIGNED(p) ((ADDRESS(p) & (VECTOR * TYPE_BYTES - 1)) == 0)
// exp(x - greatest), where both may be minus infinity.
#define EXP_BELOW(x, greatest) ((x) == -INFINITE ? 0.0f : EXP((x) - (greatest)))

// section: query_macros
#define GROUPS (THREADS / LANES)
#define PIECES ((WIDTH / VECTOR + LANES - 1) / LANES)
#define STEPS (PIECES * VECTOR > 32 ? 1 : 4)
// Piece i of a lane, clamped to an existing one.
#define PIECE_AT(i) ((lane + (i) * LANES) * VECTOR < WIDTH ? (lane + (i) * LANES) * VECTOR : 0)
#define HAS_PIECE(i) ((lane + (i) * LANES) * VECTOR < WIDTH)

// section: query_shared
SHARED float sums[GROUPS][WIDTH];
SHARED float greatest_of[GROUPS], total_of[GROUPS];

// section: query
int self = CAST(int, THREAD_X), lane = self % LANES, group = self / LANES;
bool aligned = ALIGNED(q) && ALIGNED(k) && ALIGNED(v);
for (INT64 task = BLOCK_X; task < BATCHES * HEADS * QUERIES; task += GRID_X) {
    INT64 query = task % QUERIES, head = task / QUERIES % HEADS, batch = task / QUERIES / HEADS;
    INT64 length = LENGTH(batch);
    INT64 kv_head = head / HEADS_PER_KV, seen = KEYS_SEEN(query);
    CONST_POINTER(TYPE) q_line =
        AT(q, batch * Q_STRIDE(0) + head * Q_STRIDE(1) + query * Q_STRIDE(2));
    CONST_POINTER(TYPE) k_head = AT(k, batch * K_STRIDE(0) + kv_head * K_STRIDE(1));
    CONST_POINTER(TYPE) v_head = AT(v, batch * V_STRIDE(0) + kv_head * V_STRIDE(1));
    float of_q[PIECES][VECTOR], sum[PIECES][VECTOR], greatest = -INFINITE, total = 0.0f;
    UNROLL for (int i = 0; i < PIECES; i++) {
        load_piece(AT(q_line, PIECE_AT(i)), of_q[i], aligned);
        UNROLL for (int j = 0; j < VECTOR; j++) {
            of_q[i][j] = HAS_PIECE(i) ? of_q[i][j] * SCALE : 0.0f;
            sum[i][j] = 0.0f;
        }
    }
    for (INT64 first = KEYS_SKIPPED(query); first < seen; first += GROUPS * STEPS) {
        float score[STEPS], of_v[STEPS][PIECES][VECTOR], before = greatest;
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 key = first + s * GROUPS + group;
            CONST_POINTER(TYPE) k_line = AT(k_head, (key < seen ? key : 0) * K_STRIDE(2));
            score[s] = 0.0f;
            UNROLL for (int i = 0; i < PIECES; i++) {
                float of_k[VECTOR];
                load_piece(AT(k_line, PIECE_AT(i)), of_k, aligned);
                UNROLL for (int j = 0; j < VECTOR; j++)
                    score[s] = FMA(of_q[i][j], of_k[j], score[s]);
            }
        }
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 key = first + s * GROUPS + group;
            CONST_POINTER(TYPE) v_line = AT(v_head, (key < seen ? key : 0) * V_STRIDE(2));
            UNROLL for (int i = 0; i < PIECES; i++)
                load_piece(AT(v_line, PIECE_AT(i)), of_v[s][i], aligned);
        }
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 key = first + s * GROUPS + group;
            score[s] = GROUP_SUM(score[s], LANES, s % 2);
            score[s] += MASK(query, key < seen ? key : CAST(INT64, 0));
            if (key >= seen)
                score[s] = -INFINITE;
            greatest = MAX_NAN(greatest, score[s]);
        }
        float keep = EXP_BELOW(before, greatest);
        total *= keep;
        UNROLL for (int i = 0; i < PIECES; i++)
            UNROLL for (int j = 0; j < VECTOR; j++)
                sum[i][j] *= keep;
        UNROLL for (int s = 0; s < STEPS; s++)
            if (score[s] != -INFINITE) {
                float weight = EXP(score[s] - greatest);
                total += weight;
                UNROLL for (int i = 0; i < PIECES; i++)
                    UNROLL for (int j = 0; j < VECTOR; j++)
                        sum[i][j] = FMA(weight, of_v[s][i][j], sum[i][j]);
            }
    }
    UNROLL for (int i = 0; i < PIECES; i++)
        if (HAS_PIECE(i))
            UNROLL for (int j = 0; j < VECTOR; j++)
                sums[group][PIECE_AT(i) + j] = sum[i][j];
    if (lane == 0) {
        greatest_of[group] = greatest;
        total_of[group] = total;
    }
    BARRIER();
    for (int c = self; c < WIDTH; c += THREADS) {
        float most = -INFINITE, all = 0.0f, x = 0.0f;
        for (int g = 0; g < GROUPS; g++)
            most = MAX_NAN(most, greatest_of[g]);
        for (int g = 0; g < GROUPS; g++) {
            float part = EXP_BELOW(greatest_of[g], most);
            all = FMA(part, total_of[g], all);
            x = FMA(part, sums[g][c], x);
        }
        STORE(result, task * WIDTH + c, all == 0.0f ? 0.0f : x / all);
    }
    BARRIER();
}
}

// section: tile_macros
#define DOWN (TILE < 16 ? TILE : 16)
#define ACROSS (THREADS / DOWN)
#define MY_ROWS (TILE / DOWN)
#define MY_KEYS (TILE / ACROSS)
#define MY_COLUMNS ((WIDTH + ACROSS - 1) / ACROSS)
#define ROW_LANES (THREADS / TILE)
// Loads TILE lines of a head from `first` on, with zeros from `end` on.
#define LOAD_TILE(tile, head, stride, first, end, factor) \
    for (int e = self * VECTOR; e < TILE * WIDTH; e += THREADS * VECTOR) { \
        float piece[VECTOR]; \
        INT64 line = (first) + e / WIDTH; \
        load_piece(AT(head, (line < (end) ? line : 0) * (stride) + e % WIDTH), piece, aligned); \
        UNROLL for (int j = 0; j < VECTOR; j++) \
            tile[e / WIDTH][e % WIDTH + j] = line < (end) ? piece[j] * (factor) : 0.0f; \
    }

// section: tile_shared
SHARED float of_q[TILE][WIDTH + 1], of_kv[TILE][WIDTH + 1], scores[TILE][TILE + 1];
SHARED float greatest[TILE], total[TILE], keep[TILE];

// section: tile_head
int self = CAST(int, THREAD_X), down = self / ACROSS, across = self % ACROSS;
bool aligned = ALIGNED(q) && ALIGNED(k) && ALIGNED(v);
INT64 tiles = (QUERIES + TILE - 1) / TILE;
for (INT64 task = BLOCK_X; task < BATCHES * HEADS * tiles; task += GRID_X) {
    // The last queries see the most keys: they run first, to balance the load.
    INT64 first_query = (tiles - 1 - task / (BATCHES * HEADS)) * TILE;
    INT64 line = task % (BATCHES * HEADS), head = line % HEADS, batch = line / HEADS;
    INT64 kv_head = head / HEADS_PER_KV, length = LENGTH(batch);
    CONST_POINTER(TYPE) q_head = AT(q, batch * Q_STRIDE(0) + head * Q_STRIDE(1));
    CONST_POINTER(TYPE) k_head = AT(k, batch * K_STRIDE(0) + kv_head * K_STRIDE(1));
    CONST_POINTER(TYPE) v_head = AT(v, batch * V_STRIDE(0) + kv_head * V_STRIDE(1));
    INT64 last_query = first_query + TILE <= QUERIES ? first_query + TILE - 1 : QUERIES - 1;
    INT64 end = KEYS_SEEN(last_query);
    LOAD_TILE(of_q, q_head, Q_STRIDE(2), first_query, QUERIES, SCALE)
    if (self < TILE)
        greatest[self] = -INFINITE, total[self] = 0.0f;
    float sum[MY_ROWS][MY_COLUMNS];
    UNROLL for (int i = 0; i < MY_ROWS; i++)
        UNROLL for (int j = 0; j < MY_COLUMNS; j++)
            sum[i][j] = 0.0f;

// section: tile_scores
    for (INT64 first = KEYS_SKIPPED(first_query) / TILE * TILE; first < end; first += TILE) {
        LOAD_TILE(of_kv, k_head, K_STRIDE(2), first, length, 1.0f)
        BARRIER();
        float score[MY_ROWS][MY_KEYS];
        UNROLL for (int i = 0; i < MY_ROWS; i++)
            UNROLL for (int j = 0; j < MY_KEYS; j++)
                score[i][j] = 0.0f;
        for (int c = 0; c < WIDTH; c++) {
            float x[MY_ROWS], y[MY_KEYS];
            UNROLL for (int i = 0; i < MY_ROWS; i++)
                x[i] = of_q[down + i * DOWN][c];
            UNROLL for (int j = 0; j < MY_KEYS; j++)
                y[j] = of_kv[across + j * ACROSS][c];
            UNROLL for (int i = 0; i < MY_ROWS; i++)
                UNROLL for (int j = 0; j < MY_KEYS; j++)
                    score[i][j] = FMA(x[i], y[j], score[i][j]);
        }
        UNROLL for (int i = 0; i < MY_ROWS; i++)
            UNROLL for (int j = 0; j < MY_KEYS; j++) {
                int row = down + i * DOWN, column = across + j * ACROSS;
                INT64 query = first_query + row, key = first + column;
                bool visible = key < KEYS_SEEN(query) && key < length &&
                               key >= KEYS_SKIPPED(query);
                scores[row][column] = -INFINITE;
                if (visible && query < QUERIES)
                    scores[row][column] = score[i][j] + MASK(query, key);
            }
        BARRIER();
        LOAD_TILE(of_kv, v_head, V_STRIDE(2), first, length, 1.0f)
        int row = self / ROW_LANES;
        float most = greatest[row], part = 0.0f;
        for (int c = self % ROW_LANES; c < TILE; c += ROW_LANES)
            most = MAX_NAN(most, scores[row][c]);
        most = GROUP_MAX(most, ROW_LANES, 0);
        for (int c = self % ROW_LANES; c < TILE; c += ROW_LANES) {
            scores[row][c] = EXP_BELOW(scores[row][c], most);
            part += scores[row][c];
        }
        part = GROUP_SUM(part, ROW_LANES, 1);
        BARRIER();
        if (self % ROW_LANES == 0) {
            keep[row] = EXP_BELOW(greatest[row], most);
            total[row] = FMA(total[row], keep[row], part);
            greatest[row] = most;
        }
        BARRIER();

// section: tile_values
        UNROLL for (int i = 0; i < MY_ROWS; i++)
            UNROLL for (int j = 0; j < MY_COLUMNS; j++)
                sum[i][j] *= keep[down + i * DOWN];
        for (int c = 0; c < TILE; c++) {
            float x[MY_ROWS];
            UNROLL for (int i = 0; i < MY_ROWS; i++)
                x[i] = scores[down + i * DOWN][c];
            UNROLL for (int j = 0; j < MY_COLUMNS; j++) {
                int column = across + j * ACROSS;
                float y = of_kv[c][column < WIDTH ? column : 0];
                UNROLL for (int i = 0; i < MY_ROWS; i++)
                    sum[i][j] = FMA(x[i], y, sum[i][j]);
            }
        }
        BARRIER();
    }
    UNROLL for (int i = 0; i < MY_ROWS; i++) {
        INT64 query = first_query + down + i * DOWN;
        float all = total[down + i * DOWN];
        UNROLL for (int j = 0; j < MY_COLUMNS; j++)
            if (query < QUERIES && across + j * ACROSS < WIDTH)
                STORE(result, (line * QUERIES + query) * WIDTH + across + j * ACROSS,
                      all == 0.0f ? 0.0f : sum[i][j] / all);
    }
    BARRIER();
}
}
