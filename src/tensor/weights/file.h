/* Shared by the readers of both formats: the bytes of the file and the lists that they fill. */
#ifndef RIDGE_TENSOR_WEIGHTS_FILE_H
#define RIDGE_TENSOR_WEIGHTS_FILE_H

#include "base/memory.h"
#include "tensor/weights/weights.h"

enum metadata_kind { METADATA_TEXT, METADATA_INTEGER, METADATA_NUMBER, METADATA_ARRAY };

struct metadata {
    struct text key;
    enum metadata_kind kind;
    struct text text;
    int64_t integer;
    double number;
    /* Of an array: the number of elements, and each as text or number, in the arena. */
    size_t count;
    struct text *texts;
    double *numbers;
};

struct weights {
    const unsigned char *bytes; /* the first `available` bytes of the file */
    size_t available;
    uint64_t length;       /* of the file */
    unsigned char *header; /* `bytes`, if they are read from `fd`; else NULL */
    int fd;
    uint64_t needed; /* more than `available`: a reader failed because its header is longer */
    const char *format;
    struct weights_tensor *tensors; /* in order of their names once the file is read */
    size_t count, capacity;
    struct metadata *metadata;
    size_t metadata_count, metadata_capacity;
    struct arena names; /* names that are not in the file verbatim */
};

bool weights_add(struct weights *weights, const struct weights_tensor *tensor,
                 struct status *status);
bool weights_add_metadata(struct weights *weights, const struct metadata *metadata,
                          struct status *status);
/* The product of the sizes; false when it does not fit or a size is negative. */
bool weights_elements(const struct weights_tensor *tensor, uint64_t *count);

/* A reader needs the first `end` bytes of the file: false when they are not available. */
bool weights_need(struct weights *weights, uint64_t end);

bool gguf_detect(const unsigned char *bytes, size_t length);
bool gguf_read(struct weights *weights, struct status *status);
bool safetensors_detect(const unsigned char *bytes, size_t length);
bool safetensors_read(struct weights *weights, struct status *status);

#endif
