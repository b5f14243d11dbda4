/* Kernels of the user's own, on the CPU and on an OpenCL device where there is one. */
#include <math.h>
#include <ridge.h>
#include <string.h>

#include "../test.h"

enum { COUNT = 1000, PER_BLOCK = 128 };

/* result[i] = in0[i] * in1[i] + scalar */
static void multiply_add(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
    const float *x = buffers[0], *y = buffers[1];
    float *result = buffers[2];
    for (int64_t i = begin * PER_BLOCK; i < end * PER_BLOCK && i < scalars[0]; i++)
        result[i] = x[i] * y[i] + (float)scalars[1];
}

static const char body[] = "    INT64 i = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X;\n"
                           "    if (i < scalars.v[0])\n"
                           "        ELEMENT(result, i) = ELEMENT(in0, i) * ELEMENT(in1, i) + "
                           "CAST(float, scalars.v[1]);\n";

static const int64_t scalars[] = {COUNT, 3};

static struct ridge_custom_kernel kernel(void) {
    return (struct ridge_custom_kernel){.name = "my_multiply_add",
                                        .portable = body,
                                        .cpu = multiply_add,
                                        .blocks = (COUNT + PER_BLOCK - 1) / PER_BLOCK,
                                        .threads = PER_BLOCK,
                                        .scalars = scalars,
                                        .scalar_count = 2,
                                        .flops = 2 * COUNT};
}

static bool function(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const int64_t sizes[] = {COUNT};
    ridge_tensor *operands[] = {ridge_neg(inputs[0]), inputs[1]};
    outputs[0] = ridge_square(ridge_custom(context, operands, 2, RIDGE_F32, 1, sizes));
    return outputs[0] != NULL;
}

static void check_device(const char *name) {
    ridge_device *device = ridge_device_open(name);
    if (!device) {
        ridge_error_clear();
        test_skip("there is no such device");
        return;
    }
    struct ridge_custom_kernel mine = kernel();
    const int64_t sizes[] = {COUNT};
    ridge_tensor *inputs[] = {ridge_arange(device, RIDGE_F32, COUNT, 0, 1),
                              ridge_arange(device, RIDGE_F32, COUNT, 1, 0.5)};
    static float values[COUNT];
    struct ridge_region region;
    CHECK(ridge_region_begin(device));
    ridge_tensor *y = ridge_custom(&mine, inputs, 2, RIDGE_F32, 1, sizes);
    CHECK(ridge_region_end(device, &region));
    CHECK_INT(region.kernels, 1);
    CHECK_INT(region.flops, 2 * COUNT);
    CHECK_INT(region.kernel_bytes, 3 * 4 * COUNT);
    REQUIRE(ridge_to_floats(y, values, COUNT));
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == (float)i * (1 + 0.5f * (float)i) + 3);
    ridge_program *program = ridge_compile(function, &mine, inputs, 2, 1);
    struct ridge_program_info info;
    CHECK(ridge_program_run(program, inputs, &y) && ridge_program_describe(program, &info));
    CHECK_INT(info.kernels, 3);
    CHECK(ridge_to_floats(y, values, COUNT));
    for (int i = 0; i < COUNT; i++) {
        float inner = -(float)i * (1 + 0.5f * (float)i) + 3;
        CHECK(values[i] == inner * inner);
    }
    ridge_device_close(device);
}

TEST(a_custom_kernel_runs_on_the_cpu) {
    check_device("cpu");
}

TEST(a_custom_kernel_runs_in_opencl) {
    check_device("opencl");
}

TEST(a_wrong_custom_kernel_is_refused) {
    ridge_device *device = ridge_device_open("cpu");
    const int64_t sizes[] = {COUNT};
    ridge_tensor *inputs[] = {ridge_zeros(device, RIDGE_F32, 1, sizes),
                              ridge_zeros(device, RIDGE_F32, 1, sizes)};
    struct ridge_custom_kernel wrong[8];
    for (int i = 0; i < 8; i++)
        wrong[i] = kernel();
    wrong[0].name = NULL;
    wrong[1].name = "two words";
    wrong[2].name = "";
    wrong[3].blocks = 0;
    wrong[4].threads = 5000;
    wrong[5].scalars = NULL;
    wrong[6].scalar_count = 17;
    wrong[7].cpu = NULL;
    for (int i = 0; i < 8; i++) {
        CHECK(!ridge_custom(&wrong[i], inputs, 2, RIDGE_F32, 1, sizes));
        CHECK_INT(ridge_error_code(), i == 7 ? RIDGE_ERROR_UNSUPPORTED : RIDGE_ERROR_USAGE);
        ridge_error_clear();
    }
    struct ridge_custom_kernel mine = kernel();
    CHECK(!ridge_custom(NULL, inputs, 2, RIDGE_F32, 1, sizes));
    ridge_error_clear();
    CHECK(!ridge_custom(&mine, inputs, 0, RIDGE_F32, 1, sizes));
    CHECK(!ridge_custom(&mine, inputs, 2, (enum ridge_dtype)99, 1, sizes));
    CHECK(!ridge_custom(&mine, inputs, 2, RIDGE_F32, 9, sizes));
    ridge_error_clear();
    CHECK(ridge_tape_begin(device));
    ridge_tensor *loss =
        ridge_sum(ridge_custom(&mine, inputs, 2, RIDGE_F32, 1, sizes), 0, NULL, false);
    ridge_tensor *gradient;
    CHECK(!ridge_gradients(loss, inputs, 1, &gradient));
    CHECK(strstr(ridge_error_message(), "custom"));
    ridge_error_clear();
    ridge_device_close(device);
}
