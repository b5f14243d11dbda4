/* A sampling profile of the CPU: stacks with weights, from tools that record nothing else.
 *
 * Samples are collected and written at the end, because the time that a sample stands for is often
 * only known from all of them. */
#ifndef RIDGE_IMPORT_PROFILE_H
#define RIDGE_IMPORT_PROFILE_H

#include "import/entities.h"
#include "import/import.h"

struct profile_sample {
    int64_t time;
    uint32_t thread, stack;
    int64_t period; /* events, or nanoseconds, that it stands for */
};

/* Set `entities.writer`, zero the rest. */
struct profile {
    struct entities entities;
    struct profile_sample *samples;
    size_t count, capacity;
};

/* A frame called by `parent`; 0 and a status when out of memory. An empty function is unknown. */
uint32_t profile_frame(struct profile *profile, uint32_t parent, struct text function,
                       struct text module, struct text file, uint32_t line, struct status *status);
bool profile_add(struct profile *profile, const struct profile_sample *sample,
                 struct status *status);

/* Writes the samples, each with its period as its weight in nanoseconds. */
void profile_write(struct profile *profile);
/* The same where periods count other events, such as cycles: the median sample stands for the
 * median time between consecutive samples of a thread, and others are scaled by their periods. That
 * time is returned; 0 when no thread has two samples. */
int64_t profile_write_scaled(struct profile *profile, struct status *status);

void profile_finish(struct profile *profile);

#endif
