// The macros of dialect.h that are defined by other macros: the same text for every language. It
// follows the prelude of the language.

// section: pointers
// In languages with pointers.
#define CAST(T, x) ((T)(x))
#define POINTER(T) GLOBAL T *
#define CONST_POINTER(T) GLOBAL const T *
#define POINTER_CAST(T, p) ((GLOBAL T *)(p))
#define CONST_POINTER_CAST(T, p) ((GLOBAL const T *)(p))
#define AT(p, i) ((p) + (i))
#define ELEMENT(p, i) ((p)[i])
#define ADDRESS(p) ((UINT64)(p))
#define DISTANCE(p, q) ((p) - (q))
#define DIVISOR struct divisor
#define PRIVATE_ARRAY(T, name, count) PRIVATE T *name
#define SHARED_FLOATS(name, count) \
    SHARED WORDS4 name##_words[(count) / 4]; \
    IN_SHARED float *name = (IN_SHARED float *)name##_words;
#define SHARED_LOAD16(array, i) (*(IN_SHARED const WORDS4 *)((array) + (i)))
#define SCRATCH_PARAMETER IN_SHARED UINT32 *scratch
#define SCRATCH(i) scratch[i]
#define SCRATCH_HERE scratch
#define PRECISE

// section: common

#define I2F(x) CAST(float, x)
#define TRUTH(condition) ((condition) ? 1 : 0)
#define SELECT(truth, a, b) ((truth) != 0 ? CAST(float, a) : CAST(float, b))
#define ISELECT(truth, a, b) ((truth) != 0 ? CAST(int, a) : CAST(int, b))
INLINE int IABS(int x) { return x < 0 ? CAST(int, 0u - CAST(UINT32, x)) : x; }
INLINE int IDIV(int x, int y) {
    return y == 0 ? 0 : y == -1 ? CAST(int, 0u - CAST(UINT32, x)) : x / y;
}
INLINE int IMOD(int x, int y) {
    int rest = y == 0 || y == -1 ? 0 : x % y;
    return rest != 0 && (rest ^ y) < 0 ? rest + y : rest;
}
/* The remainder with the sign of y. Mantissas are divided as integers, which is exact for quotients
   of any size. */
INLINE float MOD(float x, float y) {
    UINT32 a = AS_UINT(x) & 0x7fffffffu, b = AS_UINT(y) & 0x7fffffffu;
    if (b == 0u || a >= 0x7f800000u || b > 0x7f800000u)
        return AS_FLOAT(0x7fc00000u);
    float rest = x;
    if (a >= b) {
        UINT32 above = a >> 23, exponent = b >> 23;
        UINT64 n = above > 0u ? (a & 0x7fffffu) | 0x800000u : a;
        UINT64 d = exponent > 0u ? (b & 0x7fffffu) | 0x800000u : b;
        exponent = exponent > 0u ? exponent : 1u;
        UINT32 left = (above > 0u ? above : 1u) - exponent;
        n %= d;
        while (left > 0u) {
            UINT32 step = left < 40u ? left : 40u;
            n = (n << step) % d;
            left -= step;
        }
        UINT32 bits = CAST(UINT32, n);
        while (bits != 0u && bits < 0x800000u && exponent > 1u) {
            bits <<= 1;
            exponent--;
        }
        bits = bits >= 0x800000u ? exponent << 23 | (bits & 0x7fffffu) : bits;
        rest = AS_FLOAT(bits | (AS_UINT(x) & 0x80000000u));
    }
    return rest != 0.0f && (rest < 0.0f) != (y < 0.0f) ? rest + y : rest;
}
#ifdef MAX_BY_COMPARISON
INLINE float MAX_NAN(float a, float b) { return a > b || a != a ? a : b; }
INLINE float MIN_NAN(float a, float b) { return a < b || a != a ? a : b; }
#endif
#ifdef BF16_BY_BITS
INLINE UINT32 f32_to_bf16(float x) {
    UINT32 u = AS_UINT(x);
    return x != x ? u >> 16 | 64u : (u + 32767u + (u >> 16 & 1u)) >> 16;
}
#endif
#ifdef PACK_HALVES_BY_PARTS
INLINE UINT32 PACK_F16(float lo, float hi) {
    return CAST(UINT32, f32_to_f16(lo)) | CAST(UINT32, f32_to_f16(hi)) << 16;
}
INLINE UINT32 PACK_BF16(float lo, float hi) {
    return CAST(UINT32, f32_to_bf16(lo)) | CAST(UINT32, f32_to_bf16(hi)) << 16;
}
#endif
#ifndef U32_LO_F16
#define U32_LO_F16(u) f16_to_f32(CAST(UINT16, u))
#define U32_HI_F16(u) f16_to_f32(CAST(UINT16, (u) >> 16))
#endif
#define U32_LO_BF16(u) AS_FLOAT(CAST(UINT32, u) << 16)
#define U32_HI_BF16(u) AS_FLOAT(CAST(UINT32, u) & 0xffff0000u)
INLINE float ROUND_F16(float x) { return f16_to_f32(f32_to_f16(x)); }
INLINE float ROUND_BF16(float x) { return U32_LO_BF16(f32_to_bf16(x)); }

