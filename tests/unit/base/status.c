/* Failures have a code and a message, however long the quoted text. */
#include "../test.h"

#include <errno.h>

#include "base/status.h"

TEST(each_layer_puts_what_it_knows_in_front) {
    struct status status = {0};
    CHECK(!status_fail(&status, STATUS_INPUT, "row %d is damaged", 7));
    CHECK(!status_context(&status, "table %s", "calls"));
    CHECK(!status_context(&status, "run.ridge"));
    CHECK_STRING(status.message, "run.ridge: table calls: row 7 is damaged");
    CHECK_INT(status.code, STATUS_INPUT);
}

TEST(the_systems_reason_is_part_of_the_sentence) {
    struct status status = {0};
    errno = ENOENT;
    status_fail_errno(&status, "cannot open %s", "x");
    CHECK_STRING(status.message, "cannot open x: No such file or directory");
    CHECK_INT(status.code, STATUS_IO);
}

TEST(a_message_too_long_is_cut_not_overrun) {
    struct status status = {0};
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    errno = EACCES;
    status_fail_errno(&status, "cannot open %s", name);
    CHECK_INT(strlen(status.message), sizeof status.message - 1);
    for (int i = 0; i < 3; i++)
        status_context(&status, "%s", name);
    CHECK_INT(strlen(status.message), sizeof status.message - 1);
    status_fail(&status, STATUS_INPUT, "short");
    status_context(&status, "%.990s", name);
    CHECK(strstr(status.message, "n: short"));
}
