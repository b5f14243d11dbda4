/* NVIDIA's libraries as tables of function pointers, loaded at the first call.
 *
 * A missing library is an ordinary failure, with a message on what to install. The tables live
 * until the process ends. Tests can replace them.
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

/* NULL and a failed status when the library cannot be loaded. */
const struct cuda_driver *cuda_driver(struct status *status);
const struct cuda_nvrtc *cuda_nvrtc(struct status *status);
const struct cuda_blas *cuda_blas(struct status *status);

/* Prefers the newest NVRTC and cuBLASLt that this major version of the driver supports over newer
 * ones. Has no effect on a library that is already loaded. */
void cuda_prefer_version(int major);

/* For tests: use this table; NULL: the machine's own. */
void cuda_use_driver(const struct cuda_driver *driver);
void cuda_use_nvrtc(const struct cuda_nvrtc *nvrtc);
void cuda_use_blas(const struct cuda_blas *blas);

#endif
