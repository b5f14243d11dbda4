/* Which roof bounds a piece of work, computed by hand for synthetic roofs; roofs as JSON and in
 * the cache; and the measurement itself, whose figures must be consistent. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/roofs/native_chains.h"
#include "bench/roofs/native_streams.h"
#include "bench/roofs/roofs.h"

#define NEAR(a, b) (fabs((a) - (b)) <= 1e-9 * fabs(b))

static struct roofs made_up(void) {
    struct roofs roofs = {.cache_bytes = 1 << 20, .measured_at = 1700000000};
    strcpy(roofs.device, "cuda:0");
    strcpy(roofs.description, "Made \"up\" \xc3\xa9");
    strcpy(roofs.driver, "1.2");
    roofs.of[ROOF_MEMORY_READ].value = 2e12;
    roofs.of[ROOF_MEMORY_WRITE].value = 3e12;
    roofs.of[ROOF_MEMORY_COPY].value = 1e12;
    roofs.of[ROOF_CACHE_READ].value = 8e12;
    roofs.of[ROOF_CACHE_COPY].value = 4e12;
    roofs.of[ROOF_F32].value = 50e12;
    roofs.of[ROOF_F16].value = 100e12;
    roofs.of[ROOF_TRIGONOMETRY].value = 1e12;
    roofs.of[ROOF_EXPONENTIALS].value = 4e12;
    roofs.of[ROOF_MATRIX_F32].value = 400e12;
    roofs.of[ROOF_MATRIX_F16].value = 800e12;
    roofs.of[ROOF_LAUNCH].value = 2000;
    roofs.of[ROOF_GRAPH_REPLAY].value = 1500;
    roofs.of[ROOF_GRAPH_KERNEL].value = 500;
    roofs.of[ROOF_F32].spread = 0.01;
    roofs.of[ROOF_F32].stated = 60e12;
    strcpy(roofs.of[ROOF_BF16].how, "there is none");
    roofs.transfers[0] = (struct transfer_roof){4096, true, false, {.value = 1e9}};
    roofs.transfers[1] = (struct transfer_roof){1 << 20, true, false, {.value = 10e9}};
    roofs.transfers[2] = (struct transfer_roof){1 << 20, true, true, {.value = 50e9}};
    roofs.transfer_count = 3;
    return roofs;
}

TEST(what_goes_through_memory_is_bound_by_the_faster_of_reading_and_copying) {
    struct roofs roofs = made_up();
    struct amount amount = {.bytes = 1000000000, .flops = 1000, .kernels = 1};
    struct limit limit = roofs_limit(&roofs, &amount);
    CHECK(limit.kind == LIMIT_MEMORY && limit.roof == ROOF_MEMORY_READ);
    CHECK(NEAR(limit.ns, 500000.0));
    CHECK(NEAR(limit.memory_ns, limit.ns));
    CHECK(NEAR(limit.launch_ns, 2000.0));
}

static void add_working_set(struct roofs *roofs, uint64_t bytes, double value) {
    roofs->working_sets[roofs->working_set_count++] =
        (struct working_set){.bytes = bytes, .roof = {.value = value}};
}

static struct roofs made_up_with_working_sets(void) {
    struct roofs roofs = made_up();
    add_working_set(&roofs, 64 << 10, 8e12);
    add_working_set(&roofs, 1 << 20, 5e12);
    add_working_set(&roofs, 16 << 20, 3e12);
    add_working_set(&roofs, 64 << 20, 2.1e12);
    add_working_set(&roofs, 1 << 30, 2e12);
    return roofs;
}

TEST(without_working_sets_what_may_be_cached_is_bound_by_the_cache) {
    struct roofs roofs = made_up();
    struct amount amount = {.bytes = 2 << 20};
    CHECK(roofs_limit(&roofs, &amount).kind == LIMIT_CACHE);
    CHECK(roofs_limit(&roofs, &amount).roof == ROOF_CACHE_READ);
    amount.touched = 3 << 20; /* inputs take turns */
    CHECK(roofs_limit(&roofs, &amount).kind == LIMIT_MEMORY);
    amount = (struct amount){.bytes = 16 << 20, .touched = 1 << 20}; /* gone over several times */
    CHECK(roofs_limit(&roofs, &amount).kind == LIMIT_CACHE);
}

