/* The text of a Python line, and the loops around it. */
#include "record/source_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const char c_program[] = "#define FOR for (;;) { // not closed\n"    /* 1 */
                                "void f(int n) {\n"                         /* 2 */
                                "    for (int i = 0; i < n; i++) {\n"       /* 3 */
                                "        launch(i); /* { */\n"              /* 4 */
                                "        while (more())\n"                  /* 5 */
                                "            if (x) a();\n"                 /* 6 */
                                "            else b(\"}\",\n"               /* 7 */
                                "                   '}');\n"                /* 8 */
                                "        wait();\n"                         /* 9 */
                                "    }\n"                                   /* 10 */
                                "    do {\n"                                /* 11 */
                                "        g();\n"                            /* 12 */
                                "    } while (n--); // for\n"               /* 13 */
                                "    done();\n"                             /* 14 */
                                "    for (int i = 0;\n"                     /* 15 */
                                "         i < n; i++)\n"                    /* 16 */
                                "        for (auto &x : y) {\n"             /* 17 */
                                "            each([&](int k) { h(k); });\n" /* 18 */
                                "        }\n"                               /* 19 */
                                "    end();\n"                              /* 20 */
                                "}\n";

static const char rust_program[] = "fn main() {\n"                     /* 1 */
                                   "    let s = r#\"for {\"#;\n"       /* 2 */
                                   "    'a: loop {\n"                  /* 3 */
                                   "        for x in f::<'a>(y) {\n"   /* 4 */
                                   "            g(x);\n"               /* 5 */
                                   "        }\n"                       /* 6 */
                                   "        if h('}') { break 'a; }\n" /* 7 */
                                   "    }\n"                           /* 8 */
                                   "    k();\n"                        /* 9 */
                                   "}\n";

