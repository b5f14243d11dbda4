/* Which part of the run is judged, and what is the verdict on it? */
#ifndef RIDGE_REPORT_JUDGE_H
#define RIDGE_REPORT_JUDGE_H

#include "report/report.h"

/* Fills report->verdict; everything else in the report is there already. A report about the whole
 * run is judged by its steady steps where it has steps: what comes before them, compiling, loading
 * and filling caches, happens once however long the run is. A part that the user chose is judged as
 * it is. */
bool judge(struct report *report, struct status *status);

#endif