#define LOAD_F32(p, i) ELEMENT(p, i)
#define LOAD_F16(p, i) f16_to_f32(ELEMENT(p, i))
#define LOAD_BF16(p, i) U32_LO_BF16(ELEMENT(p, i))
#define LOAD_I32(p, i) ELEMENT(p, i)
#define LOAD_U8(p, i) CAST(int, ELEMENT(p, i))
#define STORE_F32(p, i, x) (ELEMENT(p, i) = (x))
#define STORE_F16(p, i, x) (ELEMENT(p, i) = CAST(UINT16, f32_to_f16(x)))
#define STORE_BF16(p, i, x) (ELEMENT(p, i) = CAST(UINT16, f32_to_bf16(x)))
#define STORE_I32(p, i, x) (ELEMENT(p, i) = (x))
#define STORE_U8(p, i, x) (ELEMENT(p, i) = CAST(UCHAR, x))
#define LOAD16(p) ELEMENT(CONST_POINTER_CAST(WORDS4, p), 0)
#define LOAD8(p) ELEMENT(CONST_POINTER_CAST(WORDS2, p), 0)
#define LOAD4(p) ELEMENT(CONST_POINTER_CAST(UINT32, p), 0)
#define STORE16(p, words) (ELEMENT(POINTER_CAST(WORDS4, p), 0) = (words))
#define STORE8(p, words) (ELEMENT(POINTER_CAST(WORDS2, p), 0) = (words))
#define STORE4(p, word) (ELEMENT(POINTER_CAST(UINT32, p), 0) = (word))
#define SAME(x) (x)
#define AS_INT(u) CAST(int, u)
#define INT_AS_UINT(x) CAST(UINT32, x)

// Statements, not functions: GLSL has no pointers to private arrays.
#define WORDS_TO_2(p, a, first, FROM) { \
        WORDS2 words_ = LOAD8(p); \
        (a)[first] = FROM(words_.x), (a)[(first) + 1] = FROM(words_.y); \
    }
#define WORDS_TO_4(p, a, first, FROM) { \
        WORDS4 words_ = LOAD16(p); \
        (a)[first] = FROM(words_.x), (a)[(first) + 1] = FROM(words_.y); \
        (a)[(first) + 2] = FROM(words_.z), (a)[(first) + 3] = FROM(words_.w); \
    }
#define WORDS_TO_8(p, a, first, FROM) { \
        WORDS_TO_4(p, a, first, FROM) \
        WORDS_TO_4(AT(p, 4), a, (first) + 4, FROM) \
    }
#define LOAD_F32_2(p, a, first) WORDS_TO_2(p, a, first, AS_FLOAT)
#define LOAD_F32_4(p, a, first) WORDS_TO_4(p, a, first, AS_FLOAT)
#define LOAD_F32_8(p, a, first) WORDS_TO_8(p, a, first, AS_FLOAT)
#define LOAD_I32_2(p, a, first) WORDS_TO_2(p, a, first, AS_INT)
#define LOAD_I32_4(p, a, first) WORDS_TO_4(p, a, first, AS_INT)
#define LOAD_I32_8(p, a, first) WORDS_TO_8(p, a, first, AS_INT)
#define STORE_F32_2(p, a) STORE8(p, MAKE_WORDS2(AS_UINT((a)[0]), AS_UINT((a)[1])))
#define STORE_I32_2(p, a) STORE8(p, MAKE_WORDS2(INT_AS_UINT((a)[0]), INT_AS_UINT((a)[1])))
#define WORDS_FROM_4(a, first, TO) \
    MAKE_WORDS4(TO((a)[first]), TO((a)[(first) + 1]), TO((a)[(first) + 2]), TO((a)[(first) + 3]))
