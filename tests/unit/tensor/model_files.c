/* Model files through ridge.h: what is written is read back, and damaged files are errors. */
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test.h"

enum { ROWS = 3, COLUMNS = 512 };
static const int64_t sizes[2] = {ROWS, COLUMNS};

static void temporary(char *path, size_t capacity, const char *ending) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, capacity, "%s/ridge-model-%d%s", folder ? folder : "/tmp", (int)getpid(),
             ending);
}

/* The tensor of a type: f32 noise, converted. */
static ridge_tensor *made(ridge_device *device, enum ridge_dtype dtype) {
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, sizes, dtype);
    return dtype >= RIDGE_Q8_0 ? ridge_quantize(x, dtype) : ridge_cast(x, dtype);
}

static void write_all(ridge_device *device, const char *path, enum ridge_dtype last) {
    ridge_weights_writer *writer = ridge_weights_create(path);
    CHECK(ridge_weights_put_text(writer, "general.name", "a \"model\""));
    for (int dtype = 0; dtype <= (int)last; dtype++)
        if (dtype != RIDGE_U8)
            CHECK(ridge_weights_put(writer, ridge_dtype_name((enum ridge_dtype)dtype),
                                    made(device, (enum ridge_dtype)dtype)));
    if (last > RIDGE_U8) {
        CHECK(ridge_weights_put_integer(writer, "count", -7));
        CHECK(ridge_weights_put_number(writer, "share", 0.5));
        CHECK(ridge_weights_put_texts(writer, "words", (const char *[]){"a", "", "zwei"}, 3));
        CHECK(ridge_weights_put_numbers(writer, "scores", (float[]){1.5f, -2}, 2));
        CHECK(ridge_weights_put_integers(writer, "types", (int32_t[]){1, 3, 6}, 3));
    }
    CHECK(ridge_weights_finish(writer));
}

static void check_tensors(ridge_device *device, const ridge_weights *file, enum ridge_dtype last) {
    for (int dtype = 0; dtype <= (int)last; dtype++) {
        const char *name = ridge_dtype_name((enum ridge_dtype)dtype);
        struct ridge_weight_info info;
        if (dtype == RIDGE_U8)
            continue;
        CHECK(ridge_weights_find(file, name, &info));
        CHECK(info.loadable && (int)info.dtype == dtype && info.rank == 2);
        CHECK_INT(info.sizes[1], COLUMNS);
        size_t bytes = ridge_dtype_bytes((enum ridge_dtype)dtype, ROWS * COLUMNS);
        char *expected = malloc(bytes), *got = malloc(bytes);
        REQUIRE(expected && got);
        CHECK(ridge_to_host(made(device, (enum ridge_dtype)dtype), expected, bytes));
        CHECK(ridge_to_host(ridge_weights_load(file, device, name), got, bytes));
        CHECK(memcmp(expected, got, bytes) == 0);
        free(expected);
        free(got);
    }
}

static void check_values(const ridge_weights *file) {
    int64_t integer;
    double number;
    size_t length;
    CHECK(ridge_weights_integer(file, "count", &integer) && integer == -7);
    CHECK(ridge_weights_number(file, "share", &number) && number == 0.5);
    CHECK_INT(ridge_weights_array(file, "words"), 3);
    CHECK_STRING(ridge_weights_array_text(file, "words", 2, &length), "zwei");
    CHECK_INT(length, 4);
    CHECK(!ridge_weights_array_text(file, "words", 3, NULL));
    CHECK(!ridge_weights_array_text(file, "scores", 0, NULL));
    CHECK(ridge_weights_array_number(file, "scores", 1, &number) && number == -2);
    CHECK(ridge_weights_array_number(file, "types", 2, &number) && number == 6);
    CHECK(!ridge_weights_array_number(file, "words", 0, &number));
    CHECK_INT(ridge_weights_array(file, "count"), 0);
}

TEST(a_model_file_is_read_as_it_was_written) {
    ridge_device *device = ridge_device_open("cpu");
    char path[256];
    for (int kind = 0; kind < 2; kind++) {
        enum ridge_dtype last = kind ? RIDGE_I32 : RIDGE_DTYPES - 1;
        temporary(path, sizeof path, kind ? ".safetensors" : ".gguf");
        ridge_scope_begin();
        write_all(device, path, last);
        ridge_weights *file = ridge_weights_open(path);
        REQUIRE(file);
        CHECK_STRING(ridge_weights_format(file), kind ? "safetensors" : "GGUF");
        CHECK_STRING(ridge_weights_text(file, "general.name", NULL), "a \"model\"");
        check_tensors(device, file, last);
        if (!kind)
            check_values(file);
        ridge_scope_end();
        ridge_weights_close(file);
        unlink(path);
    }
    ridge_device_close(device);
}

TEST(a_model_file_that_is_truncated_while_it_is_open_is_an_error) {
    ridge_device *device = ridge_device_open("cpu");
    char path[256];
    temporary(path, sizeof path, ".gguf");
    write_all(device, path, RIDGE_Q8_0);
    ridge_weights *file = ridge_weights_open(path);
    REQUIRE(file);
    CHECK(truncate(path, 1000) == 0);
    CHECK(!ridge_weights_load(file, device, "f32"));
    CHECK(strstr(ridge_error_message(), "truncated") != NULL);
    ridge_error_clear();
    ridge_weights_close(file);
    CHECK(!ridge_weights_open(path));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_INPUT);
    ridge_error_clear();
    unlink(path);
    ridge_device_close(device);
}

TEST(misuse_of_model_files_is_an_error) {
    ridge_device *device = ridge_device_open("cpu");
    char path[256];
    temporary(path, sizeof path, ".safetensors");
    CHECK(!ridge_weights_open(NULL) && !ridge_weights_open("/nonexistent/model.gguf"));
    CHECK(!ridge_weights_create("/nonexistent/model.gguf"));
    ridge_weights_writer *writer = ridge_weights_create(path);
    CHECK(!ridge_weights_put_integer(writer, "count", 1));
    CHECK(!ridge_weights_put(writer, "w", made(device, RIDGE_Q4_0)));
    CHECK(strstr(ridge_error_message(), "q4_0") != NULL);
    CHECK(ridge_weights_put(writer, "w", made(device, RIDGE_F32)));
    CHECK(!ridge_weights_put(writer, "w", made(device, RIDGE_F32)));
    ridge_weights_abandon(writer);
    CHECK(!ridge_weights_finish(writer));
    CHECK(access(path, F_OK) != 0);
    ridge_error_clear();
    ridge_device_close(device);
}
