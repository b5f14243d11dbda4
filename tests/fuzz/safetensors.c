/* The reader of safetensors files on hostile bytes. Every tensor that it lets through is touched at
 * both ends, so that one which lies outside the file is found. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct status status = {0};
    if (size >= 4 && memcmp(data, "GGUF", 4) == 0)
        return -1;
    struct weights *weights = weights_open_bytes(data, size, &status);
    if (!weights && status.code == STATUS_OK)
        abort(); /* a failure without a reason */
    if (!weights)
        return 0;
    volatile unsigned char touched;
    for (size_t i = 0; i < weights_count(weights); i++) {
        const struct weights_tensor *tensor = weights_at(weights, i);
        if (weights_find(weights, tensor->name) != tensor)
            abort();
        if (tensor->bytes > 0) {
            touched = *(const unsigned char *)tensor->data;
            touched = ((const unsigned char *)tensor->data)[tensor->bytes - 1];
        }
    }
    (void)touched;
    struct text text;
    weights_text(weights, "format", &text);
    weights_close(weights);
    return 0;
}