static bool write_source(char *name, int suffix, const char *text) {
    int fd = mkstemps(name, suffix);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

TEST(loops_of_c_end_with_their_braces_or_their_statement) {
    char name[] = "/tmp/ridge-source.XXXXXX.cpp";
    struct source_files files = {0};
    struct text path = text_of(name);
    REQUIRE(write_source(name, 4, c_program));
    check(&files, path, 2, "");
    check(&files, path, 4, "3 for (int i = 0; i < n; i++) {");
    check(&files, path, 6, "3 for (int i = 0; i < n; i++) {\n5 while (more())");
    check(&files, path, 8, "3 for (int i = 0; i < n; i++) {\n5 while (more())");
    check(&files, path, 9, "3 for (int i = 0; i < n; i++) {");
    check(&files, path, 12, "11 do {");
    check(&files, path, 14, "");
    check(&files, path, 16, "15 for (int i = 0;");
    check(&files, path, 18, "15 for (int i = 0;\n17 for (auto &x : y) {");
    check(&files, path, 20, "");
    CHECK(text_is(source_files_line(&files, path, 4), "launch(i);"));
    CHECK_INT(source_files_statement(&files, path, 8), 7);
    CHECK_INT(source_files_statement(&files, path, 9), 9);
    source_files_finish(&files);
    unlink(name);
}

TEST(loops_of_rust_may_have_labels) {
    char name[] = "/tmp/ridge-source.XXXXXX.rs";
    struct source_files files = {0};
    struct text path = text_of(name);
    REQUIRE(write_source(name, 3, rust_program));
    check(&files, path, 2, "");
    check(&files, path, 5, "3 'a: loop {\n4 for x in f::<'a>(y) {");
    check(&files, path, 7, "3 'a: loop {");
    check(&files, path, 9, "");
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

/* A file of these lines; unlink it. */
static const char *write_bytes(char *name, const char *text, size_t length) {
    int fd = mkstemp(name);
    CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    close(fd);
    return name;
}

TEST(the_text_of_a_line_has_no_comment_no_blanks_and_an_end) {
    char name[] = "/tmp/ridge-source.XXXXXX", text[1024];
    struct source_files files = {0};
    /* 2 is only a comment, 4 has one in a string, 5 has a letter of two bytes where it is cut */
    int length =
        snprintf(text, sizeof text, "\t x = 1  # one\r\n# two\n\ny = '#' + \"#\"   \n%0*d\n%0*dé%s",
                 159, 0, 159, 0, "and more that does not fit");
    struct text path = text_of(write_bytes(name, text, (size_t)length));
    CHECK(text_is(source_files_line(&files, path, 1), "x = 1"));
    CHECK_INT(source_files_line(&files, path, 2).length, 0);
    CHECK_INT(source_files_line(&files, path, 3).length, 0);
    CHECK(text_is(source_files_line(&files, path, 4), "y = '#' + \"#\""));
    CHECK_INT(source_files_line(&files, path, 5).length, 159);
    struct text cut = source_files_line(&files, path, 6);
    CHECK(cut.length <= 160 && cut.length >= 159);
    CHECK_INT(text_utf8_valid(cut), cut.length);
    CHECK_INT(source_files_line(&files, path, 0).length, 0);
    CHECK_INT(source_files_line(&files, path, 7).length, 0);
    source_files_finish(&files);
    unlink(name);
}

/* Each line has a brace that is none: taken for one, it ends the loop early, or never. */
static const char c_literals[] = "void f() {\n"                                     /* 1 */
                                 "    while (a) {\n"                                /* 2 */
                                 "        x(R\"(})\"); x(R\"k(\")} )\" }\")k\");\n" /* 3 */
                                 "        x(L'}' + u'}' + U'}' + '\\'' + '}');\n"   /* 4 */
                                 "        n = 1'000'000; m = 1'0 - '}';\n"          /* 5 */
                                 "        s = \"\\\"}\"; t = \"\\\\\"; u8\"}\";\n"  /* 6 */
                                 "        y(); /* } \" */ // } \"\n"                /* 7 */
                                 "        macroR\"}\"; R = r; Rr(x);\n"             /* 8 */
                                 "  # define END } \\\n"                            /* 9 */
                                 "               } \" \n"                           /* 10 */
                                 "        z = L'\xC3\xA9' + '{';\n"                 /* 11 */
                                 "        inside();\n"                              /* 12 */
                                 "    }\n"                                          /* 13 */
                                 "    outside();\n"                                 /* 14 */
                                 "    while (b) c(\"\\";                            /* 15 */

static const char rust_literals[] =
    "fn f<'a>(x: &'a str) {\n"                                /* 1 */
    "    while g(x) {\n"                                      /* 2 */
    "        h(r\"}\"); h(r##\"}\"# \" }\"##);\n"             /* 3 */
    "        h(b'}'); h('}'); h('\\''); h('\xE2\x86\x92');\n" /* 4 */
    "        let y: &'a str = \"}\"; // } '\n"                /* 5 */
    "        for i in 0..3 { k(i, '{'); }\n"                  /* 6 */
    "        inside();\n"                                     /* 7 */
    "    }\n"                                                 /* 8 */
    "    outside(r#\"{";                                      /* 9 */

TEST(braces_in_literals_comments_and_directives_end_no_loop) {
    char c[] = "/tmp/ridge-source.XXXXXX.cc", rust[] = "/tmp/ridge-source.XXXXXX.rs";
    struct source_files files = {0};
    REQUIRE(write_source(c, 3, c_literals) && write_source(rust, 3, rust_literals));
    for (uint32_t line = 2; line <= 12; line++)
        if (line != 9 && line != 10) /* a directive has no statement */
            check(&files, text_of(c), line, "2 while (a) {");
    check(&files, text_of(c), 14, "");
    check(&files, text_of(c), 15, "15 while (b) c(\"\\");
    CHECK_INT(source_files_statement(&files, text_of(c), 14), 14);
    for (uint32_t line = 2; line <= 7; line++)
        if (line != 6)
            check(&files, text_of(rust), line, "2 while g(x) {");
    check(&files, text_of(rust), 6, "2 while g(x) {\n6 for i in 0..3 { k(i, '{'); }");
    check(&files, text_of(rust), 9, "");
    source_files_finish(&files);
    unlink(c);
    unlink(rust);
}

TEST(files_of_c_cpp_and_cuda_are_known_by_their_names) {
    static const char *const endings[] = {".c",   ".h",   ".cc", ".cpp", ".cxx", ".hpp", ".hh",
                                          ".hxx", ".inl", ".cu", ".cuh", ".C",   ".c++"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[64] = "/tmp/ridge-source.XXXXXX";
        struct source_files files = {0};
        strcat(name, endings[i]);
        REQUIRE(write_source(name, (int)strlen(endings[i]), "{ while (x)\n y();\n z(); }\n"));
        check(&files, text_of(name), 2, "1 { while (x)");
        check(&files, text_of(name), 3, "");
        source_files_finish(&files);
        unlink(name);
    }
}
