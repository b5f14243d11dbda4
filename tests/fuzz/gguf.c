/* The reader of GGUF files on hostile bytes. */
#include "weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return looks_like_gguf(data, size) ? read_weights(data, size) : -1;
}
