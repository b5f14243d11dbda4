/* Whether the processor and the system support a set of x86 vector instructions: "avx2", "fma",
 * "bmi2", "avx512f", "avx512bw", "avx512dq" or "avx512vl". */
#ifndef RIDGE_BASE_X86_H
#define RIDGE_BASE_X86_H

#if defined(__x86_64__) || defined(__i386__)
#ifdef __APPLE__

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysctl.h>

/* macOS enables AVX-512 for a thread at its first use, so cpuid and xgetbv do not tell. */
static inline bool x86_supports(const char *feature) {
    char key[64];
    int on = 0;
    size_t size = sizeof on;
    snprintf(key, sizeof key, "hw.optional.%s%s", feature,
             strcmp(feature, "avx2") == 0 ? "_0" : "");
    return sysctlbyname(key, &on, &size, NULL, 0) == 0 && on;
}

#else

/* The builtin needs a literal. */
#define x86_supports(feature) (__builtin_cpu_init(), __builtin_cpu_supports(feature) != 0)

#endif
#endif

#endif