TEST(a_cache_that_is_slower_than_memory_binds_nothing) {
    struct roofs roofs = made_up();
    roofs.of[ROOF_CACHE_READ].value = roofs.of[ROOF_CACHE_COPY].value = 1;
    struct limit limit = roofs_limit(&roofs, &(struct amount){.bytes = 1000});
    CHECK(limit.kind == LIMIT_MEMORY && limit.roof == ROOF_MEMORY_READ);
}

static double seconds_for(const struct roofs *roofs, uint64_t touched, enum limit_kind kind) {
    struct amount amount = {.bytes = 1000000000, .touched = touched};
    struct limit limit = roofs_limit(roofs, &amount);
    CHECK(limit.kind == kind);
    return limit.ns / 1e9;
}

TEST(the_faster_of_the_neighboring_working_sets_binds) {
    struct roofs roofs = made_up_with_working_sets();
    CHECK(NEAR(seconds_for(&roofs, 1000, LIMIT_CACHE), 1 / 8e3));
    CHECK(NEAR(seconds_for(&roofs, 64 << 10, LIMIT_CACHE), 1 / 8e3));
    CHECK(NEAR(seconds_for(&roofs, (1 << 20) - 1, LIMIT_CACHE), 1 / 8e3));
    CHECK(NEAR(seconds_for(&roofs, 1 << 20, LIMIT_CACHE), 1 / 5e3));
    CHECK(NEAR(seconds_for(&roofs, 20 << 20, LIMIT_CACHE), 1 / 3e3));
    CHECK(NEAR(seconds_for(&roofs, 65 << 20, LIMIT_MEMORY), 1 / 2.1e3)); /* hardly faster */
    CHECK(NEAR(seconds_for(&roofs, UINT64_MAX, LIMIT_MEMORY), 1 / 2e3));
}

TEST(a_larger_working_set_that_was_faster_binds_smaller_ones_too) {
    struct roofs roofs = made_up_with_working_sets();
    roofs.working_sets[2].roof.value = 6e12; /* the second was measured in a bad moment */
    CHECK(NEAR(seconds_for(&roofs, 2 << 20, LIMIT_CACHE), 1 / 6e3));
    CHECK(NEAR(seconds_for(&roofs, 1000, LIMIT_CACHE), 1 / 8e3));
}

TEST(arithmetic_binds_by_its_unit_or_by_its_functions) {
    struct roofs roofs = made_up();
    struct amount amount = {.bytes = 100, .flops = 50000000, .arithmetic = ROOF_F32};
    struct limit limit = roofs_limit(&roofs, &amount);
    CHECK(limit.kind == LIMIT_ARITHMETIC && limit.roof == ROOF_F32 && NEAR(limit.ns, 1000.0));
    amount.arithmetic = ROOF_MATRIX_F16;
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 62.5));
    amount.arithmetic = ROOF_BF16; /* not measured: computed as f32 */
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 1000.0));
    amount.exponentials = 40000000;
    limit = roofs_limit(&roofs, &amount);
    CHECK(limit.roof == ROOF_EXPONENTIALS && NEAR(limit.ns, 10000.0));
    amount.trigonometry = 20000000; /* one after the other */
    limit = roofs_limit(&roofs, &amount);
    CHECK(limit.roof == ROOF_TRIGONOMETRY && NEAR(limit.ns, 30000.0));
}

