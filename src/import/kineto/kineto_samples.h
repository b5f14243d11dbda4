/* The members "stackFrames" and "samples" of a Chrome trace: a tree of frames by id, and samples
 * that refer to a frame. Frames must come first, because the file is read once. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_SAMPLES_H
#define RIDGE_IMPORT_KINETO_KINETO_SAMPLES_H

#include "import/kineto/kineto_rows.h"

/* A zeroed struct is empty. */
struct kineto_samples {
    struct stack_frame *frames;
    size_t count, capacity;
    size_t written;   /* frames below this have their rows */
    struct map by_id; /* hash of an id: its frame's index */
    struct buffer key;
    bool has_frames;
    uint64_t too_early; /* lists of samples that came before the frames */
    uint64_t cut;       /* frames whose parent is missing, or leads back to themselves */
    uint64_t unknown;   /* samples of frames that there are not */
};

/* Each reads the value at scan->at and moves past it. */
bool kineto_samples_read_frames(struct kineto_samples *samples, struct kineto_rows *rows,
                                struct status *status);
bool kineto_samples_read(struct kineto_samples *samples, struct kineto_rows *rows,
                         struct status *status);
/* What could not be used becomes warnings. */
void kineto_samples_end(const struct kineto_samples *samples, struct trace_writer *writer);
void kineto_samples_finish(struct kineto_samples *samples);

#endif
