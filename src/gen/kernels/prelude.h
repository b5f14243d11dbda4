// The macros of dialect.h that are defined by other macros: the same text for every language. It
// follows the prelude of the language.

#define I2F(x) ((float)(x))
#define TRUTH(condition) ((condition) ? 1 : 0)
#define SELECT(truth, a, b) ((truth) ? (float)(a) : (float)(b))
#define ISELECT(truth, a, b) ((truth) ? (int)(a) : (int)(b))
INLINE int IABS(int x) { return x < 0 ? (int)(0u - (UINT32)x) : x; }
INLINE int IDIV(int x, int y) {
    return y == 0 ? 0 : y == -1 ? (int)(0u - (UINT32)x) : x / y;
}
INLINE int IMOD(int x, int y) {
    int rest = y == 0 || y == -1 ? 0 : x % y;
    return rest != 0 && (rest ^ y) < 0 ? rest + y : rest;
}
#ifdef MAX_BY_COMPARISON
INLINE float MAX_NAN(float a, float b) { return a > b || a != a ? a : b; }
INLINE float MIN_NAN(float a, float b) { return a < b || a != a ? a : b; }
#endif
#ifdef BF16_BY_BITS
INLINE UINT16 f32_to_bf16(float x) {
    UINT32 u = AS_UINT(x);
    return (UINT16)(x != x ? u >> 16 | 64 : (u + 32767 + (u >> 16 & 1)) >> 16);
}
#endif
#ifdef PACK_HALVES_BY_PARTS
INLINE UINT32 PACK_F16(float lo, float hi) {
    return (UINT32)f32_to_f16(lo) | (UINT32)f32_to_f16(hi) << 16;
}
INLINE UINT32 PACK_BF16(float lo, float hi) {
    return (UINT32)f32_to_bf16(lo) | (UINT32)f32_to_bf16(hi) << 16;
}
#endif
#define U32_LO_F16(u) f16_to_f32((UINT16)(u))
#define U32_HI_F16(u) f16_to_f32((UINT16)((u) >> 16))
#define U32_LO_BF16(u) AS_FLOAT((UINT32)(u) << 16)
#define U32_HI_BF16(u) AS_FLOAT((UINT32)(u) & 0xffff0000u)
INLINE float ROUND_F16(float x) { return f16_to_f32(f32_to_f16(x)); }
INLINE float ROUND_BF16(float x) { return U32_LO_BF16(f32_to_bf16(x)); }

#define LOAD_F32(p, i) ((p)[i])
#define LOAD_F16(p, i) f16_to_f32((p)[i])
#define LOAD_BF16(p, i) U32_LO_BF16((p)[i])
#define LOAD_I32(p, i) ((p)[i])
#define LOAD_U8(p, i) ((int)(p)[i])
#define STORE_F32(p, i, x) ((p)[i] = (x))
#define STORE_F16(p, i, x) ((p)[i] = f32_to_f16(x))
#define STORE_BF16(p, i, x) ((p)[i] = f32_to_bf16(x))
#define STORE_I32(p, i, x) ((p)[i] = (x))
#define STORE_U8(p, i, x) ((p)[i] = (UCHAR)(x))
#define LOAD16(p) (*(GLOBAL const WORDS4 *)(p))
#define LOAD8(p) (*(GLOBAL const WORDS2 *)(p))
#define LOAD4(p) (*(GLOBAL const UINT32 *)(p))
#define STORE16(p, words) (*(GLOBAL WORDS4 *)(p) = (words))
#define STORE8(p, words) (*(GLOBAL WORDS2 *)(p) = (words))
#define STORE4(p, word) (*(GLOBAL UINT32 *)(p) = (word))
#define SHARED_LOAD16(p) (*(IN_SHARED const WORDS4 *)(p))
#define SHARED_STORE16(p, words) (*(IN_SHARED WORDS4 *)(p) = (words))
#define SAME(x) (x)
#define AS_INT(u) ((int)(u))
#define INT_AS_UINT(x) ((UINT32)(x))

