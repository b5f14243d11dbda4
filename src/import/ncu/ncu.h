/* Nsight Compute: binary reports, CSV and the text that ncu prints.
 *
 * The three readers collect the metrics of one launch in struct ncu and end it with
 * ncu_launch_end(), which writes its rows. A report has no time stamps: launches are laid end to
 * end, with their measured durations. */
#ifndef RIDGE_IMPORT_NCU_NCU_H
#define RIDGE_IMPORT_NCU_NCU_H

#include "import/entities.h"
#include "import/import.h"

/* An instruction of a kernel. Zero: the whole kernel. */
struct ncu_place {
    uint32_t function, file; /* string ids; the file is METRIC_NO_FILE without line information */
    uint32_t offset, line;   /* the offset is that in the function */
};

struct ncu_metric {
    uint32_t name, unit; /* string ids */
    double value;
    struct ncu_place place;
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
/* A value of one instruction of the launch. */
bool ncu_instruction_number(struct ncu *ncu, struct text name, const struct ncu_place *place,
                            double value, struct status *status);
/* "(128, 1, 1)"; zeroes where it is not that. */
void ncu_dimensions(struct text text, uint32_t size[3]);

/* The metric behind a label of the details page; the label itself if it is not known. The unit
 * distinguishes labels that occur twice. */
struct text ncu_metric_of_label(struct text label, struct text unit);
/* The unit of a metric, by its name, in a report without units. */
struct text ncu_unit_of_metric(struct text name);

/* The modules of a report: functions with their load addresses, and line tables of their cubins. */
struct ncu_modules {
    struct ncu_module *list;
    size_t count, capacity;
};
/* Reads the message of a module. A later message of the same module adds functions. */
bool ncu_module_read(struct ncu_modules *modules, struct text message, struct trace_writer *writer,
                     struct status *status);
/* NULL when it is not in the report. */
struct ncu_module *ncu_module_find(const struct ncu_modules *modules, uint64_t id);
/* The instruction at a program counter. *place is zero when it is in no known function. */
bool ncu_module_place(struct ncu_module *module, uint64_t pc, struct trace_writer *writer,
                      struct ncu_place *place, struct status *status);
void ncu_modules_finish(struct ncu_modules *modules);

/* Writes the meta rows of every report, and releases. */
void ncu_write_meta(struct ncu *ncu, struct text tool);
void ncu_finish(struct ncu *ncu);

#endif
