/* The reader of safetensors files on hostile bytes. */
#include "weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return looks_like_gguf(data, size) ? -1 : read_weights(data, size);
}
