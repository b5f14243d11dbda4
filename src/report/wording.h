/* Names and sentences that all formats of the report share. */
#ifndef RIDGE_REPORT_WORDING_H
#define RIDGE_REPORT_WORDING_H

#include "base/format.h"
#include "report/report.h"

/* part / whole; 0 when there is no whole. */
static inline double wording_share(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* What the launching thread did during idle time of this cause; and the cause in a word or two. */
const char *wording_cause(unsigned cause);
const char *wording_cause_short(unsigned cause);

/* A state of the launching thread: "running", "ready, no core". */
const char *wording_state(unsigned state);

/* Theoretical occupancy and what limits it: "62.5%, registers"; "-" when it is not known. */
enum { WORDING_OCCUPANCY_SIZE = 40 };
char *wording_occupancy(const struct kernel_occupancy *occupancy,
                        char text[WORDING_OCCUPANCY_SIZE]);

/* What a blocked thread waits for: "lock", "pipe or socket". */
const char *wording_blocked_on(unsigned blocked_on);

/* A driver's synchronization record as Kineto names it: "Stream Wait Event". */
const char *wording_wait_kind(unsigned kind);

/* A figure of the hardware counters and its target: "1.86", ">2.0"; "-" when it was not counted. */
char *wording_figure(const struct process_counters *process, enum counter_figure figure,
                     char text[FORMAT_SIZE]);
char *wording_figure_target(enum counter_figure figure, char text[FORMAT_SIZE]);
/* Whose counters these are: "all processes", "4711 python". */
void wording_counted(const struct process_counters *process, struct buffer *text);
/* Gaps much of one length: at least three, whose coefficient of variation is below a half. */
bool wording_gaps_regular(const struct gaps *gaps);

/* Appends "GPU 0 (NVIDIA H100)" for devices[i]. */
void wording_device(const struct report *report, size_t i, struct buffer *name);

/* When the run began, "2023-09-27 17:25:35 UTC"; false if unknown. */
enum { WORDING_DATE_SIZE = 40 };
bool wording_date(const struct report *report, char date[WORDING_DATE_SIZE]);

/* The part of the run that the report is about: "the whole run", "the range forward". */
void wording_selection(const struct report *report, struct buffer *text);

/* The next sentence about how far the figures can be believed; start with *cursor = 0. False when
 * there are no more. The note is replaced; texts from the trace in it are as they are there. */
bool wording_quality_note(const struct data_quality *quality, size_t *cursor, struct buffer *note);

#endif
