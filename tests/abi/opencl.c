/* Whether what src/device/opencl declares of OpenCL is what Khronos' headers say: types and
 * functions by compiling, constants and places in a driver's table one by one. Ends with 77 where
 * the headers are not installed. */
#include <stdio.h>

#include "abi/opencl.h"
#include "abi/opencl_dispatch.h"
#include "abi/opencl_symbols.h"

#if defined(__has_include)
#if __has_include(<CL/cl_icd.h>) && __has_include(<CL/cl_ext.h>)
#define HAVE_HEADERS
#endif
#endif

#ifdef HAVE_HEADERS
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
/* A type that differs from that of abi.h does not compile. */
#include <CL/cl.h>

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#define PLACE(place, name, parameters, arguments)                                                  \
    _Static_assert(offsetof(cl_icd_dispatch, name) == (place) * sizeof(void *), #name);
#define CALL(place, name, parameters, arguments)                                                   \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), cl_int(*) parameters), #name);  \
    PLACE(place, name, parameters, arguments)
#define CREATION(place, type, name, parameters, arguments)                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), type(*) parameters), #name);    \
    PLACE(place, name, parameters, arguments)
OPENCL_CALLS(CALL)
OPENCL_RELEASES(CALL)
OPENCL_OPTIONAL_CALLS(CALL)
OPENCL_CREATIONS(CREATION)

#define ORDER(name)                                                                                \
    _Static_assert(offsetof(cl_icd_dispatch, name) == OPENCL_AT_##name * sizeof(void *), #name);
OPENCL_DISPATCH(ORDER)

static int wrong;

/* `name` is the header's macro by the time it gets here, `ours` the value in abi.h. */
static void compare(const char *name, long long theirs, long long ours) {
    if (theirs == ours)
        return;
    printf("FAILED %s is %lld in the header, %lld here\n", name, theirs, ours);
    wrong++;
}
#define COMPARE(name, value) compare(#name, (long long)(name), value);

int main(void) {
    OPENCL_CONSTANTS(COMPARE)
    OPENCL_ERRORS(COMPARE)
    return wrong != 0;
}

#else
int main(void) {
    printf("SKIP CL/cl.h, CL/cl_ext.h and CL/cl_icd.h are not installed\n");
    return 77;
}
#endif
