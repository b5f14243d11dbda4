/* What a Kineto trace says outside its events: devices, ranks, the clock, tool versions. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_HEADER_H
#define RIDGE_IMPORT_KINETO_KINETO_HEADER_H

#include "import/kineto/kineto_rows.h"

/* A zeroed struct is empty but for its keywords. */
struct kineto_header {
    struct keywords members, device_members, rank_members;
    bool is_kineto; /* has a member that only Kineto writes */
    bool has_base;
    int64_t base;   /* nanoseconds of the Unix epoch at time 0 */
    unsigned notes; /* scalar members that became meta */
};

void header_init(struct kineto_header *header);

/* Reads the value at scan->at of the top-level member `key` and moves past it. */
bool header_read(struct kineto_header *header, struct kineto_rows *rows, struct text key,
                 struct status *status);

#endif
