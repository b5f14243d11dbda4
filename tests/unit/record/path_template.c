/* Names of traces. */
#include "record/path_template.h"

#include <stdlib.h>

#include "../test.h"

static const char *filled(const char *pattern) {
    static char name[256];
    struct buffer buffer = {0};
    static struct status status;
    bool ok = path_template_expand(pattern, 42, "node7", &buffer, &status);
    snprintf(name, sizeof name, "%.*s", (int)buffer.length, ok ? buffer.data : "");
    buffer_finish(&buffer);
    return ok ? name : status.message;
}

TEST(a_name_holds_the_process_the_host_and_the_rank) {
    setenv("RANK", "3", 1);
    CHECK_STRING(filled("run-%h-%r-%p.ridge"), "run-node7-3-42.ridge");
    CHECK_STRING(filled("100%%"), "100%");
    unsetenv("RANK");
    CHECK_STRING(filled("%r"), "0");
}

TEST(an_unknown_letter_or_a_lone_percent_sign_in_a_name_is_refused) {
    CHECK(strstr(filled("x%q"), "must be followed by p"));
    CHECK(strstr(filled("x%"), "must be followed by p"));
}

TEST(a_rank_that_is_no_number_cannot_become_a_part_of_a_name) {
    setenv("RANK", "../../etc", 1);
    setenv("SLURM_PROCID", "5", 1);
    CHECK_STRING(filled("%r"), "5");
    unsetenv("RANK");
    unsetenv("SLURM_PROCID");
}

TEST(a_trace_without_a_name_is_called_after_its_program) {
    struct buffer pattern = {0};
    path_template_default("/opt/my tools/a b%c", &pattern);
    buffer_byte(&pattern, 0);
    CHECK_STRING(pattern.data, "a_b_c-%p.ridge");
    buffer_finish(&pattern);
}
