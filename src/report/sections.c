/* All parts of the report, in the order in which they are printed. */
#include "report/sections.h"

struct value report_device_label(const void *source, const void *row, struct buffer *words) {
    const struct report_source *of = source;
    (void)row, (void)words;
    return value_text(model_device_key(&of->report->model, of->device->id));
}

struct value report_device_name(const void *source, const void *row, struct buffer *words) {
    const struct report_source *of = source;
    (void)row, (void)words;
    return report_text(of, of->report->model.trace->device.name[of->device->id]);
}

const struct report_part report_parts[] = {
    {"findings", "each finding: evidence, error bound, fixes", false, NULL, {NULL}},
    {"account",
     "metrics, and busy, exposed communication, exposed copy and idle time",
     true,
     &section_metrics,
     {&section_metrics}},
    {"timeline", "the device's timeline", true, NULL, {NULL}},
    {"gaps",
     "idle time by cause and by host code",
     true,
     &section_gaps,
     {&section_gaps, &section_thread_states, &section_host_code, &section_longest_gaps}},
    {"kernels", "kernels by time", true, &section_kernels, {&section_kernels}},
    {"limits", "kernels against the device's limits", true, NULL, {&section_limits}},
    {"launches", "launch calls and queue depth", true, NULL, {&section_launches}},
    {"layers", "the kernels that a step repeats", true, &section_layers, {&section_layers}},
    {"copies", "copies by direction", true, &section_copies, {&section_copies}},
    {"steps", "step times", false, NULL, {&section_steps}},
    {"ranges",
     "annotations, operators and other ranges",
     false,
     &section_ranges,
     {&section_annotations, &section_operators, &section_python_ranges, &section_other_ranges}},
    {"sync", "synchronizing calls", false, &section_syncs, {&section_syncs}},
    {"calls",
     "API calls by class and name",
     false,
     &section_calls,
     {&section_call_classes, &section_calls}},
    {"lines",
     "the program's lines, by device, idle and CPU time",
     false,
     &section_lines,
     {&section_called_lines, &section_cpu_lines}},
    {"operators",
     "operators on the CPU by time",
     false,
     &section_cpu_operators,
     {&section_cpu_operators}},
    {"memory",
     "memory in use",
     false,
     &section_memory,
     {&section_memory, &section_memory_lines, &section_resident, &section_heap}},
    {"cpu",
     "CPU account: threads, waits, parallelism",
     false,
     &section_cpu_threads,
     {&section_cpu_processes, &section_cpu_threads, &section_cpu_waits, &section_cpu_parallelism}},
    {"samples",
     "CPU samples by function",
     false,
     &section_samples,
     {&section_python, &section_samples}},
    {"counters",
     "hardware counters of processes and of kernels",
     false,
     &section_counters,
     {&section_counters, &section_kernel_use, &section_kernel_access, &section_kernel_lines}},
    {"trust", "what was lost or is unknown", false, NULL, {NULL}},
    {0},
};