TEST(launches_and_graphs_bind_small_work) {
    struct roofs roofs = made_up();
    struct amount amount = {.bytes = 64, .flops = 16, .kernels = 3};
    struct limit limit = roofs_limit(&roofs, &amount);
    CHECK(limit.kind == LIMIT_LAUNCH && limit.roof == ROOF_LAUNCH && NEAR(limit.ns, 6000.0));
    amount = (struct amount){.bytes = 64, .replays = 1, .graph_kernels = 5};
    limit = roofs_limit(&roofs, &amount);
    CHECK(limit.kind == LIMIT_LAUNCH && limit.roof == ROOF_GRAPH_REPLAY && NEAR(limit.ns, 3500.0));
}

TEST(transfers_are_interpolated_between_the_sizes_measured) {
    struct roofs roofs = made_up();
    struct amount amount = {
        .transfer_bytes = 4096, .transfer_count = 1, .transfer_to_device = true};
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 4096.0));
    CHECK(roofs_limit(&roofs, &amount).kind == LIMIT_TRANSFER);
    amount.transfer_bytes = (4096 + (1 << 20)) / 2;
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, (4096 + 104857.6) / 2));
    amount.transfer_bytes = 2048; /* below all: at the rate of the smallest */
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 2048.0));
    amount.transfer_bytes = 10 << 20;
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 1048576.0));
    amount.transfer_count = 10;
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 1048576.0));
    amount.transfer_pinned = true;
    CHECK(NEAR(roofs_limit(&roofs, &amount).ns, 209715.2));
    amount.transfer_to_device = false; /* never measured */
    CHECK(roofs_limit(&roofs, &amount).kind == LIMIT_NONE);
}

TEST(without_roofs_nothing_binds) {
    struct roofs roofs = {0};
    struct amount amount = {.bytes = 1000, .flops = 1000, .kernels = 1, .transfer_bytes = 1000};
    struct limit limit = roofs_limit(&roofs, &amount);
    CHECK(limit.kind == LIMIT_NONE && limit.ns == 0);
    CHECK_STRING(limit_kind_name(limit.kind), "none");
    CHECK_STRING(limit_kind_name(LIMIT_TRANSFER), "transfer");
}

TEST(a_product_is_done_by_the_fastest_unit_of_its_type) {
    struct roofs roofs = made_up();
    unsetenv("RIDGE_TF32");
    CHECK(roofs_product_unit(&roofs, RIDGE_F32) == ROOF_F32);
    CHECK(roofs_product_unit(&roofs, RIDGE_F16) == ROOF_MATRIX_F16);
    CHECK(roofs_product_unit(&roofs, RIDGE_BF16) == ROOF_F32);
    CHECK(roofs_product_unit(&roofs, RIDGE_Q4_K) == ROOF_MATRIX_F16);
    setenv("RIDGE_TF32", "1", 1);
    CHECK(roofs_product_unit(&roofs, RIDGE_F32) == ROOF_MATRIX_F32);
    unsetenv("RIDGE_TF32");
}

/* ---- Files ------------------------------------------------------------------------------ */

static void as_json(const struct roofs *roofs, struct buffer *text) {
    struct output output = output_into(text);
    struct json json = {.output = &output};
    roofs_write_json(roofs, &json);
}

TEST(roofs_come_back_from_json_as_they_were) {
    struct roofs roofs = made_up_with_working_sets(), back;
    struct buffer text = {0};
    struct status status = {0};
    as_json(&roofs, &text);
    REQUIRE(roofs_read_json(buffer_as_text(&text), &back, &status));
    CHECK_STRING(back.description, roofs.description);
    CHECK_STRING(back.of[ROOF_BF16].how, "there is none");
    CHECK(back.of[ROOF_F32].value == 50e12 && back.of[ROOF_F32].spread == 0.01 &&
          back.of[ROOF_F32].stated == 60e12);
    CHECK(back.cache_bytes == roofs.cache_bytes && back.measured_at == roofs.measured_at);
    CHECK_INT(back.transfer_count, 3);
    CHECK_INT(back.working_set_count, 5);
    CHECK(back.working_sets[2].bytes == 16 << 20 && back.working_sets[2].roof.value == 3e12);
    CHECK(back.transfers[2].pinned && back.transfers[2].to_device &&
          back.transfers[2].roof.value == 50e9 && back.transfers[2].bytes == 1 << 20);
    buffer_finish(&text);
}

