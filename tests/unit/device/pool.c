/* The pool above a device that only counts: size classes, reuse across queues, a full device. */
#include "../test.h"

#include <stdlib.h>

#include "base/memory.h"
#include "device/pool.h"

/* A device with fake memory that counts its calls. */
struct counting {
    struct device device;
    uint64_t next_handle, live_bytes, live_blocks, room;
    unsigned records, forgets, orders, finishes;
    unsigned ordered_queue;
    uint64_t ordered_event;
    bool reached, fails;
};

static struct counting *counting_of(struct device *device) {
    return (struct counting *)device;
}

static bool allocate(struct device *device, size_t bytes, struct device_memory *memory,
                     struct status *status) {
    struct counting *counting = counting_of(device);
    if (counting->fails)
        return status_fail(status, STATUS_IO, "the driver is gone");
    if (bytes > counting->room - counting->live_bytes)
        return status_fail(status, STATUS_MEMORY, "full");
    counting->live_bytes += bytes;
    counting->live_blocks++;
    *memory = (struct device_memory){.handle = ++counting->next_handle, .bytes = bytes};
    return true;
}

static void release(struct device *device, struct device_memory memory) {
    counting_of(device)->live_bytes -= memory.bytes;
    counting_of(device)->live_blocks--;
}

/* The event's handle tells the queue that it is on. */
static bool record(struct device *device, unsigned queue, struct device_event *event,
                   struct status *status) {
    struct counting *counting = counting_of(device);
    if (counting->fails)
        return status_fail(status, STATUS_IO, "the driver is gone");
    counting->records++;
    event->handle = 100 + queue;
    return true;
}

static void event_release(struct device *device, struct device_event event) {
    (void)event;
    counting_of(device)->forgets++;
}

static bool reached(struct device *device, struct device_event event) {
    (void)event;
    return counting_of(device)->reached;
}

static bool order(struct device *device, unsigned queue, struct device_event event,
                  struct status *status) {
    struct counting *counting = counting_of(device);
    if (counting->fails)
        return status_fail(status, STATUS_IO, "the driver is gone");
    counting->orders++;
    counting->ordered_queue = queue;
    counting->ordered_event = event.handle;
    return true;
}

static bool finish(struct device *device, struct status *status) {
    (void)status;
    counting_of(device)->finishes++;
    return true;
}

static const struct device_ops counting_ops = {
    .name = "counting",
    .allocate = allocate,
    .release = release,
    .record = record,
    .event_release = event_release,
    .reached = reached,
    .order = order,
    .finish = finish,
};

static struct counting counting_device(uint64_t room) {
    return (struct counting){
        .device = {.ops = &counting_ops,
                   .capabilities = {.description = "Counter", .memory_bytes = room, .queues = 4}},
        .room = room,
    };
}

static struct pool_block take(struct pool *pool, size_t bytes, unsigned queue) {
    struct status status = {0};
    struct pool_block block = {0};
    CHECK_OK(pool_allocate(pool, bytes, queue, &block, &status), status);
    return block;
}

TEST(size_classes_hold_what_was_asked_for_and_waste_little) {
    size_t last = 0;
    for (unsigned bits = 0; bits < 62; bits++)
        for (size_t near = 0; near < 34; near++) {
            size_t bytes =
                ((size_t)1 << bits) + (near < 17 ? near : (((size_t)1 << bits) / 17) * (near - 17));
            if (bytes > (size_t)1 << 62)
                continue;
            size_t class = pool_class_bytes(bytes);
            CHECK(class >= bytes);
            CHECK_INT(pool_class_bytes(class), class);
            CHECK_INT(class % 128, 0);
            if (bytes >= 512)
                CHECK(class - bytes <= bytes / (bytes > 1 << 20 ? 8 : 4));
            if (near < 17) {
                CHECK(class >= last || bits < 5);
                last = class;
            }
        }
    CHECK_INT(pool_class_bytes(0), 512);
    CHECK_INT(pool_class_bytes(512), 512);
    CHECK_INT(pool_class_bytes(513), 640);
    CHECK_INT(pool_class_bytes(1 << 20), 1 << 20);
    CHECK_INT(pool_class_bytes((1 << 20) + 1), (1 << 20) + (1 << 17));
    CHECK_INT(pool_class_bytes(((size_t)1 << 62) + 1), 0);
    CHECK_INT(pool_class_bytes(SIZE_MAX), 0);
}