#define STORE_F32_4(p, a) STORE16(p, WORDS_FROM_4(a, 0, AS_UINT))
#define STORE_I32_4(p, a) STORE16(p, WORDS_FROM_4(a, 0, INT_AS_UINT))
#define STORE_F32_8(p, a) { \
        STORE16(p, WORDS_FROM_4(a, 0, AS_UINT)); \
        STORE16(AT(p, 4), WORDS_FROM_4(a, 4, AS_UINT)); \
    }
#define STORE_I32_8(p, a) { \
        STORE16(p, WORDS_FROM_4(a, 0, INT_AS_UINT)); \
        STORE16(AT(p, 4), WORDS_FROM_4(a, 4, INT_AS_UINT)); \
    }

#define HALVES_OF(word, a, first, LO, HI) \
    (a)[first] = LO(word), (a)[(first) + 1] = HI(word);
#define HALVES_TO_2(p, a, first, LO, HI) { \
        UINT32 word_ = LOAD4(p); \
        HALVES_OF(word_, a, first, LO, HI) \
    }
#define HALVES_TO_4(p, a, first, LO, HI) { \
        WORDS2 words_ = LOAD8(p); \
        HALVES_OF(words_.x, a, first, LO, HI) \
        HALVES_OF(words_.y, a, (first) + 2, LO, HI) \
    }
#define HALVES_TO_8(p, a, first, LO, HI) { \
        WORDS4 words_ = LOAD16(p); \
        HALVES_OF(words_.x, a, first, LO, HI) \
        HALVES_OF(words_.y, a, (first) + 2, LO, HI) \
        HALVES_OF(words_.z, a, (first) + 4, LO, HI) \
        HALVES_OF(words_.w, a, (first) + 6, LO, HI) \
    }
#define LOAD_F16_2(p, a, first) HALVES_TO_2(p, a, first, U32_LO_F16, U32_HI_F16)
#define LOAD_F16_4(p, a, first) HALVES_TO_4(p, a, first, U32_LO_F16, U32_HI_F16)
#define LOAD_F16_8(p, a, first) HALVES_TO_8(p, a, first, U32_LO_F16, U32_HI_F16)
#define LOAD_BF16_2(p, a, first) HALVES_TO_2(p, a, first, U32_LO_BF16, U32_HI_BF16)
#define LOAD_BF16_4(p, a, first) HALVES_TO_4(p, a, first, U32_LO_BF16, U32_HI_BF16)
#define LOAD_BF16_8(p, a, first) HALVES_TO_8(p, a, first, U32_LO_BF16, U32_HI_BF16)
#define HALVES_FROM_2(p, a, PACK) STORE4(p, PACK((a)[0], (a)[1]))
#define HALVES_FROM_4(p, a, PACK) \
    STORE8(p, MAKE_WORDS2(PACK((a)[0], (a)[1]), PACK((a)[2], (a)[3])))
#define HALVES_FROM_8(p, a, PACK) \
    STORE16(p, MAKE_WORDS4(PACK((a)[0], (a)[1]), PACK((a)[2], (a)[3]), PACK((a)[4], (a)[5]), \
                           PACK((a)[6], (a)[7])))
#define STORE_F16_2(p, a) HALVES_FROM_2(p, a, PACK_F16)
#define STORE_F16_4(p, a) HALVES_FROM_4(p, a, PACK_F16)
#define STORE_F16_8(p, a) HALVES_FROM_8(p, a, PACK_F16)
#define STORE_BF16_2(p, a) HALVES_FROM_2(p, a, PACK_BF16)
#define STORE_BF16_4(p, a) HALVES_FROM_4(p, a, PACK_BF16)
#define STORE_BF16_8(p, a) HALVES_FROM_8(p, a, PACK_BF16)

#define BYTES_OF(word, a, first) \
    (a)[first] = CAST(int, (word) & 255u), (a)[(first) + 1] = CAST(int, (word) >> 8 & 255u), \
    (a)[(first) + 2] = CAST(int, (word) >> 16 & 255u), (a)[(first) + 3] = CAST(int, (word) >> 24);
INLINE UINT32 word_of(int a, int b, int c, int d) {
    return (CAST(UINT32, a) & 255u) | (CAST(UINT32, b) & 255u) << 8 |
           (CAST(UINT32, c) & 255u) << 16 | CAST(UINT32, d) << 24;
}
#define WORD_AT(a, first) \
    word_of((a)[first], (a)[(first) + 1], (a)[(first) + 2], (a)[(first) + 3])
