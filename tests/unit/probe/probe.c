/* The parts of the probe that can be tested within one process. */
#include "../test.h"

#include "probe/capture.h"
#include "probe/nvtx/nvtx_names.h"
#include "probe/probe.h"

TEST(the_probe_records_all_it_can_when_nothing_is_said) {
    struct probe_options options = probe_options_parse(NULL);
    CHECK(options.nvtx && options.cuda && !options.graph_nodes);
    CHECK_INT(options.limit, 0);
}

TEST(the_probe_takes_words_from_the_environment_and_passes_over_others) {
    struct probe_options options =
        probe_options_parse("graph=node,later=1,,limit=65536,=,nvtx=0,x");
    CHECK(!options.nvtx && options.cuda && options.graph_nodes);
    CHECK_INT(options.limit, 65536);
    CHECK_INT(probe_options_parse("limit=-1").limit, 0);
    CHECK(!probe_options_parse("cuda=0").cuda);
}

TEST(what_the_probe_captures_is_the_last_word_whatever_is_in_it) {
    struct probe_options options = probe_options_parse("graph=node,capture=nvtx:a, b=c,nvtx=0");
    CHECK(options.graph_nodes && options.nvtx);
    CHECK(text_is(options.capture, "nvtx:a, b=c,nvtx=0"));
    CHECK_INT(probe_options_parse("cuda=1").capture.length, 0);
}

TEST(work_is_captured_by_the_call_that_asked_for_it) {
    capture_start(&(struct probe_options){.capture = TEXT("cudaProfilerApi")});
    CHECK(!capture_is_on() && !capture_includes(5));
    capture_call_seen(10);
    capture_profiler(NULL, true);
    capture_profiler(NULL, true);
    capture_call_seen(20);
    CHECK(capture_is_on() && capture_includes(11) && capture_includes(21) && !capture_includes(10));
    capture_profiler(NULL, false);
    capture_profiler(NULL, false);
    capture_call_seen(30);
    CHECK(!capture_is_on() && capture_includes(20) && !capture_includes(21));
    capture_profiler(NULL, true);
    capture_call_seen(31);
    capture_profiler(NULL, false);
    CHECK(capture_includes(15) && !capture_includes(25) && capture_includes(31) &&
          !capture_includes(32));
    capture_start(&(struct probe_options){0});
    CHECK(capture_is_on() && capture_includes(1));
}

TEST(wide_strings_become_utf8_and_are_cut_between_characters) {
    char bytes[8];
    CHECK(text_is(nvtx_utf8_from_wide(L"a\u00e4\u4f60", bytes, sizeof bytes),
                  "a\xC3\xA4\xE4\xBD\xA0"));
    CHECK(text_is(nvtx_utf8_from_wide(L"\U0001F600", bytes, sizeof bytes), "\xF0\x9F\x98\x80"));
    CHECK_INT(nvtx_utf8_from_wide(L"\u4f60\u4f60\u4f60", bytes, sizeof bytes).length, 6);
    wchar_t half[] = {0xD800, 0};
    CHECK(text_is(nvtx_utf8_from_wide(half, bytes, sizeof bytes), "\xEF\xBF\xBD"));
    CHECK_INT(nvtx_utf8_from_wide(NULL, bytes, sizeof bytes).length, 0);
}

TEST(the_same_name_is_the_same_domain_and_string) {
    const char *string = nvtx_intern(TEXT("a string"));
    char copy[] = "a string";
    CHECK(string && nvtx_intern(text_of(copy)) == string);
    CHECK(nvtx_domain(TEXT("one")) && nvtx_domain(TEXT("one")) == nvtx_domain(TEXT("one")));
    CHECK(nvtx_domain(TEXT("one")) != nvtx_domain(TEXT("two")));
}

TEST(a_category_has_the_last_name_it_was_given_in_its_domain) {
    struct nvtx_domain *domain = nvtx_domain(TEXT("categories"));
    REQUIRE(domain);
    CHECK(nvtx_category_name(domain, 3) == NULL);
    nvtx_name_category(domain, 3, TEXT("three"));
    nvtx_name_category(domain, 19, TEXT("nineteen")); /* of the same list */
    nvtx_name_category(domain, 3, TEXT("drei"));
    CHECK_STRING(nvtx_category_name(domain, 3), "drei");
    CHECK_STRING(nvtx_category_name(domain, 19), "nineteen");
    CHECK(nvtx_category_name(&nvtx_default_domain, 3) == NULL);
}
