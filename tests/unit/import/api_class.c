/* Names of API calls and copies, as each tool spells them. */
#include "../test.h"

#include "base/array.h"
#include "import/import.h"
#include "import/row.h"

TEST(a_call_is_classed_by_what_it_does_whatever_the_api_or_version) {
    static const struct {
        const char *name;
        enum call_class class;
    } rows[] = {
        {"cudaLaunchKernel", CALL_LAUNCH},
        {"cudaLaunchKernel_v7000", CALL_LAUNCH},
        {"cudaLaunchKernelExC", CALL_LAUNCH},
        {"cudaLaunchCooperativeKernel", CALL_LAUNCH},
        {"cuLaunchKernelEx", CALL_LAUNCH},
        {"cudaGraphLaunch", CALL_LAUNCH},
        {"hipExtModuleLaunchKernel", CALL_LAUNCH},
        {"hipGraphLaunch", CALL_LAUNCH},
        {"clEnqueueNDRangeKernel", CALL_LAUNCH},
        {"vkQueueSubmit2KHR", CALL_LAUNCH},
        {"-[MTLCommandBuffer commit]", CALL_LAUNCH},
        {"cudaLaunchHostFunc", CALL_OTHER},
        {"cudaMemcpyAsync_v3020", CALL_COPY},
        {"cuMemcpyHtoDAsync_v2", CALL_COPY},
        {"hipMemcpyWithStream", CALL_COPY},
        {"cudaMemsetAsync", CALL_COPY},
        {"clEnqueueReadBuffer", CALL_COPY},
        {"cudaGraphAddMemcpyNode", CALL_OTHER},
        {"cudaDeviceSynchronize_v3020", CALL_SYNC},
        {"cudaStreamSynchronize", CALL_SYNC},
        {"cudaThreadSynchronize", CALL_SYNC},
        {"hipEventSynchronize", CALL_SYNC},
        {"cuCtxSynchronize", CALL_SYNC},
        {"vkWaitForFences", CALL_SYNC},
        {"clFinish", CALL_SYNC},
        {"cudaStreamWaitEvent", CALL_OTHER},
        {"cudaEventQuery", CALL_OTHER},
        {"cudaMalloc", CALL_ALLOC},
        {"cudaFreeHost", CALL_ALLOC},
        {"cuMemAlloc_v2", CALL_ALLOC},
        {"hipHostMalloc", CALL_ALLOC},
        {"cudaMemGetInfo", CALL_OTHER},
        {"cuModuleLoadData", CALL_COMPILE},
        {"hiprtcCompileProgram", CALL_COMPILE},
        {"nvrtcCompileProgram", CALL_COMPILE},
        {"clBuildProgram", CALL_COMPILE},
        {"vkCreateComputePipelines", CALL_COMPILE},
        {"cudaFuncGetAttributes", CALL_OTHER},
        {"INVALID", CALL_OTHER},
        {"cu", CALL_OTHER},
        {"", CALL_OTHER},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        enum call_class class = import_call_class(text_of(rows[i].name));
        if (class != rows[i].class)
            test_failed(__FILE__, __LINE__, "%s is %s, not %s", rows[i].name,
                        call_class_name(class), call_class_name(rows[i].class));
    }
}

TEST(a_copys_name_tells_its_direction_and_memories) {
    static const struct {
        const char *name;
        enum copy_direction direction;
        enum memory_kind from, to;
    } rows[] = {
        {"Memcpy HtoD (Pinned -> Device)", COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE},
        {"Memcpy DtoH (Device -> Pageable)", COPY_DTOH, MEMORY_DEVICE, MEMORY_PAGEABLE},
        {"Memcpy HtoD (Host -> Device)", COPY_HTOD, MEMORY_UNKNOWN, MEMORY_DEVICE},
        {"Memcpy DtoD (Device -> Device)", COPY_DTOD, MEMORY_DEVICE, MEMORY_DEVICE},
        {"Memcpy PtoP (Device -> Device)", COPY_PTOP, MEMORY_DEVICE, MEMORY_DEVICE},
        {"Memcpy HtoA (Pinned -> Array)", COPY_HTOD, MEMORY_PINNED, MEMORY_ARRAY},
        {"Memcpy DtoH (Managed Static -> Pinned)", COPY_DTOH, MEMORY_MANAGED, MEMORY_PINNED},
        {"HtoD (pageable -> device)", COPY_HTOD, MEMORY_PAGEABLE, MEMORY_DEVICE},
        {"(Pinned -> Device)", COPY_UNKNOWN, MEMORY_PINNED, MEMORY_DEVICE},
        {"HtoD (Pinned->Device)", COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE},
        {"MemcpyD2H", COPY_DTOH, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"CopyHostToDevice", COPY_HTOD, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"MEMORY_COPY_DEVICE_TO_HOST", COPY_DTOH, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"hipMemcpyDtoDAsync", COPY_DTOD, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"cudaMemcpyPeerAsync", COPY_PTOP, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"Memset (Device)", COPY_UNKNOWN, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
        {"", COPY_UNKNOWN, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        enum copy_direction direction;
        enum memory_kind from, to;
        import_copy_name(text_of(rows[i].name), &direction, &from, &to);
        if (direction != rows[i].direction || from != rows[i].from || to != rows[i].to)
            test_failed(__FILE__, __LINE__, "\"%s\" is %s from %s to %s", rows[i].name,
                        copy_direction_name(direction), memory_kind_name(from),
                        memory_kind_name(to));
    }
}

TEST(a_row_is_valid_when_its_times_are_in_range) {
    static const struct {
        int64_t start, duration;
        bool valid;
    } rows[] = {
        {0, 0, true},
        {TRACE_TIME_LIMIT, TRACE_TIME_LIMIT, true},
        {-TRACE_TIME_LIMIT, 0, true},
        {TRACE_TIME_LIMIT + 1, 0, false},
        {-TRACE_TIME_LIMIT - 1, 0, false},
        {0, -1, false},
        {0, TRACE_TIME_LIMIT + 1, false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct import_row row;
        const char *why;
        import_row_begin(&row, TABLE_CALL);
        row.of.call.start = rows[i].start;
        row.of.call.duration = rows[i].duration;
        CHECK_INT(import_row_valid(&row, &why), rows[i].valid);
        CHECK_INT(why == NULL, rows[i].valid);
    }
}
