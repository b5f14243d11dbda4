// The macros of dialect.h in GLSL with GL_EXT_buffer_reference. It has no pointers: an address is a
// struct, and AT() and REFERENCE() are overloaded by its type. Mathematical functions are our own, as
// Vulkan requires little of its accuracy; gen/native/vector_math.h describes the method. Multiply-adds
// need not be fused in GLSL, so nothing here relies on it. Values of 8 and 16 bits are only loaded,
// stored and converted, which needs no arithmetic of these types. A grid along x may exceed the limit of
// a dispatch: it is continued along z, so there are no BLOCK_Z and GRID_Z.

#define INT64 int64_t
#define UINT64 uint64_t
#define UINT32 uint
#define UINT16 uint16_t
#define UCHAR uint8_t
#define WORDS4 uvec4
#define WORDS2 uvec2
#define SHARED shared
#define INLINE
#define PRECISE precise
#define DIVISOR divisor
#define BARRIER() barrier()
#define GLOBAL_BARRIER() (memoryBarrierBuffer(), barrier())
#define THREAD_X gl_LocalInvocationID.x
#define THREADS_X gl_WorkGroupSize.x
#define BLOCK_X (gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define BLOCK_Y gl_WorkGroupID.y
#define GRID_X uint(scalars.blocks)
#define GRID_Y gl_NumWorkGroups.y
#define SHUFFLE_XOR(x, mask) subgroupShuffleXor(x, uint(mask))
#define MAKE_WORDS4(x, y, z, w) uvec4(x, y, z, w)
#define MAKE_WORDS2(x, y) uvec2(x, y)

#define CAST(T, x) T(x)
#define POINTER_TYPE(T, BYTES) \
    layout(buffer_reference, std430, buffer_reference_align = BYTES) buffer reference_##T { T v; }; \
    struct pointer_##T { \
        uint64_t address; \
    }; \
    pointer_##T AT(pointer_##T p, int64_t i) { \
        return pointer_##T(p.address + uint64_t(i * BYTES)); \
    } \
    reference_##T REFERENCE(pointer_##T p, int64_t i) { \
        return reference_##T(p.address + uint64_t(i * BYTES)); \
    }
POINTER_TYPE(float, 4)
POINTER_TYPE(int, 4)
POINTER_TYPE(uint, 4)
POINTER_TYPE(uint16_t, 2)
POINTER_TYPE(uint8_t, 1)
POINTER_TYPE(uvec2, 8)
POINTER_TYPE(uvec4, 16)
#define POINTER_NAME(T) pointer_##T
#define POINTER(T) POINTER_NAME(T)
#define CONST_POINTER(T) POINTER_NAME(T)
#define POINTER_CAST(T, p) POINTER(T)((p).address)
#define CONST_POINTER_CAST(T, p) POINTER(T)((p).address)
#define ELEMENT(p, i) REFERENCE(p, i).v
#define ADDRESS(p) ((p).address)
#define DISTANCE(p, q) int64_t((p).address - (q).address)
#define PRIVATE_ARRAY(T, name, count) inout T name[count]
#define SHARED_FLOATS(name, count) shared float name[count];
#define SHARED_LOAD16(array, i) \
    uvec4(AS_UINT(array[i]), AS_UINT(array[(i) + 1]), AS_UINT(array[(i) + 2]), \
          AS_UINT(array[(i) + 3]))
#define SCRATCH_PARAMETER const uint which
#define SCRATCH(i) scratch[which][i]
#define SCRATCH_HERE which
#define SCRATCH_AT(n) uint(n)

