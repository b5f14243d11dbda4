/* A file of named tensors, mapped and read in place: GGUF (versions 2 and 3) or safetensors, told
 * apart by their first bytes.
 *
 * Everything that weights_open() lets through lies inside the file: a tensor's sizes, type and
 * bytes agree. Types that ridge does not compute with are listed, with `data` NULL, so that whoever
 * needs such a tensor can say what it is. All pointers are good until weights_close().
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
    int64_t sizes[RIDGE_RANK_MAX]; /* row-major: the last one's elements lie together */
    const void *data;              /* at any alignment */
    size_t bytes;
};

struct weights;

/* NULL on failure; the message names the file and what is wrong with it. */
struct weights *weights_open(const char *path, struct status *status);
/* Over bytes that the caller keeps: for tests and fuzzers. */
struct weights *weights_open_bytes(const void *bytes, size_t length, struct status *status);
/* Takes NULL. */
void weights_close(struct weights *weights);

const char *weights_format(const struct weights *weights); /* "GGUF" or "safetensors" */
size_t weights_count(const struct weights *weights);
/* By name in byte order; index < weights_count(). */
const struct weights_tensor *weights_at(const struct weights *weights, size_t index);
const struct weights_tensor *weights_find(const struct weights *weights, struct text name);

/* What the file says about itself, by key; false when it does not, or something of another kind. An
 * integer is also a number. */
bool weights_text(const struct weights *weights, const char *key, struct text *value);
bool weights_integer(const struct weights *weights, const char *key, int64_t *value);
bool weights_number(const struct weights *weights, const char *key, double *value);

#endif
