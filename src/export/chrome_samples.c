/* Samples where chrome://tracing looks for them: a tree of frames by id, callers first, and a list
 * of samples that name their innermost frame. */
#include <stdio.h>

#include "export/chrome.h"
#include "import/kineto/kineto_own.h"

static void member_id(struct json *json, const char *key, uint32_t id) {
    char digits[16];
    snprintf(digits, sizeof digits, "%u", id);
    json_member_string(json, key, digits);
}

static void write_stacks(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct json *json = &chrome->json;
    json_key(json, "stackFrames");
    json_begin_object(json);
    for (uint32_t id = 1; id < trace->stack.count; id++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%u", id);
        json_key(json, digits);
        json_begin_object(json);
        json_member_text(json, "category", trace_text(trace, trace->stack.module[id]));
        json_member_text(json, "name", trace_text(trace, trace->stack.function[id]));
        if (trace->stack.parent[id])
            member_id(json, "parent", trace->stack.parent[id]);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_list(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct json *json = &chrome->json;
    json_key(json, "samples");
    json_begin_array(json);
    for (size_t row = 0; row < trace->sample.count && !json->output->failed; row++) {
        uint32_t thread = trace->sample.thread[row];
        json_begin_object(json);
        json_member_integer(json, "cpu", 0);
        if (thread)
            json_member_unsigned(json, "pid", chrome->ids.pid[trace->thread.process[thread]]);
        else
            json_member_integer(json, "pid", OWN_NOWHERE);
        json_member_integer(json, "tid", trace->thread.tid[thread]);
        chrome_time(chrome, "ts", trace->sample.time[row]);
        json_member_string(json, "name", "sample");
        if (trace->sample.stack[row])
            member_id(json, "sf", trace->sample.stack[row]);
        json_member_integer(json, "weight", trace->sample.weight[row]);
        json_end_object(json);
        output_write(json->output, "\n", 1);
    }
    json_end_array(json);
}

void chrome_write_samples(struct chrome *chrome) {
    if (chrome->trace->sample.count == 0 && chrome->trace->stack.count <= 1)
        return;
    write_stacks(chrome);
    write_list(chrome);
}
