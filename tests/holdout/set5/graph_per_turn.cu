// Captures and instantiates its graph again in every turn.
// finding: host-bound, launch-bound, compilation, sync-in-loop, allocation
// remedy: once|[Ii]nstantiate|ExecUpdate
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

static cudaGraphExec_t capture(cudaStream_t stream, float *values, int n)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int k = 0; k < 100; k++)
        work<<<(n + 255) / 256, 256, 0, stream>>>(values, n);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphDestroy(graph);
    return ready;
}

static void turns(int count, int keep, cudaStream_t stream, float *values, int n)
{
    cudaGraphExec_t ready = keep ? capture(stream, values, n) : NULL;
    for (int i = 0; i < count; i++) {
        if (!keep)
            ready = capture(stream, values, n);
        cudaGraphLaunch(ready, stream);
        if (!keep) {
            cudaStreamSynchronize(stream);
            cudaGraphExecDestroy(ready);
        }
    }
    cudaStreamSynchronize(stream);
    if (keep)
        cudaGraphExecDestroy(ready);
}

int main(int argc, char **argv)
{
    int keep = argc > 1 && atoi(argv[1]), n = 1 << 16;
    float *values;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, n * sizeof *values);
    cudaMemset(values, 0, n * sizeof *values);
    turns(3, keep, stream, values, n);
    auto start = std::chrono::steady_clock::now();
    turns(200, keep, stream, values, n);
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    printf("%.0f\n", ns / 200);
    return cudaGetLastError() != cudaSuccess;
}
