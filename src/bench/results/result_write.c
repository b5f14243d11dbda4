/* A set of results as one JSON document: everything that was measured but the spans, which are in
 * the trace. docs/bench-json.md describes it. */
#include "bench/results/result_members.h"

#include <ridge.h>

static void write_doubles(struct json *json, const double *values, size_t count) {
    bool pretty = json->pretty;
    json->pretty = false; /* a hundred samples are one line */
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, values[i]);
    json_end_array(json);
    json->pretty = pretty;
}

static void write_integers(struct json *json, const int64_t *values, size_t count) {
    bool pretty = json->pretty;
    while (count > 0 && values[count - 1] == 0)
        count--;
    json->pretty = false;
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        json_integer(json, values[i]);
    json_end_array(json);
    json->pretty = pretty;
}

static void write_members(struct json *json, const struct member *members, const char *base);

static void write_value(struct json *json, const struct member *member, const char *base) {
    const void *at = base + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT:
        json_string(json, at);
        break;
    case MEMBER_BOOL:
        json_bool(json, *(const bool *)at);
        break;
    case MEMBER_SIGNED:
        json_integer(json, *(const int64_t *)at);
        break;
    case MEMBER_UNSIGNED:
        json_unsigned(json, *(const uint64_t *)at);
        break;
    case MEMBER_COUNT:
        json_unsigned(json, *(const unsigned *)at);
        break;
    case MEMBER_DOUBLE:
        json_number(json, *(const double *)at);
        break;
    case MEMBER_DTYPE:
        json_string(json, ridge_dtype_name(*(const enum ridge_dtype *)at));
        break;
    case MEMBER_ROOF:
        json_string(json, result_roof_word(*(const enum roof_id *)at));
        break;
    case MEMBER_LIMIT:
        json_string(json, limit_kind_name(*(const enum limit_kind *)at));
        break;
    case MEMBER_INTEGERS:
        write_integers(json, at, member->size);
        break;
    case MEMBER_DOUBLES:
        write_doubles(json, at, *(const unsigned *)(const void *)(base + member->count));
        break;
    case MEMBER_OBJECT:
    case MEMBER_IF:
        json_begin_object(json);
        write_members(json, member->members, at);
        json_end_object(json);
        break;
    }
}

static void write_members(struct json *json, const struct member *members, const char *base) {
    for (; members->key; members++) {
        if (members->kind == MEMBER_IF && !*(const bool *)(base + members->count))
            continue;
        json_key(json, members->key);
        write_value(json, members, base);
    }
}

static void write_findings(struct json *json, const struct result_set *set) {
    json_key(json, "findings");
    json_begin_array(json);
    for (size_t i = 0; i < set->finding_count; i++) {
        json_begin_object(json);
        write_members(json, finding_members, (const char *)&set->findings[i]);
        json_member_string(json, "text", set->findings[i].text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_results(struct json *json, const struct result_set *set) {
    json_key(json, "results");
    json_begin_array(json);
    for (size_t i = 0; i < set->count; i++) {
        json_begin_object(json);
        write_members(json, result_members, (const char *)&set->results[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

void result_set_write(const struct result_set *set, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    json_member_string(&json, "schema", BENCH_SCHEMA);
    json_member_integer(&json, "version", BENCH_FORMAT_VERSION);
    json_member_string(&json, "ridge", *set->ridge ? set->ridge : RIDGE_VERSION);
    json_member_string(&json, "machine", set->machine);
    json_member_string(&json, "peer", set->peer);
    json_member_integer(&json, "started_at", set->started_at);
    json_key(&json, "reference_ns");
    write_doubles(&json, set->reference, set->reference_count);
    json_key(&json, "roofs");
    json_begin_array(&json);
    for (size_t i = 0; i < set->roofs_count; i++)
        roofs_write_json(&set->roofs[i], &json);
    json_end_array(&json);
    write_results(&json, set);
    write_findings(&json, set);
    json_end_object(&json);
}
