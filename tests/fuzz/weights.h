/* A file of weights on hostile bytes. Every tensor that the reader lets through is touched at both
 * ends, so that one which lies outside the file is found. */
#ifndef RIDGE_TESTS_FUZZ_WEIGHTS_H
#define RIDGE_TESTS_FUZZ_WEIGHTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/weights/weights.h"

static inline bool looks_like_gguf(const uint8_t *data, size_t size) {
    return size >= 4 && memcmp(data, "GGUF", 4) == 0;
}

static inline void touch_tensors(const struct weights *weights) {
    struct status status;
    unsigned char touched;
    for (size_t i = 0; i < weights_count(weights); i++) {
        const struct weights_tensor *tensor = weights_at(weights, i);
        if (weights_find(weights, tensor->name) != tensor)
            abort();
        if (tensor->bytes > 0 &&
            (!weights_read(weights, tensor, 0, &touched, 1, &status) ||
             !weights_read(weights, tensor, tensor->bytes - 1, &touched, 1, &status)))
            abort();
    }
}

static inline int read_weights(const uint8_t *data, size_t size) {
    struct status status = {0};
    int64_t integer;
    double number;
    struct text text;
    struct weights *weights = weights_open_bytes(data, size, &status);
    if (!weights && status.code == STATUS_OK)
        abort(); /* a failure without a reason */
    if (!weights)
        return 0;
    touch_tensors(weights);
    weights_integer(weights, "general.alignment", &integer);
    weights_number(weights, "general.alignment", &number);
    weights_text(weights, "general.architecture", &text);
    weights_text(weights, "format", &text);
    weights_close(weights);
    return 0;
}

#endif
