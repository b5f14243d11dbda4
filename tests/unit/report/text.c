/* The text report: what of a trace may reach a terminal, and which part is reported. */
#include "../test.h"

#include "sample.h"

static bool write_text(const struct report *report, struct output *output, struct status *status) {
    return report_write_text(report, &(struct report_style){.width = 80}, output, status);
}

static void write_hostile(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){.label = "0\033[2J",
                                                .device = "GPU\n\033]0;title\007",
                                                .kernel = "k\033[1m",
                                                .range = "r\xC2\x9B"
                                                         "1m\r",
                                                .warning = "a warning\033[31m"});
    trace_writer_meta(writer, META_COMMAND, TEXT("python \033[8m train.py"));
    trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("tool\033[5m"));
}

TEST(a_report_sends_nothing_of_the_trace_to_the_terminal_that_could_steer_it) {
    struct buffer written = {0};
    struct status status = {0};
    REQUIRE(sample_report(write_hostile, NULL, write_text, &written, &status));
    CHECK(strstr(written.data, "train.py"));
    CHECK(!strchr(written.data, '\033'));
    CHECK(!strchr(written.data, '\r'));
    CHECK(!strchr(written.data, '\007'));
    CHECK(!strstr(written.data, "\xC2\x9B"));
    buffer_finish(&written);
}

/* Three turns of a range, each beginning where the one before it ends; each launches a kernel. */
static void write_turns(struct trace_writer *writer) {
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
    uint32_t thread =
        trace_write_thread(writer, &(struct row_thread){.process = process, .tid = 7});
    uint32_t device = trace_write_device(
        writer, &(struct row_device){.label = trace_writer_string(writer, TEXT("0"))});
    uint32_t queue =
        trace_write_queue(writer, &(struct row_queue){.device = device, .process = process});
    for (int i = 0; i < 3; i++) {
        uint64_t id = (uint64_t)i + 1;
        trace_write_range(writer,
                          &(struct row_range){.start = 100 * i,
                                              .duration = 100,
                                              .thread = thread,
                                              .name = trace_writer_string(writer, TEXT("turn")),
                                              .category = RANGE_ANNOTATION});
        trace_write_call(writer, &(struct row_call){.start = 100 * i + 10,
                                                    .duration = 5,
                                                    .thread = thread,
                                                    .class = CALL_LAUNCH,
                                                    .correlation = id});
        trace_write_activity(
            writer, &(struct row_activity){
                        .start = 100 * i + 20, .duration = 30, .queue = queue, .correlation = id});
    }
}

static bool check_turns(const struct report *report, struct output *output, struct status *status) {
    CHECK_INT(report->host_selection.count, 3);
    CHECK_INT(report->device_count, 1);
    CHECK_INT(report->devices[0].selection->count, 3);
    CHECK_INT(report->devices[0].account.window, 3 * 30);
    CHECK_INT(report->devices[0].account.idle, 0);
    return report_write_text(report, &(struct report_style){.width = 80}, output, status);
}

TEST(turns_of_a_range_that_touch_are_windows_of_their_own) {
    struct buffer written = {0};
    struct status status = {0};
    struct report_options options = {.trace_name = "turns.ridge", .range = "turn", .top = 10};
    REQUIRE(sample_report(write_turns, &options, check_turns, &written, &status));
    CHECK(strstr(written.data, "(3 times)"));
    buffer_finish(&written);
}

/* The launching thread of the sample's second kernel runs, then waits, inside the gap before it. */
static void write_states(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"0", "H100", "gemm", "forward", NULL});
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
    uint32_t thread =
        trace_write_thread(writer, &(struct row_thread){.process = process, .tid = 7});
    uint32_t stack = trace_write_stack(
        writer, &(struct row_stack){.function = trace_writer_string(writer, TEXT("poll"))});
    trace_write_device(writer, &(struct row_device){.label = trace_writer_string(writer, TEXT("0")),
                                                    .compute_major = 9}); /* so: occupancy */
    trace_write_state(writer, &(struct row_state){.start = 90, .duration = 34, .thread = thread});
    trace_write_sample(writer, &(struct row_sample){.time = 123, .thread = thread, .stack = stack});
    trace_write_state(
        writer,
        &(struct row_state){.start = 124, .duration = 1, .thread = thread, .state = STATE_BLOCKED});
    trace_writer_meta_integer(writer, "counter.cycles", 1000);
    trace_writer_meta_integer(writer, "counter.instructions", 1860);
    trace_writer_meta_integer(writer, "counter.branches", 1000);
    trace_writer_meta_integer(writer, "counter.branch-misses", 31);
}

