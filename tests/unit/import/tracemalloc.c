/* Snapshots of tracemalloc: pickles of two classes that hold plain data, and no others. */
#include "imported.h"

#include "base/text.h"

#define UTF8(length, text) "\x8c" length text
#define CLASS(length, name) UTF8("\x0btracemalloc", "") UTF8(length, name) "\x93)\x81}("
/* Snapshot(traces = _Traces(_traces = [(0, 1000, (("b.py", 7), ("a.py", 3)), 2), (0, 24, ...)])) */
#define TRACE(size, frames) "(K\x00" size frames "K\x02t"
#define FRAMES UTF8("\x04", "b.py") "K\x07\x86" UTF8("\x04", "a.py") "K\x03\x86\x86"
#define SNAPSHOT                                                                                   \
    "\x80\x05" CLASS("\x08", "Snapshot") UTF8("\x06", "traces") CLASS("\x07", "_Traces")           \
        UTF8("\x07", "_traces") "](" TRACE("M\xe8\x03", FRAMES) TRACE("K\x18", FRAMES) "eub"       \
                                                                                       "ub."

static struct trace *import(const char *bytes, size_t length, struct status *status) {
    struct text text = {bytes, length};
    *status = (struct status){0};
    return imported_bytes(&import_tracemalloc, text, false, status);
}

TEST(a_snapshot_of_tracemalloc_has_allocations_with_lines) {
    static const char bytes[] = SNAPSHOT;
    struct status status;
    struct import_source source = {
        .path = "a", .head = (const unsigned char *)bytes, .head_length = sizeof bytes - 1};
    CHECK_INT(import_tracemalloc.detect(&source), 3);
    struct trace *trace = import(bytes, sizeof bytes - 1, &status);
    CHECK_OK(trace && trace_load(trace, TABLE_ALLOCATION, NULL, &status), status);
    REQUIRE(trace && trace->allocation.count == 2);
    CHECK_INT(trace->allocation.bytes[0], 1000);
    CHECK_INT(trace->allocation.bytes[1], 24);
    CHECK(trace->allocation.address[0] != trace->allocation.address[1]);
    uint32_t leaf = trace->allocation.stack[0], caller = trace->stack.parent[leaf];
    CHECK(text_is(trace_text(trace, trace->stack.file[leaf]), "b.py"));
    CHECK_INT(trace->stack.line[leaf], 7);
    CHECK(text_is(trace_text(trace, trace->stack.file[caller]), "a.py"));
    CHECK_INT(caller ? trace->stack.parent[caller] : 1, 0);
    trace_close(trace);
}

TEST(other_classes_and_calls_in_a_pickle_are_refused) {
    static const char other[] = "\x80\x05" UTF8("\x02", "os") UTF8("\x06", "system") "\x93.",
                      arguments[] = "\x80\x05" UTF8("\x0btracemalloc", "")
                          UTF8("\x08", "Snapshot") "\x93K\x01\x85\x81.",
                      call[] =
                          "\x80\x05" UTF8("\x0btracemalloc", "") UTF8("\x08", "Snapshot") "\x93)R.";
    struct status status;
    CHECK(!import(other, sizeof other - 1, &status));
    CHECK(strstr(status.message, "does not execute"));
    CHECK(!import(arguments, sizeof arguments - 1, &status));
    CHECK(strstr(status.message, "does not execute"));
    CHECK(!import(call, sizeof call - 1, &status));
    CHECK(strstr(status.message, "does not execute"));
}

TEST(a_snapshot_of_tracemalloc_without_traces_is_an_error) {
    static const char empty[] = "\x80\x05" CLASS("\x08", "Snapshot") "ub.";
    struct status status;
    CHECK(!import(empty, sizeof empty - 1, &status));
    CHECK(strstr(status.message, "without traces"));
}
