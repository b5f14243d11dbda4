/* Ownership: handles, scopes, views and captured tensors, counted in the pool's bytes. */
#include <pthread.h>
#include <ridge.h>
#include <stdint.h>

#include "../test.h"

enum { WIDTH = 1024, BYTES = 4 * WIDTH };

static const int64_t sizes[] = {WIDTH};

static ridge_tensor *make(ridge_device *device) {
    return ridge_full(device, RIDGE_F32, 1, sizes, 1);
}

static uint64_t used(const ridge_device *device) {
    struct ridge_pool_stats stats = {0};
    CHECK(ridge_pool_stats(device, &stats));
    return stats.requested_bytes;
}

TEST(a_scope_releases_what_was_made_in_it_but_for_what_is_kept) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *before = make(device);
    ridge_scope_begin();
    make(device);
    ridge_tensor *kept = ridge_keep(make(device));
    ridge_release(make(device));
    CHECK_INT(used(device), 3 * BYTES);
    ridge_scope_end();
    CHECK_INT(used(device), 2 * BYTES);
    ridge_release(kept);
    ridge_release(before);
    CHECK_INT(used(device), 0);
    ridge_device_close(device);
}

TEST(keeping_hands_a_tensor_out_by_one_scope) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_scope_begin();
    ridge_scope_begin();
    ridge_tensor *once = ridge_keep(make(device));
    ridge_tensor *twice = ridge_keep(ridge_keep(make(device)));
    CHECK(once && twice);
    ridge_scope_end();
    CHECK_INT(used(device), 2 * BYTES);
    ridge_scope_end();
    CHECK_INT(used(device), BYTES);
    CHECK(ridge_keep(twice) == twice);
    ridge_release(twice);
    CHECK_INT(used(device), 0);
    CHECK(ridge_keep(NULL) == NULL);
    ridge_device_close(device);
}

TEST(data_lives_as_long_as_any_view_of_it) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *whole = make(device);
    ridge_tensor *part = ridge_slice(whole, 0, 0, 1, 1), *again = ridge_retain(whole);
    ridge_release(whole);
    CHECK_INT(used(device), BYTES);
    ridge_release(again);
    CHECK_INT(used(device), BYTES);
    float value = 0;
    CHECK(ridge_to_host(part, &value, sizeof value) && value == 1);
    ridge_release(part);
    CHECK_INT(used(device), 0);
    ridge_device_close(device);
}

TEST(a_device_may_be_closed_within_scopes_that_hold_its_tensors) {
    ridge_scope_begin();
    ridge_device *device = ridge_device_open("cpu"), *other = ridge_device_open("cpu");
    make(device);
    ridge_tensor *stays = make(other);
    ridge_device_close(device);
    float values[WIDTH];
    CHECK(ridge_to_host(stays, values, sizeof values));
    ridge_scope_end();
    CHECK_INT(used(other), 0);
    ridge_device_close(other);
    ridge_scope_end(); /* one that never began */
}

static void *open_a_scope(void *argument) {
    (void)argument;
    ridge_scope_begin();
    ridge_device *device = ridge_device_open("cpu");
    make(device);
    ridge_scope_end();
    uint64_t left = used(device);
    ridge_device_close(device);
    ridge_reshape(NULL, 0, NULL);
    return left == 0 ? "done" : NULL;
}

TEST(scopes_and_messages_are_each_threads_own) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_error_clear();
    ridge_scope_begin();
    make(device);
    ridge_add(make(device), ridge_full(device, RIDGE_F32, 1, (int64_t[]){3}, 0));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
    pthread_t thread;
    void *result = NULL;
    REQUIRE(pthread_create(&thread, NULL, open_a_scope, NULL) == 0);
    pthread_join(thread, &result);
    CHECK(result != NULL);
    CHECK(strstr(ridge_error_message(), "ridge_add(f32 [1024], f32 [3])") != NULL);
    CHECK_INT(used(device), 2 * BYTES + 3 * sizeof(float));
    ridge_scope_end();
    CHECK_INT(used(device), 0);
    ridge_device_close(device);
    ridge_error_clear();
}

TEST(a_chain_keeps_the_message_of_its_first_failure) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_error_clear();
    ridge_tensor *x = make(device);
    ridge_tensor *failed = ridge_reshape(x, 1, (int64_t[]){7});
    CHECK(!failed);
    char first[256];
    snprintf(first, sizeof first, "%s", ridge_error_message());
    CHECK(strstr(first, "ridge_reshape(f32 [1024])") != NULL);
    CHECK(!ridge_softmax(ridge_add(ridge_exp(failed), x), -1));
    CHECK(!ridge_to_host(failed, first, 0));
    CHECK_STRING(ridge_error_message(), first);
    ridge_device_close(device);
    ridge_error_clear();
    CHECK_STRING(ridge_error_message(), "");
}

static bool scaled(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    outputs[0] = ridge_mul(inputs[0], context);
    return outputs[0] != NULL;
}

TEST(a_program_holds_on_to_what_it_captured) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x = make(device), *weight = ridge_full(device, RIDGE_F32, 1, sizes, 3), *y;
    ridge_program *program = ridge_compile(scaled, weight, &x, 1, 1);
    ridge_release(weight);
    CHECK_INT(used(device), 2 * BYTES);
    float values[WIDTH];
    REQUIRE(ridge_program_run(program, &x, &y) && ridge_to_host(y, values, sizeof values));
    CHECK(values[0] == 3 && values[WIDTH - 1] == 3);
    ridge_release(y);
    ridge_program_release(program);
    CHECK_INT(used(device), BYTES);
    ridge_device_close(device);
}

TEST(compiling_leaves_nothing_behind_whether_or_not_it_succeeds) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x = make(device), *wrong = ridge_full(device, RIDGE_F32, 1, (int64_t[]){3}, 0);
    uint64_t before = used(device);
    for (int i = 0; i < 3; i++) {
        ridge_program *program = ridge_compile(scaled, x, &x, 1, 1);
        CHECK(program != NULL);
        ridge_program_release(program);
        CHECK(!ridge_compile(scaled, wrong, &x, 1, 1));
        CHECK_INT(used(device), before);
    }
    CHECK(strstr(ridge_error_message(), "ridge_compile") != NULL);
    ridge_device_close(device);
    ridge_error_clear();
}
