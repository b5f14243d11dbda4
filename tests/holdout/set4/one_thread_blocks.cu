// Smooths a signal with blocks of a single thread.
// finding: low-occupancy, latency-bound, memory-bound
// remedy: threads|block size|occupancy
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void smooth(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        to[i] = 0.25f * (from[i - 1] + 2 * from[i] + from[i + 1]);
}

static void turns(int count, int threads, float *a, float *b, int n)
{
    for (int i = 0; i < count; i++) {
        smooth<<<(n + threads - 1) / threads, threads>>>(a, b, n);
        smooth<<<(n + threads - 1) / threads, threads>>>(b, a, n);
    }
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && atoi(argv[1]) ? 256 : 1, n = 1 << 22;
    float *a, *b;
    cudaMalloc(&a, n * sizeof *a);
    cudaMalloc(&b, n * sizeof *b);
    cudaMemset(a, 0, n * sizeof *a);
    cudaMemset(b, 0, n * sizeof *b);
    turns(3, threads, a, b, n);
    auto start = std::chrono::steady_clock::now();
    turns(60, threads, a, b, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 60);
    return cudaGetLastError() != cudaSuccess;
}
