"""A softmax of many rows in one Triton kernel, each row read and written once."""
# finding: healthy
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(source, target, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    x = tl.load(source + offsets)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(target + offsets, x / tl.sum(x, axis=0))


def prepare(fixed):
    logits = torch.randn(1 << 17, 4096, device="cuda")
    result = torch.empty_like(logits)

    def run(rounds):
        for _ in range(rounds):
            softmax[(1 << 17,)](logits, result, 4096, BLOCK=4096, num_warps=8)
        return result

    return run


prepare.steps = 200
