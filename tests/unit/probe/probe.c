/* The parts of the probe that need no process of their own. */
#include "../test.h"

#include "probe/capture.h"
#include "probe/nvtx/nvtx_names.h"
#include "probe/probe.h"

TEST(the_probe_records_all_it_can_when_nothing_is_said) {
    struct probe_options options = options_parse(NULL);
    CHECK(options.nvtx && options.cuda && !options.by_node);
    CHECK_INT(options.room, 0);
}

TEST(the_probe_takes_words_from_the_environment_and_passes_over_others) {
    struct probe_options options = options_parse("graph=node,later=1,,room=65536,=,nvtx=0,x");
    CHECK(!options.nvtx && options.cuda && options.by_node);
    CHECK_INT(options.room, 65536);
    CHECK_INT(options_parse("room=-1").room, 0);
    CHECK(!options_parse("cuda=0").cuda);
}

TEST(what_the_probe_captures_is_the_last_word_whatever_is_in_it) {
    struct probe_options options = options_parse("graph=node,capture=nvtx:a, b=c,nvtx=0");
    CHECK(options.by_node && options.nvtx);
    CHECK(text_is(options.capture, "nvtx:a, b=c,nvtx=0"));
    CHECK_INT(options_parse("cuda=1").capture.length, 0);
}

TEST(work_is_captured_by_the_call_that_asked_for_it) {
    capture_start(&(struct probe_options){.capture = TEXT("cudaProfilerApi")});
    CHECK(!capture_is_on() && !capture_has(5));
    capture_saw_call(10);
    capture_profiler(NULL, true);
    capture_profiler(NULL, true);
    capture_saw_call(20);
    CHECK(capture_is_on() && capture_has(11) && capture_has(21) && !capture_has(10));
    capture_profiler(NULL, false);
    capture_profiler(NULL, false);
    capture_saw_call(30);
    CHECK(!capture_is_on() && capture_has(20) && !capture_has(21));
    capture_profiler(NULL, true);
    capture_saw_call(31);
    capture_profiler(NULL, false);
    CHECK(capture_has(15) && !capture_has(25) && capture_has(31) && !capture_has(32));
    capture_start(&(struct probe_options){0});
    CHECK(capture_is_on() && capture_has(1));
}

TEST(wide_strings_become_utf8_and_are_cut_between_characters) {
    char bytes[8];
    CHECK(text_is(nvtx_narrow(L"a\u00e4\u4f60", bytes, sizeof bytes), "a\xC3\xA4\xE4\xBD\xA0"));
    CHECK(text_is(nvtx_narrow(L"\U0001F600", bytes, sizeof bytes), "\xF0\x9F\x98\x80"));
    CHECK_INT(nvtx_narrow(L"\u4f60\u4f60\u4f60", bytes, sizeof bytes).length, 6);
    wchar_t half[] = {0xD800, 0};
    CHECK(text_is(nvtx_narrow(half, bytes, sizeof bytes), "\xEF\xBF\xBD"));
    CHECK_INT(nvtx_narrow(NULL, bytes, sizeof bytes).length, 0);
}

TEST(the_same_name_is_the_same_domain_and_string) {
    const char *string = nvtx_string(TEXT("a string"));
    char copy[] = "a string";
    CHECK(string && nvtx_string(text_of(copy)) == string);
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
