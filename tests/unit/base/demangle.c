/* Names of C++ and Rust functions as they were written. */
#include "../test.h"

#include "base/demangle.h"

static bool becomes(const char *mangled, const char *plain) {
    struct buffer buffer = {0};
    bool done = demangle(text_of(mangled), &buffer);
    bool same = done && text_is(buffer_as_text(&buffer), plain);
    if (done && !same)
        fprintf(stderr, "%s became %.*s\n", mangled, TEXT_ARGS(buffer_as_text(&buffer)));
    buffer_finish(&buffer);
    return same;
}

TEST(mangled_names_of_cpp_and_rust_become_plain) {
    struct buffer buffer = {0};
    if (!demangle(TEXT("_Z1fi"), &buffer)) {
        test_skip("there is no C++ library here");
        return;
    }
    buffer_finish(&buffer);
    CHECK(becomes("_ZN2at6native3addERKNS_6TensorE", "at::native::add(at::Tensor const&)"));
    CHECK(becomes("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"));
    CHECK(
        becomes("_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE",
                "<T as core::convert::Into<U>>::into"));
}

TEST(names_that_are_not_mangled_are_left_alone) {
    struct buffer buffer = {0};
    CHECK(!demangle(TEXT("main"), &buffer));
    CHECK(!demangle(TEXT("_Z"), &buffer));
    CHECK(!demangle(TEXT("_Znonsense"), &buffer));
    CHECK(!demangle(TEXT(""), &buffer));
    CHECK_INT(buffer.length, 0);
    buffer_finish(&buffer);
}
