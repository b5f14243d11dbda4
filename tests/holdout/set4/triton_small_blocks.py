"""Adds two vectors with a Triton kernel of thirty-two elements in each program."""
# finding: memory-bound, latency-bound, low-occupancy
# remedy: BLOCK|block size|larger block|elements
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(c + offsets, tl.load(a + offsets, mask=mask) + tl.load(b + offsets, mask=mask), mask=mask)


def prepare(fixed):
    n = 1 << 26
    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    c = torch.empty_like(a)
    block = 1024 if fixed else 32

    def run(rounds):
        for _ in range(rounds):
            add[(triton.cdiv(n, block),)](a, b, c, n, BLOCK=block, num_warps=4 if fixed else 1)
        return c

    return run


prepare.steps = 100
