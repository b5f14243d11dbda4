"""A Triton kernel whose length is a constant of its code."""
import itertools

import torch
import triton
import triton.language as tl

LENGTHS = itertools.count(100_003, 1_000)


@triton.jit
def scale_constant(source, target, n: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + index, 2 * tl.load(source + index, index < n), index < n)


@triton.jit(do_not_specialize=["n"])
def scale_argument(source, target, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + index, 2 * tl.load(source + index, index < n), index < n)


def prepare(fixed):
    data = torch.randn(1 << 20, device="cuda")

    def serve(requests):
        for _ in range(requests):
            n = next(LENGTHS)
            out = torch.empty(n, device="cuda")
            kernel = scale_argument if fixed else scale_constant
            kernel[(triton.cdiv(n, 1024),)](data, out, n, BLOCK=1024)
        return out

    return serve


prepare.steps = 12
