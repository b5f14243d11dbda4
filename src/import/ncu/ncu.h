/* Nsight Compute: binary reports, CSV and the text that ncu prints.
 *
 * The three readers collect the metrics of one launch in struct ncu and end it with
 * ncu_launch_end(), which writes its rows. A report has no time stamps: launches are laid end to
 * end, with their measured durations. */
#ifndef RIDGE_IMPORT_NCU_NCU_H
#define RIDGE_IMPORT_NCU_NCU_H

#include "import/entities.h"
#include "import/import.h"

struct ncu_metric {
    uint32_t name, unit; /* string ids */
    double value;
};

struct ncu_launch {
    bool open; /* it has begun */
    uint64_t pid;
    int64_t device, context, stream;
    struct row_device attributes; /* the source's facts about the device */
    uint32_t process_name, name;  /* string ids */
    uint32_t grid[3], block[3];   /* 0: unknown */
    struct ncu_metric *metrics;
    size_t count, capacity;
};

struct ncu {
    struct trace_writer *writer;
    const struct import_options *options;
    struct entities entities;
    struct ncu_launch launch; /* the current one */
    int64_t time;             /* end of the launches so far */
    uint64_t launches, without_duration, passes;
};

/* Starts a launch, and ends the one before. */
bool ncu_launch_begin(struct ncu *ncu, struct status *status);
/* Writes the rows of the current launch, if there is one. */
bool ncu_launch_end(struct ncu *ncu, struct status *status);

/* A number in base units: nanoseconds, bytes, hertz. */
bool ncu_number(struct ncu *ncu, struct text name, struct text unit, double value,
                struct status *status);
/* A printed value with its printed unit ("77,712.51", "Kbyte"). Texts and missing values are
 * skipped. */
bool ncu_printed(struct ncu *ncu, struct text name, struct text unit, struct text value,
                 struct status *status);
/* "(128, 1, 1)"; zeroes where it is not that. */
void ncu_dimensions(struct text text, uint32_t size[3]);

/* The metric behind a label of the details page; the label itself if it is not known. The unit
 * distinguishes labels that occur twice. */
struct text ncu_metric_of_label(struct text label, struct text unit);
/* The unit of a metric, by its name, in a report without units. */
struct text ncu_unit_of_metric(struct text name);

/* Writes the meta rows of every report, and releases. */
void ncu_write_meta(struct ncu *ncu, struct text tool);
void ncu_finish(struct ncu *ncu);

#endif
