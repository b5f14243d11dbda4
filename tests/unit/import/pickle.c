/* Every instruction of a pickle that is read, and where a pickle is refused. */
#include "import/pickle.h"

#include "../test.h"
#include "base/output.h"

static void show(struct buffer *out, const struct pickle_value *value, unsigned depth) {
    bool pairs = value->kind == PICKLE_DICT;
    switch (value->kind) {
    case PICKLE_NONE:
        buffer_string(out, "None");
        break;
    case PICKLE_BOOL:
        buffer_string(out, value->integer ? "True" : "False");
        break;
    case PICKLE_INTEGER:
        buffer_printf(out, "%lld", (long long)value->integer);
        break;
    case PICKLE_REAL:
        buffer_printf(out, "%.17g", value->real);
        break;
    case PICKLE_TEXT:
        buffer_printf(out, "'%.*s'", TEXT_ARGS(value->text));
        break;
    default:
        buffer_byte(out, pairs ? '{' : '[');
        for (size_t i = 0; i < value->count && depth < 8; i++) {
            buffer_string(out, i == 0 ? "" : pairs && i % 2 ? ":" : ",");
            show(out, value->items[i], depth + 1);
        }
        buffer_byte(out, pairs ? '}' : ']');
    }
}

/* The value as Python shows it, or "damaged". */
static void check(const char *bytes, size_t length, const char *expected) {
    struct pickle pickle = {0};
    struct status status = {0};
    struct buffer out = {0};
    if (pickle_read(&pickle, (struct text){bytes, length}, &status))
        show(&out, pickle.value, 0);
    else
        buffer_string(&out, status.code == STATUS_INPUT ? "damaged" : status.message);
    if (!text_is(buffer_as_text(&out), expected))
        test_failed(__FILE__, __LINE__, "a pickle is %.*s, not %s", (int)out.length, out.data,
                    expected);
    buffer_finish(&out);
    pickle_finish(&pickle);
}
#define READS(bytes, expected) check(bytes, sizeof bytes - 1, expected)

TEST(a_pickle_has_numbers_of_every_length) {
    READS("\x80\x02K\xFF.", "255");
    READS("\x80\x02M\x01\x02.", "513");
    READS("\x80\x02J\xFE\xFF\xFF\xFF.", "-2");
    READS("\x8A\x00.", "0");
    READS("\x8A\x01\x80.", "-128");
    READS("\x8A\x02\x80\x00.", "128");
    READS("\x8A\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808");
    READS("\x8B\x02\x00\x00\x00\x01\x01.", "257");
    READS("\x8A\x09\x02\x00\x00\x00\x00\x00\x00\x00\x01.", "1.8446744073709552e+19");
    READS("\x8A\x09\x00\x00\x00\x00\x00\x00\x00\x00\xFF.", "-1.8446744073709552e+19");
    READS("\x8A\x09\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF.", "-1");
    READS("G?\xF8\x00\x00\x00\x00\x00\x00.", "1.5");
    READS("\x88.", "True");
    READS("\x89.", "False");
    READS("N.", "None");
}

TEST(a_pickle_has_texts_with_lengths_of_one_four_or_eight_bytes) {
    READS("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8C\x02hi.", "'hi'");
    READS("U\x02hi.", "'hi'");
    READS("C\x00.", "''");
    READS("X\x02\x00\x00\x00hi.", "'hi'");
    READS("T\x02\x00\x00\x00hi.", "'hi'");
    READS("B\x02\x00\x00\x00hi.", "'hi'");
    READS("\x8D\x02\x00\x00\x00\x00\x00\x00\x00hi.", "'hi'");
    READS("\x8E\x02\x00\x00\x00\x00\x00\x00\x00hi.", "'hi'");
    READS("U\x03hi.", "damaged"); /* the text takes the end */
    READS("U\x04hi.", "damaged");
}

