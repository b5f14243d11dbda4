/* Snapshots of PyTorch's allocator, and the pickles that they are. */
#include "imported.h"

#include "base/text.h"
#include "import/pickle.h"

/* ---- Pickles ---- */

static bool reads(struct text bytes, struct pickle *pickle, struct status *status) {
    *pickle = (struct pickle){0};
    *status = (struct status){0};
    return pickle_read(pickle, bytes, status);
}

TEST(a_pickle_of_plain_data_is_read) {
    /* {'a': [1, -2, 70000, True, None, 'x'], 'b': (2.5,)}, protocol 4 */
    static const char bytes[] = "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8C\x01"
                                "a\x94]\x94(K\x01J\xFE\xFF\xFF\xFFJp\x11\x01\x00\x88N\x8C\x01x\x94"
                                "e\x8C\x01"
                                "b\x94G@\x04\x00\x00\x00\x00\x00\x00\x85\x94u.";
    struct pickle pickle;
    struct status status;
    CHECK_OK(reads((struct text){bytes, sizeof bytes - 1}, &pickle, &status), status);
    const struct pickle_value *list = pickle_list(pickle.value, "a");
    CHECK_INT(list->count, 6);
    if (list->count == 6) {
        CHECK_INT(list->items[0]->integer, 1);
        CHECK_INT(list->items[1]->integer, -2);
        CHECK_INT(list->items[2]->integer, 70000);
        CHECK(text_is(list->items[5]->text, "x"));
    }
    const struct pickle_value *tuple = pickle_list(pickle.value, "b");
    CHECK(tuple->count == 1 && tuple->items[0]->real == 2.5);
    pickle_finish(&pickle);
}

TEST(a_pickle_that_calls_something_is_refused) {
    static const char bytes[] =
        "\x80\x04\x8C\x02os\x94\x8C\x06system\x94\x93\x94\x8C\x02ls\x94\x85R.";
    struct pickle pickle;
    struct status status;
    CHECK(!reads((struct text){bytes, sizeof bytes - 1}, &pickle, &status));
    CHECK(strstr(status.message, "does not execute") != NULL);
    pickle_finish(&pickle);
}

TEST(damaged_pickles_are_errors) {
    static const struct text all[] = {TEXT("\x80\x04"),
                                      TEXT("\x80\x04."),
                                      TEXT("\x80\x04e."),
                                      TEXT("\x80\x04]s."),
                                      TEXT("\x80\x04h\x05."),
                                      TEXT("\x80\x04t."),
                                      TEXT("\x80\x04X\xFF\xFF\xFF\x7F.")};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct pickle pickle;
        struct status status;
        CHECK(!reads(all[i], &pickle, &status));
        CHECK(status.message[0] != 0);
        pickle_finish(&pickle);
    }
}

/* ---- Snapshots ---- */

static void put_text(struct buffer *bytes, const char *text) {
    buffer_byte(bytes, 'X');
    size_t length = strlen(text);
    for (unsigned i = 0; i < 4; i++)
        buffer_byte(bytes, (char)(length >> 8 * i));
    buffer_string(bytes, text);
}

static void put_integer(struct buffer *bytes, int64_t value) {
    buffer_string(bytes, "\x8A\x08");
    for (unsigned i = 0; i < 8; i++)
        buffer_byte(bytes, (char)((uint64_t)value >> 8 * i));
}

static void put_member(struct buffer *bytes, const char *key, int64_t value) {
    put_text(bytes, key);
    put_integer(bytes, value);
}

static void put_frames(struct buffer *bytes, const char *file, int64_t line) {
    put_text(bytes, "frames");
    buffer_string(bytes, "](}(");
    put_text(bytes, "name");
    put_text(bytes, "empty");
    put_text(bytes, "filename");
    put_text(bytes, "/usr/lib/python3/site-packages/torch/x.py");
    put_member(bytes, "line", 5);
    buffer_string(bytes, "u}(");
    put_text(bytes, "name");
    put_text(bytes, "forward");
    put_text(bytes, "filename");
    put_text(bytes, file);
    put_member(bytes, "line", line);
    buffer_string(bytes, "ue");
}

