/* Tensors from nothing: zeros, full, arange, and random numbers, which have the same bits on every
 * device. */
#include <math.h>
#include <string.h>

#include "arrays.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static void check_full(enum ridge_dtype dtype, double value, unsigned rank, const int64_t *sizes) {
    if (!case_begin("full %s %g %s", ridge_dtype_name(dtype), value, sizes_text(rank, sizes)))
        return;
    struct array expected = array_make(rank, sizes);
    for (int64_t i = 0; i < expected.count; i++)
        expected.values[i] = is_float(dtype) ? number_round(dtype, value)
                                             : (double)wrap_integer(dtype, (int64_t)value);
    expect_exactly(ridge_full(session.device, dtype, rank, sizes, value), dtype, &expected);
    memset(expected.values, 0, (size_t)expected.count * sizeof(double));
    expect_exactly(ridge_zeros(session.device, dtype, rank, sizes), dtype, &expected);
    case_end();
}

static void check_arange(enum ridge_dtype dtype, int64_t count, double start, double step) {
    if (!case_begin("arange %s %lld from %g by %g", ridge_dtype_name(dtype), (long long)count,
                    start, step))
        return;
    struct array expected = array_make(1, &count);
    for (int64_t i = 0; i < count; i++) {
        double value = start + (double)i * step;
        expected.values[i] = is_float(dtype) ? number_round(dtype, value)
                                             : (double)wrap_integer(dtype, (int64_t)value);
    }
    expect_array(ridge_arange(session.device, dtype, count, start, step), dtype, &expected, 0.51,
                 NULL);
    case_end();
}

/* ---- Random numbers ---- */

static uint64_t fnv(const void *bytes, size_t count) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return sum;
}

typedef ridge_tensor *generator(ridge_device *, enum ridge_dtype, unsigned, const int64_t *,
                                uint64_t);
static const struct {
    const char *name;
    generator *make;
    enum ridge_dtype dtype;
    uint64_t seed;
    int64_t count;
    uint64_t sum; /* FNV-1a of the bytes: the same on every device */
} random_rows[] = {
    {"rand", ridge_rand, RIDGE_F32, 1, 100003, 0x553e157ff9dfc77eu},
    {"rand", ridge_rand, RIDGE_F32, 0xfedcba9876543210u, 17, 0x600b6401d1965057u},
    {"rand", ridge_rand, RIDGE_F16, 2, 1001, 0x25f4cbc6100acb50u},
    {"rand", ridge_rand, RIDGE_BF16, 3, 1001, 0xb2b0c54075b2784au},
    {"randn", ridge_randn, RIDGE_F32, 1, 100003, 0x5d9265948364b418u},
    {"randn", ridge_randn, RIDGE_F32, 0xfedcba9876543210u, 17, 0x8d9a1b1e6ef3a10cu},
    {"randn", ridge_randn, RIDGE_F16, 2, 1001, 0xe4ba0e30a8f937f9u},
    {"randn", ridge_randn, RIDGE_BF16, 3, 1001, 0xd1899d31bad01475u},
};

static void check_bits(unsigned row) {
    enum ridge_dtype dtype = random_rows[row].dtype;
    int64_t count = random_rows[row].count;
    if (!case_begin("%s %s bits of seed %llx", random_rows[row].name, ridge_dtype_name(dtype),
                    (unsigned long long)random_rows[row].seed))
        return;
    ridge_tensor *x =
        random_rows[row].make(session.device, dtype, 1, &count, random_rows[row].seed);
    size_t bytes = ridge_dtype_bytes(dtype, count);
    void *data = case_memory(bytes, 1);
    if (!x || !ridge_to_host(x, data, bytes))
        case_fail("%s", ridge_error_message());
    else if (fnv(data, bytes) != random_rows[row].sum)
        case_fail("the sum is 0x%llxu, not 0x%llxu", (unsigned long long)fnv(data, bytes),
                  (unsigned long long)random_rows[row].sum);
    case_end();
}

/* Mean, variance and the share of each tenth (rand) or beyond 1 and 2 (randn), within about five
 * standard deviations. */
