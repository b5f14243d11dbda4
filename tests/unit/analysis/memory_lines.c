/* The lines whose allocations are alive at the peak of a device. */
#include "analysis/memory_lines.h"

#include "../test.h"
#include "build.h"

static uint32_t frame(struct build *build, uint32_t parent, const char *file, uint32_t line) {
    return trace_write_stack(
        build->writer,
        &(struct row_stack){.parent = parent,
                            .function = trace_writer_string(build->writer, TEXT("f")),
                            .file = trace_writer_string(build->writer, text_of(file)),
                            .line = line});
}

static void memory(struct build *build, uint32_t device, int64_t time, bool allocates,
                   uint64_t address, uint64_t bytes, uint32_t stack) {
    trace_write_memory(build->writer,
                       &(struct row_memory){.time = time,
                                            .device = device,
                                            .operation = allocates ? MEMORY_ALLOC : MEMORY_FREE,
                                            .address = address,
                                            .bytes = bytes,
                                            .stack = stack});
}

/* "device line bytes count" of each. */
static void check_lines(struct build *build, uint64_t peak, const char *expected) {
    struct status status = {0};
    struct model model;
    struct memory_lines lines;
    char found[400] = "";
    struct trace *trace = build_end(build);
    REQUIRE(trace && model_build(&model, trace, &status));
    CHECK_OK(memory_lines_find(&model, &lines, &status), status);
    for (size_t i = 0; i < lines.count; i++) {
        const struct memory_line *line = &lines.lines[i];
        snprintf(found + strlen(found), sizeof found - strlen(found), "%u:%u %llu in %llu; ",
                 line->device, trace->stack.line[line->frame], (unsigned long long)line->bytes,
                 (unsigned long long)line->count);
    }
    CHECK_STRING(found, expected);
    CHECK_INT(lines.peak ? lines.peak[1] : 0, peak);
    memory_lines_finish(&lines);
    model_finish(&model);
    trace_close(trace);
}

TEST(lines_hold_what_is_alive_at_the_peak_and_nothing_later) {
    struct build build;
    build_begin(&build);
    uint32_t a = frame(&build, 0, "/home/a.py", 10), b = frame(&build, 0, "/home/a.py", 20);
    memory(&build, build.device, 10, true, 1, 100, a);
    memory(&build, build.device, 20, true, 2, 50, b);
    memory(&build, build.device, 30, false, 1, 100, 0);
    memory(&build, build.device, 40, true, 1, 70, b); /* the address again */
    memory(&build, build.device, 50, true, 3, 30, a); /* 150: as much as at 20 */
    memory(&build, build.device, 60, true, 4, 1, a);  /* the peak */
    memory(&build, build.device, 70, false, 2, 50, 0);
    memory(&build, build.device, 80, true, 5, 40, b);
    check_lines(&build, 151, "1:20 120 in 2; 1:10 31 in 2; ");
}

TEST(the_first_of_two_equal_peaks_counts) {
    struct build build;
    build_begin(&build);
    uint32_t a = frame(&build, 0, "/home/a.py", 10), b = frame(&build, 0, "/home/a.py", 20);
    memory(&build, build.device, 10, true, 1, 100, a);
    memory(&build, build.device, 30, false, 1, 100, 0);
    memory(&build, build.device, 40, true, 2, 100, b);
    check_lines(&build, 100, "1:10 100 in 1; ");
}

/* What was allocated before the recording is released in it: the level does not fall below 0. */
TEST(releases_of_unknown_allocations_leave_no_debt) {
    struct build build;
    build_begin(&build);
    uint32_t a = frame(&build, 0, "/home/a.py", 10);
    memory(&build, build.device, 10, false, 9, 1000, 0);
    memory(&build, build.device, 20, true, 1, 5, a);
    memory(&build, build.device, 30, false, 8, 5, 0);
    memory(&build, build.device, 40, true, 2, 4, a);
    check_lines(&build, 5, "1:10 5 in 1; ");
}

TEST(the_frames_of_libraries_are_not_the_lines_of_a_program) {
    struct build build;
    build_begin(&build);
    uint32_t own = frame(&build, 0, "/home/a.py", 10);
    uint32_t inner = frame(&build, own, "/usr/lib/python3/dist-packages/x.py", 1);
    uint32_t deep = frame(&build, inner, "/lib/torch/nn.py", 2);
    uint32_t nameless = frame(&build, deep, "", 3);
    uint32_t packages = frame(&build, 0, "/v/site-packages/y.py", 30);
    uint32_t windows = frame(&build, 0, "C:\\v\\site-packages\\y.py", 40);
    uint32_t frozen = frame(&build, packages, "<frozen runpy>", 50);
    uint32_t empty = frame(&build, windows, "", 60);
    uint32_t again = frame(&build, packages, "/home/a.py", 10); /* the same line */
    uint32_t stacks[] = {nameless, deep, packages, frozen, empty, again, 0};
    for (unsigned i = 0; i < 7; i++)
        memory(&build, build.device, 10 + i, true, 1 + i, (uint64_t)1 << i, stacks[i]);
    check_lines(&build, 127, "1:0 64 in 1; 1:10 35 in 3; 1:40 16 in 1; 1:50 8 in 1; 1:30 4 in 1; ");
}

TEST(each_device_has_its_own_peak) {
    struct build build;
    build_begin(&build);
    uint32_t other = trace_write_device(build.writer, &(struct row_device){.index = 1});
    uint32_t a = frame(&build, 0, "/home/a.py", 10), b = frame(&build, 0, "/home/a.py", 20);
    memory(&build, other, 10, true, 1, 7, b);
    memory(&build, build.device, 20, true, 1, 8, b);
    memory(&build, build.device, 30, true, 2, 8, a);
    memory(&build, other, 40, false, 1, 7, 0);
    memory(&build, other, 50, true, 3, 6, a);
    check_lines(&build, 16, "1:10 8 in 1; 1:20 8 in 1; 2:20 7 in 1; ");
}

TEST(without_callers_there_are_no_lines) {
    struct build build;
    build_begin(&build);
    memory(&build, build.device, 10, true, 1, 7, 0);
    check_lines(&build, 0, "");
}
