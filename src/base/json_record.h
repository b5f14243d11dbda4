/* Small JSON values as flat records, and walks over large containers.
 *
 * A file of many records is walked member by member and element by element; each record is read as
 * a whole, and its values are found by their paths:
 *
 *   {"id": {"handle": 7}, "command": ["a", "b"]}
 *
 *   json_record_read(scan, &record, status);
 *   json_record_integer(&record, "id.handle", 0);   // 7
 *   json_record_text(&record, "command.1");         // b
 */
#ifndef RIDGE_BASE_JSON_RECORD_H
#define RIDGE_BASE_JSON_RECORD_H

#include "base/json_read.h"

/* Reads what is at scan->at: the value of member `key`, or an element (key is ""). */
typedef bool json_visitor(void *context, struct scan *scan, struct text key, struct status *status);

/* Calls `visit` for each member of the object, or element of the list, at scan->at; a value of
 * another type is skipped. */
bool json_members(struct scan *scan, json_visitor *visit, void *context, struct status *status);
bool json_elements(struct scan *scan, json_visitor *visit, void *context, struct status *status);

/* A zeroed record is empty. Values nested deeper than JSON_RECORD_DEPTH are left out. */
struct json_record {
    struct json_member {
        size_t path, path_length, value, value_length; /* in `text` */
    } * members;
    size_t count, capacity;
    struct buffer text;
};
enum { JSON_RECORD_DEPTH = 16 };

/* Replaces the record by the value at scan->at, which must fit into the window. The path of a value
 * that is neither an object nor a list is "". */
bool json_record_read(struct scan *scan, struct json_record *record, struct status *status);
void json_record_finish(struct json_record *record);

/* The value at a path: a decoded string, or the text of a number or word; "" when absent. */
struct text json_record_text(const struct json_record *record, const char *path);
bool json_record_has(const struct json_record *record, const char *path);
/* Its integer; unsigned values from 2^63 on keep their bits. */
int64_t json_record_integer(const struct json_record *record, const char *path, int64_t fallback);
/* A number from 0 to 2^32 - 1; 0 for any other. */
uint32_t json_record_u32(const struct json_record *record, const char *path);
double json_record_double(const struct json_record *record, const char *path, double fallback);

#endif