#define WHOLE_WORDS(NAME, TYPE, FROM, TO) \
    INLINE void LOAD_##NAME##_2(GLOBAL const TYPE *p, PRIVATE TYPE *a) { \
        WORDS2 w = LOAD8(p); \
        a[0] = FROM(w.x), a[1] = FROM(w.y); \
    } \
    INLINE void LOAD_##NAME##_4(GLOBAL const TYPE *p, PRIVATE TYPE *a) { \
        WORDS4 w = LOAD16(p); \
        a[0] = FROM(w.x), a[1] = FROM(w.y), a[2] = FROM(w.z), a[3] = FROM(w.w); \
    } \
    INLINE void LOAD_##NAME##_8(GLOBAL const TYPE *p, PRIVATE TYPE *a) { \
        LOAD_##NAME##_4(p, a); \
        LOAD_##NAME##_4(p + 4, a + 4); \
    } \
    INLINE void STORE_##NAME##_2(GLOBAL TYPE *p, PRIVATE const TYPE *a) { \
        STORE8(p, MAKE_WORDS2(TO(a[0]), TO(a[1]))); \
    } \
    INLINE void STORE_##NAME##_4(GLOBAL TYPE *p, PRIVATE const TYPE *a) { \
        STORE16(p, MAKE_WORDS4(TO(a[0]), TO(a[1]), TO(a[2]), TO(a[3]))); \
    } \
    INLINE void STORE_##NAME##_8(GLOBAL TYPE *p, PRIVATE const TYPE *a) { \
        STORE_##NAME##_4(p, a); \
        STORE_##NAME##_4(p + 4, a + 4); \
    }
WHOLE_WORDS(F32, float, AS_FLOAT, AS_UINT)
WHOLE_WORDS(I32, int, AS_INT, INT_AS_UINT)

#define HALF_WORDS(NAME) \
    INLINE void LOAD_##NAME##_2(GLOBAL const UINT16 *p, PRIVATE float *a) { \
        UINT32 w = LOAD4(p); \
        a[0] = U32_LO_##NAME(w), a[1] = U32_HI_##NAME(w); \
    } \
    INLINE void LOAD_##NAME##_4(GLOBAL const UINT16 *p, PRIVATE float *a) { \
        WORDS2 w = LOAD8(p); \
        a[0] = U32_LO_##NAME(w.x), a[1] = U32_HI_##NAME(w.x); \
        a[2] = U32_LO_##NAME(w.y), a[3] = U32_HI_##NAME(w.y); \
    } \
    INLINE void LOAD_##NAME##_8(GLOBAL const UINT16 *p, PRIVATE float *a) { \
        WORDS4 w = LOAD16(p); \
        a[0] = U32_LO_##NAME(w.x), a[1] = U32_HI_##NAME(w.x); \
        a[2] = U32_LO_##NAME(w.y), a[3] = U32_HI_##NAME(w.y); \
        a[4] = U32_LO_##NAME(w.z), a[5] = U32_HI_##NAME(w.z); \
        a[6] = U32_LO_##NAME(w.w), a[7] = U32_HI_##NAME(w.w); \
    } \
    INLINE void STORE_##NAME##_2(GLOBAL UINT16 *p, PRIVATE const float *a) { \
        STORE4(p, PACK_##NAME(a[0], a[1])); \
    } \
    INLINE void STORE_##NAME##_4(GLOBAL UINT16 *p, PRIVATE const float *a) { \
        STORE8(p, MAKE_WORDS2(PACK_##NAME(a[0], a[1]), PACK_##NAME(a[2], a[3]))); \
    } \
    INLINE void STORE_##NAME##_8(GLOBAL UINT16 *p, PRIVATE const float *a) { \
        STORE16(p, MAKE_WORDS4(PACK_##NAME(a[0], a[1]), PACK_##NAME(a[2], a[3]), \
                               PACK_##NAME(a[4], a[5]), PACK_##NAME(a[6], a[7]))); \
    }
HALF_WORDS(F16)
HALF_WORDS(BF16)

INLINE void bytes_of(UINT32 w, PRIVATE int *a) {
    a[0] = (int)(w & 255), a[1] = (int)(w >> 8 & 255);
    a[2] = (int)(w >> 16 & 255), a[3] = (int)(w >> 24);
}
INLINE UINT32 word_of(PRIVATE const int *a) {
    return ((UINT32)a[0] & 255) | ((UINT32)a[1] & 255) << 8 | ((UINT32)a[2] & 255) << 16 |
           (UINT32)a[3] << 24;
}
INLINE void LOAD_U8_2(GLOBAL const UCHAR *p, PRIVATE int *a) { a[0] = p[0], a[1] = p[1]; }
INLINE void LOAD_U8_4(GLOBAL const UCHAR *p, PRIVATE int *a) { bytes_of(LOAD4(p), a); }
INLINE void LOAD_U8_8(GLOBAL const UCHAR *p, PRIVATE int *a) {
    WORDS2 w = LOAD8(p);
    bytes_of(w.x, a);
    bytes_of(w.y, a + 4);
}
INLINE void STORE_U8_2(GLOBAL UCHAR *p, PRIVATE const int *a) {
    p[0] = (UCHAR)a[0], p[1] = (UCHAR)a[1];
}
INLINE void STORE_U8_4(GLOBAL UCHAR *p, PRIVATE const int *a) { STORE4(p, word_of(a)); }
INLINE void STORE_U8_8(GLOBAL UCHAR *p, PRIVATE const int *a) {
    STORE8(p, MAKE_WORDS2(word_of(a), word_of(a + 4)));
}

#define COMBINE_SUM(a, b) ((a) + (b))
#define COMBINE_MAX(a, b) MAX_NAN(a, b)
#define COMBINE_MIN(a, b) MIN_NAN(a, b)
#define COMBINE_SUM_INT(a, b) ((int)((UINT32)(a) + (UINT32)(b)))
#define COMBINE_MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define COMBINE_MIN_INT(a, b) ((a) < (b) ? (a) : (b))
/* Whether element j, of value w, goes before element i, of value v: NaN first, then the order of
   the values, then that of the elements. */
#define BEFORE_ARGMAX(v, i, w, j) \
    ((w) > (v) || ((w) != (w) && (v) == (v)) || \
     (((w) == (v) || ((w) != (w) && (v) != (v))) && (j) < (i)))
#define BEFORE_ARGMIN(v, i, w, j) \
    ((w) < (v) || ((w) != (w) && (v) == (v)) || \
     (((w) == (v) || ((w) != (w) && (v) != (v))) && (j) < (i)))
/* The same for a thread that meets its elements in order. */
#define AFTER_ARGMAX(v, w) (!((w) <= (v)) && (v) == (v))
#define AFTER_ARGMIN(v, w) (!((w) >= (v)) && (v) == (v))
/* Adds x to sum, keeping in carry what rounding took away. */
INLINE void add_compensated(PRIVATE float *sum, PRIVATE float *carry, float x) {
    float y = x - *carry, total = *sum + y, lost = (total - *sum) - y;
    *carry = ABS(lost) < INFINITE ? lost : 0.0f;
    *sum = total;
}

#if SUBGROUP > 1
#define GROUP_REDUCTION(NAME, TYPE, FROM, TO) \
    INLINE TYPE group_##NAME(TYPE x, const UINT32 width, IN_SHARED UINT32 *scratch, \
                             UINT32 self) { \
        UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2) \
            if (step < width) { \
                TYPE other = SHUFFLE_XOR(x, step); \
                x = COMBINE_##NAME(x, other); \
            } \
        if (width > SUBGROUP) { \
            if (self % SUBGROUP == 0) \
                scratch[self / SUBGROUP] = TO(x); \
            BARRIER(); \
            UINT32 first = self / width * (width / SUBGROUP); \
            x = FROM(scratch[first]); \
            UNROLL for (UINT32 i = 1; i < width / SUBGROUP; i++) \
                x = COMBINE_##NAME(x, FROM(scratch[first + i])); \
        } \
        return x; \
    }