#define AS_FLOAT(u) uintBitsToFloat(u)
#define AS_UINT(x) floatBitsToUint(x)
#define INFINITE uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)
#define FMA(a, b, c) fma(a, b, c)
#define FMA_IS_SLOW
#define SQRT(x) sqrt(x)
#define RSQRT(x) (1.0f / sqrt(x))
#define FLOOR(x) floor(x)
#define CEIL(x) ceil(x)
#define RINT(x) roundEven(x)
#define ABS(x) abs(x)
uint MUL_HIGH(uint a, uint b) { return uint(uint64_t(a) * b >> 32); }
int F2I(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 0x7fffffff : x < -2147483648.0f ? -0x7fffffff - 1 : int(x);
}
// Halves below the smallest normal one are normal as floats, and some drivers flush them.
float f16_to_f32(uint h) {
    float small = float(h & 0x3ffu) * 5.9604644775390625e-8f;
    return (h & 0x7c00u) != 0u ? unpackHalf2x16(h).x : (h & 0x8000u) != 0u ? -small : small;
}
uint f32_to_f16(float x) {
    uint u = floatBitsToUint(x), sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;
    if (size > 0x7f800000u)
        return sign | 0x7e00u;
    if (size >= 0x477ff000u)
        return sign | 0x7c00u;
    if (size < 0x33000000u)
        return sign;
    if (size < 0x38800000u) {
        uint whole = (size & 0x7fffffu) | 0x800000u, shift = 126u - (size >> 23);
        uint kept = whole >> shift, rest = whole & ((1u << shift) - 1u), half_way = 1u << (shift - 1u);
        return sign | (rest > half_way || (rest == half_way && (kept & 1u) != 0u) ? kept + 1u : kept);
    }
    size -= 0x38000000u;
    return sign | (size + 0xfffu + (size >> 13 & 1u)) >> 13;
}
#define U32_LO_F16(u) f16_to_f32((u) & 0xffffu)
#define U32_HI_F16(u) f16_to_f32((u) >> 16)
#define PACK_HALVES_BY_PARTS
#define BF16_BY_BITS
#define MAX_BY_COMPARISON

