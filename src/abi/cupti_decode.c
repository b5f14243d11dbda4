/* One function per kind of record. Fields that older versions lack are read by version. */
#include "abi/cupti_decode.h"

#include "abi/cupti.h"

/* CUDA 12.9, in which overhead records are longer. */
enum { LONGER_RECORDS = 28 };

static uint32_t count_of(int32_t number) {
    return number > 0 ? (uint32_t)number : 0;
}

static void decode_kernel(const struct cupti_kernel_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_KERNEL;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->device = raw->device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->name = raw->name;
    for (unsigned i = 0; i < 3; i++) {
        record->grid[i] = count_of(raw->grid[i]);
        record->block[i] = count_of(raw->block[i]);
        record->cluster[i] = raw->cluster[i];
    }
    record->registers = raw->registers;
    record->shared_static = count_of(raw->shared_static);
    record->shared_dynamic = count_of(raw->shared_dynamic);
    record->local_per_thread = raw->local_per_thread;
    record->graph = raw->graph;
    record->graph_node = raw->graph_node;
}

static void decode_copy(const struct cupti_copy_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_COPY;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->device = record->from_device = record->to_device = raw->device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->graph = raw->graph;
    record->graph_node = raw->graph_node;
    record->bytes = raw->bytes;
    record->direction = raw->direction;
    record->from_memory = raw->from_memory;
    record->to_memory = raw->to_memory;
}

static void decode_peer_copy(const struct cupti_peer_copy_record *raw,
                             struct cupti_record *record) {
    record->kind = CUPTI_RECORD_COPY;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->device = raw->device;
    record->from_device = raw->from_device;
    record->to_device = raw->to_device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->graph = raw->graph;
    record->graph_node = raw->graph_node;
    record->bytes = raw->bytes;
    record->direction = raw->direction;
    record->from_memory = raw->from_memory;
    record->to_memory = raw->to_memory;
}

static void decode_set(const struct cupti_set_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_SET;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->device = raw->device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->graph = raw->graph;
    record->graph_node = raw->graph_node;
    record->bytes = raw->bytes;
    record->to_memory = (uint8_t)raw->memory;
}

static void decode_call(const struct cupti_call_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_CALL;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->process = raw->process;
    record->thread = raw->thread;
    record->runtime = raw->kind == CUPTI_KIND_RUNTIME_CALL;
    record->function = raw->function;
    record->result = raw->result;
}

static void decode_external(const struct cupti_external_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_EXTERNAL;
    record->correlation = raw->correlation;
    record->type = raw->external_kind;
    record->external = raw->external;
}

static void decode_memory(const struct cupti_memory_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_MEMORY;
    record->start = record->end = raw->time;
    record->correlation = raw->correlation;
    record->device = raw->device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->process = raw->process;
    record->name = raw->name;
    record->bytes = raw->bytes;
    record->to_memory = (uint8_t)raw->memory;
    record->type = raw->operation;
    record->address = raw->address;
    record->asynchronous = raw->asynchronous != 0;
}

static void decode_overhead(uint32_t version, const struct cupti_overhead_record *raw,
                            struct cupti_record *record) {
    record->kind = CUPTI_RECORD_OVERHEAD;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = version >= LONGER_RECORDS ? raw->correlation : 0;
    record->process = raw->process;
    record->thread = raw->thread;
    record->type = raw->overhead;
}

static void decode_graph(const struct cupti_graph_record *raw, struct cupti_record *record) {
    record->kind = CUPTI_RECORD_GRAPH;
    record->start = raw->start;
    record->end = raw->end;
    record->correlation = raw->correlation;
    record->device = raw->device;
    record->context = raw->context;
    record->stream = raw->stream;
    record->graph = raw->graph;
}

bool cupti_decode(uint32_t version, const void *raw, struct cupti_record *record) {
    *record = (struct cupti_record){0};
    switch (*(const cupti_choice *)raw) {
    case CUPTI_KIND_KERNEL:
    case CUPTI_KIND_SERIAL_KERNEL:
        decode_kernel(raw, record);
        return true;
    case CUPTI_KIND_COPY:
        decode_copy(raw, record);
        return true;
    case CUPTI_KIND_PEER_COPY:
        decode_peer_copy(raw, record);
        return true;
    case CUPTI_KIND_SET:
        decode_set(raw, record);
        return true;
    case CUPTI_KIND_DRIVER_CALL:
    case CUPTI_KIND_RUNTIME_CALL:
        decode_call(raw, record);
        return true;
    case CUPTI_KIND_EXTERNAL:
        decode_external(raw, record);
        return true;
    case CUPTI_KIND_MEMORY:
        decode_memory(raw, record);
        return true;
    case CUPTI_KIND_OVERHEAD:
        decode_overhead(version, raw, record);
        return true;
    case CUPTI_KIND_GRAPH:
        decode_graph(raw, record);
        return true;
    default:
        return false;
    }
}
