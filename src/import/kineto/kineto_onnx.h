/* Profiles of ONNX Runtime (SessionOptions.enable_profiling): its rows of sessions and nodes. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ONNX_H
#define RIDGE_IMPORT_KINETO_KINETO_ONNX_H

#include "import/kineto/kineto_event.h"

struct kineto_rows;

struct onnx {
    bool used;        /* the file has rows of ONNX Runtime */
    bool gpu_nodes;   /* some nodes ran on a GPU provider */
    uint64_t kernels; /* rows of GPU work */
};

/* These add an event of the category "Session" or "Node"; false if it is none of ONNX Runtime. */
bool onnx_add_session(struct kineto_rows *rows, const struct kineto_event *event);
bool onnx_add_node(struct kineto_rows *rows, const struct kineto_event *event);
/* A kernel, copy or set of a GPU, by its name. */
enum activity_kind onnx_kind(struct kineto_rows *rows, const struct kineto_event *event);
/* Writes warnings after the last event. */
void onnx_end(struct kineto_rows *rows);

#endif
