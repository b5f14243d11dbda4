/* Gradients of eager operations, from the tape. */
#include <ridge.h>

#include "../test.h"

TEST(the_gradient_of_a_result_that_is_a_view_is_read_as_the_view) {
    ridge_device *device = ridge_device_open("cpu");
    const float values[] = {1, 2, 3, 4, 5, 6}, weights[] = {1, 10, 100, 1000, 10000, 100000};
    const float expected[] = {1001, 10010, 100100, 1000, 10000, 100000};
    const int64_t sizes[] = {2, 3};
    ridge_tensor *x = ridge_from_floats(device, RIDGE_F32, 2, sizes, values), *gradient;
    ridge_tensor *w = ridge_from_floats(device, RIDGE_F32, 2, sizes, weights);
    float made[6];
    CHECK(ridge_tape_begin(device));
    ridge_tensor *sums = ridge_cumsum(x, 0); /* transposed inside */
    CHECK(ridge_gradients(ridge_sum(ridge_mul(sums, w), 0, NULL, false), &x, 1, &gradient));
    CHECK(ridge_to_floats(gradient, made, 6));
    for (int i = 0; i < 6; i++)
        CHECK(made[i] == expected[i]);
    ridge_device_close(device);
}
