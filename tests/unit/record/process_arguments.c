/* The command line as macOS returns it. */
#include "record/process_arguments.h"

#include <stdint.h>
#include <string.h>

#include "../test.h"

/* As sysctl KERN_PROCARGS2 lays it out: argc, the path, padding, arguments, environment. */
static size_t lay_out(char *content, int32_t count, const char *rest, size_t size) {
    memcpy(content, &count, sizeof count);
    memcpy(content + sizeof count, rest, size);
    return sizeof count + size;
}

TEST(a_command_line_of_macos_is_its_arguments_without_path_and_environment) {
    static const char rest[] = "/usr/local/bin/python3.12\0\0\0\0\0\0\0python3\0train.py\0--lr=1\0"
                               "HOME=/Users/me\0";
    char content[256], words[64];
    size_t size = lay_out(content, 3, rest, sizeof rest);
    REQUIRE(process_arguments_parse(content, size, words, sizeof words) == 23);
    CHECK(memcmp(words, "python3\0train.py\0--lr=1", 24) == 0);
}

TEST(an_empty_argument_of_macos_is_kept) {
    static const char rest[] = "/bin/x\0\0x\0\0b\0";
    char content[64], words[64];
    size_t size = lay_out(content, 3, rest, sizeof rest);
    REQUIRE(process_arguments_parse(content, size, words, sizeof words) == 4);
    CHECK(memcmp(words, "x\0\0b", 5) == 0);
}

TEST(a_truncated_command_line_of_macos_ends_at_the_last_whole_word) {
    static const char rest[] = "/bin/x\0\0x\0long argument";
    char content[64], words[64];
    size_t size = lay_out(content, 2, rest, sizeof rest - 1);
    CHECK(process_arguments_parse(content, size, words, sizeof words) == 1);
    CHECK(strcmp(words, "x") == 0);
    for (size_t i = 0; i < size; i++)
        CHECK(process_arguments_parse(content, i, words, sizeof words) <= 1);
    CHECK(process_arguments_parse(content, size, words, 1) == 0);
}
