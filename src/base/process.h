/* Which program is this, and which of its threads? What a trace says of where it was recorded. */
#ifndef RIDGE_BASE_PROCESS_H
#define RIDGE_BASE_PROCESS_H

#include <stdint.h>

#include "base/text.h"

enum { PROCESS_NAME_SIZE = 256 };

/* The file that runs, without its folder; "" when it cannot be told, as with all of these. */
void process_name(char name[PROCESS_NAME_SIZE]);
void process_host(char name[PROCESS_NAME_SIZE]);
/* The command line, its words apart by spaces. */
void process_command(struct buffer *command);

/* A number that no other recording has. */
uint64_t process_session(void);
/* Nanoseconds from CLOCK_MONOTONIC to Unix time. */
int64_t process_clock_offset(void);

/* The calling thread, as debuggers and other profilers number it. */
int64_t process_thread_id(void);
void process_thread_name(char name[PROCESS_NAME_SIZE]);

#endif
