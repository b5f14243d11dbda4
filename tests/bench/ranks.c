/* Generates the traces of a job, one file per rank: kernels with launch calls, an all-reduce after
 * each 20 kernels, one late rank, and a clock of its own for each host of eight ranks.
 *
 *   ranks RANKS EVENTS FOLDER        EVENTS of each rank
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/writer.h"

static void write_rank(struct trace_writer *writer, unsigned rank, unsigned ranks, size_t events) {
    char host[32], detail[256];
    snprintf(host, sizeof host, "node%u", rank / 8);
    trace_writer_meta_integer(writer, META_RANK, rank);
    trace_writer_meta_integer(writer, META_WORLD_SIZE, ranks);
    trace_writer_meta(writer, META_HOST, text_of(host));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("unix"));
    uint32_t process = trace_write_process(
        writer, &(struct row_process){.pid = 100 + rank,
                                      .host = trace_writer_string(writer, text_of(host))});
    uint32_t thread =
        trace_write_thread(writer, &(struct row_thread){.process = process, .tid = 100 + rank});
    uint32_t device = trace_write_device(
        writer, &(struct row_device){.index = rank % 8,
                                     .label = trace_writer_string(writer, TEXT("0")),
                                     .name = trace_writer_string(writer, TEXT("NVIDIA H100"))});
    uint32_t queue = trace_write_queue(
        writer, &(struct row_queue){.device = device, .process = process, .stream = 7});
    uint32_t link = trace_write_queue(
        writer, &(struct row_queue){.device = device, .process = process, .stream = 20});
    uint32_t gemm = trace_writer_string(writer, TEXT("gemm"));
    uint32_t launch = trace_writer_string(writer, TEXT("cudaLaunchKernel"));
    uint32_t reduce = trace_writer_string(writer, TEXT("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"));
    int64_t now = 1700000000000000000 + (int64_t)(rank / 8) * 3000000, late = rank == 5 ? 400 : 0;
    for (size_t i = 0, sequence = 0; i + 1 < events; i += 2) {
        bool communicates = i % 42 == 40;
        int64_t duration = 5000 + late;
        uint32_t text = 0;
        if (communicates) {
            snprintf(detail, sizeof detail,
                     "{\"Collective name\":\"allreduce\",\"dtype\":\"BFloat16\",\"In msg nelems\":"
                     "1000000,\"Out msg nelems\":1000000,\"Group size\":%u,\"Process Group Name\":"
                     "\"0\",\"Seq\":%zu}",
                     ranks, ++sequence);
            text = trace_writer_string(writer, text_of(detail));
            duration = 20000 + 20 * (400 - late);
        }
        trace_write_call(writer, &(struct row_call){.start = now - 3000,
                                                    .duration = 2000,
                                                    .thread = thread,
                                                    .name = launch,
                                                    .class = CALL_LAUNCH,
                                                    .correlation = i + 1});
        trace_write_activity(writer, &(struct row_activity){.start = now,
                                                            .duration = duration,
                                                            .queue = communicates ? link : queue,
                                                            .name = communicates ? reduce : gemm,
                                                            .correlation = i + 1,
                                                            .detail = text});
        now += duration;
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: ranks RANKS EVENTS FOLDER\n"), 2;
    unsigned ranks = (unsigned)atoi(argv[1]);
    for (unsigned rank = 0; rank < ranks; rank++) {
        char path[4096];
        struct status status = {0};
        snprintf(path, sizeof path, "%s/rank%u.ridge", argv[3], rank);
        int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = rank + 1, .writer = 1, .level = 3},
            &status);
        if (fd < 0 || !writer)
            return fprintf(stderr, "cannot write %s\n", path), 1;
        write_rank(writer, rank, ranks, (size_t)atoll(argv[2]));
        if (!trace_writer_finish(writer, &status))
            return fprintf(stderr, "%s\n", status.message), 1;
        trace_writer_destroy(writer);
        close(fd);
    }
    return 0;
}
