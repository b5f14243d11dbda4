#include "record/apis.h"

#include <string.h>
#include <unistd.h>

#include "../test.h"
#include "record/record.h"

TEST(an_api_that_is_loaded_and_not_recorded_is_named) {
    struct apis apis = {0};
    struct record_summary summary = {0};
    apis_mapped(&apis, TEXT("/usr/lib/libc.so.6"));
    apis_mapped(&apis, TEXT("/opt/libOpenCL.so.1/data.bin"));
    apis_mapped(&apis, TEXT(""));
    apis_note(&apis, &summary);
    CHECK_INT(summary.note_count, 0);
    apis_mapped(&apis, TEXT("/opt/rocm/lib/libamdhip64.so.6.1"));
    apis_mapped(&apis, TEXT("/usr/lib/libOpenCL.so.1.0.0"));
    apis_mapped(&apis, TEXT("/usr/lib/libOpenCL.so.1.0.0"));
    apis_meta(&apis, TEXT("opencl.recordings"));
    apis_note(&apis, &summary);
    REQUIRE(summary.note_count == 2);
    CHECK(strstr(summary.notes[0], "libOpenCL.so was loaded, but OpenCL was not recorded"));
    CHECK(strstr(summary.notes[1], "libamdhip64.so was loaded, but HIP was not recorded"));
}

TEST(an_api_that_is_recorded_is_not_mentioned) {
    struct apis apis = {0};
    struct record_summary summary = {0};
    apis_mapped(&apis, TEXT("libOpenCL.so.1"));
    apis_meta(&apis, TEXT("opencl.recorded"));
    apis_note(&apis, &summary);
    CHECK_INT(summary.note_count, 0);
}

TEST(the_maps_of_a_process_are_read) {
    struct apis apis = {0};
    apis_read_maps(&apis, getpid());
    apis_read_maps(&apis, -1);
    CHECK_INT(apis.recorded, 0);
}
