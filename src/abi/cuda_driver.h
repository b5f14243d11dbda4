/* NVIDIA's libraries as tables of function pointers, loaded when first asked for.
 *
 * A library that is not there is an ordinary failure that says what was looked for and what to do.
 * Tables live until the process ends. Tests put fakes in their place.
 */
#ifndef RIDGE_ABI_CUDA_DRIVER_H
#define RIDGE_ABI_CUDA_DRIVER_H

#include "base/status.h"
#include "abi/cuda.h"
#include "abi/cuda_symbols.h"

#define CUDA_MEMBER(name, symbol, parameters) cuda_result(*name) parameters;
struct cuda_driver {
    CUDA_DRIVER_SYMBOLS(CUDA_MEMBER)
};
struct cuda_nvrtc {
    NVRTC_SYMBOLS(CUDA_MEMBER)
};
struct cuda_blas {
    BLAS_SYMBOLS(CUDA_MEMBER)
};

/* NULL and a failed status when the library cannot be had. */
const struct cuda_driver *cuda_driver(struct status *status);
const struct cuda_nvrtc *cuda_nvrtc(struct status *status);
const struct cuda_blas *cuda_blas(struct status *status);

/* Of several versions of NVRTC and cuBLASLt, the newest that this major version of the driver can
 * serve is taken before any newer one. Has no effect on a library that is loaded already. */
void cuda_prefer_version(int major);

/* For tests: use this table; NULL goes back to the machine's own. */
void cuda_use_driver(const struct cuda_driver *driver);
void cuda_use_nvrtc(const struct cuda_nvrtc *nvrtc);
void cuda_use_blas(const struct cuda_blas *blas);

#endif