TEST(damaged_roofs_are_refused_and_never_crash) {
    struct roofs roofs = made_up_with_working_sets(), back;
    struct buffer text = {0};
    struct status status;
    as_json(&roofs, &text);
    for (size_t length = 0; length + 1 < text.length; length++)
        CHECK(!roofs_read_json((struct text){text.data, length}, &back, &status));
    for (size_t i = 0; i < text.length; i++) {
        char kept = text.data[i];
        text.data[i] = (char)(kept ^ 0x15);
        roofs_read_json(buffer_as_text(&text), &back, &status);
        CHECK(back.transfer_count <= TRANSFERS_MAX);
        CHECK(back.working_set_count <= WORKING_SETS_MAX);
        text.data[i] = kept;
    }
    buffer_finish(&text);
    CHECK(!roofs_read_json(TEXT("[]"), &back, &status));
    CHECK(!roofs_read_json(TEXT("{\"roofs\": 3}"), &back, &status));
    CHECK(!roofs_read_json(TEXT("{\"roofs\": {\"f32\": {\"value\": -1}}}"), &back, &status));
    CHECK(!roofs_read_json(TEXT("{\"roofs\": {\"f32\": {\"value\": 1e999}}}"), &back, &status));
    CHECK(roofs_read_json(TEXT("{\"later\": [1, {}], \"roofs\": {\"later\": 1}}"), &back, &status));
}

static bool reads_rows(const char *member, int rows) {
    struct buffer text = {0};
    struct roofs back;
    struct status status;
    buffer_printf(&text, "{\"%s\": [{}", member);
    for (int i = 1; i < rows; i++)
        buffer_string(&text, ", {}");
    buffer_string(&text, "]}");
    bool read = roofs_read_json(buffer_as_text(&text), &back, &status);
    buffer_finish(&text);
    return read;
}

TEST(more_rows_than_there_is_room_for_are_refused) {
    CHECK(reads_rows("transfers", TRANSFERS_MAX));
    CHECK(!reads_rows("transfers", TRANSFERS_MAX + 1));
    CHECK(reads_rows("working_sets", WORKING_SETS_MAX));
    CHECK(!reads_rows("working_sets", WORKING_SETS_MAX + 1));
}

