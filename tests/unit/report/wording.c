/* What is called regular, and which doubts are put into words. */
#include "../test.h"

#include "report/wording.h"

TEST(gaps_are_regular_when_there_are_three_of_much_the_same_length) {
    CHECK(wording_gaps_regular(&(struct gaps){.count = 3, .variation = 0.49}));
    CHECK(!wording_gaps_regular(&(struct gaps){.count = 3, .variation = 0.5}));
    CHECK(!wording_gaps_regular(&(struct gaps){.count = 2, .variation = 0}));
}

static size_t count_notes(const struct data_quality *quality, struct buffer *last) {
    size_t count = 0;
    struct buffer note = {0};
    for (size_t cursor = 0; wording_quality_note(quality, &cursor, &note); count++) {
        buffer_clear(last);
        buffer_text(last, buffer_as_text(&note));
        buffer_byte(last, '\0');
    }
    buffer_finish(&note);
    return count;
}

TEST(a_clean_trace_has_no_trust_notes) {
    struct buffer last = {0};
    CHECK_INT(count_notes(&(struct data_quality){0}, &last), 0);
    buffer_finish(&last);
}

TEST(each_doubt_has_its_note_and_warnings_come_last) {
    struct buffer last = {0};
    struct text warnings[] = {TEXT(""), TEXT("the clock jumped")};
    struct data_quality quality = {
        .dropped = 1,
        .unfinished = 1,
        .missing_chunks = 2,
        .damaged_bytes = 2,
        .truncated_bytes = 2,
        .unknown_chunks = 2,
        .without_launch_early = 2,
        .without_launch = 2,
        .starts_before_launch = 2,
        .starts_before_worst = 1500,
        .zero_length = 2,
        .queue_overlaps = 2,
        .clock_error_known = true,
        .mixed_clocks = true,
        .no_calls = true,
        .no_bytes = true,
        .truncated_source = TEXT("the array is not closed"),
        .warnings = warnings,
        .warning_count = 2,
    };
    CHECK_INT(count_notes(&quality, &last), 17);
    CHECK_STRING(last.data, "the clock jumped");
    buffer_finish(&last);
}

TEST(activities_before_their_launch_are_told_with_the_worst) {
    struct buffer last = {0};
    struct data_quality quality = {.starts_before_launch = 1234, .starts_before_worst = 1500};
    CHECK_INT(count_notes(&quality, &last), 1);
    CHECK_STRING(last.data,
                 "1,234 activities start before the call that launched them, by up to 1.50 µs: the "
                 "clocks of device and host disagree by at least that.");
    quality = (struct data_quality){.dropped = 1};
    CHECK_INT(count_notes(&quality, &last), 1);
    CHECK_STRING(last.data, "One event was lost while recording or importing: sums are too low.");
    buffer_finish(&last);
}
