/* The parts of the JSON report that are written apart: what each device did, and what the host did.
 * Each function writes members into the object that is open. */
#ifndef RIDGE_REPORT_JSON_PARTS_H
#define RIDGE_REPORT_JSON_PARTS_H

#include "base/json_write.h"
#include "report/sections.h"
#include "report/wording.h"

/* "meta": all of the trace's notes, in their order; `ridge info` has the same member */
void json_report_meta(struct json *json, const struct trace *trace);
/* "devices" */
bool json_report_devices(struct json *json, const struct report *report, struct status *status);
/* "api", "syncs", "memory", "steps", "ranges", "samples", "processors" */
bool json_report_host(struct json *json, const struct report *report, struct status *status);
/* "verdict" */
void json_report_verdict(struct json *json, const struct report *report);

/* One object: the copies of a direction, or the memsets. */
void json_copy_group(struct json *json, const struct copy_group *group);

/* Times in reports count from the start of the run. */
static inline int64_t json_report_time(const struct report *report, int64_t time) {
    return time - report->model.first;
}
/* part / whole, null when there is no whole. */
static inline void json_member_ratio(struct json *json, const char *key, int64_t part,
                                     int64_t whole) {
    json_key(json, key);
    if (whole > 0)
        json_number(json, (double)part / (double)whole);
    else
        json_null(json);
}
static inline void json_member_mean(struct json *json, const char *key, int64_t sum,
                                    uint64_t count) {
    json_key(json, key);
    if (count)
        json_number(json, (double)sum / (double)count);
    else
        json_null(json);
}
/* null when it is the measure of nothing. */
static inline void json_member_measure(struct json *json, const char *key, int64_t value,
                                       uint64_t count) {
    json_key(json, key);
    if (count)
        json_integer(json, value);
    else
        json_null(json);
}

#endif
