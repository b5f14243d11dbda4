/* The relation of a device's clock to CLOCK_MONOTONIC, from a driver of the test's own. */
#include "../test.h"

#include "base/clock.h"
#include "probe/opencl/opencl.h"

static int64_t timer_offset; /* of the device's timer: CLOCK_MONOTONIC minus it */

static cl_int read_timer(cl_device_id device, cl_ulong *of_device, cl_ulong *of_host) {
    (void)device;
    *of_device = (cl_ulong)(clock_now() - timer_offset);
    *of_host = 1;
    return CL_SUCCESS;
}

static cl_int refuse_timer(cl_device_id device, cl_ulong *of_device, cl_ulong *of_host) {
    (void)device, (void)of_device, (void)of_host;
    return CL_INVALID_OPERATION;
}

static struct opencl_device device_with(cl_int (*timer)(cl_device_id, cl_ulong *, cl_ulong *)) {
    opencl_next[OPENCL_AT_clGetDeviceAndHostTimer] = (void *)(uintptr_t)timer;
    return (struct opencl_device){.description = {.index = SPOOL_DEVICES_OPENCL},
                                  .has_timer = timer != NULL};
}

/* A command of 1 ms whose call took 8 µs, on a clock that is behind by `offset`. */
static struct opencl_command command_at(struct opencl_device *device, int64_t call,
                                        int64_t offset) {
    return (struct opencl_command){
        .queue = {.device = device, .stream = 1},
        .call_start = call,
        .call_end = call + 8000,
        .queued = call + 3000 - offset,
        .start = call + 10000 - offset,
        .end = call + 1010000 - offset,
        .seen = call + 1100000,
    };
}

static bool is_right(const struct opencl_command *command, int64_t offset) {
    int64_t error = opencl_time_convert(&command->bounds, 0) - offset;
    int64_t bound = opencl_time_error(&command->bounds);
    return error <= bound && -error <= bound;
}

TEST(a_device_without_a_timer_is_calibrated_by_its_commands) {
    struct opencl_device device = device_with(NULL);
    int64_t offset = 123456789, now = clock_now() - 10000000;
    struct opencl_command first = command_at(&device, now, offset);
    opencl_time_learn(&first);
    CHECK(is_right(&first, offset));
    CHECK(opencl_time_error(&first.bounds) <= 4001);
    struct opencl_command second = command_at(&device, now + 50000, offset);
    second.queued += 4000; /* late in its call */
    first.next = &second;
    opencl_time_learn(&first);
    CHECK(is_right(&first, offset) && is_right(&second, offset));
    CHECK(opencl_time_error(&first.bounds) < 2500 && opencl_time_error(&second.bounds) < 2500);
}

TEST(clocks_may_drift) {
    enum { COMMANDS = 100 };
    struct opencl_device device = device_with(NULL);
    struct opencl_command commands[COMMANDS];
    int64_t now = clock_now() - 200000000000;
    for (unsigned i = 0; i < COMMANDS; i++) /* 40 ppm, for 100 s */
        commands[i] = command_at(&device, now + i * 1000000000ll, 5000000 + i * 40000ll);
    for (unsigned i = 0; i + 1 < COMMANDS; i++)
        commands[i].next = &commands[i + 1];
    opencl_time_learn(commands);
    for (unsigned i = 0; i < COMMANDS; i++) {
        CHECK(is_right(&commands[i], 5000000 + i * 40000ll));
        CHECK(opencl_time_error(&commands[i].bounds) < 5000);
    }
}

TEST(a_queueing_time_of_another_clock_is_not_used) {
    struct opencl_device device = device_with(NULL);
    int64_t offset = -5000000000, now = clock_now() - 10000000;
    struct opencl_command command = command_at(&device, now, offset);
    command.queued -= 700000000;
    opencl_time_learn(&command);
    CHECK(is_right(&command, offset));
    CHECK(opencl_time_error(&command.bounds) < 60000);
}

TEST(times_that_contradict_each_other_have_a_large_error) {
    struct opencl_device device = device_with(NULL);
    int64_t now = clock_now() - 10000000;
    struct opencl_command first = command_at(&device, now, 0),
                          second = command_at(&device, now + 50000, 3000000);
    first.next = &second;
    opencl_time_learn(&first);
    CHECK(is_right(&first, 0) && is_right(&second, 3000000));
}

TEST(a_timer_is_more_exact_than_commands) {
    struct opencl_device device = device_with(read_timer);
    timer_offset = 42000000;
    opencl_time_read_timer(&device);
    struct opencl_command command = command_at(&device, clock_now() - 2000000, timer_offset);
    command.queued = 0;
    opencl_time_learn(&command);
    CHECK(!device.clock.timer_wrong);
    CHECK(is_right(&command, timer_offset));
}

TEST(a_timer_that_contradicts_the_commands_is_not_used) {
    struct opencl_device device = device_with(read_timer);
    timer_offset = 42000000;
    opencl_time_read_timer(&device);
    struct opencl_command command = command_at(&device, clock_now() - 2000000, 999);
    opencl_time_learn(&command);
    CHECK(device.clock.timer_wrong);
    CHECK(is_right(&command, 999));
    opencl_time_read_timer(&device);
    CHECK_INT(device.clock.timer.at, 0);
}

TEST(a_timer_that_the_driver_refuses_is_not_asked_again) {
    struct opencl_device device = device_with(refuse_timer);
    opencl_time_read_timer(&device);
    CHECK(!device.has_timer && device.clock.timer.at == 0);
}
