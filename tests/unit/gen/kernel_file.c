/* Sections of kernel files. */
#include "../test.h"

#include "gen/emit/kernel_file.h"

static const unsigned char file[] = "// What the file is for.\n"
                                    "\n"
                                    "prelude\n"
                                    "\n"
                                    "// section: head\n"
                                    "// What the head is for.\n"
                                    "a // kept\n"
                                    "\n"
                                    "    // not kept\n"
                                    "b\n"
                                    "\n"
                                    "// section: heading\n"
                                    "c\n";

static void check_section(const char *section, const char *expected) {
    struct buffer out = {0};
    source_section(&out, file, section);
    buffer_byte(&out, '\0');
    CHECK_STRING(out.data, expected);
    buffer_finish(&out);
}

TEST(a_section_is_its_lines_without_comments_and_outer_blank_lines) {
    check_section("head", "a // kept\n\nb\n");
    check_section("heading", "c\n");
}

TEST(the_lines_before_the_first_section_have_no_name) {
    check_section(NULL, "prelude\n");
}
