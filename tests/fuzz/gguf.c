/* The reader of GGUF files on hostile bytes. */
#include "weights.h"
#include "targets.h"

int fuzz_gguf(const uint8_t *data, size_t size) {
    return looks_like_gguf(data, size) ? read_weights(data, size) : -1;
}
