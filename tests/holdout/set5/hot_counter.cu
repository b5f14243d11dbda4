// Counts values with an atomic addition of every thread to one of four counters.
// finding: latency-bound, memory-bound
// remedy: atomic|shared memory
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void count_values(const int *values, unsigned *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[values[i] & 3], 1u);
}

__global__ void count_in_blocks(const int *values, unsigned *counts, int n)
{
    __shared__ unsigned own[4];
    if (threadIdx.x < 4)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] & 3], 1u);
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

static void turns(int count, int better, const int *values, unsigned *counts, int n)
{
    for (int i = 0; i < count; i++)
        if (better)
            count_in_blocks<<<1056, 256>>>(values, counts, n);
        else
            count_values<<<(n + 255) / 256, 256>>>(values, counts, n);
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int better = argc > 1 && atoi(argv[1]), n = 1 << 24, *values, *host = new int[n];
    unsigned *counts;
    for (int i = 0; i < n; i++)
        host[i] = (int)(i * 2654435761u >> 7);
    cudaMalloc(&values, n * sizeof *values);
    cudaMalloc(&counts, 4 * sizeof *counts);
    cudaMemcpy(values, host, n * sizeof *values, cudaMemcpyHostToDevice);
    turns(3, better, values, counts, n);
    auto start = std::chrono::steady_clock::now();
    turns(60, better, values, counts, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 60);
    return cudaGetLastError() != cudaSuccess;
}
