/* The member "ridge" of a Chrome trace that ridge exported: the notes and entities of the trace,
 * all columns of them, where Kineto has a place for some only.
 *
 *   "ridge": {"layout": 1,
 *             "meta": [{"key": "command", "value": "python train.py"}, ...],
 *             "process": [{"pid": 71, "name": "python"}, ...],
 *             "device": [{"at_pid": 0, "index": 0, "label": "0", ...}, ...],
 *             "thread": [{"at_pid": 71, "at_tid": 71, "process": 1, "tid": 71}, ...],
 *             "queue": [{"at_pid": 0, "at_tid": 7, "device": 1, "stream": 7, ...}, ...]}
 *
 * Columns have their names of the schema; those that are zero or empty are left out. A column that
 * leads to another entity holds the position of its row in the list, counted from 1. at_pid and
 * at_tid are what stands for the entity in events: the pid and tid of a thread, args.device and
 * args.stream of a queue. It is the first member of the file. Arguments of events that begin with
 * "ridge" belong to the same agreement; export/chrome_events.c has them.
 */
#ifndef RIDGE_IMPORT_KINETO_KINETO_OWN_H
#define RIDGE_IMPORT_KINETO_KINETO_OWN_H

#include "import/kineto/kineto_rows.h"

#define OWN_MEMBER "ridge"
#define OWN_LAYOUT "layout"
#define OWN_PID "at_pid"
#define OWN_TID "at_tid"
enum { OWN_LAYOUT_VERSION = 1 };
/* The pid of what happened in no thread, on no queue and no device. */
#define OWN_NOWHERE ((int64_t)-1)

/* Reads the object at scan->at and moves past it. */
bool own_read(struct kineto_rows *rows, struct status *status);

/* Makes a row of an event in such a file; false: it is of a kind that ridge does not write. */
bool own_add(struct kineto_rows *rows, const struct kineto_event *event);

#endif
