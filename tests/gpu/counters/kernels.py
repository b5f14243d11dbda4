#!/usr/bin/env python3
"""Kernels with one known trait each, for hardware counters. Needs CuPy, which compiles them with NVRTC; a matrix
product on tensor cores comes from PyTorch if it is there."""
import cupy

SOURCE = r"""
extern "C" __global__ void copy_coalesced(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
extern "C" __global__ void copy_strided(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(int)((long long)i * 33 % n)];
}
extern "C" __global__ void transpose_conflicts(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_padded(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void divergent(float *out, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i;
    int mine = steps * (1 + threadIdx.x % 32);
    for (int k = 0; k < mine; k++) v = v * 1.0001f + sinf(v) * 0.5f;
    if (i < n) out[i] = v;
}
extern "C" __global__ void local_memory(const int *index, float *out, int n) {
    float values[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 64; k++) values[k] = i * k;
    float sum = 0;
    for (int k = 0; k < 256; k++) { int j = index[k] & 63; values[j] += k; sum += values[(j * 7 + i) & 63]; }
    if (i < n) out[i] = sum;
}
extern "C" __global__ void __launch_bounds__(1024, 2) full_occupancy(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float v = in[i]; for (int k = 0; k < 64; k++) v = v * 0.999f + 1.0f; out[i] = v; }
}
extern "C" __global__ void shared_limited(const float *in, float *out, int n) {
    __shared__ float buffer[12000];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < 12000; k += blockDim.x) buffer[k] = in[(i + k) % n];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 200; k++) sum += buffer[(threadIdx.x + k * 32) % 12000];
    if (i < n) out[i] = sum;
}
extern "C" __global__ void arithmetic(float *out, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = i, b = a + 1, c = a + 2, d = a + 3;
    for (int k = 0; k < steps; k++) { a = a * 1.0001f + 0.5f; b = b * 1.0001f + 0.5f; c = c * 1.0001f + 0.5f; d = d * 1.0001f + 0.5f; }
    if (i < n) out[i] = a + b + c + d;
}
extern "C" __global__ void pointer_chase(const int *next, int *out, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = i;
    for (int k = 0; k < steps; k++) at = next[at];
    out[i] = at;
}
"""


def main():
    module = cupy.RawModule(code=SOURCE, options=("-lineinfo",))
    n = 1 << 26
    a, b = cupy.ones(n, cupy.float32), cupy.empty(n, cupy.float32)
    side = 8192
    index = cupy.arange(256, dtype=cupy.int32) * 37
    size = 1 << 22
    chain = cupy.roll(cupy.random.permutation(size).astype(cupy.int32), 1)
    hops = cupy.empty(size, cupy.int32)
    i32 = cupy.int32
    run = {
        "copy_coalesced": ((n // 256,), (256,), (a, b, i32(n))),
        "copy_strided": ((n // 256,), (256,), (a, b, i32(n))),
        "transpose_conflicts": ((side // 32, side // 32), (32, 8), (a, b, i32(side))),
        "transpose_padded": ((side // 32, side // 32), (32, 8), (a, b, i32(side))),
        "divergent": ((2048,), (256,), (b, i32(n), i32(20))),
        "local_memory": ((4096,), (256,), (index, b, i32(n))),
        "full_occupancy": ((n // 1024,), (1024,), (a, b, i32(n))),
        "shared_limited": ((2640,), (64,), (a, b, i32(n))),
        "arithmetic": ((4096,), (256,), (b, i32(n), i32(4000))),
        "pointer_chase": ((264,), (64,), (chain, hops, i32(2000))),
    }
    for _ in range(2):
        for name, (grid, block, arguments) in run.items():
            module.get_function(name)(grid, block, arguments)
    cupy.cuda.Device().synchronize()
    try:
        import torch
        x = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
        y = x @ x
        torch.cuda.synchronize()
        print("product", float(y[0, 0]) == float(y[0, 0]))
    except ImportError:
        print("no PyTorch: no product on tensor cores")


main()
