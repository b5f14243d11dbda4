/* Running processes and threads of the same user: /proc on Linux, libproc on macOS. Both need no
 * privilege.
 */
#ifndef RIDGE_RECORD_PROCESS_FACTS_H
#define RIDGE_RECORD_PROCESS_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/job_place.h"
#include "base/status.h"

/* The name of the executable, zero-terminated. Returns its length; 0 when the process has ended. */
size_t process_facts_name(int64_t pid, char *name, size_t capacity);
/* Resident memory in bytes; 0 when the process has ended. */
int64_t process_facts_resident(int64_t pid);
/* The words of the command line, each zero-terminated, or the name of a process that has none.
 * Returns their length without the last zero. */
size_t process_facts_command(int64_t pid, char *words, size_t capacity);
/* From the environment it was started with; unknown on macOS. */
struct job_place process_facts_place(int64_t pid);
/* True for a zombie as well. */
bool process_facts_has_ended(int64_t pid);
/* Whether this is still the process that started at `started`, and launchd has adopted it because
 * its parent has ended. Never on Linux, where the recorder adopts all descendants. */
bool process_facts_is_orphan(int64_t pid, int64_t started);
int64_t process_facts_started(int64_t pid); /* in microseconds of Unix time; 0: unknown */

/* Calls `visit` for each child, or thread. False when a visit fails. */
typedef bool process_facts_visit(void *context, int64_t id, struct status *status);
bool process_facts_children(int64_t pid, process_facts_visit *visit, void *context,
                            struct status *status);
bool process_facts_threads(int64_t pid, process_facts_visit *visit, void *context,
                           struct status *status);

#endif