float with_sign_of(float size, float sign) {
    return uintBitsToFloat((floatBitsToUint(size) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}
float power_of_two(int n) { return uintBitsToFloat(uint(n + 127) << 23); }
// e^x for |x| < 250 or NaN: x = n ln 2 + r, e^x = 2^n e^r.
float exp_in_range(float x) {
    float n = roundEven(x * 1.44269502f);
    precise float r = x - n * 0.693145752f;
    r = r - n * 1.42860677e-06f;
    float q = 0.00138189388f;
    q = fma(q, r, 0.00836870354f);
    q = fma(q, r, 0.0416682884f);
    q = fma(q, r, 0.166665211f);
    q = fma(q, r, 0.49999994f);
    int whole = x == x ? int(n) : 0, part = whole / 2;
    return (fma(r * r, q, r) + 1.0f) * power_of_two(part) * power_of_two(whole - part);
}
float EXP(float x) { return exp_in_range(x < -110.0f ? -110.0f : x > 100.0f ? 100.0f : x); }
// e ln 2 + log(1 + f), -0.25 <= f < 0.5
float log_of_parts(float e, float f) {
    float p = 0.037611343f;
    p = fma(p, f, -0.0910701752f);
    p = fma(p, f, 0.116970435f);
    p = fma(p, f, -0.127283469f);
    p = fma(p, f, 0.142767966f);
    p = fma(p, f, -0.166553184f);
    p = fma(p, f, 0.199995786f);
    p = fma(p, f, -0.250001639f);
    p = fma(p, f, 0.333333403f);
    float square = f * f;
    float rest = fma(square * f, p, e * 1.42860677e-06f);
    rest = fma(square, -0.5f, rest);
    return fma(e, 0.693145752f, f + rest);
}
float LOG(float x) {
    bool subnormal = x < 1.17549435e-38f;
    int bits = floatBitsToInt(subnormal ? x * 8388608.0f : x);
    int e = bits - 0x3f400000 >> 23;
    float f = intBitsToFloat(bits - (e << 23)) - 1.0f;
    float result = log_of_parts(float(subnormal ? e - 23 : e), f);
    return x < 0.0f ? NOT_A_NUMBER : x == 0.0f ? -INFINITE : x < INFINITE ? result : x;
}
float LOG1P(float x) {
    precise float u = x + 1.0f;
    int e = floatBitsToInt(u) - 0x3f400000 >> 23;
    float scale = uintBitsToFloat(uint(127 - e) << 23);
    bool huge = x > 1.26765060e+30f;
    e = huge ? floatBitsToInt(x) - 0x3f400000 >> 23 : e;
    float m = intBitsToFloat(floatBitsToInt(x) - (e << 23));
    precise float scaled = x * scale, f = huge ? m - 1.0f : scaled + (scale - 1.0f);
    float result = log_of_parts(float(e), f);
    result = abs(x) < 1.49011612e-08f ? x : result;
    return x < -1.0f ? NOT_A_NUMBER : x == -1.0f ? -INFINITE : x < INFINITE ? result : x;
}
// 2/pi after a word of zeros.
const uint two_over_pi[8] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                             0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
uint two_over_pi_at(int word, int shift) {
    return shift == 0 ? two_over_pi[word]
                      : two_over_pi[word] << shift | two_over_pi[word + 1] >> (32 - shift);
}
// |x| = quarters * pi/2 + the result. The product of the integer mantissa and 96 bits of 2/pi, from
// the bit whose product is worth two quarters, is the quarters modulo 4 with 62 bits of fraction.
float quarter_turns(float x, out int quarters) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    quarters = 0;
    if (bits <= 0x3f490fdau)
        return abs(x);
    if (bits >= 0x7f800000u)
        return NOT_A_NUMBER;
    uint m = (bits & 0x7fffffu) | 0x800000u;
    int first = int(bits >> 23) - 120, word = first >> 5, shift = first & 31;
    uint64_t turns = uint64_t(m * two_over_pi_at(word, shift)) << 32;
    turns += uint64_t(m) * two_over_pi_at(word + 1, shift);
    turns += uint64_t(m) * two_over_pi_at(word + 2, shift) >> 32;
    uint64_t n = (turns + (1ul << 61)) >> 62;
    quarters = int(uint(n));
    return float(int64_t(turns - (n << 62))) * 3.40612158e-19f;
}
float sin_of_quarters(int quarters, float r) {
    float square = r * r;
    float s = fma(fma(-0.000195179004f, square, 0.00833218731f), square, -0.166666552f);
    s = fma(s * square, r, r);
    float c = fma(fma(2.44323273e-05f, square, -0.00138873095f), square, 0.0416666456f);
    c = fma(fma(c, square, -0.5f), square, 1.0f);
    float chosen = (quarters & 1) == 0 ? s : c;
    return (quarters & 2) == 0 ? chosen : -chosen;
}
float SIN(float x) {
    int quarters;
    float r = quarter_turns(x, quarters), result = sin_of_quarters(quarters, r);
    return x == 0.0f ? x : x < 0.0f ? -result : result;
}
float COS(float x) {
    int quarters;
    float r = quarter_turns(x, quarters);
    return sin_of_quarters(quarters + 1, r);
}
float TAN(float x) {
    int quarters;
    float r = quarter_turns(x, quarters), square = r * r, p = 0.00437994488f;
    p = fma(p, square, 8.45351315e-05f);
    p = fma(p, square, 0.0108373193f);
    p = fma(p, square, 0.021282861f);
    p = fma(p, square, 0.0540594384f);
    p = fma(p, square, 0.133326724f);
    p = fma(p, square, 0.333333492f);
    float t = fma(p * square, r, r), result = (quarters & 1) == 0 ? t : -1.0f / t;
    return x == 0.0f ? x : x < 0.0f ? -result : result;
}
float TANH(float x) {
    float size = abs(x), square = x * x, p = 0.00214083376f;
    p = fma(p, square, -0.00817828067f);
    p = fma(p, square, 0.021702772f);
    p = fma(p, square, -0.0539475791f);
    p = fma(p, square, 0.133332178f);
    p = fma(p, square, -0.333333313f);
    float small = fma(p * square, size, size);
    float large = 1.0f - 2.0f / (exp_in_range(size > 10.0f ? 20.0f : size + size) + 1.0f);
    return with_sign_of(size < 0.625f ? small : large, x);
}
float ERF(float x) {
    float size = abs(x) > 3.95f ? 3.95f : abs(x), square = x * x, p = 8.00277485e-05f;
    p = fma(p, square, -0.000805080403f);
    p = fma(p, square, 0.00519246049f);
    p = fma(p, square, -0.0268557407f);
    p = fma(p, square, 0.112836257f);
    p = fma(p, square, -0.376126289f);
    p = fma(p, square, 0.128379166f);
    float q = 2.12811865e-05f;
    q = fma(q, size, -0.000436596369f);
    q = fma(q, size, 0.00418131892f);
    q = fma(q, size, -0.0251462292f);
    q = fma(q, size, 0.108321235f);
    q = fma(q, size, 0.633309782f);
    q = fma(q, size, 1.12953317f);
    q = fma(q, size, -0.000178452392f);
    return abs(x) < 0.94f ? fma(x, p, x) : with_sign_of(1.0f - exp_in_range(-q), x);
}
// x^y of 0 < x < infinity.
#ifdef HAS_DOUBLE
float pow_of_positive(float base, float y) {
    double x = double(base);
    int64_t raw = int64_t(doubleBitsToUint64(x)), e = raw - 0x3fe6a09e667f3bcdl >> 52;
    double f = uint64BitsToDouble(uint64_t(raw - (e << 52))) - 1.0lf, p = -0.069739150924439844lf;
    p = fma(p, f, 0.13251206188297285lf);
    p = fma(p, f, -0.13462933555779555lf);
    p = fma(p, f, 0.13027560465013197lf);
    p = fma(p, f, -0.14249862212886144lf);
    p = fma(p, f, 0.16021666740185983lf);
    p = fma(p, f, -0.18043675249336691lf);
    p = fma(p, f, 0.2061071231621984lf);
    p = fma(p, f, -0.24044643349665187lf);
    p = fma(p, f, 0.2885387957224011lf);
    p = fma(p, f, -0.36067379313867431lf);
    p = fma(p, f, 0.48089834880298082lf);
    p = fma(p, f, -0.72134752032753824lf);
    p = fma(p, f, 1.4426950408865731lf);
    double power = double(y) * fma(f, p, double(int(e)));
    power = power < -200.0lf ? -200.0lf : power > 200.0lf ? 200.0lf : power;
    int whole = int(floor(power + 0.5lf));
    double r = power - double(whole), q = 0.00015345811902921615lf;
    q = fma(q, r, 0.0013399931218515363lf);
    q = fma(q, r, 0.0096184889574866435lf);
    q = fma(q, r, 0.055503287769672859lf);
    q = fma(q, r, 0.24022646890630658lf);
    q = fma(q, r, 0.69314720573726651lf);
    q = fma(q, r, 1.0000000005541669lf);
    return float(q * uint64BitsToDouble(uint64_t(whole + 1023) << 52));
}
#else
float pow_of_positive(float x, float y) { return EXP(y * LOG(x)); }
#endif
float POW(float x, float y) {
    float size = abs(x);
    if (x == 1.0f || y == 0.0f || (x == -1.0f && abs(y) == INFINITE))
        return 1.0f;
    if (x != x || y != y)
        return NOT_A_NUMBER;
    bool whole = roundEven(y) == y, odd = whole && roundEven(y * 0.5f) != y * 0.5f;
    bool to_infinity = (size > 1.0f) == (y > 0.0f);
    float result = size == 0.0f || size == INFINITE || abs(y) == INFINITE
                       ? (to_infinity ? INFINITE : 0.0f)
                       : pow_of_positive(size, y);
    if (floatBitsToInt(x) >= 0)
        return result;
    return !whole && size != 0.0f && size != INFINITE ? NOT_A_NUMBER : odd ? -result : result;
}
