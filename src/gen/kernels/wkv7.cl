// The RWKV-7 recurrence; gen/emit/wkv7.c describes the method.

// section: macros
#define PER_LANE ((WIDTH + LANES - 1) / LANES)
#define PER_LOAD ((5 * WIDTH + THREADS - 1) / THREADS)
#define PARTS ((WIDTH + ROWS - 1) / ROWS)
// Element e of the five vectors of a token, one after the other.
#define READ_NEXT(place) \
    UNROLL for (int i = 0; i < PER_LOAD; i++) { \
        int e = self + i * THREADS; \
        if (e < 5 * WIDTH) { \
            int which = e / WIDTH; \
            CONST_POINTER(TYPE) from = which == 0 ? r : which == 1 ? w : which == 2 ? k : \
                                      which == 3 ? a : b; \
            next[i] = LOAD(from, (place) + e % WIDTH); \
        } \
    }
#define KEEP_NEXT(side) \
    UNROLL for (int i = 0; i < PER_LOAD; i++) \
        if (self + i * THREADS < 5 * WIDTH) \
            vectors[side][self + i * THREADS] = next[i];

#define OF_R(j) vectors[side][j]
#define OF_W(j) vectors[side][WIDTH + (j)]
#define OF_K(j) vectors[side][2 * WIDTH + (j)]
#define OF_A(j) vectors[side][3 * WIDTH + (j)]
#define OF_B(j) vectors[side][4 * WIDTH + (j)]

// section: shared
SHARED float vectors[2][5 * WIDTH];

// section: body
int self = CAST(int, THREAD_X), lane = self % LANES;
INT64 batches = scalars.v[0], tokens = scalars.v[1], heads = scalars.v[2];
for (INT64 task = BLOCK_X; task < batches * heads * PARTS; task += GRID_X) {
    INT64 line = task / PARTS, batch = line / heads, head = line % heads;
    int row = CAST(int, task % PARTS) * ROWS + self / LANES;
    bool inside = row < WIDTH;
    INT64 at = (batch * tokens * heads + head) * WIDTH, token_stride = heads * WIDTH;
    INT64 state_at = (line * WIDTH + (inside ? row : 0)) * WIDTH;
    float s[PER_LANE], next[PER_LOAD], of_v = 0.0f, next_v = 0.0f;
    UNROLL for (int i = 0; i < PER_LANE; i++)
        s[i] = lane + i * LANES < WIDTH ? LOAD_F32(state, state_at + lane + i * LANES) : 0.0f;
    if (tokens > 0) {
        READ_NEXT(at)
        KEEP_NEXT(0)
        of_v = inside ? LOAD(v, at + row) : 0.0f;
    }
    BARRIER();
    for (INT64 token = 0; token < tokens; token++, at += token_stride) {
        int side = CAST(int, token & 1);
        if (token + 1 < tokens) {
            READ_NEXT(at + token_stride)
            next_v = inside ? LOAD(v, at + token_stride + row) : 0.0f;
        }
        float sum = 0.0f, y_sum = 0.0f;
        UNROLL for (int i = 0; i < PER_LANE; i++)
            if (lane + i * LANES < WIDTH)
                sum = FMA(s[i], OF_A(lane + i * LANES), sum);
        sum = GROUP_SUM(sum, LANES, 0);
        UNROLL for (int i = 0; i < PER_LANE; i++)
            if (lane + i * LANES < WIDTH) {
                int j = lane + i * LANES;
                s[i] = FMA(s[i], OF_W(j), FMA(sum, OF_B(j), of_v * OF_K(j)));
                y_sum = FMA(s[i], OF_R(j), y_sum);
            }
        y_sum = GROUP_SUM(y_sum, LANES, 1);
        if (inside && lane == 0)
            STORE(y, at + row, y_sum);
        if (token + 1 < tokens) {
            KEEP_NEXT(1 - side)
        }
        of_v = next_v;
        BARRIER();
    }
    UNROLL for (int i = 0; i < PER_LANE; i++)
        if (inside && lane + i * LANES < WIDTH)
            STORE_F32(state_after, state_at + lane + i * LANES, s[i]);
}
}