#define LOAD_U8_2(p, a, first) \
    ((a)[first] = LOAD_U8(p, 0), (a)[(first) + 1] = LOAD_U8(p, 1))
#define LOAD_U8_4(p, a, first) { \
        UINT32 word_ = LOAD4(p); \
        BYTES_OF(word_, a, first) \
    }
#define LOAD_U8_8(p, a, first) { \
        WORDS2 words_ = LOAD8(p); \
        BYTES_OF(words_.x, a, first) \
        BYTES_OF(words_.y, a, (first) + 4) \
    }
#define STORE_U8_2(p, a) { \
        STORE_U8(p, 0, (a)[0]); \
        STORE_U8(p, 1, (a)[1]); \
    }
#define STORE_U8_4(p, a) STORE4(p, WORD_AT(a, 0))
#define STORE_U8_8(p, a) STORE8(p, MAKE_WORDS2(WORD_AT(a, 0), WORD_AT(a, 4)))

#define COMBINE_SUM(a, b) ((a) + (b))
#define COMBINE_MAX(a, b) MAX_NAN(a, b)
#define COMBINE_MIN(a, b) MIN_NAN(a, b)
#define COMBINE_SUM_INT(a, b) (CAST(int, CAST(UINT32, a) + CAST(UINT32, b)))
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
#define ADD_COMPENSATED(sum, carry, x) { \
        PRECISE float y_ = (x) - (carry), total_ = (sum) + y_, lost_ = (total_ - (sum)) - y_; \
        carry = ABS(lost_) < INFINITE ? lost_ : 0.0f; \
        sum = total_; \
    }

/* x / y for many x and one y: the quotient by the reciprocal, put right by what remains. Scaling keeps
   the reciprocal of a very small or large y in range; by an infinite y nothing remains. */
struct divisor {
    float y, scale, scaled, inverse;
};
INLINE DIVISOR divisor_of(float y) {
    DIVISOR d;
    d.y = y;
    d.scale = ABS(y) < 1.0e-37f ? 1.8446744e19f : ABS(y) > 1.0e37f ? 5.4210109e-20f : 1.0f;
    d.inverse = 1.0f / (y * d.scale);
    d.scaled = ABS(y) < INFINITE ? y * d.scale : 0.0f;
    return d;
}
INLINE float divide_by(float x, DIVISOR d) {
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
    return CAST(UINT32, CAST(UINT64, n) * CAST(UINT32, divisor) >> CAST(UINT32, divisor >> 32));
}

// section: groups
// After the declaration of scratch, which GLSL has at file scope.
#if SUBGROUP > 1
#define GROUP_REDUCTION(NAME, TYPE, FROM, TO) \
    INLINE TYPE group_##NAME(TYPE x, const UINT32 width, SCRATCH_PARAMETER, \
                             UINT32 self) { \
        UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2) \
            if (step < width) { \
                TYPE other = SHUFFLE_XOR(x, step); \
                x = COMBINE_##NAME(x, other); \
            } \
        if (width > SUBGROUP) { \
            if (self % SUBGROUP == 0) \
                SCRATCH(self / SUBGROUP) = TO(x); \
            BARRIER(); \
            UINT32 first = self / width * (width / SUBGROUP); \
            x = FROM(SCRATCH(first)); \
            UNROLL for (UINT32 i = 1; i < width / SUBGROUP; i++) \
                x = COMBINE_##NAME(x, FROM(SCRATCH(first + i))); \
        } \
        return x; \
    }
