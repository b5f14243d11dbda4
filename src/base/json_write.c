/* A JSON writer over an output. */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_string(struct json *json, const char *string) {
    output_write(json->output, string, strlen(string));
}

static void break_line(struct json *json) {
    static const char spaces[] = "\n                                                            ";
    if (json->pretty) {
        size_t indent = 1 + 2 * (size_t)json->depth;
        output_write(json->output, spaces, indent < sizeof spaces ? indent : sizeof spaces - 1);
    }
}

static void before_value(struct json *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    uint64_t bit = (uint64_t)1 << (json->depth & 63);
    if (json->filled & bit)
        write_string(json, ",");
    json->filled |= bit;
    break_line(json);
}

static void begin(struct json *json, const char *bracket) {
    before_value(json);
    write_string(json, bracket);
    json->depth++;
    json->filled &= ~((uint64_t)1 << (json->depth & 63));
}

static void end(struct json *json, const char *bracket) {
    bool any = json->filled >> (json->depth & 63) & 1;
    json->depth--;
    if (any)
        break_line(json);
    write_string(json, bracket);
    if (json->depth == 0 && json->pretty)
        write_string(json, "\n");
}

void json_begin_object(struct json *json) {
    begin(json, "{");
}
void json_end_object(struct json *json) {
    end(json, "}");
}
void json_begin_array(struct json *json) {
    begin(json, "[");
}
void json_end_array(struct json *json) {
    end(json, "]");
}

static void write_escape(struct json *json, uint32_t point) {
    char escape[8];
    if (point == '"' || point == '\\')
        snprintf(escape, sizeof escape, "\\%c", (char)point);
    else if (point == '\n')
        snprintf(escape, sizeof escape, "\\n");
    else if (point == '\t')
        snprintf(escape, sizeof escape, "\\t");
    else
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)point);
    write_string(json, escape);
}

static void write_escaped(struct json *json, struct text value) {
    struct text plain = {value.data, 0};
    write_string(json, "\"");
    while (value.length > 0) {
        uint32_t point;
        size_t length = text_decode(value, &point);
        bool escaped = length > 0 && (point == '"' || point == '\\' || text_is_control(point));
        if (length > 0 && !escaped) {
            plain.length += length;
        } else {
            output_write(json->output, plain.data, plain.length);
            if (escaped)
                write_escape(json, point);
            else
                write_string(json, "\xEF\xBF\xBD");
            length += length == 0;
            plain = (struct text){value.data + length, 0};
        }
        value.data += length;
        value.length -= length;
    }
    output_write(json->output, plain.data, plain.length);
    write_string(json, "\"");
}

void json_key_text(struct json *json, struct text key) {
    before_value(json);
    write_escaped(json, key);
    write_string(json, json->pretty ? ": " : ":");
    json->after_key = true;
}
void json_key(struct json *json, const char *key) {
    json_key_text(json, text_of(key));
}
void json_text(struct json *json, struct text value) {
    before_value(json);
    write_escaped(json, value);
}
void json_string(struct json *json, const char *value) {
    json_text(json, text_of(value));
}
void json_integer(struct json *json, int64_t value) {
    char digits[24];
    before_value(json);
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    write_string(json, digits);
}
void json_unsigned(struct json *json, uint64_t value) {
    char digits[24];
    before_value(json);
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    write_string(json, digits);
}
void json_number(struct json *json, double value) {
    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    before_value(json);
    /* The shortest representation that reads back as the same number. */
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double back = 0;
        if (sscanf(digits, "%lf", &back) == 1 && back == value)
            break;
    }
    write_string(json, digits);
}
void json_bool(struct json *json, bool value) {
    before_value(json);
    write_string(json, value ? "true" : "false");
}
void json_null(struct json *json) {
    before_value(json);
    write_string(json, "null");
}
void json_raw(struct json *json, struct text value) {
    before_value(json);
    output_write(json->output, value.data, value.length);
}

void json_member_text(struct json *json, const char *key, struct text value) {
    json_key(json, key);
    json_text(json, value);
}
void json_member_string(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    json_string(json, value);
}
void json_member_integer(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    json_integer(json, value);
}
void json_member_unsigned(struct json *json, const char *key, uint64_t value) {
    json_key(json, key);
    json_unsigned(json, value);
}
void json_member_number(struct json *json, const char *key, double value) {
    json_key(json, key);
    json_number(json, value);
}
void json_member_bool(struct json *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}