TEST(kept_roofs_are_found_by_the_same_device_alone) {
    ridge_device *device = ridge_device_open("cpu");
    REQUIRE(device);
    struct roofs roofs = made_up(), back;
    roofs.quick = true;
    const char *threads = getenv("RIDGE_THREADS");
    char before[32] = "";
    if (threads)
        snprintf(before, sizeof before, "%s", threads);
    const char *folder = test_temporary(".cache");
    const char *cache = getenv("RIDGE_CACHE");
    char kept[512] = "";
    if (cache)
        snprintf(kept, sizeof kept, "%s", cache);
    setenv("RIDGE_CACHE", folder, 1);
    CHECK(!roofs_load(device, true, &back));
    roofs_store(device, &roofs);
    CHECK(!roofs_load(device, false, &back)); /* quick ones are not good enough */
    REQUIRE(roofs_load(device, true, &back));
    CHECK(back.quick && back.of[ROOF_F32].value == 50e12);
    CHECK_STRING(back.device, "cpu:0");
    ridge_device_close(device);
    setenv("RIDGE_THREADS", "3", 1);
    device = ridge_device_open("cpu");
    CHECK(device && !roofs_load(device, true, &back));
    ridge_device_close(device);
    if (threads)
        setenv("RIDGE_THREADS", before, 1);
    else
        unsetenv("RIDGE_THREADS");
    setenv("RIDGE_CACHE", "off", 1);
    device = ridge_device_open("cpu");
    roofs_store(device, &roofs);
    CHECK(device && !roofs_load(device, true, &back));
    ridge_device_close(device);
    if (cache)
        setenv("RIDGE_CACHE", kept, 1);
    else
        unsetenv("RIDGE_CACHE");
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

/* ---- Kernels and measuring ---------------------------------------------------------------- */

TEST(chains_leave_ordinary_numbers_and_change_their_state) {
    unsigned count, checked = 0;
    const struct native_chain *chains = native_chains(&count);
    for (unsigned i = 0; i < count; i++) {
        uint32_t *state = aligned_alloc(64, CHAIN_STATE), random = 1, changed = 0;
        for (size_t k = 0; k < CHAIN_STATE / 4; k++)
            state[k] = random = random * 1664525u + 1013904223u;
        if (chains[i].supported()) {
            chains[i].run(1001, state);
            random = 1;
            for (size_t k = 0; k < CHAIN_STATE / 4; k++)
                changed += state[k] != (random = random * 1664525u + 1013904223u);
            CHECK(changed > 0);
            for (size_t k = 0; chains[i].roof == ROOF_F32 && k < 16; k++) {
                float value;
                memcpy(&value, &state[k], sizeof value);
                CHECK(value > 0.1f && value < 10.0f);
            }
            checked++;
        }
        free(state);
    }
    CHECK(checked > 0);
}

TEST(streams_read_write_and_copy_all_of_it) {
    unsigned count;
    const struct native_stream *streams = native_streams(&count);
    size_t bytes = 4 * STREAM_UNIT;
    char *to = aligned_alloc(4096, bytes), *from = aligned_alloc(4096, bytes);
    for (unsigned i = 0; i < count; i++) {
        for (size_t k = 0; k < bytes; k++) {
            from[k] = (char)(k * 7 + 1);
            to[k] = 0;
        }
        uint64_t sum = streams[i].pass(to, from, bytes);
        if (streams[i].kind == STREAM_READ)
            CHECK(sum != 0);
        else if (streams[i].kind == STREAM_COPY)
            CHECK(memcmp(to, from, bytes) == 0);
        else
            CHECK(!memchr(to, 0, bytes));
    }
    free(to);
    free(from);
}

/* Times say nothing in a test; that nothing is missing and that the whole is plausible does. */
TEST(roofs_of_the_cpu_are_all_measured_or_say_why_not) {
    ridge_device *device = ridge_device_open("cpu");
    struct roofs roofs;
    struct status status = {0};
    REQUIRE(device);
    CHECK_OK(roofs_measure(device, true, NULL, NULL, &roofs, &status), status);
    for (unsigned i = 0; i < ROOF_COUNT; i++) {
        CHECK(roofs.of[i].value >= 0 && isfinite(roofs.of[i].value));
        CHECK(*roofs.of[i].how);
        if (i < ROOF_F16 || i == ROOF_TRIGONOMETRY || i == ROOF_EXPONENTIALS || i >= ROOF_LAUNCH)
            CHECK(roofs.of[i].value > 0);
    }
    CHECK(roofs.of[ROOF_F32].value > 1e8 && roofs.of[ROOF_F32].value < 1e16);
    CHECK(roofs.of[ROOF_MEMORY_COPY].value > 1e7 && roofs.of[ROOF_MEMORY_COPY].value < 1e14);
    CHECK(roofs.of[ROOF_CACHE_READ].value > roofs.of[ROOF_MEMORY_READ].value / 4);
    CHECK(roofs.of[ROOF_LAUNCH_WIDE].value >= roofs.of[ROOF_LAUNCH].value / 2);
    CHECK(roofs.of[ROOF_EXPONENTIALS].value < roofs.of[ROOF_F32].value);
    CHECK(roofs.transfer_count > 0);
    CHECK(roofs.working_set_count >= 3);
    for (unsigned i = 0; i < roofs.working_set_count; i++) {
        CHECK(roofs.working_sets[i].roof.value > 0 && *roofs.working_sets[i].roof.how);
        CHECK(i == 0 || roofs.working_sets[i].bytes > roofs.working_sets[i - 1].bytes);
    }
    ridge_device_close(device);
}