#define GROUP_CHOICE(NAME, SUFFIX, TYPE, FROM, TO) \
    INLINE int group_##NAME##SUFFIX(TYPE v, int i, const UINT32 width, \
                                    IN_SHARED UINT32 *scratch, UINT32 self) { \
        UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2) \
            if (step < width) { \
                TYPE w = SHUFFLE_XOR(v, step); \
                int j = SHUFFLE_XOR(i, step); \
                if (BEFORE_##NAME(v, i, w, j)) \
                    v = w, i = j; \
            } \
        if (width > SUBGROUP) { \
            if (self % SUBGROUP == 0) { \
                scratch[self / SUBGROUP * 2] = TO(v); \
                scratch[self / SUBGROUP * 2 + 1] = (UINT32)i; \
            } \
            BARRIER(); \
            UINT32 first = self / width * (width / SUBGROUP); \
            for (UINT32 at = first; at < first + width / SUBGROUP; at++) { \
                TYPE w = FROM(scratch[at * 2]); \
                int j = (int)scratch[at * 2 + 1]; \
                if (BEFORE_##NAME(v, i, w, j)) \
                    v = w, i = j; \
            } \
        } \
        return i; \
    }
INLINE float SUBGROUP_SUM(float x) {
    UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2)
        x += SHUFFLE_XOR(x, step);
    return x;
}
INLINE float SUBGROUP_MAX(float x) {
    UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2)
        x = MAX_NAN(x, SHUFFLE_XOR(x, step));
    return x;
}
#else
#define GROUP_REDUCTION(NAME, TYPE, FROM, TO) \
    INLINE TYPE group_##NAME(TYPE x, const UINT32 width, IN_SHARED UINT32 *scratch, \
                             UINT32 self) { \
        if (width == 1) \
            return x; \
        scratch[self] = TO(x); \
        BARRIER(); \
        for (UINT32 step = width / 2; step > 0; step /= 2) { \
            if (self % width < step) \
                scratch[self] = \
                    TO(COMBINE_##NAME(FROM(scratch[self]), FROM(scratch[self + step]))); \
            BARRIER(); \
        } \
        return FROM(scratch[self - self % width]); \
    }
#define GROUP_CHOICE(NAME, SUFFIX, TYPE, FROM, TO) \
    INLINE int group_##NAME##SUFFIX(TYPE v, int i, const UINT32 width, \
                                    IN_SHARED UINT32 *scratch, UINT32 self) { \
        if (width == 1) \
            return i; \
        scratch[self * 2] = TO(v); \
        scratch[self * 2 + 1] = (UINT32)i; \
        BARRIER(); \
        for (UINT32 step = width / 2; step > 0; step /= 2) { \
            if (self % width < step) { \
                TYPE w = FROM(scratch[(self + step) * 2]); \
                int j = (int)scratch[(self + step) * 2 + 1]; \
                if (BEFORE_##NAME(v, i, w, j)) { \
                    v = w, i = j; \
                    scratch[self * 2] = TO(v); \
                    scratch[self * 2 + 1] = (UINT32)i; \
                } \
            } \
            BARRIER(); \
        } \
        return (int)scratch[(self - self % width) * 2 + 1]; \
    }
