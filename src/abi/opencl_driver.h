/* Loads OpenCL, lists its platforms and explains its errors.
 *
 * All calls go through one struct of function pointers, so that a test can replace the driver or
 * make the Nth call fail.
 */
#ifndef RIDGE_ABI_OPENCL_DRIVER_H
#define RIDGE_ABI_OPENCL_DRIVER_H

#include "base/status.h"
#include "abi/opencl.h"
#include "abi/opencl_symbols.h"

enum { OPENCL_PLATFORMS_MAX = 16 };

struct opencl_driver {
    /* Platforms that clGetPlatformIDs, which is NULL without a loader, does not know. */
    cl_platform_id unregistered[OPENCL_PLATFORMS_MAX];
    cl_uint unregistered_count;
#define OPENCL_POINTER(place, name, parameters, arguments) cl_int(*name) parameters;
#define OPENCL_CREATION_POINTER(place, type, name, parameters, arguments) type(*name) parameters;
    OPENCL_CALLS(OPENCL_POINTER)
    OPENCL_RELEASES(OPENCL_POINTER)
    OPENCL_CREATIONS(OPENCL_CREATION_POINTER)
    OPENCL_OPTIONAL_CALLS(OPENCL_POINTER) /* NULL when absent */
#undef OPENCL_POINTER
#undef OPENCL_CREATION_POINTER
};

/* The driver, loaded at the first call. Fails without OpenCL on this machine. */
bool opencl_driver(const struct opencl_driver **driver, struct status *status);

/* The libraries to search; each list is terminated by NULL. An ICD loader knows the registered
 * drivers; the drivers' own libraries are tried for unregistered ones. */
struct opencl_libraries {
    const char *const *loaders, *const *drivers;
};
extern const struct opencl_libraries opencl_libraries;
/* Fills `driver` from the available libraries. */
bool opencl_driver_load(const struct opencl_libraries *libraries, struct opencl_driver *driver,
                        struct status *status);

/* For tests: the result of opencl_driver() from now on; NULL: the machine's own. */
void opencl_driver_replace(const struct opencl_driver *driver);

/* "CL_OUT_OF_RESOURCES"; "an unknown error" for undefined codes. */
const char *opencl_error_name(cl_int error);
/* True for CL_SUCCESS; else fails with the call, the error and a remedy. */
bool opencl_check(cl_int error, const char *call, struct status *status);

/* All platforms, at most OPENCL_PLATFORMS_MAX. */
bool opencl_platforms(const struct opencl_driver *driver, cl_platform_id *platforms, cl_uint *count,
                      struct status *status);

#endif