#define GROUP_CHOICE(NAME, ORDER, TYPE, FROM, TO) \
    INLINE int group_##NAME(TYPE v, int i, const UINT32 width, SCRATCH_PARAMETER, \
                            UINT32 self) { \
        UNROLL for (UINT32 step = 1; step < SUBGROUP; step *= 2) \
            if (step < width) { \
                TYPE w = SHUFFLE_XOR(v, step); \
                int j = SHUFFLE_XOR(i, step); \
                if (BEFORE_##ORDER(v, i, w, j)) \
                    v = w, i = j; \
            } \
        if (width > SUBGROUP) { \
            if (self % SUBGROUP == 0) { \
                SCRATCH(self / SUBGROUP * 2) = TO(v); \
                SCRATCH(self / SUBGROUP * 2 + 1) = CAST(UINT32, i); \
            } \
            BARRIER(); \
            UINT32 first = self / width * (width / SUBGROUP); \
            for (UINT32 at = first; at < first + width / SUBGROUP; at++) { \
                TYPE w = FROM(SCRATCH(at * 2)); \
                int j = CAST(int, SCRATCH(at * 2 + 1)); \
                if (BEFORE_##ORDER(v, i, w, j)) \
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
    INLINE TYPE group_##NAME(TYPE x, const UINT32 width, SCRATCH_PARAMETER, \
                             UINT32 self) { \
        if (width == 1) \
            return x; \
        SCRATCH(self) = TO(x); \
        BARRIER(); \
        for (UINT32 step = width / 2; step > 0; step /= 2) { \
            if (self % width < step) \
                SCRATCH(self) = \
                    TO(COMBINE_##NAME(FROM(SCRATCH(self)), FROM(SCRATCH(self + step)))); \
            BARRIER(); \
        } \
        return FROM(SCRATCH(self - self % width)); \
    }
#define GROUP_CHOICE(NAME, ORDER, TYPE, FROM, TO) \
    INLINE int group_##NAME(TYPE v, int i, const UINT32 width, SCRATCH_PARAMETER, \
                            UINT32 self) { \
        if (width == 1) \
            return i; \
        SCRATCH(self * 2) = TO(v); \
        SCRATCH(self * 2 + 1) = CAST(UINT32, i); \
        BARRIER(); \
        for (UINT32 step = width / 2; step > 0; step /= 2) { \
            if (self % width < step) { \
                TYPE w = FROM(SCRATCH((self + step) * 2)); \
                int j = CAST(int, SCRATCH((self + step) * 2 + 1)); \
                if (BEFORE_##ORDER(v, i, w, j)) { \
                    v = w, i = j; \
                    SCRATCH(self * 2) = TO(v); \
                    SCRATCH(self * 2 + 1) = CAST(UINT32, i); \
                } \
            } \
            BARRIER(); \
        } \
        return CAST(int, SCRATCH((self - self % width) * 2 + 1)); \
    }
#endif
GROUP_REDUCTION(SUM, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(MAX, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(MIN, float, AS_FLOAT, AS_UINT)
GROUP_REDUCTION(SUM_INT, int, AS_INT, INT_AS_UINT)
GROUP_REDUCTION(MAX_INT, int, AS_INT, INT_AS_UINT)
GROUP_REDUCTION(MIN_INT, int, AS_INT, INT_AS_UINT)
GROUP_CHOICE(ARGMAX, ARGMAX, float, AS_FLOAT, AS_UINT)
GROUP_CHOICE(ARGMIN, ARGMIN, float, AS_FLOAT, AS_UINT)
GROUP_CHOICE(ARGMAX_INT, ARGMAX, int, AS_INT, INT_AS_UINT)
GROUP_CHOICE(ARGMIN_INT, ARGMIN, int, AS_INT, INT_AS_UINT)
#define GROUP_SUM(x, width, n) group_SUM(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_MAX(x, width, n) group_MAX(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_MIN(x, width, n) group_MIN(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_SUM_INT(x, width, n) group_SUM_INT(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_MAX_INT(x, width, n) group_MAX_INT(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_MIN_INT(x, width, n) group_MIN_INT(x, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_ARGMAX(v, i, width, n) group_ARGMAX(v, i, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_ARGMIN(v, i, width, n) group_ARGMIN(v, i, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_ARGMAX_INT(v, i, width, n) group_ARGMAX_INT(v, i, width, SCRATCH_AT(n), THREAD_X)
#define GROUP_ARGMIN_INT(v, i, width, n) group_ARGMIN_INT(v, i, width, SCRATCH_AT(n), THREAD_X)
INLINE float block_sum(float x, SCRATCH_PARAMETER, UINT32 self, UINT32 threads) {
    x = group_SUM(x, threads, SCRATCH_HERE, self);
    BARRIER();
    return x;
}
INLINE float block_max(float x, SCRATCH_PARAMETER, UINT32 self, UINT32 threads) {
    x = group_MAX(x, threads, SCRATCH_HERE, self);
    BARRIER();
    return x;
}
#define BLOCK_SUM(x, n) block_sum(x, SCRATCH_AT(n), THREAD_X, THREADS_X)
#define BLOCK_MAX(x, n) block_max(x, SCRATCH_AT(n), THREAD_X, THREADS_X)
