#include "record/apis.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"
#include "base/temporary.h"
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

TEST(the_version_of_a_framework_is_that_of_its_package) {
    static const char *const folders[] = {"torch",
                                          "torch-2.11.0+cu130.dist-info",
                                          "torchvision-0.26.0.dist-info",
                                          "torch-.dist-info",
                                          "cupy_cuda13x-13.6.0.dist-info",
                                          "triton-3.6.0"};
    enum { FOLDERS = sizeof folders / sizeof folders[0] };
    struct apis apis = {0};
    struct status status = {0};
    char *root, path[600];
    REQUIRE(temporary_folder(&root, &status));
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        REQUIRE(mkdir(path, 0700) == 0);
    }
    static const char *const libraries[] = {"torch/lib/libtorch_cpu.so", "triton/_C/libtriton.so",
                                            "cupy/_core/core.cpython-312.so",
                                            "jaxlib/libjax_common.so"};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", root, libraries[i]);
        apis_mapped(&apis, text_of(path));
    }
    CHECK_STRING(apis.versions[0], "2.11.0+cu130");
    CHECK_STRING(apis.versions[1], "");
    CHECK_STRING(apis.versions[4], "");
    CHECK_STRING(apis.versions[5], "13.6.0");
    for (unsigned i = FOLDERS; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        rmdir(path);
    }
    rmdir(root);
    memory_free(root);
}
