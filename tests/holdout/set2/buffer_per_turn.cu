// Allocates a work buffer on the device in every turn of its loop.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void fill(float *work, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        work[i] = sinf((float)i);
}

__global__ void fold(const float *work, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += work[n - 1 - i];
}

static void turns(int count, bool fixed, float *kept, float *out, int n)
{
    for (int i = 0; i < count; i++) {
        float *work = kept;
        if (!fixed)
            cudaMalloc(&work, n * sizeof *work);
        fill<<<(n + 255) / 256, 256>>>(work, n);
        fold<<<(n + 255) / 256, 256>>>(work, out, n);
        if (!fixed)
            cudaFree(work);
    }
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    bool fixed = argc > 1 && atoi(argv[1]);
    int n = 1 << 22;
    float *out, *kept;
    cudaMalloc(&out, n * sizeof *out);
    cudaMalloc(&kept, n * sizeof *kept);
    cudaMemset(out, 0, n * sizeof *out);
    turns(5, fixed, kept, out, n);
    auto start = std::chrono::steady_clock::now();
    turns(300, fixed, kept, out, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 300);
    return cudaGetLastError() != cudaSuccess;
}
