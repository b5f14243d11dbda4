/* The reader of safetensors files on hostile bytes. */
#include "weights.h"
#include "targets.h"

int fuzz_safetensors(const uint8_t *data, size_t size) {
    return looks_like_gguf(data, size) ? -1 : read_weights(data, size);
}
