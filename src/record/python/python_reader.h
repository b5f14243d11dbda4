/* Reads the Python stacks of another process's threads, from its memory, while it runs.
 *
 * Nothing is stopped, so what is read may be gone the next moment. Every pointer is checked before
 * it is believed: a frame must have a code object by its type, whose names are strings and whose
 * code contains the instruction, and the frames must end. Otherwise there is no stack.
 */
#ifndef RIDGE_RECORD_PYTHON_PYTHON_READER_H
#define RIDGE_RECORD_PYTHON_PYTHON_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "base/text.h"

enum { PYTHON_READ_FRAMES_MAX = 512 }; /* outer frames of a deeper stack are left out */

/* A code object. */
struct python_code {
    char *name, *path;
    int32_t first_line;
    uint32_t format; /* enum spool_line_format */
    uint8_t *table;
    uint32_t table_bytes;
};
void python_code_destroy(struct python_code *code); /* takes NULL */

struct python_frame {
    uint64_t address;
    uint32_t code;  /* index of the reader's codes */
    int32_t offset; /* of the instruction, in bytes */
    bool is_entry;  /* C code called it: the interpreter's loop begins here */
    bool is_collector;
};

struct python_reader;

struct python_reader *python_reader_create(struct status *status);
void python_reader_destroy(struct python_reader *reader); /* takes NULL */

/* Whether this process may read the memory of its children. */
bool python_reader_is_permitted(void);

enum python_read {
    PYTHON_READ,         /* the frames are filled in */
    PYTHON_READ_NONE,    /* the process or the thread runs no Python */
    PYTHON_READ_FAILED,  /* the frames changed while they were read */
    PYTHON_READ_REFUSED, /* the layout is not known, or reading is not permitted */
};
/* Innermost first. */
enum python_read python_reader_read(struct python_reader *reader, pid_t pid, pid_t tid,
                                    struct python_frame frames[PYTHON_READ_FRAMES_MAX],
                                    size_t *count);
/* Whether a process with Python was found. */
bool python_reader_has_python(const struct python_reader *reader);
/* Why a process's stacks are not read; NULL: no process is refused. */
const char *python_reader_reason(const struct python_reader *reader);

/* Hands over the code object of an index, once; NULL: it was taken. */
size_t python_reader_code_count(const struct python_reader *reader);
struct python_code *python_reader_take_code(struct python_reader *reader, size_t index);

#endif
