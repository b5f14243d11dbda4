/* CUDA C++ to a binary that the driver loads. Needs NVRTC, but neither a GPU nor a driver. */
#ifndef RIDGE_DEVICE_CUDA_COMPILE_H
#define RIDGE_DEVICE_CUDA_COMPILE_H

#include "base/status.h"
#include "base/text.h"

/* Compiles for compute capability major.minor and appends the binary (or PTX, when NVRTC is older
 * than the GPU) to `binary`, from the cache on disk when it was compiled before. `name` is what
 * messages call the source. A source that does not compile is STATUS_INPUT with the first error. */
bool cuda_compile(const char *source, size_t length, const char *name, unsigned major,
                  unsigned minor, bool no_contraction, struct buffer *binary,
                  struct status *status);

/* Whether NVRTC can be had and compiles for this GPU. */
bool cuda_compiler_ready(unsigned major, unsigned minor, struct status *status);

#endif
