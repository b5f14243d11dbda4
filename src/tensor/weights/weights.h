/* A file of named tensors: GGUF (versions 2 and 3) or safetensors, detected by content.
 *
 * weights_open() reads the header, and checks that all data is inside the file and that a tensor's
 * sizes, type and bytes agree. Tensors of unsupported types are listed with the dtype RIDGE_DTYPES
 * and no bytes, so that an error can name the type. All pointers are valid until weights_close().
 */
#ifndef RIDGE_TENSOR_WEIGHTS_WEIGHTS_H
#define RIDGE_TENSOR_WEIGHTS_WEIGHTS_H

#include <ridge.h>

#include "base/text.h"

struct weights_tensor {
    struct text name;
    char type[16];          /* as the file calls it: "F16", "Q6_K" */
    enum ridge_dtype dtype; /* RIDGE_DTYPES: ridge has no such type */
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX]; /* row-major */
    uint64_t offset;               /* of the data in the file, at any alignment */
    size_t bytes;
};

struct weights;

/* NULL on failure; the message names the file and the problem. */
struct weights *weights_open(const char *path, struct status *status);
/* Reads bytes that the caller owns: for tests and fuzzers. */
struct weights *weights_open_bytes(const void *bytes, size_t length, struct status *status);
/* Accepts NULL. */
void weights_close(struct weights *weights);

const char *weights_format(const struct weights *weights); /* "GGUF" or "safetensors" */
size_t weights_count(const struct weights *weights);
/* By name in byte order; index < weights_count(). */
const struct weights_tensor *weights_at(const struct weights *weights, size_t index);
const struct weights_tensor *weights_find(const struct weights *weights, struct text name);
/* Copies `bytes` of the tensor's data, from its byte `skip` on; skip + bytes <= tensor->bytes. */
bool weights_read(const struct weights *weights, const struct weights_tensor *tensor, size_t skip,
                  void *to, size_t bytes, struct status *status);

/* Metadata by key; false if it is absent or of another type. An integer is also a number. */
bool weights_text(const struct weights *weights, const char *key, struct text *value);
bool weights_integer(const struct weights *weights, const char *key, int64_t *value);
bool weights_number(const struct weights *weights, const char *key, double *value);
/* An array of GGUF: its elements as texts or as numbers, the other is NULL. */
bool weights_array(const struct weights *weights, const char *key, size_t *count,
                   const struct text **texts, const double **numbers);

#endif
