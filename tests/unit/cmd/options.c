/* The option parser: every form in which an option may be written, and what is said of mistakes. */
#include "../test.h"

#include "base/array.h"
#include "cmd/options.h"

static const struct command_option options[] = {
    {"output", 'o', "FILE", ""},
    {"force", 'f', NULL, ""},
    {"quiet", 'q', NULL, ""},
    {"format", 0, "text|md|json", ""},
    {"top", 'n', "N", ""},
    {"window", 0, "T1,T2", ""},
    {0},
};
static const struct command command = {
    .name = "try",
    .arguments = "TRACE",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 2,
};

static struct command_line line;
static struct status status;

/* Parses words parted by spaces; the line is good until the next call. */
static bool parse(const char *words) {
    static char copy[1000];
    static char *argv[50];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word && argc < 49; word = strtok(NULL, " "))
        argv[argc++] = word;
    command_line_finish(&line);
    line = (struct command_line){0};
    status = (struct status){0};
    return command_line_parse(&line, &command, argc, argv, &status);
}

static const char *value(const char *option) {
    const char *given = command_value(&line, option);
    return given ? given : "(none)";
}

static void finish(void) {
    command_line_finish(&line);
    line = (struct command_line){0};
}

TEST(an_option_may_be_written_in_any_gnu_form) {
    static const char *const forms[] = {"--output x t", "--output=x t", "-o x t",
                                        "-ox t",        "-fqo x t",     "-fox t",
                                        "t --output x", "t -o x --",    "-o y -o x t"};
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        if (!parse(forms[i]))
            test_failed(__FILE__, __LINE__, "%s: %s", forms[i], status.message);
        CHECK_STRING(value("output"), "x");
        unsigned count;
        const char *const *arguments = command_arguments(&line, &count);
        CHECK_INT(count, 1);
        CHECK_STRING(arguments[0], "t");
    }
    CHECK(parse("-fqo x t") && command_flag(&line, "force") && command_flag(&line, "quiet"));
    CHECK(parse("t") && !command_flag(&line, "force"));
    finish();
}

TEST(negative_numbers_are_values_and_arguments) {
    CHECK(parse("--window -5,10 t"));
    CHECK_STRING(value("window"), "-5,10");
    CHECK(parse("t -7"));
    CHECK_STRING(line.arguments[1], "-7");
    CHECK(parse("-"));
    CHECK_STRING(line.arguments[0], "-");
    finish();
}

TEST(after_two_dashes_everything_is_an_argument) {
    CHECK(parse("-f -- --output -o"));
    CHECK_INT(line.argument_count, 2);
    CHECK_STRING(line.arguments[0], "--output");
    CHECK_STRING(value("output"), "(none)");
    finish();
}

static void check_refused(const char *words, const char *said) {
    if (parse(words))
        test_failed(__FILE__, __LINE__, "'%s' was accepted", words);
    else if (!strstr(status.message, said))
        test_failed(__FILE__, __LINE__, "'%s': '%s' lacks '%s'", words, status.message, said);
    CHECK_INT(status.code, STATUS_USAGE);
}

TEST(mistakes_are_named_with_the_way_out) {
    check_refused("--fromat json t", "unknown option --fromat; did you mean --format?");
    check_refused("--form t", "did you mean --format?");
    check_refused("--zzz t", "unknown option --zzz ('ridge help try' lists them)");
    check_refused("-x t", "unknown option -x");
    check_refused("t --output", "--output needs a value");
    check_refused("t --output --force", "--output needs a value");
    check_refused("--force=yes t", "--force takes no value");
    check_refused("--format xml t", "--format must be text|md|json, not 'xml'");
    check_refused("--format tex t", "not 'tex'");
    check_refused("--format= t", "not ''");
    check_refused("", "needs an argument");
    check_refused("a b c", "'c'");
    finish();
}

TEST(help_is_asked_for_without_the_arguments_that_are_needed) {
    CHECK(parse("--help") && line.wants_help);
    CHECK(parse("-h") && line.wants_help);
    CHECK(parse("-fh") && line.wants_help);
    finish();
}

TEST(a_count_is_a_positive_integer) {
    unsigned count = 9;
    CHECK(parse("t") && command_count(&line, "top", &count, &status));
    CHECK_INT(count, 9);
    CHECK(parse("-n 20 t") && command_count(&line, "top", &count, &status));
    CHECK_INT(count, 20);
    static const char *const bad[] = {"-n 0 t", "-n -3 t", "-n 99999999999 t", "-n many t"};
    for (size_t i = 0; i < 4; i++)
        CHECK(parse(bad[i]) && !command_count(&line, "top", &count, &status));
    CHECK_INT(count, 20);
    finish();
}
