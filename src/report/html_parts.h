/* The parts of the page's data: which rows it holds (html_merge.c), their names (html_names.c), and
 * the tables of columns (html_data.c), which web/data.js decodes. */
#ifndef RIDGE_REPORT_HTML_PARTS_H
#define RIDGE_REPORT_HTML_PARTS_H

#include "report/html_stream.h"
#include "report/report.h"

/* The rows of an event table that the page holds, in the table's order. Where `rows` is NULL, all
 * of them as they are. A row that stands for several has the time from the first one's start to the
 * last one's end. */
struct page_rows {
    size_t count;
    uint32_t *rows;    /* of the trace's table */
    int64_t *duration; /* by place among `rows` */
    uint32_t *merged;  /* by place: how many it stands for, 0: for itself */
    uint32_t *place;   /* by row of the trace's table: where it is in the page */
};

struct page_events {
    struct page_rows activities, calls, ranges;
    uint64_t merged_events; /* that are in the page as a part of something merged only */
    int64_t shorter;        /* what is shorter than this may have been merged; 0: nothing was */
};

/* All events, as long as there are no more than `most`; else those shorter than some length are
 * merged with their neighbors, so that no more are left where that can be. With more than
 * PAGE_EVENTS_MAX a page would not open in reasonable time. */
enum { PAGE_EVENTS_MAX = 3000000 };
bool page_events_choose(struct page_events *events, const struct report *report, size_t most,
                        struct status *status);
void page_events_finish(struct page_events *events);

/* The strings that the page's events refer to, numbered as they come. */
struct page_names {
    uint32_t *number;                        /* by string id: the page's number, or 0 */
    uint32_t *strings;                       /* by the page's number: the string id */
    unsigned char *kernel;                   /* by the page's number: 1 = it is a kernel's name */
    size_t count, capacity, kernel_capacity; /* number 0 is the empty string */
};
bool page_names_find(struct page_names *names, const struct report *report,
                     const struct page_events *events, struct status *status);
void page_names_finish(struct page_names *names);

/* How many rows of each table the page has, for the header. */
struct page_counts {
    size_t activities, calls, ranges, gaps, stacks, samples, counters, memory, states, steps;
};

/* The data's JSON header: names, entities, counts. `origin` is the run's start, counted from time 0
 * of the page's columns. */
bool page_write_header(struct page_stream *stream, const struct report *report,
                       const struct page_names *names, const struct page_events *events,
                       const struct page_counts *counts, int64_t origin, struct status *status);

/* All of a trace's data; *events says what was merged. */
bool page_write_data(struct page_stream *stream, const struct report *report,
                     struct page_events *events, struct status *status);

#endif
