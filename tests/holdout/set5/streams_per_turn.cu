// Creates and destroys its streams and events in every turn.
// finding: host-bound, launch-bound, sync-in-loop, allocation
// remedy: once|before the loop|reuse
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void work(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = values[i] * 0.999f + 0.001f;
}

enum { STREAMS = 8 };
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];

static void create(void)
{
    for (int s = 0; s < STREAMS; s++) {
        cudaStreamCreate(&streams[s]);
        cudaEventCreate(&events[s]);
    }
}

static void destroy(void)
{
    for (int s = 0; s < STREAMS; s++) {
        cudaStreamDestroy(streams[s]);
        cudaEventDestroy(events[s]);
    }
}

static void turns(int count, int keep, float *values, int n)
{
    for (int i = 0; i < count; i++) {
        if (!keep)
            create();
        for (int s = 0; s < STREAMS; s++) {
            work<<<(n + 255) / 256, 256, 0, streams[s]>>>(values + (size_t)s * n, n);
            cudaEventRecord(events[s], streams[s]);
        }
        for (int s = 0; s < STREAMS; s++)
            cudaStreamWaitEvent(0, events[s], 0);
        work<<<(n + 255) / 256, 256>>>(values, n);
        if (!keep)
            destroy();
    }
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int keep = argc > 1 && atoi(argv[1]), n = 1 << 16;
    float *values;
    cudaMalloc(&values, (size_t)STREAMS * n * sizeof *values);
    cudaMemset(values, 0, (size_t)STREAMS * n * sizeof *values);
    if (keep)
        create();
    turns(3, keep, values, n);
    auto start = std::chrono::steady_clock::now();
    turns(200, keep, values, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 200);
    return cudaGetLastError() != cudaSuccess;
}
