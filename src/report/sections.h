/* The report's tables, each described once; text.c, markdown.c, json*.c and csv.c walk them. */
#ifndef RIDGE_REPORT_SECTIONS_H
#define RIDGE_REPORT_SECTIONS_H

#include "base/section.h"
#include "report/report.h"

/* What a section is about: the whole report, or one of its devices. */
struct report_source {
    const struct report *report;
    const struct report_device *device; /* NULL for sections of the host */
};

/* Of a device. */
extern const struct section section_account, section_metrics, section_gaps, section_longest_gaps,
    section_host_code, section_thread_states, section_kernels, section_kernel_variants,
    section_limits, section_launches, section_layers, section_copies;
/* Of the host. */
extern const struct section section_steps, section_ranges, section_annotations, section_operators,
    section_python_ranges, section_other_ranges, section_lines, section_called_lines,
    section_cpu_lines, section_syncs, section_call_classes, section_calls, section_memory,
    section_python, section_samples, section_counters, section_cpu_processes, section_cpu_threads,
    section_cpu_waits, section_cpu_parallelism, section_heap, section_resident,
    section_cpu_operators, section_kernel_use, section_kernel_access, section_kernel_counters,
    section_kernel_lines, section_memory_lines;

/* A part of the report as --section names it: one table or several that belong together. */
struct report_part {
    const char *name;
    const char *what; /* in a few words, for the list of parts */
    bool per_device;
    const struct section *data;        /* what CSV has of it; NULL: nothing */
    const struct section *sections[5]; /* NULL ends them; none: a part that text.c writes itself */
};
extern const struct report_part report_parts[]; /* in order; a NULL name ends them */

/* The device that a section is about, for tables that hold several: its label and its name. */
struct value report_device_label(const void *source, const void *row, struct buffer *words);
struct value report_device_name(const void *source, const void *row, struct buffer *words);
#define REPORT_DEVICE_COLUMNS                                                                      \
    {"device", NULL, UNIT_TEXT, COLUMN_CSV, report_device_label}, {                                \
        "device_name", NULL, UNIT_TEXT, COLUMN_CSV, report_device_name                             \
    }

#define REPORT_VALUE(name, type, ...) SECTION_VALUE(name, struct report_source, type, __VA_ARGS__)

static inline struct value report_text(const struct report_source *of, uint32_t id) {
    return value_text(trace_text(of->report->model.trace, id));
}

#endif
