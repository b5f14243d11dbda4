/* Records a program with Apple's xctrace into a .trace bundle.
 *
 * xctrace launches programs through a service of its own: with another environment and folder,
 * without their streams, and without telling their exit status. So it launches `ridge launch`,
 * which gets all of that from the recorder and then becomes the program. xctrace is the only tool
 * that reads the bundle; import/xctrace imports it.
 */
#ifndef RIDGE_RECORD_XCTRACE_RECORD_H
#define RIDGE_RECORD_XCTRACE_RECORD_H

#include "record/record.h"
#include "record/trace_file.h"

struct xctrace_record {
    char folder[1024];       /* private and temporary; "" before and after */
    char bundle[4096];       /* where xctrace wrote; "" when there is no bundle */
    struct record_file file; /* the .ridge file, still empty */
    bool launched;           /* the program runs or has run */
    /* Called when a long part of the work begins after the program has ended; may be NULL. */
    void (*progress)(void *context, const char *what);
    void *progress_context;
};

/* Runs the program, or attaches to options->attach, and waits until xctrace has saved the bundle.
 * Fails as record_program() does. The program's exit status is not known here: it is in the table
 * of contents of the bundle. Call xctrace_record_finish() in any case. */
bool xctrace_record(struct xctrace_record *record, const struct record_options *options,
                    struct record_summary *summary, struct status *status);
/* Moves the bundle to `path`. */
bool xctrace_record_keep(struct xctrace_record *record, const char *path, struct status *status);
/* Removes the bundle and all temporary files. */
void xctrace_record_finish(struct xctrace_record *record);

/* Turns what xctrace printed into one line: what was refused, and what to do. */
void xctrace_explain(const char *printed, const char *program, int exit_status,
                     struct status *status);

#endif
