/* The process and thread that a trace was recorded in. */
#ifndef RIDGE_BASE_PROCESS_H
#define RIDGE_BASE_PROCESS_H

#include <stdint.h>

#include "base/text.h"

enum { PROCESS_NAME_SIZE = 256 };

/* The name of the executable, without its directory; "" if unknown, as for all of these. */
void process_name(char name[PROCESS_NAME_SIZE]);
/* The path of the executable. */
enum { PROCESS_PATH_SIZE = 4096 };
void process_path(char path[PROCESS_PATH_SIZE]);
void process_host(char name[PROCESS_NAME_SIZE]);
/* The command line, with words separated by spaces. */
void process_command(struct buffer *command);

/* A unique number for a recording. */
uint64_t process_session(void);
/* Nanoseconds from CLOCK_MONOTONIC to Unix time. */
int64_t process_clock_offset(void);

/* The calling thread's tid, as used by debuggers and other profilers. */
int64_t process_thread_id(void);
void process_thread_name(char name[PROCESS_NAME_SIZE]);

#endif