#endif
GROUP_REDUCTION(SUM, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(MAX, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(MIN, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(SUM_INT, int, AS_INT, INT_AS_UINT)
GROUP_REDUCTION(MAX_INT, int, AS_INT, INT_AS_UINT)
GROUP_REDUCTION(MIN_INT, int, AS_INT, INT_AS_UINT)
GROUP_CHOICE(ARGMAX, , float, AS_FLOAT, AS_UINT)
GROUP_CHOICE(ARGMIN, , float, AS_FLOAT, AS_UINT)
GROUP_CHOICE(ARGMAX, _INT, int, AS_INT, INT_AS_UINT)
GROUP_CHOICE(ARGMIN, _INT, int, AS_INT, INT_AS_UINT)
#define GROUP_SUM(x, width, scratch) group_SUM(x, width, scratch, THREAD_X)
#define GROUP_MAX(x, width, scratch) group_MAX(x, width, scratch, THREAD_X)
#define GROUP_MIN(x, width, scratch) group_MIN(x, width, scratch, THREAD_X)
#define GROUP_SUM_INT(x, width, scratch) group_SUM_INT(x, width, scratch, THREAD_X)
#define GROUP_MAX_INT(x, width, scratch) group_MAX_INT(x, width, scratch, THREAD_X)
#define GROUP_MIN_INT(x, width, scratch) group_MIN_INT(x, width, scratch, THREAD_X)
INLINE float block_sum(float x, IN_SHARED UINT32 *scratch, UINT32 self, UINT32 threads) {
    x = group_SUM(x, threads, scratch, self);
    BARRIER();
    return x;
}
INLINE float block_max(float x, IN_SHARED UINT32 *scratch, UINT32 self, UINT32 threads) {
    x = group_MAX(x, threads, scratch, self);
    BARRIER();
    return x;
}
#define BLOCK_SUM(x, scratch) block_sum(x, scratch, THREAD_X, THREADS_X)
#define BLOCK_MAX(x, scratch) block_max(x, scratch, THREAD_X, THREADS_X)
/* x / y for many x and one y: the quotient by the reciprocal, put right by what remains. Scaling keeps
   the reciprocal of a very small or large y in range; by an infinite y nothing remains. */
struct divisor {
    float y, scale, scaled, inverse;
};
INLINE struct divisor divisor_of(float y) {
    struct divisor d;
    d.y = y;
    d.scale = ABS(y) < 1.0e-37f ? 1.8446744e19f : ABS(y) > 1.0e37f ? 5.4210109e-20f : 1.0f;
    d.inverse = 1.0f / (y * d.scale);
    d.scaled = ABS(y) < INFINITE ? y * d.scale : 0.0f;
    return d;
}
INLINE float divide_by(float x, struct divisor d) {
#ifdef FMA_IS_SLOW
    return x / d.y;
#else
    float numerator = x * d.scale, quotient = numerator * d.inverse;
    float better = FMA(FMA(-quotient, d.scaled, numerator), d.inverse, quotient);
    return ABS(quotient) < INFINITE ? better : quotient;
#endif
}
/* n / size by the divisor that the launch brings with the size: exact for n below 2^31. */
INLINE UINT32 divide(UINT32 n, INT64 divisor) {
    return (UINT32)((UINT64)n * (UINT32)divisor >> (UINT32)(divisor >> 32));
}
