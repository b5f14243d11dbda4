/* What the page of a job shares with its text: the sentences and the tables. */
#ifndef RIDGE_REPORT_JOB_SECTIONS_H
#define RIDGE_REPORT_JOB_SECTIONS_H

#include "base/json_write.h"
#include "report/job.h"

/* An array of {"part", "text"}; part is "head", "straggler", "gains", "finding" or "trust". */
void job_write_sentences(const struct job_report *report, struct json *json);
/* The tables of ranks and of collectives, as elements of an array. */
bool job_write_tables(const struct job_report *report, struct json *json, struct status *status);

#endif
