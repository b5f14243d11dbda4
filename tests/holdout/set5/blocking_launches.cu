// Launches with CUDA_LAUNCH_BLOCKING=1, left from the search for a bug, and prepares each launch on the host.
// finding: sync-in-loop, launch-bound, host-bound
// remedy: LAUNCH_BLOCKING|asynchron
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void work(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 400; k++)
            values[i] = values[i] * 0.999f + 0.001f;
}

static double prepare_next(int seed)
{
    double sum = 0;
    for (int i = 1; i < 20000; i++)
        sum += 1.0 / (i + seed);
    return sum;
}

static double turns(int count, float *values, int n)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 10; k++) {
            work<<<(n + 255) / 256, 256>>>(values, n);
            sum += prepare_next(k);
        }
    cudaDeviceSynchronize();
    return sum;
}

int main(int argc, char **argv)
{
    if (!(argc > 1 && atoi(argv[1])))
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    int n = 1 << 20;
    float *values;
    cudaMalloc(&values, n * sizeof *values);
    cudaMemset(values, 0, n * sizeof *values);
    double sum = turns(3, values, n);
    auto start = std::chrono::steady_clock::now();
    sum += turns(60, values, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 60);
    return sum < 0 || cudaGetLastError() != cudaSuccess;
}