TEST(a_released_block_is_the_next_one_of_its_class) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block a = take(pool, 1000, 0), b = take(pool, 1000, 0);
    pool_release(pool, a, 0);
    pool_release(pool, b, 0);
    struct pool_block again = take(pool, 900, 0);
    CHECK_INT(again.memory.handle, b.memory.handle);
    struct pool_block other = take(pool, 600, 0);
    CHECK(other.memory.handle != a.memory.handle);

    struct ridge_pool_stats stats;
    pool_stats(pool, &stats);
    CHECK_INT(stats.allocations, 4);
    CHECK_INT(stats.reuses, 1);
    CHECK(stats.reuse_rate == 0.25);
    CHECK_INT(stats.pooled_buffers, 1);
    CHECK_INT(stats.size_classes, 1);
    CHECK_INT(stats.pooled_bytes, 1024);
    CHECK_INT(stats.used_bytes, 1024 + 640);
    CHECK_INT(stats.requested_bytes, 1500);
    CHECK_INT(stats.high_water_bytes, 1024 + 1024 + 640);
    CHECK_INT(counting.records, 0); /* one queue needs no events */
    pool_release(pool, again, 0);
    pool_release(pool, other, 0);
    pool_destroy(pool);
    CHECK_INT(counting.live_blocks, 0);
}

TEST(a_request_of_nothing_gets_a_block) {
    struct counting counting = counting_device(1 << 20);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block block = take(pool, 0, 0);
    CHECK_INT(block.memory.bytes, 512);
    CHECK_INT(block.requested, 0);
    pool_release(pool, block, 0);
    pool_destroy(pool);
}

TEST(another_queue_waits_for_the_last_use_of_a_block) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    /* released while there was one queue: the event is recorded when it is wanted */
    pool_release(pool, take(pool, 1000, 0), 0);
    struct pool_block block = take(pool, 1000, 1);
    CHECK_INT(counting.records, 1);
    CHECK_INT(counting.orders, 1);
    CHECK_INT(counting.ordered_queue, 1);
    CHECK_INT(counting.ordered_event, 100);
    /* released on 1: taken at once there, ordered on 2 */
    pool_release(pool, block, 1);
    CHECK_INT(counting.records, 2);
    block = take(pool, 1000, 1);
    CHECK_INT(counting.orders, 1);
    pool_release(pool, block, 1);
    block = take(pool, 1000, 2);
    CHECK_INT(counting.orders, 2);
    CHECK_INT(counting.ordered_queue, 2);
    CHECK_INT(counting.ordered_event, 101);
    /* an event that is reached already orders nothing */
    pool_release(pool, block, 2);
    counting.reached = true;
    block = take(pool, 1000, 0);
    CHECK_INT(counting.orders, 2);
    pool_release(pool, block, 0);
    pool_destroy(pool);
    CHECK_INT(counting.forgets, counting.records);
    CHECK_INT(counting.live_blocks, 0);
}

TEST(a_block_used_on_two_queues_is_waited_for_on_both) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block block = take(pool, 1000, 0);
    pool_used(&block, 3);
    pool_release(pool, block, 0);
    block = take(pool, 1000, 0);
    CHECK_INT(counting.orders, 1);
    CHECK_INT(counting.ordered_queue, 0);
    CHECK_INT(counting.ordered_event, 103);
    pool_used(&block, 3);
    pool_release(pool, block, 3);
    block = take(pool, 1000, 1);
    CHECK_INT(counting.orders, 3);
    pool_release(pool, block, 1);
    pool_destroy(pool);
    CHECK_INT(counting.forgets, counting.records);
}

TEST(a_block_of_the_same_queue_is_preferred_to_a_newer_one) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block a = take(pool, 1000, 0), b = take(pool, 1000, 1);
    pool_release(pool, a, 0);
    pool_release(pool, b, 1);
    struct pool_block block = take(pool, 1000, 0);
    CHECK_INT(block.memory.handle, a.memory.handle);
    CHECK_INT(counting.orders, 0);
    pool_release(pool, block, 0);
    pool_destroy(pool);
}

