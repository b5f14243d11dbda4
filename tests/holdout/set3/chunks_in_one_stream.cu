// Sends chunks, works on them and fetches the results, all in one stream.
// finding: exposed-transfers, one-queue
// remedy: stream|overlap|double
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { CHUNKS = 8, STREAMS = 4 };

__global__ void work(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = values[i];
    for (int k = 0; k < 1500; k++)
        x = x * 0.999f + 0.001f;
    values[i] = x;
}

static void turns(int count, int streams, cudaStream_t *stream, float *host, float *device, int n)
{
    for (int turn = 0; turn < count; turn++) {
        for (int c = 0; c < CHUNKS; c++) {
            cudaStream_t to = stream[c % streams];
            float *h = host + (size_t)c * n, *d = device + (size_t)c * n;
            cudaMemcpyAsync(d, h, n * sizeof *d, cudaMemcpyHostToDevice, to);
            work<<<(n + 255) / 256, 256, 0, to>>>(d, n);
            cudaMemcpyAsync(h, d, n * sizeof *d, cudaMemcpyDeviceToHost, to);
        }
        cudaDeviceSynchronize();
    }
}

int main(int argc, char **argv)
{
    int streams = argc > 1 && atoi(argv[1]) ? STREAMS : 1, n = 1 << 22;
    float *host, *device;
    cudaStream_t stream[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking);
    cudaMallocHost(&host, (size_t)CHUNKS * n * sizeof *host);
    cudaMalloc(&device, (size_t)CHUNKS * n * sizeof *device);
    for (size_t i = 0; i < (size_t)CHUNKS * n; i++)
        host[i] = 0.5f;
    turns(3, streams, stream, host, device, n);
    auto start = std::chrono::steady_clock::now();
    turns(60, streams, stream, host, device, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 60);
    return cudaGetLastError() != cudaSuccess;
}
