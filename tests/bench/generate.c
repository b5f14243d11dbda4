/* Generates traces of any size for the benchmarks: a training loop on two devices, as a native
 * trace or as torch.profiler JSON. Every step is ranges around operators, each with a launch
 * call and a kernel, some copies, and a synchronization at its end; names, gaps and durations
 * vary as real ones do.
 *
 *   generate ridge EVENTS FILE        generate kineto EVENTS FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/writer.h"

static uint64_t state = 88172645463325252u;

static uint32_t random_below(uint32_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * limit >> 32);
}

static const char *const operators[] = {
    "aten::linear",  "aten::addmm",   "aten::gelu",      "aten::layer_norm",
    "aten::softmax", "aten::dropout", "aten::transpose", "aten::bmm",
    "aten::add",     "aten::mul",     "aten::embedding", "aten::cross_entropy"};
static const char *const kernels[] = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3>)",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
    "segment_k",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, "
    "float, "
    "float const*, float const*, float const*, float*, float*, float*)",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, "
    "false>(float*, "
    "float const*, int, int, int, bool const*, int, bool)",
    "triton_poi_fused_add_gelu_mul_3",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>("
    "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >, unsigned "
    "int, "
    "float, 4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
    "at::native::sum_functor<float, float, float> >, unsigned int, float, 4>)",
};
enum {
    OPERATORS = sizeof operators / sizeof operators[0],
    KERNELS = sizeof kernels / sizeof kernels[0],
    DEVICES = 2,
    OPERATORS_A_STEP = 200
};

/* Where events go: one of the two formats. */
struct sink {
    FILE *json; /* NULL: native */
    struct trace_writer *writer;
    uint32_t queue[DEVICES], thread[DEVICES];
    uint64_t events;
};

static void put_range(struct sink *sink, int device, int64_t start, int64_t duration,
                      const char *name, bool step) {
    sink->events++;
    if (sink->json) {
        fprintf(
            sink->json,
            "  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 4711, \"tid\": "
            "%d,\n    \"ts\": %lld.%03d, \"dur\": %lld.%03d,\n    \"args\": {\n      "
            "\"External id\": %llu,\"Record function id\": 0, \"Ev Idx\": %llu, \"Input Dims\": "
            "[[32, 512], [512, 512], []], \"Input type\": [\"float\", \"float\", \"Scalar\"]\n    "
            "}\n  },\n",
            step ? "user_annotation" : "cpu_op", name, 4711 + device, (long long)(start / 1000),
            (int)(start % 1000), (long long)(duration / 1000), (int)(duration % 1000),
            (unsigned long long)sink->events, (unsigned long long)sink->events);
        return;
    }
    trace_write_range(sink->writer, &(struct row_range){
                                        .start = start,
                                        .duration = duration,
                                        .thread = sink->thread[device],
                                        .name = trace_writer_string(sink->writer, text_of(name)),
                                        .category = step ? RANGE_ANNOTATION : RANGE_OP,
                                    });
}

static void put_call(struct sink *sink, int device, int64_t start, int64_t duration,
                     const char *name, enum call_class class, uint64_t correlation) {
    sink->events++;
    if (sink->json) {
        fprintf(
            sink->json,
            "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": 4711, "
            "\"tid\": %d,\n    \"ts\": %lld.%03d, \"dur\": %lld.%03d,\n    \"args\": {\n      "
            "\"External id\": %llu,\"cbid\": 211, \"correlation\": %llu\n    }\n  },\n",
            name, 4711 + device, (long long)(start / 1000), (int)(start % 1000),
            (long long)(duration / 1000), (int)(duration % 1000), (unsigned long long)sink->events,
            (unsigned long long)correlation);
        return;
    }
    trace_write_call(sink->writer, &(struct row_call){
                                       .start = start,
                                       .duration = duration,
                                       .thread = sink->thread[device],
                                       .name = trace_writer_string(sink->writer, text_of(name)),
                                       .class = (uint8_t) class,
                                       .correlation = correlation,
                                   });
}

