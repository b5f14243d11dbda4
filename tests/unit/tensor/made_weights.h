/* Files of weights made by tests: GGUF and safetensors from a list of tensors. */
#ifndef RIDGE_TESTS_UNIT_WEIGHTS_MADE_H
#define RIDGE_TESTS_UNIT_WEIGHTS_MADE_H

#include <stdint.h>

#include "base/text.h"

struct made_tensor {
    const char *name;
    const char *type; /* of safetensors */
    uint32_t number;  /* of GGUF */
    unsigned rank;
    int64_t sizes[9]; /* row-major */
    const void *data;
    size_t bytes;
};

/* A pair of the header: an integer when `text` is NULL. */
struct made_pair {
    const char *key, *text;
    uint32_t integer;
};

void made_gguf(struct buffer *file, const struct made_tensor *tensors, size_t count,
               const struct made_pair *pairs, size_t pair_count);
void made_safetensors(struct buffer *file, const struct made_tensor *tensors, size_t count);
/* Under a fresh temporary name. */
const char *made_file(const struct buffer *file, const char *suffix);

#endif
