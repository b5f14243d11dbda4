/* Memory of the program and of other libraries as tensors, without a copy. */
#include <pthread.h>
#include <ridge.h>
#include <stdint.h>

#include "../test.h"

static unsigned releases;
static void count_release(void *context) {
    releases += context == &releases;
}

TEST(wrapped_memory_is_read_and_written_in_place) {
    ridge_device *device = ridge_device_open("cpu");
    float memory[64];
    for (int i = 0; i < 64; i++)
        memory[i] = (float)i;
    const int64_t sizes[] = {3, 5}, strides[] = {1, 7};
    releases = 0;
    for (int first = 0; first < 20; first++) { /* any alignment */
        ridge_tensor *x = ridge_wrap_host(device, RIDGE_F32, 2, sizes, strides, memory + first,
                                          count_release, &releases);
        REQUIRE(x);
        CHECK(ridge_tensor_data(x) == memory + first);
        float doubled[15];
        CHECK(ridge_to_host(ridge_add(x, x), doubled, sizeof doubled));
        for (int i = 0; i < 15; i++)
            CHECK(doubled[i] == 2 * memory[first + i / 5 + i % 5 * 7]);
        ridge_tensor *view = ridge_select(x, 0, 1);
        ridge_release(x);
        CHECK_INT(releases, first);
        ridge_release(view);
        CHECK_INT(releases, first + 1);
    }
    ridge_tensor *whole =
        ridge_wrap_host(device, RIDGE_F32, 2, sizes, strides, memory + 1, count_release, &releases);
    CHECK(ridge_assign(whole, ridge_full(device, RIDGE_F32, 0, NULL, -1)));
    CHECK(ridge_synchronize(device));
    CHECK(memory[0] == 0 && memory[1] == -1 && memory[3] == -1 && memory[4] == 4);
    ridge_device_close(device);
    CHECK_INT(releases, 21);
}

TEST(memory_that_cannot_be_wrapped_is_refused) {
    ridge_device *device = ridge_device_open("cpu");
    float memory[8] = {0};
    const int64_t sizes[] = {4}, backwards[] = {-1}, huge[] = {INT64_MAX / 2};
    CHECK(!ridge_wrap_host(device, RIDGE_F32, 1, sizes, NULL, NULL, NULL, NULL));
    ridge_error_clear();
    CHECK(!ridge_wrap_host(device, RIDGE_F32, 1, sizes, NULL, (char *)memory + 1, NULL, NULL));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
    CHECK(!ridge_wrap_host(device, RIDGE_F32, 1, sizes, backwards, memory, NULL, NULL));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_UNSUPPORTED);
    CHECK(!ridge_wrap_host(device, RIDGE_F32, 1, sizes, huge, memory, NULL, NULL));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
    CHECK(!ridge_wrap_host(device, RIDGE_Q8_0, 1, sizes, NULL, memory, NULL, NULL));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_UNSUPPORTED);
    ridge_device_close(device);
    ridge_error_clear();
}

/* dlpack.h's structs. */
struct dl_tensor {
    void *data;
    int32_t device_type, device_number, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *sizes, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

static void count_deletion(struct DLManagedTensor *self) {
    releases += self->context == &releases;
}

TEST(a_dlpack_tensor_becomes_a_tensor) {
    ridge_device *device = ridge_device_open("cpu");
    int32_t memory[] = {1, 2, 3, 4, 5, 6};
    int64_t sizes[] = {3, 2}, strides[] = {1, 3};
    struct DLManagedTensor managed = {.tensor = {.data = memory,
                                                 .device_type = 1,
                                                 .rank = 2,
                                                 .bits = 32,
                                                 .lanes = 1,
                                                 .sizes = sizes,
                                                 .strides = strides},
                                      .context = &releases,
                                      .deleter = count_deletion};
    releases = 0;
    ridge_tensor *x = ridge_from_dlpack(device, &managed);
    int32_t read[6] = {0};
    CHECK(ridge_to_host(x, read, sizeof read));
    CHECK(read[0] == 1 && read[1] == 4 && read[2] == 2 && read[5] == 6);
    ridge_release(x);
    CHECK_INT(releases, 1);
    managed.tensor.bits = 64;
    CHECK(!ridge_from_dlpack(device, &managed));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_UNSUPPORTED);
    managed.tensor.bits = 32;
    managed.tensor.device_type = 2;
    CHECK(!ridge_from_dlpack(device, &managed));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_UNSUPPORTED);
    CHECK_INT(releases, 1);
    ridge_error_clear();
    ridge_device_close(device);
}

static void *delete_elsewhere(void *managed) {
    struct DLManagedTensor *plain = managed;
    plain->deleter(plain);
    return NULL;
}

TEST(an_exported_tensor_outlives_its_handle_and_is_returned_in_any_thread) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x = ridge_arange(device, RIDGE_F32, 12, 0, 1);
    struct DLManagedTensor *plain = ridge_to_dlpack(ridge_slice(x, 0, 2, 10, 3));
    struct DLManagedTensorVersioned *versioned = ridge_to_dlpack_versioned(x);
    REQUIRE(plain && versioned);
    ridge_release(x);
    CHECK_INT(plain->tensor.rank, 1);
    CHECK_INT(plain->tensor.sizes[0], 3);
    CHECK_INT(plain->tensor.strides[0], 3);
    CHECK(((float *)plain->tensor.data)[6] == 8);
    CHECK(versioned->major == 1 && ((float *)versioned->tensor.data)[11] == 11);
    ridge_device_close(device);
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
    ridge_error_clear();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, delete_elsewhere, plain) == 0);
    pthread_join(thread, NULL);
    versioned->deleter(versioned);
    ridge_device_close(device);
    CHECK_INT(ridge_error_code(), RIDGE_OK);
}

TEST(a_quantized_tensor_is_not_exported) {
    ridge_device *device = ridge_device_open("cpu");
    const int64_t sizes[] = {32};
    CHECK(!ridge_to_dlpack(ridge_zeros(device, RIDGE_Q8_0, 1, sizes)));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_UNSUPPORTED);
    ridge_error_clear();
    ridge_device_close(device);
}
