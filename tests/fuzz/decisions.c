/* Values and texts that damaged traces are made of. */
#include "decisions.h"

#include <stdlib.h>
#include <string.h>

#include "trace/schema.h"

uint64_t decide_value(struct decisions *decisions) {
    static const uint64_t values[] = {
        0,
        1,
        2,
        3,
        255,
        256,
        1000,
        65535,
        1000000000,
        INT32_MAX,
        (uint64_t)INT32_MAX + 1,
        UINT32_MAX,
        (uint64_t)UINT32_MAX + 1,
        (uint64_t)1 << 53,
        TRACE_TIME_LIMIT / 2,
        TRACE_TIME_LIMIT,
        (uint64_t)-TRACE_TIME_LIMIT,
        INT64_MAX,
        (uint64_t)INT64_MIN,
        UINT64_MAX - 1,
        UINT64_MAX,
        0x7FF0000000000000, /* infinity */
        0x7FF8000000000000, /* not a number */
        0xC08F400000000000, /* -1000.0 */
    };
    enum { VALUES = sizeof values / sizeof values[0] };
    size_t choice = decide(decisions, VALUES + 8);
    return choice < VALUES ? values[choice] : decide_bits(decisions, 1 + choice % 4);
}

const char *decide_text(struct decisions *decisions, size_t *length) {
    static const char *const texts[] = {
        "",
        "a",
        "%s%n%d",
        "<script>alert(1)</script>",
        "\"quoted\\\"",
        "line\nbreak\ttab\r",
        "\x1b[31mred\x1b[0m",
        "\xff\xfe\xc0\x80",
        "\xe2\x80\xa8\xe2\x80\xae",
        "=1+1",
        "| a | b |",
        "ProfilerStep#1",
        "ridge: paused",
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
        "cudaMemcpyAsync",
        "cudaMalloc",
        "cuModuleLoadData",
        "cudaGraphLaunch",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "void gemm<float, 128, 64>(float*, float const*)",
        "aten::mm",
        "aten::addmm",
        "DataLoader.__next__",
        "[python]",
        "[unknown]",
        "{\"Input Dims\": [[2, 3], [3, 9223372036854775807]], \"Input type\": [\"float\", \"\"]}",
        "{\"Input Dims\": [[",
        "sm_clock",
        "clock.offset_ns",
        "source.format",
        "-9223372036854775808",
        "9223372036854775807",
        "1e308",
    };
    enum { TEXTS = sizeof texts / sizeof texts[0], LONG = 70000 };
    static char *long_text;
    size_t choice = decide(decisions, TEXTS + 1);
    if (choice < TEXTS) {
        *length = strlen(texts[choice]);
        return texts[choice];
    }
    if (!long_text && (long_text = malloc(LONG)))
        memset(long_text, 'x', LONG);
    *length = long_text ? LONG : 0;
    return long_text;
}
