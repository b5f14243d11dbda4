/* The Markdown report: the guide's table filled in, findings from the figures, and text from the
 * trace that stays text. */
#include "../test.h"

#include "sample.h"

static void fill_plain(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"0", "NVIDIA H100", "gemm", "forward", NULL});
}

static bool has(const struct buffer *written, const char *text) {
    return text_find(buffer_as_text(written), text) >= 0;
}

TEST(the_markdown_report_fills_in_the_metric_table) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "# Profiling Results\n\n## Date: not recorded in the trace\n"));
    CHECK(has(&page, "- Device: GPU 0 (NVIDIA H100)\n"));
    CHECK(has(&page, "| Total time | 90 ns |  |  | first to last activity |\n"
                     "| GPU utilization | 44.4 % | >80 % | no | time in which a kernel runs |\n"
                     "| Kernel count | 2 |  |  |  |\n"
                     "| Avg kernel time | 20 ns |  |  |  |\n"
                     "| Avg gap time | 20 ns | \\<1 µs | yes |  |\n"
                     "| Launch efficiency | 40.0 % | >70 % | no | kernel time / run time |\n"
                     "| Memory throughput | 100 GB/s |  |  | 1.00 KB copied |\n"));
    buffer_finish(&page);
}

TEST(the_markdown_findings_name_the_largest_loss_with_its_share) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "1. **Bottleneck Identified**: device\n"
                     "   - Evidence: idle for 20 ns in 1 gap: "));
    CHECK(has(&page, "   - Impact: 22.2 % of the device's window\n"));
    CHECK(
        has(&page, "1. Idle, device\n   - Potential gain: at most 20 ns, 22.2 % of the window\n"));
    CHECK(has(&page, "   - Transfers: 1.00 KB total in 1 copy, 10 ns\n"));
    CHECK(has(&page, "| idle | 40 ns | 44.4 % |"));
    buffer_finish(&page);
}

static void fill_copies(struct trace_writer *writer) {
    uint32_t label = trace_writer_string(writer, TEXT("0"));
    uint32_t device = trace_write_device(writer, &(struct row_device){.label = label});
    uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device});
    trace_write_activity(writer, &(struct row_activity){.duration = 10, .queue = queue});
    trace_write_activity(writer, &(struct row_activity){.start = 15,
                                                        .duration = 85,
                                                        .queue = queue,
                                                        .kind = ACTIVITY_COPY,
                                                        .bytes = BYTES_UNKNOWN});
}

static void fill_busy(struct trace_writer *writer) {
    uint32_t label = trace_writer_string(writer, TEXT("0"));
    uint32_t device = trace_write_device(writer, &(struct row_device){.label = label});
    uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device});
    trace_write_activity(writer, &(struct row_activity){.duration = 90, .queue = queue});
    trace_write_activity(writer,
                         &(struct row_activity){.start = 95, .duration = 5, .queue = queue});
}

TEST(a_busy_device_has_its_kernels_as_the_bottleneck) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_busy, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "1. **Bottleneck Identified**: the kernels themselves\n"
                     "   - Evidence: they ran for 95.0 % of the device's window\n"
                     "   - Largest loss outside kernels: unknown, 5.0 % of the window\n"));
    CHECK(has(&page, "| GPU utilization | 95.0 % | >80 % | yes |"));
    buffer_finish(&page);
}

TEST(copies_that_outweigh_every_idle_cause_are_the_bottleneck) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_copies, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "1. **Bottleneck Identified**: exposed copy\n"
                     "   - Evidence: copies and memsets ran for 85 ns while no kernel ran\n"
                     "   - Impact: 85.0 % of the device's window\n"));
    CHECK(has(&page, "2. Idle, unknown\n   - Potential gain: at most 5 ns, 5.0 % of the window\n"));
    CHECK(has(&page, "| Memory throughput | ? |"));
    buffer_finish(&page);
}

static void fill_hostile(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"a|b", "<img src=x>", "`k`|<script>alert(1)\n# x",
                                                "[r](http://x)", "<b>line\nanother"});
}

TEST(names_cannot_break_out_of_markdown) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_hostile, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "| \\`k\\`\\|\\<script>alert"));
    CHECK(has(&page, "- Device: a\\|b (\\<img src=x>)"));
    CHECK(has(&page, "\\[r](http://x)"));
    CHECK(has(&page, "- \\<b>line another\n"));
    CHECK(!has(&page, " <script"));
    CHECK(!has(&page, "|<script"));
    CHECK(!has(&page, "\n# x"));
    buffer_finish(&page);
}

static void fill_nothing(struct trace_writer *writer) {
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("test"));
}

TEST(the_markdown_report_of_an_empty_trace_says_that_nothing_ran) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_nothing, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "- Device: none active in this part of the trace\n"));
    CHECK(!has(&page, "### Baseline metrics"));
    CHECK(has(&page, "### Trust\n"));
    buffer_finish(&page);
}

static void fill_dated(struct trace_writer *writer) {
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta_integer(writer, META_CLOCK_OFFSET, INT64_C(1695835542514261000));
    fill_plain(writer);
}

TEST(the_markdown_report_is_dated_when_the_clock_tells) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_dated, NULL, report_write_markdown, &page, &status), status);
    CHECK(has(&page, "## Date: 2023-09-27 17:25:42 UTC\n"));
    buffer_finish(&page);
}

TEST(a_markdown_report_survives_running_out_of_memory) {
    sample_check_out_of_memory(fill_plain, report_write_markdown);
}
