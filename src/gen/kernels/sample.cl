// One index per row of logits, drawn from softmax(logits / temperature) after top-k and top-p.
//
// Both cuts keep the logits above a threshold. Bits of a float, with the negative ones reversed,
// are in the order of the floats, so a threshold is found bit by bit: the largest that still keeps
// k logits, or the share p of the probability. The draw is the greatest of the scores plus Gumbel
// noise, which has the distribution of the softmax.

// section: body
#define ORDER_BITS(u) (((u) & 0x80000000u) != 0u ? ~(u) : (u) | 0x80000000u)
#define LOGIT(x) ((x) == (x) ? (x) : -INFINITE)
#define SCORE(x) ((x) == greatest ? 0.0f : ((x) - greatest) * SAMPLE_INVERSE)
#define SAMPLE_ROWS scalars.v[0]
#define SAMPLE_LENGTH scalars.v[1]
#define SAMPLE_INVERSE AS_FLOAT(CAST(UINT32, scalars.v[2]))
#define SAMPLE_TOP_K scalars.v[3]
#define SAMPLE_TOP_P AS_FLOAT(CAST(UINT32, scalars.v[4]))
#define SAMPLE_KEY CAST(UINT64, scalars.v[5])
#define SAMPLE_STEP_STRIDE scalars.v[6]
FOR_EACH_ROW(row, SAMPLE_ROWS) {
    CONST_POINTER(TYPE) line = AT(logits, row * SAMPLE_LENGTH);
    float greatest = -INFINITE;
    for (INT64 i = THREAD_X; i < SAMPLE_LENGTH; i += THREADS_X) {
        float value = LOAD(line, i);
        value = LOGIT(value);
        greatest = value > greatest ? value : greatest;
    }
    greatest = BLOCK_MAX(greatest, 0);
    // Rounds 32 and more count logits, from the top bit on, round 32 also the probability of those
    // that are left; rounds 31 to 0 measure probability. They are one loop, because compilers for
    // CPUs are slow with several that have barriers.
    UINT32 threshold = 0u, nucleus = 0u;
    float total = 0.0f;
    bool counts = SAMPLE_TOP_K > 0 && SAMPLE_TOP_K < SAMPLE_LENGTH;
    int round = SAMPLE_TOP_P < 1.0f || counts ? counts ? 64 : 32 : -1;
    int last = SAMPLE_TOP_P < 1.0f ? 0 : 33;
    for (; round >= last; round--) {
        bool counting = round > 32;
        UINT32 found = counting ? threshold : nucleus;
        UINT32 candidate = round == 32 ? 0u : found | 1u << (counting ? round - 33 : round);
        UINT32 least = candidate > threshold ? candidate : threshold;
        float sum = 0.0f;
        for (INT64 i = THREAD_X; i < SAMPLE_LENGTH; i += THREADS_X) {
            float value = LOAD(line, i);
            value = LOGIT(value);
            if (ORDER_BITS(AS_UINT(value)) >= least)
                sum += counting ? 1.0f : EXP(SCORE(value));
        }
        sum = BLOCK_SUM(sum, 0);
        total = round == 32 ? sum : total;
        bool keeps = sum >= (counting ? CAST(float, SAMPLE_TOP_K) : SAMPLE_TOP_P * total);
        threshold = counting && keeps ? candidate : threshold;
        nucleus = round < 32 && keeps ? candidate : nucleus;
    }
    threshold = nucleus > threshold ? nucleus : threshold;
    int step = LOAD_I32(steps, row * SAMPLE_STEP_STRIDE);
    UINT64 draw = (CAST(UINT64, CAST(UINT32, step)) * CAST(UINT64, SAMPLE_ROWS) +
                   CAST(UINT64, row)) * CAST(UINT64, SAMPLE_LENGTH);
    float best = -INFINITE;
    int at = CAST(int, SAMPLE_LENGTH);
    for (INT64 i = THREAD_X; i < SAMPLE_LENGTH; i += THREADS_X) {
        float value = LOAD(line, i);
        value = LOGIT(value);
        UINT32 bits = CAST(UINT32, random_bits(SAMPLE_KEY, draw + CAST(UINT64, i)) >> 32);
        float share = (CAST(float, bits) + 0.5f) * 2.3283064365386963e-10f;
        float score = SCORE(value) - LOG(-LOG1P(-share));
        if (ORDER_BITS(AS_UINT(value)) >= threshold && value > -INFINITE && score > best) {
            best = score;
            at = CAST(int, i);
        }
    }
    at = GROUP_ARGMAX(best, at, THREADS, 0);
    if (THREAD_X == 0u)
        STORE_I32(result, row, at < CAST(int, SAMPLE_LENGTH) ? at : 0);
    BARRIER();
}
}