static void check_distribution(bool normal) {
    if (!case_begin("%s distribution", normal ? "randn" : "rand"))
        return;
    enum { COUNT = 200000 };
    ridge_tensor *x =
        (normal ? ridge_randn : ridge_rand)(session.device, RIDGE_F32, SIZES(100, COUNT / 100), 42);
    struct array read = array_read(x);
    double sum = 0, squares = 0, beyond_1 = 0, beyond_2 = 0, previous = 0, products = 0;
    int64_t tenths[10] = {0};
    for (int64_t i = 0; read.values && i < COUNT; i++) {
        double value = read.values[i], centered = value - (normal ? 0 : 0.5);
        sum += value;
        squares += centered * centered;
        products += centered * previous;
        previous = centered;
        beyond_1 += fabs(value) > 1;
        beyond_2 += fabs(value) > 2;
        if (normal)
            continue;
        CASE_CHECK(value >= 0 && value < 1);
        tenths[(int)(value * 10) % 10]++;
    }
    double variance = normal ? 1 : 1.0 / 12, off = 5 / sqrt(COUNT);
    CASE_CHECK(fabs(sum / COUNT - (normal ? 0 : 0.5)) < off * sqrt(variance));
    CASE_CHECK(fabs(squares / COUNT - variance) < off * variance * 1.5);
    CASE_CHECK(fabs(products / COUNT) < off * variance);
    if (normal) {
        CASE_CHECK(fabs(beyond_1 / COUNT - 0.31731) < off * 0.47);
        CASE_CHECK(fabs(beyond_2 / COUNT - 0.04550) < off * 0.21);
    }
    for (int i = 0; i < 10 && !normal; i++)
        CASE_CHECK(fabs((double)tenths[i] / COUNT - 0.1) < off * 0.3);
    case_end();
}

/* Shapes and sizes do not matter: an element depends on the seed and its position. */
static void check_position(generator *make, const char *name) {
    if (!case_begin("%s depends on position alone", name))
        return;
    struct array flat = array_read(make(session.device, RIDGE_F32, SIZES(5000), 9));
    struct array part = array_read(make(session.device, RIDGE_F32, SIZES(7, 11, 13), 9));
    struct array other = array_read(make(session.device, RIDGE_F32, SIZES(5000), 10));
    int64_t same = 0;
    for (int64_t i = 0; i < part.count && flat.values; i++)
        CASE_CHECK(flat.values[i] == part.values[i]);
    for (int64_t i = 0; i < 5000 && flat.values && other.values; i++)
        same += flat.values[i] == other.values[i];
    CASE_CHECK(same < 5);
    ridge_tensor *empty = make(session.device, RIDGE_F16, SIZES(0, 4), 1);
    CASE_CHECK(empty && ridge_tensor_count(empty) == 0);
    case_end();
}

void check_creation(void) {
    for (unsigned i = 0; i < DTYPES; i += session.quick ? 4 : 1) {
        check_full(dtypes[i], 3, SIZES(5, 7));
        check_full(dtypes[i], is_float(dtypes[i]) ? 0.1 : 200, SIZES(4099));
        check_full(dtypes[i], 1, 0, NULL);
        check_full(dtypes[i], 1, SIZES(3, 0));
        check_arange(dtypes[i], 200, 0, 1);
        check_arange(dtypes[i], 0, 0, 1);
        check_arange(dtypes[i], 1, 5, 3);
    }
    check_full(RIDGE_F32, -1e-40, SIZES(3));
    check_full(RIDGE_F32, INFINITY, SIZES(3));
    if (!session.quick) {
        check_full(RIDGE_F16, 1e6, SIZES(3));
        check_full(RIDGE_I32, -2147483648.0, SIZES(3));
        check_arange(RIDGE_F16, 1000, 1, 0.01);
    }
    check_arange(RIDGE_F32, 100003, -5, 0.1);
    check_arange(RIDGE_F32, 1000, 1e6, -0.37);
    check_arange(RIDGE_BF16, 1000, -3, 0.25);
    check_arange(RIDGE_I32, 1000, 1000000000, -2000000);
    check_arange(RIDGE_I32, 1000, -2147483648.0, 4294967);
    for (unsigned i = 0; i < sizeof random_rows / sizeof random_rows[0]; i++)
        check_bits(i);
    check_distribution(false);
    check_distribution(true);
    check_position(ridge_rand, "rand");
    check_position(ridge_randn, "randn");
}
