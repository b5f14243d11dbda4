/* Which names a pattern matches, and what names of ranges mean. */
#include "base/array.h"
#include "whatif/names.h"

#include "../test.h"

static bool matches(const char *name, const char *pattern) {
    return name_matches(text_of(name), text_of(pattern));
}

TEST(a_pattern_with_wildcards_means_whole_names_and_one_without_a_part) {
    CHECK(matches("sm90_gemm_f16", "gemm"));
    CHECK(!matches("sm90_gemm_f16", "gem?"));
    CHECK(matches("sm90_gemm_f16", "*gem?*"));
    CHECK(matches("abcabd", "*ab?"));
    CHECK(!matches("abcabd", "*abc"));
    CHECK(matches("anything", ""));
    CHECK(matches("", "*"));
    CHECK(!matches("", "?"));
}

TEST(ranges_that_prepare_input_or_compile_are_known_by_name) {
    CHECK(name_is_input(TEXT("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")));
    CHECK(!name_is_input(TEXT("aten::add")));
    static const char *const input[] = {"data",       "next batch", "load_data",
                                        "fetchInput", "get batch",  "wait for input",
                                        "next",       "Load",       "collate"};
    static const char *const other[] = {
        "batch",     "batch 12", "batch_norm", "DataParallel", "load model", "augment batch",
        "nextLayer", "read",     "aten::data", "step",         "",           "cuModuleLoad"};
    for (size_t i = 0; i < ARRAY_COUNT(input); i++)
        CHECK(name_is_input(text_of(input[i])));
    for (size_t i = 0; i < ARRAY_COUNT(other); i++)
        CHECK(!name_is_input(text_of(other[i])));
    CHECK(name_is_compilation(TEXT("compile_fx_inner")));
    CHECK(!name_is_compilation(TEXT("Torch-Compiled Region: 0/0")));
}
