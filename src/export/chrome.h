/* A Chrome trace being written: chrome.c writes the document around the events, chrome_events.c the
 * events, chrome_own.c what Kineto has no place for, chrome_samples.c samples and their stacks. */
#ifndef RIDGE_EXPORT_CHROME_H
#define RIDGE_EXPORT_CHROME_H

#include "base/json_write.h"
#include "base/map.h"
#include "export/chrome_ids.h"
#include "export/export.h"

struct chrome {
    struct trace *trace;
    struct json json;
    struct chrome_ids ids;
    int64_t base;        /* time of ts 0 */
    struct map launched; /* correlation ids (of the file) that activities have: 1, and calls: 2 */
    struct buffer detail, text;
    struct status *status;
    bool failed;
};

enum { LAUNCH_OF_ACTIVITY = 1, LAUNCH_OF_CALL = 2 };

/* "ts": microseconds with three decimals. */
void chrome_time(struct chrome *chrome, const char *key, int64_t time);

/* The member "ridge": notes and entities with all their columns. */
void chrome_write_own(struct chrome *chrome);
/* The members "stackFrames" and "samples"; the table of samples is loaded. */
void chrome_write_samples(struct chrome *chrome);

/* All rows of one table of events; the table is loaded. */
void chrome_write_calls(struct chrome *chrome);
void chrome_write_activities(struct chrome *chrome);
void chrome_write_waits(struct chrome *chrome);
void chrome_write_ranges(struct chrome *chrome);
void chrome_write_marks(struct chrome *chrome);
void chrome_write_memory(struct chrome *chrome);
void chrome_write_counters(struct chrome *chrome);
void chrome_write_states(struct chrome *chrome);
/* Notes which launches have both ends, for the arrows. */
bool chrome_collect_launches(struct chrome *chrome);

#endif
