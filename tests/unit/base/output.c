/* Files appear atomically. */
#define _GNU_SOURCE
#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/output.h"
#include "base/temporary.h"

static long size_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (long)info.st_size : -1;
}

/* How many files beside `path` begin with its name: temporaries left behind. */
static int leftovers(const char *path) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = 0;
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        count += strncmp(entry->d_name, slash + 1, strlen(slash + 1)) == 0;
    closedir(entries);
    return count;
}

TEST(nothing_has_the_final_name_before_the_commit) {
    const char *path = test_temporary(".txt");
    struct output output;
    struct status status = {0};
    REQUIRE(output_open(&output, path, false, &status));
    for (int i = 0; i < 100000; i++)
        output_printf(&output, "%d\n", i % 10);
    CHECK_INT(size_of(path), -1);
    CHECK_OK(output_commit(&output, &status), status);
    CHECK_INT(size_of(path), 200000);
    CHECK_INT(leftovers(path), 1);
}

TEST(an_abandoned_file_leaves_nothing_behind) {
    const char *path = test_temporary(".txt");
    struct output output;
    struct status status = {0};
    REQUIRE(output_open(&output, path, false, &status));
    output_printf(&output, "half");
    CHECK(output_flush(&output, &status));
    output_abandon(&output);
    CHECK_INT(leftovers(path), 0);
}

TEST(an_output_without_a_name_is_refused_before_anything_is_made) {
    struct output output;
    struct status status = {0};
    CHECK(!output_open(&output, "", true, &status));
    CHECK(strstr(status.message, "name is empty"));
}

TEST(a_file_is_replaced_only_on_request_and_only_by_a_commit) {
    const char *path = test_temporary(".txt");
    struct output output;
    struct status status = {0};
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("old", file);
    fclose(file);
    CHECK(!output_open(&output, path, false, &status));
    CHECK(strstr(status.message, "exists"));
    REQUIRE(output_open(&output, path, true, &status));
    output_printf(&output, "newer");
    output_abandon(&output);
    CHECK_INT(size_of(path), 3);
    REQUIRE(output_open(&output, path, true, &status));
    output_printf(&output, "newer");
    CHECK_OK(output_commit(&output, &status), status);
    CHECK_INT(size_of(path), 5);
    CHECK_INT(leftovers(path), 1);
}

TEST(a_full_disk_is_reported_by_the_commit) {
    struct output output;
    struct status status = {0};
    if (access("/dev/full", W_OK) != 0) {
        test_skip("there is no /dev/full here");
        return;
    }
    REQUIRE(output_open(&output, "/dev/full", false, &status));
    for (int i = 0; i < 100000; i++)
        output_printf(&output, "%d\n", i);
    CHECK(!output_commit(&output, &status));
    CHECK_INT(status.code, STATUS_IO);
    CHECK(strstr(status.message, "/dev/full") && strstr(status.message, "No space"));
}

TEST(a_folder_that_is_not_there_is_named) {
    struct output output;
    struct status status = {0};
    CHECK(!output_open(&output, "/nonexistent-folder/x", false, &status));
    CHECK(strstr(status.message, "/nonexistent-folder/x"));
    CHECK(!output_open(&output, "/", true, &status));
    CHECK(strstr(status.message, "folder"));
}

TEST(what_is_half_written_can_be_removed_from_a_signal_handler) {
    const char *path = test_temporary(".txt");
    struct output half, whole;
    struct status status = {0};
    char *name;
    int fd;
    REQUIRE(output_open(&half, path, false, &status));
    REQUIRE(output_open(&whole, path, false, &status));
    output_printf(&whole, "whole");
    CHECK_OK(output_commit(&whole, &status), status);
    REQUIRE(temporary_file(&name, &fd, &status));
    close(fd);
    temporary_remove_all();
    CHECK_INT(leftovers(path), 1);
    CHECK_INT(size_of(path), 5);
    CHECK_INT(size_of(name), -1);
    temporary_remove(name);
    output_abandon(&half);
}

TEST(a_file_that_could_be_written_is_not_touched_by_trying) {
    const char *path = test_temporary(".txt");
    struct output output;
    struct status status = {0};
    CHECK_OK(output_check(path, false, &status), status);
    CHECK_INT(leftovers(path), 0);
    REQUIRE(output_open(&output, path, false, &status));
    output_printf(&output, "old");
    CHECK(output_close(&output, true, &status));
    CHECK(!output_check(path, false, &status));
    CHECK_OK(output_check(path, true, &status), status);
    CHECK_INT(size_of(path), 3);
    REQUIRE(output_open(&output, path, true, &status));
    CHECK(!output_close(&output, false, &status));
    CHECK_INT(leftovers(path), 1);
}

/* What a terminal receives when parts are written one by one. */
static const char *through_terminal(const struct text *parts, size_t count) {
    static char arrived[256];
    struct output output;
    struct status status = {0};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        test_skip("there are no pseudo-terminals");
        return NULL;
    }
    int keep = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK_OK(output_open(&output, ptsname(master), true, &status), status);
    for (size_t i = 0; i < count; i++)
        output_write(&output, parts[i].data, parts[i].length);
    CHECK_OK(output_commit(&output, &status), status);
    ssize_t length = read(master, arrived, sizeof arrived - 1);
    arrived[length > 0 ? length : 0] = '\0';
    close(keep);
    close(master);
    return arrived;
}

TEST(a_terminal_gets_no_control_characters_also_when_they_come_in_pieces) {
    const struct text parts[] = {TEXT("a\x1b[31m"), TEXT("\xE2"),     TEXT("\x80"), TEXT("\xAE"),
                                 TEXT("b\xE2\x86"), TEXT("\x92\xC3"), TEXT("(\r"),  TEXT("x\xC2")};
    const char *arrived = through_terminal(parts, ARRAY_COUNT(parts));
    if (arrived)
        CHECK_STRING(arrived, "a\xEF\xBF\xBD[31m\xEF\xBF\xBD"
                              "b→\xEF\xBF\xBD( x\xEF\xBF\xBD");
}

TEST(lines_and_tabs_reach_a_terminal_as_they_are) {
    const struct text parts[] = {TEXT("a\tb\n"), TEXT("c\r"), TEXT("\n"), TEXT("d\r\n")};
    const char *arrived = through_terminal(parts, ARRAY_COUNT(parts));
    if (arrived) /* the terminal adds its own carriage returns */
        CHECK_STRING(arrived, "a\tb\r\nc\r\r\nd\r\r\n");
}

TEST(a_file_gets_every_byte) {
    const char *path = test_temporary(".txt");
    struct output output;
    struct status status = {0};
    REQUIRE(output_open(&output, path, false, &status));
    output_write(&output, "\x1b\0\xFF\xC2", 4);
    CHECK_OK(output_commit(&output, &status), status);
    CHECK_INT(size_of(path), 4);
}
