"""Faults that lie in the kernels themselves: see torch_faults.py for what a fault is."""

import ctypes

import torch

from torch_faults import Fault, megabytes

LONG, INT = ctypes.c_longlong, ctypes.c_int


def memory_chain(gpu, unit, count, amount=256):
    """Element-wise operations one by one over more than the cache holds; mended, one kernel."""
    x = torch.randn(megabytes(gpu, amount), device=gpu.device)
    out = torch.empty_like(x)

    def apart(i, y):
        with torch.inference_mode():
            value = x
            for k in range(int(count)):
                value = value.relu() if k % 2 else value * 0.999

    def fused(i, y):
        gpu.launch("fused_chain", gpu.processors * 8, 256, x, out, (LONG, x.numel()), (INT, int(count)))

    return Fault("after", apart, memory_bound=fused)


def memory_columns(gpu, unit, amount):
    """A copy that walks a matrix by columns."""
    columns = gpu.size(2048, 16)
    x = torch.randn(megabytes(gpu, amount) // columns, columns, device=gpu.device)
    out = torch.empty_like(x)

    def copy(rows, columns):
        gpu.launch("copy_by_columns", gpu.processors * 8, 256, x, out, (LONG, rows), (LONG, columns))

    return Fault("after", lambda i, y: copy(*x.shape), memory_bound=lambda i, y: copy(1, x.numel()))


def memory_index(gpu, unit, amount):
    """Elements are gathered in a random order; mended, in their own."""
    x = torch.randn(megabytes(gpu, amount), device=gpu.device)
    mixed, sorted_ = torch.randperm(x.numel(), device=gpu.device), torch.arange(x.numel(), device=gpu.device)
    return Fault("after", lambda i, y: x[mixed], memory_bound=lambda i, y: x[sorted_])


def compute_f32(gpu, unit, width, dtype=torch.float32):
    """Matrix products without the matrix units; mended, TF32."""
    width = gpu.size(int(width), 32)
    a, b = (torch.randn(width, width, device=gpu.device, dtype=dtype) for _ in range(2))
    c, d = a.float(), b.float()

    def product(x, y, units):
        torch.backends.cuda.matmul.allow_tf32 = units
        x @ y

    return Fault("after", lambda i, y: product(a, b, False), compute_bound=lambda i, y: product(c, d, True))


def compute_f64(gpu, unit, width):
    """Double precision by accident."""
    return compute_f32(gpu, unit, width, torch.float64)


def grid_loop(gpu, unit, blocks):
    """A kernel of few blocks; mended, of as many as the device holds."""
    x = torch.zeros(gpu.size(1 << 18, 64), device=gpu.device)

    def work(grid):
        gpu.launch("multiply_add_loop", grid, 256, x, (LONG, x.numel()), (INT, 2000))

    return Fault("after", lambda i, y: work(int(blocks)), small_grid=lambda i, y: work(x.numel() // 256))


def grid_rows(gpu, unit, rows):
    """A softmax of few long rows; mended, the same elements in many rows."""
    x = torch.randn(int(rows), gpu.size(1 << 21, 64), device=gpu.device)
    many = x.view(gpu.size(2048, 4), -1)
    return Fault("after", lambda i, y: x.softmax(1), small_grid=lambda i, y: many.softmax(1))


def kernel_slow(gpu, unit, repeat):
    """A kernel that does twice the arithmetic that is needed."""
    x = torch.zeros(gpu.size(1 << 22, 64), device=gpu.device)

    def work(times):
        gpu.launch("multiply_add_loop", x.numel() // 256, 256, x, (LONG, x.numel()), (INT, times))

    return Fault("after", lambda i, y: work(2 * int(repeat)), compute_bound=lambda i, y: work(int(repeat)))


def throttle_power(gpu, unit, width):
    """Products of random numbers take so much power that the clock is lowered; of zeros, they do not."""
    width = gpu.size(int(width), 32)
    a, b = (torch.randn(width, width, device=gpu.device, dtype=torch.bfloat16) for _ in range(2))
    c, d = torch.zeros_like(a), torch.zeros_like(b)
    return Fault("after", lambda i, y: a @ b, throttling=lambda i, y: c @ d)


FAULTS = {word.__name__: word for word in (memory_chain, memory_columns, memory_index, compute_f32, compute_f64, grid_loop, grid_rows, kernel_slow, throttle_power)}