static void put_kernel(struct sink *sink, int device, int64_t start, int64_t duration,
                       const char *name, uint64_t correlation) {
    uint32_t grid = 1 + random_below(400);
    sink->events++;
    if (sink->json) {
        fprintf(
            sink->json,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": %d, \"tid\": "
            "7,\n    \"ts\": %lld.%03d, \"dur\": %lld.%03d,\n    \"args\": {\n      \"External "
            "id\": %llu,\n      \"queued\": 0, \"device\": %d, \"context\": 1,\n      \"stream\": "
            "7, \"correlation\": %llu,\n      \"registers per thread\": 32,\n      \"shared "
            "memory\": 16,\n      \"blocks per SM\": 2.5,\n      \"warps per SM\": 20.0,\n      "
            "\"grid\": [%u, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved "
            "occupancy %%\": 31\n    }\n  },\n",
            name, device, (long long)(start / 1000), (int)(start % 1000),
            (long long)(duration / 1000), (int)(duration % 1000), (unsigned long long)sink->events,
            device, (unsigned long long)correlation, grid);
        return;
    }
    trace_write_activity(sink->writer, &(struct row_activity){
                                           .start = start,
                                           .duration = duration,
                                           .queue = sink->queue[device],
                                           .kind = ACTIVITY_KERNEL,
                                           .name = trace_writer_string(sink->writer, text_of(name)),
                                           .correlation = correlation,
                                           .grid_x = grid,
                                           .grid_y = 1,
                                           .grid_z = 1,
                                           .block_x = 128,
                                           .block_y = 1,
                                           .block_z = 1,
                                           .registers = 32,
                                           .shared_static = 16,
                                       });
}

/* One step of the loop on one device; returns when the host is done with it. */
static int64_t put_step(struct sink *sink, int device, int64_t now, uint64_t step,
                        uint64_t *correlation) {
    char name[32];
    int64_t start = now, device_free = now;
    struct {
        int64_t start, duration;
        int operator;
    } ops[OPERATORS_A_STEP];
    for (int i = 0; i < OPERATORS_A_STEP; i++) {
        int which = i % OPERATORS;
        ops[i].operator= which;
        ops[i].start = now;
        now += 1500 + random_below(4000);
        int64_t call = now, took = 2500 + random_below(2000);
        uint64_t id = (*correlation)++;
        put_call(sink, device, call, took, "cudaLaunchKernel", CALL_LAUNCH, id);
        now += took;
        int64_t begin = call + 2000 + random_below(3000);
        if (begin < device_free + 1000)
            begin = device_free + 1000;
        int64_t length = 1200 + random_below(which % 3 ? 9000 : 40000);
        put_kernel(sink, device, begin, length, kernels[which % KERNELS], id);
        device_free = begin + length;
        now += 500 + random_below(800);
        ops[i].duration = now - ops[i].start;
    }
    int64_t wait = device_free > now ? device_free - now : 1000;
    put_call(sink, device, now, wait, "cudaDeviceSynchronize", CALL_SYNC, (*correlation)++);
    now += wait + 20000 + random_below(20000);
    for (int i = 0; i < OPERATORS_A_STEP; i++)
        put_range(sink, device, ops[i].start, ops[i].duration, operators[ops[i].operator], false);
    snprintf(name, sizeof name, "ProfilerStep#%llu", (unsigned long long)step);
    put_range(sink, device, start, now - start, name, true);
    return now;
}

static void open_native(struct sink *sink, int fd, struct status *status) {
    sink->writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, status);
    if (!sink->writer)
        return;
    uint32_t process = trace_write_process(sink->writer, &(struct row_process){.pid = 4711});
    for (int device = 0; device < DEVICES; device++) {
        char label[8];
        snprintf(label, sizeof label, "%d", device);
        uint32_t id = trace_write_device(
            sink->writer,
            &(struct row_device){.index = (uint32_t)device,
                                 .label = trace_writer_string(sink->writer, text_of(label))});
        sink->queue[device] = trace_write_queue(
            sink->writer, &(struct row_queue){.device = id, .process = process, .stream = 7});
        sink->thread[device] = trace_write_thread(
            sink->writer, &(struct row_thread){.process = process, .tid = 4711 + device});
    }
}

int main(int argc, char **argv) {
    struct status status = {0};
    struct sink sink = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: generate ridge|kineto EVENTS FILE\n");
        return 2;
    }
    uint64_t wanted = strtoull(argv[2], NULL, 10), correlation = 1;
    int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
        perror(argv[3]);
        return 1;
    }
    if (strcmp(argv[1], "kineto") == 0) {
        sink.json = fdopen(fd, "w");
        fprintf(sink.json, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n  "
                           "\"traceEvents\": [\n");
    } else {
        open_native(&sink, fd, &status);
    }
    int64_t now[DEVICES] = {1000000000, 1000004000};
    for (uint64_t step = 0; sink.events < wanted; step++)
        for (int device = 0; device < DEVICES; device++)
            now[device] = put_step(&sink, device, now[device], step, &correlation);
    bool ok = true;
    if (sink.json) {
        fprintf(sink.json,
                "  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4711, \"tid\": 0, "
                "\"args\": {\"name\": \"python\"}}\n]}\n");
        ok = fclose(sink.json) == 0;
    } else {
        ok = trace_writer_finish(sink.writer, &status) && close(fd) == 0;
        trace_writer_destroy(sink.writer);
    }
    if (!ok)
        fprintf(stderr, "generate: %s\n", status.message);
    return !ok;
}
