/* The text of a Python line, and the loops around it. */
#include "record/source_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"

static const char program[] = "import x\n"                           /* 1 */
                              "for epoch in range(3):  # over all\n" /* 2 */
                              "    for batch in load(\n"             /* 3 */
                              "        'a # b', \"\"\"\n"            /* 4 */
                              "for not in a loop\n"                  /* 5 */
                              "\"\"\"):\n"                           /* 6 */
                              "        step(batch)\n"                /* 7 */
                              "\n"                                   /* 8 */
                              "    evaluate()\n"                     /* 9 */
                              "    def hook():\n"                    /* 10 */
                              "        return 1\n"                   /* 11 */
                              "save()\n"                             /* 12 */
                              "while True: run(); break\n"           /* 13 */
                              "y = [f(i) for i in z]\n"              /* 14 */
                              "async def main():\n"                  /* 15 */
                              "\tasync for m in q:\n"                /* 16 */
                              "\t\tgo(m)";                           /* 17 */

static void check(struct source_files *files, struct text path, uint32_t line, const char *loops) {
    struct text found = source_files_loops(files, path, line);
    CHECK(text_is(found, loops));
}

TEST(a_line_has_the_loops_of_its_function_around_it) {
    char name[] = "/tmp/ridge-source.XXXXXX";
    int fd = mkstemp(name);
    struct source_files files = {0};
    struct text path = text_of(name);
    REQUIRE(fd >= 0 && write(fd, program, sizeof program - 1) == (ssize_t)sizeof program - 1);
    close(fd);
    check(&files, path, 1, "");
    check(&files, path, 2, "2 for epoch in range(3):");
    check(&files, path, 7, "2 for epoch in range(3):\n3 for batch in load(");
    check(&files, path, 5, "2 for epoch in range(3):\n3 for batch in load(");
    check(&files, path, 9, "2 for epoch in range(3):");
    check(&files, path, 11, "");
    check(&files, path, 12, "");
    check(&files, path, 13, "13 while True: run(); break");
    check(&files, path, 14, "14 y = [f(i) for i in z]");
    check(&files, path, 17, "16 async for m in q:");
    check(&files, path, 18, "");
    CHECK(text_is(source_files_line(&files, path, 2), "for epoch in range(3):"));
    CHECK(text_is(source_files_line(&files, path, 17), "go(m)"));
    CHECK_INT(source_files_statement(&files, path, 6), 3);
    CHECK_INT(source_files_statement(&files, path, 7), 7);
    CHECK_INT(source_files_statement(&files, path, 100), 0);
    source_files_finish(&files);
    unlink(name);
}

TEST(a_file_that_cannot_be_read_has_no_texts) {
    struct source_files files = {0};
    CHECK(source_files_line(&files, TEXT("<frozen importlib>"), 1).length == 0);
    CHECK(source_files_line(&files, TEXT("/nowhere/train.py"), 1).length == 0);
    CHECK(source_files_loops(&files, TEXT("/dev/null"), 1).length == 0);
    source_files_finish(&files);
}
