/* The JSON writer. It handles commas, nesting and escapes; the caller is responsible for the order
 * of calls:
 *
 *   json_begin_object(&json);
 *   json_key(&json, "count");  json_integer(&json, 3);
 *   json_end_object(&json);
 *
 * Invalid UTF-8 is written as U+FFFD. Control characters (text_is_control()) are escaped. A
 * non-finite number becomes null.
 */
#ifndef RIDGE_BASE_JSON_WRITE_H
#define RIDGE_BASE_JSON_WRITE_H

#include <stdint.h>

#include "base/output.h"
#include "base/text.h"

struct json {
    struct output *output;
    bool pretty;     /* one member per line, two spaces per level */
    unsigned depth;  /* at most 64 */
    uint64_t filled; /* bit per level: it has a member */
    bool after_key;
};

void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);
void json_key(struct json *json, const char *key);
void json_key_text(struct json *json, struct text key);
void json_text(struct json *json, struct text value);
void json_string(struct json *json, const char *value);
void json_integer(struct json *json, int64_t value);
void json_unsigned(struct json *json, uint64_t value);
void json_number(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* Text that is already JSON. */
void json_raw(struct json *json, struct text value);

/* key and value in one call */
void json_member_text(struct json *json, const char *key, struct text value);
void json_member_string(struct json *json, const char *key, const char *value);
void json_member_integer(struct json *json, const char *key, int64_t value);
void json_member_unsigned(struct json *json, const char *key, uint64_t value);
void json_member_number(struct json *json, const char *key, double value);
void json_member_bool(struct json *json, const char *key, bool value);

#endif
