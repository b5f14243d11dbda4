/* The three lines at the end of a recording. */
#include "record/record.h"

#include "../test.h"

static const char *described(const struct record_summary *summary) {
    static char text[4096];
    struct buffer lines = {0};
    record_describe(summary, &lines);
    snprintf(text, sizeof text, "%.*s", (int)lines.length, lines.data);
    buffer_finish(&lines);
    return text;
}

TEST(a_summary_is_three_lines_whatever_there_is_to_say) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .processes = 1, .bytes = 100, .wall_ns = 1500000000};
    CHECK_STRING(described(&summary), "recorded  1 process, 1.500 s: a.ridge (100 B)\n"
                                      "missing   nothing was lost\n"
                                      "cost      0 ns of processor time to record\n");
    for (int i = 0; i < 20; i++)
        record_note(&summary, "note %d", i);
    summary.lost = 1234;
    summary.kernels = 2;
    summary.probe_ns = 15000000;
    summary.target_ns = 3000000000;
    CHECK_STRING(described(&summary),
                 "recorded  1 process, 2 kernels, 1.500 s: a.ridge (100 B)\n"
                 "missing   1,234 events were lost; note 0; note 1; note 2; note 3; note 4; "
                 "note 5; note 6; note 7\n"
                 "cost      0 ns of processor time to record, beside the program's 3.000 s; "
                 "15.00 ms inside the program (1.0% of its run)\n");
}