static bool write_wide(const struct report *report, struct output *output, struct status *status) {
    return report_write_text(report, &(struct report_style){.width = 100, .full = true}, output,
                             status);
}

TEST(host_time_is_shown_by_what_the_launching_thread_did) {
    struct buffer written = {0};
    struct status status = {0};
    struct report_options options = {.trace_name = "states.ridge", .top = 10};
    REQUIRE(sample_report(write_states, &options, write_wide, &written, &status));
    CHECK(strstr(written.data, "running        80.0 %  4 ns  forward\n"));
    CHECK(strstr(written.data, "blocked        20.0 %  1 ns  poll\n"));
    CHECK(strstr(written.data, "\nHardware counters\n"));
    CHECK(strstr(written.data, "1.86          ?          ?           ?          3.1 %  all pro"));
    CHECK(strstr(written.data, ">2.0       <5 %      <10 %       <20 %           <5 %  target"));
    buffer_finish(&written);
}

TEST(reports_with_states_and_counters_survive_running_out_of_memory) {
    sample_check_out_of_memory(write_states, write_wide);
    sample_check_out_of_memory(write_states, report_write_markdown);
    sample_check_out_of_memory(write_states, report_write_json);
}

/* Two queues whose kernels run at once for most of the time. */
static void write_overlapping(struct trace_writer *writer) {
    uint32_t device = trace_write_device(
        writer, &(struct row_device){.label = trace_writer_string(writer, TEXT("0"))});
    for (unsigned i = 0; i < 2; i++)
        trace_write_activity(
            writer, &(struct row_activity){
                        .start = 100 + i * 20,
                        .duration = 80,
                        .queue = trace_write_queue(
                            writer, &(struct row_queue){.device = device, .stream = (int64_t)i}),
                        .name = trace_writer_string(writer, TEXT("k"))});
}

TEST(kernels_that_overlap_have_no_launch_efficiency_above_100_percent) {
    struct buffer text = {0}, markdown = {0};
    struct status status = {0};
    REQUIRE(sample_report(write_overlapping, NULL, write_wide, &text, &status));
    CHECK(strstr(text.data, "kernels overlap: their sum is 1.60x the run time"));
    CHECK(!strstr(text.data, "160.0 %"));
    REQUIRE(sample_report(write_overlapping, NULL, report_write_markdown, &markdown, &status));
    CHECK(strstr(markdown.data,
                 "| Launch efficiency | - | >70 % |  | kernels overlap: their sum is 1.60x"));
    buffer_finish(&text);
    buffer_finish(&markdown);
}

TEST(the_default_report_fits_one_screen_and_a_half) {
    struct buffer written = {0};
    struct status status = {0};
    size_t lines = 0;
    REQUIRE(sample_report(write_states, NULL, write_text, &written, &status));
    for (const char *c = written.data; *c; c++)
        lines += *c == '\n';
    CHECK(lines <= 60);
    CHECK(strstr(written.data, "\nMore with --section: findings, account, "));
    CHECK(!strstr(written.data, "Hardware counters\n"));
    buffer_finish(&written);
}

static bool write_two_sections(const struct report *report, struct output *output,
                               struct status *status) {
    struct report_style style = {.width = 80, .sections = "counters,copies"};
    return report_write_text(report, &style, output, status);
}

TEST(sections_are_printed_by_name_in_the_order_of_the_report) {
    struct buffer written = {0};
    struct status status = {0};
    REQUIRE(sample_report(write_states, NULL, write_two_sections, &written, &status));
    const char *copies = strstr(written.data, "\nCopies"),
               *counters = strstr(written.data, "\nHardware");
    CHECK(copies && counters && copies < counters);
    CHECK(!strstr(written.data, "\nKernels"));
    CHECK(report_check_sections("counters,copies", &status));
    CHECK(!report_check_sections("counters,copy", &status));
    CHECK(strstr(status.message, "no section 'copy'"));
    buffer_finish(&written);
}
