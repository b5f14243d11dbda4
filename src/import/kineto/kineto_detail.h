/* An event's arguments as a string of the trace: the `detail` columns. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_DETAIL_H
#define RIDGE_IMPORT_KINETO_KINETO_DETAIL_H

#include "import/kineto/kineto_event.h"
#include "trace/writer.h"

enum { DETAIL_FACTS = 4096 };

/* Zeroed but for its writer. */
struct details {
    struct trace_writer *writer;
    struct buffer text;
    bool out_of_memory;  /* some detail is missing */
    struct detail_fact { /* a cache: replaced at will */
        uint64_t hash;
        uint32_t string;
    } facts[DETAIL_FACTS];
};

void details_finish(struct details *details);

/* An object of the event's arguments in these groups (enum event_detail_group); 0 when it has none.
 */
uint32_t details_chosen(struct details *details, const struct kineto_event *event, unsigned groups);
/* All arguments; 0 when there are none or they are damaged or very long. */
uint32_t details_whole(struct details *details, const struct kineto_event *event);

#endif
