"""Normalizes a matrix with a Triton kernel whose programs walk down the columns."""
# finding: memory-bound, latency-bound
# remedy: coalesc|stride|contiguous|consecutive|adjacent
import torch
import triton
import triton.language as tl


@triton.jit
def normalize(source, target, n, along, across, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * across + tl.arange(0, BLOCK) * along
    x = tl.load(source + offsets)
    x = x - tl.sum(x, axis=0) / n
    tl.store(target + offsets, x / tl.sqrt(tl.sum(x * x, axis=0) / n + 1e-5))


def prepare(fixed):
    n = 8192
    matrix = torch.randn(n, n, device="cuda")
    result = torch.empty_like(matrix)

    def run(rounds):
        for _ in range(rounds):
            if fixed:
                normalize[(n,)](matrix, result, n, 1, n, BLOCK=8192, num_warps=8)
            else:
                normalize[(n,)](matrix, result, n, n, 1, BLOCK=8192, num_warps=8)
        return result

    return run


prepare.steps = 150
