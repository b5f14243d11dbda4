/* memray's tables, as `memray transform csv` prints them. */
#include "imported.h"

#include "base/text.h"

#define HEADER "allocator,num_allocations,size,tid,thread_name,stack_trace\r\n"

static struct trace *import(const char *table, struct status *status) {
    *status = (struct status){0};
    return imported_bytes(&import_memray, text_of(table), false, status);
}

TEST(a_table_of_memray_has_allocations_with_stacks) {
    static const char table[] =
        HEADER "MALLOC,1,1340,1,0x1,leaf;b.py;4|main;a.py;11\r\n"
               "MMAP,2,1048576,7,\"0x7 (loader, 2)\",<listcomp>;odd;name.py;6|main;a.py;11\r\n"
               "CALLOC,1,8,1,0x1,\r\n";
    struct status status;
    struct import_source source = {
        .path = "a", .head = (const unsigned char *)table, .head_length = sizeof table - 1};
    CHECK_INT(import_memray.detect(&source), 3);
    struct trace *trace = import(table, &status);
    CHECK_OK(trace && trace_load(trace, TABLE_ALLOCATION, NULL, &status), status);
    REQUIRE(trace && trace->allocation.count == 3);
    CHECK_INT(trace->allocation.bytes[0], 1340);
    CHECK_INT(trace->allocation.bytes[1], 1048576);
    CHECK_INT(trace->allocation.stack[2], 0);
    uint32_t leaf = trace->allocation.stack[0], caller = trace->stack.parent[leaf];
    CHECK(text_is(trace_text(trace, trace->stack.function[leaf]), "leaf"));
    CHECK(text_is(trace_text(trace, trace->stack.file[leaf]), "b.py"));
    CHECK_INT(trace->stack.line[leaf], 4);
    CHECK_INT(trace->stack.line[caller], 11);
    CHECK_INT(trace->stack.parent[caller], 0);
    CHECK_INT(trace->stack.parent[trace->allocation.stack[1]], caller);
    CHECK(text_is(trace_text(trace, trace->stack.file[trace->allocation.stack[1]]), "odd;name.py"));
    uint32_t thread = trace->allocation.thread[1];
    CHECK_INT(trace->thread.tid[thread], 7);
    CHECK(text_is(trace_text(trace, trace->thread.name[thread]), "0x7 (loader, 2)"));
    trace_close(trace);
}

TEST(a_table_of_memray_without_rows_or_with_damaged_ones_is_an_error) {
    struct status status;
    CHECK(!import(HEADER, &status));
    CHECK(strstr(status.message, "without allocations"));
    CHECK(!import(HEADER "MALLOC,1,many,1,0x1,f;a.py;1\n", &status));
    CHECK(strstr(status.message, "line 2 is not an allocation"));
    CHECK(!import(HEADER "MALLOC,1\n", &status));
}