TEST(a_pickle_builds_lists_tuples_and_dicts) {
    READS("].", "[]");
    READS(").", "[]");
    READS("}.", "{}");
    READS("(K\1K\2t.", "[1,2]");
    READS("(l.", "[]");
    READS("(K\1K\2d.", "{1:2}");
    READS("K\1\x85.", "[1]");
    READS("K\1K\2\x86.", "[1,2]");
    READS("K\1K\2K\3\x87.", "[1,2,3]");
    READS("]K\1a.", "[1]");
    READS("](K\1K\2e.", "[1,2]");
    READS("}K\1K\2s.", "{1:2}");
    READS("}(K\1K\2K\3K\4u.", "{1:2,3:4}");
    READS("K\1K\2"
          "0.",
          "1");
    READS("](K\1]e.", "[1,[]]");
}

TEST(a_pickle_repeats_what_it_remembers) {
    READS("U\2hiq\5h\5\x86.", "['hi','hi']");
    READS("U\2hir\5\0\0\0j\5\0\0\0\x86.", "['hi','hi']");
    READS("U\2hi\x94K\1\x94h\0h\1(\x87.", "damaged"); /* a mark is no value */
    READS("U\2hi\x94K\1\x94h\0h\1\x87.", "[1,'hi',1]");
    READS("]q\1h\1.", "[]");
    READS("U\2hiq\5h\4.", "damaged");
    READS("U\2hiq\5h\6.", "damaged");
}

TEST(a_damaged_pickle_is_refused) {
    READS("", "damaged");
    READS("K\1", "damaged"); /* no end */
    READS(".", "damaged");
    READS("(.", "damaged");
    READS("0.", "damaged");
    READS("K", "damaged");
    READS("M\1", "damaged");
    READS("q\0.", "damaged"); /* nothing to remember */
    READS("K\1a.", "damaged");
    READS("K\1K\1a.", "damaged"); /* not a list */
    READS("]K\1s.", "damaged");
    READS("}(K\1u.", "damaged"); /* a key without a value */
    READS("(K\1e.", "damaged");  /* no list below the mark */
    READS("K\1t.", "damaged");   /* no mark */
    READS("\x85.", "damaged");
    READS("K\1\x86.", "damaged");
    READS("\x8A\x02\x01.", "damaged");
    READS("\x8A\x03\x01.", "damaged");
    READS("G\0\0.", "damaged");
    READS("cos\nsystem\n.", "damaged");
}

TEST(a_pickle_begins_with_a_protocol_from_two_to_five) {
    static const struct {
        const char *head;
        bool is_pickle;
    } cases[] = {{"\x80\2}.", true},  {"\x80\5}.", true},  {"\x80\1}.", false},
                 {"\x80\6}.", false}, {"\x81\2}.", false}, {"{\2}.", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(pickle_detect((struct text){cases[i].head, 4}) == cases[i].is_pickle);
        CHECK(!pickle_detect((struct text){cases[i].head, 3}));
    }
}

TEST(members_of_a_pickled_dict_are_of_their_kind_or_empty) {
    static const char bytes[] = "}(U\1aK\1U\1aK\2U\1b\x88U\1cU\2hiU\1d](K\1eK\7K\7u.";
    struct pickle pickle = {0};
    struct status status = {0};
    REQUIRE(pickle_read(&pickle, (struct text){bytes, sizeof bytes - 1}, &status));
    CHECK_INT(pickle_integer(pickle.value, "a"), 2); /* the last one */
    CHECK_INT(pickle_integer(pickle.value, "b"), 1);
    CHECK_INT(pickle_integer(pickle.value, "c"), 0);
    CHECK_INT(pickle_integer(pickle.value, "z"), 0);
    CHECK(text_is(pickle_text(pickle.value, "c"), "hi"));
    CHECK(pickle_text(pickle.value, "a").length == 0);
    CHECK_INT(pickle_list(pickle.value, "d")->count, 1);
    CHECK_INT(pickle_list(pickle.value, "c")->count, 0);
    CHECK(!pickle_member(pickle_list(pickle.value, "d"), "a"));
    CHECK(!pickle_member(NULL, "a"));
    pickle_finish(&pickle);
}
