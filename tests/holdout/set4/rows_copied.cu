// Copies the rows of a picture out of a wider one, row by row.
// finding: small-transfers
// remedy: cudaMemcpy2D|copy that once|one copy|copy .* once|batch
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { ROWS = 512, WIDTH = 2048, PITCH = 4096 };

__global__ void brighten(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = values[i] * 1.1f + 0.1f;
}

static void turns(int count, bool fixed, float *host, float *device)
{
    for (int turn = 0; turn < count; turn++) {
        if (fixed)
            cudaMemcpy2DAsync(device, WIDTH * sizeof *device, host, PITCH * sizeof *host, WIDTH * sizeof *host, ROWS,
                              cudaMemcpyHostToDevice);
        else
            for (int row = 0; row < ROWS; row++)
                cudaMemcpyAsync(device + (size_t)row * WIDTH, host + (size_t)row * PITCH, WIDTH * sizeof *host,
                                cudaMemcpyHostToDevice);
        brighten<<<ROWS * WIDTH / 256, 256>>>(device, ROWS * WIDTH);
    }
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    bool fixed = argc > 1 && atoi(argv[1]);
    float *host, *device;
    cudaMallocHost(&host, (size_t)ROWS * PITCH * sizeof *host);
    cudaMalloc(&device, (size_t)ROWS * WIDTH * sizeof *device);
    for (size_t i = 0; i < (size_t)ROWS * PITCH; i++)
        host[i] = 0.5f;
    turns(3, fixed, host, device);
    auto start = std::chrono::steady_clock::now();
    turns(100, fixed, host, device);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 100);
    return cudaGetLastError() != cudaSuccess;
}
