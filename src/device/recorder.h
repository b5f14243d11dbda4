/* Records what a device does to a .ridge file, for `ridge report`.
 *
 * The wrappers of device/work.h call this; ranges and the pool's memory come in by the functions
 * here. The file appears under its name when the recorder is finished, and not at all when that
 * fails. One thread at a time, as with the device itself.
 */
#ifndef RIDGE_DEVICE_RECORDER_H
#define RIDGE_DEVICE_RECORDER_H

#include "device/device.h"
#include "device/pool.h"
#include "trace/schema.h"

struct recorder;

struct recorder *recorder_create(struct device *device, const char *path, struct status *status);
/* Waits for the device, completes the file and frees the recorder, also when it fails. Takes NULL.
 */
bool recorder_finish(struct recorder *recorder, struct status *status);

/* Adds a fact about the run as a whole. */
void recorder_meta(struct recorder *recorder, const char *key, const char *value);
/* What a trace calls the device: "cuda:0". */
enum { RECORDER_LABEL_SIZE = 48 };
void recorder_label(const struct device *device, char label[RECORDER_LABEL_SIZE]);

/* Named spans of the calling thread; they nest. Spans left open end with the recording. */
void recorder_range_begin(struct recorder *recorder, const char *name);
void recorder_range_end(struct recorder *recorder);

/* Between the two nothing is given to the recorder; the trace says so, so that the hole is not
 * taken for idleness. Resuming may take a while: the device makes ready to tell times. */
void recorder_pause(struct recorder *recorder);
void recorder_resume(struct recorder *recorder);

/* An observer of a pool, with the recorder as context; pool_set_recorder() sets it. */
pool_observer recorder_memory;

/* Told of each activity when its times are known, in the order of each queue. NULL tells no one. */
typedef void recorder_observer(void *context, const struct row_activity *row);
void recorder_set_observer(struct recorder *recorder, recorder_observer *observer, void *context);
/* Waits for the device, and writes and tells all that is pending. */
void recorder_settle(struct recorder *recorder);

/* ---- For device/work.c ------------------------------------------------------------------ */

enum recorded_call {
    CALLED_LAUNCH,
    CALLED_COPY_IN,
    CALLED_COPY_OUT,
    CALLED_COPY_WITHIN,
    CALLED_SYNCHRONIZE,
    CALLED_LOAD,
    CALLED_ALLOCATE,
    CALLED_RELEASE,
    CALLED_KINDS
};

/* A call that began at `start` and has just returned; gives its correlation id. `kernel`, the name
 * of what was loaded, may be NULL. */
uint64_t recorder_call(struct recorder *recorder, enum recorded_call kind, int64_t start, bool ok,
                       const char *kernel);
/* Work that the call with row->correlation put on a queue. Takes the stamp over and fills in the
 * times and the queue when the device is done with it. */
void recorder_activity(struct recorder *recorder, unsigned queue, const struct row_activity *row,
                       struct device_stamp stamp);
/* The id of a text, for columns of a row. */
uint32_t recorder_string(struct recorder *recorder, const char *text);

#endif
