/* The fuzz targets. Each takes any bytes and aborts when something is wrong. Two programs run them:
 * libfuzzer.c, which finds inputs, and driver.c, which needs no libFuzzer. */
#ifndef RIDGE_TESTS_FUZZ_TARGETS_H
#define RIDGE_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_TARGETS(X)                                                                            \
    X(damaged)                                                                                     \
    X(ablated_kineto)                                                                              \
    X(ablated_nsys)                                                                                \
    X(ablated_perfetto)                                                                            \
    X(ablated_rpd)                                                                                 \
    X(ablated_xctrace)                                                                             \
    X(ablated_xplane)                                                                              \
    X(austin)                                                                                      \
    X(cubin)                                                                                       \
    X(fleet)                                                                                       \
    X(folded)                                                                                      \
    X(gecko)                                                                                       \
    X(gguf)                                                                                        \
    X(kineto)                                                                                      \
    X(lines)                                                                                       \
    X(memray)                                                                                      \
    X(ncu_report)                                                                                  \
    X(ncu_text)                                                                                    \
    X(nsys)                                                                                        \
    X(open)                                                                                        \
    X(perf_data)                                                                                   \
    X(perf_script)                                                                                 \
    X(perfetto)                                                                                    \
    X(proton)                                                                                      \
    X(pstats)                                                                                      \
    X(report)                                                                                      \
    X(rocpd)                                                                                       \
    X(rocprof)                                                                                     \
    X(rocprof_json)                                                                                \
    X(rpd)                                                                                         \
    X(runs)                                                                                        \
    X(safetensors)                                                                                 \
    X(sources)                                                                                     \
    X(speedscope)                                                                                  \
    X(spool)                                                                                       \
    X(torch_memory)                                                                                \
    X(trace)                                                                                       \
    X(tracemalloc)                                                                                 \
    X(unwind)                                                                                      \
    X(xctrace)                                                                                     \
    X(xplane)

typedef int fuzz_function(const uint8_t *data, size_t size);
#define FUZZ_DECLARE(name) fuzz_function fuzz_##name;
FUZZ_TARGETS(FUZZ_DECLARE)

struct fuzz_target {
    const char *name;
    fuzz_function *run;
};
/* Ended by one without a name. */
extern const struct fuzz_target fuzz_targets[];
/* NULL when there is none of that name. */
const struct fuzz_target *fuzz_find(const char *name);

#endif
