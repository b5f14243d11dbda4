/* How near are the kernels to what their device can do? Words and cells for the text and Markdown
 * reports, members for JSON and fields for CSV.
 */
#ifndef RIDGE_REPORT_LIMITS_H
#define RIDGE_REPORT_LIMITS_H

#include "base/json_write.h"
#include "base/table.h"
#include "report/report.h"

/* Whether the bytes or operations of any of these kernels are known. */
bool limits_known(const struct kernel_limits *limits);

/* Appends the device's roofs by where they come from: "measured: memory 4.211 TB/s, f32 64.92
 * TFLOP/s; stated by its driver: ..."; nothing when none is known. */
void limits_roofs(const struct limits *limits, struct buffer *words);
/* Appends how much of the kernel time is known and how near to the roof it is. */
void limits_summary(const struct kernels *kernels, const struct limits *limits,
                    struct buffer *words);

/* "limits": every limit of a device that is known, with its source. */
void limits_of_device(struct json *json, const struct limits *limits);

/* "measured", "published", "seen". */
const char *limit_source_name(unsigned source);

#endif
