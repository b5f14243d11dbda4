/* The JSON report's figures, its nulls, its keys, and text that would break JSON. */
#include "../test.h"

#include "sample.h"

static const struct sample_names plain = {"0", "NVIDIA H100", "gemm", "forward", NULL};

static void fill_plain(struct trace_writer *writer) {
    sample_write(writer, &plain);
}

/* Whether the text occurs once spaces and line ends of pretty printing are left out. */
static bool has(const struct buffer *written, const char *text) {
    struct buffer packed = {0};
    bool quoted = false;
    for (size_t i = 0; i + 1 < written->length; i++) {
        char c = written->data[i];
        quoted ^= c == '"' && (i == 0 || written->data[i - 1] != '\\');
        if (quoted || (c != ' ' && c != '\n'))
            buffer_byte(&packed, c);
    }
    bool found = text_find(buffer_as_text(&packed), text) >= 0;
    buffer_finish(&packed);
    return found;
}

TEST(the_json_account_of_a_known_trace_is_exact) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, report_write_json, &json, &status), status);
    CHECK(has(&json, "\"schema\":\"ridge-report\",\"version\":1"));
    CHECK(has(&json, "\"window_ns\":90,\"busy_ns\":40,\"exposed_communication_ns\":0,\"exposed_"
                     "copy_ns\":10,\"idle_ns\":40"));
    CHECK(has(&json, "\"kernel_span_ns\":70"));
    CHECK(has(&json, "\"gap_total_ns\":30"));
    CHECK(has(&json, "\"gpu_busy_ns\":50,\"gpu_span_ns\":90"));
    buffer_finish(&json);
}

TEST(the_json_causes_follow_the_launch_call_through_the_gap) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, report_write_json, &json, &status), status);
    /* [120, 125) own code in "forward", [125, 130) the call, [130, 150) the device */
    CHECK(has(&json, "{\"start_ns\":20,\"duration_ns\":30,\"next\":\"gemm\",\"causes\":"
                     "{\"launch\":5,\"host\":5,\"device\":20}}"));
    CHECK(has(&json, "\"host\":[{\"name\":\"forward\",\"time_ns\":5,\"count\":1}]"));
    /* [170, 180) inside the blocking copy's call */
    CHECK(has(&json, "\"copy-call\":{\"time_ns\":10,\"gaps\":1,\"share\":0.25}"));
    buffer_finish(&json);
}

TEST(the_json_totals_count_what_was_launched_before_recording) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, report_write_json, &json, &status), status);
    CHECK(has(&json, "\"kernels_matched\":1,\"kernels_unmatched\":1,\"distinct_launch_calls\":1,"
                     "\"mean_launch_api_ns\":5,\"mean_launch_delay_ns\":25"));
    CHECK(has(&json, "\"without_launch_early\":1,\"without_launch\":0"));
    CHECK(has(&json, "\"HtoD\":{\"count\":1,\"bytes\":1000,\"time_ns\":10,\"without_bytes\":0,"
                     "\"gb_per_s\":100,"));
    CHECK(has(&json, "\"devices_listed\":[\"NVIDIA H100\"]"));
    buffer_finish(&json);
}

TEST(a_narrowed_json_report_says_so_and_counts_only_the_window) {
    struct buffer json = {0};
    struct status status = {0};
    struct report_options options = {.trace_name = "s", .window = "20ns,40ns", .top = 10};
    /* the run starts at 100: the window is [120, 140), all of it idle */
    CHECK_OK(sample_report(fill_plain, &options, report_write_json, &json, &status), status);
    CHECK(has(&json, "\"narrowed\":true"));
    CHECK(has(&json, "\"window\":\"20ns,40ns\",\"wall_ns\":20"));
    CHECK(has(&json, "\"window_ns\":20,\"busy_ns\":0,\"exposed_communication_ns\":0,\"exposed_copy_"
                     "ns\":0,\"idle_ns\":20"));
    CHECK(has(&json, "\"kernel_count\":0"));
    buffer_finish(&json);
}

static void fill_nothing(struct trace_writer *writer) {
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("test"));
}

TEST(figures_of_nothing_are_null_in_json) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_nothing, NULL, report_write_json, &json, &status), status);
    CHECK(has(&json, "\"devices\":{}"));
    CHECK(has(&json, "\"mean_kernel_ns\":null,\"min_kernel_ns\":null"));
    CHECK(has(&json, "\"top_kernel\":null"));
    CHECK(has(&json, "\"events_total\":null"));
    CHECK(has(&json, "\"date\":null"));
    buffer_finish(&json);
}

static void fill_two_recordings(struct trace_writer *writer) {
    sample_write(writer, &plain);
    trace_writer_next_session(writer);
    sample_write(writer, &plain);
    trace_writer_next_session(writer);
    sample_write(writer, &(struct sample_names){"0@2", "", "gemm", "forward", NULL});
}

TEST(devices_of_equal_label_get_different_keys_in_json) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_two_recordings, NULL, report_write_json, &json, &status), status);
    CHECK(has(&json, "\"devices\":{\"0\":{\"label\":\"0\",\"index\":0,\"session\":0"));
    CHECK(has(&json, "\"0@2\":{\"label\":\"0\",\"index\":0,\"session\":1"));
    CHECK(has(&json, "\"0@2@3\":{\"label\":\"0@2\",\"index\":0,\"session\":2"));
    buffer_finish(&json);
}

static void fill_hostile(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"\"0\n", "\x01\xff\\", "k\"},{<&", "\x1b[31m",
                                                "says \"no\"\r\n"});
}

TEST(names_cannot_break_out_of_json) {
    struct buffer json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_hostile, NULL, report_write_json, &json, &status), status);
    CHECK(text_find(buffer_as_text(&json), "\"\\\"0\\n\": {") >= 0);
    CHECK(text_find(buffer_as_text(&json), "\"name\": \"\\u0001\xEF\xBF\xBD\\\\\"") >= 0);
    CHECK(text_find(buffer_as_text(&json), "says \\\"no\\\"\\u000d\\n") >= 0);
    for (size_t i = 0; i + 1 < json.length; i++)
        CHECK((unsigned char)json.data[i] >= ' ' || json.data[i] == '\n');
    CHECK_INT(text_utf8_valid((struct text){json.data, json.length - 1}), json.length - 1);
    buffer_finish(&json);
}

TEST(a_json_report_survives_running_out_of_memory) {
    sample_check_out_of_memory(fill_plain, report_write_json);
}