TEST(a_full_device_is_emptied_of_idle_blocks_before_it_refuses) {
    struct counting counting = counting_device(10000);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block kept = take(pool, 4096, 0);
    pool_release(pool, take(pool, 3000, 0), 0);
    struct pool_block large = take(pool, 5120, 0); /* fits once the idle one is gone */
    CHECK_INT(counting.finishes, 1);
    struct pool_block none;
    CHECK(!pool_allocate(pool, 2000, 0, &none, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK_STRING(status.message,
                 "out of memory on Counter: 2.05 KB requested, 9.22 KB used by tensors, 0 B idle "
                 "in the pool, 10.0 KB in total; release tensors or use smaller sizes");
    struct ridge_pool_stats stats;
    pool_stats(pool, &stats);
    CHECK_INT(stats.flushes, 2);
    CHECK_INT(stats.allocations, 2 + 1);
    CHECK(!pool_allocate(pool, SIZE_MAX, 0, &none, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    pool_release(pool, kept, 0);
    pool_release(pool, large, 0);
    pool_destroy(pool);
    CHECK_INT(counting.live_blocks, 0);
}

TEST(a_driver_that_fails_is_reported_as_it_says) {
    struct counting counting = counting_device(1 << 20);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block block = take(pool, 1000, 0);
    counting.fails = true;
    pool_release(pool, block, 1);
    CHECK(!pool_allocate(pool, 1000, 2, &block, &status)); /* cannot order */
    CHECK_INT(status.code, STATUS_IO);
    CHECK(!pool_allocate(pool, 9000, 0, &block, &status));
    CHECK_STRING(status.message, "the driver is gone");
    struct ridge_pool_stats stats;
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_buffers, 1);
    CHECK_INT(stats.used_bytes, 0);
    pool_destroy(pool);
    CHECK_INT(counting.live_blocks, 0);
}

/* Idle blocks of 1, 2 and 4 KiB, `each` of each. */
static void fill(struct pool *pool, unsigned each) {
    struct pool_block blocks[3][20];
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < each; k++)
            blocks[i][k] = take(pool, (size_t)1024 << i, 0);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < each; k++)
            pool_release(pool, blocks[i][k], 0);
}

TEST(idle_blocks_are_bounded_by_class_and_given_back_when_told) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct ridge_pool_stats stats;
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    CHECK_OK(pool_set_capacity(pool, 10, &status), status);
    fill(pool, 12);
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_buffers, 30);
    CHECK_INT(stats.size_classes, 3);
    CHECK_INT(counting.live_blocks, 30);

    CHECK_OK(pool_shrink_to_fit(pool, 12 * 2048, &status), status); /* all of 4, 3 of 2 KiB go */
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_bytes, 7 * 2048 + 10 * 1024);
    CHECK_INT(stats.size_classes, 2);

    CHECK_OK(pool_clear_size(pool, 1000, &status), status);
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_bytes, 7 * 2048);

    CHECK_OK(pool_set_capacity(pool, 2, &status), status);
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_buffers, 2);
    fill(pool, 5);
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_buffers, 6);

    CHECK_OK(pool_clear(pool, &status), status);
    pool_stats(pool, &stats);
    CHECK_INT(stats.pooled_buffers + stats.pooled_bytes + stats.size_classes, 0);
    CHECK_INT(counting.live_blocks, 0);
    CHECK_OK(pool_set_capacity(pool, 0, &status), status);
    fill(pool, 2);
    CHECK_INT(counting.live_blocks, 0);
    pool_destroy(pool);
}

struct told {
    unsigned allocations, releases;
    uint64_t used, reserved;
};

static void be_told(void *context, const struct pool_block *block, bool released, uint64_t used,
                    uint64_t reserved) {
    struct told *told = context;
    *(released ? &told->releases : &told->allocations) += 1;
    told->used = used;
    told->reserved = reserved;
    CHECK(block->memory.handle != 0);
}

TEST(an_observer_sees_every_allocation_and_release) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct told told = {0};
    pool_set_observer(pool, be_told, &told);
    struct pool_block block = take(pool, 1024, 0);
    CHECK_INT(told.used, 1024);
    pool_release(pool, block, 0);
    CHECK_INT(told.used, 0);
    CHECK_INT(told.reserved, 1024);
    pool_set_observer(pool, NULL, NULL);
    pool_release(pool, take(pool, 1024, 0), 0);
    CHECK_INT(told.allocations, 1);
    CHECK_INT(told.releases, 1);
    pool_destroy(pool);
}

/* Random use, with the accounting checked against a second one. */
TEST(the_parts_of_the_statistics_always_sum_to_what_the_device_gave) {
    struct counting counting = counting_device(4 << 20);
    struct status status = {0};
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block live[64];
    size_t count = 0;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        unsigned queue = random >> 40 & 3;
        counting.reached = random >> 50 & 1;
        if (count < 64 && (random & 1)) {
            if (pool_allocate(pool, random >> 8 & 0xFFFFF, queue, &live[count], &status))
                count++;
            else
                CHECK_INT(status.code, STATUS_MEMORY);
        } else if (count > 0) {
            size_t which = (random >> 20) % count;
            pool_release(pool, live[which], queue);
            live[which] = live[--count];
        }
        struct ridge_pool_stats stats;
        pool_stats(pool, &stats);
        if (stats.used_bytes + stats.pooled_bytes != counting.live_bytes ||
            stats.pooled_buffers + count != counting.live_blocks) {
            test_failed(__FILE__, __LINE__, "step %d", i);
            break;
        }
    }
    while (count > 0)
        pool_release(pool, live[--count], 0);
    pool_destroy(pool);
    CHECK_INT(counting.live_blocks, 0);
    CHECK_INT(counting.records, counting.forgets);
}

TEST(a_pool_without_host_memory_gives_blocks_back_to_the_device) {
    struct counting counting = counting_device(1 << 30);
    struct status status = {0};
    memory_fail_from(1);
    CHECK(!pool_create(&counting.device, &status));
    memory_fail_from(0);
    struct pool *pool = pool_create(&counting.device, &status);
    REQUIRE(pool);
    struct pool_block block = take(pool, 1000, 0);
    memory_fail_from(1);
    pool_release(pool, block, 0);
    memory_fail_from(0);
    CHECK_INT(counting.live_blocks, 0);
    pool_destroy(pool);
}
