"""The workloads of tests/bench/runtime.c in PyTorch and MLX: the same names, the same sizes, the same way
of timing (pip install torch 'mlx[cpu]'). Prints lines "name<TAB>median microseconds" for one framework:

    python3 tests/bench/runtime_peers.py torch|torch.compile|mlx cuda|cpu [WORD]
"""

import os
import statistics
import sys
import time

BATCHES = 21
GPU_CACHE, CPU_CACHE = 256 << 20, 512 << 20


def measure(call, synchronize, turns):
    def batch(calls):
        start = time.perf_counter()
        for i in range(calls):
            call(i % turns)
        synchronize()
        return (time.perf_counter() - start) / calls * 1e6

    batch(3)
    first = batch(3)
    calls = min(2000, max(2 * turns, int(20000 / max(first, 1))))
    batch(calls)
    return statistics.median(batch(calls) for _ in range(BATCHES))


class Torch:
    def __init__(self, device, compiled):
        import torch

        self.torch, self.device, self.compiled = torch, device, compiled
        if device == "cpu":
            torch.set_num_threads(int(os.environ.get("RIDGE_THREADS", os.cpu_count())))
        torch.set_grad_enabled(False)

    def randn(self, rows, columns, dtype, scale=1.0):
        torch = self.torch
        kind = {"f32": torch.float32, "f16": torch.float16}[dtype]
        return (torch.randn(rows, columns, device=self.device) * scale).to(kind)

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def prepare(self, function):
        return self.torch.compile(function) if self.compiled else function

    def functions(self):
        torch = self.torch
        nn = torch.nn.functional

        def chain(x):
            for _ in range(5):
                x = torch.log(torch.exp(torch.cos(torch.sin(x))))
            return x

        return {
            "copy": lambda x: x.clone(),
            "chain": chain,
            "softmax": lambda x: torch.softmax(x, -1),
            "layer_norm": lambda x, w, b: nn.layer_norm(x, x.shape[-1:], w[0], b[0]),
            "rms_norm": lambda x, w: nn.rms_norm(x, x.shape[-1:], w[0], 1e-5),
            "lora": lambda x, w, a, b: x @ w + 2.0 * ((x @ a) @ b),
            "gated_mlp": lambda x, g, u: nn.silu(x @ g) * (x @ u),
            "matmul": lambda a, b: a @ b,
            "matmul_relu": lambda a, b: torch.relu(a @ b),
            "sum": lambda x: x.sum(),
        }

    def run(self, function, inputs):
        return function(*inputs)


class Mlx:
    def __init__(self, device, compiled):
        import mlx.core as mx

        self.mx = mx
        mx.set_default_device(mx.cpu)

    def randn(self, rows, columns, dtype, scale=1.0):
        mx = self.mx
        x = (mx.random.normal((rows, columns)) * scale).astype({"f32": mx.float32, "f16": mx.float16}[dtype])
        mx.eval(x)
        return x

    def synchronize(self):
        self.mx.synchronize()

    def prepare(self, function):
        return self.mx.compile(function)

    def functions(self):
        mx = self.mx

        def chain(x):
            for _ in range(5):
                x = mx.log(mx.exp(mx.cos(mx.sin(x))))
            return x

        return {
            "copy": lambda x: x + 0,
            "chain": chain,
            "softmax": lambda x: mx.softmax(x, axis=-1),
            "layer_norm": lambda x, w, b: mx.fast.layer_norm(x, w[0], b[0], 1e-5),
            "rms_norm": lambda x, w: mx.fast.rms_norm(x, w[0], 1e-5),
            "gated_mlp": lambda x, g, u: (lambda z: z * mx.sigmoid(z))(x @ g) * (x @ u),
            "matmul": lambda a, b: a @ b,
            "matmul_relu": lambda a, b: mx.maximum(a @ b, 0),
            "sum": lambda x: x.sum(),
        }

    def run(self, function, inputs):
        self.mx.eval(function(*inputs))


def turns_for(bytes_of_set, device):
    cache = GPU_CACHE if device == "cuda" else CPU_CACHE
    return min(8, cache // max(bytes_of_set, 1) + 1)


def workloads(device):
    """name, function, [(rows, columns, scale) of each input], dtype, bytes that take turns"""
    def rows(name, function, dtype, m, n, inputs):
        size = 4 if dtype == "f32" else 2
        return name, function, [(m, n, 1)] + [(1, n, 1)] * (inputs - 1), dtype, 2 * m * n * size

    def product(name, function, dtype, m, n, k):
        return name, function, [(m, k, 1), (k, n, 0.05)], dtype, None

    if device == "cuda":
        yield rows("copy 1 GiB", "copy", "f32", 1 << 14, 1 << 14, 1)
        for power in (14, 20, 26):
            yield f"chain 2^{power}", "chain", [(1, 1 << power, 1)], "f32", None
        yield "lora 2048 r8 f16", "lora", [(1, 2048, 1), (2048, 2048, 0.02), (2048, 8, 0.02), (8, 2048, 0.02)], "f16", None
        yield rows("softmax 8192x4096 f16", "softmax", "f16", 8192, 4096, 1)
        yield rows("layer_norm 8192x4096 f16", "layer_norm", "f16", 8192, 4096, 3)
        yield rows("rms_norm 8192x4096 f16", "rms_norm", "f16", 8192, 4096, 2)
        yield rows("sum 2^26", "sum", "f32", 1 << 13, 1 << 13, 1)
        yield "gated_mlp 4096 b8 f16", "gated_mlp", [(8, 4096, 1), (4096, 4096, 0.02), (4096, 4096, 0.02)], "f16", 4 * 4096 * 4096
        yield product("matmul 4096 f16", "matmul", "f16", 4096, 4096, 4096)
        yield product("matmul_relu 4096 f16", "matmul_relu", "f16", 4096, 4096, 4096)
    else:
        yield rows("copy 256 MiB", "copy", "f32", 1 << 13, 1 << 13, 1)
        for power in (14, 20, 24):
            yield f"chain 2^{power}", "chain", [(1, 1 << power, 1)], "f32", None
        for function, inputs in (("softmax", 1), ("layer_norm", 3), ("rms_norm", 2)):
            yield rows(f"{function} 4096x4096 f32", function, "f32", 4096, 4096, inputs)
        yield rows("softmax 4096x4096 f16", "softmax", "f16", 4096, 4096, 1)
        for size in (512, 1024, 2048):
            yield product(f"matmul {size} f32", "matmul", "f32", size, size, size)
        yield product("matmul_relu 1024 f32", "matmul_relu", "f32", 1024, 1024, 1024)
        yield "gated_mlp 2048 b8 f32", "gated_mlp", [(8, 2048, 1), (2048, 2048, 0.02), (2048, 2048, 0.02)], "f32", 8 * 2048 * 2048


def main():
    framework, device = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    peer = Mlx(device, True) if framework == "mlx" else Torch(device, framework == "torch.compile")
    functions = peer.functions()
    for name, function, shapes, dtype, bytes_of_set in workloads(device):
        if only not in name or function not in functions:
            continue
        turns = turns_for(bytes_of_set, device) if bytes_of_set else 1
        sets = [[peer.randn(m, n, dtype, scale) for m, n, scale in shapes] for _ in range(turns)]
        prepared = peer.prepare(functions[function])
        print(f"{name}\t{measure(lambda i: peer.run(prepared, sets[i]), peer.synchronize, turns):.3f}", flush=True)
        del sets


main()
