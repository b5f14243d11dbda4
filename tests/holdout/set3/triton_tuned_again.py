"""Runs a Triton kernel that is tuned again for every new length."""
# finding: compilation, irregular-steps
# remedy: autotune|key
import itertools

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": size}) for size in (256, 512, 1024, 2048)], key=["n"])
@triton.jit
def soft_sign(source, target, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + offsets, mask=offsets < n)
    tl.store(target + offsets, x / (1 + tl.abs(x)), mask=offsets < n)


@triton.jit
def soft_sign_fixed(source, target, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + offsets, mask=offsets < n)
    tl.store(target + offsets, x / (1 + tl.abs(x)), mask=offsets < n)


def prepare(fixed):
    samples = torch.randn(1 << 24, device="cuda")
    result = torch.empty_like(samples)
    lengths = itertools.count((1 << 23) + 1, 1031)

    def run(rounds):
        for _ in range(rounds):
            n = next(lengths)
            if fixed:
                soft_sign_fixed[(triton.cdiv(n, 1024),)](samples, result, n, BLOCK=1024)
            else:
                soft_sign[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](samples, result, n)
        return result

    return run


prepare.steps = 6
