"""Filters sound with a bank of kernels that NumPy made in double precision."""
# finding: compute-bound
# remedy: float32|f32|\.float\(\)|single precision|tf32|bf16
import numpy
import torch
from torch.nn import functional


def prepare(fixed):
    bank = torch.from_numpy(numpy.random.standard_normal((64, 8, 129))).cuda()
    sound = torch.from_numpy(numpy.random.standard_normal((16, 8, 40_000))).cuda()
    if fixed:
        bank, sound = bank.float(), sound.float()

    def apply(blocks):
        for _ in range(blocks):
            result = functional.conv1d(sound, bank, padding=64).abs().amax(-1)
        return result

    return apply


prepare.steps = 20