static void put_event(struct buffer *bytes, const char *action, int64_t address, int64_t size,
                      int64_t time, int64_t line) {
    buffer_string(bytes, "}(");
    put_text(bytes, "action");
    put_text(bytes, action);
    put_member(bytes, "addr", address);
    put_member(bytes, "size", size);
    put_member(bytes, "time_us", time);
    put_frames(bytes, "/home/me/train.py", line);
    buffer_byte(bytes, 'u');
}

/* One segment of 2000 bytes with a block of 300 that was there before the history. */
static void put_snapshot(struct buffer *bytes) {
    buffer_string(bytes, "\x80\x04}(");
    put_text(bytes, "segments");
    buffer_string(bytes, "](}(");
    put_member(bytes, "device", 0);
    put_member(bytes, "total_size", 2000);
    put_member(bytes, "active_size", 300);
    put_text(bytes, "blocks");
    buffer_string(bytes, "](}(");
    put_member(bytes, "address", 64);
    put_member(bytes, "size", 300);
    put_text(bytes, "state");
    put_text(bytes, "active_allocated");
    put_frames(bytes, "/home/me/model.py", 3);
    buffer_string(bytes, "ueue");
    put_text(bytes, "device_traces");
    buffer_string(bytes, "](](");
    put_event(bytes, "alloc", 512, 100, 10, 7);
    put_event(bytes, "alloc", 1024, 900, 11, 8);
    put_event(bytes, "free_requested", 1024, 900, 12, 0);
    put_event(bytes, "free_completed", 1024, 900, 12, 0);
    put_event(bytes, "free_completed", 512, 100, 13, 0);
    put_event(bytes, "free_completed", 2048, 50, 14, 0); /* from before */
    buffer_string(bytes, "eeu.");
}

TEST(what_a_snapshot_frees_or_keeps_without_allocating_was_there_before) {
    struct buffer bytes = {0};
    struct status status = {0};
    put_snapshot(&bytes);
    struct trace *trace =
        imported_bytes(&import_torch_memory, buffer_as_text(&bytes), false, &status);
    if (!trace || !trace_load(trace, TABLE_MEMORY, NULL, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    const struct columns_memory *memory = &trace->memory;
    CHECK_INT(memory->count, 7);
    uint64_t peak = 0;
    for (size_t i = 0; i < memory->count; i++)
        peak = memory->allocated[i] > peak ? memory->allocated[i] : peak;
    CHECK_INT(peak, 300 + 50 + 100 + 900);
    CHECK_INT(memory->allocated[memory->count - 1], 300);
    CHECK_INT(memory->reserved[0], 2000);
    CHECK(text_is(trace_meta(trace, META_FRAGMENTED "0"), "1700"));
    uint32_t leaf = memory->stack[2];
    CHECK(text_is(trace_text(trace, trace->stack.function[leaf]), "empty"));
    CHECK_INT(trace->stack.line[trace->stack.parent[leaf]], 7);
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(the_torch_memory_fixtures_have_their_true_figures) {
    static const struct {
        const char *path;
        int64_t allocations, frees, reserved;
    } files[] = {
        {"torch-memory/mini_snapshot.pickle", 28, 4, 421527552},
        {"torch-memory/magma27_memory_snapshot.pickle", 1721 + 229, 1721, 14180941824},
        {"torch-memory/kkaitlyn_memory_snapshot.pickle", 1202, 0, 75902222336},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct status status = {0};
        const char *path = test_fixture(files[i].path);
        if (!path)
            return;
        struct trace *trace = imported_file(&import_torch_memory, path, false, &status);
        if (!trace || !trace_load(trace, TABLE_MEMORY, NULL, &status)) {
            test_failed(__FILE__, __LINE__, "%s: %s", path, status.message);
            continue;
        }
        int64_t allocations = 0, frees = 0;
        for (size_t k = 0; k < trace->memory.count; k++)
            ++*(trace->memory.operation[k] == MEMORY_ALLOC ? &allocations : &frees);
        CHECK_INT(allocations, files[i].allocations);
        CHECK_INT(frees, files[i].frees);
        CHECK_INT(trace->memory.reserved[trace->memory.count - 1], files[i].reserved);
        trace_close(trace);
    }
}
