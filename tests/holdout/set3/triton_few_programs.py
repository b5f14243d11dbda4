"""Sums the exponentials of eight long rows, one Triton program for each row."""
# finding: small-grid
# remedy: grid|blocks|split|programs
import torch
import triton
import triton.language as tl


@triton.jit
def sum_exponentials(source, target, columns, part, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.program_id(1) * part
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(0, part, BLOCK):
        offsets = start + i + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(source + row * columns + offsets))
    tl.atomic_add(target + row, tl.sum(total, axis=0))


def prepare(fixed):
    rows, columns = 8, 1 << 21
    parts = 128 if fixed else 1
    logits = torch.randn(rows, columns, device="cuda")

    def run(rounds):
        for _ in range(rounds):
            result = torch.zeros(rows, device="cuda")
            sum_exponentials[(rows, parts)](logits, result, columns, columns // parts, BLOCK=2048, num_warps=4)
        return result.log()

    return run


prepare.steps = 150
