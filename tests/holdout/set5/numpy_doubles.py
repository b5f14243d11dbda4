"""Normalizes tables that came from NumPy and are still in double precision."""
# finding: memory-bound, compute-bound
# remedy: float32|\.float\(\)|f64|smaller types|compile|fuse
import numpy
import torch


def prepare(fixed):
    table = torch.from_numpy(numpy.random.default_rng(0).random((4096, 8192))).cuda()
    if fixed:
        table = table.float()

    @torch.inference_mode()
    def normalize(rounds):
        for _ in range(rounds):
            centered = table - table.mean(dim=0)
            result = (centered / (centered.std(dim=0) + 1e-6)).clamp(-3, 3) * 0.5 + 0.5
        return result

    return normalize


prepare.steps = 60
