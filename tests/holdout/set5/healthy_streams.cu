// Two streams: one copies the next chunk from pinned memory while the other works.
// finding: healthy
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void work(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? values[i] : 0;
    for (int k = 0; k < 6000; k++)
        x = x * 0.999f + 0.001f;
    if (i < n)
        values[i] = x;
}

static void turns(int count, cudaStream_t *stream, float *host, float *device, int n)
{
    for (int i = 0; i < count; i++) {
        float *chunk = device + (size_t)(i % 2) * n;
        cudaMemcpyAsync(chunk, host, n * sizeof *chunk, cudaMemcpyHostToDevice, stream[i % 2]);
        work<<<(n + 255) / 256, 256, 0, stream[i % 2]>>>(chunk, n);
    }
    cudaDeviceSynchronize();
}

int main(void)
{
    int n = 1 << 22;
    float *host, *device;
    cudaStream_t stream[2];
    cudaStreamCreateWithFlags(&stream[0], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking);
    cudaMallocHost(&host, n * sizeof *host);
    cudaMalloc(&device, 2 * (size_t)n * sizeof *device);
    for (int i = 0; i < n; i++)
        host[i] = 0.5f;
    turns(4, stream, host, device, n);
    auto start = std::chrono::steady_clock::now();
    turns(100, stream, host, device, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 100);
    return cudaGetLastError() != cudaSuccess;
}
