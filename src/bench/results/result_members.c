/* The tables of members. A name that ends in _ns is a time in nanoseconds. */
#include "bench/results/result_members.h"

#include <stddef.h>

#define AT(kind, type, field, name)                                                                \
    { name, MEMBER_##kind, offsetof(struct type, field), 0, 0, NULL }
#define TEXT_AT(type, field)                                                                       \
    { #field, MEMBER_TEXT, offsetof(struct type, field), sizeof((struct type *)0)->field, 0, NULL }
#define ARRAY_AT(type, field, in_use, name)                                                        \
    {                                                                                              \
        name, MEMBER_DOUBLES, offsetof(struct type, field),                                        \
            sizeof((struct type *)0)->field / sizeof(double), offsetof(struct type, in_use), NULL  \
    }
#define OBJECT_AT(type, field, table)                                                              \
    { #field, MEMBER_OBJECT, offsetof(struct type, field), 0, 0, table }
#define END                                                                                        \
    { NULL, MEMBER_TEXT, 0, 0, 0, NULL }

static const struct member amount_members[] = {
    AT(UNSIGNED, amount, bytes, "bytes"),
    AT(UNSIGNED, amount, moved_bytes, "moved_bytes"),
    AT(UNSIGNED, amount, touched, "touched_bytes"),
    AT(UNSIGNED, amount, flops, "flops"),
    AT(ROOF, amount, arithmetic, "arithmetic"),
    AT(UNSIGNED, amount, trigonometry, "trigonometry"),
    AT(UNSIGNED, amount, exponentials, "exponentials"),
    AT(COUNT, amount, kernels, "kernels"),
    AT(COUNT, amount, replays, "replays"),
    AT(COUNT, amount, graph_kernels, "graph_kernels"),
    AT(UNSIGNED, amount, transfer_bytes, "transfer_bytes"),
    AT(COUNT, amount, transfer_count, "transfer_count"),
    AT(BOOL, amount, transfer_to_device, "transfer_to_device"),
    AT(BOOL, amount, transfer_pinned, "transfer_pinned"),
    END,
};

static const struct member limit_members[] = {
    AT(LIMIT, limit, kind, "kind"),
    AT(ROOF, limit, roof, "roof"),
    AT(DOUBLE, limit, ns, "ns"),
    AT(DOUBLE, limit, memory_ns, "memory_ns"),
    AT(DOUBLE, limit, arithmetic_ns, "arithmetic_ns"),
    AT(DOUBLE, limit, launch_ns, "launch_ns"),
    AT(DOUBLE, limit, transfer_ns, "transfer_ns"),
    END,
};

static const struct member measurement_members[] = {
    AT(DOUBLE, measurement, time.median, "median_ns"),
    AT(DOUBLE, measurement, time.low, "low_ns"),
    AT(DOUBLE, measurement, time.high, "high_ns"),
    AT(DOUBLE, measurement, time.quartile_low, "quartile_low_ns"),
    AT(DOUBLE, measurement, time.quartile_high, "quartile_high_ns"),
    AT(DOUBLE, measurement, time.fastest, "fastest_ns"),
    AT(COUNT, measurement, calls, "calls"),
    AT(COUNT, measurement, warm_up_calls, "warm_up_calls"),
    AT(BOOL, measurement, steady, "steady"),
    AT(COUNT, measurement, thinned, "thinned"),
    AT(DOUBLE, measurement, pace, "pace_ns"),
    AT(DOUBLE, measurement, width, "width_ns"),
    AT(DOUBLE, measurement, own_ns, "own_ns"),
    ARRAY_AT(measurement, samples, sample_count, "samples_ns"),
    END,
};

const struct member result_members[] = {
    TEXT_AT(result, experiment),
    TEXT_AT(result, device),
    TEXT_AT(result, label),
    TEXT_AT(result, variant),
    AT(DTYPE, result, dtype, "dtype"),
    AT(SIGNED, result, size, "size"),
    AT(SIGNED, result, batch, "batch"),
    {"numbers", MEMBER_INTEGERS, offsetof(struct result, numbers), CASE_NUMBERS_MAX, 0, NULL},
    AT(BOOL, result, compare, "compare"),
    AT(BOOL, result, curve, "curve"),
    OBJECT_AT(result, amount, amount_members),
    OBJECT_AT(result, limit, limit_members),
    OBJECT_AT(result, time, measurement_members),
    ARRAY_AT(result, round_medians, round_count, "round_medians_ns"),
    ARRAY_AT(result, round_fastest, round_count, "round_fastest_ns"),
    ARRAY_AT(result, round_pace, round_count, "round_pace_ns"),
    ARRAY_AT(result, round_width, round_count, "round_width_ns"),
    ARRAY_AT(result, round_disturbed, round_count, "round_disturbed"),
    AT(DOUBLE, result, device_ns, "device_ns"),
    AT(DOUBLE, result, kernels, "kernels"),
    AT(BOOL, result, checked, "checked"),
    AT(BOOL, result, wrong, "wrong"),
    AT(DOUBLE, result, error, "error"),
    TEXT_AT(result, problem),
    TEXT_AT(result, notes),
    {"peer", MEMBER_IF, offsetof(struct result, peer), 0, offsetof(struct result, has_peer),
     measurement_members},
    END,
};

const struct member finding_members[] = {
    TEXT_AT(result_finding, experiment),
    TEXT_AT(result_finding, device),
    TEXT_AT(result_finding, key),
    AT(DOUBLE, result_finding, value, "value"),
    END,
};

const char *result_roof_word(unsigned roof) {
    return roof < ROOF_COUNT ? roof_infos[roof].key : "none";
}

void result_copy_text(char *to, size_t capacity, struct text from) {
    size_t length = from.length;
    if (length >= capacity) {
        length = capacity - 1;
        while (length > 0 && ((unsigned char)from.data[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(to, from.data, length);
    to[length] = '\0';
}
