/* Whether what src/abi/nvml.h declares of NVML is what NVIDIA's header says: checked by
 * compiling. Ends with 77 where there is no header. */
#include <stddef.h>
#include <stdio.h>

#include "abi/nvml.h"

#if defined(__has_include)
#if __has_include(<nvml.h>)
#include <nvml.h>
#define HAVE_NVML
#endif
#endif

#ifdef HAVE_NVML
#define NUMBER(ours, theirs, value)                                                                \
    _Static_assert((long long)ours == (long long)(theirs), #theirs " is another number");
#define SAME(name, symbol, parameters)                                                             \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), unsigned int(*) parameters),    \
                   #name " takes something else");
NVML_NUMBERS(NUMBER)
NVML_SYMBOLS(SAME)
#define OFFSET(ours, our_member, theirs, their_member)                                             \
    _Static_assert(offsetof(struct ours, our_member) == offsetof(theirs, their_member),            \
                   #theirs "." #their_member " is elsewhere");
OFFSET(nvml_process, pid, nvmlProcessInfo_t, pid)
OFFSET(nvml_utilization, time, nvmlProcessUtilizationSample_t, timeStamp)
OFFSET(nvml_utilization, sm, nvmlProcessUtilizationSample_t, smUtil)
_Static_assert(sizeof(struct nvml_process) == sizeof(nvmlProcessInfo_t), "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_utilization) == sizeof(nvmlProcessUtilizationSample_t),
               "nvmlProcessUtilizationSample_t");
_Static_assert(__builtin_types_compatible_p(nvml_result, nvmlReturn_t), "nvmlReturn_t");
_Static_assert(__builtin_types_compatible_p(nvml_choice, nvmlClockType_t), "nvmlClockType_t");
_Static_assert(__builtin_types_compatible_p(nvml_choice, nvmlTemperatureSensors_t), "sensors");
_Static_assert(__builtin_types_compatible_p(nvml_device, nvmlDevice_t), "nvmlDevice_t");
#endif

int main(void) {
#ifdef HAVE_NVML
    return 0;
#else
    puts("SKIP NVIDIA's nvml.h is not installed");
    return 77;
#endif
}
