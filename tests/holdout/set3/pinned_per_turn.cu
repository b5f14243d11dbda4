// Allocates the pinned buffer for the results anew in every turn.
// finding: allocation
// remedy: once|before the loop|outside|reuse|pool
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void advance(float *state, int n, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = state[i];
    for (int k = 0; k < turns; k++)
        x = x * 0.99f + 0.01f;
    state[i] = x;
}

static void turns(int count, bool fixed, float *state, float *kept, int n)
{
    for (int i = 0; i < count; i++) {
        float *host = kept;
        if (!fixed)
            cudaMallocHost(&host, n * sizeof *host);
        advance<<<(n + 255) / 256, 256>>>(state, n, 2000);
        cudaMemcpyAsync(host, state, n * sizeof *host, cudaMemcpyDeviceToHost);
        cudaStreamSynchronize(0);
        if (!fixed)
            cudaFreeHost(host);
    }
}

int main(int argc, char **argv)
{
    bool fixed = argc > 1 && atoi(argv[1]);
    int n = 1 << 20;
    float *state, *kept;
    cudaMalloc(&state, n * sizeof *state);
    cudaMallocHost(&kept, n * sizeof *kept);
    cudaMemset(state, 0, n * sizeof *state);
    turns(10, fixed, state, kept, n);
    auto start = std::chrono::steady_clock::now();
    turns(200, fixed, state, kept, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 200);
    return cudaGetLastError() != cudaSuccess;
}
