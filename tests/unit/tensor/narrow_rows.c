/* Norms of rows whose width is not a multiple of the vector width, with few and many rows: tiles
 * must not overlap. */
#include <math.h>
#include <ridge.h>

#include "../test.h"

enum { ROWS = 200, WIDTH_MAX = 40 };

static void check_width(ridge_device *device, int64_t rows, int64_t width) {
    static float x[ROWS * WIDTH_MAX], y[ROWS * WIDTH_MAX];
    int64_t sizes[2] = {rows, width};
    size_t count = (size_t)(rows * width);
    ridge_scope_begin();
    ridge_tensor *input = ridge_randn(device, RIDGE_F32, 2, sizes, (uint64_t)(rows * width));
    ridge_tensor *weight = ridge_full(device, RIDGE_F32, 1, &width, 1);
    ridge_tensor *norm = ridge_rms_norm(input, weight, 1e-5f);
    bool read = ridge_to_floats(input, x, count) && ridge_to_floats(norm, y, count);
    ridge_scope_end();
    if (!read) {
        test_failed(__FILE__, __LINE__, "%s", ridge_error_message());
        return;
    }
    unsigned wrong = 0;
    for (int64_t row = 0; row < rows; row++) {
        double square = 0;
        for (int64_t i = 0; i < width; i++)
            square += (double)x[row * width + i] * x[row * width + i];
        double scale = 1 / sqrt(square / (double)width + 1e-5);
        for (int64_t i = 0; i < width; i++)
            wrong += !(fabs(y[row * width + i] - x[row * width + i] * scale) < 1e-5);
    }
    if (wrong)
        test_failed(__FILE__, __LINE__, "%lld rows of %lld: %u elements are wrong", (long long)rows,
                    (long long)width, wrong);
}

TEST(norms_of_narrow_rows_are_right_at_every_width) {
    ridge_device *device = ridge_device_open("cpu");
    REQUIRE(device);
    for (int64_t width = 1; width <= WIDTH_MAX; width++) {
        check_width(device, ROWS, width);
        check_width(device, 97, width);
        check_width(device, 5, width);
    }
    ridge_device_close(device);
}
