/* The name of a command has its arguments behind it: "gemm[SIMD32 {64; 1; 1} {256; 1; 1}]" has
 * groups and their size, "zeCommandListAppendMemoryCopy(D2M)[4096]" a direction between device (D)
 * and memory of the host (M), and bytes. */
#include "import/kineto/kineto_unitrace.h"

#include "import/kineto/kineto_rows.h"

bool unitrace_is_call(struct text name) {
    return name.length > 2 && (text_starts(name, "ze") || text_starts(name, "cl")) &&
           name.data[2] >= 'A' && name.data[2] <= 'Z';
}

/* The numbers in the text, up to `count`; returns how many there are. */
static unsigned read_numbers(struct text text, uint64_t *numbers, unsigned count) {
    unsigned found = 0;
    for (size_t i = 0; i < text.length && found < count;) {
        uint64_t value = 0;
        if (text.data[i] < '0' || text.data[i] > '9') {
            i++;
            continue;
        }
        for (; i < text.length && text.data[i] >= '0' && text.data[i] <= '9'; i++)
            value = value < UINT64_MAX / 10 ? value * 10 + (uint64_t)(text.data[i] - '0') : value;
        numbers[found++] = value;
    }
    return found;
}

/* Takes the last "[...]" off the name and returns what is in it. */
static struct text take_arguments(struct text *name) {
    if (name->length == 0 || name->data[name->length - 1] != ']')
        return TEXT("");
    for (size_t i = name->length - 1; i-- > 0;)
        if (name->data[i] == '[') {
            struct text arguments = {name->data + i + 1, name->length - i - 2};
            name->length = i;
            return arguments;
        }
    return TEXT("");
}

static void describe_kernel(struct text arguments, struct row_activity *row) {
    uint64_t sizes[6];
    ptrdiff_t brace = text_find(arguments, "{");
    row->bytes = BYTES_UNKNOWN;
    if (brace < 0 ||
        read_numbers((struct text){arguments.data + brace, arguments.length - (size_t)brace}, sizes,
                     6) != 6)
        return;
    for (unsigned i = 0; i < 6; i++)
        if (sizes[i] > UINT32_MAX)
            return;
    row->grid_x = (uint32_t)sizes[0], row->grid_y = (uint32_t)sizes[1];
    row->grid_z = (uint32_t)sizes[2];
    row->block_x = (uint32_t)sizes[3], row->block_y = (uint32_t)sizes[4];
    row->block_z = (uint32_t)sizes[5];
}

static enum copy_direction direction_of(struct text name) {
    return text_find(name, "(D2M)") >= 0 || text_find(name, "(D2H)") >= 0   ? COPY_DTOH
           : text_find(name, "(M2D)") >= 0 || text_find(name, "(H2D)") >= 0 ? COPY_HTOD
           : text_find(name, "(D2D)") >= 0                                  ? COPY_DTOD
           : text_find(name, "(M2M)") >= 0                                  ? COPY_HTOH
                                                                            : COPY_UNKNOWN;
}

void unitrace_add(struct kineto_rows *rows, const struct kineto_event *event) {
    struct text name = rows_text(rows, &event->name), arguments = take_arguments(&name);
    bool copies = text_find(name, "MemoryCopy") >= 0, fills = text_find(name, "MemoryFill") >= 0;
    struct row_activity row = {
        .start = event->start,
        .duration = event->duration,
        .queue = rows_queue(rows, event),
        .kind = copies  ? ACTIVITY_COPY
                : fills ? ACTIVITY_SET
                        : ACTIVITY_KERNEL,
        .name = trace_writer_string(rows->writer, name),
    };
    if (!copies && !fills) {
        describe_kernel(arguments, &row);
    } else if (read_numbers(arguments, &row.bytes, 1) == 0) {
        row.bytes = BYTES_UNKNOWN;
    }
    if (copies)
        row.direction = (uint8_t)direction_of(name);
    trace_write_activity(rows->writer, &row);
    rows->unitrace_events++;
}
